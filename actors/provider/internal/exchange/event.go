package exchange

import (
	"bytes"
	"errors"
	"io"
)

// Event is one event of a stream of server-sent events.
type Event struct {
	Name string // empty if the server named none
	Data []byte // several lines of data are joined by LF
}

// Events reads a stream of server-sent events (SSE), as browsers do: lines end with LF, CR or CRLF; comments, unknown
// fields and events without data are skipped. It is used by one goroutine.
type Events struct {
	lines lineReader
	limit int  // of the data of an event
	begun bool // the first line was read
	err   error
}

// NewEvents returns a reader of the events of r, each with at most maxPiece bytes of data; DefaultMaxPiece if 0.
func NewEvents(r io.Reader, maxPiece int) *Events {
	if maxPiece <= 0 {
		maxPiece = DefaultMaxPiece
	}
	lines := newLineReader(r, maxPiece+len("\ufeffdata: "))
	lines.cr = true
	return &Events{lines: lines, limit: maxPiece}
}

// Next returns the next event, as soon as the empty line behind it is there; its data belongs to the caller. At the end it
// returns io.EOF, and again at each call; a last event counts without its empty line, but not with a line without an end, so
// the caller tells an answer that was cut by its missing last event. An event beyond the limit is ErrTooLarge; other
// errors are the reader's.
func (e *Events) Next() (Event, error) {
	var ev Event
	for e.err == nil {
		line, err := e.lines.next()
		if err != nil {
			e.err = err
			if ev.Data != nil && len(line) == 0 && errors.Is(err, io.EOF) {
				return ev, nil
			}
			break
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) == 0 {
			if ev.Data != nil {
				return ev, nil
			}
			ev = Event{}
			continue
		}
		e.err = ev.add(line, e.limit)
	}
	return Event{}, e.err
}

// add takes a line that is not empty.
func (ev *Event) add(line []byte, limit int) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		ev.Name = string(value)
	case "data":
		if ev.Data == nil {
			ev.Data = make([]byte, 0, len(value))
		} else {
			ev.Data = append(ev.Data, '\n')
		}
		if ev.Data = append(ev.Data, value...); len(ev.Data) > limit {
			return ErrTooLarge
		}
	}
	return nil
}
