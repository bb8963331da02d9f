package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
)

func Example() {
	skill, err := os.MkdirTemp("", "skill")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(skill)
	if err := os.WriteFile(filepath.Join(skill, "greet.sh"), []byte(`echo "hello, $2"`), 0o600); err != nil {
		panic(err)
	}

	run, err := runner.Detect(context.Background(), runner.Config{Path: runner.DefaultPath})
	if err != nil {
		panic(err)
	}
	args, err := runner.ParseArgs(`--name "big world"`)
	if err != nil {
		panic(err)
	}
	command, err := runner.Script(run, skill, "greet.sh", args)
	if err != nil {
		panic(err)
	}
	result, err := run.Run(context.Background(), runner.Spec{Command: command, Dir: skill, SessionID: "session-1"})
	fmt.Print(result.ExitCode, " ", result.Stdout, err)
	// Output: 0 hello, big world
	// <nil>
}
