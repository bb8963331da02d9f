// Package builtin is the skills that come with the program: the calculator, files, a shell and the weather.
//
//	ByName, All  ->  Calculator  add subtract multiply divide     exact decimals
//	                 FileSystem  read_file write_file list_dir    os.Root
//	                 Shell       shell                            a person  ->  runner.Runner
//	                 Weather     get_weather                      WeatherSource: OpenMeteo, Static
//	                     |
//	                 Tools, for an agent's registry; Prompt, for its system prompt
//
// # Guarantees
//
// Everything has a limit: numbers, files, listings, commands, their output and time, answers of servers. Errors say what a
// model can do about them, and repeat of what it wrote no more than short names. No path leads out of the root of a
// FileSystem. A command of a Shell that is not on its list needs approval, or is refused.
//
// In a durable run, what cannot do harm twice may be called again when it is not known whether it happened: all tools but
// shell. What may run beside others of the same answer are all but shell and write_file.
//
// # Concurrency
//
// All is safe for concurrent use. Calls of write_file below the same root, in the same process, wait for each other. Nothing
// here starts a goroutine; a runner and an HTTP client do.
//
// # What it is not
//
// It asks nobody for approval, the agent does: who calls a tool himself runs it. A FileSystem is no sandbox for others that
// use the same directory; a Shell is one only as far as its runner is.
//
//	c, err := builtin.ByName(builtin.NameFileSystem, builtin.Deps{
//		FileSystem: builtin.FileSystemConfig{Root: "/srv/work", RequireHash: true},
//	})
//	if err != nil {
//		return err
//	}
//	for _, t := range c.Tools() {
//		if err := registry.Add(t); err != nil {
//			return err
//		}
//	}
//	system += "\n\n" + c.Prompt()
package builtin
