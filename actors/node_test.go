package actors_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	out, err := bus.NewDispatcher(conn).Dispatch(testContext(t), "echo", protocol.Text("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := out.Message.AsText(); got != "hello" {
		t.Errorf("message = %q, want %q", got, "hello")
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	m := request(t, conn, "echo", []byte("fix the build"))
	var out protocol.OperatorOutput
	if err := protocol.Unmarshal(m.Data, &out); err != nil {
		t.Fatalf("%v: %s", err, m.Data)
	}
	if got, _ := out.Message.AsText(); got != "fix the build" {
		t.Errorf("message = %q", got)
	}
}
