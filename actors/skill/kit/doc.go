// Package kit is what an agent has of skills: the tools by which a model uses them, and the rules that enforce what they say.
//
//	skill.Discover -> Catalogue  ->  Kit.Equip(agent.Config)  ->  system prompt: prompts of code skills, the catalogue
//	Code           ------------>                                  tools: those of code skills, activate_skill, read_skill_resource,
//	runner.Runner  ------------>                                         run_skill_script
//	Config.Trusted ------------>                                  rules: allowed-tools, hooks, what is active, what is protected
//
//	skills, err := kit.New(kit.Config{Scopes: []skill.Scope{skill.Project(root), skill.User(home)}, Runner: run, Trusted: store.Check})
//	if _, err = skills.Discover(ctx); err != nil {
//		return err
//	}
//	cfg, err := skills.Equip(agent.Config{Provider: provider, System: "You help.", Tools: tools})
//	if err != nil {
//		return err
//	}
//	helper, err := agent.New(cfg)
//
// # Activation
//
// What is active belongs to a conversation and follows from it: from the results of activate_skill that it has. A rule sees them
// behind the call; those of messages that come in, such as earlier turns in the input's context or a conversation that was loaded,
// are looked for when they do. It must be the result of a call that the model made and that succeeded, so nothing that a user
// writes activates a skill. No two conversations share anything.
//
// A durable session keeps of its earlier turns what was said, and no calls. With Config.State the skills that were active in
// a session are activated anew when its next run begins, as pinned system messages, and their commands run again; without it a run
// begins with none. A dependency is activated before the skill that depends on it, without arguments and whatever files it is for.
//
// The results of activations are pinned: no compaction takes them or their calls away, nor what else was called in the same answer.
//
// # Tools
//
// While an active skill has allowed-tools, no tool can be called that neither it nor another active skill permits; activate_skill
// always can, and read_skill_resource and run_skill_script need the skill's own permission as well. What is not restricted itself
// does not lift the restriction of others. A list counts from the answer behind the activation on: calls beside it were asked for
// before. A skill that is active and not installed here, or not trusted, permits nothing, but with FailOpen.
//
// What a model gets wrong in the form of a call is an error of kind tool.invalid_input, anything else one with a text that says
// what to do; both are failures of the call. Of a skill that Config.Trusted refuses nothing is read or run.
//
// Nothing in a body, an argument, a file or an output can look like the tags by which a model is told what is whose. Commands in a
// body run one after another, within their limits; what they fail with stands in their place.
//
// # Hooks
//
// Hooks of a skill count from the answer behind its activation on, for PostToolUse from the next call on. They are asked in the order
// of the skills' names and of their files, until one blocks, denies or has "continue": false. An allow or ask does not end it,
// so that a later deny still counts: deny before ask before allow. Each sees the input as hooks before it have changed it.
//
// A command gets one line of JSON (hook_event_name, tool_name, tool_input, tool_output), the variables SKILL_DIR, SESSION_ID and
// CLAUDE_PLUGIN_ROOT in its environment, and says by its exit code:
//
//	0        all is well; standard output may be JSON: decision (block, allow), reason, updatedInput, continue, permission_decision
//	         (allow, deny, ask), permission_reason, permission_suggestions, permission_mode. Other text counts nothing
//	2        block, for the reason that it writes to standard error
//	others   it has failed, unless standard output is JSON with a decision
//
// A hook that failed blocks, unless Config.OnHookFailure is FailOpen; so does one that does not end in time, that cannot be started,
// or whose JSON cannot be read. A call that is blocked before is not made, and of one that is blocked behind the result is
// withheld. Hooks are asked behind each call that was made, also one that failed (tool_error), and not behind one that was not.
// An updatedInput must be an object; whether it fits the tool's schema is seen by the call.
//
// An ask has a person approve the call, whatever its tool says: a durable run waits, any other ends as awaiting_approval. An allow
// takes no approval away that a tool needs, but with Config.Overrides. A mode counts for the rest of the run, the last that was
// set: plan permits the tools of Config.ReadOnly alone, default ends that; auto and bypassPermissions take approvals away, and
// acceptEdits those of tools that are Write or Edit by Config.Names, all three with Config.Overrides only. What a person or the
// agent's limits decide comes after hooks.
//
// The prompts of hooks become messages of the user, behind the results of all calls of the answer, each once.
//
// Hooks and allowed-tools know tools by their own names and by those of Config.Names; tool_name is the tool's own.
//
// # Durable runs
//
// What is known of a skill when it becomes active, and each answer of a hook command, is recorded: a run that goes on, on any node,
// decides the same and asks no hook twice, but one whose answer was lost with the process. The same is true of activations, with
// the commands of their bodies. A script is run once at most.
//
// # Concurrency
//
// A Kit is safe for concurrent use, and may equip any number of agents. It starts no goroutine.
//
// # What it is not
//
// It does not isolate programs: the Runner does. allowed-tools and matchers look at names of tools, not at what a command given to
// one would do. It guards a conversation, not a machine.
package kit
