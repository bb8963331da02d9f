package normalize

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
)

// Limits of what is read.
const (
	// MaxBytes is how long the blocks of one message may be together, in bytes.
	MaxBytes = 1 << 20
	// MaxJSON is how long the JSON of a provider may be, in bytes.
	MaxJSON = 4 << 20
	// MaxCalls is how many calls a message may have.
	MaxCalls = 128
	// MaxArguments is how many arguments a call that is written as text may have.
	MaxArguments = 128
	// MaxItems is how many outputs, choices, content blocks or calls one list of a provider's JSON may have.
	MaxItems = 4096
	// MaxDepth is how deep lists and objects may be in each other.
	MaxDepth = 64
)

// SyntaxError says what is wrong with a text, and where.
type SyntaxError struct {
	Offset int // in bytes, from 0
	Line   int // from 1
	Column int // in characters, from 1; a byte that is no part of a character counts as one
	Reason string
}

// Error returns the reason and the position.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at line %d, column %d (byte %d)", e.Reason, e.Line, e.Column, e.Offset)
}

// PathError says what is wrong with a value in a provider's JSON, and which it is.
type PathError struct {
	Path   string // such as output[1].name; empty for all of it
	Reason string
}

// Error returns the path and the reason.
func (e *PathError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// failed is an error of this package for its cause.
func failed(cause error) error { return compose.ErrNormalizerFailed(cause.Error()).Because(cause) }

// position is a place in a text of which what came before may be gone.
type position struct{ offset, line, column int }

// after is the position behind text.
func (p position) after(text []byte) position {
	p.offset += len(text)
	if n := bytes.Count(text, []byte("\n")); n > 0 {
		p.line, p.column = p.line+n, 0
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	for _, c := range text {
		if c&0xC0 != 0x80 { // begins a character
			p.column++
		}
	}
	return p
}

// problem is a SyntaxError at p.
func (p position) problem(reason string) *SyntaxError {
	return &SyntaxError{Offset: p.offset, Line: p.line + 1, Column: p.column + 1, Reason: reason}
}

// maxShown is how much of a name an error shows, in bytes.
const maxShown = 40

// shown is a name for the text of an error.
func shown[S string | []byte](name S) string {
	s := string(name[:min(len(name), maxShown)])
	if s = strings.ToValidUTF8(s, ""); len(name) > maxShown {
		s += "..."
	}
	return strconv.Quote(s)
}
