// Package portable reads the portable agent manifest: what an agent is, in a form that other programs read as well.
//
//	agent.yaml, agent.json  ->  Load, FromYAML, FromJSON  ->  Manifest  ->  Materialize  ->  compose.Tools
//	                                                                           ^
//	                                                       the host's tools and executors
//
// # Guarantees
//
// A text is a manifest or a *ParseError that says the line; no text makes the reader panic, and none of at most MaxSize bytes
// becomes much more than that in memory: aliases are not expanded but in JSON values, which are bounded. Keys that the format
// does not have are ignored and named in Manifest.Warnings. A key that is there twice, a text that is written as a number, an
// example of other than two texts and an unknown kind are errors; null is as if the key were not there. The key of a model is
// not shown where a manifest is printed.
//
// Materialize takes from the host what the manifest names, and nothing else. Every error of the package is one of
// compose.KindToolFailed, too.
//
// # Concurrency
//
// A Manifest is plain data. Its methods change nothing and may be called side by side.
//
// # What it is not
//
// It makes no agent, asks no model and starts no server: what of mcp_servers, model, instructions and knowledge is used, and
// how, is up to the host. It is not skelegent.yaml; see package manifest for that.
//
//	m, err := portable.Load("agent.yaml")
//	if err != nil {
//		return err
//	}
//	tools, err := m.Materialize(hostTools, executors)
//	var missing *portable.MissingHostTool
//	if errors.As(err, &missing) {
//		return fmt.Errorf("install %s first", missing.Name)
//	}
package portable
