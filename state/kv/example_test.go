package kv_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

func Example() {
	dir, err := os.MkdirTemp("", "kv")
	check(err)
	defer os.RemoveAll(dir)
	ns, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	check(err)
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	check(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	check(err)

	ctx := context.Background()
	store, err := kv.Open(ctx, js, kv.Config{Create: true})
	check(err)
	scope := protocol.InSession("s1")
	check(store.Write(ctx, scope, "visits", json.RawMessage(`1`), protocol.StoreOptions{}))

	entry, _, err := store.Entry(ctx, scope, "visits")
	check(err)
	_, err = store.WriteIf(ctx, scope, "visits", json.RawMessage(`2`), protocol.StoreOptions{}, entry.Revision)
	check(err)
	_, err = store.WriteIf(ctx, scope, "visits", json.RawMessage(`2`), protocol.StoreOptions{}, entry.Revision)
	fmt.Println(err)

	value, err := store.Read(ctx, scope, "visits")
	check(err)
	fmt.Println(string(value))
	// Output:
	// write failed: session/s1/visits: somebody else changed it first
	// 2
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
