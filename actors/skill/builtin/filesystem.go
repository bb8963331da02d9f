package builtin

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of FileSystemConfig.
const (
	DefaultMaxFile    = 4 << 20
	DefaultMaxRead    = 64 << 10
	DefaultMaxWrite   = 1 << 20
	DefaultMaxEntries = 500
)

// FileSystemConfig is what files a FileSystem reads and writes.
type FileSystemConfig struct {
	// Root is the directory that holds them, an absolute path. It must exist.
	Root string
	// ReadOnly leaves write_file out.
	ReadOnly bool
	// ApproveWrites has a person allow each call of write_file.
	ApproveWrites bool
	// RequireHash has write_file overwrite a file only where if_sha256 is given.
	RequireHash bool
	// MaxFile is the largest file in bytes that is read or compared; DefaultMaxFile if 0, never less than MaxWrite.
	MaxFile int64
	// MaxRead is how many bytes of text read_file returns at a time; DefaultMaxRead if 0.
	MaxRead int
	// MaxWrite is how many bytes write_file writes at most; DefaultMaxWrite if 0.
	MaxWrite int
	// MaxEntries is how many entries list_dir returns at a time; DefaultMaxEntries if 0.
	MaxEntries int
}

// FileSystem is the skill filesystem: read_file, write_file and list_dir in one directory, the root.
//
// Paths are relative to the root. What leads out of it is refused: "..", absolute paths and links, also a link that is made
// while a call runs, since every file is opened below the descriptor of a directory. Links within the root are followed,
// unless they are absolute, but not by the last part of a path that is written. A hard link is a file as any other, and what
// is mounted in the root is part of it. Only regular files that are UTF-8 without NUL are read, and only regular files are
// overwritten.
//
// All three tools may be called again: write_file of what a file already holds changes nothing and succeeds, also where
// if_sha256 is that of the content before. A call that is made again after a crash, when somebody else has written the file
// since, overwrites that; with if_sha256 it is a conflict instead. Reading may run beside other calls.
//
// The root has no limit of its own of how much is written into it in all.
type FileSystem struct {
	config FileSystemConfig
	lock   chan struct{} // of capacity 1: writers below the same root, in this process
}

// locks are those of all roots, so that two skills with the same root know of each other.
var locks sync.Map // of the root's path to chan struct{}

// NewFileSystem returns the skill. The error says that the root is no absolute path of a directory.
func NewFileSystem(c FileSystemConfig) (*FileSystem, error) {
	if !filepath.IsAbs(c.Root) {
		return nil, badConfig(NameFileSystem, "the root must be an absolute path")
	}
	root, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		return nil, badConfig(NameFileSystem, "there is no root "+quoted(filepath.Base(c.Root))).Because(err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, badConfig(NameFileSystem, "the root "+quoted(filepath.Base(c.Root))+" is no directory").Because(err)
	}
	c.Root = root
	set(&c.MaxFile, DefaultMaxFile)
	set(&c.MaxRead, DefaultMaxRead)
	set(&c.MaxWrite, DefaultMaxWrite)
	set(&c.MaxEntries, DefaultMaxEntries)
	c.MaxFile = max(c.MaxFile, int64(c.MaxWrite))
	lock, _ := locks.LoadOrStore(root, make(chan struct{}, 1))
	return &FileSystem{config: c, lock: lock.(chan struct{})}, nil
}

// Name implements Code.
func (*FileSystem) Name() string { return NameFileSystem }

// Description implements Code.
func (f *FileSystem) Description() string {
	if f.config.ReadOnly {
		return "Reads and lists the files of a working directory."
	}
	return "Reads, writes and lists the files of a working directory."
}

// Prompt implements Code.
func (f *FileSystem) Prompt() string {
	text := "You can use the files of a working directory. All paths are relative to it, such as notes/today.txt; absolute paths " +
		"and \"..\" are refused. List a directory with list_dir before you guess names. Read long files in parts: continue at " +
		"next_offset while there is one."
	switch {
	case f.config.ReadOnly:
		return text + " Nothing can be written."
	case f.config.RequireHash:
		return text + " write_file replaces the whole file. To overwrite a file, read it first and pass its sha256 as if_sha256."
	}
	return text + " write_file replaces the whole file. When you change a file, read it first and pass its sha256 as if_sha256, " +
		"so that nothing is lost that was written since."
}

// Tools implements Code.
func (f *FileSystem) Tools() []tool.Tool {
	tools := []tool.Tool{
		tool.Func("read_file", "Reads a text file, or some of its lines. Returns the text, the number of lines, and the sha256 of "+
			"the whole file. Where next_offset is returned there is more: read on from there.",
			f.read, tool.Repeatable(), tool.ParallelSafe()),
	}
	if !f.config.ReadOnly {
		opts := []tool.Option{tool.Repeatable()}
		if f.config.ApproveWrites {
			opts = append(opts, tool.RequiresApproval())
		}
		tools = append(tools, tool.Func("write_file", "Writes a text file as a whole, and makes the directories that it needs. "+
			"What the file held before is replaced.", f.write, opts...))
	}
	return append(tools, tool.Func("list_dir", "Lists a directory, sorted by name. Where next_after is returned there is more: "+
		"list again with after.", f.list, tool.Repeatable(), tool.ParallelSafe()))
}

// open opens the root. Nothing is held between calls.
func (f *FileSystem) open(ctx context.Context) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, protocol.AsError(err)
	}
	root, err := os.OpenRoot(f.config.Root + string(filepath.Separator) + ".") // see openDir
	if err != nil {
		return nil, fileError(".", err)
	}
	return root, nil
}

// acquire waits until no other call writes below the root.
func (f *FileSystem) acquire(ctx context.Context) (release func(), err error) {
	select {
	case f.lock <- struct{}{}:
		return func() { <-f.lock }, nil
	case <-ctx.Done():
		return nil, protocol.AsError(ctx.Err())
	}
}
