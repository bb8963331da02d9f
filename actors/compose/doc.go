// Package compose is the kernel that agents are composed with: skills that decide, tools that act, sets of both, agents that
// run chains of skills, and the two ways in which one agent comes to another.
//
//	Skill      ->  Skills  ->  ChainAgent  ->  Coordinator               ->  an Agent: signals decide who works
//	tool.Tool  ->  Tools   ->      |
//	                           InProcess, Remote, Stub  ->  DelegateTool  ->  a tool.Tool: a model or a skill decides
//
// A skill is pure decision logic over an Investigation, a tool is the only thing that acts outside, sets of them own the
// looking up, and agents compose what is registered without knowing it. A tool is a tool.Tool and its call a
// protocol.ToolCall, so everything made for the one works for the other.
//
// # Guarantees
//
// A chain runs in its order, each skill once a step, and what a step did is the same each time for the same investigation
// and the same answers of the tools. The confidence of an investigation is a number from 0 to 1 behind each skill. A view of
// tools sees no more than the one it was made of. A Coordinator makes one hop. Panics of skills, tools and hooks are errors
// that say nothing of their values. What is read from outside has limits.
//
// Errors are *protocol.Error, those of the kernel with a kind; see KindOf.
//
// What tools declare and cost is in their results, through delegates too. In a durable run each call of a tool is a step
// (see CallStep), and a remote delegate is a child that a run finds again when it goes on.
//
// # Concurrency
//
// Sets, views, agents and executors are safe for concurrent use. An Investigation belongs to one step at a time. Nothing
// here starts a goroutine.
//
// # What it is not
//
// It calls no model and knows no bus. Skill here is code; what a model reads as a skill is something else.
//
// # Example
//
//	keyword := compose.NewSkill("example.keyword",
//		func(context.Context, *compose.Investigation, *compose.Tools) (compose.Outcome, error) {
//			return compose.Delta(0.25), nil
//		}, compose.When("keyword.match"))
//	skills, err := compose.NewSkills(keyword)
//	...
//	agent, err := compose.NewAgent("triage", skills, nil, compose.AgentConfig{Skills: []string{"example.keyword"}})
//	...
//	result, err := agent.Step(ctx, compose.NewInvestigation("entity-1", "default").WithSignal("keyword.match"))
package compose
