package kv

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
)

var (
	errNoValue = errors.New("the entry has neither a value nor a blob")
	// errConflict: the key has another revision than was expected.
	errConflict = errors.New("another revision")
	// errUnknown: a write may or may not have landed.
	errUnknown = errors.New("outcome unknown")
)

// JetStream's own error codes that mean something to us.
const (
	codeAccountExceeded   jetstream.ErrorCode = 10002
	codeClusterIncomplete jetstream.ErrorCode = 10004
	codeUnavailable       jetstream.ErrorCode = 10008
	codeLeaderless        jetstream.ErrorCode = 10009
	codeInsufficient      jetstream.ErrorCode = 10023
	codeMemoryExceeded    jetstream.ErrorCode = 10028
	codeStorageExceeded   jetstream.ErrorCode = 10047
	codeMessageTooLarge   jetstream.ErrorCode = 10054
	codeStoreFailed       jetstream.ErrorCode = 10077 // with DiscardNew: a limit of the stream
	codeIDInProcess       jetstream.ErrorCode = 10158
	codeWrongLastSequence jetstream.ErrorCode = 10071
	codeWrongLastReplica  jetstream.ErrorCode = 10164 // the same, or another write of the key is under way
)

func apiCode(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

func isConflict(err error) bool {
	code := apiCode(err)
	return code == codeWrongLastSequence || code == codeWrongLastReplica
}

func isFull(err error) bool {
	switch apiCode(err) {
	case codeStoreFailed, codeInsufficient, codeStorageExceeded, codeMemoryExceeded, codeAccountExceeded:
		return true
	default:
		return false
	}
}

// refused: a write was not stored. Of any other error nobody can say.
func refused(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode != codeIDInProcess || errors.Is(err, nats.ErrMaxPayload) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

func isTimeout(err error) bool {
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// isUnavailable: the request was not processed by anybody.
func isUnavailable(err error) bool {
	for _, e := range []error{
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrConnectionClosed, nats.ErrConnectionDraining,
		nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrNoServers,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount, nats.ErrBadSubscription,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == codeUnavailable || api.ErrorCode == codeLeaderless ||
		api.ErrorCode == codeClusterIncomplete) && !isFull(err)
}

// translate returns err as what may leave the package. ctx is the caller's: its end is told apart from ours.
func (s *Store) translate(ctx context.Context, attempted string, err error) *protocol.Error {
	var coded *protocol.Error
	if errors.As(err, &coded) {
		return coded
	}
	code, why := s.classify(ctx, err)
	return protocol.NewError(code, attempted+": "+why).Because(err)
}

// writeFailed is translate for what changes the bucket.
func (s *Store) writeFailed(ctx context.Context, attempted string, err error) *protocol.Error {
	var coded *protocol.Error
	if errors.As(err, &coded) {
		return coded
	}
	code, why := s.classify(ctx, err)
	return protocol.ErrWriteFailed(attempted + ": " + why).WithCode(code).Because(err)
}

func (s *Store) classify(ctx context.Context, err error) (protocol.Code, string) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return protocol.CodeCancelled, "cancelled"
	case errors.Is(err, errUnknown): // also after a conflict that may have been with ourselves
		return protocol.CodeTimeout, "no answer in time; it may have been stored or not"
	case errors.Is(err, errConflict):
		return protocol.CodeConflict, "somebody else changed it first"
	case errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, nats.ErrAuthorization):
		return protocol.CodePermissionDenied, "the server does not permit it"
	case isFull(err):
		return protocol.CodeQuotaExceeded, "bucket " + s.bucket + " is full"
	case errors.Is(err, nats.ErrMaxPayload), apiCode(err) == codeMessageTooLarge:
		return protocol.CodeQuotaExceeded, "larger than the server takes"
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return protocol.CodeUnavailable, "bucket " + s.bucket + " is not there; start a node to create it"
	case isUnavailable(err), isTimeout(err) && !s.js.Conn().IsConnected():
		return protocol.CodeUnavailable, "nobody answers; is NATS running with JetStream?"
	case isTimeout(err):
		return protocol.CodeTimeout, "no answer in time"
	case errors.Is(err, context.Canceled):
		return protocol.CodeCancelled, "cancelled"
	}
	return protocol.CodeInternal, "the bucket refused the request; see the node's log"
}
