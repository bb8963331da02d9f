package pattern_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// cluster is a server, and a node with these operators on it.
func cluster(t *testing.T, register func(*actors.Node, protocol.Dispatcher) error) (context.Context, *bus.Dispatcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	cleanup(t, "server", s.Stop)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cleanup(t, "connection", conn.Close)
	n, err := actors.NewNode(conn, actors.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cleanup(t, "node", n.Stop)
	d := bus.NewDispatcher(conn)
	if err := register(n, d); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx, d
}

func cleanup(t *testing.T, what string, stop func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Errorf("stop %s: %v", what, err)
		}
	})
}

// Patterns of patterns, on a node, durable and not: what comes of them is the same.
func TestPatternsOnANode(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	counted := func(m member) protocol.Operator {
		return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			made.Add(1)
			return m(ctx, in)
		})
	}
	ctx, d := cluster(t, func(n *actors.Node, d protocol.Dispatcher) error {
		for _, kind := range []struct {
			suffix string
			opts   []actors.Option
		}{{"", nil}, {"-durable", []actors.Option{actors.Durable()}}} {
			id := func(s string) protocol.OperatorID { return protocol.OperatorID(s + kind.suffix) }
			for name, op := range map[string]protocol.Operator{
				"a": counted(adding("a", "0.1")), "b": counted(adding("b", "0.2")), "f": counted(failing(protocol.ErrToolFailed("broken"))),
				"both":  pattern.Parallel(d, id("a"), id("b")),
				"chain": pattern.Sequential(d, id("a"), id("both"), id("b")),
				"loss":  pattern.Parallel(d, id("f"), id("a")),
			} {
				if err := n.Register(id(name), op, kind.opts...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, suffix := range []string{"", "-durable"} {
		made.Store(0)
		out, err := d.Dispatch(ctx, protocol.OperatorID("chain"+suffix), protocol.Text("x"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "chain"+suffix, []string{"xaa\nxabb", "complete", "a, a, b, b", "0.6"},
			[]string{said(out), out.ExitReason.String(), effects(out), out.Metadata.Cost.Text()})
		same(t, "executions", int64(4), made.Load())
		out, err = d.Dispatch(ctx, protocol.OperatorID("loss"+suffix), protocol.Text("x"))
		if err != nil {
			t.Fatal(err)
		}
		if out.ExitReason.Kind() != protocol.ExitError || !strings.HasPrefix(said(out), "xa\nf"+suffix+": ") || !strings.Contains(said(out), "execution failed: broken") {
			t.Errorf("got %s %q", out.ExitReason, said(out))
		}
	}
}

// A durable run whose branches take long is suspended, and goes on from each of them.
func TestSlowBranchesOnANode(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var all sync.WaitGroup
	all.Add(3)
	var executions atomic.Int64
	slow := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		all.Done()
		select {
		case <-free:
			return protocol.Reply(text(in)), nil
		case <-ctx.Done():
			return protocol.OperatorOutput{}, ctx.Err()
		}
	})
	ctx, d := cluster(t, func(n *actors.Node, d protocol.Dispatcher) error {
		ids := []protocol.OperatorID{"s0", "s1", "s2"}
		for _, id := range ids {
			if err := n.Register(id, slow, actors.Durable()); err != nil {
				return err
			}
		}
		parallel := pattern.Parallel(d, ids...)
		return n.Register("all", protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out, err := parallel.Execute(ctx, in)
			if err != nil && executions.Add(1) == 1 {
				close(free) // the run is suspended while all three are under way
			}
			return out, err
		}), actors.Durable())
	})
	out, err := d.Dispatch(ctx, "all", protocol.Text("x"))
	if err != nil || said(out) != "x\nx\nx" || executions.Load() == 0 {
		t.Errorf("got %q, %v, suspended %d times", said(out), err, executions.Load())
	}
	all.Wait()
}

func TestD6Fact1Dispatch(t *testing.T) {
	t.Parallel()
	ctx, d := cluster(t, func(n *actors.Node, _ protocol.Dispatcher) error {
		return registerAll(n, map[protocol.OperatorID]member{
			"echo": echo, "broken": failing(protocol.ErrNonRetryable("the disk is full")),
		})
	})
	out, err := d.Dispatch(ctx, "echo", protocol.Text("same"))
	if err != nil || said(out) != "same" {
		t.Errorf("echo: got %q, %v", said(out), err)
	}
	_, err = d.Dispatch(ctx, "missing-agent", protocol.Text("x"))
	if e := protocol.AsError(err); e == nil || e.Kind != protocol.KindOrchOperatorNotFound || e.Message != "operator not found: missing-agent" {
		t.Errorf("unknown: got %v", err)
	}
	_, err = d.Dispatch(ctx, "broken", protocol.Text("x"))
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("failing: got %v", err)
	}
}

func TestD6Fact2DispatchMany(t *testing.T) {
	t.Parallel()
	ctx, d := cluster(t, func(n *actors.Node, _ protocol.Dispatcher) error {
		result := func(name string) member {
			return func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
				return protocol.Reply("Result from " + name), nil
			}
		}
		return registerAll(n, map[protocol.OperatorID]member{"a": result("A"), "b": result("B"), "echo": echo})
	})
	request := func(id protocol.OperatorID, says string) protocol.DispatchRequest {
		return protocol.DispatchRequest{Operator: id, Input: protocol.Text(says)}
	}
	for name, c := range map[string]struct {
		requests []protocol.DispatchRequest
		want     []string
	}{
		"two":   {[]protocol.DispatchRequest{request("echo", "1"), request("echo", "2")}, []string{"1", "2"}},
		"a gap": {[]protocol.DispatchRequest{request("echo", "1"), request("unknown", "2")}, []string{"1", "operator not found: unknown"}},
		"three": {
			[]protocol.DispatchRequest{request("a", "Task for A"), request("b", "Task for B"), request("echo", "Task for C")},
			[]string{"Result from A", "Result from B", "Task for C"},
		},
	} {
		var got []string
		for _, r := range d.DispatchMany(ctx, c.requests) {
			if r.Err != nil {
				got = append(got, r.Err.Error())
			} else {
				got = append(got, said(r.Output))
			}
		}
		same(t, name, c.want, got)
	}
}

func echo(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return protocol.OperatorOutput{Message: in.Message, ExitReason: protocol.Exit(protocol.ExitComplete)}, nil
}

func registerAll(n *actors.Node, members map[protocol.OperatorID]member) error {
	for id, m := range members {
		if err := n.Register(id, protocol.OperatorFunc(m)); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}
