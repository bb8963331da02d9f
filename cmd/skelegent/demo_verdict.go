package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/protocol"
)

// demoVerdict is what the world outside counted, and whether it is as it has to be.
type demoVerdict struct {
	Passed bool        `json:"passed"`
	Checks []demoCheck `json:"checks"`

	Workflow protocol.WorkflowID `json:"workflow"`
	Run      protocol.RunID      `json:"run"`
	Answer   string              `json:"answer"`
	Exit     string              `json:"exit_reason"`
	Cost     protocol.Decimal    `json:"cost"`   // in USD, as the answer says
	Billed   protocol.Decimal    `json:"billed"` // in USD, as the model's bill says

	Turns    []demoTurnBill `json:"turns"`
	Approved []string       `json:"approved"` // calls that a person was asked about
	Orders   []string       `json:"orders"`   // lines of the file
	Mails    []string       `json:"mails"`    // whom the executor sent one, in the order in which it did
	Memory   demoMemory     `json:"memory"`

	Records int             `json:"records"` // of the run's log
	Bytes   int             `json:"bytes"`
	Claims  []inspect.Claim `json:"claims"`

	KillToCall protocol.Millis `json:"kill_to_call_ms"` // from the kill to the next model call
	Took       protocol.Millis `json:"took_ms"`
}

// demoTurnBill is what was paid for one turn.
type demoTurnBill struct {
	Turn     int `json:"turn"`
	Paid     int `json:"paid"`
	InFlight int `json:"in_flight_at_kill"` // of those
	Asked    int `json:"asked"`             // how many conversations; asked again it must be the same
}

type demoMemory struct {
	Value  string `json:"value"`
	Writes int    `json:"writes"`
}

// demoCheck is one thing that has to be so.
type demoCheck struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`
	Want string `json:"want,omitempty"` // if it is not so
}

// judge collects what was counted, and checks it.
func (s *demoStory) judge(ctx context.Context) (*demoVerdict, error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	bill := s.world.model.bill()
	price, err := demoPrice(s.world.dir)
	if err != nil {
		return nil, err
	}
	text, _ := s.output.Message.AsText()
	v := &demoVerdict{
		Workflow: s.accepted.Workflow, Run: s.accepted.Run, Answer: text, Exit: s.output.ExitReason.String(),
		Cost: s.output.Metadata.Cost, Turns: turnBills(bill), Approved: append([]string{}, s.approved...), Mails: s.world.mails.all(),
		KillToCall: protocol.MillisOf(s.wentOn), Took: protocol.MillisOf(time.Since(s.begun)),
	}
	if v.Orders, err = demoOrdered(s.world.dir); err != nil {
		return nil, err
	}
	if v.Memory.Value, v.Memory.Writes, err = s.world.memory(ctx, demoSession); err != nil {
		return nil, err
	}
	tree, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	v.Records, v.Bytes, v.Claims = tree.Records, tree.Bytes, tree.Claims
	var recorded protocol.Decimal
	for i, c := range bill {
		v.Billed.Decimal = v.Billed.Add(price(c.usage))
		if c.answered && !slices.ContainsFunc(bill[:i], func(b demoCall) bool { return b.answered && b.turn == c.turn }) {
			recorded.Decimal = recorded.Add(price(c.usage))
		}
	}
	v.check(recorded)
	return v, nil
}

// turnBills sorts the calls by what was asked.
func turnBills(bill []demoCall) []demoTurnBill {
	turns := []demoTurnBill{}
	asked := map[string]bool{}
	for _, c := range bill {
		i := slices.IndexFunc(turns, func(t demoTurnBill) bool { return t.Turn == c.turn })
		if i < 0 {
			i = len(turns)
			turns = append(turns, demoTurnBill{Turn: c.turn})
		}
		turns[i].Paid++
		if !c.answered {
			turns[i].InFlight++
		}
		if !asked[c.asked] {
			asked[c.asked] = true
			turns[i].Asked++
		}
	}
	slices.SortFunc(turns, func(a, b demoTurnBill) int { return a.Turn - b.Turn })
	return turns
}

// demoPrice returns what a call costs by the manifest's prices.
func demoPrice(dir string) (func(demoUsage) decimal.Decimal, error) {
	m, err := manifest.Load(filepath.Join(dir, defaultManifest))
	if err != nil {
		return nil, err
	}
	p := m.Providers["main"].Prices[demoModelID]
	in, out := protocol.Decimal(*p.Input), protocol.Decimal(*p.Output)
	return func(u demoUsage) decimal.Decimal {
		return in.Mul(decimal.NewFromInt(u.In)).Add(out.Mul(decimal.NewFromInt(u.Out))).Shift(-6) // they are for a million tokens
	}, nil
}

// check decides what is as it has to be.
func (v *demoVerdict) check(recorded protocol.Decimal) {
	add := func(name string, ok bool, says, want string) {
		if ok {
			want = ""
		}
		v.Checks = append(v.Checks, demoCheck{name, ok, says, want})
	}
	add("approval", slices.Equal(v.Approved, []string{"order"}), v.asked(), "asked for order")
	ok, says := v.paid()
	add("model calls", ok, says, "each of 3 turns paid once, and once more if it was in flight at the kill")
	add("order", len(v.Orders) == 1 && strings.HasPrefix(v.Orders[0], string(v.Run)+"."),
		"placed "+times(len(v.Orders))+", by the lines of "+demoOrders, "placed once, by this run")
	add("mails", slices.Equal(v.Mails, demoMails), list(v.Mails), "each once and in order: "+list(demoMails))
	add("memory", v.Memory == demoMemory{demoValue, 1},
		fmt.Sprintf("%s = %s, written %s", demoKey, orNothing(v.Memory.Value), times(v.Memory.Writes)), demoKey+" = "+demoValue+", written once")
	add("answer", v.Exit == string(protocol.ExitComplete) && strings.Contains(v.Answer, "order 1 is placed"),
		v.Exit+": "+clip(v.Answer, maxDemoAnswer), "complete, and says that order 1 is placed")
	says = "$" + v.Cost.Text()
	if lost := v.Billed.Sub(recorded.Decimal); lost.IsPositive() {
		says += "; the bill has $" + protocol.Decimal{Decimal: lost}.Text() + " more, for what was paid twice"
	}
	add("cost", v.Cost.Equal(recorded.Decimal), says, "$"+recorded.Text())
	taken := slices.DeleteFunc(slices.Clone(v.Claims), func(c inspect.Claim) bool { return c.Resumed })
	add("log", len(taken) == 2 && len(v.Claims) > len(taken),
		fmt.Sprintf("%d records, %d bytes; claimed %s: %s", v.Records, v.Bytes, times(len(v.Claims)), claims(v.Claims)),
		"begun, resumed after the approval, and taken over after the kill")
	says = "nobody was killed"
	if v.KillToCall > 0 {
		says = fmt.Sprintf("%d ms from kill -9 to the next model call, with the start of a process", v.KillToCall)
	}
	add("recovery", v.KillToCall > 0, says, "a model call after the kill")
	v.Passed = !slices.ContainsFunc(v.Checks, func(c demoCheck) bool { return !c.OK })
}

// maxDemoAnswer is how much of the answer is in the verdict.
const maxDemoAnswer = 80

func (v *demoVerdict) asked() string {
	if len(v.Approved) == 0 {
		return "nobody was asked"
	}
	return "asked for " + list(v.Approved) + "; the run held nothing meanwhile"
}

// paid checks the bill, and says what is on it.
func (v *demoVerdict) paid() (ok bool, says string) {
	ok = len(v.Turns) == demoTurns
	var parts []string
	for i, t := range v.Turns {
		inFlight := 0
		if t.Turn == demoHeld {
			inFlight = 1
		}
		ok = ok && t.Turn == i+1 && t.Paid-t.InFlight == 1 && t.InFlight <= inFlight && t.Asked == 1
		part := fmt.Sprintf("turn %d paid %s", t.Turn, times(t.Paid))
		if t.InFlight > 0 {
			part += fmt.Sprintf(" (%d was in flight at the kill)", t.InFlight)
		}
		parts = append(parts, part)
	}
	return ok, strings.Join(parts, ", ")
}

func claims(all []inspect.Claim) string {
	var parts []string
	for i, c := range all {
		switch {
		case c.Resumed:
			parts = append(parts, "resumed")
		case i == 0:
			parts = append(parts, "begun")
		default:
			parts = append(parts, "taken over")
		}
	}
	return strings.Join(parts, ", ")
}

func list(all []string) string { return orNothing(strings.Join(all, ", ")) }

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// print writes the verdict for people.
func (v *demoVerdict) print(out *output) {
	out.printf("\nThe verdict, by what the world outside counted:\n")
	for _, c := range v.Checks {
		word := "ok    "
		if !c.OK {
			word = "FAILED"
		}
		out.printf("   %s  %-12s %s\n", word, c.Name, c.Says)
		if !c.OK {
			out.printf("           %-12s must be: %s\n", "", c.Want)
		}
	}
}

// failure is nil if all is as it has to be, or else says what is not.
func (v *demoVerdict) failure() error {
	var failed []string
	for _, c := range v.Checks {
		if !c.OK {
			failed = append(failed, fmt.Sprintf("%s (%s)", c.Name, c.Says))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("demo: %d of %d checks failed: %s", len(failed), len(v.Checks), strings.Join(failed, "; "))
}
