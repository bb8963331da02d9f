// Package providertest checks that a provider keeps the promises of provider.Provider: the same answer whole and streamed,
// exact costs, the right error for what a server can do wrong, and no call that outlives its context.
//
//	Run -> case -> Provider under test -> HTTP -> server of the case: honest, broken, slow, or silent
//
// The suite is independent of the form on the wire: a Harness renders answers and errors in its provider's form, and
// the suite cuts, delays and damages the bytes. Each case has a server of its own; cases run in parallel.
//
//	func TestConformance(t *testing.T) { providertest.Run(t, harness) }
//
// Cases return errors instead of failing a test, so that the suite itself can be tested with providers that break
// one promise each.
package providertest
