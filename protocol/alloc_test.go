//go:build !race

package protocol_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// TestHotPathAllocations keeps the frequent messages cheap. The race detector allocates, so it is not built then.
func TestHotPathAllocations(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts those of other tests too
	var in protocol.OperatorInput
	var out protocol.OperatorOutput
	inData, outData := []byte(benchInput), []byte(benchOutput)
	for _, c := range []struct {
		name string
		most float64
		run  func() error
	}{
		{"decode input", 6, func() error { in = protocol.OperatorInput{}; return protocol.Unmarshal(inData, &in) }},
		{"decode output", 6, func() error { out = protocol.OperatorOutput{}; return protocol.Unmarshal(outData, &out) }},
		{"encode input", 6, func() error { _, err := protocol.Marshal(in); return err }},
		{"encode output", 6, func() error { _, err := protocol.Marshal(out); return err }},
	} {
		got := testing.AllocsPerRun(200, func() {
			if err := c.run(); err != nil {
				t.Error(c.name, err)
			}
		})
		if got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.most)
		}
	}
}
