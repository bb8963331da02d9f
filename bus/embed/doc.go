// Package embed runs a NATS server with JetStream inside the process, on a data directory of its own.
//
//	guests (nats CLI, any client) ── TCP ── front ── guard ──┐
//	nodes with <dir>/node.key ────── TCP ── front ───────────┼── NATS server ── <dir>/jetstream
//	this process ─────────────────── Server.Connect ─────────┘
//
// # Guarantees
//
// One server a directory: Start holds an exclusive lock until Stop has ended, and a killed process gives
// it back. What was acknowledged is on the disk (unless Config.NoSync). The node's identity and key stay
// with the directory.
//
// Nodes have all rights; they come in process or prove that they hold the key in NodeKeyFile. Everybody
// else is a guest, without a password: a guest gives operators work, signals and asks them, watches events
// and reads everything stored. It cannot write logs, state or effects, cannot take a task away, cannot
// change or remove a stream, and cannot have the server or a node do so for it: answers and deliveries to
// guests go to inboxes only.
//
// For that to hold, nodes keep three rules. They have no consumers of their own that matter on the log,
// dead-letter, state and blob streams, since guests may create and delete consumers there. Streams that
// take what guests publish (tasks and signals) allow neither rollups, schedules nor batches, and timers take
// nothing of theirs. Their own
// inboxes start with InboxPrefix, as those of Server.Connect do.
//
// Guests can see each other's answers, can use up consumers and storage, and are many or few as the
// listener's address allows: it is loopback unless Config.AllowRemote.
//
// # Concurrency
//
// A Server is safe for concurrent use. Several run in one process, each on its own directory.
//
// # What it is not
//
// It is no cluster member and it does not speak TLS, WebSocket or MQTT: for those run a NATS server beside
// the nodes.
//
//	srv, err := embed.Start(embed.Config{Dir: ".skelegent"})
//	if err != nil {
//		return err
//	}
//	defer srv.Stop(context.WithoutCancel(ctx))
//	nc, err := srv.Connect()
//	fmt.Println("try: nats --server", srv.URL(), "micro ls")
package embed
