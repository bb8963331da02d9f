package wire

// Headers of messages on the bus. Those marked (carried) go through every hop.
const (
	HeaderRunID       = "Skg-Run-Id"        // (carried) names the run; a caller that gives one makes the dispatch idempotent
	HeaderParentRunID = "Skg-Parent-Run-Id" // (carried) the run that dispatched this one
	HeaderDeadline    = "Skg-Deadline"      // (carried) RFC 3339 with nanoseconds
	HeaderBudget      = "Skg-Budget"        // (carried) Decimal USD left for this subtree
	HeaderDepth       = "Skg-Depth"         // (carried) how many dispatches deep this one is, from 0
	HeaderTrace       = "traceparent"       // (carried) W3C trace context
	HeaderEffects     = "Skg-Effects"       // EffectsToCaller: whoever dispatches takes the effects of the output, nobody else performs them
	HeaderSignalID    = "Skg-Signal-Id"     // names a signal, where its sender has to find it again
	HeaderKind        = "Skg-Kind"          // the kind of an event, as in its body
	HeaderReply       = "Skg-Reply"         // of a task: the inbox that wants the answer
	HeaderWhenBusy    = "Skg-When-Busy"     // of a task: what to do while a run is open (enqueue, reject, steer, interrupt)
	HeaderParent      = "Skg-Parent"        // of a task: OPERATOR/INSTANCE of the run that waits for the end of this one
	HeaderParentSeq   = "Skg-Parent-Seq"    // and the sequence in its log at which it began to
	HeaderPrevious    = "Skg-Previous"      // of a run log: how far back its last messages are, back to the last snapshot

	HeaderError     = "Nats-Service-Error"      // the safe message of an error reply
	HeaderErrorCode = "Nats-Service-Error-Code" // its code
)

// MaxDepth is how deep dispatches may nest before an operator refuses: an operator that calls itself
// must end somewhere.
const MaxDepth = 16

// MaxID is the longest session, run or instance id in bytes that a message may carry.
const MaxID = 512

// MaxSignalType is the longest signal or query type in bytes.
const MaxSignalType = 128

// EffectsToCaller is the value of HeaderEffects.
const EffectsToCaller = "caller"
