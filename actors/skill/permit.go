package skill

import (
	"slices"
	"strings"
)

// Limits of a list of tools.
const (
	MaxAllowedTools = 256
	MaxAllowedTool  = 256 // bytes of an entry
)

// Permits reports whether a list of tools permits the tool: one of its entries is the tool's name, "*", a glob that matches the
// name, or what is before a parenthesis of it. So "Bash" and "Bash(*)" permit "Bash(git:status)"; "Bash(git:*)" does not permit
// "Bash", nor "Bash" "BashExtra". An empty list permits everything. Upper and lower case differ.
//
// It compares names. What a command that is given to a tool would do is not looked at.
func Permits(list []string, tool string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(entry string) bool { return matchTool(entry, tool) })
}

// matchTool reports whether an entry of a list of tools, or one of a hook's, is for the tool.
func matchTool(entry, tool string) bool {
	if entry == "" || tool == "" {
		return false
	}
	if entry == tool || entry == "*" || strings.HasPrefix(tool, entry+"(") {
		return true
	}
	if !strings.ContainsAny(entry, "*?[") || len(tool) > MaxContextPath {
		return false
	}
	g, ok := compileGlob(entry)
	return ok && g.matches(tool)
}

// Union returns what several active skills permit together: the entries of all lists, each once and sorted. A list that is empty
// restricts nothing by itself, and does not lift what the others restrict; the union is empty, and so permits everything, only if
// all of them are.
func Union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// splitTools reads a list of tools that is one text: entries are apart by spaces or commas that are not in parentheses.
func splitTools(s string) []string {
	depth := 0
	if !balanced(s, '(', ')') {
		depth = -1 // parentheses mean nothing
	}
	return strings.FieldsFunc(s, func(r rune) bool {
		switch {
		case depth >= 0 && r == '(':
			depth++
		case depth >= 0 && r == ')':
			depth--
		}
		return depth <= 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r')
	})
}
