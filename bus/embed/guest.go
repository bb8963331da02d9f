package embed

import (
	"github.com/nats-io/nats-server/v2/server"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// InboxPrefix is what the inboxes of nodes start with. It is not under GuestInbox, so guests can
// neither listen to a node's replies nor have anything sent there.
const InboxPrefix = "_INBOX_NODE"

// GuestInbox is what every inbox of a guest starts with.
const GuestInbox = "_INBOX."

const (
	createConsumer = "$JS.API.CONSUMER.CREATE."
	ackTokens      = ".*.*.*.*.*.*" // consumer, deliveries, stream and consumer sequence, time, pending
)

// guestPermissions is what a client without credentials may do: give operators work, ask and signal
// them, watch events, and read JetStream. What is not in here is refused: wakes, timers and what became due
// among it, since nodes take those for the server's word. Two things no permission covers, where answers and
// deliveries go and how long headers are: see guard.
func guestPermissions(n wire.Names) *server.Permissions {
	pub := []string{
		n.All("op"), n.Task("*"), n.All("signal"), n.All("query"), "$SRV.>",
		"$JS.API.INFO",
		"$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*",
		"$JS.API.STREAM.MSG.GET.*", "$JS.API.DIRECT.GET.>",
		"$JS.API.CONSUMER.NAMES.*", "$JS.API.CONSUMER.LIST.*", "$JS.API.CONSUMER.INFO.*.*",
	}
	for _, stream := range readable(n) {
		pub = append(pub,
			createConsumer+stream, createConsumer+stream+".>",
			"$JS.API.CONSUMER.MSG.NEXT."+stream+".*",
			"$JS.API.CONSUMER.DELETE."+stream+".*",
			"$JS.ACK."+stream+ackTokens,
			"$JS.FC."+stream+".>",
		)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: pub},
		Subscribe: &server.SubjectPermission{Allow: []string{n.All("event"), n.All("live"), GuestInbox + ">"}},
	}
}

// readable are the streams that keep what was read: a guest may have consumers there. On a work queue an
// acknowledgement removes the message, so there it may not.
func readable(n wire.Names) []string {
	return []string{
		n.Stream(wire.StreamLog),
		n.Stream(wire.StreamDead),
		"KV_" + n.Stream(wire.BucketState),
		"OBJ_" + n.Stream(wire.BucketBlobs),
	}
}
