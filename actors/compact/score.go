package compact

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Jaccard is how much two texts have in common: the words of both by the words of either, 0 to 1. Nothing and nothing have nothing
// in common.
func Jaccard(a, b string) float64 { return overlap(words(a), words(b)) }

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

func overlap(a, b map[string]bool) float64 {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// even is the score of what nothing is known about.
const even = 0.5

// Recency is 1 for what is new, and half as much after each half-life. The future is new; without a half-life it is 0.5.
func Recency(age, halfLife time.Duration) float64 {
	switch {
	case halfLife <= 0:
		return even
	case age <= 0:
		return 1
	}
	return math.Exp2(-float64(age) / float64(halfLife))
}

// MinMax maps scores to 0 for the least and 1 for the greatest. If all are the same, each is 0.5.
func MinMax(scores []float64) []float64 {
	out := make([]float64, len(scores))
	if len(scores) == 0 {
		return out
	}
	least, greatest := slices.Min(scores), slices.Max(scores)
	for i, s := range scores {
		if out[i] = even; greatest > least {
			out[i] = (s - least) / (greatest - least)
		}
	}
	return out
}
