//go:build unix

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

const (
	taskWait   = 3 * time.Second // after which another node goes on with what a node does that is gone
	drainFor   = 10 * time.Second
	sleepFor   = 1200 * time.Millisecond
	holdFor    = taskWait
	goOn       = "go" // the signal that some turns wait for
	chat       = "chat"
	helper     = "helper"
	mailEffect = "mail"
	// attempts is far above what a run may need by bad luck: that it gives up some time is not what is tested here.
	attempts = 100
)

// kind is what a turn does between its two steps.
type kind string

const (
	plain kind = "plain"
	sleep kind = "sleep" // for longer than a run stays in memory
	await kind = "await" // a signal that is sent when the run is seen to wait
	early kind = "early" // a signal that is sent when the run is submitted
	quick kind = "quick" // calls a child
	slow  kind = "slow"  // calls a child that sleeps: so the run is suspended for it
	hold  kind = "hold"  // takes its time, and tells nobody: no step, no wait
)

// turn is what a task says, answer what it is answered.
type (
	turn struct {
		Session string `json:"session"`
		Number  int    `json:"number"`
		Kind    kind   `json:"kind"`
	}
	answer struct {
		turn

		// Saw are the numbers of the turns before, as the history has them.
		Saw []int `json:"saw"`
	}
	// receipt is what a step returns: the log tells by it which of several payments counts.
	receipt struct {
		Payment string `json:"payment"`
	}
)

// host is the role node: it hosts the operators and performs effects until it is killed, or told to leave.
func host() error {
	out, err := openOutside(os.Getenv(envDir), os.Getenv(envSlot))
	if err != nil {
		return err
	}
	go out.watch()
	replicas, err := strconv.Atoi(os.Getenv(envReplicas))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := childLogger()
	conn, err := bus.Connect(ctx, bus.ConnectConfig{URL: os.Getenv(envURLs), Name: out.slot, Logger: log})
	if err != nil {
		return err
	}
	n, err := actors.NewNode(conn, actors.Config{
		Name: out.slot, ID: out.slot, Topology: bus.Topology{Replicas: replicas}, WithoutEffects: true,
		TaskWait: taskWait, AckWait: taskWait, Logger: log,
	})
	if err != nil {
		return err
	}
	w := &worker{outside: out}
	if err := n.Register(chat, protocol.OperatorFunc(w.chat), actors.Durable(), actors.Attempts(attempts)); err != nil {
		return err
	}
	if err := n.Register(helper, protocol.OperatorFunc(w.help), actors.Durable(), actors.Attempts(attempts)); err != nil {
		return err
	}
	if err := n.RegisterEffect(mailEffect, effect.Func(w.mail), effect.Options{}); err != nil {
		return err
	}
	if err := n.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it was told to leave while it started
		}
		return err
	}
	<-ctx.Done()
	bye, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	if err := n.Stop(bye); err != nil {
		return err
	}
	return conn.Close(bye)
}

// worker is the code that a node hosts.
type worker struct{ outside *outside }

// pay is a step that costs something and takes a while, as a model call does.
func (w *worker) pay(ctx context.Context, name string) error {
	info, _ := step.InfoFrom(ctx)
	_, err := actors.Step(ctx, name, func(ctx context.Context) (receipt, error) {
		r := receipt{Payment: w.outside.id()}
		if err := w.outside.note(line{What: linePaid, Run: info.Run, Step: name, ID: r.Payment}); err != nil {
			return r, err
		}
		return r, pause(ctx, 20*time.Millisecond+rand.N(180*time.Millisecond))
	})
	return err
}

// The steps, by operator.
const (
	stepModel, stepNote = "model", "note" // chat
	stepHelp            = "help"          // helper
)

func (w *worker) chat(ctx context.Context, in protocol.OperatorInput) (out protocol.OperatorOutput, err error) {
	t, err := read[turn](in.Message)
	if err != nil {
		return out, err
	}
	a := answer{turn: t, Saw: []int{}}
	info, _ := step.InfoFrom(ctx)
	for _, before := range info.History {
		var said protocol.Content
		if err := json.Unmarshal(before.Out, &said); err != nil {
			return out, err
		}
		got, err := read[answer](said)
		if err != nil {
			return out, err
		}
		a.Saw = append(a.Saw, got.Number)
	}
	if err := w.pay(ctx, stepModel); err != nil {
		return out, err
	}
	if err := between(ctx, t); err != nil {
		return out, err
	}
	if err := w.pay(ctx, stepNote); err != nil {
		return out, err
	}
	out = protocol.Reply(text(a))
	data, err := protocol.Marshal(mail{Session: t.Session, Number: t.Number})
	out.Effects = protocol.Effects{protocol.CustomEffect{EffectType: mailEffect, Data: data}}
	return out, err
}

// between is what a turn does between its steps.
func between(ctx context.Context, t turn) error {
	switch t.Kind {
	case sleep:
		return actors.Sleep(ctx, sleepFor)
	case await, early:
		_, err := actors.Await[string](ctx, goOn)
		return err
	case quick, slow:
		out, err := actors.Call(ctx, "ask", helper, protocol.Text(text(t)))
		if err != nil {
			return err
		}
		if got, err := read[turn](out.Message); err != nil || got != t {
			return fmt.Errorf("the child of %v answered %v: %w", t, got, err)
		}
	case hold:
		return pause(ctx, holdFor)
	case plain:
	}
	return nil
}

func (w *worker) help(ctx context.Context, in protocol.OperatorInput) (out protocol.OperatorOutput, err error) {
	t, err := read[turn](in.Message)
	if err != nil {
		return out, err
	}
	if t.Kind == slow {
		if err := actors.Sleep(ctx, sleepFor); err != nil {
			return out, err
		}
	}
	return protocol.Reply(text(t)), w.pay(ctx, stepHelp)
}

// mail performs an effect. It has no memory: done twice, it would be two mails.
func (w *worker) mail(ctx context.Context, r effect.Request) error {
	var m mail
	if err := json.Unmarshal(r.Effect.(protocol.CustomEffect).Data, &m); err != nil {
		return err
	}
	takes := 5*time.Millisecond + rand.N(15*time.Millisecond)
	if m.Hold {
		takes = holdFor
	}
	if err := pause(ctx, takes); err != nil {
		return err
	}
	return w.outside.note(line{What: lineMail, Run: r.Run, ID: r.ID, Mail: &m})
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// text is v as what is said, read what was said.
func text(v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(body)
}

func read[T any](said protocol.Content) (v T, err error) {
	words, _ := said.AsText()
	return v, json.Unmarshal([]byte(words), &v)
}
