//go:build !unix

package skill_test

import "testing"

// pipe has no named pipes here.
func pipe(t testing.TB, _ string) {
	t.Helper()
	t.Skip("there are no named pipes")
}
