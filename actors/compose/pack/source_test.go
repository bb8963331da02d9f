package pack_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// given are the ids of what a source gives, with their texts.
func given(t testing.TB, s pack.Source) string {
	t.Helper()
	items, err := s.Items(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	line := ""
	for _, i := range items {
		line += i.SourceID + "=" + i.Text() + " "
	}
	return line
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreReadBelowTheirRootAlone(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret.md", "secret")
	write(t, root, "b.md", "B")
	write(t, root, "a/c.md", "C")
	write(t, root, "a/d.txt", "D")
	write(t, root, ".git/config.md", "hidden")
	write(t, root, "large.md", strings.Repeat("x", 100))
	write(t, root, "image.md", "\xff\x00")
	for link, to := range map[string]string{"out.md": filepath.Join(outside, "secret.md"), "in.md": "b.md", "dir": outside, "up.md": "../" + filepath.Base(outside) + "/secret.md"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		files pack.Files
		want  string
	}{
		"all":        {pack.Files{MaxBytes: 10}, "a/c.md=C a/d.txt=D b.md=B image.md= in.md=B large.md= "},
		"by name":    {pack.Files{MaxBytes: 10, Match: []string{"*.txt", "b.*"}}, "a/d.txt=D b.md=B "},
		"by path":    {pack.Files{MaxBytes: 10, Match: []string{"a/*.md"}}, "a/c.md=C "},
		"first ones": {pack.Files{Limit: 2}, "a/c.md=C a/d.txt=D "},
		"none":       {pack.Files{Match: []string{"*.go"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.files.Root = root
			if got := given(t, test.files); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	items, err := pack.Files{Root: root, MaxBytes: 10, Match: []string{"large.md", "image.md"}}.Items(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantLeft(t, pack.Plan(items, pack.Config{}), "image.md:NotText large.md:TooLarge ")
	if _, err := (pack.Files{Root: filepath.Join(root, "none")}).Items(t.Context(), nil); protocol.CodeOf(err) != protocol.CodeNotFound ||
		strings.Contains(protocol.AsError(err).Message, root) {
		t.Errorf("got %v", err)
	}
	if _, err := (pack.Files{Root: root, Match: []string{"["}}).Items(t.Context(), nil); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
}

func TestStateGivesKeysThenPrefixThenWhatIsFound(t *testing.T) {
	t.Parallel()
	store, scope := memory.New(memory.Config{}), protocol.CustomScope("notes")
	for key, value := range map[string]string{
		"pet/cat": `"a cat named Tom"`, "pet/dog": `{"name":"Rex"}`, "home": `"the cat sleeps at home"`, "big": `"` + strings.Repeat("x", 50) + `"`,
	} {
		if err := store.Write(t.Context(), scope, key, json.RawMessage(value), protocol.StoreOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		state pack.State
		want  string
	}{
		"keys":     {pack.State{Keys: []string{"home", "missing", "pet/cat", "home"}}, "home=the cat sleeps at home pet/cat=a cat named Tom "},
		"prefix":   {pack.State{Prefix: "pet/"}, `pet/cat=a cat named Tom pet/dog={"name":"Rex"} `},
		"all":      {pack.State{All: true, Limit: 2, MaxBytes: 40}, "big= home=the cat sleeps at home "},
		"search":   {pack.State{Keys: []string{"pet/cat"}, Query: "home"}, "pet/cat=a cat named Tom home=the cat sleeps at home "},
		"too long": {pack.State{Keys: []string{"big"}, MaxBytes: 10}, "big= "},
		"nothing":  {pack.State{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.state.Store, test.state.Scope = store, scope
			if got := given(t, test.state); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRankedAddsToTheRanks(t *testing.T) {
	t.Parallel()
	fixed := pack.Fixed(item("a", "a", 1), item("b", "b", math.MaxInt), item("c", "c", math.MinInt))
	for rank, want := range map[int][3]int{2: {3, math.MaxInt, math.MinInt + 2}, -2: {-1, math.MaxInt - 2, math.MinInt}} {
		items, err := pack.Ranked(rank, fixed).Items(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]int{items[0].Rank, items[1].Rank, items[2].Rank}; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if items, _ := fixed.Items(t.Context(), nil); items[0].Rank != 1 {
		t.Error("the items of the source were changed")
	}
}
