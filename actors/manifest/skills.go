package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxSkills bounds the entries of an agent's skills.
const maxSkills = 64

// The scopes that have names.
const (
	scopeProject = "project"
	scopeUser    = "user"
)

// The runners.
const (
	sandboxAuto   = "auto"
	sandboxDirect = runner.NameDirect
	sandboxBwrap  = runner.NameBubblewrap
)

// Skill is where an agent has skills from: a directory, a scope by its name, or a skill of the program.
type Skill struct {
	Dir        string  `yaml:"dir"`        // a directory of skills
	FileSystem string  `yaml:"filesystem"` // the directory that the agent reads and writes
	Shell      string  `yaml:"shell"`      // the directory that commands run in
	ReadOnly   bool    `yaml:"read_only"`  // of filesystem and shell
	Approval   *bool   `yaml:"approval"`   // of filesystem: a person must allow what is written; of shell it is always so, but for allow
	Allow      Strings `yaml:"allow"`      // of shell: commands that need no approval
	Network    bool    `yaml:"network"`    // of shell

	name string // the short form
	line int
}

// Strings is a list of texts.
type Strings []string

// UnmarshalYAML reads a name or a mapping, strictly.
func (s *Skill) UnmarshalYAML(n *yaml.Node) error {
	s.line = n.Line
	switch n.Kind {
	case yaml.ScalarNode:
		s.name = n.Value
		return nil
	case yaml.MappingNode:
		type plain Skill
		return decodeMapping(n, (*plain)(s), "dir", "filesystem", "shell", "read_only", "approval", "allow", "network")
	default:
		return errorOf(n, "a skill must be a directory such as ./skills, project, user, the name of a skill of the program, or a mapping")
	}
}

// SkillPolicy is how an agent deals with skills of files.
type SkillPolicy struct {
	Sandbox          string `yaml:"sandbox"`            // auto if empty: bwrap where it works, else direct
	Hooks            string `yaml:"hooks"`              // closed if empty: a call is not made if a hook fails; or open
	HooksAtDiscovery bool   `yaml:"hooks_at_discovery"` // hooks count before their skill is activated
	Overrides        bool   `yaml:"overrides"`          // hooks may lift approvals
}

// dir is the directory of an entry; empty if it is none.
func (s Skill) dir() string {
	if s.Dir != "" {
		return s.Dir
	}
	if strings.ContainsAny(s.name, `/\`) || s.name == "." || s.name == ".." {
		return s.name
	}
	return ""
}

func (s Skill) validate() error {
	if s.name != "" {
		known := []string{builtin.NameCalculator, builtin.NameWeather, scopeProject, scopeUser}
		switch {
		case s.dir() != "", slices.Contains(known, s.name):
			return nil
		case slices.Contains(builtin.Names(), s.name):
			return fmt.Errorf("%s needs a directory: {%s: ./data}", s.name, s.name)
		}
		return fmt.Errorf("there is no skill %.100q of the program (%s); a directory of skills is ./%.100s",
			s.name, strings.Join(builtin.Names(), ", "), s.name)
	}
	given := 0
	for _, v := range []string{s.Dir, s.FileSystem, s.Shell} {
		if v != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("an entry is a name, or has one of dir, filesystem and shell")
	case s.Shell == "" && (s.Allow != nil || s.Network):
		return errors.New("allow and network are for shell")
	case s.FileSystem == "" && s.Approval != nil:
		return errors.New("approval is for filesystem")
	case s.Dir != "" && s.ReadOnly:
		return errors.New("read_only is for filesystem and shell")
	}
	return nil
}

func (o Operator) validateSkills() error {
	if len(o.Skills) > maxSkills {
		return at(fmt.Errorf("more than %d entries", maxSkills), "skills")
	}
	for _, s := range o.Skills {
		if err := s.validate(); err != nil {
			return at(&lineError{err, s.line}, "skills")
		}
	}
	p := o.SkillPolicy
	switch {
	case p == nil:
		return nil
	case len(o.Skills) == 0:
		return at(errors.New("there are no skills"), "skill_policy")
	}
	if p.Sandbox != "" {
		if err := oneOf("sandbox", p.Sandbox, sandboxAuto, sandboxDirect, sandboxBwrap); err != nil {
			return at(err, "skill_policy", "sandbox")
		}
	}
	if p.Hooks != "" {
		return at(oneOf("hooks", p.Hooks, string(kit.FailClosed), string(kit.FailOpen)), "skill_policy", "hooks")
	}
	return nil
}

// probeTime bounds how long it may take to find the skills of an agent and a sandbox that works.
const probeTime = 30 * time.Second

// equip gives an agent its skills.
func (m *Manifest) equip(ctx context.Context, name string, cfg agent.Config, o Operator, deps Deps) (agent.Config, error) {
	if len(o.Skills) == 0 {
		return cfg, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	policy := o.SkillPolicy
	if policy == nil {
		policy = &SkillPolicy{}
	}
	run, err := skillRunner(ctx, policy.Sandbox)
	if err != nil {
		return cfg, at(err, "skill_policy", "sandbox")
	}
	if run.Name() == sandboxDirect && policy.Sandbox != sandboxDirect {
		deps.Logger.Warn("programs of skills run without a sandbox: bubblewrap does not work here", zap.String("operator", name))
	}
	kcfg := kit.Config{
		Runner: run, Trusted: deps.Trusted, State: deps.State, OnHookFailure: kit.HookFailure(policy.Hooks),
		HooksAtDiscovery: policy.HooksAtDiscovery, Overrides: policy.Overrides, Logger: deps.Logger,
	}
	if kcfg.Trusted == nil {
		kcfg.Trusted = trustNamed
	}
	for _, s := range o.Skills {
		if err := m.skill(s, run, deps, &kcfg); err != nil {
			return cfg, at(&lineError{err, s.line}, "skills")
		}
	}
	k, err := kit.New(kcfg)
	if err == nil {
		_, err = k.Discover(ctx)
	}
	if err != nil {
		return cfg, at(errors.New(brief(err)), "skills")
	}
	for _, d := range k.Diagnostics() {
		deps.Logger.Warn("skill", zap.String("operator", name), zap.String("diagnostic", d.String()))
	}
	cfg, err = k.Equip(cfg)
	if err != nil {
		return cfg, at(errors.New(brief(err)), "skills")
	}
	return cfg, nil
}

// skill adds what an entry names.
func (m *Manifest) skill(s Skill, run runner.Runner, deps Deps, cfg *kit.Config) error {
	var code builtin.Code
	var err error
	switch {
	case s.name == scopeProject:
		cfg.Scopes = append(cfg.Scopes, skill.Project(m.dir))
	case s.name == scopeUser && deps.Home == "":
		return errors.New("it is not known where the user's skills are: there is no home directory")
	case s.name == scopeUser:
		cfg.Scopes = append(cfg.Scopes, skill.User(deps.Home))
	case s.dir() != "":
		cfg.Scopes = append(cfg.Scopes, skill.Custom(m.path(s.dir())))
	case s.FileSystem != "":
		code, err = builtin.NewFileSystem(builtin.FileSystemConfig{
			Root: m.path(s.FileSystem), ReadOnly: s.ReadOnly, ApproveWrites: s.Approval != nil && *s.Approval, RequireHash: true,
		})
	case s.Shell != "":
		code, err = builtin.NewShell(builtin.ShellConfig{
			Runner: run, Dir: m.path(s.Shell), Allow: s.Allow, ReadOnly: s.ReadOnly, Network: s.Network,
		})
	default:
		code, err = builtin.ByName(s.name, builtin.Deps{})
	}
	if err != nil {
		return errors.New(brief(err))
	}
	if code != nil {
		cfg.Code = append(cfg.Code, code)
	}
	return nil
}

func skillRunner(ctx context.Context, sandbox string) (runner.Runner, error) {
	switch sandbox {
	case sandboxDirect:
		return runner.Direct(runner.Config{}), nil
	case sandboxBwrap:
		run, err := runner.Bubblewrap(ctx, runner.Config{})
		if err != nil {
			return nil, errors.New(brief(err))
		}
		return run, nil
	}
	return runner.Detect(ctx, runner.Config{})
}

// trustNamed trusts what the manifest names, and no project.
func trustNamed(d skill.Descriptor) error {
	if d.Source == skill.SourceUser || d.Source == skill.SourceCustom {
		return nil
	}
	return protocol.NewError(protocol.CodePermissionDenied, "the skills of this project are not trusted here")
}
