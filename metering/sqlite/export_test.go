package sqlite

// SetHeapSize makes heaps of the index small enough to be met in a test. No charge may have been made.
func (s *Store) SetHeapSize(n int) { s.index.size = n }
