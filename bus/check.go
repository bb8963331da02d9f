package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Level says how bad a Finding is.
type Level string

// The levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // it works, but somebody should look at it
	LevelFail Level = "fail" // it does not work
)

// Finding is one thing that was looked at.
type Finding struct {
	Name  string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Do says what to do about it; empty if nothing.
	Do string `json:"do,omitempty"`
}

// How far the clocks may be apart: times to live and deadlines are compared across machines.
const (
	skewWarn = time.Second
	skewFail = time.Minute
)

// Check looks at the connection and at what is stored: JetStream, the streams of t and their copies, the buckets, the
// clocks, the pending effects, the dead letters. It changes nothing.
func (c *Conn) Check(ctx context.Context, t Topology) []Finding {
	findings := []Finding{c.checkConnection(), c.checkJetStream(ctx)}
	if findings[1].Level == LevelFail {
		return findings
	}
	for _, want := range t.Streams(c.Names()) {
		findings = append(findings, c.checkStream(ctx, want)...)
	}
	for _, bucket := range []string{"KV_" + c.Names().Stream(wire.BucketState), "OBJ_" + c.Names().Stream(wire.BucketBlobs)} {
		findings = append(findings, c.checkBucket(ctx, bucket)...)
	}
	return append(findings, c.checkClock(ctx), c.checkPending(ctx), c.checkDead(ctx))
}

func failed(name string, err error, do string) Finding {
	return Finding{Name: name, Level: LevelFail, Text: protocol.AsError(Translate(name, err)).Message, Do: do}
}

func (c *Conn) checkConnection() Finding {
	f := Finding{Name: "connection", Level: LevelOK}
	rtt, err := c.nc.RTT()
	if err != nil {
		return failed(f.Name, err, "check the network to the server")
	}
	f.Text = fmt.Sprintf("%s, NATS %s, round trip %s, messages up to %d bytes",
		c.nc.ConnectedUrlRedacted(), c.nc.ConnectedServerVersion(), rtt.Round(time.Microsecond), c.MaxPayload())
	return f
}

func (c *Conn) checkJetStream(ctx context.Context) Finding {
	f := Finding{Name: "jetstream", Level: LevelOK}
	info, err := c.JetStream().AccountInfo(ctx)
	if err != nil {
		return failed(f.Name, err, "enable JetStream on the server (nats-server -js) and for this account")
	}
	f.Text = fmt.Sprintf("%d streams, %d consumers, %d bytes stored", info.Streams, info.Consumers, info.Store)
	return f
}

func (c *Conn) checkStream(ctx context.Context, want jetstream.StreamConfig) []Finding {
	f := Finding{Name: "stream " + want.Name, Level: LevelOK}
	stream, err := c.JetStream().Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		f.Level, f.Text, f.Do = LevelFail, "is not there", "start a node: it creates what is missing"
		return []Finding{f}
	}
	if err != nil {
		return []Finding{failed(f.Name, err, "")}
	}
	info := stream.CachedInfo()
	f.Text = fmt.Sprintf("%d messages, %d bytes", info.State.Msgs, info.State.Bytes)
	if diff := differences(want, info.Config); len(diff) > 0 {
		f.Level, f.Text = LevelFail, strings.Join(diff, "; ")
		f.Do = fmt.Sprintf("change it with `nats stream edit %s`, or use another --prefix", want.Name)
	}
	return append([]Finding{f}, replicas(info)...)
}

func (c *Conn) checkBucket(ctx context.Context, name string) []Finding {
	f := Finding{Name: "bucket " + name, Level: LevelOK}
	stream, err := c.JetStream().Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		f.Level, f.Text, f.Do = LevelWarn, "is not there", "start a node that keeps state: it creates it"
		return []Finding{f}
	}
	if err != nil {
		return []Finding{failed(f.Name, err, "")}
	}
	info := stream.CachedInfo()
	f.Text = fmt.Sprintf("%d messages, %d bytes", info.State.Msgs, info.State.Bytes)
	return append([]Finding{f}, replicas(info)...)
}

// replicas finds a stream that a server of the cluster could take with it, and copies that are behind.
func replicas(info *jetstream.StreamInfo) []Finding {
	if info.Cluster == nil || info.Cluster.Name == "" {
		return nil
	}
	name := info.Config.Name
	f := Finding{Name: "copies of " + name, Level: LevelOK, Text: fmt.Sprintf("%d in cluster %s", info.Config.Replicas, info.Cluster.Name)}
	behind := 0
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline {
			behind++
		}
	}
	switch {
	case info.Cluster.Leader == "":
		f.Level, f.Text, f.Do = LevelFail, "there is no leader", "bring the servers of the cluster back"
	case behind > 0:
		f.Level, f.Text, f.Do = LevelWarn, fmt.Sprintf("%d of %d are behind or away", behind, info.Config.Replicas), "look at the servers of the cluster"
	case info.Config.Replicas == 1:
		f.Level, f.Text = LevelWarn, "one only, in a cluster: with its server the data is gone"
		f.Do = fmt.Sprintf("keep three with `nats stream edit %s --replicas 3`", name)
	}
	return []Finding{f}
}

// checkClock compares the server's clock with ours, half a round trip before it answered.
func (c *Conn) checkClock(ctx context.Context) Finding {
	f := Finding{Name: "clock", Level: LevelOK}
	stream, err := c.JetStream().Stream(ctx, c.Names().Stream(wire.StreamLog))
	if err != nil {
		f.Level, f.Text = LevelWarn, "cannot be compared without the stream of the log"
		return f
	}
	begin := time.Now()
	info, err := stream.Info(ctx)
	if err != nil {
		return failed(f.Name, err, "")
	}
	took := time.Since(begin)
	skew := info.TimeStamp.Sub(begin.Add(took / 2))
	f.Text = fmt.Sprintf("the server is %s ahead, give or take %s", skew.Round(time.Millisecond), (took / 2).Round(time.Millisecond))
	if skew = skew.Abs() - took/2; skew > skewWarn {
		f.Level, f.Do = LevelWarn, "synchronize the clocks (NTP): deadlines and times to live compare them"
		if skew > skewFail {
			f.Level = LevelFail
		}
	}
	return f
}

func (c *Conn) checkPending(ctx context.Context) Finding {
	f := Finding{Name: "effects", Level: LevelOK, Text: "none pending"}
	pending, err := c.PendingEffects(ctx)
	if err != nil {
		return failed(f.Name, err, "")
	}
	var n uint64
	var idle []string
	for _, p := range pending {
		n += p.Messages
		if !p.Listening {
			idle = append(idle, fmt.Sprintf("%s (%d)", p.Family, p.Messages))
		}
	}
	if n > 0 {
		f.Text = fmt.Sprintf("%d pending", n)
	}
	if len(idle) > 0 {
		f.Level, f.Text = LevelWarn, "pending, and nobody performs them: "+strings.Join(idle, ", ")
		f.Do = "start a node that executes these kinds"
	}
	return f
}

func (c *Conn) checkDead(ctx context.Context) Finding {
	f := Finding{Name: "dead letters", Level: LevelOK, Text: "none"}
	stream, err := c.JetStream().Stream(ctx, c.Names().Stream(wire.StreamDead))
	if err != nil {
		return failed(f.Name, err, "")
	}
	if n := stream.CachedInfo().State.Msgs; n > 0 {
		f.Level, f.Text, f.Do = LevelWarn, fmt.Sprintf("%d", n), "look at them with `skelegent dead ls`"
	}
	return f
}
