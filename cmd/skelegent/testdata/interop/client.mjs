// A client that shares no code with the node: it speaks NATS, and reads the contract.
import assert from "node:assert/strict";
import { connect, headers } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";

const nc = await connect({ servers: process.argv[2] });
const timeout = 30_000;

const events = [];
for (const filter of ["skg.live.assistant.>", "skg.event.assistant.>"]) {
  nc.subscribe(filter, {
    callback: (err, m) => {
      assert.equal(err, null);
      events.push({ subject: m.subject, header: m.headers?.get("Skg-Kind"), ...m.json() });
    },
  });
}
await nc.flush();

// One turn of the main job.
const request = { message: "please remember tea", trigger: "user", session: "js.1", config: null, metadata: { from: "node" } };
const h = headers();
h.set("Skg-Run-Id", "js-run-1");
const reply = await nc.request("skg.op.assistant", JSON.stringify(request), { timeout, headers: h });
assert.equal(reply.headers?.get("Nats-Service-Error-Code") ?? "", "", reply.string());
const output = reply.json();
assert.equal(output.message, "I will remember that you like tea.");
assert.equal(output.exit_reason, "complete");
assert.equal(output.metadata.tokens_in, 300);
assert.equal(output.metadata.tokens_out, 40);
assert.equal(output.metadata.cost, "0.000069"); // 300 * 0.15 + 40 * 0.60 USD a million
assert.equal(output.metadata.turns_used, 2);
assert.deepEqual(output.metadata.sub_dispatches.map((d) => [d.name, d.success]), [["clock", true], ["remember", true]]);
assert.deepEqual(output.effects, [{ type: "write_memory", scope: { session: "js.1" }, key: "drink", value: "tea" }]);

// The executor writes the memory, some time after.
const kv = await new Kvm(jetstream(nc)).open("SKG_STATE");
let entry = null;
for (const end = Date.now() + timeout; entry === null && Date.now() < end; ) {
  entry = await kv.get("session.js=2E1.drink");
  if (entry === null) await new Promise((r) => setTimeout(r, 20));
}
assert.equal(entry?.json().value, "tea");

// The trail, in order, of this run.
const wanted = [
  "invocation_started", "inference_started", "inference_completed", "tool_call_assembled", "tool_call_assembled",
  "tool_result_received", "tool_result_received", "inference_started", "inference_completed", "completed",
];
for (const end = Date.now() + timeout; !events.some((e) => e.kind === "effect_done") && Date.now() < end; ) {
  await new Promise((r) => setTimeout(r, 20));
}
// What is committed comes as an event of the log, the rest live; together they are the trail.
const trail = events.filter((e) => wanted.includes(e.kind)).sort((a, b) => (a.time < b.time ? -1 : 1));
assert.deepEqual(trail.map((e) => e.kind).sort(), [...wanted].sort());
assert.equal(trail[0].kind, "invocation_started");
assert.equal(trail.at(-1).kind, "completed");
for (const kind of ["invocation_started", "inference_completed", "tool_result_received", "completed"]) {
  for (const e of trail.filter((e) => e.kind === kind)) assert.equal(e.subject, "skg.event.assistant.js=2E1.run");
}
for (const e of events) {
  assert.equal(e.kind, e.header);
  assert.equal(e.operator, "assistant");
  assert.equal(e.run, "js-run-1");
  assert.ok(!Number.isNaN(Date.parse(e.time)) && e.id && typeof e.data === "object");
}
assert.ok(trail.every((e) => e.instance === "js.1"));
assert.ok(events.filter((e) => e.kind === "progress").length > 0, "no token deltas");
const done = events.find((e) => e.kind === "effect_done");
assert.equal(done.subject, "skg.event.assistant.js=2E1.done.memory");
assert.equal(done.data.outcomes[0].status, "ok");

// Discovery.
const info = (await nc.request("$SRV.INFO.assistant", "", { timeout })).json();
assert.equal(info.type, "io.nats.micro.v1.info_response");
assert.equal(info.description, "Answers and remembers.");
assert.equal(info.endpoints[0].subject, "skg.op.assistant");
assert.equal(info.metadata.durable, "true");
const stats = (await nc.request("$SRV.STATS.assistant", "", { timeout })).json();
assert.equal(stats.endpoints[0].num_requests, 1);
assert.ok(stats.endpoints[0].average_processing_time > 0);

// A text is enough of a request.
const text = (await nc.request("skg.op.assistant", "wrong arguments, please", { timeout })).json();
assert.equal(text.message, "The tool told me what was wrong.");
assert.deepEqual(text.metadata.sub_dispatches.map((d) => d.success), [false]);

// What is wrong is said, with a code.
const bad = async (body, code, retryable, field) => {
  const m = await nc.request("skg.op.assistant", body, { timeout });
  const e = m.json();
  assert.equal(m.headers?.get("Nats-Service-Error-Code"), code, `${body}: ${m.string()}`);
  assert.ok(m.headers.get("Nats-Service-Error").length > 0);
  assert.equal(e.code, code);
  assert.equal(e.retryable, retryable, m.string());
  assert.equal(e.details?.field, field, m.string());
  assert.ok(!/goroutine|\.go:\d/.test(m.string()), "a stack trace");
  return e;
};
await bad('{"message":', "invalid_input", false, undefined);
await bad("", "invalid_input", false, "message");
await bad("{}", "invalid_input", false, "message");
await bad('{"message":{"a":1}}', "invalid_input", false, "message");
await bad('{"message":"x","config":{"max_turns":-1}}', "invalid_input", false, "config.max_turns");
await bad('{"message":"x","trigger":"nobody"}', "invalid_input", false, "trigger");
await bad("say 401", "unauthorized", false, undefined);
const limited = await bad("say 429", "quota_exceeded", true, undefined);
assert.ok(Number(limited.details.retry_after_ms) >= 1000, JSON.stringify(limited));
await bad("say 500", "unavailable", true, undefined);
await assert.rejects(nc.request("skg.op.nobody", "x", { timeout }), /no responders/i);

// A guest may not write where only nodes may.
const denied = new Promise((resolve) => {
  (async () => {
    for await (const s of nc.status()) if (s.type === "error") resolve(String(s.error));
  })();
});
nc.publish("skg.log.assistant.x.run", "{}");
assert.match(await denied, /permissions violation/i);

await nc.close();
console.log("interop: ok");
