package runner

import (
	"fmt"
	"testing"
)

func TestInterpretersOfWindows(t *testing.T) {
	t.Parallel()
	const git = `C:\Program Files\Git\bin\bash.exe`
	for extension, want := range map[string]string{
		"py":  "[{python []} {py [-3]}]",
		"js":  "[{node []}]",
		"ts":  "[{bun []} {deno [run --allow-read --allow-env]} {npx [tsx]}]",
		"sh":  "[{" + git + " []} {bash []} {powershell [-NoProfile -NonInteractive -ExecutionPolicy Bypass -File]}]",
		"ps1": "[{pwsh [-NoProfile -NonInteractive -File]} {powershell [-NoProfile -NonInteractive -ExecutionPolicy Bypass -File]}]",
	} {
		if got := fmt.Sprint(interpreters(true, extension)); got != want {
			t.Errorf("%s: got %s, want %s", extension, got, want)
		}
	}
	const text = "[-NoProfile -NonInteractive -Command]"
	if got := fmt.Sprint(shells(true, true)); got != "[{pwsh "+text+"} {powershell "+text+"}]" {
		t.Errorf("powershell: got %s", got)
	}
	if got := fmt.Sprint(shells(true, false)); got != "[{"+git+" [-c --]} {bash [-c --]} {powershell "+text+"}]" {
		t.Errorf("bash: got %s", got)
	}
}
