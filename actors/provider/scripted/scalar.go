package scripted

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/protocol"
)

// choice is a Mode.
type choice Mode

// UnmarshalYAML reads order or match.
func (c *choice) UnmarshalYAML(n *yaml.Node) error {
	if m := Mode(n.Value); m != ModeOrder && m != ModeMatch {
		return fmt.Errorf("line %d: unknown mode %q, expected order or match", n.Line, n.Value)
	}
	*c = choice(n.Value)
	return nil
}

// money is a Decimal, exact from its literal.
type money struct{ protocol.Decimal }

// UnmarshalYAML reads a number or a string.
func (m *money) UnmarshalYAML(n *yaml.Node) error {
	d, err := protocol.NewDecimal(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	m.Decimal = d
	return nil
}

func (m *money) decimal() *protocol.Decimal {
	if m == nil {
		return nil
	}
	return &m.Decimal
}

// duration is written as 200ms or 1m30s.
type duration time.Duration

// UnmarshalYAML reads a duration that is not negative.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v < 0 {
		return fmt.Errorf("line %d: expected a duration such as 200ms, got %q", n.Line, n.Value)
	}
	*d = duration(v)
	return nil
}

type errorYAML struct {
	Code       string   `yaml:"code"`
	Status     int      `yaml:"status"`
	Message    string   `yaml:"message"`
	RetryAfter duration `yaml:"retry_after"`
}

// codes are the names of the provider family, which come before protocol's codes.
var codes = []string{"transient", "rate_limited", "auth_failed", "content_blocked", "invalid_request", "invalid_response"}

// err returns the error that the step stands for, or what is wrong with it.
func (y errorYAML) err() (failure, wrong error) {
	text, wait := y.Message, time.Duration(y.RetryAfter)
	if text == "" {
		text = "scripted"
	}
	name := y.Code
	switch {
	case (y.Status == 0) == (y.Code == ""):
		return nil, fmt.Errorf("error needs a code or a status, and not both")
	case y.Status != 0 && (y.Status < 400 || y.Status > 599):
		return nil, fmt.Errorf("status %d is no error, expected 400 to 599", y.Status)
	case y.Status != 0:
		name = codeOf(y.Status)
	}
	e := coded(name, text, y.Status)
	if e == nil {
		return nil, fmt.Errorf("unknown code %q, expected one of %v or %v", name, codes, protocol.Codes())
	}
	if y.Status == http.StatusForbidden {
		e = e.WithCode(protocol.CodePermissionDenied)
	}
	if wait > 0 {
		e = e.After(wait)
	}
	return e, nil
}

// codeOf maps a status as providers do.
func codeOf(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limited"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "auth_failed"
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		return "transient"
	}
	return "invalid_request"
}

func coded(name, text string, status int) *protocol.Error {
	switch name {
	case "transient":
		return protocol.ErrProviderTransient(text, status)
	case "rate_limited":
		return protocol.ErrRateLimited(0)
	case "auth_failed":
		return protocol.ErrAuthFailed(text)
	case "content_blocked":
		return protocol.ErrContentBlocked(text)
	case "invalid_request":
		return protocol.ErrInvalidRequest(text, status)
	case "invalid_response":
		return protocol.ErrInvalidResponse(text)
	}
	if !slices.Contains(protocol.Codes(), protocol.Code(name)) {
		return nil
	}
	return protocol.NewError(protocol.Code(name), text)
}
