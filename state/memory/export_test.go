package memory

// Len returns how many values are kept, expired ones too.
func Len(s *Store) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, items := range s.scopes {
		n += len(items)
	}
	if n != s.count {
		panic("count is off")
	}
	return n
}
