package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// eventSubjects reads a filter: nothing, an operator, operator/instance, or a subject. Of the two one may be empty.
func eventSubjects(n wire.Names, filter string) (live, log string, err error) {
	rest, subject := strings.CutPrefix(filter, n.Prefix()+".")
	switch {
	case subject:
		return subjectFilter(n, rest)
	case filter == "":
		live, log = bus.EventSubjects(n, "", "")
		return live, log, nil
	case strings.Contains(filter, "/"):
		operator, instance, err := wire.ParseWorkflow(filter)
		if err != nil {
			return "", "", err
		}
		live, log = bus.EventSubjects(n, operator, instance)
		return live, log, nil
	case wire.ValidOperator(filter):
		live, log = bus.EventSubjects(n, filter, "")
		return live, log, nil
	}
	return "", "", fmt.Errorf("filter %.120q is neither an operator, OPERATOR/INSTANCE, nor a subject below %s.live or %[2]s.event", filter, n.Prefix())
}

// subjectFilter checks a subject without its prefix. The log itself is not for observers; its events are the same.
func subjectFilter(n wire.Names, rest string) (live, log string, err error) {
	tokens := strings.Split(rest, ".")
	for i, t := range tokens {
		if t == "" || strings.ContainsAny(t, " \t\r\n") || t == ">" && i < len(tokens)-1 {
			return "", "", fmt.Errorf("%.120q is no subject", n.Prefix()+"."+rest)
		}
	}
	switch {
	case len(tokens) < 2:
	case tokens[0] == "live":
		return n.Prefix() + "." + rest, "", nil
	case tokens[0] == "event", tokens[0] == "log":
		tokens[0] = "event"
		return "", n.Prefix() + "." + strings.Join(tokens, "."), nil
	}
	return "", "", fmt.Errorf("subject %.120q is not below %s.live or %[2]s.event", n.Prefix()+"."+rest, n.Prefix())
}

// maxSummary is how much of an event is on its line.
const maxSummary = 120

// eventText is the line of an event for people.
func (a *app) eventText(o bus.Observation) string {
	if o.Err != nil {
		return oneLine(fmt.Sprintf("%s  no event: %s: %s", o.Subject, o.Err, clip(string(o.Data), maxSummary)))
	}
	e, seq := &o.Event, ""
	if o.Seq > 0 {
		seq = fmt.Sprintf("#%d ", o.Seq)
	}
	kind := fmt.Sprintf("%-20s", oneLine(string(e.Kind)))
	switch e.Kind {
	case protocol.EventFailed, protocol.EventCancelled, protocol.EventRefused:
		kind = a.out.in(red, kind)
	case protocol.EventSuspended:
		kind = a.out.in(yellow, kind)
	case protocol.EventCompleted, protocol.EventEffectDone:
		kind = a.out.in(green, kind)
	case protocol.EventProgress:
		kind = a.out.in(dim, kind)
	default:
	}
	where := string(e.Operator) + "/" + e.Instance
	if e.Instance != string(e.Run) {
		where += " run " + string(e.Run)
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %s  %s  %s%s",
		e.Time.Local().Format("15:04:05.000"), kind, oneLine(where), seq, clip(summaries(e), maxSummary)))
}

// summaries are those of an event and of what was committed with it.
func summaries(e *protocol.Event) string {
	text := summary(e)
	for _, part := range e.Also {
		text += "; " + string(part.Kind) + " " + summary(&protocol.Event{Kind: part.Kind, Data: part.Data})
	}
	return text
}

// eventData are the fields of all kinds of event that a summary is made of.
type eventData struct {
	Trigger  protocol.TriggerType `json:"trigger"`
	Content  string               `json:"content"`
	Thinking string               `json:"thinking"`
	ToolCall struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"tool_call"`
	Key        string                   `json:"key"`
	Value      json.RawMessage          `json:"value"`
	Output     *protocol.OperatorOutput `json:"output"`
	Error      *protocol.Error          `json:"error"`
	Model      string                   `json:"model"`
	Usage      protocol.TokenUsage      `json:"usage"`
	Cost       *protocol.Decimal        `json:"cost"`
	Capability string                   `json:"capability_id"`
	IsError    bool                     `json:"is_error"`
	EffectID   string                   `json:"effect_id"`
	Family     string                   `json:"family"`
	Outcomes   []protocol.EffectOutcome `json:"outcomes"`

	// Of the log of a durable run.
	Node    string      `json:"node"`
	Attempt int         `json:"attempt"`
	Resumed bool        `json:"resumed"`
	Wait    *run.Wait   `json:"wait"`
	Reason  string      `json:"reason"`
	Signal  *run.Signal `json:"signal"`
	Timer   *run.Timer  `json:"timer"`
	Child   *struct {
		Run protocol.RunID `json:"run"`
	} `json:"child"`
	Ignored bool   `json:"ignored"`
	Path    string `json:"path"`
	Step    string `json:"step"`
	Name    string `json:"name"`
}

// summary says in a few words what an event says; of an unknown kind its data.
func summary(e *protocol.Event) string {
	var d eventData
	// A tool's output is a text, a run's an OperatorOutput: only the latter is read.
	if err := protocol.Unmarshal(e.Data, &d); err != nil && e.Kind != protocol.EventToolResultReceived && e.Kind != protocol.EventToolCallAssembled {
		return string(e.Data)
	}
	switch e.Kind {
	case protocol.EventInvocationStarted:
		if d.Node != "" {
			return claimText(&d)
		}
		return "trigger " + string(d.Trigger)
	case protocol.EventProgress:
		return cmp.Or(d.Content, d.Thinking, d.ToolCall.Name, d.ToolCall.Input)
	case protocol.EventObservation:
		var value struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(d.Value, &value) // it may be anything
		return strings.TrimSpace(d.Key + " " + value.Type)
	case protocol.EventInferenceStarted:
		return "model " + d.Model
	case protocol.EventInferenceCompleted:
		text := fmt.Sprintf("model %s, %d tokens in, %d out", d.Model, d.Usage.InputTokens, d.Usage.OutputTokens)
		if d.Cost != nil {
			text += ", " + d.Cost.Text() + " USD"
		}
		return text
	case protocol.EventToolCallAssembled, protocol.EventToolResultReceived:
		if name := cmp.Or(d.Capability, d.Name); d.IsError {
			return name + " failed"
		}
		return cmp.Or(d.Capability, d.Name)
	case protocol.EventIntentDeclared:
		return d.EffectID
	case protocol.EventCompleted:
		if d.Output != nil {
			return d.Output.ExitReason.String() + ": " + messageText(d.Output.Message)
		}
	case protocol.EventFailed:
		if d.Error != nil {
			return string(d.Error.Code) + ": " + d.Error.Message
		}
	case protocol.EventSuspended:
		return "waits for " + waitText(d.Wait)
	case protocol.EventNoted:
		return notedText(&d)
	case protocol.EventStepStarted, protocol.EventStepCompleted:
		return strings.TrimSpace(d.Path + " " + d.Step + " " + d.Name)
	case protocol.EventCancelled:
		return d.Reason
	case protocol.EventQueued, protocol.EventAttached, protocol.EventSnapshot, protocol.EventClosed:
		return ""
	case protocol.EventRefused:
		if d.Error != nil {
			return string(d.Error.Code) + ": " + d.Error.Message
		}
	case protocol.EventEffectActing, protocol.EventEffectReleased:
		return d.Family
	case protocol.EventEffectDone:
		return d.Family + " " + outcomesText(d.Outcomes)
	default:
	}
	return string(e.Data)
}

func claimText(d *eventData) string {
	text := fmt.Sprintf("node %s, attempt %d", d.Node, d.Attempt)
	if d.Resumed {
		text += ", resumed"
	}
	return text
}

// notedText says what reached an instance.
func notedText(d *eventData) string {
	text := ""
	switch {
	case d.Signal != nil:
		text = "signal " + d.Signal.Type
	case d.Timer != nil:
		text = "timer of step " + d.Timer.Path
	case d.Child != nil:
		text = "end of run " + string(d.Child.Run)
	}
	if d.Ignored {
		text += ", ignored"
	}
	return text
}

func outcomesText(outcomes []protocol.EffectOutcome) string {
	parts := make([]string, len(outcomes))
	for i, o := range outcomes {
		parts[i] = string(o.Status)
		if o.Error != nil {
			parts[i] += " (" + string(o.Error.Code) + ": " + o.Error.Message + ")"
		}
	}
	return strings.Join(parts, ", ")
}
