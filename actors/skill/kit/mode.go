package kit

import (
	"slices"
	"strings"
)

// mode is the permission mode that hooks set for the rest of a run.
type mode string

const (
	modeDefault mode = "default"
	modePlan    mode = "plan"
	modeAuto    mode = "auto"
	modeEdits   mode = "acceptEdits"
	modeBypass  mode = "bypassPermissions"
)

// known reports whether there is such a mode.
func (m mode) known() bool {
	return slices.Contains([]mode{modeDefault, modePlan, modeAuto, modeEdits, modeBypass}, m)
}

// changed returns the mode behind a hook that wants another. One that takes approvals away counts only where that is allowed.
func (m mode) changed(to mode, overrides bool) mode {
	if to == "" || !overrides && to != modePlan && to != modeDefault {
		return m
	}
	return to
}

// waives reports whether calls of the tool need no approval in the mode.
func (m mode) waives(k *Kit, tool string) bool {
	switch m {
	case modeAuto, modeBypass:
		return true
	case modeEdits:
		return slices.ContainsFunc(k.namesOf(tool), func(name string) bool { return name == "Write" || name == "Edit" })
	default:
		return false
	}
}

func joined(names []string) string { return strings.Join(slices.Sorted(slices.Values(names)), ", ") }
