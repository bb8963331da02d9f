package skill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func Example() {
	project, err := os.MkdirTemp("", "skill")
	if err != nil {
		return
	}
	defer os.RemoveAll(project)
	dir := filepath.Join(project, "skills", "greet")
	_ = os.MkdirAll(dir, 0o755)
	_ = os.WriteFile(filepath.Join(dir, skill.FileName),
		[]byte("---\nname: greet\ndescription: Greets people.\n---\nGreet ${1} on !`uname -s`."), 0o600)

	ctx := context.Background()
	found, err := skill.Discover(ctx, []skill.Scope{skill.Project(project)}, skill.Options{})
	if err != nil {
		return
	}
	d, _ := found.Get("greet")
	fmt.Println(d.CatalogueLine())

	content, err := skill.Load(d)
	if err != nil {
		return
	}
	content, _, _ = content.Expand(ctx, skill.Vars{Arguments: []string{"Ada"}},
		func(context.Context, string) string { return "Linux" }) // in place of what runs programs
	fmt.Println(content.Instructions)
	// Output:
	// - greet: Greets people.
	// Greet Ada on Linux.
}
