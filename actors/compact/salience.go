package compact

import (
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of SalienceConfig.
const (
	DefaultSalienceTokens = 100_000
	DefaultLambda         = 0.7
)

// SalienceConfig says what Salience keeps. The zero value works.
type SalienceConfig struct {
	// Tokens is what stays at most, the pinned messages included; DefaultSalienceTokens if 0.
	Tokens int
	// Lambda weighs what matters against what is new, 0 to 1; DefaultLambda if nil. At 1 repetition does not count.
	Lambda *float64
	// Score says how much a message matters, 0 to 1; if nil its meta does, and 0.5 where that says nothing.
	Score func(m protocol.Message) float64
}

// Salience keeps what matters most and is not said already: again and again the message with the highest lambda × salience −
// (1 − lambda) × the most that it has in common with one that stays (see Jaccard), the newer of equals, leaving out what does not fit
// any more. The last message stays. If the pinned ones take all tokens, they and it are what is left.
func Salience(cfg SalienceConfig) engine.Strategy {
	if cfg.Tokens <= 0 {
		cfg.Tokens = DefaultSalienceTokens
	}
	if cfg.Lambda == nil {
		cfg.Lambda = new(DefaultLambda)
	}
	if cfg.Score == nil {
		cfg.Score = salienceOf
	}
	return &chooser{"salience", cfg.pack}
}

func salienceOf(m protocol.Message) float64 {
	if m.Meta.Salience != nil {
		return *m.Meta.Salience
	}
	return even
}

// candidate is a unit that may stay.
type candidate struct {
	index    int
	salience float64
	words    map[string]bool
	common   float64 // the most that it has in common with one that stays
}

func (cfg SalienceConfig) pack(_ *engine.Context, all []protocol.Message, list []unit, keep []bool) {
	keepEnd(keep)
	left := cfg.Tokens
	var open, chosen []candidate
	for i, u := range list {
		one := cfg.candidate(all[u.start:u.end], i)
		if !keep[i] {
			open = append(open, one)
			continue
		}
		left -= u.tokens
		chosen = append(chosen, one)
	}
	for _, s := range chosen {
		compare(open, s)
	}
	for left > 0 && len(open) > 0 {
		best := 0
		for i, o := range open {
			if cfg.worth(o) >= cfg.worth(open[best]) {
				best = i
			}
		}
		next := open[best]
		open = slices.Delete(open, best, best+1)
		if tokens := list[next.index].tokens; tokens <= left {
			keep[next.index] = true
			left -= tokens
			compare(open, next)
		}
	}
}

func (cfg SalienceConfig) candidate(messages []protocol.Message, index int) candidate {
	c := candidate{index: index}
	var texts []string
	for _, m := range messages {
		c.salience = max(c.salience, cfg.Score(m))
		texts = append(texts, m.Text())
	}
	c.words = words(strings.Join(texts, " "))
	return c
}

func (cfg SalienceConfig) worth(c candidate) float64 {
	return *cfg.Lambda*c.salience - (1-*cfg.Lambda)*c.common
}

// compare takes into account that s stays.
func compare(open []candidate, s candidate) {
	for i := range open {
		open[i].common = max(open[i].common, overlap(open[i].words, s.words))
	}
}
