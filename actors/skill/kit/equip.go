package kit

import (
	"context"
	"maps"
	"slices"
	"weak"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// equipped is the tools of an agent that has the kit's among them, as long as there is such an agent.
type equipped struct {
	tools weak.Pointer[tool.Registry]
	limit int // of what an activation shows
}

// Equip returns cfg with the skills: their tools, the rules that enforce what they say, and in the system prompt the prompts of
// the skills of code and the catalogue of the others. The tools are in cfg.Registry then, which is a new one unless cfg had one;
// tools that are added to that are restricted like all others.
//
// A run needs agent.Config.Rules as they are; rules that change calls belong before Priority, so that hooks see what is called.
// The error, of code invalid_input, names a tool that is there twice. Equip cfg with one kit, and once.
func (k *Kit) Equip(cfg agent.Config) (agent.Config, error) {
	reg := cfg.Registry
	if reg == nil {
		var err error
		if reg, err = tool.NewRegistry(cfg.Tools...); err != nil {
			return cfg, err
		}
	} else if len(cfg.Tools) > 0 {
		return cfg, refuse("tools and a registry exclude each other")
	}
	limit := k.cfg.Limits.Content
	if cfg.MaxResultText > 0 {
		limit = min(limit, cfg.MaxResultText)
	}
	if err := k.addTools(reg, limit); err != nil {
		return cfg, err
	}
	cfg.Tools, cfg.Registry = nil, reg
	cfg.Rules = append(slices.Clip(cfg.Rules), k.rules()...)
	system, own := cfg.System, cfg.SystemFunc
	cfg.SystemFunc = func(ctx context.Context, in protocol.OperatorInput) (string, error) {
		text := system
		if own != nil {
			var err error
			if text, err = own(ctx, in); err != nil {
				return "", err
			}
		}
		return k.system(text), nil
	}
	return cfg, nil
}

// system is a system prompt with what skills add to it.
func (k *Kit) system(text string) string {
	add := func(more string) {
		if text != "" && more != "" {
			text += "\n\n"
		}
		text += more
	}
	for _, name := range slices.Sorted(maps.Keys(k.code)) {
		add(k.code[name].code.Prompt())
	}
	add(k.Catalogue().Text())
	return text
}

// addTools adds the tools to those of an agent, but for those that were already.
func (k *Kit) addTools(reg *tool.Registry, limit int) error {
	k.discover.Lock()
	defer k.discover.Unlock()
	k.equipped = slices.DeleteFunc(k.equipped, func(e equipped) bool { return e.tools.Value() == nil })
	if slices.ContainsFunc(k.equipped, func(e equipped) bool { return e.tools.Value() == reg }) {
		return nil
	}
	var all []tool.Tool
	for _, name := range slices.Sorted(maps.Keys(k.code)) {
		all = append(all, k.code[name].code.Tools()...)
	}
	taken := map[string]bool{ToolActivate: true, ToolRead: true, ToolRun: true}
	for _, name := range reg.Names() {
		if taken[name] {
			return refuse("there is a tool " + shown(name) + " already")
		}
		taken[name] = true
	}
	for _, t := range all {
		name := t.Metadata().Name
		if taken[name] {
			return refuse("there is a tool " + shown(name) + " already")
		}
		taken[name] = true
	}
	for _, t := range append(all, k.tools(limit)...) {
		if err := reg.Add(t); err != nil {
			return err
		}
	}
	k.equipped = append(k.equipped, equipped{weak.Make(reg), limit})
	return nil
}

// refresh puts the tools as they are now into the place of those that agents have. The caller has the lock discover.
func (k *Kit) refresh() error {
	for _, e := range k.equipped {
		reg := e.tools.Value()
		if reg == nil {
			continue
		}
		for _, t := range k.tools(e.limit) {
			if err := reg.Add(t); err != nil {
				return err
			}
		}
	}
	return nil
}
