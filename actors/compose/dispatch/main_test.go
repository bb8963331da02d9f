package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do is a tool in one function.
type do struct {
	name string
	call func(ctx context.Context, in json.RawMessage) (tool.Result, error)
}

func (d do) Metadata() protocol.ToolMetadata {
	return protocol.ToolMetadata{Name: d.name, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (d do) Call(ctx context.Context, in json.RawMessage) (tool.Result, error) {
	return d.call(ctx, in)
}

func returns(name, output string) do {
	return do{name, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(output)}, nil
	}}
}

func fails(name string, err error) do {
	return do{name, func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Cost: new(protocol.MustDecimal("0.5"))}, err
	}}
}

func toolsOf(t testing.TB, all ...tool.Tool) *compose.Tools {
	t.Helper()
	tools, err := compose.NewTools(all...)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func call(name, args string) protocol.ToolCall {
	return protocol.ToolCall{ID: "id-" + name, Name: name, Input: json.RawMessage(args)}
}

// log is what hooks were asked and told.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(parts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.Join(parts, ":"))
}

func (l *log) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, " ")
}

// hook writes down what happens to it, and does what it is told.
type hook struct {
	name    string
	log     *log
	before  func() (dispatch.Decision, error)
	after   func(r dispatch.Result, o dispatch.Outcome) error
	onError func(ctx context.Context, err error) error
}

func (h *hook) Before(_ context.Context, c protocol.ToolCall) (dispatch.Decision, error) {
	h.log.add(h.name, "before", c.Name)
	if h.before != nil {
		return h.before()
	}
	return dispatch.Continue(), nil
}

func (h *hook) After(_ context.Context, r dispatch.Result, o dispatch.Outcome) error {
	h.log.add(h.name, "after", r.Call.Name)
	if h.after != nil {
		return h.after(r, o)
	}
	return nil
}

func (h *hook) OnError(ctx context.Context, c protocol.ToolCall, err error) error {
	h.log.add(h.name, "error", c.Name)
	if h.onError != nil {
		return h.onError(ctx, err)
	}
	return nil
}

func decide(d dispatch.Decision) func() (dispatch.Decision, error) {
	return func() (dispatch.Decision, error) { return d, nil }
}

func wantKind(t testing.TB, err error, kind protocol.ErrorKind, text string) {
	t.Helper()
	if compose.KindOf(err) != kind || !errors.Is(err, &protocol.Error{Kind: kind}) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v of kind %q, want %q with %q", err, compose.KindOf(err), kind, text)
	}
}

func wantLog(t testing.TB, l *log, want string) {
	t.Helper()
	if got := l.all(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
