package normalize_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/normalize"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	start = normalize.StartMarker
	end   = normalize.EndMarker
)

func block(s string) string { return start + s + end }

// list is calls as name(input), name#id(input), with a space between.
func list(calls []protocol.ToolCall) string {
	var all []string
	for _, c := range calls {
		name := c.Name
		if c.ID != "" {
			name += "#" + c.ID
		}
		all = append(all, name+"("+string(c.Input)+")")
	}
	return strings.Join(all, " ")
}

// isOurs checks what every error is.
func isOurs(t *testing.T, err error) {
	t.Helper()
	var at *normalize.SyntaxError
	var in *normalize.PathError
	if compose.KindOf(err) != compose.KindNormalizerFailed || protocol.CodeOf(err) != protocol.CodeInvalidInput ||
		errors.As(err, &at) == errors.As(err, &in) || len(err.Error()) > 1000 || !json.Valid([]byte(`"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(err.Error())+`"`)) {
		t.Errorf("error %T %q", err, err)
	}
}
