package run_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/run/model"
	"github.com/skelegent/skelegent-go/protocol"
)

// lives calls f with logs that the played world made: several of each scenario of the model.
func lives(t *testing.T, f func(t *testing.T, log []run.Record)) {
	t.Helper()
	for _, s := range model.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				for _, log := range model.Walk(s, seed) {
					if len(log) > 0 {
						f(t, log)
					}
				}
			}
		})
	}
}

// fold folds more records into f, from the beginning if that is nil.
func fold(t *testing.T, f *run.Fold, records ...run.Record) *run.Fold {
	t.Helper()
	if f == nil {
		f = run.New("op", records[0].Event.Instance)
	}
	for _, r := range records {
		if err := f.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// same compares what folds say, but not how they came to be.
func same(t *testing.T, got, want *run.Fold) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(run.Fold{}, "Tail", "Records"), cmpopts.IgnoreFields(run.Entry{}, "Info"),
		cmp.Comparer(func(a, b protocol.Decimal) bool { return a.Equal(b.Decimal) }),
		cmp.Comparer(func(a, b *protocol.Error) bool { return text(a) == text(b) }),
		cmp.Comparer(func(a, b protocol.AnyEffect) bool { return text(a) == text(b) }),
		cmp.Comparer(func(a, b protocol.ApprovalReason) bool { return a == b }),
	); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// A fold from a snapshot on is the fold from the beginning, but for the last commit, if that is before the snapshot.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	lives(t, func(t *testing.T, log []run.Record) {
		t.Helper()
		for cut := 1; cut < len(log); cut++ {
			item := fold(t, nil, log[:cut]...).Snapshot()
			data, err := protocol.Marshal(item.Data)
			if err != nil {
				t.Fatal(err)
			}
			snapshot := run.Record{Seq: log[cut-1].Seq, Event: protocol.Event{
				ID: "snapshot", Kind: item.Kind, Operator: "op", Instance: log[0].Event.Instance, Run: item.Run, Data: data,
			}}
			got := fold(t, fold(t, nil, snapshot), log[cut:]...)
			want := fold(t, nil, log...)
			if want.Last != nil && want.Last.Seq <= snapshot.Seq {
				want.Last = nil
			}
			same(t, got, want)
		}
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	lives(t, func(t *testing.T, log []run.Record) {
		t.Helper()
		f := run.New("op", log[0].Event.Instance)
		for _, r := range log {
			fold(t, f, r)
			data, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			got := new(run.Fold)
			if err := json.Unmarshal(data, got); err != nil {
				t.Fatal(err)
			}
			same(t, got, f)
		}
	})
}

// What is in the log twice, or behind what is folded, is refused, and changes nothing.
func TestOutOfOrder(t *testing.T) {
	t.Parallel()
	lives(t, func(t *testing.T, log []run.Record) {
		t.Helper()
		f := fold(t, nil, log...)
		before := text(f)
		for _, r := range log {
			if err := f.Apply(r); err == nil {
				t.Fatalf("record %d was folded twice", r.Seq)
			}
		}
		if text(f) != before {
			t.Fatal("the fold changed")
		}
	})
}

// A kind that this program does not know stops every decision, and is no error.
func TestUnknown(t *testing.T) {
	t.Parallel()
	f := fold(t, nil, run.Record{Seq: 1, Event: protocol.Event{Kind: "of_tomorrow", Data: []byte("{}")}})
	d := run.Driver{Task: run.Task{Input: &run.Input{Run: "r"}}}
	if cmd := d.Next(f); f.Unknown != "of_tomorrow" || !cmd.GiveBack || cmd.Delay == 0 {
		t.Errorf("got %+v of %q", cmd, f.Unknown)
	}
	if cmd := d.Fact(f); !cmd.Drop {
		t.Errorf("got %+v", cmd)
	}
}

// Whatever is in the log, nothing panics: neither the fold nor a decision on it.
func FuzzApply(f *testing.F) {
	kinds := protocol.EventKinds()
	number := map[protocol.EventKind]uint8{}
	for i, k := range kinds {
		number[k] = uint8(i)
	}
	for _, s := range model.Scenarios() {
		for _, log := range model.Walk(s, 1) {
			for i, r := range log {
				if i > 0 {
					before := log[i-1].Event
					f.Add(number[before.Kind], []byte(before.Data), number[r.Event.Kind], []byte(r.Event.Data))
				}
			}
		}
	}
	f.Add(number[protocol.EventSnapshot], []byte(`{"open":{"journal":{"1":null},"children":{"c":null}}}`),
		number[protocol.EventNoted], []byte(`{"child":{"run":"c"}}`))
	f.Fuzz(func(t *testing.T, kind1 uint8, data1 []byte, kind2 uint8, data2 []byte) {
		t.Helper()
		fold := run.New("op", "i")
		start := `{"carrier":{"id":{"seq":1}},"input":{"run":"r","hash":"h"}}`
		for i, e := range []protocol.Event{
			{Kind: protocol.EventInvocationStarted, Run: "r", Data: []byte(start)},
			{Kind: kinds[int(kind1)%len(kinds)], Run: "r", Data: data1},
			{Kind: kinds[int(kind2)%len(kinds)], Run: "r", Data: data2},
		} {
			if fold.Apply(run.Record{Seq: uint64(i) + 1, Event: e}) != nil {
				return
			}
		}
		in := &run.Input{Run: "r", Hash: "h", Inboxes: []string{"inbox"}}
		for _, task := range []run.Task{
			{Input: in},
			{Input: in, Bar: true},
			{Input: in, Carrier: run.Carrier{ID: run.TaskID{Seq: 1}}},
			{Input: &run.Input{Run: "q", Mode: run.Interrupt}},
			{Signal: &run.Signal{Seq: 9, Type: run.SignalApprove}},
			{Timer: &run.Timer{Run: "r", Path: "1"}},
			{Child: &run.ChildEnd{Run: "c"}},
		} {
			d := run.Driver{Task: task}
			d.Next(fold)
			if fold.Last != nil {
				d.Settled(fold.Last.Seq)
			}
			d.Next(fold)
		}
		fold.Left()
		fold.Steering()
		fold.Close()
	})
}
