// Package skill reads Agent Skills: directories with a SKILL.md that tell a model how to do something, and have files for it.
//
//	Project, User, Custom -> Discover -> Catalogue -> Text          names and descriptions, for the system prompt
//	                                        |
//	                                 Get -> Load -> Content         body and list of files, when the skill is activated
//	                                                   |
//	                                        Expand -> PromptBlock   variables and commands replaced, for the conversation
//
//	found, err := skill.Discover(ctx, []skill.Scope{skill.Project(root), skill.User(home)}, skill.Options{})
//	system += "\n\n" + found.Text()
//
//	d, ok := found.Get("code-review")
//	if ok && d.MatchesPath("src/main.rs") && d.Permits("run_skill_script") {
//		content, err := skill.Load(d)
//		content, _, err = content.Expand(ctx, skill.Vars{Arguments: args}, run)
//		prompt := content.PromptBlock()
//	}
//
// Parse is lenient, as a client of skills should be: it loads what it can, and says in diagnostics what is not as it should be.
// Validate is strict, as an author wants it.
//
// # Guarantees
//
// A skill is text from somebody else. Files are read up to a limit, only if they are regular, and through no link that leaves their
// directory. YAML has no aliases, and a bounded depth. A skill whose hooks, tools or paths cannot be read is left out, since
// without them it would do more than its author meant; so is one that changed them after it was discovered. One bad skill never
// keeps others from being found.
//
// Commands are found in the body as it is in its file. Nothing of the arguments of an activation, of a variable or of an output is
// ever run, and skills of a server run nothing. Neither a description nor a body can make a line of the catalogue, or end the block
// in which a model is shown it.
//
// Everything that is listed is sorted, so the same files always make the same texts.
//
// # Concurrency
//
// Functions and catalogues are safe for concurrent use, and so are Registry and Activations. Discover reads several files at the
// same time, and returns when all of its readers have ended.
//
// # What it is not
//
// It runs no programs: that is for the function that is given to Expand. It enforces no list of tools and no hooks; it says what
// they are. It does not watch the files: discover again, and Merge.
package skill
