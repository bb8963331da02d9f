package portable_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/portable"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func hostWith(t testing.TB, names ...string) *compose.Tools {
	t.Helper()
	host, err := compose.NewTools()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		x, err := tool.Raw(protocol.ToolMetadata{Name: name}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Output: json.RawMessage(`"` + name + `"`)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Register(x); err != nil {
			t.Fatal(err)
		}
	}
	return host
}

func invoke(t testing.TB, tools *compose.Tools, name, args string) string {
	t.Helper()
	r, err := tools.Invoke(t.Context(), name, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Output)
}

func TestLocalToolsAreTheHosts(t *testing.T) {
	t.Parallel()
	host := hostWith(t, "search", "fs.read", "delete")
	tools, err := parse(t, "tools: [{kind: local, name: search}, {kind: local, name: fs.read}]").Materialize(host, nil)
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(tools.Names(), " "); names != "fs.read search" || invoke(t, tools, "search", "{}") != `"search"` {
		t.Errorf("got %s", names)
	}
	if err := tools.Register(hostTool(t, hostWith(t, "other"), "other")); err != nil || host.Len() != 3 {
		t.Errorf("the host has %v, %v", host.Names(), err)
	}
}

func hostTool(t testing.TB, host *compose.Tools, name string) tool.Tool {
	t.Helper()
	x, err := host.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestAMissingHostToolIsNamed(t *testing.T) {
	t.Parallel()
	m := parse(t, "tools: [{kind: local, name: search}]")
	for name, host := range map[string]*compose.Tools{
		"none at all": nil, "not there": hostWith(t, "other"), "not authorised": hostWith(t, "search").Scoped("other"),
	} {
		_, err := m.Materialize(host, nil)
		var missing *portable.MissingHostTool
		if !errors.As(err, &missing) || missing.Name != "search" || compose.KindOf(err) != compose.KindToolFailed {
			t.Errorf("%s: got %v", name, err)
		}
		if e := protocol.AsError(err); e.Message != `tool invocation failed: the manifest needs the tool "search", which the host does not have` {
			t.Errorf("%s: got %s", name, e.Message)
		}
	}
}

func TestAnInProcessDelegateNeedsItsExecutor(t *testing.T) {
	t.Parallel()
	for _, delegates := range []*compose.Delegates{nil, {}} {
		_, err := parse(t, whole).Materialize(hostWith(t, "search"), delegates)
		var missing *portable.MissingDelegateExecutor
		if !errors.As(err, &missing) || missing.Key != "child" || compose.KindOf(err) != compose.KindToolFailed {
			t.Errorf("got %v", err)
		}
	}
}

func TestOtherDelegatesAreStubsThatSucceed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"stub", "remote", "mcp"} {
		tools, err := parse(t, "delegates: [{name: helper, description: Helps., agent: other, kind: "+kind+"}]").Materialize(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Status, Delegate, Hint string
			Args                   json.RawMessage
		}
		if err := json.Unmarshal([]byte(invoke(t, tools, "helper", `{"a":1}`)), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Status != "delegate_unwired" || answer.Delegate != "helper" || string(answer.Args) != `{"a":1}` || answer.Hint == "" {
			t.Errorf("got %+v", answer)
		}
		if s := tools.Schemas()[0]; s.Description != "Helps." {
			t.Errorf("got %+v", s)
		}
	}
}

func TestARegisteredExecutorAlwaysWins(t *testing.T) {
	t.Parallel()
	var executors compose.Delegates
	err := executors.Register("child", compose.ExecutorFunc(func(_ context.Context, args json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: args}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"stub", "in_process", "remote", "mcp"} {
		tools, err := parse(t, "delegates: [{name: helper, description: d, agent: child, kind: "+kind+"}]").Materialize(nil, &executors)
		if err != nil {
			t.Fatal(err)
		}
		if got := invoke(t, tools, "helper", `{"a":1}`); got != `{"a":1}` || !tool.Spends(hostTool(t, tools, "helper")) {
			t.Errorf("%s: got %s", kind, got)
		}
	}
}

func TestADelegateReplacesAToolOfItsName(t *testing.T) {
	t.Parallel()
	tools, err := parse(t, "tools: [{kind: local, name: a}]\ndelegates: [{name: a, description: d}]").Materialize(hostWith(t, "a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, tools, "a", "{}"); tools.Len() != 1 || !strings.Contains(got, "delegate_unwired") {
		t.Errorf("got %s", got)
	}
	m := &portable.Manifest{Delegates: []portable.Delegate{{Name: "a b"}}}
	if _, err := m.Materialize(nil, nil); compose.KindOf(err) != compose.KindInvalidArgument {
		t.Errorf("got %v", err)
	}
}
