package cassette

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// ErrDenied is why a connection was not made.
var ErrDenied = errors.New("real requests are denied: the address is not a loopback one")

// Deny returns a transport that asks servers on this machine and no others: for the HTTPClient of providers in tests that
// should not need the network.
//
//	openai.New(openai.Config{HTTPClient: &http.Client{Transport: cassette.Deny()}})
//
// A request to elsewhere is answered with status 400 and a message that names the host, which providers pass on as an invalid
// request. Only localhost and literal loopback addresses are on this machine; proxies of the environment are not used.
func Deny() http.RoundTripper { return denying{loopbackTransport(nil)} }

type denying struct{ base *http.Transport }

func (d denying) RoundTrip(req *http.Request) (*http.Response, error) {
	if loopback(req.URL.Hostname()) {
		return d.base.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // it was not read
	}
	return message(req, http.StatusBadRequest, fmt.Sprintf(
		"real requests are denied here, and %s is not on this machine; use a cassette or a server of the test", short(req.URL.Hostname()))), nil
}

// CloseIdleConnections lets http.Client find the method of the base.
func (d denying) CloseIdleConnections() { d.base.CloseIdleConnections() }

// DenyDefault replaces http.DefaultTransport by one that connects to this machine only, and returns how to undo that. Call it
// in TestMain, before anything uses the network: it is not safe beside other goroutines that do. It holds for all that is
// made with the default transport from then on, so for providers without an HTTPClient of their own. Connecting elsewhere
// fails with ErrDenied.
func DenyDefault() (restore func()) { return denyDefault(nil) }

// DenyTransport is DenyDefault for one test, which fails if anybody tried to connect elsewhere. The test cannot be
// parallel.
func DenyTransport(tb testing.TB) {
	tb.Helper()
	tb.Setenv("SKELEGENT_DENY_REAL_REQUESTS", "1") // the testing package refuses this in parallel tests, for the same reason
	var mu sync.Mutex
	var tried []string
	restore := denyDefault(func(address string) {
		mu.Lock()
		defer mu.Unlock()
		tried = append(tried, address)
	})
	tb.Cleanup(func() {
		restore()
		mu.Lock()
		defer mu.Unlock()
		if len(tried) > 0 {
			tb.Errorf("%d connections to elsewhere were denied: %s", len(tried), strings.Join(tried[:min(len(tried), maxNamed)], ", "))
		}
	})
}

func denyDefault(denied func(address string)) (restore func()) {
	before := http.DefaultTransport
	own := loopbackTransport(denied)
	http.DefaultTransport = own
	return func() {
		http.DefaultTransport = before
		own.CloseIdleConnections()
	}
}

// loopbackTransport connects to this machine only. It is a *http.Transport, since there is code that expects the default to be
// one; clones of it are the same in this. A denied address is told to denied, if that is not nil.
func loopbackTransport(denied func(address string)) *http.Transport {
	t := &http.Transport{}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { // after names were resolved
		if a, err := netip.ParseAddrPort(address); err != nil || !a.Addr().Unmap().IsLoopback() {
			return ErrDenied
		}
		return nil
	}}
	t.Proxy, t.DialTLSContext = nil, nil
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
			if denied != nil {
				denied(address)
			}
			return nil, fmt.Errorf("connect to %s: %w", address, ErrDenied)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return t
}

// loopback reports whether a host is this machine by its name or address alone.
func loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
