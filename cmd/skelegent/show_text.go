package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxShown is how much of a text is shown with --full.
const maxShown = 300

// branch is a line of a tree with those below it.
type branch struct {
	line  string
	below []*branch
}

func (b *branch) add(line string) *branch {
	next := &branch{line: line}
	b.below = append(b.below, next)
	return next
}

func (a *app) showTree(t *inspect.Tree) {
	a.printBranch("", a.treeBranch(t))
}

// printBranch prints a line and what is below it.
func (a *app) printBranch(indent string, b *branch) {
	a.out.print(b.line + "\n")
	for i, below := range b.below {
		fork, bar := "├─ ", "│  "
		if i == len(b.below)-1 {
			fork, bar = "└─ ", "   "
		}
		a.out.print(indent + fork)
		a.printBranch(indent+bar, below)
	}
}

// treeBranch is a run with all that belongs to it.
func (a *app) treeBranch(t *inspect.Tree) *branch {
	root := &branch{line: a.treeLine(t)}
	if t.Problem != "" {
		root.add(a.out.in(yellow, clip(t.Problem, maxShown)))
	}
	if t.Parent != "" {
		root.add("begun by run " + clip(string(t.Parent), 80))
	}
	if len(t.Input) > 0 {
		root.add("input " + clip(inputText(t.Input), maxShown))
	}
	for _, c := range t.Claims {
		line := fmt.Sprintf("claim %d on %s, %s", c.Attempt, clip(c.Node, 40), clock(c.Time))
		if c.Resumed {
			line += ", resumed"
		}
		root.add(a.out.in(dim, line))
	}
	a.addSteps(root, t)
	for _, s := range t.Signals {
		root.add(a.signalLine(s))
	}
	for _, e := range t.Effects {
		root.add(a.effectLine(e))
	}
	if t.Output != nil {
		root.add("output " + clip(messageText(t.Output.Message), maxShown))
	}
	if t.Error != nil {
		root.add(a.out.in(red, clip(string(t.Error.Code)+": "+t.Error.Message, maxShown)))
	}
	for _, next := range t.HandedTo {
		root.add("handed off to " + clip(string(next), 120))
	}
	for _, id := range t.Queue {
		root.add("next in the queue: run " + clip(string(id), 80))
	}
	return root
}

func (a *app) treeLine(t *inspect.Tree) string {
	colour := map[inspect.State]string{
		inspect.StateFailed: red, inspect.StateCancelled: red, inspect.StateRefused: red, inspect.StateCompleted: green, inspect.StateSuspended: yellow,
	}[t.State]
	state := cmp.Or(string(t.State), "unknown")
	if colour != "" {
		state = a.out.in(colour, state)
	}
	line := clip(string(t.Workflow), 120)
	if !strings.HasSuffix(string(t.Workflow), "/"+string(t.Run)) {
		line += " run " + clip(string(t.Run), 80)
	}
	line += "  " + state
	if t.Begun == nil {
		return line
	}
	end := time.Now()
	if t.Ended != nil {
		end = *t.Ended
	}
	line += fmt.Sprintf("  %s, %s USD, %d steps, %d records of %d bytes", took(*t.Begun, end), t.Cost.Text(), len(t.Steps), t.Records, t.Bytes)
	if made := strings.TrimSpace(t.Made.Model + " " + t.Made.Version); made != "" {
		line += ", " + clip(made, 80)
	}
	return line
}

// addSteps adds the steps, each with its waits and its child; and the waits that are no step's.
func (a *app) addSteps(root *branch, t *inspect.Tree) {
	waits := map[string][]inspect.Waited{}
	for _, w := range t.Waits {
		waits[w.Path] = append(waits[w.Path], w)
	}
	for _, s := range t.Steps {
		b := root.add(a.stepLine(s))
		for _, w := range waits[s.Path] {
			b.below = append(b.below, a.waitBranch(w))
		}
		delete(waits, s.Path)
		if len(s.Result) > 0 {
			b.add("result " + clip(string(s.Result), maxShown))
		}
		if s.Blob != nil {
			b.add(fmt.Sprintf("result of %d bytes, kept as a blob", s.Blob.Size))
		}
		if s.Error != nil {
			b.add(a.out.in(red, clip(string(s.Error.Code)+": "+s.Error.Message, maxShown)))
		}
		if s.Child != nil {
			b.below = append(b.below, a.treeBranch(s.Child))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(waits)) { // of steps that have no record yet
		for _, w := range waits[path] {
			root.below = append(root.below, a.waitBranch(w))
		}
	}
}

func (a *app) stepLine(s inspect.Step) string {
	line := clip(s.Path, 20) + " " + clip(string(s.Kind), 20)
	if s.Name != string(s.Kind) {
		line += " " + clip(s.Name, 80)
	}
	if s.Model != "" && s.Model != s.Name {
		line += " " + clip(s.Model, 80)
	}
	if s.Tokens != nil {
		line += fmt.Sprintf(", %d tokens in, %d out", s.Tokens.InputTokens, s.Tokens.OutputTokens)
	}
	if s.Cost != nil {
		line += ", " + s.Cost.Text() + " USD"
	}
	switch {
	case s.Ended == nil:
		line += ", " + a.out.in(yellow, "not over")
	case s.Begun != nil:
		line += ", " + took(*s.Begun, *s.Ended)
	}
	if s.Error != nil || s.IsError {
		line += ", " + a.out.in(red, "failed")
	}
	if n := len(s.Inputs); n > 0 {
		line += fmt.Sprintf(", took up %d inputs", n)
	}
	return line
}

// waitBranch is a time of waiting, with the question and what was decided.
func (a *app) waitBranch(w inspect.Waited) *branch {
	wait := run.Wait{Reason: w.Reason, Signals: w.Signals, Children: w.Children}
	if w.Due != nil {
		wait.Timers = []run.Due{{At: *w.Due}}
	}
	line := "waited for " + clip(waitText(&wait), 120)
	if w.Until == nil {
		line = a.out.in(yellow, "waits for "+clip(waitText(&wait), 120)) + ", since " + clock(w.Since)
	} else {
		line += ", " + took(w.Since, *w.Until)
	}
	b := &branch{line: line}
	for _, c := range w.Approval {
		text := clip(c.CallID, 80) + " " + clip(c.Tool, 80)
		if len(c.Input) > 0 {
			text += " " + clip(compact(c.Input), maxShown)
		}
		b.add(text + a.decisionText(w, c.CallID))
	}
	return b
}

func (a *app) decisionText(w inspect.Waited, id string) string {
	d, ok := w.Decided[id]
	switch {
	case !ok:
		return ""
	case d.Approved && len(d.Input) > 0:
		return ": " + a.out.in(green, "approved") + " with " + clip(compact(d.Input), maxShown)
	case d.Approved:
		return ": " + a.out.in(green, "approved")
	}
	return strings.TrimSuffix(": "+a.out.in(red, "denied")+", "+clip(d.Reason, maxShown), ", ")
}

func (a *app) signalLine(s inspect.Signal) string {
	line := fmt.Sprintf("signal %s, %s", clip(s.Type, 80), clock(s.Time))
	if s.From != "" {
		line += ", from effect " + clip(s.From, 120)
	}
	line += ", "
	switch s.Fate {
	case inspect.FateTaken:
		line += "taken"
	case inspect.FateIgnored:
		line += a.out.in(yellow, "ignored: it concerned no run, or no question")
	case inspect.FateNoted:
		line += "noted"
	case inspect.FateStored:
		line += a.out.in(yellow, "stored, no node has heard of it")
	}
	if s.Step != "" {
		line += " by step " + clip(s.Step, 20)
	}
	if len(s.Data) > 0 {
		line += ": " + clip(string(s.Data), maxShown)
	}
	return line
}

func (a *app) effectLine(e inspect.Effect) string {
	colour := map[protocol.OutcomeStatus]string{
		protocol.OutcomeOK: green, protocol.OutcomeFailed: red, protocol.OutcomeUnknown: red, inspect.OutcomePending: yellow,
	}[e.Status]
	line := "effect " + string(e.Kind) + " " + a.out.in(colour, string(e.Status))
	if e.Attempts > 1 {
		line += fmt.Sprintf(" after %d tries", e.Attempts)
	}
	if e.Error != nil {
		line += ", " + clip(string(e.Error.Code)+": "+e.Error.Message, maxShown)
	}
	return line + "  " + a.out.in(dim, clip(e.ID, 200))
}

// inputText is what an input says.
func inputText(raw json.RawMessage) string {
	var in protocol.OperatorInput
	if protocol.Unmarshal(raw, &in) != nil {
		return string(raw)
	}
	return messageText(in.Message)
}

// took is how long something took, as exactly as a person wants to know.
func took(begin, end time.Time) string {
	d := max(0, end.Sub(begin))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
