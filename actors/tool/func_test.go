package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

type place struct {
	Zone  string           `json:"zone" jsonschema:"IANA name"`
	Count *int             `json:"count,omitempty"`
	Any   json.RawMessage  `json:"any,omitempty"`
	Price protocol.Decimal `json:"price,omitzero"`
}

func echo(opts ...tool.Option) tool.Tool {
	return tool.Func("echo", "Echoes.", func(_ context.Context, in place) (place, error) { return in, nil }, opts...)
}

func TestFuncDerivesTheSchema(t *testing.T) {
	t.Parallel()
	got := string(echo().Metadata().InputSchema)
	want := `{"type":"object","properties":{"zone":{"type":"string","description":"IANA name"},` +
		`"count":{"type":["null","integer"]},"any":{"description":"any JSON value"},` +
		`"price":{"type":"string","description":"a decimal number"}},"required":["zone"],"additionalProperties":false}`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFuncRefusesInputThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, says string }{
		"missing":   {`{}`, `"zone"`},
		"null":      {`null`, `"zone"`},
		"nothing":   {``, `"zone"`},
		"type":      {`{"zone":5}`, "/properties/zone"},
		"unknown":   {`{"zone":"a","x":1}`, `"x"`},
		"case":      {`{"Zone":"a"}`, `"Zone"`},
		"too big":   {`{"zone":"a","count":1e40}`, "field count: number 1e40 does not fit int"},
		"no object": {`"a"`, `want "object"`},
		"malformed": {`{"zone":`, "not valid JSON"},
		"two":       {`{"zone":"a"}{}`, "not valid JSON"},
		"decimal":   {`{"zone":"a","price":"x"}`, "decimal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := call(t, echo(), c.input)
			e := wantKind(t, err, protocol.KindToolInvalidInput)
			if e.Code != protocol.CodeInvalidInput || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %s %q, want it to say %q", e.Code, e.Message, c.says)
			}
		})
	}
}

func TestFuncTakesInputThatFits(t *testing.T) {
	t.Parallel()
	got, err := call(t, echo(), ` {"zone":"a<b","count":null,"any":[1, 2]}`)
	if want := `{"zone":"a<b","any":[1,2]}`; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestFuncComplaintsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := call(t, echo(), fmt.Sprintf(`{"zone":["%s"]}`, strings.Repeat("x", 1<<20)))
	if e := wantKind(t, err, protocol.KindToolInvalidInput); len(e.Message) > 2<<10 {
		t.Errorf("the message has %d bytes", len(e.Message))
	}
}

func TestFuncErrors(t *testing.T) {
	t.Parallel()
	coded := protocol.ErrToolTransient("busy")
	for name, c := range map[string]struct {
		fail func() error
		kind protocol.ErrorKind
		code protocol.Code
		text string
	}{
		"plain":     {func() error { return errors.New("no such file") }, protocol.KindToolExecutionFailed, protocol.CodeToolError, "execution failed: no such file"},
		"coded":     {func() error { return fmt.Errorf("outer: %w", coded) }, protocol.KindToolTransient, protocol.CodeToolError, "transient error: busy"},
		"cancelled": {func() error { return context.Canceled }, "", protocol.CodeCancelled, "cancelled"},
		"panic":     {func() error { panic("secret") }, protocol.KindToolExecutionFailed, protocol.CodeToolError, "execution failed: the tool crashed; this is a defect of the tool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := tool.Func("x", "", func(context.Context, struct{}) (string, error) { return "", c.fail() })
			_, err := call(t, x, "")
			if e := wantKind(t, err, c.kind); e.Code != c.code || e.Message != c.text {
				t.Errorf("got %s %q", e.Code, e.Message)
			}
			var crash *tool.PanicError
			if errors.As(err, &crash) != (name == "panic") || crash != nil && (len(crash.Stack) == 0 || strings.Contains(crash.Error(), "secret")) {
				t.Errorf("panic error: %v", crash)
			}
		})
	}
}

func TestFuncOutputThatIsNotJSON(t *testing.T) {
	t.Parallel()
	x := tool.Func("x", "", func(context.Context, struct{}) (any, error) { return func() {}, nil })
	_, err := call(t, x, "")
	wantKind(t, err, protocol.KindToolExecutionFailed)
}

func TestFuncPanicsAtStartWithoutSchema(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(){
		"string": func() { tool.Func("x", "", func(context.Context, string) (string, error) { return "", nil }) },
		"channel": func() {
			tool.Func("x", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			make()
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := tool.Func("x", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, tool.Timeout(5*time.Second))
		start := time.Now()
		_, err := call(t, x, "")
		e := wantKind(t, err, protocol.KindToolExecutionFailed)
		if e.Code != protocol.CodeTimeout || e.Message != "execution failed: timed out after 5s" || time.Since(start) != 5*time.Second {
			t.Errorf("got %s %q after %v", e.Code, e.Message, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = tool.Call(ctx, x, nil)
		if e := wantKind(t, err, ""); e.Code != protocol.CodeTimeout || e.Message != "deadline exceeded" {
			t.Errorf("the caller's deadline gave %s %q", e.Code, e.Message)
		}
	})
}

func TestRaw(t *testing.T) {
	t.Parallel()
	run := func(_ context.Context, in json.RawMessage) (tool.Result, error) { return tool.Result{Output: in}, nil }
	for name, c := range map[string]struct{ schema, refused, taken string }{
		"draft 7":    {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["a"]}`, `{}`, `{"a":1}`},
		"draft 2019": {`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","required":["a"]}`, `{}`, `{"a":1}`},
		"enum":       {`{"type":"object","properties":{"a":{"enum":["x"]}}}`, `{"a":"y"}`, `{"a":"x"}`},
		"none":       {``, `[]`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := tool.Raw(protocol.ToolMetadata{Name: "x", InputSchema: json.RawMessage(c.schema)}, run)
			if err != nil {
				t.Fatal(err)
			}
			_, err = call(t, x, c.refused)
			wantKind(t, err, protocol.KindToolInvalidInput)
			if got, err := call(t, x, c.taken); err != nil || got != c.taken {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	for name, schema := range map[string]string{
		"no schema": `1`, "malformed": `{`, "string": `{"type":"string"}`, "remote": `{"type":"object","$ref":"http://x/y"}`,
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			_, err := tool.Raw(protocol.ToolMetadata{Name: "x", InputSchema: json.RawMessage(schema)}, run)
			if protocol.CodeOf(err) != protocol.CodeInvalidInput {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzFunc(f *testing.F) {
	for _, s := range []string{``, `null`, `{}`, `{"zone":"a"}`, `{"zone":"a","count":1.0}`, `{"zone":"a","price":1e99}`, `[`} {
		f.Add([]byte(s))
	}
	x := echo()
	f.Fuzz(func(t *testing.T, input []byte) {
		_, err := tool.Call(t.Context(), x, input)
		if err != nil && !errors.Is(err, &protocol.Error{Kind: protocol.KindToolInvalidInput}) {
			t.Errorf("%q gave %v", input, err)
		}
	})
}
