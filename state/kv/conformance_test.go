package kv_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
	"github.com/skelegent/skelegent-go/state/statetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	statetest.Run(t, func(t testing.TB) protocol.StateStore { return open(t, start(t), nil) })
}

// TestConformanceWithBlobs has every value in the object store.
func TestConformanceWithBlobs(t *testing.T) {
	t.Parallel()
	statetest.Run(t, func(t testing.TB) protocol.StateStore { return kv.ForceBlobs(open(t, start(t), nil)) })
}
