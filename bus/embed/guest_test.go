package embed_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestGuestPermissions tries each thing over TCP, on a connection of its own. The server answers in order,
// so after a flush the connection knows of a violation.
func TestGuestPermissions(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j := topology(t, s)
	const (
		publish   = "publish"
		subscribe = "subscribe"
	)
	cases := []struct {
		verb, subject string
		allowed       bool
	}{
		{publish, "skg.op.echo", true},
		{publish, "skg.task.echo", true},
		{publish, "skg.signal.echo.i1.steer", true},
		{publish, "skg.query.echo.i1.status", true},
		{publish, "$SRV.PING", true},
		{publish, "$SRV.INFO.echo", true},
		{publish, "$JS.API.INFO", true},
		{publish, "$JS.API.STREAM.NAMES", true},
		{publish, "$JS.API.STREAM.LIST", true},
		{publish, "$JS.API.STREAM.INFO.SKG_TASKS", true},
		{publish, "$JS.API.STREAM.MSG.GET.SKG_TASKS", true},
		{publish, "$JS.API.STREAM.INFO.SKG_TIMERS", true},
		{publish, "$JS.API.STREAM.MSG.GET.SKG_TIMERS", true},
		{publish, "$JS.API.DIRECT.GET.SKG_LOG", true},
		{publish, "$JS.API.DIRECT.GET.KV_SKG_STATE.$KV.SKG_STATE.global.colour", true},
		{publish, "$JS.API.CONSUMER.NAMES.SKG_TASKS", true},
		{publish, "$JS.API.CONSUMER.LIST.SKG_TASKS", true},
		{publish, "$JS.API.CONSUMER.INFO.SKG_TASKS.echo", true},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_LOG", true},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_LOG.c1", true},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_LOG.c1.skg.log.echo.>", true},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_DEAD.c1", true},
		{publish, "$JS.API.CONSUMER.CREATE.KV_SKG_STATE.c1", true},
		{publish, "$JS.API.CONSUMER.CREATE.OBJ_SKG_BLOBS.c1", true},
		{publish, "$JS.API.CONSUMER.MSG.NEXT.SKG_LOG.c1", true},
		{publish, "$JS.API.CONSUMER.DELETE.SKG_LOG.c1", true},
		{publish, "$JS.ACK.SKG_LOG.c1.1.1.1.1.0", true},
		{publish, "$JS.FC.SKG_LOG.c1.x", true},
		{subscribe, "skg.event.>", true},
		{subscribe, "skg.event.log.echo", true},
		{subscribe, "skg.live.echo.>", true},
		{subscribe, "_INBOX.mine.>", true},

		{publish, "skg.log.echo.i1.run", false},
		{publish, "skg.log.echo.i1.done.log", false},
		{publish, "skg.wake.echo.i1.timer", false},
		{publish, "skg.wake.echo.i1.sig.cancel", false},
		{publish, "skg.wake.echo.i1.child", false},
		{publish, "skg.timer.x", false},
		{publish, "skg.timer.wake.echo.i1.sleep", false},
		{publish, "skg.timer.task.echo.daily", false},
		{publish, "skg.due.wake.echo.i1", false},
		{publish, "skg.due.task.echo", false},
		{publish, "skg.task.echo.more", false},
		{publish, "skg.effect.log.echo.i1", false},
		{publish, "skg.dead.echo", false},
		{publish, "skg.event.echo.i1.run", false},
		{publish, "skg.live.echo.i1.delta", false},
		{publish, "$KV.SKG_STATE.global.colour", false},
		{publish, "$O.SKG_BLOBS.M.x", false},
		{publish, "$O.SKG_BLOBS.C.x", false},
		{publish, "_INBOX.other.1", false},
		{publish, "_INBOX_NODE.other.1", false},
		{publish, "other.subject", false},
		{publish, "$JS.API.STREAM.CREATE.EVIL", false},
		{publish, "$JS.API.STREAM.UPDATE.SKG_LOG", false},
		{publish, "$JS.API.STREAM.PURGE.SKG_LOG", false},
		{publish, "$JS.API.STREAM.PURGE.SKG_TASKS", false},
		{publish, "$JS.API.STREAM.PURGE.SKG_TIMERS", false},
		{publish, "$JS.API.STREAM.MSG.DELETE.SKG_TIMERS", false},
		{publish, "$JS.API.STREAM.DELETE.SKG_LOG", false},
		{publish, "$JS.API.STREAM.MSG.DELETE.SKG_LOG", false},
		{publish, "$JS.API.STREAM.SNAPSHOT.SKG_LOG", false},
		{publish, "$JS.API.STREAM.RESTORE.SKG_LOG", false},
		{publish, "$JS.API.STREAM.LEADER.STEPDOWN.SKG_LOG", false},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_TASKS", false},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_TASKS.c1", false},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_EFFECTS.c1", false},
		{publish, "$JS.API.CONSUMER.CREATE.SKG_TIMERS.c1", false},
		{publish, "$JS.API.CONSUMER.DURABLE.CREATE.SKG_TASKS.c1", false},
		{publish, "$JS.API.CONSUMER.DURABLE.CREATE.SKG_LOG.c1", false},
		{publish, "$JS.API.CONSUMER.MSG.NEXT.SKG_TASKS.echo", false},
		{publish, "$JS.API.CONSUMER.MSG.NEXT.SKG_EFFECTS.log", false},
		{publish, "$JS.API.CONSUMER.DELETE.SKG_TASKS.echo", false},
		{publish, "$JS.API.CONSUMER.PAUSE.SKG_TASKS.echo", false},
		{publish, "$JS.API.CONSUMER.RESET.SKG_LOG.c1", false},
		{publish, "$JS.API.CONSUMER.UNPIN.SKG_TASKS.echo", false},
		{publish, "$JS.ACK.SKG_TASKS.echo.1.1.1.1.0", false},
		{publish, "$JS.ACK._.hash.SKG_TASKS.echo.1.1.1.1.0", false},
		{publish, "$JS.ACK.SKG_LOG.hash.SKG_TASKS.echo.1.1.1.1.0", false},
		{publish, "$SYS.REQ.SERVER.PING", false},
		{publish, "$SYS.REQ.ACCOUNT.PING.CONNZ", false},
		{subscribe, ">", false},
		{subscribe, "skg.>", false},
		{subscribe, "skg.op.echo", false},
		{subscribe, "skg.task.echo", false},
		{subscribe, "skg.log.>", false},
		{subscribe, "skg.query.>", false},
		{subscribe, "$SRV.PING", false},
		{subscribe, "$SYS.>", false},
		{subscribe, "$JS.>", false},
		{subscribe, "$JS.EVENT.ADVISORY.>", false},
		{subscribe, "$KV.>", false},
		{subscribe, "_INBOX_NODE.>", false},
		{subscribe, "*.>", false},
	}
	before := messages(t, j)
	before["SKG_LOG"]++       // the one signal
	before["SKG_TASKS"] += 2  // its wake and the one task
	for _, c := range cases { //nolint:paralleltest // the streams are compared after all of them
		t.Run(c.verb+" "+c.subject, func(t *testing.T) {
			nc := guest(t, s)
			var err error
			if c.verb == publish {
				err = nc.Publish(c.subject, nil)
			} else {
				_, err = nc.SubscribeSync(c.subject)
			}
			if err := errors.Join(err, nc.Flush()); err != nil {
				t.Fatal(err)
			}
			last := nc.LastError()
			if got := !errors.Is(last, nats.ErrPermissionViolation); got != c.allowed {
				t.Errorf("allowed: got %v, want %v (last error: %v)", got, c.allowed, last)
			}
		})
	}
	becomes(t, j, before)
}

func TestGuestCannotTakeWorkAway(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j := topology(t, s)
	ctx := testContext(t)
	work, err := j.CreateConsumer(ctx, "SKG_TASKS", consumerConfig("echo", "skg.task.echo"))
	if err != nil {
		t.Fatal(err)
	}
	msg, err := work.Next()
	if err != nil {
		t.Fatal(err)
	}
	nc := guest(t, s)
	for _, body := range []string{"+ACK", "+TERM", "-NAK", "+NXT"} {
		if err := nc.Publish(msg.Reply(), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	g := js(t, nc)
	short, cancel := shortContext(t)
	defer cancel()
	if err := g.DeleteConsumer(short, "SKG_TASKS", "echo"); err == nil {
		t.Error("a guest deleted a node's consumer")
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	info, err := work.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info.NumAckPending != 1 || info.NumRedelivered != 0 || messages(t, j)["SKG_TASKS"] != 1 {
		t.Errorf("the task was touched: %+v", info)
	}
	if err := msg.DoubleAck(ctx); err != nil {
		t.Errorf("the node's own acknowledgement: %v", err)
	}
	if n := messages(t, j)["SKG_TASKS"]; n != 0 {
		t.Errorf("tasks left: got %d, want 0", n)
	}
}
