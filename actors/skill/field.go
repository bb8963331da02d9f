package skill

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (p *parser) setMetadata(key, value string) {
	if p.d.Metadata == nil {
		p.d.Metadata = map[string]string{}
	}
	p.d.Metadata[clean(key)] = clean(value)
}

func (p *parser) metadata(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		p.warn(p.line(n), RuleMetadata, "metadata must be a mapping of texts; it is ignored")
		return
	}
	for key, value := range pairs(n) {
		switch {
		case value.Kind != yaml.ScalarNode || isNull(value):
			p.warn(p.line(value), RuleMetadata, "the value of "+quoted(key.Value)+" must be a text; it is ignored")
			continue
		case !isString(value):
			p.warn(p.line(value), RuleMetadata, "the value of "+quoted(key.Value)+" should be in quotes; it is taken for a text")
		}
		p.setMetadata(key.Value, value.Value)
	}
}

// texts returns a list of texts, and whether it is one.
func texts(n *yaml.Node, most, longest int) ([]string, bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) > most {
		return nil, false
	}
	var all []string
	for _, item := range n.Content {
		if !isString(item) || len(item.Value) > longest || hasUnseen(item.Value) {
			return nil, false
		}
		all = append(all, item.Value)
	}
	return all, true
}

// allowedTools reads the list of tools. One that cannot be read is an error: without it the skill would not be restricted.
func (p *parser) allowedTools(n *yaml.Node) {
	var all []string
	switch n.Kind {
	case yaml.ScalarNode:
		if !isString(n) {
			p.fail(p.line(n), RuleAllowedTools, "allowed-tools must be a text or a list of texts")
			return
		}
		if strings.Contains(n.Value, ",") {
			p.warn(p.line(n), RuleAllowedTools, "the entries of allowed-tools should be apart by spaces, not commas")
		}
		all = splitTools(n.Value)
	default:
		list, ok := texts(n, MaxAllowedTools, MaxAllowedTool)
		if !ok {
			p.fail(p.line(n), RuleAllowedTools, "allowed-tools must be a text or a list of at most "+
				strconv.Itoa(MaxAllowedTools)+" texts of at most "+strconv.Itoa(MaxAllowedTool)+" bytes")
			return
		}
		for _, entry := range list {
			if entry = strings.TrimSpace(entry); entry != "" {
				all = append(all, entry)
			}
		}
	}
	if len(all) > MaxAllowedTools {
		p.fail(p.line(n), RuleAllowedTools, "allowed-tools has more than "+strconv.Itoa(MaxAllowedTools)+" entries")
		return
	}
	for _, entry := range all {
		if len(entry) > MaxAllowedTool || hasUnseen(entry) {
			p.fail(p.line(n), RuleAllowedTools, "an entry of allowed-tools is too long or has characters that are not seen")
			return
		}
	}
	if len(all) == 0 {
		p.warn(p.line(n), RuleAllowedTools, "allowed-tools is empty and restricts nothing")
	}
	if len(all) > 0 {
		p.d.AllowedTools = all
	}
}

func (p *parser) shell(n *yaml.Node) {
	switch n.Value {
	case ShellBash, ShellPowerShell:
		p.d.Shell = n.Value
	default:
		p.d.Shell = ShellBash
		p.warn(p.line(n), RuleShell, "shell must be bash or powershell; it is taken for bash")
	}
}

// paths reads the globs. A list that cannot be read is an error: without it the skill would be for every file.
func (p *parser) paths(n *yaml.Node) {
	globs, ok := texts(n, MaxPatterns, MaxPattern)
	if !ok && isString(n) && len(n.Value) <= MaxPattern && !hasUnseen(n.Value) && strings.TrimSpace(n.Value) != "" {
		p.warn(p.line(n), RulePathsFormat, "paths should be a list; it is taken for one glob")
		globs, ok = []string{n.Value}, true
	}
	if !ok {
		p.fail(p.line(n), RulePathsFormat, "paths must be a list of at most "+strconv.Itoa(MaxPatterns)+" texts of at most "+
			strconv.Itoa(MaxPattern)+" bytes")
		return
	}
	for i, glob := range globs {
		at := n
		if n.Kind == yaml.SequenceNode {
			at = n.Content[i]
		}
		if rule, text := pathRule(glob); rule != "" {
			p.warn(p.line(at), rule, "the glob "+quoted(glob)+" "+text)
		}
	}
	p.d.Paths = globs
}

// dependsOn reads the names of other skills. They are no guards: what cannot be read is ignored.
func (p *parser) dependsOn(n *yaml.Node) {
	names, ok := texts(n, maxDependencies, maxNameBytes)
	if !ok && isString(n) && !hasUnseen(n.Value) {
		names, ok = strings.Fields(strings.ReplaceAll(n.Value, ",", " ")), true
	}
	if !ok || len(names) > maxDependencies {
		p.warn(p.line(n), RuleDependency, "depends_on must be a list of at most "+strconv.Itoa(maxDependencies)+
			" names; it is ignored")
		return
	}
	p.d.DependsOn = names
}

// legacyField reads what older files have. The metadata has version, author and tags, unless it has them already.
func (p *parser) legacyField(name string, n *yaml.Node) {
	switch name {
	case "version", "author":
		if n.Kind == yaml.ScalarNode {
			p.legacy[name] = n.Value
		}
	case "tags":
		if n.Kind == yaml.ScalarNode {
			p.legacy[name] = n.Value
			return
		}
		var tags []string
		for _, item := range n.Content {
			if n.Kind == yaml.SequenceNode && item.Kind == yaml.ScalarNode {
				tags = append(tags, item.Value)
			}
		}
		p.legacy[name] = strings.Join(tags, ", ")
	case "instructions":
		p.warn(p.line(n), RuleLegacyField, "the field instructions is used only if the body is blank")
		p.instructions = p.text(name, n)
	case "resources":
		p.warn(p.line(n), RuleLegacyField, "the field resources is not used; the files are listed")
	}
}
