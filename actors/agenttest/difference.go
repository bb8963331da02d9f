package agenttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// firstOther describes the first line in which two lists differ, empty for none.
func firstOther(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("%.*q is more than without the kill", maxLine, got[i])
		case i >= len(got):
			return fmt.Sprintf("%.*q is missing", maxLine, want[i])
		case want[i] != got[i]:
			w, g := apart(want[i], got[i])
			return fmt.Sprintf("%q, and without the kill %q", g, w)
		}
	}
	return ""
}

// apart cuts two texts around the first place in which they differ.
func apart(a, b string) (cutA, cutB string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := max(0, same-maxLine/4)
	cut := func(s string) string {
		part := strings.ToValidUTF8(s[from:min(len(s), from+maxLine)], "")
		if from > 0 {
			part = "..." + part
		}
		if len(s) > from+maxLine {
			part += "..."
		}
		return part
	}
	return cut(a), cut(b)
}

func errorText(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

// plain is the output as JSON, without what may differ.
func plain(r Result, unknown bool) any {
	out := r.Output
	out.Metadata.Duration = 0
	out.Metadata.SubDispatches = slices.Clone(out.Metadata.SubDispatches)
	for i := range out.Metadata.SubDispatches {
		s := &out.Metadata.SubDispatches[i]
		s.Duration = 0
		s.Success = s.Success || unknown
	}
	if unknown {
		out.Metadata.Cost = protocol.Decimal{}
	}
	raw, err := protocol.Marshal(out)
	if err != nil {
		return err.Error()
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	return v
}

// difference describes the first place in which two JSON values differ, empty for none.
func difference(path string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range sortedKeys(w, g) {
			if d := difference(path+"."+key, w[key], g[key]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			break
		}
		for i := range w {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	default:
		if want == got {
			return ""
		}
	}
	w, g := apart(jsonOf(want), jsonOf(got))
	return fmt.Sprintf("%s is %s, and without the kill %s", path, g, w)
}

func sortedKeys(a, b map[string]any) []string {
	var keys []string
	for _, m := range []map[string]any{a, b} {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, cmp.Compare)
	return slices.Compact(keys)
}

func jsonOf(v any) string {
	raw, err := protocol.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
