//go:build unix

package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// What a line of the outside record says.
const (
	linePaid  = "paid"  // for a step, before it is made
	lineMail  = "mail"  // was sent
	lineStall = "stall" // the process did not run for a while, whoever is to blame
)

// line is what one process did that no log tells of.
type line struct {
	At   time.Time      `json:"at"`
	What string         `json:"what"`
	Slot string         `json:"slot"`
	PID  int            `json:"pid"`
	Run  protocol.RunID `json:"run,omitempty"`
	Step string         `json:"step,omitempty"`
	// ID is that of the payment, or of the effect.
	ID   string        `json:"id,omitempty"`
	Mail *mail         `json:"mail,omitempty"`
	For  time.Duration `json:"for,omitempty"` // of a stall
}

// mail is the effect of a turn.
type mail struct {
	Session string `json:"session"`
	Number  int    `json:"number"`
	Hold    bool   `json:"hold,omitempty"` // takes its time
}

// outside is the file that all processes append to. Each line is one write, which a kill does or does not let happen.
type outside struct {
	file *os.File
	slot string
	last atomic.Int64
}

const outsideFile = "outside.jsonl"

func openOutside(dir, slot string) (*outside, error) {
	f, err := os.OpenFile(filepath.Join(dir, outsideFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &outside{file: f, slot: slot}, nil
}

// note writes a line and returns when it cannot be lost any more.
func (o *outside) note(l line) error {
	l.Slot, l.PID = o.slot, os.Getpid()
	if l.At.IsZero() {
		l.At = time.Now()
	}
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = o.file.Write(append(body, '\n'))
	return err
}

// id is one that no other payment has.
func (o *outside) id() string { return fmt.Sprintf("%d-%d", os.Getpid(), o.last.Add(1)) }

const (
	stallTick = 100 * time.Millisecond
	stallMin  = time.Second // above which a process may have missed its heartbeats
)

// watch notes when the process did not run: it was stopped, or the machine was busy. It ends with the process.
func (o *outside) watch() {
	last := time.Now()
	for range time.Tick(stallTick) {
		now := time.Now()
		if gap := now.Sub(last); gap > stallMin {
			_ = o.note(line{At: last, What: lineStall, For: gap})
		}
		last = now
	}
}

func readOutside(dir string) (lines []line, err error) {
	data, err := os.ReadFile(filepath.Join(dir, outsideFile))
	if err != nil {
		return nil, err
	}
	for raw := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("line %d of the outside record: %w: %q", len(lines)+1, err, raw)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
