package builtin

import (
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// The names of the skills.
const (
	NameCalculator = "calculator"
	NameFileSystem = "filesystem"
	NameShell      = "shell"
	NameWeather    = "weather"
)

// Code is a skill that is Go code.
type Code interface {
	// Name is the skill's, the same each time.
	Name() string
	// Description says in a sentence what the skill is for.
	Description() string
	// Tools returns the skill's tools, made anew each time.
	Tools() []tool.Tool
	// Prompt is what a system prompt says of the skill; empty if nothing.
	Prompt() string
}

var (
	_ Code = (*Calculator)(nil)
	_ Code = (*FileSystem)(nil)
	_ Code = (*Shell)(nil)
	_ Code = (*Weather)(nil)
)

// Deps are the configurations of the skills. The zero value does for the calculator and, by OpenMeteo, for the weather.
type Deps struct {
	Calculator CalculatorConfig
	FileSystem FileSystemConfig
	Shell      ShellConfig
	Weather    WeatherConfig
}

// Names returns the names of the skills, sorted.
func Names() []string { return []string{NameCalculator, NameFileSystem, NameShell, NameWeather} }

// ByName returns the skill of that name. The error is not_found with the names that there are, or that of the skill's New.
func ByName(name string, deps Deps) (Code, error) {
	switch name {
	case NameCalculator:
		return code(NewCalculator(deps.Calculator))
	case NameFileSystem:
		return code(NewFileSystem(deps.FileSystem))
	case NameShell:
		return code(NewShell(deps.Shell))
	case NameWeather:
		return code(NewWeather(deps.Weather))
	}
	return nil, protocol.NewError(protocol.CodeNotFound,
		fmt.Sprintf("there is no skill %s; built in are %v", quoted(name), Names()))
}

// All returns the skills that deps have the configuration for, sorted by name: the calculator and the weather always, the
// others where a root, and a runner, are given. The error is that of the first that cannot be made.
func All(deps Deps) ([]Code, error) {
	names := slices.DeleteFunc(Names(), func(name string) bool {
		return name == NameFileSystem && deps.FileSystem.Root == "" || name == NameShell && deps.Shell.Runner == nil
	})
	all := make([]Code, 0, len(names))
	for _, name := range names {
		c, err := ByName(name, deps)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// code keeps a nil pointer from becoming a Code.
func code[C Code](c C, err error) (Code, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
