package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a schema that comes from elsewhere.
const (
	maxNesting = 200    // of objects and arrays
	maxSchemas = 10_000 // that are applied to one value
)

// The keywords whose schemas apply to the same value as the one that they are in, and to what is in it; by their forms.
var (
	here   = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
	within = []string{
		"properties", "patternProperties", "$defs", "definitions", "items", "prefixItems", "additionalItems", "contains",
		"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
)

// CheckSchema returns why a JSON schema cannot be applied to values: it is too deep, leads back to itself at the same value, or is
// applied too often to one. Ask before a schema that comes from elsewhere is parsed.
func CheckSchema(raw json.RawMessage) error { return sound(raw) }

// sound returns why a schema cannot be applied. The library follows it wherever it leads: one that leads to itself at the same
// value overflows the stack, which ends the process, and one that refers to the next twice, and so on, takes for ever.
func sound(raw json.RawMessage) error {
	if nesting(raw) > maxNesting {
		return fmt.Errorf("it is nested deeper than %d", maxNesting)
	}
	s := &schemaGraph{costs: map[string]int{}}
	if err := json.Unmarshal(raw, &s.root); err != nil {
		return err
	}
	s.open = []string{""}
	for len(s.open) > 0 {
		next := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		if _, err := s.cost(next); err != nil {
			return err
		}
	}
	return nil
}

// nesting is how deep JSON is.
func nesting(raw []byte) int {
	depth, most, inside := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inside = !inside
		case inside && c == '\\':
			i++
		case inside:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// schemaGraph is a schema whose parts are known by their JSON Pointers.
type schemaGraph struct {
	root  any
	costs map[string]int // -1 of one that is being looked at
	open  []string       // to be looked at
}

// cost is how many schemas are applied to a value with the one at pointer.
func (s *schemaGraph) cost(pointer string) (int, error) {
	if n, ok := s.costs[pointer]; ok {
		if n < 0 {
			return 0, errors.New("a schema leads to itself")
		}
		return n, nil
	}
	node, _ := s.at(pointer).(map[string]any)
	if _, nested := node["$id"].(string); nested && pointer != "" {
		return 0, errors.New("$id: only the whole schema may have one")
	}
	s.costs[pointer] = -1
	total := 1
	next, err := references(node)
	if err != nil {
		return 0, err
	}
	for _, name := range here {
		next = append(next, schemasIn(pointer+"/"+name, node[name])...)
	}
	for _, p := range next {
		n, err := s.cost(p)
		if total += n; err == nil && total > maxSchemas {
			err = fmt.Errorf("more than %d schemas apply to one value", maxSchemas)
		}
		if err != nil {
			return 0, err
		}
	}
	for _, name := range within {
		s.open = append(s.open, schemasIn(pointer+"/"+name, node[name])...)
	}
	s.costs[pointer] = total
	return total, nil
}

// references are the pointers to what a schema refers to.
func references(node map[string]any) (pointers []string, err error) {
	for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := node[name].(string)
		if !ok {
			continue
		}
		fragment, ok := strings.CutPrefix(ref, "#")
		pointer, err := url.PathUnescape(fragment)
		if !ok || err != nil || pointer != "" && pointer[0] != '/' {
			return nil, fmt.Errorf("%s: %.100q: only references within the schema are taken, such as #/$defs/x", name, ref)
		}
		pointers = append(pointers, pointer)
	}
	return pointers, nil
}

// schemasIn are the pointers to the schemas of a keyword: one, a list, or several by name.
func schemasIn(pointer string, v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			all = append(all, pointer+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		switch pointer[strings.LastIndexByte(pointer, '/')+1:] {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			for _, name := range slices.Sorted(maps.Keys(v)) {
				all = append(all, pointer+"/"+escapes.Replace(name))
			}
		default:
			all = append(all, pointer)
		}
	}
	return all
}

var unescapes = strings.NewReplacer("~1", "/", "~0", "~")

// at returns what a pointer leads to, nil if nothing.
func (s *schemaGraph) at(pointer string) any {
	v := s.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		switch in := v.(type) {
		case map[string]any:
			v = in[unescapes.Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}
