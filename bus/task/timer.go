package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// HeaderTimeZone on a repeated task is the IANA name of the zone that its cron fields are in; without it they are in UTC.
const HeaderTimeZone = jetstream.ScheduleTimeZoneHeader

// dueFor is how long what became due stays among the timers: the stream of tasks has it within milliseconds, but cannot take
// it while it is full or without a quorum, and somebody has to notice that and help. For ever would be a leak, since nothing
// acknowledges it there.
const dueFor = 24 * time.Hour

// maxHeader bounds the headers of a schedule. The server adds its own when it is due, and could not store more than 64 KiB.
const maxHeader = 16 << 10

// WakeAt wakes an instance at a time, or at once if that is over, with header and body. Setting a timer of the same name
// again replaces the one that is not due. The wake carries the name: see TimerName. Headers that start with "Nats-" are
// left out.
func (t *Tasks) WakeAt(ctx context.Context, operator, token, name string, due time.Time, header nats.Header, body []byte) error {
	if !literal(token) || strings.Contains(token, ".") {
		return invalid("instance %.200q: must be a token, as wire.Escape makes it", token)
	}
	names := t.conn.Names()
	return t.set(ctx, operator, names.TimerWake(operator, token, name), names.DueWake(operator, token), at(due), copyHeader(header), body)
}

// TaskAt enqueues an input for an operator at a time. Setting a task of the same name again replaces the one that is
// not due. Without a run id it gets one here, so that it is one run however often it comes.
func (t *Tasks) TaskAt(ctx context.Context, operator, name string, due time.Time, header nats.Header, body []byte) error {
	h := copyHeader(header)
	if h.Get(wire.HeaderRunID) == "" {
		h.Set(wire.HeaderRunID, string(bus.NewRunID()))
	}
	names := t.conn.Names()
	return t.set(ctx, operator, names.TimerTask(operator, name), names.DueTask(operator), at(due), h, body)
}

// TaskEvery enqueues an input for an operator again and again, until it is cancelled: by cron, six fields from
// seconds to day of the week ("0 0 9 * * MON-FRI" in UTC; see HeaderTimeZone), by a name for one (@hourly, @daily, @weekly,
// @monthly, @yearly), or after each interval of a second or more ("@every 10s"). What was missed while the server was down
// comes once. A run id is refused: it would make one run of all. Each gets the id that its Source gives it.
func (t *Tasks) TaskEvery(ctx context.Context, operator, name, cron string, header nats.Header, body []byte) error {
	if err := checkCron(cron); err != nil {
		return err
	}
	if header.Get(wire.HeaderRunID) != "" {
		return invalid("a repeated task has no run id (%s): every time is a run of its own", wire.HeaderRunID)
	}
	h := copyHeader(header)
	if zone := header.Get(HeaderTimeZone); zone != "" {
		h.Set(HeaderTimeZone, zone)
	}
	names := t.conn.Names()
	return t.set(ctx, operator, names.TimerTask(operator, name), names.DueTask(operator), cron, h, body)
}

// at is the schedule of one time. The client library's own would cut it to whole seconds, and be early.
func at(due time.Time) string { return "@at " + due.UTC().Format(time.RFC3339Nano) }

func checkCron(cron string) error {
	if every, ok := strings.CutPrefix(cron, "@every "); ok {
		if d, err := time.ParseDuration(every); err != nil || d < time.Second {
			return invalid("schedule %.100q: the interval must be a second or more, such as @every 10s", cron)
		}
		return nil
	}
	switch cron {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	const fields = 6
	if n := len(strings.Fields(cron)); n != fields || strings.HasPrefix(cron, "@") {
		return invalid("schedule %.100q: must be six fields (second minute hour day month weekday), @every and an interval, "+
			"or one of @hourly, @daily, @weekly, @monthly, @yearly", cron)
	}
	return nil
}

// set stores a schedule. It has no message id: set, cancelled and set again within the dedupe window, it would be dropped.
// Sent twice it is the same schedule; if it was due in between, the same wake or task comes twice.
func (t *Tasks) set(ctx context.Context, operator, subject, target, schedule string, h nats.Header, body []byte) error {
	if err := wire.CheckOperator(operator); err != nil {
		return invalid("%v", err)
	}
	if size := headerSize(h); size > maxHeader {
		return protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf("set %s: headers are %d bytes, of %d", subject, size, maxHeader))
	}
	h.Set(jetstream.ScheduleHeader, schedule)
	h.Set(jetstream.ScheduleTargetHeader, target)
	h.Set(jetstream.ScheduleTTLHeader, dueFor.String())
	_, err := t.publish(ctx, "set "+subject, t.timers, &nats.Msg{Subject: subject, Header: h, Data: body}, true)
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeSchedulePatternInvalid || api.ErrorCode == codeTimeZoneInvalid) {
		return protocol.NewError(protocol.CodeInvalidInput, "invalid input: schedule "+schedule+": "+api.Description).Because(err)
	}
	return err
}

const codeTimeZoneInvalid jetstream.ErrorCode = 10223

// copyHeader leaves out what is between a publisher and the server, which would be stored with the schedule or change it.
func copyHeader(header nats.Header) nats.Header {
	h := make(nats.Header, len(header)+4)
	for name, values := range header {
		if !strings.HasPrefix(strings.ToLower(name), "nats-") {
			h[name] = values
		}
	}
	return h
}

func headerSize(header nats.Header) int {
	const around = 4 // colon, space, line end
	n := 0
	for name, values := range header {
		for _, v := range values {
			n += len(name) + len(v) + around
		}
	}
	return n
}

// Cancel removes a schedule: the subject is that of Names.TimerWake or Names.TimerTask, or a filter for more of one operator,
// such as "skg.timer.wake.OPERATOR.INSTANCE.>". One that is not there is no error. What is due already may still come.
func (t *Tasks) Cancel(ctx context.Context, subject string) error {
	rest, err := t.checkFilter(subject)
	if err != nil {
		return err
	}
	if tokens := strings.Split(rest, "."); len(tokens) < 3 || !wire.ValidOperator(tokens[1]) {
		return invalid("timer %.200q: must be %s or like it", subject, t.conn.Names().TimerTask("OPERATOR", "NAME"))
	}
	attempted := "cancel " + subject
	return t.insist(ctx, attempted, func(ctx context.Context) error {
		stream, err := t.conn.JetStream().Stream(ctx, t.timers)
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
}

// checkFilter sees to it that what is listed or purged are schedules. It returns what is behind their common tokens.
func (t *Tasks) checkFilter(filter string) (rest string, err error) {
	prefix := family(t.conn.Names(), "timer")
	rest, ok := strings.CutPrefix(filter, prefix)
	if !ok || rest == "" || strings.ContainsAny(rest, " \t\r\n") {
		return "", invalid("timer %.200q: must start with %s", filter, prefix)
	}
	return rest, nil
}

// TimerName returns the name of the timer that a wake or task is from, as WakeAt, TaskAt or TaskEvery got it; a digest where
// it was too long. False for what is from no timer.
func TimerName(h nats.Header) (name string, ok bool) {
	subject := h.Get(jetstream.SchedulerHeader)
	if subject == "" {
		return "", false
	}
	return nameOf(subject), true
}

// nameOf is what the last token of a schedule's subject stands for.
func nameOf(subject string) string {
	token := subject[strings.LastIndexByte(subject, '.')+1:]
	if name, err := wire.Unescape(token); err == nil {
		return name
	}
	return token
}
