package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
)

// stream reads from and appends to one stream. Reads do not go through the client library's handles: those switch to direct
// reads, which followers answer with what they have, whenever the configuration that they last saw allows them. The
// requests here are answered by the leader.
type stream struct {
	js   jetstream.JetStream
	name string
	what string        // begins the texts of errors
	api  string        // what the subjects of the API start with
	try  time.Duration // how long one attempt waits for the server's answer before it is repeated
}

func newStream(js jetstream.JetStream, name, what string) stream {
	api := jetstream.DefaultAPIPrefix
	switch opts := js.Options(); {
	case opts.Domain != "":
		api = "$JS." + opts.Domain + ".API."
	case opts.APIPrefix != "":
		api = strings.TrimSuffix(opts.APIPrefix, ".") + "."
	}
	return stream{js: js, name: name, what: what, api: api, try: defaultTry}
}

const (
	defaultTry = 2 * time.Second
	readTries  = 3 // a cluster may be choosing a leader; what is not answered then is for the caller to repeat
	readPause  = 250 * time.Millisecond
)

// answer is what the API sends back, whatever it was asked.
type answer struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
	State struct {
		Subjects map[string]uint64 `json:"subjects"`
	} `json:"state"`
}

// request asks the API, again where it does not answer or cannot.
func (s *stream) request(ctx context.Context, verb string, req any) (*answer, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		got, err := s.ask(ctx, s.api+verb+"."+s.name, body)
		if err == nil || ctx.Err() != nil || n == readTries || !transient(err) && !isTimeout(err) || !sleep(ctx, readPause) {
			return got, err
		}
	}
}

func (s *stream) ask(ctx context.Context, subject string, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.try)
	defer cancel()
	msg, err := s.js.Conn().RequestWithContext(ctx, subject, body)
	if err != nil {
		return nil, err
	}
	var got answer
	if err := json.Unmarshal(msg.Data, &got); err != nil {
		return nil, err
	}
	if got.Error != nil {
		return nil, got.Error
	}
	return &got, nil
}

// selector says which message is meant.
type selector struct {
	Seq  uint64 `json:"seq,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
	Next string `json:"next_by_subj,omitempty"`
}

// message returns the one that is meant, ErrGone if there is none, else ErrUnavailable.
func (s *stream) message(ctx context.Context, which selector) (Record, error) {
	named := which.Last + which.Next
	if named == "" {
		named = fmt.Sprintf("message %d", which.Seq)
	}
	got, err := s.request(ctx, "STREAM.MSG.GET", which)
	if hasCode(err, jetstream.JSErrCodeMessageNotFound) {
		return Record{}, s.wrap(protocol.CodeNotFound, named, ErrGone, err)
	}
	if err != nil {
		return Record{}, s.wrap(protocol.CodeUnavailable, named, ErrUnavailable, err)
	}
	m := got.Message
	r := Record{Seq: m.Seq, Subject: m.Subject, Time: m.Time, Data: m.Data}
	if len(m.Header) > 0 {
		if r.Header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			return Record{}, s.wrap(protocol.CodeUnavailable, named, ErrUnavailable, err)
		}
		r.readHeader()
	}
	return r, nil
}

// each calls f with the records of a subject behind a sequence, in order, until f returns false.
func (s *stream) each(ctx context.Context, subject string, after uint64, f func(Record) bool) error {
	for {
		r, err := s.message(ctx, selector{Seq: after + 1, Next: subject})
		if errors.Is(err, ErrGone) {
			return nil
		}
		if err != nil || !f(r) {
			return err
		}
		after = r.Seq
	}
}

// subjects returns those that match a filter, with the number of their messages: all, or as many as the server tells at once.
func (s *stream) subjects(ctx context.Context, filter string) (map[string]uint64, error) {
	got, err := s.request(ctx, "STREAM.INFO", map[string]string{"subjects_filter": filter})
	if err != nil {
		return nil, s.wrap(protocol.CodeUnavailable, filter, ErrUnavailable, err)
	}
	return got.State.Subjects, nil
}

// purge removes the messages of a subject below a sequence, or all if that is 0.
func (s *stream) purge(ctx context.Context, subject string, below uint64) error {
	_, err := s.request(ctx, "STREAM.PURGE", struct {
		Filter string `json:"filter"`
		Below  uint64 `json:"seq,omitempty"`
	}{subject, below})
	if err != nil {
		return s.wrap(protocol.CodeUnavailable, subject, ErrUnavailable, err)
	}
	return nil
}

func (s *stream) wrap(code protocol.Code, subject string, sentinel, cause error) error {
	return protocol.NewError(code, fmt.Sprintf("%s %s: %v", s.what, subject, sentinel)).Because(errors.Join(sentinel, cause))
}
