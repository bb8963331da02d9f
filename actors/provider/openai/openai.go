package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of Config.
const (
	DefaultBaseURL     = "https://api.openai.com/v1"
	DefaultModel       = "gpt-4o-mini"
	DefaultMaxResponse = 16 << 20
)

// Config is what New needs. The zero Config asks OpenAI without a key, which a server of your own may allow.
type Config struct {
	BaseURL string // up to and with /v1; DefaultBaseURL if empty
	// APIKey is asked at each call; no key is sent if nil.
	APIKey secret.Source
	Model  string // of requests that name none; DefaultModel if empty
	// Prices by model, without the date of a version; the built-in table if nil and the server is the
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

// Provider asks a server that speaks chat completions. It is safe for concurrent use.
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
		http:    newHTTPClient(cfg.HTTPClient),
		prices:  newPriceList(provider.Listed(cfg.Prices, cfg.BaseURL, "openai.com")),
	}
}

// Infer implements provider.Provider. Its errors: rate limited (429), auth failed (401; 403 with the code
// permission_denied), content blocked, invalid request (other 4xx), transient (5xx, 408, 425, a broken connection, a
// stream that was cut), invalid response (no JSON, no choices, too large), and by the end of ctx the codes timeout or
// cancelled.
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
	ans, err := p.ask(ctx, key, ex, sink)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	resp := ans.response(req.Model)
	if ans.counted {
		resp.Cost = p.prices.cost(resp.Model, ans.tier, req, resp.Usage)
	}
	if sink != nil {
		if ans.counted {
			sink(protocol.UsageEvent{Usage: resp.Usage})
		}
		sink(protocol.Done{Response: resp})
	}
	return resp, nil
}

func (p *Provider) ask(
	ctx context.Context, key string, ex *exchange.Exchange, sink func(protocol.StreamEvent),
) (*answer, error) {
	if sink != nil {
		// The library gets an empty request: what is sent is in the exchange. So it also checks nothing itself; its list
		// of what which model can do is of its day, and its names mean other models on other servers.
		stream, err := p.client(key).CreateChatCompletionStream(ex.With(ctx), goopenai.ChatCompletionRequest{})
		if failed := ex.Failure(ctx, err); failed != nil {
			if err == nil {
				_ = stream.Close() // the failure is what counts
			}
			return nil, failed
		}
		defer func() { _ = stream.Close() }() // read as far as needed
		return collect(ctx, stream, ex, sink)
	}
	resp, err := p.whole(ctx, key, ex)
	if err != nil {
		return nil, err
	}
	if len(resp.Choices) == 0 { // some send errors with status 200
		if r := ex.Report(); !r.Empty() {
			return nil, ex.Reported(r)
		}
	}
	return read(resp)
}

// whole returns an answer that comes at once. The library would read it without a limit to the number of its values.
func (p *Provider) whole(ctx context.Context, key string, ex *exchange.Exchange) (resp goopenai.ChatCompletionResponse, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	if p.cfg.Organization != "" {
		header.Set("OpenAI-Organization", p.cfg.Organization)
	}
	body, err := ex.Post(ctx, p.http, p.cfg.BaseURL+"/chat/completions", header)
	if err != nil {
		return resp, err
	}
	defer func() { _ = body.Close() }() // read as far as needed
	raw, err := io.ReadAll(body)
	if err == nil {
		err = exchange.Unmarshal(raw, &resp)
	}
	return resp, ex.Failure(ctx, err)
}

// dialect reads errors of the library, which come in streams. Those of refused requests are in the exchange.
var dialect = exchange.Dialect{
	Answer: "a chat completion",
	Library: func(err error) (exchange.Report, bool) {
		var api *goopenai.APIError
		if !errors.As(err, &api) {
			return exchange.Report{}, false
		}
		code := ""
		if api.Code != nil {
			code = fmt.Sprint(api.Code)
		}
		return exchange.NewReport(api.Message, code, api.Type), true
	},
}

func (p *Provider) client(key string) *goopenai.Client {
	c := goopenai.DefaultConfig(key)
	c.BaseURL, c.OrgID, c.HTTPClient = p.cfg.BaseURL, p.cfg.Organization, p.http
	c.EmptyMessagesLimit = math.MaxUint32 // servers keep connections alive with them; MaxResponse is the limit
	return goopenai.NewClientWithConfig(c)
}

// Priced implements provider.Pricer.
func (p *Provider) Priced(model string) bool {
	_, ok := p.Quote(model)
	return ok
}

// Quote implements provider.Quoter. Built-in prices are those of the standard tier.
func (p *Provider) Quote(model string) (provider.Price, bool) {
	if model == "" {
		model = p.cfg.Model
	}
	return p.prices.Find(model)
}

// Close closes idle connections. Calls that go on are not touched, and new ones may still be made.
func (p *Provider) Close() { p.http.CloseIdleConnections() }
