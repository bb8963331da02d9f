package runner

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skelegent/skelegent-go/protocol"
)

// paths finds programs in a PATH and remembers those that it found.
type paths struct {
	path    string
	dirs    []string
	visible func(file string) bool // nil: all

	mu    sync.Mutex
	found map[string]string
}

func newPaths(path string, visible func(string) bool) *paths {
	dirs := splitPath(path)
	return &paths{path: strings.Join(dirs, string(os.PathListSeparator)), dirs: dirs, visible: visible, found: map[string]string{}}
}

func (p *paths) LookPath(name string) (string, error) {
	p.mu.Lock()
	file, ok := p.found[name]
	p.mu.Unlock()
	if ok && executable(file) {
		return file, nil
	}
	candidates := []string{name}
	if filepath.Base(name) == name {
		candidates = candidates[:0]
		for _, dir := range p.dirs {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, candidate := range candidates {
		file, err := exec.LookPath(candidate)
		if err != nil || !filepath.IsAbs(file) || p.visible != nil && !p.visible(file) {
			continue
		}
		p.mu.Lock()
		p.found[name] = file
		p.mu.Unlock()
		return file, nil
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// executable says that the file, an absolute path, can be run.
func executable(file string) bool {
	_, err := exec.LookPath(file)
	return err == nil
}

func notStarted(file string) error {
	return failed(KindNotStarted, protocol.CodeToolError, shown(filepath.Base(file))+" cannot be run: it is not there, or no program")
}

// ended is the error of a context that has ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return protocol.AsError(ctx.Err()).Because(context.Cause(ctx))
}
