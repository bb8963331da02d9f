package main

import (
	"os"
	"path/filepath"
)

// writePrivate writes a file that its owner alone may read, whatever it was before, and as a whole or not at all. What is no
// regular file, such as /dev/stdout, is written as it is.
func writePrivate(file string, data []byte) (err error) {
	if info, statErr := os.Stat(file); statErr == nil && !info.Mode().IsRegular() {
		return os.WriteFile(file, data, 0o600)
	}
	if real, linkErr := filepath.EvalSymlinks(file); linkErr == nil {
		file = real
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".skelegent-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name()) // what is wrong already is told
		}
	}()
	if _, err = temp.Write(data); err != nil {
		_ = temp.Close()
		return err
	}
	if err = temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
