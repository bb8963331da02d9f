// Package cassette is for tests: it records once what a real endpoint answers, and replays it ever after, without network,
// key or cost.
//
//	provider -> http.Client -> Cassette -> file, or the endpoint once
//
// A Cassette is a transport for the HTTPClient of every provider:
//
//	func TestAgent(t *testing.T) {
//		client := cassette.Use(t, "testdata/agent.yaml", cassette.Replay) // cassette.Record for one run with a real key
//		p := openai.New(openai.Config{APIKey: secret.Env("OPENAI_API_KEY"), HTTPClient: client})
//		...
//	}
//
// A request is answered by the first recorded one that was not used yet and has the same method, path and body; JSON is
// compared by value, so the order of keys and white space do not matter, and host, query and headers are not
// looked at. Streams are recorded as they come and replayed in pieces: an event, or a line, a read.
//
// What a user can rely on:
//   - A request that is not recorded is never sent (in Replay). It is answered with status 404 and a message that says what
//     to do, which providers pass on as an invalid request, and it is an error of Close, as are recorded requests that
//     nobody made.
//   - Request headers and queries are never stored, and of the answer only Content-Type, Retry-After, Retry-After-Ms. The
//     credentials of a request, keys that begin with sk- or AIza, and bearer tokens are replaced in all that is stored,
//     and so is what WithScrub says. Prompts and answers are stored: look at a file before you share it.
//   - A file that was written reads back as the same, or Close fails. It is replaced at Close as a whole.
//
// Deny and DenyTransport see to it that tests which should not need the network do not use it.
//
// A Cassette is safe for concurrent use and starts no goroutine; with equal requests at the same time it is open which one
// gets which answer.
package cassette
