package responses

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of Config.
const (
	DefaultBaseURL     = openai.DefaultBaseURL
	DefaultModel       = openai.DefaultModel
	DefaultMaxResponse = 16 << 20
)

// Config is what New needs. The zero Config asks OpenAI without a key, which a server of your own may allow.
type Config struct {
	BaseURL string // up to and with /v1; DefaultBaseURL if empty
	// APIKey is asked at each call; no key is sent if nil.
	APIKey secret.Source
	Model  string // of requests that name none; DefaultModel if empty
	// Prices by model, without the date of a version; openai.ListPrices if nil and the server is the
	// maker's own, else none. An empty map knows no prices.
	Prices provider.Prices
	// HTTPClient has a connection pool of its own if nil. Its Timeout, if set, ends long streams too.
	HTTPClient *http.Client
	// MaxResponse is the largest answer in bytes, streams included; DefaultMaxResponse if 0.
	MaxResponse int64
	// Organization is sent as OpenAI-Organization if set.
	Organization string
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
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
	if strings.ContainsFunc(c.Organization, unicode.IsControl) { // no header; the network would be blamed for it
		return protocol.ErrInvalidRequest("the name of the organization has control characters", 0)
	}
	return nil
}

// Provider asks a server that speaks the Responses API. It is safe for concurrent use.
type Provider struct {
	cfg     Config
	invalid error // what is wrong with cfg, told at each call
	http    *http.Client
	prices  priceList
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Pricer   = (*Provider)(nil)
	_ provider.Quoter   = (*Provider)(nil)
)

// New returns a provider. It does not connect; a configuration that cannot work is the error of each call.
func New(cfg Config) *Provider {
	cfg = cfg.withDefaults()
	return &Provider{
		cfg:     cfg,
		invalid: cfg.validate(),
		http:    exchange.NewClient(cfg.HTTPClient),
		prices:  newPriceList(provider.Listed(cfg.Prices, cfg.BaseURL, "openai.com")),
	}
}

// Infer implements provider.Provider. Its errors: rate limited (429 or by its code; not retryable where the quota is used
// up), auth failed (401; 403 with the code permission_denied), content blocked, invalid request (other 4xx, content that
// cannot be sent), transient (5xx, 408, 425, a broken connection, a stream that was cut, a response that failed), invalid
// response (no JSON, no status, too large), and by the end of ctx the codes timeout or cancelled.
func (p *Provider) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	if p.invalid != nil {
		return protocol.InferResponse{}, p.invalid
	}
	if req.Model == "" {
		req.Model = p.cfg.Model
	}
	body, err := encode(req, sink != nil)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	key, err := p.cfg.APIKey.Resolve(ctx)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	ex := exchange.New(exchange.Config{
		Request: body, MaxAnswer: p.cfg.MaxResponse, Key: key, Prompt: req, Dialect: dialect,
	})
	a, err := p.ask(ctx, ex, key, sink)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	resp := a.response(req.Model)
	usage, counted := a.usage()
	if counted {
		resp.Usage, resp.Cost = usage, p.prices.cost(resp.Model, a.final.ServiceTier, req, usage)
		a.emit(protocol.UsageEvent{Usage: usage})
	}
	a.emit(protocol.Done{Response: resp})
	return resp, nil
}

func (p *Provider) ask(
	ctx context.Context, ex *exchange.Exchange, key string, sink func(protocol.StreamEvent),
) (*answer, error) {
	body, err := ex.Post(ctx, p.http, p.cfg.BaseURL+"/responses", p.header(key))
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // read as far as needed
	a := newAnswer(sink)
	if sink != nil {
		err = a.stream(ctx, ex, body, p.cfg.MaxResponse)
	} else {
		err = a.read(ctx, ex, body)
	}
	if err != nil {
		return nil, err
	}
	ex.Drain()
	return a, nil
}

func (p *Provider) header(key string) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	if p.cfg.Organization != "" {
		h.Set("OpenAI-Organization", p.cfg.Organization)
	}
	return h
}

// Priced implements provider.Pricer.
func (p *Provider) Priced(model string) bool {
	_, ok := p.Quote(model)
	return ok
}

// Quote implements provider.Quoter. List prices are those of the standard tier.
func (p *Provider) Quote(model string) (provider.Price, bool) {
	if model == "" {
		model = p.cfg.Model
	}
	return p.prices.Find(model)
}

// Close closes idle connections. Calls that go on are not touched, and new ones may still be made.
func (p *Provider) Close() { p.http.CloseIdleConnections() }
