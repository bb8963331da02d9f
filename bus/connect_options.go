package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
)

// What Connect fails with, for errors.Is.
var (
	// ErrConnect is every failure to connect.
	ErrConnect = errors.New("cannot connect to NATS")
	// ErrUnauthorized means that a server refused our credentials, or wanted some. It is ErrConnect too.
	ErrUnauthorized = errors.New("not authorized")
)

// address is where to connect without a context.
func (c ConnectConfig) address() string {
	if c.URL == "" {
		return nats.DefaultURL
	}
	return c.URL
}

// where names the address for errors, without secrets.
func (c ConnectConfig) where() string {
	if c.Context != "" {
		return fmt.Sprintf("context %q", c.Context)
	}
	return redact(c.address())
}

// options checks what can be checked without a server and returns the options of package nats.
func (c ConnectConfig) options(log *zap.Logger) ([]nats.Option, error) {
	if c.Context != "" && c.URL != "" {
		return nil, fmt.Errorf("%w: give an address or a context, not both", ErrConnect)
	}
	if c.Creds != "" && c.NKey != "" {
		return nil, fmt.Errorf("%w: give a credentials file or an nkey file, not both", ErrConnect)
	}
	opts := []nats.Option{
		nats.Timeout(connectWithin),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(reconnectBuffer),
		nats.IgnoreAuthErrorAbort(), // credentials may be put right while we are away
		nats.PingInterval(pingEvery),
	}
	opts = append(opts, handlers(log)...)
	if c.Name != "" {
		opts = append(opts, nats.Name(c.Name))
	}
	if c.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	if c.Creds != "" {
		if _, err := os.ReadFile(c.Creds); err != nil {
			return nil, fmt.Errorf("%w: credentials file: %w", ErrConnect, err)
		}
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	if c.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			if _, ferr := os.ReadFile(c.NKey); ferr != nil {
				return nil, fmt.Errorf("%w: nkey file: %w", ErrConnect, ferr)
			}
			return nil, fmt.Errorf("%w: nkey file %s: holds no user seed", ErrConnect, c.NKey)
		}
		opts = append(opts, key)
	}
	secure, err := c.tls()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	if secure != nil {
		opts = append(opts, nats.Secure(secure))
	}
	return append(opts, c.Options...), nil
}

func (c ConnectConfig) tls() (*tls.Config, error) {
	if (c.Cert == "") != (c.Key == "") {
		return nil, errors.New("a TLS certificate needs its key, and the key its certificate")
	}
	if c.CA == "" && c.Cert == "" && c.TLSServerName == "" {
		return nil, nil //nolint:nilnil // no TLS asked for
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLSServerName}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("TLS authority: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS authority %s: holds no certificate", c.CA)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("TLS certificate %s: %w", c.Cert, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// handlers log what happens to a connection: never payloads.
func handlers(log *zap.Logger) []nats.Option {
	server := func(nc *nats.Conn) zap.Field { return zap.String("url", nc.ConnectedUrlRedacted()) }
	return []nats.Option{
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsDraining() && !nc.IsClosed() {
				log.Warn("disconnected", zap.Error(err))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("reconnected", server(nc), zap.Uint64("reconnects", nc.Statistics.Reconnects))
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { log.Debug("reconnect", zap.Error(err)) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := zap.Skip()
			if sub != nil {
				subject = zap.String("subject", sub.Subject)
			}
			switch {
			case errors.Is(err, nats.ErrPermissionViolation):
				if sub == nil {
					subject = zap.String("subject", quoted(err.Error()))
				}
				log.Warn("not permitted", subject, zap.Error(err))
			case errors.Is(err, nats.ErrSlowConsumer):
				dropped := zap.Skip()
				if sub != nil {
					if n, err := sub.Dropped(); err == nil {
						dropped = zap.Int("dropped", n)
					}
				}
				log.Warn("slow consumer", subject, dropped)
			default:
				log.Warn("connection error", subject, zap.Error(err))
			}
		}),
	}
}

// connectError says in our words why there is no connection, and what to do. Errors of package nats end here.
func connectError(ctx context.Context, where string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w at %s: %w", ErrConnect, where, context.Cause(ctx))
	}
	var (
		badURL  *url.Error
		record  tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		verify  *tls.CertificateVerificationError
		alert   tls.AlertError
		network net.Error
	)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("%w at %s: %w: give the right credentials (--creds, --context, or an nkey file)",
			ErrConnect, where, ErrUnauthorized)
	case errors.Is(err, nats.ErrNkeysNotSupported):
		return fmt.Errorf("%w at %s: the server does not take nkeys: %w", ErrConnect, where, ErrUnauthorized)
	case errors.As(err, &badURL):
		return fmt.Errorf("%w at %s: malformed address: it must be nats://HOST:PORT", ErrConnect, where)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w at %s: the server does not offer TLS", ErrConnect, where)
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &verify), errors.As(err, &record), errors.As(err, &alert):
		return fmt.Errorf("%w at %s: TLS: %v: check the authority (CA), the certificate and the server name",
			ErrConnect, where, err) //nolint:errorlint // no nats error passes bus
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("%w at %s: nothing listens there: start a node with \"skelegent up\", or name another server with --nats URL",
			ErrConnect, where)
	case errors.Is(err, nats.ErrTimeout), errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("%w at %s: no answer within %s: check the address", ErrConnect, where, connectWithin)
	}
	return fmt.Errorf("%w at %s: %v", ErrConnect, where, err) //nolint:errorlint // no nats error passes bus
}

var scheme = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://`)

// redact drops user names, passwords and tokens from a list of addresses, well-formed or not: of each,
// everything between the scheme and the last @.
func redact(urls string) string {
	var b strings.Builder
	starts := append(scheme.FindAllStringIndex(urls, -1), []int{len(urls), len(urls)})
	b.WriteString(urls[strings.LastIndexByte(urls[:starts[0][0]], '@')+1 : starts[0][0]])
	for i, at := range starts[:len(starts)-1] {
		host := urls[at[1]:starts[i+1][0]]
		b.WriteString(urls[at[0]:at[1]])
		b.WriteString(host[strings.LastIndexByte(host, '@')+1:])
	}
	return b.String()
}

// quoted is the subject in a server's violation text, for the log only.
func quoted(text string) string {
	_, rest, _ := strings.Cut(text, `"`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}
