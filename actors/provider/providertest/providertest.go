package providertest

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// What the suite gives a provider. None of it may be in an error.
const (
	Key    = "sk-providertest-0123456789"
	Prompt = "The parrot in the cellar knows the number 4711-0815."
	Model  = "test-model" // has a price
)

// MaxResponse is the limit that the suite sets on answers.
const MaxResponse = 1 << 20

// Prices are those of Model.
func Prices() provider.Prices {
	cached := protocol.MustDecimal("0.075")
	return provider.Prices{
		Model: {Input: protocol.MustDecimal("0.15"), Output: protocol.MustDecimal("0.60"), Cached: &cached},
	}
}

// Config is what a provider under test is made of.
type Config struct {
	URL        string // of the server, without a path
	HTTPClient *http.Client
	Prices     provider.Prices
}

// Answer is what the server's model says.
type Answer struct {
	Model string
	Text  string
	Calls []Call
	Stop  protocol.StopReason
	Usage *protocol.TokenUsage // nil if the server tells none
}

// Call is a tool call with its arguments as the model wrote them.
type Call struct{ ID, Name, Arguments string }

// Harness is a provider and the form in which its server speaks.
type Harness struct {
	// New returns a provider with Key and MaxResponse.
	New func(cfg Config) provider.Provider
	// Render returns the body of an answer, whole or as a stream of several events, and its content type.
	Render func(a Answer, stream bool) (contentType string, body []byte)
	// RenderError returns the body of an error.
	RenderError func(status int, code, message string) []byte
	// BlockedCode is the code of an error about the content.
	BlockedCode string
	// Free is a provider whose calls cost nothing, with usage and without it, whatever the prices are.
	Free bool
	// Without names the cases that the protocol of the server has no words for.
	Without []string
}

// Case is one promise.
type Case struct {
	Name  string
	check func(ctx context.Context, e *env) error
}

// patience bounds a case; nothing waits that long unless it fails.
const patience = 20 * time.Second

// Run runs all cases as subtests of t.
func Run(t *testing.T, h Harness) {
	t.Helper()
	cases := Cases()
	for _, name := range h.Without {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("no case %q to go without", name)
		}
		cases = slices.Delete(cases, i, i+1)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Check(t.Context(), h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check returns what is wrong with the provider of h, nil if nothing.
func (c Case) Check(ctx context.Context, h Harness) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e := newEnv(h)
	defer e.close()
	return c.check(ctx, e)
}

// Cases lists all cases.
func Cases() []Case {
	cases := answerCases()
	cases = append(cases, refusalCases()...)
	cases = append(cases, damageCases()...)
	return append(cases, endCases()...)
}
