package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// demoStory is a client of the world, and the hand that kills the worker.
type demoStory struct {
	cfg    demoConfig
	out    *output
	world  *demoWorld
	client *bus.Conn
	reader *inspect.Reader
	worker *demoWorker // the one that runs, or ran last; nil before the first

	begun    time.Time
	answers  chan *nats.Msg
	accepted task.Accepted
	// What happened on the way, for the verdict.
	approved []string  // calls that a person was asked about
	open     int       // tasks in the queue while the run waited
	killed   time.Time // zero if it did not come to that
	wentOn   time.Duration
	output   protocol.OperatorOutput
}

func newDemoStory(world *demoWorld, client *bus.Conn, cfg demoConfig, out *output) *demoStory {
	return &demoStory{
		cfg: cfg, out: out, world: world, client: client, reader: inspect.New(client),
		begun: time.Now(), answers: make(chan *nats.Msg, 16),
	}
}

// say prints a line, unless what is printed is JSON.
func (s *demoStory) say(format string, args ...any) {
	if !s.cfg.json {
		s.out.print(s.out.text(fmt.Sprintf(format, args...)) + "\n")
	}
}

// tell goes through the story and returns what came of it. What the world has no place for, such as a worker that does not
// start, is an error; what is only not as it should be is in the verdict.
func (s *demoStory) tell(ctx context.Context) (*demoVerdict, error) {
	s.say("1. The world outside, which is this process: a NATS server at %s,", s.world.server.URL())
	s.say("   a model that keeps a bill, and an executor that sends mails.")
	for _, step := range []func(context.Context) error{s.host, s.submit, s.approve, s.crash, s.goOn, s.finish} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s.judge(ctx)
}

// host starts a worker. A second one has the same directory, and so is the same node.
func (s *demoStory) host(ctx context.Context) error {
	dir := s.world.dir
	what := []string{"--name", "worker", "-f", filepath.Join(dir, defaultManifest), "--data", filepath.Join(dir, demoWorkers)}
	where := []string{"--nats", s.world.server.URL(), "--nkey", filepath.Join(dir, defaultData, embed.NodeKeyFile)}
	first := s.worker == nil
	worker, err := startDemoWorker(ctx, s.cfg.program, filepath.Join(dir, demoLog), slices.Concat(what, where)...)
	if err != nil {
		return err
	}
	s.worker = worker
	if first {
		s.say("\n2. A worker, process %d, hosts the agent and its tools (DIR is %s):", worker.pid(), dir)
		s.say("   skelegent up %s", shorten(what, dir))
		s.say("                %s", shorten(where, dir))
		s.say("   %s", worker.said)
	}
	return nil
}

// shorten puts a name in place of a directory, for lines that people read.
func shorten(args []string, dir string) string {
	return strings.ReplaceAll(strings.Join(args, " "), dir, "DIR")
}

// submit sends the task.
func (s *demoStory) submit(ctx context.Context) error {
	nc := s.client.NATS()
	inbox := nc.NewInbox()
	_, err := nc.Subscribe(inbox, func(m *nats.Msg) {
		select {
		case s.answers <- m:
		default: // the first ones count
		}
		s.world.changed()
	})
	if err == nil {
		_, err = nc.Subscribe(s.client.Names().All("event"), func(*nats.Msg) { s.world.changed() })
	}
	if err != nil {
		return bus.Translate("subscribe", err) // it ends with the connection
	}
	s.accepted, err = task.New(s.client).Submit(ctx, "assistant", protocol.Text(demoQuestion).WithSession(demoSession), task.Submission{
		Inboxes: []string{inbox},
	})
	if err != nil {
		return err
	}
	s.say("\n3. A client sends a task on skg.task.assistant: %q", demoQuestion)
	s.say("   Accepted: it is %s, and will be done whatever happens to the worker.", s.accepted.Workflow)
	return nil
}

// approve waits for the run's question and answers it. A run that has none is one that the verdict tells of.
func (s *demoStory) approve(ctx context.Context) error {
	var result inspect.Result
	err := s.world.until(ctx, s.worker, "the run asks for approval", func(ctx context.Context) (_ bool, err error) {
		result, err = s.reader.Result(ctx, s.accepted.Workflow, s.accepted.Run)
		asks := result.State == inspect.StateSuspended && result.Wait.Approval != nil
		return asks || result.State.Ended() || s.world.model.holds(), err
	})
	if err != nil || result.State != inspect.StateSuspended {
		return err
	}
	if err := s.question(ctx); err != nil {
		return err
	}
	err = s.world.until(ctx, s.worker, "the run holds nothing while it waits", func(ctx context.Context) (_ bool, err error) {
		s.open, err = s.world.openTasks(ctx)
		return s.open == 0, err
	})
	if err != nil {
		return err
	}
	s.say("   Now it holds nothing: no goroutine, no lease, and %d open tasks in the queue.", s.open)
	said, err := s.command(ctx, "approve", string(s.accepted.Workflow))
	s.say("   A person says yes: skelegent approve %s   (%s)", s.accepted.Workflow, said)
	return err
}

// question asks the worker what the run waits for.
func (s *demoStory) question(ctx context.Context) error {
	raw, err := bus.NewDispatcher(s.client).Query(ctx, s.accepted.Workflow, protocol.QueryPayload{QueryType: run.QueryPending})
	if err != nil {
		return err
	}
	var pending run.Pending
	if err := json.Unmarshal(raw, &pending); err != nil || pending.Approval == nil {
		return errors.Join(fmt.Errorf("demo: the query %s says nothing of an approval", run.QueryPending), err)
	}
	s.say("\n4. The model wants to look at the clock and to order. Orders need a person, so the run is suspended:")
	for _, p := range pending.Approval.Pending {
		s.approved = append(s.approved, p.ToolName)
		s.say("   %s %s", p.ToolName, compact(p.ToolInput))
	}
	return nil
}

// command runs a command of this program and returns what it said.
func (s *demoStory) command(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	a := newApp(&out, &errs, strings.NewReader(""), func(string) string { return "" })
	if code := execute(ctx, a.root(), append([]string{"--nats", s.world.server.URL()}, args...)); code != exitDone {
		return "", fmt.Errorf("demo: skelegent %s: %s", args[0], oneLine(errs.String()))
	}
	return oneLine(out.String()), nil
}

// ended reports whether the run has answered.
func (s *demoStory) ended() bool { return len(s.answers) > 0 }

// crash kills the worker while the model is asked.
func (s *demoStory) crash(ctx context.Context) error {
	err := s.world.until(ctx, s.worker, fmt.Sprintf("the model is asked for turn %d", demoHeld), func(context.Context) (bool, error) {
		return s.world.model.holds() || s.ended(), nil
	})
	if err != nil || !s.world.model.holds() {
		return err
	}
	s.killed = time.Now()
	pid := s.worker.pid()
	s.worker.kill()
	s.say("\n5. The order is placed, and the model is asked for turn %d. It thinks, it is already paid, and then:", demoHeld)
	s.say("   kill -9 %d", pid)
	return nil
}

// goOn starts another worker and waits for its first model call.
func (s *demoStory) goOn(ctx context.Context) error {
	if s.killed.IsZero() {
		return nil
	}
	if err := s.host(ctx); err != nil {
		return err
	}
	var next demoCall
	err := s.world.until(ctx, s.worker, "the model is asked again", func(context.Context) (bool, error) {
		bill := s.world.model.bill()
		i := slices.IndexFunc(bill, func(c demoCall) bool { return c.at.After(s.killed) })
		if i >= 0 {
			next = bill[i]
		}
		return i >= 0 || s.ended(), nil
	})
	if err != nil {
		return err
	}
	s.wentOn = next.at.Sub(s.killed)
	s.say("\n6. A new worker, process %d, takes the run back. It asks the model for turn %d, %d ms after the kill.",
		s.worker.pid(), next.turn, s.wentOn.Milliseconds())
	s.say("   What was recorded before comes from the log: it is neither paid nor done again.")
	return nil
}

// finish waits for the answer and the effects.
func (s *demoStory) finish(ctx context.Context) error {
	if err := s.world.until(ctx, s.worker, "the answer", func(context.Context) (bool, error) { return s.ended(), nil }); err != nil {
		return err
	}
	var err error
	if s.output, err = bus.DecodeReply(<-s.answers); err != nil {
		return fmt.Errorf("demo: the run has no answer: %w", err)
	}
	text, _ := s.output.Message.AsText()
	s.say("\n7. The answer, in the client's inbox: %q", text)
	return s.world.until(ctx, s.worker, "the effects are performed", func(ctx context.Context) (bool, error) {
		tree, err := s.tree(ctx)
		return err == nil && settled(tree), err
	})
}

func (s *demoStory) tree(ctx context.Context) (*inspect.Tree, error) {
	return s.reader.Tree(ctx, s.accepted.Workflow, s.accepted.Run, inspect.TreeConfig{Depth: showDepth})
}

// settled reports whether all effects of a run and its children have an outcome.
func settled(t *inspect.Tree) bool {
	if slices.ContainsFunc(t.Effects, func(e inspect.Effect) bool { return e.Status == inspect.OutcomePending }) {
		return false
	}
	return !slices.ContainsFunc(t.Steps, func(step inspect.Step) bool { return step.Child != nil && !settled(step.Child) })
}
