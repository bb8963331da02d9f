package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// secret stands where a secret was.
const secret = "[secret]"

// known are secrets that can be told by their form.
var known = regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{8,}|\bAIza[A-Za-z0-9_-]{20,}|(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{8,}=*`)

// cleaner removes secrets: those of one request, the known ones, and what the user says.
type cleaner struct {
	own  []string
	user func(string) string
}

func (c *Cassette) cleaner(req *http.Request) cleaner {
	return cleaner{own: credentials(req), user: c.scrub}
}

func (c cleaner) text(s string) string {
	for _, key := range c.own {
		s = strings.ReplaceAll(s, key, secret)
	}
	s = known.ReplaceAllString(s, secret)
	if c.user != nil {
		s = c.user(s)
	}
	return s
}

// minKey is the shortest credential that is looked for in texts, in bytes.
const minKey = 6

// credentials are what the request proves itself with, in headers and query.
func credentials(req *http.Request) []string {
	var list []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= minKey {
			list = append(list, s)
		}
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		for _, v := range req.Header.Values(name) {
			if _, token, ok := strings.Cut(v, " "); ok {
				v = token
			}
			add(v)
		}
	}
	query := req.URL.Query()
	for _, name := range []string{"key", "api_key", "api-key", "apikey", "access_token", "token", "sig"} {
		for _, v := range query[name] {
			add(v)
		}
	}
	return list
}

// normal is a body in the form in which it is stored and compared: JSON with its keys in order, a member a line.
func normal(body string) string {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber() // as it was written
	var v any
	if d.Decode(&v) != nil {
		return body
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // more text
		return body
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return body
	}
	return b.String()
}
