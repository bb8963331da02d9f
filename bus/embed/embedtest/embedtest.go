// Package embedtest is for the tests that run a NATS server in process.
//
//	func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }
package embedtest

import (
	"fmt"

	"go.uber.org/goleak"
)

// VerifyTestMain is goleak's, but passes over the one goroutine that a stopped server may leave for up to 30 seconds: a stream
// that takes from another waits for that one's answer, whatever happens to the server meanwhile.
func VerifyTestMain(m goleak.TestingM, options ...goleak.Option) {
	const closures = 6 // it is the third in nats-server 2.15
	for n := range closures {
		options = append(options, goleak.IgnoreAnyFunction(
			fmt.Sprintf("github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func%d", n+1)))
	}
	goleak.VerifyTestMain(m, options...)
}
