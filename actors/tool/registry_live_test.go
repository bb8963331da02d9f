package tool_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
)

func numbered(n int) tool.Tool {
	return tool.Func(fmt.Sprintf("t%03d", n), "", func(context.Context, struct{}) (int, error) { return n, nil })
}

func TestRegistryChanges(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(numbered(1), numbered(2), numbered(3))
	if err != nil {
		t.Fatal(err)
	}
	if r.Version() != 0 {
		t.Errorf("a new registry has version %d", r.Version())
	}
	before := r.Snapshot()
	if !r.Remove("t002") || r.Remove("t002") || r.Version() != 1 {
		t.Errorf("removed badly: version %d", r.Version())
	}
	if err := r.Add(numbered(2)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"t001", "t003", "t002"}, r.Names()); d != "" || r.Version() != 2 {
		t.Errorf("version %d %s", r.Version(), d)
	}
	if d := cmp.Diff([]string{"t001", "t002", "t003"}, before.Names()); d != "" || before.Version() != 0 {
		t.Errorf("the snapshot changed: version %d %s", before.Version(), d)
	}
	if _, ok := r.Get("t002"); !ok {
		t.Error("what was added is not found")
	}
	if err := before.Add(numbered(9)); err != nil || r.Len() != 3 {
		t.Errorf("a change of the snapshot went further: %v", r.Names())
	}
	if r.Add(tool.Alias(numbered(1), "no name")) == nil || r.Version() != 2 {
		t.Error("what is refused counts as a change")
	}
	var zero tool.Registry
	if zero.Len() != 0 || zero.Schemas() != nil || zero.Add(numbered(1)) != nil || zero.Len() != 1 {
		t.Error("the zero value does not work")
	}
}

// Readers see whole states only, in the order of registration, while others add and remove.
func TestRegistryConcurrently(t *testing.T) {
	t.Parallel()
	var r tool.Registry
	if err := r.Add(numbered(0)); err != nil {
		t.Fatal(err)
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s := r.Snapshot()
				names, schemas := s.Names(), s.Schemas()
				if len(names) != len(schemas) || names[0] != "t000" {
					t.Errorf("got %v and %d schemas", names, len(schemas))
					return
				}
				for i, name := range names {
					if x, ok := s.Get(name); !ok || x.Metadata().Name != name || schemas[i].Name != name {
						t.Errorf("%s is not what it was", name)
						return
					}
				}
			}
		})
	}
	const each = 25
	for w := range 4 {
		writers.Go(func() {
			for i := range each {
				n := 1 + w*each + i
				if err := r.Add(numbered(n)); err != nil {
					t.Error(err)
				}
				if i%2 == 0 && !r.Remove(fmt.Sprintf("t%03d", n)) {
					t.Errorf("t%03d was not there", n)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if r.Len() != 1+4*(each/2) || r.Version() != 1+4*(each+each/2+1) {
		t.Errorf("%d tools, version %d", r.Len(), r.Version())
	}
	if names := r.Names(); len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("twice: %v", names)
	}
}
