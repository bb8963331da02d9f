package actorx

import (
	"go.uber.org/zap"
)

// dispatcher gives each busy mailbox a goroutine, as the library's own does, but survives runtime.Goexit in it: that
// would leave the mailbox marked as running, and its actor deaf, for ever. Running the mailbox again goes on with the
// next message.
type dispatcher struct{ log *zap.Logger }

// Schedule starts the goroutine.
func (d *dispatcher) Schedule(mailbox func()) {
	go d.here(mailbox)
}

// here runs the mailbox in this goroutine.
func (d *dispatcher) here(mailbox func()) {
	completed := false
	defer func() {
		if completed {
			return
		}
		if r := recover(); r != nil { // the mailbox recovers by itself: a defect of the library or of this package
			d.log.Error("mailbox crashed", zap.ByteString("stack", newPanicError(r).Stack))
		}
		d.Schedule(mailbox)
	}()
	mailbox()
	completed = true
}

// Throughput is how many messages are processed before other goroutines get their turn.
func (d *dispatcher) Throughput() int { return 300 }
