package dispatch_test

import (
	"fmt"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/protocol"
)

// BenchmarkDispatch is one call, beside what it takes without hooks and without a dispatch.
func BenchmarkDispatch(b *testing.B) {
	tools := toolsOf(b, returns("x", `{"ok":true}`))
	calls := []protocol.ToolCall{call("x", `{"city":"Berlin"}`)}
	b.Run("invoke", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tools.Invoke(b.Context(), "x", calls[0].Input); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{0, 1, 4} {
		hooks := make([]dispatch.Hook, n)
		for i := range hooks {
			hooks[i] = dispatch.NopHook{}
		}
		b.Run(fmt.Sprintf("hooks=%d", n), func(b *testing.B) {
			opts := []dispatch.Option{dispatch.WithHooks(hooks...)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := dispatch.Dispatch(b.Context(), tools, calls, opts...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
