package embed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"github.com/nats-io/nkeys"
)

// Files of the data directory. The server's own are under "jetstream".
const (
	NodeKeyFile = "node.key" // the nkey seed that nodes and executors connect with
	nodeIDFile  = "node-id"
	lockFile    = "lock"
	pidFile     = "pid" // who holds the lock; only for the error text of the next one
)

// dataDir is a data directory under its lock.
type dataDir struct {
	path   string
	lock   *flock.Flock
	nodeID string
	key    nkeys.KeyPair
	pub    string // the public half of key
}

// openDir creates the directory if need be, locks it and reads or makes the node's identity and key.
func openDir(path string) (_ *dataDir, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	d := &dataDir{path: path, lock: flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))}
	held, err := d.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", path, err)
	}
	if !held {
		return nil, errors.Join(&InUseError{Dir: path, PID: readPID(path)}, d.lock.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if err := writeFile(filepath.Join(path, pidFile), []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, err
	}
	if d.nodeID, err = d.readNodeID(); err != nil {
		return nil, err
	}
	return d, d.readKey()
}

// close gives the directory back.
func (d *dataDir) close() error {
	_ = os.Remove(filepath.Join(d.path, pidFile)) // of no use to anybody once the lock is free
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("unlock data directory %s: %w", d.path, err)
	}
	return nil
}

func (d *dataDir) readNodeID() (string, error) {
	name := filepath.Join(d.path, nodeIDFile)
	data, err := readOrMake(name, func() ([]byte, error) {
		id, err := uuid.NewRandom()
		return []byte(id.String() + "\n"), err
	})
	if err != nil {
		return "", fmt.Errorf("node identity: %w", err)
	}
	id, err := uuid.ParseBytes(bytes.TrimSpace(data))
	if err != nil {
		return "", fmt.Errorf("node identity %s is damaged: restore it, or remove it and the node gets a new one", name)
	}
	return id.String(), nil
}

func (d *dataDir) readKey() error {
	name := filepath.Join(d.path, NodeKeyFile)
	seed, err := readOrMake(name, func() ([]byte, error) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		defer pair.Wipe()
		seed, err := pair.Seed()
		return append(seed, '\n'), err
	})
	if err != nil {
		return fmt.Errorf("node key: %w", err)
	}
	defer clear(seed)
	if d.key, err = nkeys.FromSeed(bytes.TrimSpace(seed)); err == nil {
		d.pub, err = d.key.PublicKey()
	}
	if err != nil || !nkeys.IsValidPublicUserKey(d.pub) {
		return fmt.Errorf("node key %s is damaged: restore it, or remove it and the node makes a new one", name)
	}
	return nil
}

func readOrMake(name string, generate func() ([]byte, error)) ([]byte, error) {
	data, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if data, err = generate(); err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	return data, writeFile(name, data)
}

// writeFile replaces a file whole or not at all, readable by its owner only.
func writeFile(name string, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

func readPID(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, pidFile))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}
