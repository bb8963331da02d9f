// Package trust keeps which directories may run what their skills bring: scripts, commands in a body, and hooks.
//
//	skelegent skills trust DIR  ->  Store.Trust   ->  trust.json
//	                                                     |
//	skill.Descriptor            ->  Store.Check   <------+         nil, or an error that says how to trust it
//
// Whoever opens a project that is not his gets its skills with it. They are text until something of them runs, so what runs them
// asks Check before: the skills of the user and of directories that he named are trusted, those of a project or of a server are
// only if they are in a directory that was trusted here.
//
// # Guarantees
//
// Trust is of a path without links: all that is below it is trusted, and nothing that a link leads to from there. A directory that
// is exchanged for a link to another place, or is reached through one that is, is not trusted any more.
//
// A file that is damaged, too large, or that others may write trusts nothing, and the error says so. It is written whole or not at
// all, for its owner only, and by one program at a time: what two of them trust at the same moment is both kept. Each question
// reads it anew, so what is revoked is so at once, in all programs that run.
//
// # What it is not
//
// Trust is not of the content. Files of a project change with each pull, and asking again each time teaches people to say yes; so
// who may write in a trusted directory may run what he likes, and a directory that is deleted and made again at the same path is
// trusted as before. Revoke what is gone. It is no sandbox either: package runner has one.
//
// # Concurrency
//
// A Store is safe for concurrent use, also by several programs. Trust and Revoke wait up to ten seconds for each other.
//
//	store, err := trust.Open("") // the user's own
//	found, err := skill.Discover(ctx, scopes, skill.Options{
//		Allow: func(d skill.Descriptor) bool { return store.Check(d) == nil }, // or ask before something runs
//	})
//	if err := store.Check(d); err != nil {
//		return err // permission_denied: ... run `skelegent skills trust DIR`
//	}
package trust
