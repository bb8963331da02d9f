// Package runner runs programs that nobody here wrote: the scripts, inline commands and hook commands of skills.
//
//	Script, Shell  ->  Spec{Command, Dir, ...}  ->  Runner: direct  ->  sh (limits)  ->  program
//	                                                        bwrap   ->  sandbox      ->  sh (limits)  ->  program
//	Read           ->  a file of the skill's directory, never one outside
//
//	run, err := runner.Detect(ctx, runner.Config{})
//	args, err := runner.ParseArgs(`--name "hello world"`)
//	command, err := runner.Script(run, skillDir, "scripts/report.py", args)
//	result, err := run.Run(ctx, runner.Spec{Command: command, Dir: skillDir, SessionID: session})
//	fmt.Println(result.ExitCode, result.Stdout, result.Sandbox)
//
// # Guarantees
//
// A program gets none of the node's environment but PATH, LANG, LC_ALL, TZ and TMPDIR, SKILL_DIR, SESSION_ID, and what
// Spec.Env names. It has a time limit, at which it and all of its session are killed at once, without a chance to object; so
// they are when the context ends, and what a program leaves behind when it ends well is killed too. What it writes is held
// up to a limit and dropped beyond it; a program that does not stop writing is killed. Each of its processes has limits of
// memory, processor time and size of files. When Run returns, its processes have ended, but for what the next section says.
//
// Read reads by descriptor inside the directory, so a link that is made while it runs leads nowhere else.
//
// # Direct and bwrap
//
// Direct is no isolation: a program may read, write and connect as the node's user may. It can read the environment that the
// node was started with from /proc, and kill the node. A process that makes a session of its own (setsid) lives on: only its
// limit of processor time ends it, and nothing one that sleeps. The number of processes is looked at ten times a second, on
// Linux only: RLIMIT_NPROC counts all that the node's user runs, and nothing for root. Where there is no /bin/sh there are no
// limits of memory, processor time and files; on Windows only the program itself is killed.
//
// Bubblewrap shows a program the system's programs and libraries, a few files of /etc, the skill's directory and what the
// Spec names, all read-only but for Spec.Writable, and an empty /tmp in memory. It has no network unless the Spec asks for
// it, and no capabilities; it runs as uid 1000 in a name space of processes that ends as a whole. A node that is root stays
// root towards files that it binds: a program can read a file of root in the skill's directory whatever its mode says.
// Spec.Network is the node's network, with all that listens on the node's localhost.
//
// Detect takes Bubblewrap where it works. Result.Sandbox says which it was.
//
// # Concurrency
//
// All is safe for concurrent use. A Runner runs Config.Concurrent programs at a time, others wait. Every goroutine that Run
// starts has ended when it returns.
//
// # What it is not
//
// It decides no permissions: who may run what is asked before. It is no defence against the kernel's own faults; what must
// not meet hostile code at all belongs on another machine. Memory is limited for each process, not for all together.
package runner
