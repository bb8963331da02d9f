package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// trimmer brings one result within bounds, and keeps account of what it leaves out.
type trimmer struct {
	bounds  Bounds
	env     Envelope
	changed bool
	depth   int // of the value that is made to fit
}

// redacted is a replacement: it is not cut.
type redacted struct{ value any }

// MarshalJSON writes the replacement.
func (r redacted) MarshalJSON() ([]byte, error) { return protocol.Marshal(r.value) }

func (t *trimmer) omit(pointer string, why Reason, n int) {
	t.changed, t.env.Truncated = true, true
	kind, limit := t.limit(why)
	if t.env.PageToken == "" {
		t.env.PageToken = fmt.Sprintf("%s:%d", kind, limit)
	}
	if len(t.env.Omissions) < maxOmissions {
		t.env.Omissions = append(t.env.Omissions, Omission{Pointer: whole(pointer, maxPointer), Reason: why, Omitted: n})
	}
}

// sealed is the envelope with its payload and a token for each omission whose pointer is not cut.
func (t *trimmer) sealed(payload json.RawMessage) Envelope {
	t.env.Payload = payload
	for i, o := range t.env.Omissions {
		if len(o.Pointer) <= maxPointer-utf8.UTFMax {
			_, limit := t.limit(o.Reason)
			t.env.Omissions[i].PageToken = PageToken{Pointer: o.Pointer, Reason: o.Reason, Limit: limit}.String()
		}
	}
	return t.env
}

// limit is the bound of a reason.
func (t *trimmer) limit(why Reason) (kind string, limit int) {
	switch why {
	case CutChars:
		return "chars", t.bounds.MaxChars
	case CutItems:
		return "items", t.bounds.MaxItems
	default:
		return "bytes", t.bounds.MaxBytes
	}
}

// maxPointer is how much of a pointer in bytes an Omission has: names come from outside.
const maxPointer = 200

// maxRedacted is how long a pointer in bytes Redact is asked about. Each level of a value repeats those above it.
const maxRedacted = 16 << 10

// trim redacts, and cuts strings and arrays.
func (t *trimmer) trim(pointer string, v any) any {
	if t.bounds.Redact != nil {
		r, replace := any(DefaultReplacement), true // where nobody can say what it is
		if len(pointer) <= maxRedacted {
			r, replace = t.bounds.Redact(pointer, v)
		}
		if replace {
			t.changed = true
			t.env.RedactedValues++
			return redacted{r}
		}
	}
	switch v := v.(type) {
	case string:
		return t.cut(pointer, v, t.bounds.MaxChars, CutChars)
	case []any:
		if n := len(v) - t.bounds.MaxItems; n > 0 {
			t.omit(pointer, CutItems, n)
			t.env.OmittedItems += n
			v = v[:t.bounds.MaxItems]
		}
		for i := range v {
			v[i] = t.trim(t.index(pointer, i), v[i])
		}
		return v
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = t.trim(t.under(pointer, name), v[name])
		}
		return v
	}
	return v
}

// cut returns the first n characters.
func (t *trimmer) cut(pointer, s string, n int, why Reason) string {
	if len(s) <= n {
		return s
	}
	missing := utf8.RuneCountInString(s) - n
	if missing <= 0 {
		return s
	}
	t.omit(pointer, why, missing)
	t.env.OmittedChars += missing
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end]
}

// maxFit is how deep fit looks into a value. Each level writes what is below it once more.
const maxFit = 16

// fit makes v no longer than room bytes as JSON, and returns how many it has. Of an object or array those entries stay that
// fit, in their order; a later one may where one before it did not. An array or object that is too long is made to fit, so
// that a long list in a short object is not lost as a whole; other values are left out. Outermost, a string is cut, and
// anything else stays. It is false if nothing of v fits.
func (t *trimmer) fit(pointer string, v any, room int) (any, int, bool) {
	raw, ok := t.encode(v)
	if ok && len(raw) <= room {
		return v, len(raw), true
	}
	switch v := v.(type) {
	case []any:
		if t.depth < maxFit {
			return t.fitArray(pointer, v, room)
		}
	case map[string]any:
		if t.depth < maxFit {
			return t.fitObject(pointer, v, room)
		}
	case string:
		if t.depth == 0 {
			return t.cut(pointer, v, fitting(v, room), CutBytes), room, true
		}
	}
	return v, len(raw), t.depth == 0
}

func (t *trimmer) fitArray(pointer string, v []any, room int) (any, int, bool) {
	kept, used := []any{}, len("[]")
	for i, item := range v {
		comma := min(len(kept), 1)
		item, n, ok := t.entry(t.index(pointer, i), item, room-used-comma)
		if !ok {
			continue
		}
		kept, used = append(kept, item), used+comma+n
	}
	return kept, used, t.depth == 0 || len(kept) > 0
}

func (t *trimmer) fitObject(pointer string, v map[string]any, room int) (any, int, bool) {
	kept, used := map[string]any{}, len("{}")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		quoted, _ := protocol.Marshal(name) // a string always marshals
		head := min(len(kept), 1) + len(quoted) + len(":")
		item, n, ok := t.entry(t.under(pointer, name), v[name], room-used-head)
		if !ok {
			continue
		}
		kept[name], used = item, used+head+n
	}
	return kept, used, t.depth == 0 || len(kept) > 0
}

// entry makes what is in a value fit, or leaves it out: that is one omission, whatever was in it.
func (t *trimmer) entry(pointer string, v any, room int) (any, int, bool) {
	before := t.env
	t.depth++
	v, n, ok := t.fit(pointer, v, room)
	t.depth--
	if !ok {
		t.env = before
		t.omit(pointer, CutBytes, 1)
		t.env.OmittedValues++
	}
	return v, n, ok
}

// fitting is how many characters of s fit into room bytes with quotes and escapes.
func fitting(s string, room int) (n int) {
	room -= len(`""`)
	for _, c := range s {
		quoted, _ := protocol.Marshal(string(c)) // a string always marshals
		if room -= len(quoted) - len(`""`); room < 0 {
			return n
		}
		n++
	}
	return n
}

func (t *trimmer) encode(v any) (json.RawMessage, bool) {
	raw, err := protocol.Marshal(v)
	return raw, err == nil
}
