package kv

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Reads do not go through the client library's handles: it switches to direct reads, which followers answer with what
// they have, whenever the configuration that it last saw allows them. The requests below are answered by the leader.

// request asks the JetStream API and decodes the answer. It is repeated until ctx ends: reading twice does no harm.
func (s *Store) request(ctx context.Context, verb, stream string, req any, answer answer) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		err := s.ask(ctx, s.api+verb+"."+stream, body, answer)
		if err == nil || ctx.Err() != nil || !isTimeout(err) && (!isUnavailable(err) || n >= 2) {
			return err
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *Store) ask(ctx context.Context, subject string, body []byte, answer answer) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Attempt)
	defer cancel()
	msg, err := s.js.Conn().RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(msg.Data, answer); err != nil {
		return err
	}
	if failed := answer.failure(); failed != nil {
		return failed
	}
	return nil
}

// answer is what the API sends back; it embeds a verdict.
type answer interface{ failure() *jetstream.APIError }

type verdict struct {
	Error *jetstream.APIError `json:"error"`
}

func (v *verdict) failure() *jetstream.APIError { return v.Error }

type message struct {
	verdict
	Message struct {
		Seq    uint64    `json:"seq"`
		Header []byte    `json:"hdrs"`
		Data   []byte    `json:"data"`
		Time   time.Time `json:"time"`
	} `json:"message"`
}

// last returns the last message of a key as the leader has it; its seq is 0 if there is none.
func (s *Store) last(ctx context.Context, subject string) (stored, error) {
	var answer message
	err := s.request(ctx, "STREAM.MSG.GET", s.stream, map[string]string{"last_by_subj": subject}, &answer)
	if apiCode(err) == jetstream.JSErrCodeMessageNotFound {
		return stored{subject: subject}, nil
	}
	if err != nil {
		return stored{}, err
	}
	var header nats.Header
	if len(answer.Message.Header) > 0 {
		if header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return stored{}, err
		}
	}
	return parse(subject, answer.Message.Seq, header, answer.Message.Data), nil
}

// subjects returns those of a stream that match a filter, sorted. Deleted and expired keys are among them.
func (s *Store) subjects(ctx context.Context, stream, filter string) ([]string, error) {
	var all []string
	for {
		var page struct {
			verdict
			Total int `json:"total"`
			State struct {
				Subjects map[string]uint64 `json:"subjects"`
			} `json:"state"`
		}
		req := map[string]any{"subjects_filter": filter, "offset": len(all)}
		if err := s.request(ctx, "STREAM.INFO", stream, req, &page); err != nil {
			return nil, err
		}
		for subject := range page.State.Subjects {
			all = append(all, subject)
		}
		if len(page.State.Subjects) == 0 || len(all) >= page.Total {
			slices.Sort(all)
			return slices.Compact(all), nil
		}
	}
}

// purge removes the messages of a subject whose sequence is lower than below, or all if that is 0, and returns how many.
func (s *Store) purge(ctx context.Context, stream, subject string, below uint64) (uint64, error) {
	var answer struct {
		verdict
		Purged uint64 `json:"purged"`
	}
	req := map[string]any{"filter": subject}
	if below > 0 {
		req["seq"] = below
	}
	err := s.request(ctx, "STREAM.PURGE", stream, req, &answer)
	return answer.Purged, err
}

// readers is how many requests a listing has under way at a time.
const readers = 16

// each calls f with the last message of every subject that has a value, from several goroutines. The first error
// ends it.
func (s *Store) each(ctx context.Context, subjects []string, f func(ctx context.Context, st stored) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan string)
	var wg sync.WaitGroup
	for range min(readers, len(subjects)) {
		wg.Go(func() {
			for subject := range queue {
				st, err := s.last(ctx, subject)
				if err == nil && st.live(s.cfg.Now()) {
					err = f(ctx, st)
				}
				if err != nil {
					stop(err)
				}
			}
		})
	}
	for _, subject := range subjects {
		select {
		case queue <- subject:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	wg.Wait()
	return context.Cause(ctx)
}

// apiPrefix returns what the subjects of the API start with, and what a subject of the bucket is published under:
// nothing, unless the bucket is in another domain or account.
func apiPrefix(opts jetstream.JetStreamOptions) (api, publish string) {
	switch {
	case opts.Domain != "":
		api = "$JS." + opts.Domain + ".API."
	case opts.APIPrefix != "":
		api = strings.TrimSuffix(opts.APIPrefix, ".") + "."
	default:
		return jetstream.DefaultAPIPrefix, ""
	}
	if api == jetstream.DefaultAPIPrefix {
		return api, ""
	}
	return api, api
}

// pause waits about d.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // spreads repetitions, guards nothing
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
