package embed

// Identity is who a node is, kept in a directory: the same after a restart, and no other's while it is held.
type Identity struct {
	dir *dataDir
}

// OpenIdentity holds the identity in a directory, which it makes if need be. It is for a node without an embedded server,
// whose directory has one already. Where another process holds it the error is an *InUseError.
func OpenIdentity(path string) (*Identity, error) {
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	return &Identity{dir: dir}, nil
}

// NodeID returns the identity, a UUID.
func (i *Identity) NodeID() string { return i.dir.nodeID }

// Close lets another process have it.
func (i *Identity) Close() error { return i.dir.close() }
