package tool_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

type user struct{ name string }

type namer interface{ Name() string }

func (u user) Name() string { return u.name }

func TestDependenciesOfACall(t *testing.T) {
	t.Parallel()
	x := tool.Func("who", "", func(ctx context.Context, _ struct{}) (string, error) {
		u, ok := tool.Dep[user](ctx)
		n, named := tool.Dep[namer](ctx)
		if !ok {
			return "nobody", nil
		}
		if named {
			return u.name + " " + n.Name(), nil
		}
		return u.name, nil
	})
	ctx := t.Context()
	check := func(ctx context.Context, want string) {
		t.Helper()
		if res, err := tool.Call(ctx, x, nil); err != nil || res.Text() != want {
			t.Errorf("got %s, %v, want %s", res.Text(), err, want)
		}
	}
	check(ctx, "nobody")
	ann := tool.Provide(ctx, user{"ann"})
	check(ann, "ann")
	check(tool.Provide(ann, user{"bob"}), "bob") // the inner one counts
	check(tool.Provide[namer](ann, user{"eve"}), "ann eve")
	check(ann, "ann")
}

func TestCallFrom(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(tool.CallInfo{}, tool.CallFrom(context.Background())); d != "" {
		t.Error(d)
	}
	soon, late := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	session := protocol.SessionID("s1")
	want := tool.CallInfo{Operator: "op", Run: "r1", Instance: "s1", Session: &session, IdempotencyKey: "r1/1", Deadline: soon}
	for name, c := range map[string]struct{ invocation, context time.Time }{
		"of who waits": {soon, late}, "of the context": {late, soon}, "only of who waits": {soon, time.Time{}}, "only of the context": {time.Time{}, soon},
	} {
		ctx := t.Context()
		if !c.context.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, c.context)
			defer cancel()
		}
		ctx = protocol.WithInvocation(ctx, &protocol.Invocation{
			Call: protocol.Call{Run: "r1"}, Operator: "op", Instance: "s1", Deadline: c.invocation,
		})
		ctx = tool.WithRun(ctx, tool.Run{Session: &session, IdempotencyKey: "r1/1"})
		if d := cmp.Diff(want, tool.CallFrom(ctx)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
