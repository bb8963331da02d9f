package model

import ("testing";"time"
"github.com/skelegent/skelegent-go/actors/run"
"github.com/skelegent/skelegent-go/protocol")

type runs = map[protocol.RunID]string

func TestTmp(t *testing.T) {
	for _, s := range []Scenario{
		{Name:"one", Runs: runs{"r1":"pay a; emit x"}, Inputs: []Input{{Task:"A",Run:"r1",Inboxes:[]string{"alice"}}}, Faults: Faults{Crash:1,Expire:1}},
		{Name:"claims", Runs: runs{"r1":"pay a; emit x","r2":"pay b; emit x"}, Inputs: []Input{{Task:"A",Run:"r1",Inboxes:[]string{"alice"}},{Task:"B",Run:"r2",Inboxes:[]string{"bob"}}}, Faults: Faults{Crash:1,Expire:1}},
		{Name:"await", Runs: runs{"r1":"pay a; await s; pay b"}, Inputs: []Input{{Task:"A",Run:"r1",Inboxes:[]string{"alice"}}}, Signals: []Signal{{Type:"s", Run:"r1"}}, Faults: Faults{Crash:1,Expire:1}},
	} {
		_ = run.Enqueue
		now := time.Now()
		r := Explore(s)
		t.Logf("%s %v", r, time.Since(now))
	}
}
