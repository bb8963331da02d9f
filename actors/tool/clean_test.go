package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestCleanSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing to do": {`{"type": "object", "z":1, "a":2}`, `{"type": "object", "z":1, "a":2}`},
		"no object":     {`true`, `true`},
		"malformed":     {`{"title":"x"`, `{"title":"x"`},
		"noise": {
			`{"$schema":"http://x","title":"T","$id":"y","$comment":"z","type":"object","additionalProperties":true,"properties":{"b":{"title":"B","type":"string"},"a":{"type":"integer"}}}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}`,
		},
		"closed stays closed": {`{"title":"T","additionalProperties":false}`, `{"additionalProperties":false}`},
		"names are no keywords": {
			`{"title":"T","properties":{"title":{"type":"string","title":"x"},"$id":{"type":"string"}},"default":{"title":"kept"}}`,
			`{"properties":{"title":{"type":"string"},"$id":{"type":"string"}},"default":{"title":"kept"}}`,
		},
		"within": {
			`{"properties":{"a":{"items":{"title":"x","type":"string"}},"b":{"anyOf":[{"title":"x"},{"type":"string"},{"type":"null"}]}}}`,
			`{"properties":{"a":{"items":{"type":"string"}},"b":{"anyOf":[{},{"type":"string"},{"type":"null"}]}}}`,
		},
		"nullable": {
			`{"properties":{"a":{"description":"d","anyOf":[{"type":"string","maxLength":3},{"type":"null"}],"default":null}}}`,
			`{"properties":{"a":{"description":"d","type":["string","null"],"maxLength":3,"default":null}}}`,
		},
		"null first":           {`{"oneOf":[{"type":"null"},{"type":"integer"}]}`, `{"type":["integer","null"]}`},
		"nullable enumeration": {`{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]}`, `{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]}`},
		"nullable reference":   {`{"anyOf":[{"$ref":"#/$defs/x"},{"type":"null"}]}`, `{"anyOf":[{"$ref":"#/$defs/x"},{"type":"null"}]}`},
		"both describe":        {`{"description":"a","anyOf":[{"type":"string","description":"b"},{"type":"null"}]}`, `{"description":"a","anyOf":[{"type":"string","description":"b"},{"type":"null"}]}`},
		"a real choice":        {`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := string(tool.CleanSchema(json.RawMessage(c.in)))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if again := string(tool.CleanSchema(json.RawMessage(got))); again != got {
				t.Errorf("cleaned twice it is %s", again)
			}
		})
	}
}

// What a model is shown is clean, what is checked is what the tool came with.
func TestRegistryShowsCleanSchemas(t *testing.T) {
	t.Parallel()
	schema := `{"$schema":"http://json-schema.org/draft-07/schema#","title":"x","type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`
	x, err := tool.Raw(protocol.ToolMetadata{Name: "x", InputSchema: json.RawMessage(schema)},
		func(_ context.Context, in json.RawMessage) (tool.Result, error) { return tool.Result{Output: in}, nil })
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(x)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Schemas()[0].InputSchema), `{"type":"object","properties":{"a":{"type":["string","null"]}}}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := string(x.Metadata().InputSchema); got != schema {
		t.Errorf("the tool's own became %s", got)
	}
	if _, err := call(t, x, `{"a":1}`); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
}

func FuzzCleanSchema(f *testing.F) {
	for _, s := range []string{`{}`, `{"title":"x"}`, `{"anyOf":[{"type":"null"},{"type":"a"}]}`, `{"properties":{"a":{"items":[{"title":""}]}}}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := tool.CleanSchema(in)
		if json.Valid(in) && !json.Valid(got) {
			t.Errorf("%s became %s", in, got)
		}
	})
}
