package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
)

// Translate turns an error of the NATS client into a *protocol.Error that says what was attempted; nil stays nil,
// and what is coded already stays as it is. A timeout means that the outcome is unknown.
func Translate(attempted string, err error) error {
	var coded *protocol.Error
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return err
	case errors.Is(err, nats.ErrMaxPayload):
		return protocol.NewError(protocol.CodeQuotaExceeded, attempted+": message larger than the server accepts").Because(err)
	case errors.Is(err, context.Canceled):
		return protocol.NewError(protocol.CodeCancelled, attempted+": cancelled").Because(err)
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return protocol.NewError(protocol.CodeTimeout, attempted+": no answer in time; the outcome is unknown").Because(err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return protocol.NewError(protocol.CodeUnsupported, attempted+": JetStream is not enabled on this server or for this account").Because(err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return protocol.NewError(protocol.CodeUnavailable, attempted+": nobody answers; is JetStream running, and the stream there (start a node)?").Because(err)
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return protocol.NewError(protocol.CodeUnavailable, attempted+": the stream is not there; start a node to create it").Because(err)
	case errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, nats.ErrAuthorization):
		return protocol.NewError(protocol.CodePermissionDenied, attempted+": the server does not permit it").Because(err)
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionReconnecting):
		return protocol.NewError(protocol.CodeUnavailable, attempted+": not connected to NATS").Because(err)
	case errors.As(err, &api):
		return translateAPI(attempted, api)
	}
	return protocol.NewError(protocol.CodeUnavailable, fmt.Sprintf("%s: %v", attempted, err)).Because(err)
}

// JetStream's own error codes that mean something to us.
const (
	codeWrongLastSequence  jetstream.ErrorCode = 10071
	codeSequencePending    jetstream.ErrorCode = 10164 // another fenced write is on its way to the replicas
	codeStoreFailed        jetstream.ErrorCode = 10077 // a limit of the stream, with DiscardNew
	codeInsufficient       jetstream.ErrorCode = 10023
	codeStorageExceeded    jetstream.ErrorCode = 10047
	codeClusterUnavailable jetstream.ErrorCode = 10008
)

func translateAPI(attempted string, api *jetstream.APIError) error {
	text := fmt.Sprintf("%s: %s", attempted, api.Description)
	switch api.ErrorCode {
	case codeWrongLastSequence:
		return protocol.NewError(protocol.CodeConflict, text).Because(api)
	case codeStoreFailed, codeInsufficient, codeStorageExceeded:
		return protocol.NewError(protocol.CodeQuotaExceeded, text+"; the store is full").Because(api)
	case codeClusterUnavailable, codeSequencePending:
		return protocol.NewError(protocol.CodeUnavailable, text).Because(api)
	default:
	}
	if api.Code == 503 {
		return protocol.NewError(protocol.CodeUnavailable, text).Because(api)
	}
	return protocol.NewError(protocol.CodeInternal, text).Because(api)
}
