package pack_test

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func item(id, text string, rank int) pack.Item {
	return pack.NewItem(pack.Memory, id, text).WithRank(rank)
}

func wantText(t testing.TB, p *pack.Pack, want string) {
	t.Helper()
	if got := p.Text(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// left is what was left out, as one line: ids and reasons.
func left(p *pack.Pack) string {
	line := ""
	for o := range p.Omitted() {
		line += o.Item.SourceID + ":" + string(o.Reason) + " "
	}
	return line
}

func wantLeft(t testing.TB, p *pack.Pack, want string) {
	t.Helper()
	if got := left(p); got != want {
		t.Errorf("left out: got %q, want %q", got, want)
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
