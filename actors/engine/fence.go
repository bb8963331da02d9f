package engine

import "strings"

const fence = "```"

// Fenced returns what the first fenced block of a text holds, without the name of its language; false if there is no closed one or it
// is empty.
func Fenced(text string) (string, bool) {
	_, rest, open := strings.Cut(text, fence)
	if !open {
		return "", false
	}
	body, _, closed := strings.Cut(rest, fence)
	if !closed {
		return "", false
	}
	if first, more, ok := strings.Cut(body, "\n"); ok && !strings.ContainsAny(strings.TrimSpace(first), " {[\"") {
		body = more // the first line is the language, or empty
	}
	body = strings.TrimSpace(body)
	return body, body != ""
}
