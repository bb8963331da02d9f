package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// says is an operator that says who works on what.
func says(name string) protocol.Operator {
	return protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		text, _ := in.Message.AsText()
		return protocol.Reply(name + ": " + text), nil
	})
}

// A coordinator with two specialists and a fallback, over three nodes. Signals decide; no model is asked.
func Example_coordinator() {
	ctx, dispatcher, join := cluster() // a server, and what puts operators on a node of their own
	front, err := serve.Coordinator(dispatcher, serve.CoordinatorConfig{
		Routes: []serve.Route{
			{Signals: []compose.Signal{"fire", "smoke"}, Operator: "firefighter"},
			{Signals: []compose.Signal{"flood"}, Operator: "plumber"},
		},
		Fallback: "clerk",
	})
	fatal(err)
	leave := []func(){
		join(map[protocol.OperatorID]protocol.Operator{"front": front, "clerk": says("clerk")}),
		join(map[protocol.OperatorID]protocol.Operator{"firefighter": says("firefighter")}),
		join(map[protocol.OperatorID]protocol.Operator{"plumber": says("plumber")}),
	}
	for _, signal := range []string{"smoke", "flood", "birthday"} {
		in := protocol.Text("Room 12")
		in.Metadata = json.RawMessage(`{"signals":["` + signal + `"]}`)
		out, err := dispatcher.Dispatch(ctx, "front", in)
		fatal(err)
		text, _ := out.Message.AsText()
		fmt.Println(text)
	}
	for _, l := range leave {
		l()
	}
	// Output:
	// firefighter: Room 12
	// plumber: Room 12
	// clerk: Room 12
}

// cluster is a server in this process. join starts a node that has the operators, and returns what stops it; the last one that
// leaves stops the server.
func cluster() (ctx context.Context, d *bus.Dispatcher, join func(map[protocol.OperatorID]protocol.Operator) (leave func())) {
	dir, err := os.MkdirTemp("", "example")
	fatal(err)
	server, err := embed.Start(embed.Config{Dir: dir, Listen: embed.ListenNone, NoSync: true})
	fatal(err)
	ctx = context.Background()
	connect := func() *bus.Conn {
		nc, err := server.Connect()
		fatal(err)
		conn, err := bus.FromNATS(nc, wire.Names{}, nil)
		fatal(err)
		return conn
	}
	caller, nodes := connect(), 0
	return ctx, bus.NewDispatcher(caller), func(hosted map[protocol.OperatorID]protocol.Operator) func() {
		conn := connect()
		node, err := actors.NewNode(conn, actors.Config{})
		fatal(err)
		for id, op := range hosted {
			fatal(node.Register(id, op, actors.Durable()))
		}
		fatal(node.Start(ctx))
		nodes++
		return func() {
			fatal(node.Stop(ctx))
			fatal(conn.Close(ctx))
			if nodes--; nodes == 0 {
				fatal(caller.Close(ctx))
				fatal(server.Stop(ctx))
				fatal(os.RemoveAll(dir))
			}
		}
	}
}

func fatal(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
