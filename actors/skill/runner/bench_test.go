package runner_test

import (
	"os/exec"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
)

// BenchmarkTrue runs /bin/true: with os/exec alone as the floor, direct, and in a sandbox.
func BenchmarkTrue(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	bench := func(run runner.Runner) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			s := runner.Spec{Command: []string{"/bin/true"}, Dir: b.TempDir()}
			for b.Loop() {
				if r, err := run.Run(b.Context(), s); err != nil || !r.OK() {
					b.Fatal(r, err)
				}
			}
		}
	}
	b.Run(runner.NameDirect, bench(runner.Direct(config())))
	b.Run(runner.NameBubblewrap, func(b *testing.B) { bench(sandboxed(b, config()))(b) })
}
