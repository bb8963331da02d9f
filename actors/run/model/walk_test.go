package model

import "testing"

// Much goes wrong in these lives, more than can be explored; but each is only one.
func TestWalks(t *testing.T) {
	t.Parallel()
	lives := 100
	switch {
	case *long:
		lives = 20000
	case underRace:
		lives = 20
	}
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Faults = Faults{
				Crash: 3, Expire: 3, LoseAck: 3, Unknown: 3, Stale: 3, Twice: 3, Trouble: 3, Leave: 3, Listen: 3, Janitor: 2,
			}
			s.Hold, s.Alone = 2, false
			for seed := range uint64(lives) {
				if _, broken, way := newMachine(s, "").walk(seed); broken != "" {
					t.Fatalf("life %d: %s\n%s", seed, broken, way)
				}
			}
		})
	}
}
