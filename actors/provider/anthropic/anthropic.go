package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of Config.
const (
	DefaultBaseURL     = "https://api.anthropic.com"
	DefaultModel       = "claude-haiku-4-5"
	DefaultMaxTokens   = 4096
	DefaultMaxResponse = exchange.DefaultMaxAnswer
)

// Config is what New needs. The zero Config asks Anthropic without a key, which only a server of your own allows.
type Config struct {
	BaseURL string // up to and without /v1; DefaultBaseURL if empty
	// APIKey is asked at each call; no key is sent if nil. A key that starts with sk-ant-oat is sent as an OAuth token.
	APIKey secret.Source
	Model  string // of requests that name none; DefaultModel if empty
	// MaxTokens is the limit of requests that name none, since the protocol wants one; DefaultMaxTokens if 0.
	MaxTokens uint32
	// Prices by model, without the date of a version; the built-in table if nil and the server is the
	// maker's own, else none. An empty map knows no prices.
	Prices provider.Prices
	// HTTPClient has a connection pool of its own if nil. Its Timeout, if set, ends long streams too.
	HTTPClient *http.Client
	// MaxResponse is the largest answer in bytes, streams included; DefaultMaxResponse if 0.
	MaxResponse int64
	// Betas are sent as anthropic-beta.
	Betas []string
	// CachePrompt has the provider cache the tools, the system text and the conversation so far, for five minutes after
	// their last use. What is written to the cache costs more than other input, what is read from it far less.
	CachePrompt bool
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.Model == "" {
		c.Model = DefaultModel
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = DefaultMaxTokens
	}
	if c.MaxResponse <= 0 {
		c.MaxResponse = DefaultMaxResponse
	}
	return c
}

var betaName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (c Config) validate() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return protocol.ErrInvalidRequest("the base URL is not an http or https address", 0)
	}
	for _, b := range c.Betas {
		if !betaName.MatchString(b) {
			return protocol.ErrInvalidRequest("the name of a beta is not valid", 0)
		}
	}
	return nil
}

// Provider asks a server that speaks Anthropic's messages. It is safe for concurrent use.
type Provider struct {
	cfg     Config
	invalid error // what is wrong with cfg, told at each call
	http    *http.Client
	client  sdk.Client
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
	cfg.Betas = slices.Clone(cfg.Betas)
	client := exchange.NewClient(cfg.HTTPClient)
	return &Provider{
		cfg:     cfg,
		invalid: cfg.validate(),
		http:    client,
		// Without the library's own ways to keys, addresses and headers, which it has in the environment and in files.
		client: sdk.NewClient(
			option.WithoutEnvironmentDefaults(),
			option.WithoutOpenTelemetry(),
			option.WithMaxRetries(0),
			option.WithBaseURL(cfg.BaseURL),
			option.WithHTTPClient(client),
		),
		prices: newPriceList(provider.Listed(cfg.Prices, cfg.BaseURL, "anthropic.com"), cfg.Betas),
	}
}

// Infer implements provider.Provider. Its errors: rate limited (429), auth failed (401; 403 with the code
// permission_denied), content blocked, invalid request (other 4xx, and what the protocol has no form for), transient (5xx
// with 529, 408, 425, a broken connection, a stream without its last event), invalid response (no message, too large), and
// by the end of ctx the codes timeout or cancelled.
func (p *Provider) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	if p.invalid != nil {
		return protocol.InferResponse{}, p.invalid
	}
	if req.Model == "" {
		req.Model = p.cfg.Model
	}
	if req.MaxTokens == nil {
		req.MaxTokens = &p.cfg.MaxTokens
	}
	body, err := encode(req, sink != nil, p.cfg.CachePrompt)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	key, err := p.cfg.APIKey.Resolve(ctx)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	ex := exchange.New(exchange.Config{MaxAnswer: p.cfg.MaxResponse, Key: key, Prompt: req, Dialect: dialect})
	ans, err := p.ask(ctx, ex, body, key, sink)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	resp := ans.response(req.Model)
	if ans.counted {
		resp.Cost = p.prices.cost(ans.usage, resp.Usage, resp.Model, req.Model)
	}
	if sink != nil {
		if ans.counted {
			sink(protocol.UsageEvent{Usage: resp.Usage})
		}
		sink(protocol.Done{Response: resp})
	}
	return resp, nil
}

// ask has the library send the request, and reads the answer itself.
func (p *Provider) ask(
	ctx context.Context, ex *exchange.Exchange, body []byte, key string, sink func(protocol.StreamEvent),
) (*answer, error) {
	var resp *http.Response
	err := p.client.Post(ex.With(ctx), "v1/messages", body, &resp, p.options(key)...)
	if resp != nil {
		defer func() { _ = resp.Body.Close() }() // read as far as needed
	}
	if failed := ex.Failure(ctx, err); failed != nil {
		return nil, failed
	}
	if sink != nil {
		return collect(ctx, resp.Body, ex, sink)
	}
	return read(ctx, resp.Body, ex)
}

const (
	tokenPrefix = "sk-ant-oat"
	tokenBeta   = "oauth-2025-04-20"
)

// options are the parts of a request that its key decides.
func (p *Provider) options(key string) []option.RequestOption {
	betas := p.cfg.Betas
	var opts []option.RequestOption
	switch {
	case strings.HasPrefix(key, tokenPrefix):
		opts = append(opts, option.WithAuthToken(key))
		if !slices.Contains(betas, tokenBeta) {
			betas = append(slices.Clone(betas), tokenBeta)
		}
	case key != "":
		opts = append(opts, option.WithAPIKey(key))
	}
	if len(betas) > 0 {
		opts = append(opts, option.WithHeader("anthropic-beta", strings.Join(betas, ",")))
	}
	return opts
}

// Priced implements provider.Pricer.
func (p *Provider) Priced(model string) bool {
	_, ok := p.Quote(model)
	return ok
}

// Quote implements provider.Quoter. Built-in prices are those of the standard tier; where the price depends on the length of
// the prompt, it is the highest.
func (p *Provider) Quote(model string) (provider.Price, bool) {
	if model == "" {
		model = p.cfg.Model
	}
	return p.prices.quote(model)
}

// Close closes idle connections. Calls that go on are not touched, and new ones may still be made.
func (p *Provider) Close() { p.http.CloseIdleConnections() }
