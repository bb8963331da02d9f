//go:build !race

package actorx_test

const raceEnabled = false
