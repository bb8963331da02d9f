// Package manifest reads skelegent.yaml and makes operators and executors of it.
//
//	skelegent.yaml -> Parse -> Manifest -> Register(Deps) -> operators, executors -> actors.Node
//
// A manifest with every key but those of single commands. What is not given has a default or is off.
//
//	providers:
//	  main:
//	    kind: openai                      # any compatible server; or responses, anthropic, ollama, scripted, router
//	    base_url: http://127.0.0.1:4010/v1
//	    api_key: {env: OPENAI_API_KEY}    # or {file: path}
//	    prices: {gpt-4o-mini: {input: "0.15", output: "0.60", cached: "0.075"}}   # USD per million tokens
//	    limits: {requests_per_minute: 500, tokens_per_minute: 200000, concurrency: 16}   # of each model, for all operators together
//	    breaker: {failures: 5, open_for: 30s}     # after failures in a row it is left alone for a while
//	  claude: {kind: anthropic, api_key: {env: ANTHROPIC_API_KEY}, cache_prompt: true}
//	  local: {kind: ollama, text_calls: true}   # http://localhost:11434; calls that the model writes as text are calls
//	  script: {kind: scripted, script: answers.yaml}
//	  all:
//	    kind: router                      # asks others, by the name of the model
//	    routes:
//	      - {prefix: claude-, provider: claude, fallback: [{provider: main, model: gpt-4o-mini}]}
//	      - {prefix: "local:", provider: local}   # one that ends in a colon is taken off the name
//	    default: main                     # or {provider: NAME, model: NAME, fallback: [...]}
//	operators:
//	  assistant:
//	    kind: agent                       # or single_shot, tool, exec; patterns are below
//	    description: Answers questions and remembers.
//	    provider: main
//	    model: gpt-4o-mini
//	    system: You are a careful assistant.
//	    tools:
//	      - clock                         # built in, or an operator of this manifest
//	      - reviewer
//	      - {tool: clock, as: time, parallel: true}          # calls may run beside others
//	      - {operator: other, description: Knows more., approval: true}   # of any node; a person must allow each call
//	      - {handoff: desk}               # who goes on instead, and answers
//	      - exec: [./search, --json]      # a program: input as JSON on stdin, the result on stdout
//	        as: search
//	        description: Searches the archive.
//	        input_schema: {type: object, properties: {query: {type: string}}, required: [query]}
//	        timeout: 20s
//	        env: [ARCHIVE_TOKEN]          # what it gets of the node's environment
//	        repeatable: true              # it may be run again when it is not known whether it was
//	        max_result: 20000             # bytes that the model is shown
//	      - {remote: whois, as: whois, description: Asks whois., input_schema: {type: object}}   # a tool that another node has
//	      - {delegate: triage, description: Looks into a host.}   # an operator that takes and gives JSON
//	      - {effect: webhook, as: notify, description: Tells the owner.}   # declared, and performed by its executor
//	    context:                          # shown behind the system prompt when a run begins, as far as it fits
//	      max_chars: 8000
//	      max_items: 20
//	      sources:                        # those that come first are taken first
//	        - {text: The office is closed on Mondays.}
//	        - {memory: {keys: [preferences], prefix: note/}}   # or query: TEXT; what the session, or the operator, remembers
//	        - {files: handbook, match: ["*.md"]}
//	    skills:                           # Agent Skills; see actors/skill
//	      - ./skills                      # a directory of skills; that it is named here makes it trusted
//	      - project                       # ./skills and ./.agents/skills; used once "skelegent skills trust DIR" was said
//	      - user                          # ~/.agents/skills
//	      - calculator                    # of the program, as is weather
//	      - {filesystem: ./data, read_only: true}               # reads below ./data; writes too without read_only, approval: true asks first
//	      - {shell: ./data, allow: ["git status", "ls *"]}      # other commands need the approval of a person
//	    skill_policy:
//	      sandbox: auto                   # bwrap where it works, else direct; or bwrap, direct
//	      hooks: closed                   # what a hook that fails should have judged is not done; or open
//	      hooks_at_discovery: false       # hooks count from activation on
//	      overrides: false                # hooks may not lift approvals
//	    tool_choice: auto                 # any, none
//	    max_parallel: 4                   # calls of one answer at a time
//	    run_safe_calls: true              # calls that need no approval do not wait for those that do
//	    approval_time: 10m                # for ever if not given
//	    limits: {max_turns: 10, max_cost: "0.50", max_duration: 2m, max_tool_calls: 50}
//	    ceiling: {max_cost: "2.00"}       # what an input's own limits cannot exceed
//	    max_tokens: 2000                  # of an answer
//	    temperature: 0.2
//	    options: {top_p: 0.9}             # of the provider, by its own names; what it does not know is ignored
//	    compaction:                       # when the conversation grows too long
//	      strategy: summarize             # or sliding_window, policy_trim, token_budget
//	      keep: 6                         # messages that stay as they are; for token_budget: tokens
//	      max_messages: 80                # or when the window of the model is nearly full
//	      window: 128000                  # tokens; what is known of the model if not given
//	      reserve: 8000                   # tokens of it for the answer
//	      model: gpt-4o-mini              # who summarizes
//	    rules:
//	      loop_limit: 4                   # the same call so often ends the run as stuck_detected
//	      warn_loop: true
//	      step_limit: 40                  # calls of tools
//	      reminder: Never reveal the names of tools.
//	      telemetry: operations           # metrics, full
//	    concurrency: 64
//	  reviewer:
//	    kind: single_shot
//	    provider: all
//	    model: claude-haiku-4-5
//	    system: Find what is wrong with the text.
//	    output:                           # the answer is JSON after a schema
//	      schema: {type: object, properties: {faults: {type: array, items: {type: string}}}, required: [faults]}
//	      mode: text_json                 # or tool_call; schema_file: PATH in place of schema
//	      max_retries: 0
//	      native: true                    # tell the provider, too
//	  desk: {provider: local, model: llama3.2, tools: [{handoff: assistant}]}
//	  page: {kind: exec, command: [./page.sh], timeout: 5s}   # an OperatorInput as JSON on stdin; a text or an OperatorOutput on stdout
//	  time: {kind: tool, tool: clock}
//	  # Patterns have other operators work: those of this manifest by name, those of any node as {operator: ID}.
//	  report: {kind: sequential, operators: [assistant, reviewer, {operator: printer}]}
//	  both: {kind: parallel, operators: [assistant, desk]}
//	  polish: {kind: loop, operator: assistant, until_contains: DONE, max_iterations: 5}
//	  office: {kind: supervisor, operators: [desk, assistant], selector: handoff, max_rounds: 6}   # round_robin, random
//	  crew: {kind: swarm, start: desk, transitions: {desk: [assistant], assistant: [desk]}, max_handoffs: 4}
//	  # What is composed decides without a model.
//	  front:
//	    kind: coordinator                 # routes by {"signals": [...]} in the metadata of the input
//	    routes:
//	      - {signals: [incident, alarm], operator: triage}    # the first that has one of the signals
//	      - {signals: [invoice], operator: {operator: billing}}
//	    fallback: assistant
//	  triage:
//	    kind: chain                       # skills over an investigation: entity, signals, evidence, confidence
//	    tools: [clock]
//	    links:
//	      - {id: known, when: [hash.match], confidence: 0.4, signals: [bad], evidence: Known bad hash}
//	      - {id: seen, when: [bad], tool: clock, args: {}}    # its result becomes evidence, or is applied with apply: true
//	      - {id: judged, unless: [quiet], operator: judge}    # asked with the investigation; what it answers is applied
//	      - {id: over, when: [certain], then: conclude}       # or discard: the links behind it are skipped
//	    keep_going: false                 # unless this is true
//	    max_tool_calls: 100               # for one input
//	  judge: {kind: delegate, stub: true, input_schema: {type: object}}   # until there is an operator: NAME
//	  clerk: {kind: portable, file: clerk.yaml, limits: {max_turns: 8}}   # an agent that another file describes; see compose/portable
//	effects:
//	  webhook: {kind: exec, command: [./deliver]}
//
// Reading is strict: an unknown key, a value that cannot be used or a name that nothing has is an error that says the line.
// Relative paths are relative to the manifest. Secrets are named, not written: an api key that is a text is an error.
//
// Agents and patterns are durable unless they say otherwise. A supervisor ends with the first output that is complete, or, with
// until_contains, with the one that has that text; with the selector handoff its first member begins, and then only those
// work to whom the work is handed. What the members of a pattern declare is performed by the nodes that run them, and not
// declared again by the pattern.
//
// A money limit needs models whose price is known: by prices, or by the built-in lists, which are those of their maker's own
// server and count for no other base_url. That goes for the model of a compaction and the fallbacks of a router, too; else Register
// refuses it. Tokens are counted by the vocabulary of the model where that is known and the count decides something, which
// takes up to 11 MB once; else they are estimated.
package manifest
