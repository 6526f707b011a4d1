package tlscert

import "sync"

// A memo makes each value once. Who asks for one that is being made waits on a channel, as a mutex would stop the clock
// of tests with a time of their own. The zero memo is ready.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*remembered[V]
}

type remembered[V any] struct {
	done  chan struct{}
	value V
}

// get returns what produce makes for a key the first time. If that panics, others get the zero value.
func (m *memo[K, V]) get(key K, produce func() V) V {
	m.mu.Lock()
	r, known := m.known[key]
	if !known {
		if m.known == nil {
			m.known = map[K]*remembered[V]{}
		}
		r = &remembered[V]{done: make(chan struct{})}
		m.known[key] = r
	}
	m.mu.Unlock()
	if known {
		<-r.done
		return r.value
	}
	defer close(r.done)
	r.value = produce()
	return r.value
}
