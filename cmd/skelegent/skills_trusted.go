package main

import (
	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/actors/skill"
)

// trustSkills says whose skills agents use, and which of them are trusted: those that skills trust names.
func (a *app) trustSkills(deps *manifest.Deps) {
	deps.Home = a.home()
	store, err := (&skillStore{a: a}).open()
	if err == nil {
		deps.Trusted = store.Check
		return
	}
	deps.Trusted = func(d skill.Descriptor) error {
		if d.Source == skill.SourceUser || d.Source == skill.SourceCustom {
			return nil
		}
		return err
	}
}
