package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// What the demonstration asks, and what has to come of it.
const (
	demoQuestion = "Order two boxes of green tea. And remember that I like it."
	demoKey      = "drink"
	demoValue    = `"green tea"`
	demoModelID  = "gpt-4o-mini"
	demoTurns    = 3 // model calls that a run takes
	demoHeld     = 2 // the one in which the worker is killed
)

// demoUsages are the tokens of each turn, in and out.
var demoUsages = [demoTurns]demoUsage{{182, 41, 223}, {257, 38, 295}, {331, 29, 360}}

// demoMails are who gets a mail, in this order.
var demoMails = []string{"warehouse", "customer", "accountant"}

// demoReply is what the model says.
type demoReply struct {
	text  string
	calls []demoToolCall
	usage demoUsage
}

// demoAnswer returns which turn of the current task a conversation is at, and what the model says to it.
func demoAnswer(messages []demoMessage) (turn int, a demoReply) {
	turn = 1
	names := map[string]string{}   // of tools, by the id of the call
	results := map[string]string{} // by the tool's name
	for _, m := range messages {
		switch m.Role {
		case "user":
			turn = 1
			clear(results)
		case "assistant":
			turn++
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Function.Name
			}
		case "tool":
			results[names[m.ToolCallID]] = fmt.Sprint(m.Content)
		}
	}
	call := func(name, arguments string) {
		n := len(a.calls)
		a.calls = append(a.calls, demoToolCall{
			Index: n, ID: fmt.Sprintf("call-%d-%d", len(messages), n+1), Type: "function", Function: demoFunction{name, arguments},
		})
	}
	a.usage = demoUsages[min(turn, demoTurns)-1]
	ordered := strings.Contains(results["order"], "is placed")
	switch {
	case turn == 1:
		a.text = "I look at the clock and place the order."
		call("clock", `{}`)
		call("order", `{"message":"two boxes of green tea"}`)
	case !ordered:
		a.text = "Nothing was ordered: " + results["order"]
	case turn == demoHeld:
		a.text = "I make a note and have the receipts sent."
		call("remember", `{"key":"`+demoKey+`","value":`+demoValue+`}`)
		call("receipt", `{"message":"for two boxes of green tea"}`)
	default:
		a.text = fmt.Sprintf("At %s: %s. %s, and I will remember that you like green tea.",
			demoTime(results["clock"]), results["order"], sentence(results["receipt"]))
	}
	return turn, a
}

// demoTime is the time in what the clock said.
func demoTime(result string) string {
	var said struct {
		Time string `json:"time"`
	}
	if json.Unmarshal([]byte(result), &said) != nil || said.Time == "" {
		return result
	}
	return said.Time
}

// sentence is s with a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (a demoReply) finish() string {
	if len(a.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// words are the pieces of the text.
func (a demoReply) words() []string { return strings.SplitAfter(a.text, " ") }
