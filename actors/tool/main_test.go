package tool_test

import (
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(t *testing.T, x tool.Tool, input string) (string, error) {
	t.Helper()
	res, err := tool.Call(t.Context(), x, json.RawMessage(input))
	return res.Text(), err
}

func wantKind(t *testing.T, err error, kind protocol.ErrorKind) *protocol.Error {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %#v, want an error of kind %s", err, kind)
	}
	return e
}
