// Package manifest reads skelegent.yaml and makes operators and executors of it.
//
//	skelegent.yaml -> Parse -> Manifest -> Register(Deps) -> operators, executors -> actors.Node
//
//	providers:
//	  main:
//	    kind: openai                      # any compatible server; or scripted
//	    base_url: http://127.0.0.1:4010/v1
//	    api_key: {env: OPENAI_API_KEY}    # or {file: path}
//	    prices: {gpt-4o-mini: {input: "0.15", output: "0.60", cached: "0.075"}}   # USD per million tokens
//	operators:
//	  assistant:
//	    kind: agent                       # agent, single_shot, tool or exec
//	    provider: main
//	    model: gpt-4o-mini
//	    system: You are a careful assistant.
//	    tools: [clock, remember, reviewer, {tool: clock, as: time}, {operator: other, description: Knows more.}]
//	    limits: {max_turns: 10, max_cost: "0.50", max_duration: 2m, max_tool_calls: 50}
//	    concurrency: 64
//	  reviewer: {kind: single_shot, provider: main, system: Find what is wrong with the text.}
//	effects:
//	  webhook: {kind: exec, command: [./deliver]}
//
// Reading is strict: an unknown key, a value that cannot be used or a name that nothing has is an error that says the line.
// Relative paths are relative to the manifest. Secrets are named, not written: an api key that is a text is an error.
package manifest
