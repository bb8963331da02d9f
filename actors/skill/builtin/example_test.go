package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
)

// The tools of skills are tools as any other: put them into the registry of an agent, and the prompts into its system prompt.
func Example() {
	root, err := os.MkdirTemp("", "files")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(root) }()
	tools, err := tool.NewRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	deps := builtin.Deps{FileSystem: builtin.FileSystemConfig{Root: root, RequireHash: true}}
	for _, name := range []string{builtin.NameCalculator, builtin.NameFileSystem} {
		skill, err := builtin.ByName(name, deps)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, t := range skill.Tools() {
			if err := tools.Add(t); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println(tools.Names())
	for _, call := range [][2]string{
		{"multiply", `{"a":42,"b":8}`},
		{"write_file", `{"path":"result.txt","content":"336"}`},
		{"write_file", `{"path":"result.txt","content":"337"}`},
		{"divide", `{"a":1,"b":0}`},
	} {
		t, _ := tools.Get(call[0])
		res, err := tool.Call(context.Background(), t, json.RawMessage(call[1]))
		if err != nil {
			fmt.Println(tool.ErrorText(err))
			continue
		}
		fmt.Println(res.Text())
	}
	// Output:
	// [add subtract multiply divide read_file write_file list_dir]
	// {"result":"336"}
	// {"path":"result.txt","bytes":3,"sha256":"eaa0689a095d4394a05fb51b84b0175a47f68221261377e4829444cbfcae23ca","created":true}
	// Error: "result.txt" exists: read it first and pass its sha256 as if_sha256
	// Error: invalid input: field b: must not be 0, nothing can be divided by zero
}

// Commands on the list need no approval, as long as no character in them means anything to a shell.
func ExampleNewShell() {
	skill, err := builtin.NewShell(builtin.ShellConfig{
		Runner: runner.Direct(runner.Config{}), Dir: os.TempDir(), Allow: []string{"git status", "ls *"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	shell := skill.Tools()[0]
	for _, command := range []string{"git status", "git push", "ls -l docs", "ls; rm -r docs"} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			fmt.Println(err)
			return
		}
		_, asks := tool.NeedsApproval(shell, input)
		fmt.Println(command, asks)
	}
	// Output:
	// git status false
	// git push true
	// ls -l docs false
	// ls; rm -r docs true
}

// Static says the same each time.
func ExampleStatic() {
	skill, err := builtin.NewWeather(builtin.WeatherConfig{
		Source: builtin.Static{"Oslo": {Conditions: "slight snowfall", Temperature: -3.5}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := tool.Call(context.Background(), skill.Tools()[0], json.RawMessage(`{"location":"oslo","unit":"fahrenheit"}`))
	fmt.Println(res.Text(), err)
	// Output: {"location":"Oslo","conditions":"slight snowfall","temperature":25.7,"unit":"fahrenheit"} <nil>
}
