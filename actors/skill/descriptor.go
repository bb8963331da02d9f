package skill

import (
	"slices"
)

// FileName is the file that makes a directory a skill.
const FileName = "SKILL.md"

// Source says where a skill is from.
type Source string

// The sources.
const (
	SourceProject Source = "project" // the files that are worked on
	SourceUser    Source = "user"    // the home of whoever runs the program
	SourceCustom  Source = "custom"  // a directory that was named
	SourceMCP     Source = "mcp"     // a server: not trusted to run anything
)

// Shells that a skill may ask for.
const (
	ShellBash       = "bash"
	ShellPowerShell = "powershell"
)

// Descriptor is what is known of a skill before it is activated: its front matter, and where it is.
type Descriptor struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Dir is the skill's directory and Location its SKILL.md: absolute, without symbolic links. Empty for a skill that is no file.
	Dir           string            `json:"dir,omitempty"`
	Location      string            `json:"location,omitempty"`
	License       string            `json:"license,omitempty"`
	Compatibility string            `json:"compatibility,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	// AllowedTools are the tools that the skill keeps to, as Permits reads them. None means that it is not restricted.
	AllowedTools []string `json:"allowed_tools,omitempty"`
	// Shell runs the commands of the body: bash, or powershell.
	Shell string `json:"shell,omitempty"`
	// Paths are the globs of the files that the skill is for, as MatchPaths reads them. None means for all.
	Paths []string `json:"paths,omitempty"`
	Hooks Hooks    `json:"hooks,omitzero"`
	// DependsOn are the names of the skills that are activated before this one.
	DependsOn []string `json:"depends_on,omitempty"`
	Source    Source   `json:"source,omitempty"`
	// Digest is the SHA-256 of the front matter in hex. Load refuses a skill whose front matter is another one by then.
	Digest string `json:"digest,omitempty"`
}

// Permits reports whether the skill's list of tools permits the tool, as the function Permits does.
func (d Descriptor) Permits(tool string) bool { return Permits(d.AllowedTools, tool) }

// MatchesPath reports whether the skill is for that file, as the function MatchPaths does.
func (d Descriptor) MatchesPath(path string) bool { return MatchPaths(d.Paths, path) }

// RunsCommands reports whether the commands in the skill's body may be run. Those of a server never are.
func (d Descriptor) RunsCommands() bool { return d.Source != SourceMCP }

// clone returns a copy that shares nothing that can be changed with d.
func (d Descriptor) clone() Descriptor {
	if d.Metadata != nil {
		m := make(map[string]string, len(d.Metadata))
		for k, v := range d.Metadata {
			m[k] = v
		}
		d.Metadata = m
	}
	d.AllowedTools = slices.Clone(d.AllowedTools)
	d.Paths = slices.Clone(d.Paths)
	d.DependsOn = slices.Clone(d.DependsOn)
	d.Hooks = d.Hooks.clone()
	return d
}
