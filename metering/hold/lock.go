package hold

import (
	"runtime"
	"sync"
)

// lock is a mutex for very short work by very many goroutines. A mutex that is fought over hands
// itself from one sleeping goroutine to the next, which costs ten times the work it guards; giving way
// for a moment first lets whoever has it finish.
type lock struct{ sync.Mutex }

// tries is how often a goroutine gives way before it goes to sleep.
const tries = 16

func (l *lock) Lock() {
	for range tries {
		if l.TryLock() {
			return
		}
		runtime.Gosched()
	}
	l.Mutex.Lock()
}
