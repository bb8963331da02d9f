package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// DefaultTimeout bounds a dispatch whose context has no deadline.
const DefaultTimeout = 2 * time.Minute

// discoveryWait is how long the names of operators are collected for the error about one that is missing.
const discoveryWait = 250 * time.Millisecond

// ErrNotStarted is wrapped by the error of a dispatch that certainly did not begin: nobody hosts the operator, or its node
// refused. To dispatch again repeats nothing.
var ErrNotStarted = errors.New("the operator did not begin")

// Dispatcher dispatches over requests on the bus. Its zero value is not usable.
type Dispatcher struct {
	conn    *Conn
	timeout time.Duration
}

var _ protocol.Orchestrator = (*Dispatcher)(nil)

// DispatcherOption changes a Dispatcher at its making.
type DispatcherOption func(*Dispatcher)

// WithTimeout bounds dispatches whose context has no deadline; DefaultTimeout otherwise.
func WithTimeout(d time.Duration) DispatcherOption { return func(p *Dispatcher) { p.timeout = d } }

// NewDispatcher returns a dispatcher over conn, which stays the caller's to close.
func NewDispatcher(conn *Conn, opts ...DispatcherOption) *Dispatcher {
	d := &Dispatcher{conn: conn, timeout: DefaultTimeout}
	for _, o := range opts {
		o(d)
	}
	return d
}

// Dispatch implements protocol.Dispatcher. What travels beside the input is protocol.NextCall of ctx; a run id is
// made where it has none, and the deadline of ctx goes along. An operator that does not exist is not_found with
// those that do in the details.
func (d *Dispatcher) Dispatch(ctx context.Context, operator protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	var out protocol.OperatorOutput
	if err := wire.CheckOperator(string(operator)); err != nil {
		return out, protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+err.Error())
	}
	if err := in.Validate(); err != nil {
		return out, err
	}
	body, err := protocol.Marshal(in)
	if err != nil {
		return out, protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
	}
	if err := d.conn.CheckSize("input", len(body)); err != nil {
		return out, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(d.timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	call := protocol.NextCall(ctx)
	if call.Run == "" {
		call.Run = NewRunID()
	}
	msg := &nats.Msg{Subject: d.conn.Names().Op(string(operator)), Data: body, Header: make(nats.Header, 4)}
	EncodeCall(msg.Header, call, deadline)
	reply, err := d.conn.NATS().RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		return out, d.notFound(ctx, operator)
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		return out, protocol.NewError(protocol.CodeTimeout,
			fmt.Sprintf("dispatch to %s: connection lost while waiting; the outcome is unknown", operator)).Because(err)
	}
	if err != nil {
		return out, Translate("dispatch to "+string(operator), err)
	}
	return DecodeReply(reply)
}

// DecodeReply reads the answer to a request or a task: an output, or the error that it carries.
func DecodeReply(reply *nats.Msg) (out protocol.OperatorOutput, err error) {
	if err := replyError(reply); err != nil {
		return out, err
	}
	if err := protocol.Unmarshal(reply.Data, &out); err != nil {
		return out, protocol.NewError(protocol.CodeInternal,
			fmt.Sprintf("the operator answered with something that is no OperatorOutput: %v", err)).Because(err)
	}
	return out, nil
}

// DispatchMany implements protocol.Orchestrator.
func (d *Dispatcher) DispatchMany(ctx context.Context, requests []protocol.DispatchRequest) []protocol.DispatchResult {
	return protocol.DispatchMany(ctx, d, requests, 0)
}

func (d *Dispatcher) notFound(ctx context.Context, operator protocol.OperatorID) error {
	ctx, cancel := context.WithTimeout(ctx, 2*discoveryWait)
	defer cancel()
	e := protocol.ErrOperatorNotFound(operator).Because(ErrNotStarted)
	services, err := d.conn.Operators(ctx, discoveryWait)
	if err != nil {
		return e
	}
	names := make([]string, 0, len(services))
	for _, s := range services {
		names = append(names, s.Name)
	}
	if slices.Contains(names, string(operator)) { // it was not there just then: a node that starts or stops
		return protocol.NewError(protocol.CodeUnavailable, "operator "+string(operator)+" is starting or shutting down").
			After(discoveryWait).Because(ErrNotStarted)
	}
	return e.With("operators", strings.Join(slices.Compact(names), ", "))
}

// CheckSize returns quota_exceeded where size bytes of what cannot be one message, with the limit named. It leaves
// room for headers.
func (c *Conn) CheckSize(what string, size int) error {
	limit := c.MaxPayload() - headerRoom
	if int64(size) <= limit {
		return nil
	}
	return protocol.NewError(protocol.CodeQuotaExceeded, fmt.Sprintf(
		"%s is %d bytes; the server accepts messages of %d bytes, %d without headers (max_payload)", what, size, c.MaxPayload(), limit)).
		With("limit", fmt.Sprint(limit))
}

// headerRoom is what the headers of a message may take of the server's limit.
const headerRoom = 4 << 10
