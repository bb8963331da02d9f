//go:build race

package pack_test

const underRace = true
