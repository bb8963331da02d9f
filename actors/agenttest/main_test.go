package agenttest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a test that notes what it is told, and goes on.
type watched struct {
	testing.TB

	mu       sync.Mutex
	said     []string
	cleanups []func()
}

func (w *watched) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *watched) Fatalf(format string, args ...any) {
	w.Errorf("fatal: "+format, args...)
	runtime.Goexit()
}

func (w *watched) Error(args ...any) { w.Errorf("%s", fmt.Sprint(args...)) }
func (w *watched) Cleanup(f func())  { w.cleanups = append(w.cleanups, f) }

// told runs a test and returns what it was told, in lines.
func told(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	w := &watched{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(w)
	}()
	<-done
	for _, f := range slices.Backward(w.cleanups) {
		f()
	}
	return strings.Join(w.said, "\n")
}

// wantTold fails unless the test is told all of parts; none of them is nothing at all.
func wantTold(t *testing.T, test func(tb testing.TB), parts ...string) {
	t.Helper()
	got := told(t, test)
	if len(parts) == 0 && got != "" {
		t.Errorf("the test is told %s", got)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("the test is told %q, want %q in it", got, part)
		}
	}
}

func user(text string) protocol.InferRequest {
	return protocol.InferRequest{Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))}}
}

// ask returns what the model says, or its error.
func ask(tb testing.TB, p provider.Provider, text string) string {
	tb.Helper()
	resp, err := p.Infer(tb.Context(), user(text), nil)
	if err != nil {
		return "error: " + err.Error()
	}
	said, _ := resp.Content.AsText()
	return said
}

func build(tb testing.TB, cfg agent.Config) protocol.Operator {
	tb.Helper()
	a, err := agent.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

type code = protocol.OperatorFunc

func echo(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return protocol.OperatorOutput{Message: in.Message}, nil
}
