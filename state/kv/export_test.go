package kv

// ForceBlobs has every value of s in the object store.
func ForceBlobs(s *Store) *Store {
	s.maxMessage = 1
	return s
}

// BlobPrefix is what the names of our blobs start with.
const BlobPrefix = blobPrefix
