package agenttest

import (
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/cassette"
)

// DenyRealRequests keeps the test from asking servers that are not on this machine by http.DefaultTransport, which is what
// providers use that have no HTTPClient of their own. The test fails if anybody tried. It cannot be parallel; for those that are
// give providers cassette.Deny, or call cassette.DenyDefault in TestMain.
func DenyRealRequests(tb testing.TB) {
	tb.Helper()
	cassette.DenyTransport(tb)
}
