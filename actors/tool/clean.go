package tool

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// member is one of an object, whose order is kept: models read a schema from the top.
type member struct {
	name  string
	value json.RawMessage
}

// CleanSchema is a JSON schema without what tells a model nothing and some providers refuse: $schema, $id, $comment,
// titles, and additionalProperties where it is true. A choice of a plain type and null becomes the two types. What is no
// schema is returned as it is, and so is what lies deeper than 64 schemas. It is for showing: what fits the one fits the other.
func CleanSchema(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return raw
	}
	clean, _ := cleaned(raw, maxClean)
	return clean
}

// maxClean is how deep a schema is cleaned. Each level reads what is below it once more.
const maxClean = 64

// cleaned returns false if nothing was changed. Left is how much deeper it may go.
func cleaned(raw json.RawMessage, left int) (json.RawMessage, bool) {
	if left == 0 {
		return raw, false
	}
	all, ok := membersOf(raw)
	if !ok {
		return raw, false
	}
	changed := false
	kept := all[:0]
	for _, m := range all {
		if noise(m) {
			changed = true
			continue
		}
		value, did := cleanedKeyword(m, left-1)
		changed = changed || did
		kept = append(kept, member{m.name, value})
	}
	if merged, ok := nullable(kept); ok {
		kept, changed = merged, true
	}
	if !changed {
		return raw, false
	}
	return objectOf(kept), true
}

func noise(m member) bool {
	switch m.name {
	case "$schema", "$id", "$comment", "title":
		return len(m.value) > 0 && m.value[0] == '"'
	case "additionalProperties":
		return string(m.value) == "true"
	}
	return false
}

// cleanedKeyword cleans the schemas within a keyword.
func cleanedKeyword(m member, left int) (json.RawMessage, bool) {
	switch m.name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		named, ok := membersOf(m.value)
		if !ok {
			return m.value, false
		}
		changed := false
		for i, s := range named {
			var did bool
			named[i].value, did = cleaned(s.value, left)
			changed = changed || did
		}
		if !changed {
			return m.value, false
		}
		return objectOf(named), true
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "additionalItems", "allOf", "anyOf", "oneOf", "prefixItems":
		return cleanedList(m.value, left)
	}
	return m.value, false
}

// cleanedList cleans a schema, or a list of them.
func cleanedList(raw json.RawMessage, left int) (json.RawMessage, bool) {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return cleaned(raw, left)
	}
	changed := false
	for i, s := range list {
		var did bool
		list[i], did = cleaned(s, left)
		changed = changed || did
	}
	if !changed {
		return raw, false
	}
	return append(append([]byte{'['}, bytes.Join(rawBytes(list), []byte{','})...), ']'), true
}

func rawBytes(list []json.RawMessage) [][]byte {
	all := make([][]byte, len(list))
	for i, raw := range list {
		all[i] = raw
	}
	return all
}

// nullable makes {"anyOf":[{"type":"string"},{"type":"null"}]} a {"type":["string","null"]}, where the other has no members
// that the outer one has, and none that null would have to be among.
func nullable(all []member) ([]member, bool) {
	at := slices.IndexFunc(all, func(m member) bool { return m.name == "anyOf" || m.name == "oneOf" })
	if at < 0 {
		return nil, false
	}
	var choices []json.RawMessage
	if json.Unmarshal(all[at].value, &choices) != nil || len(choices) != 2 {
		return nil, false
	}
	for i, c := range choices {
		null, ok := membersOf(c)
		if !ok || len(null) != 1 || null[0].name != "type" || string(null[0].value) != `"null"` {
			continue
		}
		other, ok := membersOf(choices[1-i])
		if !ok {
			return nil, false
		}
		typed := false
		for j, m := range other {
			if m.name == "enum" || m.name == "const" || slices.ContainsFunc(all, func(o member) bool { return o.name == m.name }) {
				return nil, false
			}
			if m.name == "type" && len(m.value) > 0 && m.value[0] == '"' {
				other[j].value, typed = slices.Concat([]byte{'['}, m.value, []byte(`,"null"]`)), true
			}
		}
		return slices.Concat(all[:at], other, all[at+1:]), typed
	}
	return nil, false
}

// membersOf reads an object; false if raw is none.
func membersOf(raw json.RawMessage) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var all []member
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, false
		}
		m := member{name: name}
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		all = append(all, m)
	}
	return all, true
}

func objectOf(all []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := protocol.Marshal(m.name) // a string always marshals
		b = append(append(append(b, name...), ':'), m.value...)
	}
	return append(b, '}')
}
