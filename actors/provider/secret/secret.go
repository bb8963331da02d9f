// Package secret is where providers get their API keys from.
//
//	openai.Config{APIKey: secret.Env("OPENAI_API_KEY")}
//
// A Source is asked at each call, so that a key can be rotated without a restart, and keeps nothing itself. It has no
// printed form: String, GoString and the JSON and text encodings are [REDACTED], and since a Source is a function,
// printing a struct that holds one cannot reveal a key either. Errors name the variable or the file, never what is in it.
package secret

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// maxFile bounds what File reads; a key is far shorter.
const maxFile = 64 << 10

const redacted = "[REDACTED]"

// Source returns a secret; nil is none. Write one of your own for a vault. It must be safe for concurrent use.
type Source func(ctx context.Context) (string, error)

// Env is the environment variable name.
func Env(name string) Source {
	return func(context.Context) (string, error) {
		v := strings.TrimSpace(os.Getenv(name))
		if v == "" {
			return "", protocol.ErrAuthFailed("environment variable " + name + " is unset or empty")
		}
		return v, nil
	}
}

// File is the content of the file at path.
func File(path string) Source {
	return func(context.Context) (string, error) {
		raw, err := readFile(path)
		if err != nil {
			return "", protocol.ErrAuthFailed("cannot read the key file " + path).Because(err)
		}
		v := strings.TrimSpace(string(raw))
		switch {
		case v == "":
			return "", protocol.ErrAuthFailed("the key file " + path + " is empty")
		case len(raw) > maxFile:
			return "", protocol.ErrAuthFailed("the key file " + path + " is too large for a key")
		}
		return v, nil
	}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Static is the value itself. Prefer the others: a literal ends up in files and histories.
func Static(value string) Source {
	return func(context.Context) (string, error) {
		v := strings.TrimSpace(value)
		if v == "" {
			return "", protocol.ErrAuthFailed("the API key is empty")
		}
		return v, nil
	}
}

// None is no secret: a server that asks for none.
func None() Source { return nil }

// Resolve returns the secret without white space around it, empty for None. Its error is an *Error of the kind auth
// failed, unless a source of your own returns another *Error, or ctx has ended.
func (s Source) Resolve(ctx context.Context) (string, error) {
	if s == nil {
		return "", nil
	}
	v, err := s(ctx)
	if err != nil {
		return "", failure(ctx, err)
	}
	v = strings.TrimSpace(v)
	if v == "" {
		return "", protocol.ErrAuthFailed("the source of the API key gave an empty one")
	}
	for _, c := range v {
		if c < ' ' || c == 0x7f {
			return "", protocol.ErrAuthFailed("the API key has control characters in it; is it more than one line?")
		}
	}
	return v, nil
}

// failure is the error of a source as a provider returns it. What it says may be anything, so it is only the cause.
func failure(ctx context.Context, err error) error {
	var coded *protocol.Error
	switch {
	case errors.As(err, &coded):
		return err
	case ctx.Err() != nil:
		return protocol.AsError(ctx.Err()).Because(err)
	}
	return protocol.ErrAuthFailed("the source of the API key failed").Because(err)
}

// String returns [REDACTED].
func (Source) String() string { return redacted }

// GoString returns [REDACTED].
func (Source) GoString() string { return redacted }

// MarshalJSON writes "[REDACTED]".
func (Source) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText writes [REDACTED]; it serves YAML and the log.
func (Source) MarshalText() ([]byte, error) { return []byte(redacted), nil }
