package providertest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
)

// As returns a client whose connections all go to the server at url, whatever the host: for what depends on whose server it is.
// Addresses must begin with http.
func As(tb testing.TB, url string) *http.Client {
	tb.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(url, "http://"))
	}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
