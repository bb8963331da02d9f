package portable_test

import (
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/compose/portable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t testing.TB, text string) *portable.Manifest {
	t.Helper()
	m, err := portable.FromYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantLine checks that err is about a line.
func wantLine(t testing.TB, err error, line int, text string) {
	t.Helper()
	var wrong *portable.ParseError
	if !errors.As(err, &wrong) || wrong.Line != line || wrong.Text != text {
		t.Errorf("got %v, want line %d: %s", err, line, text)
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
