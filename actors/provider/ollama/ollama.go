package ollama

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of Config.
const (
	DefaultBaseURL     = "http://localhost:11434"
	DefaultModel       = "llama3.2:1b"
	DefaultMaxResponse = 16 << 20
)

const chatPath = "/api/chat"

// Config is what New needs. The zero Config asks a server on this machine.
type Config struct {
	BaseURL string // of the server, with or without /api/chat; DefaultBaseURL if empty
	// APIKey is asked at each call; no key is sent if nil. A server of your own wants none, ollama.com does.
	APIKey secret.Source
	Model  string // of requests that name none; DefaultModel if empty
	// HTTPClient has a connection pool of its own if nil. Its Timeout, if set, ends long streams too.
	HTTPClient *http.Client
	// MaxResponse is the largest answer in bytes, streams included; DefaultMaxResponse if 0.
	MaxResponse int64
	// KeepAlive is how long the model stays in memory after a call: for ever if negative, as the server likes if 0.
	KeepAlive time.Duration
	// Options are options of the model by Ollama's names, such as num_ctx, for all requests. Those of a request go before
	// them. The map is not changed and must not be.
	Options map[string]any
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.BaseURL = strings.TrimRight(strings.TrimSuffix(c.BaseURL, chatPath), "/")
	if c.Model == "" {
		c.Model = DefaultModel
	}
	if c.MaxResponse <= 0 {
		c.MaxResponse = DefaultMaxResponse
	}
	return c
}

func (c Config) validate() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return protocol.ErrInvalidRequest("the base URL is not an http or https address", 0)
	}
	return nil
}

// Provider asks an Ollama server. It is safe for concurrent use.
type Provider struct {
	cfg     Config
	invalid error // what is wrong with cfg, told at each call
	http    *http.Client
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Pricer   = (*Provider)(nil)
	_ provider.Quoter   = (*Provider)(nil)
)

// New returns a provider. It does not connect; a configuration that cannot work is the error of each call.
func New(cfg Config) *Provider {
	cfg = cfg.withDefaults()
	return &Provider{cfg: cfg, invalid: cfg.validate(), http: exchange.NewClient(cfg.HTTPClient)}
}

// Infer implements provider.Provider. Its errors: invalid request (4xx, a model that the server does not have, content that
// cannot be sent), rate limited (429), auth failed (401; 403 with the code permission_denied), transient (5xx, a broken
// connection, an answer that was cut or that the server gave up), invalid response (no JSON, too large), and by the end of
// ctx the codes timeout or cancelled.
func (p *Provider) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	if p.invalid != nil {
		return protocol.InferResponse{}, p.invalid
	}
	if req.Model == "" {
		req.Model = p.cfg.Model
	}
	body, err := p.cfg.encode(req, sink != nil)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	key, err := p.cfg.APIKey.Resolve(ctx)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	c := &chat{sink: sink, model: req.Model}
	c.ex = exchange.New(exchange.Config{
		Request: body, MaxAnswer: p.cfg.MaxResponse, Key: key, Prompt: req,
		Dialect: exchange.Dialect{Answer: "an answer of a chat", Read: c.readError},
	})
	answer, err := c.ex.Post(ctx, p.http, p.cfg.BaseURL+chatPath, header)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	defer func() { _ = answer.Close() }() // read as far as needed
	return c.read(ctx, answer)
}

// Priced implements provider.Pricer: every model is free.
func (*Provider) Priced(string) bool { return true }

// Quote implements provider.Quoter: every model is free.
func (*Provider) Quote(string) (provider.Price, bool) { return provider.Price{}, true }

// Close closes idle connections. Calls that go on are not touched, and new ones may still be made.
func (p *Provider) Close() { p.http.CloseIdleConnections() }
