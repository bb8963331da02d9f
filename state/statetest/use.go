package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/skelegent/skelegent-go/protocol"
)

const (
	writers = 8
	rounds  = 25
)

var useClauses = []Clause{
	clause("concurrent_writers", func(b bench) {
		// Not Fatalf: it ends the goroutine that calls it, and that must be the clause's.
		errs := atOnce(func(g, i int) error {
			return b.store.Write(b.Context(), session, fmt.Sprintf("%d-%d", g, i), json.RawMessage(fmt.Sprint(i)), protocol.StoreOptions{})
		})
		if errs != nil {
			b.Fatalf("write: %v", errs)
		}
		lost := 0
		for g := range writers {
			for i := range rounds {
				if b.read(session, fmt.Sprintf("%d-%d", g, i)) == nil {
					lost++
				}
			}
		}
		if lost > 0 {
			b.Errorf("%d of %d writes to different keys are lost", lost, writers*rounds)
		}
	}),
	clause("concurrent_writers_of_one_key", func(b bench) {
		const key = "the one"
		errs := atOnce(func(g, i int) error {
			value := fmt.Sprintf(`{"writer":%d,"round":%d}`, g, i)
			if err := b.store.Write(b.Context(), session, key, json.RawMessage(value), protocol.StoreOptions{}); err != nil {
				return err
			}
			got, err := b.store.Read(b.Context(), session, key)
			if err == nil && !json.Valid(got) {
				err = fmt.Errorf("read %q", got)
			}
			return err
		})
		if errs != nil {
			b.Fatalf("writers of one key: %v", errs)
		}
		var last struct{ Writer, Round int }
		if err := json.Unmarshal(b.read(session, key), &last); err != nil || last.Round != rounds-1 {
			b.Errorf("what is left is %+v (%v), which was not the last write of anybody", last, err)
		}
	}),
	clause("written_slice_is_the_callers", func(b bench) {
		value := []byte(`"abc"`)
		b.write(session, "k", "0")
		if err := b.store.Write(b.Context(), session, "k", value, protocol.StoreOptions{}); err != nil {
			b.Fatalf("write: %v", err)
		}
		copy(value, `"xyz"`)
		b.wants(session, "k", `"abc"`)
	}),
	clause("read_slice_is_the_callers", func(b bench) {
		b.write(session, "k", `"abc"`)
		copy(b.read(session, "k"), `"xyz"`)
		b.wants(session, "k", `"abc"`)
	}),
	clause("cancelled_read", func(b bench) {
		b.write(session, "k", `1`)
		_, err := b.store.Read(b.cancelled(), session, "k")
		b.fails("read", err, protocol.CodeCancelled)
	}),
	clause("cancelled_write", func(b bench) {
		err := b.store.Write(b.cancelled(), session, "k", json.RawMessage(`1`), protocol.StoreOptions{})
		b.fails("write", err, protocol.CodeCancelled)
	}),
	clause("cancelled_delete", func(b bench) {
		b.write(session, "k", `1`)
		b.fails("delete", b.store.Delete(b.cancelled(), session, "k"), protocol.CodeCancelled)
	}),
	clause("cancelled_list", func(b bench) {
		_, err := b.store.List(b.cancelled(), session, "")
		b.fails("list", err, protocol.CodeCancelled)
	}),
	clause("cancelled_search", func(b bench) {
		_, err := b.store.Search(b.cancelled(), session, "x", 1)
		b.fails("search", err, protocol.CodeCancelled)
	}),
}

func (b bench) cancelled() context.Context {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	return ctx
}

// atOnce runs f in all rounds of all writers.
func atOnce(f func(g, i int) error) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range rounds {
				if err := f(g, i); err != nil {
					errs[g] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
