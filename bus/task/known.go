package task

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Hosted reports whether any node has ever taken inputs of the operator: a task for another may wait for ever.
func (t *Tasks) Hosted(ctx context.Context, operator string) (bool, error) {
	if err := wire.CheckOperator(operator); err != nil {
		return false, invalid("%v", err)
	}
	_, err := t.conn.JetStream().Consumer(ctx, t.tasks, inputs+operator)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return false, nil
	}
	return err == nil, bus.Translate("look up "+operator, err)
}
