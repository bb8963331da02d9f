package inspect

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/kv"
)

// forgetState removes the state that belongs to the instance.
func (r *Reader) forgetState(ctx context.Context, t target, cfg ForgetConfig, gone *Forgotten) error {
	if cfg.State == nil {
		return nil
	}
	scopes := []protocol.Scope{protocol.InWorkflow(t.workflow), protocol.OfOperator(t.workflow, protocol.OperatorID(t.operator))}
	var err error
	if gone.SharedWith, err = r.sharers(ctx, t); err != nil {
		return err
	}
	if len(gone.SharedWith) == 0 {
		scopes = append(scopes, protocol.InSession(protocol.SessionID(t.instance)))
	}
	for _, scope := range scopes {
		keys, err := cfg.State.List(ctx, scope, "")
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := cfg.State.Delete(ctx, scope, key); err != nil {
				return err
			}
		}
		gone.State += len(keys)
		if _, ok := cfg.State.(*kv.Store); !ok {
			continue
		}
		if err := r.purgeBucket(ctx, scope); err != nil {
			return err
		}
	}
	return nil
}

// sharers are the instances of other operators with the same session.
func (r *Reader) sharers(ctx context.Context, t target) (found []protocol.WorkflowID, err error) {
	subjects, err := r.subjects(ctx, r.conn.Names().RunLog("*", t.token))
	if err != nil {
		return nil, err
	}
	for _, subject := range subjects {
		tokens := strings.Split(subject, ".") // prefix, log, operator, instance, run
		if len(tokens) != 5 || tokens[2] == t.operator {
			continue
		}
		other := t
		other.operator, other.workflow = tokens[2], protocol.WorkflowID(tokens[2]+"/"+t.instance)
		i, err := r.load(ctx, other, false)
		if err != nil {
			return nil, err
		}
		if !i.empty() {
			found = append(found, other.workflow)
		}
	}
	return found, nil
}

// purgeBucket removes what deletions leave in the bucket, the names of the keys, and the links of a scope.
func (r *Reader) purgeBucket(ctx context.Context, scope protocol.Scope) error {
	const attempted = "purge state"
	bucket := r.conn.Names().Stream(wire.BucketState)
	stream, err := r.conn.JetStream().Stream(ctx, "KV_"+bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return bus.Translate(attempted, err)
	}
	tokens := string(scope.Kind()) + "." + wire.Escape(scope.ID())
	if scope.Kind() == protocol.ScopeOperator {
		tokens += "." + wire.Escape(string(scope.Operator()))
	}
	for _, filter := range []string{tokens + ".*", "link." + tokens + ".>"} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucket+"."+filter)); err != nil {
			return bus.Translate(attempted, err)
		}
	}
	return nil
}
