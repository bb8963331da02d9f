package wire

import (
	"fmt"
	"regexp"
	"strings"
)

// DefaultPrefix is the first token of every subject unless configured otherwise.
const DefaultPrefix = "skg"

var (
	operatorPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	prefixPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
)

// ValidOperator reports whether id may name an operator: it is a subject token as it stands, so it
// matches [a-z0-9][a-z0-9_-]{0,63}.
func ValidOperator(id string) bool { return operatorPattern.MatchString(id) }

// CheckOperator returns an error that says what an operator id looks like, or nil.
func CheckOperator(id string) error {
	if ValidOperator(id) {
		return nil
	}
	return fmt.Errorf("operator id %.80q: must be 1 to 64 of a-z, 0-9, _ and -, starting with a letter or digit", id)
}

// Names builds every subject, stream and bucket name from one prefix. The zero value uses
// DefaultPrefix. It is a value, safe to copy and to use concurrently.
type Names struct{ prefix string }

// NewNames returns the names under prefix; an empty prefix means DefaultPrefix.
func NewNames(prefix string) (Names, error) {
	if prefix == "" {
		return Names{}, nil
	}
	if !prefixPattern.MatchString(prefix) {
		return Names{}, fmt.Errorf("prefix %.80q: must be 1 to 32 of a-z, 0-9, _ and -, starting with a letter or digit", prefix)
	}
	return Names{prefix: prefix}, nil
}

// Prefix returns the first token of every subject.
func (n Names) Prefix() string {
	if n.prefix == "" {
		return DefaultPrefix
	}
	return n.prefix
}

func (n Names) join(tokens ...string) string {
	size := len(n.Prefix())
	for _, t := range tokens {
		size += 1 + len(t)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(n.Prefix())
	for _, t := range tokens {
		b.WriteByte('.')
		b.WriteString(t)
	}
	return b.String()
}

// Op is where requests to an operator go; the reply is its OperatorOutput.
func (n Names) Op(operator string) string { return n.join("op", operator) }

// Task is where inputs to an operator go that are accepted and answered later, if at all.
func (n Names) Task(operator string) string { return n.join("task", operator) }

// Wake is where an instance hears of a signal (source "sig.TYPE"), a timer, a child or an effect. The instance is a token
// already: see Escape.
func (n Names) Wake(operator, token, source string) string {
	return n.join("wake", operator, token, source)
}

// WakesOf is the filter of everything that wakes the instances of an operator.
func (n Names) WakesOf(operator string) string { return n.join("wake", operator, ">") }

// TimerWake is the schedule that wakes an instance, one for each name; the server publishes to DueWake when it is time.
func (n Names) TimerWake(operator, token, name string) string {
	return n.join("timer", "wake", operator, token, Escape(name))
}

// DueWake is where a timer of an instance goes when it is due, and from there to Wake with the source "timer".
func (n Names) DueWake(operator, token string) string { return n.join("due", "wake", operator, token) }

// TimerTask is the schedule of a delayed or repeated task, one for each name.
func (n Names) TimerTask(operator, name string) string {
	return n.join("timer", "task", operator, Escape(name))
}

// DueTask is where a delayed task goes when it is due, and from there to Task.
func (n Names) DueTask(operator string) string { return n.join("due", "task", operator) }

// Source is where the server delivers what the stream of tasks takes over from another.
func (n Names) Source(stream string) string { return n.join("source", strings.ToLower(stream)) }

// RunLog is where the one owner of an instance's open run appends, fenced. The instance is a token already.
func (n Names) RunLog(operator, token string) string { return n.join("log", operator, token, "run") }

// Effect is where the effect requests of one kind, operator and instance go.
func (n Names) Effect(kind, operator, instance string) string {
	return n.join("effect", Escape(kind), operator, Escape(instance))
}

// EffectsOf is the filter of all effect requests of one kind.
func (n Names) EffectsOf(kind string) string { return n.join("effect", Escape(kind), ">") }

// Done is the ledger of one kind of effects of one instance.
func (n Names) Done(operator, instance, kind string) string {
	return n.join("log", operator, Escape(instance), "done", Escape(kind))
}

// Event is where observers see what was committed under the matching log subject.
func (n Names) Event(logSubject string) string {
	return n.join("event") + strings.TrimPrefix(logSubject, n.join("log"))
}

// Live is where events that no log keeps are published.
func (n Names) Live(operator, instance, kind string) string {
	return n.join("live", operator, Escape(instance), Escape(kind))
}

// Signal is where a signal of one type for one instance goes.
func (n Names) Signal(operator, instance, typ string) string {
	return n.join("signal", operator, Escape(instance), Escape(typ))
}

// Query is where a question of one type about one instance goes, as a request.
func (n Names) Query(operator, instance, typ string) string {
	return n.join("query", operator, Escape(instance), Escape(typ))
}

// Dead is where what an operator's work left unprocessable goes.
func (n Names) Dead(operator string) string { return n.join("dead", operator) }

// All is the filter of every subject of one family, such as "log" or "live".
func (n Names) All(family string) string { return n.join(family, ">") }

// Stream is the name of a stream or bucket: the prefix in capitals, an underscore and the suffix.
func (n Names) Stream(suffix string) string { return strings.ToUpper(n.Prefix()) + "_" + suffix }

// The suffixes of streams and buckets for Names.Stream.
const (
	StreamLog     = "LOG"     // run logs, ledgers and signals
	StreamTasks   = "TASKS"   // inputs and wakes, a work queue
	StreamTimers  = "TIMERS"  // schedules, and what is due until the tasks have it
	StreamEffects = "EFFECTS" // effect requests, a work queue
	StreamDead    = "DEAD"    // what could not be processed
	BucketState   = "STATE"   // key-value: the state store
	BucketBlobs   = "BLOBS"   // objects: what is too large for a message
)

// ParseWorkflow splits a workflow id, operator/instance, at its first slash.
func ParseWorkflow(id string) (operator, instance string, err error) {
	operator, instance, ok := strings.Cut(id, "/")
	if !ok || instance == "" {
		return "", "", fmt.Errorf("workflow id %.120q: must be OPERATOR/INSTANCE", id)
	}
	if err := CheckOperator(operator); err != nil {
		return "", "", fmt.Errorf("workflow id %.120q: %w", id, err)
	}
	return operator, instance, nil
}
