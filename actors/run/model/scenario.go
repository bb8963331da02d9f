package model

import (
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// Scenario is a small world: who asks for what, and what may go wrong.
type Scenario struct {
	Name string
	// Runs are the operator's code, by run: its steps, with semicolons between them. See program.go.
	Runs map[protocol.RunID]string
	// Inputs are accepted before anything else happens. Which of them is delivered first, and when, is open.
	Inputs []Input
	// Signals are stored in this order, each at any moment.
	Signals []Signal
	// Faults bound what goes wrong, Long the same for those who have more time; the zero value is the former.
	Faults, Long Faults
	// Hold is how many tasks a worker sees through at once, 1 if 0; Alone says that there is one worker, not two.
	Hold   int
	Alone  bool
	Policy run.Policy
	// Stay are the runs that may wait for ever.
	Stay []protocol.RunID
	// Ends are how the runs end, each in some world: so that a scenario is about what it is about.
	Ends string
}

// Input is a task that asks for a run.
type Input struct {
	Task    string // its name, in traces
	Run     protocol.RunID
	In      string // the instance; "i" if empty
	Mode    run.Mode
	Inboxes []string
	Body    string // what it says; inputs with one run id and different bodies are in conflict
}

// Signal is stored at any moment.
type Signal struct {
	Type string
	Run  protocol.RunID // that it names
	In   string         // the instance; "i" if empty
}

// Faults are how often what goes wrong does.
type Faults struct {
	Crash   uint8 // a worker forgets everything
	Expire  uint8 // a task is delivered once more while its worker lives
	LoseAck uint8 // an acknowledgement does not arrive
	Unknown uint8 // an append is not answered: it is in the log, or is not
	Stale   uint8 // a task is decided on what the worker remembers, or takes the log for empty
	Twice   uint8 // a signal or a timer arrives twice
	Trouble uint8 // a worker gives up a task that it cannot see through just now
	Leave   uint8 // a worker gives a run away at a boundary
	Listen  uint8 // the owner hears of what others append before a conflict tells
	Janitor uint8 // the janitor looks at the instance, to close it
}

const home = "i"

func orHome(instance string) string {
	if instance == "" {
		return home
	}
	return instance
}

// op is a step of an operator's code.
type op struct {
	kind string // its first word; the others are in name, or and mode
	name string
	path string   // the ordinal, from 1
	or   bool     // await: or until a deadline
	mode run.Mode // call: of the child
	paid int      // pay: which payment of the scenario it is
}

type program []op

// compile reads the code of a run.
func (m *machine) compile(id protocol.RunID, code string) program {
	var p program
	for i, text := range strings.Split(code, ";") {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		o := op{kind: words[0], path: fmt.Sprint(i + 1)}
		if len(words) > 1 {
			o.name = words[1]
		}
		o.or = len(words) > 2
		if o.or && o.kind == "call" {
			o.mode = run.Mode(words[2])
		}
		switch o.kind {
		case "pay":
			o.paid = len(m.payments)
			m.payments = append(m.payments, string(id)+"/"+o.path+" "+o.name)
		case "call", "spawn":
			m.instance(o.name)
		}
		p = append(p, o)
	}
	return p
}

// machine is a scenario made ready. It has what all its states share.
type machine struct {
	Scenario
	without  Rule
	every    bool    // go every way, also where one is enough
	limit    int     // how many worlds are enough; 0 is all
	blunt    bool    // leave it to the consequences to show that a task was acknowledged too early
	tries    []*trie // one for each instance
	programs map[protocol.RunID]program
	payments []string // names of what can be paid
	tasks    []task
	taskIDs  map[string]int
	words    []string // interned
	wordIDs  map[string]uint16
}

func newMachine(s Scenario, without Rule) *machine {
	m := &machine{Scenario: s, without: without, programs: map[protocol.RunID]program{}, taskIDs: map[string]int{}, wordIDs: map[string]uint16{}}
	m.Hold = max(1, m.Hold)
	m.instance(home)
	for _, in := range s.Inputs {
		m.instance(orHome(in.In))
	}
	for _, id := range sortedKeys(s.Runs) {
		m.programs[id] = m.compile(id, s.Runs[id])
	}
	return m
}

// instance returns the number of an instance, which it makes if need be.
func (m *machine) instance(name string) int {
	for i, t := range m.tries {
		if t.instance == name {
			return i
		}
	}
	m.tries = append(m.tries, newTrie(name))
	return len(m.tries) - 1
}

// word interns a text, so that states are small.
func (m *machine) word(text string) uint16 {
	id, ok := m.wordIDs[text]
	if !ok {
		if id = uint16(len(m.words)); int(id) != len(m.words) {
			panic("too many words")
		}
		m.words = append(m.words, text)
		m.wordIDs[text] = id
	}
	return id
}
