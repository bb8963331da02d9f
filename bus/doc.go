// Package bus is NATS as the rest of the program sees it: connecting, streams, dispatching, signals and
// queries, the publishing of effects, discovery.
//
//	caller -> Dispatcher -> skg.op.<operator> -> node -> operator
//	             ^                                  |
//	             +------ OperatorOutput or error <--+
//
// Guarantees. A dispatch over request and reply is at most once: an error with code timeout leaves open whether the
// operator ran. Effects are published to a stream and acknowledged by it before anybody is told that a run
// ended. Errors are *protocol.Error; no error of the NATS client leaves the package.
//
// Everything here is safe for concurrent use. The package knows no actors; it does not decide what happens to a
// message, it carries it. Its subpackages are embed (the embedded server) and runlog (fenced appends).
package bus
