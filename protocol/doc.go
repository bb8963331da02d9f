// Package protocol is the contract of skelegent: the messages that cross the bus, the interfaces that its parts meet
// at, the errors, effects and events, and the middleware that stands between them. Everything else in the module
// imports it; it imports nothing of the module but protocol/wire.
//
//	caller --OperatorInput--> [DispatchStack] --> Dispatcher --> Operator
//	       <-OperatorOutput--                                      |  |
//	                                       reads through StateReader  declares Effects
//	                                                                  |
//	                  executors perform them: [StoreStack] --> StateStore, Signaler, Dispatcher, ...
//
//	an Environment runs an Operator in isolation: [ExecStack] --> Environment
//
// # Guarantees
//
// Forms. Marshal writes one canonical form: compact, members in the order of the fields, HTML characters as they are,
// money as strings with their scale, durations as whole milliseconds. Unmarshal reads it, and the aliases and
// second forms that are documented at the types. What it accepts is valid JSON, and Marshal of the result reads back as the
// same. Unknown members are ignored, so that a newer peer can add some. An unknown variant, a missing or wrong member, a
// null where there must be a value, a member given twice: each is an *Error with code invalid_input whose message and
// details name the field, such as config.max_turns or effects[2].scope, and no input makes a decoder panic.
//
// Errors. Only *Error crosses the bus: code, safe message, retry hint, details. Its cause stays here. AsError turns any
// error into one and shows nothing of those that nobody coded.
//
// Ownership. Decoded values share nothing with the bytes they were read from. Values are passed by value; slices and
// raw JSON in them are shared unless a comment says otherwise, so whoever keeps one does not change it.
//
// Concurrency. Implementations of Operator, Dispatcher, StateStore, Environment and of middleware must be safe for
// concurrent use. Values are not, except immutable ones: stacks and everything comparable.
//
// # What it is not
//
// It holds no NATS, no actors, no models and no stores, starts no goroutine except in DispatchMany, which waits for
// them, logs nothing and reads no configuration.
//
// # Example
//
//	upper := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
//		text, ok := in.Message.AsText()
//		if !ok {
//			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeInvalidInput, "a text, please")
//		}
//		out := protocol.Reply(strings.ToUpper(text))
//		out.Effects = protocol.Effects{protocol.WriteMemory{Scope: protocol.GlobalScope(), Key: "last", Value: []byte(`"` + text + `"`)}}
//		return out, nil
//	})
package protocol
