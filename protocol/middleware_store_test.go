package protocol_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// store keeps values of the global scope; it is not for concurrent use.
type store struct {
	values  map[string]string
	deletes int
}

func (s *store) Read(_ context.Context, _ protocol.Scope, key string) (json.RawMessage, error) {
	if v, ok := s.values[key]; ok {
		return json.RawMessage(v), nil
	}
	return nil, nil
}

func (s *store) Write(_ context.Context, _ protocol.Scope, key string, value json.RawMessage, _ protocol.StoreOptions) error {
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[key] = string(value)
	return nil
}

func (s *store) Delete(context.Context, protocol.Scope, string) error {
	s.deletes++
	return nil
}

func (s *store) List(context.Context, protocol.Scope, string) ([]string, error) {
	return []string{"listed"}, nil
}

func (s *store) Search(context.Context, protocol.Scope, string, int) ([]protocol.SearchResult, error) {
	return []protocol.SearchResult{{Key: "found"}}, nil
}

type graphStore struct {
	*store
	links int
}

func (g *graphStore) Link(context.Context, protocol.Scope, protocol.MemoryLink) error {
	g.links++
	return nil
}

func (g *graphStore) Unlink(context.Context, protocol.Scope, string, string, string) error {
	return nil
}

func (g *graphStore) Traverse(context.Context, protocol.Scope, string, string, int) ([]string, error) {
	return nil, nil
}

func TestD2StoreObserverSeesAWrite(t *testing.T) {
	t.Parallel()
	var keys []string
	look := protocol.StoreWriteFunc(func(ctx context.Context, sc protocol.Scope, key string, v json.RawMessage, o protocol.StoreOptions, next protocol.StoreWriteNext) error {
		keys = append(keys, key+"="+string(v))
		return next(ctx, sc, key, v, o)
	})
	inner := &store{}
	st := protocol.NewStoreStack().Observe(look).Build().Wrap(inner)
	if err := st.Write(t.Context(), protocol.GlobalScope(), "k", json.RawMessage(`1`), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 1 || keys[0] != "k=1" || inner.values["k"] != "1" {
		t.Errorf("saw %q, stored %q", keys, inner.values)
	}
	if v, err := st.Read(t.Context(), protocol.GlobalScope(), "k"); err != nil || string(v) != "1" {
		t.Errorf("read %s, error %v", v, err)
	}
}

func TestD2StoreGuardKeepsTheStoreEmpty(t *testing.T) {
	t.Parallel()
	refuse := protocol.StoreWriteFunc(func(context.Context, protocol.Scope, string, json.RawMessage, protocol.StoreOptions, protocol.StoreWriteNext) error {
		return protocol.ErrPolicyDenied("read only")
	})
	inner := &store{}
	st := protocol.NewStoreStack().Guard(refuse).Build().Wrap(inner)
	if err := st.Write(t.Context(), protocol.GlobalScope(), "k", nil, protocol.StoreOptions{}); err == nil || len(inner.values) != 0 {
		t.Errorf("stored %q, error %v", inner.values, err)
	}
}

func TestD2StoreTransformerAndLifetimeGuard(t *testing.T) {
	t.Parallel()
	wrap := protocol.StoreWriteFunc(func(ctx context.Context, sc protocol.Scope, key string, v json.RawMessage, o protocol.StoreOptions, next protocol.StoreWriteNext) error {
		return next(ctx, sc, "x-"+key, json.RawMessage(`[`+string(v)+`]`), o)
	})
	guard := protocol.StoreWriteFunc(func(ctx context.Context, sc protocol.Scope, key string, v json.RawMessage, o protocol.StoreOptions, next protocol.StoreWriteNext) error {
		if o.Lifetime != nil && *o.Lifetime == protocol.LifetimeTransient {
			return nil
		}
		return next(ctx, sc, key, v, o)
	})
	inner := &store{}
	st := protocol.NewStoreStack().Guard(guard).Transform(wrap).Build().Wrap(inner)
	transient, durable := protocol.LifetimeTransient, protocol.LifetimeDurable
	for key, o := range map[string]protocol.StoreOptions{"t": {Lifetime: &transient}, "d": {Lifetime: &durable}, "n": {}} {
		if err := st.Write(t.Context(), protocol.GlobalScope(), key, json.RawMessage(`1`), o); err != nil {
			t.Fatal(err)
		}
	}
	if len(inner.values) != 2 || inner.values["x-d"] != "[1]" || inner.values["x-n"] != "[1]" {
		t.Errorf("stored %q", inner.values)
	}
}

func TestStoreReadMiddlewareAndPassThrough(t *testing.T) {
	t.Parallel()
	other := protocol.StoreReadFunc(func(ctx context.Context, sc protocol.Scope, key string, next protocol.StoreReadNext) (json.RawMessage, error) {
		return next(ctx, sc, "x-"+key)
	})
	inner := &graphStore{store: &store{values: map[string]string{"x-k": `"v"`}}}
	st := protocol.NewStoreStack().Transform(other).Build().Wrap(inner)
	ctx, all := t.Context(), protocol.GlobalScope()
	if v, err := st.Read(ctx, all, "k"); err != nil || string(v) != `"v"` {
		t.Errorf("read %s, error %v", v, err)
	}
	if err := st.Write(ctx, all, "w", json.RawMessage(`1`), protocol.StoreOptions{}); err != nil || inner.values["w"] != "1" {
		t.Errorf("write: %v", err)
	}
	keys, _ := st.List(ctx, all, "")
	found, _ := st.Search(ctx, all, "q", 1)
	if err := st.Delete(ctx, all, "k"); err != nil || inner.deletes != 1 || keys[0] != "listed" || found[0].Key != "found" {
		t.Errorf("deletes %d, list %q, found %v", inner.deletes, keys, found)
	}
	g, ok := st.(protocol.Graph)
	if !ok || g.Link(ctx, all, protocol.MemoryLink{}) != nil || inner.links != 1 {
		t.Error("the graph is hidden")
	}
	if _, ok := protocol.NewStoreStack().Transform(other).Build().Wrap(inner.store).(protocol.Graph); ok {
		t.Error("a graph out of nothing")
	}
}

type environment struct{ runs int }

func (e *environment) Run(_ context.Context, in protocol.OperatorInput, spec protocol.EnvironmentSpec) (protocol.OperatorOutput, error) {
	e.runs += len(spec.Isolation)
	return protocol.OperatorOutput{Message: in.Message}, nil
}

func TestD2ExecStackPassesThrough(t *testing.T) {
	t.Parallel()
	wall := protocol.ExecMiddlewareFunc(func(ctx context.Context, in protocol.OperatorInput, spec protocol.EnvironmentSpec, next protocol.ExecNext) (protocol.OperatorOutput, error) {
		spec.Isolation = append(spec.Isolation, protocol.ProcessIsolation{})
		return next(ctx, in, spec)
	})
	env := &environment{}
	out, err := protocol.NewExecStack().Transform(wall, wall).Build().Wrap(env).Run(t.Context(), protocol.Text("hi"), protocol.EnvironmentSpec{})
	if text, _ := out.Message.AsText(); err != nil || text != "hi" || env.runs != 2 {
		t.Errorf("got %q, walls %d, error %v", text, env.runs, err)
	}
	refuse := protocol.ExecMiddlewareFunc(func(context.Context, protocol.OperatorInput, protocol.EnvironmentSpec, protocol.ExecNext) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, protocol.ErrIsolation("no")
	})
	if _, err := protocol.NewExecStack().Guard(refuse).Build().Wrap(env).Run(t.Context(), protocol.Text("hi"), protocol.EnvironmentSpec{}); err == nil || env.runs != 2 {
		t.Errorf("walls %d, error %v", env.runs, err)
	}
}
