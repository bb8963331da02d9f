package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	busembed "github.com/skelegent/skelegent-go/bus/embed"
)

//go:embed demo/*
var demoFiles embed.FS

// Files of a demonstration's directory, beside those of the program's own folder demo.
const (
	demoMarker  = ".skelegent-demo" // says whose directory it is
	demoOrders  = "orders.txt"
	demoLog     = "worker.log"
	demoWorkers = "node" // what the worker keeps
)

// openDemoDir returns the directory of a demonstration and what takes it away. A named one stays, and what an earlier
// demonstration left there goes. One with anything else in it is not touched.
func openDemoDir(dir string) (path string, remove func() error, err error) {
	if dir == "" {
		path, err := os.MkdirTemp("", "skelegent-demo-")
		if err != nil {
			return "", nil, fmt.Errorf("make a temporary directory: %w", err)
		}
		return path, func() error { return os.RemoveAll(path) }, nil
	}
	if path, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("demo directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", nil, fmt.Errorf("demo directory: %w", err)
	}
	return path, func() error { return nil }, clearDemoDir(path)
}

func clearDemoDir(dir string) error {
	there, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("demo directory: %w", err)
	}
	if len(there) == 0 {
		return os.WriteFile(filepath.Join(dir, demoMarker), nil, 0o600)
	}
	if _, err := os.Stat(filepath.Join(dir, demoMarker)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has files in it that are not the demo's: name an empty directory with --dir", dir)
	}
	for _, data := range []string{defaultData, demoWorkers} { // not under somebody who runs
		id, err := busembed.OpenIdentity(filepath.Join(dir, data))
		if err != nil {
			return err
		}
		if err := id.Close(); err != nil {
			return err
		}
	}
	for _, name := range []string{defaultData, demoWorkers, demoOrders, demoLog} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("demo directory: %w", err)
		}
	}
	return nil
}

// writeDemoFiles writes the manifest and its programs. The manifest gets the address of the model; edit may spoil it.
func writeDemoFiles(dir, model string, edit func(manifest string) string) error {
	return fs.WalkDir(demoFiles, "demo", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := demoFiles.ReadFile(path)
		if name := filepath.Base(path); name == defaultManifest {
			text := strings.Replace(string(data), "http://MODEL/v1", model, 1)
			if edit != nil {
				text = edit(text)
			}
			data = []byte(text)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the demo's files: %w", err)
		}
		return nil
	})
}

// demoOrdered returns the lines of the file of orders.
func demoOrdered(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, demoOrders))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the orders: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}
