package resolver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/miekg/dns"
)

// ErrNoMessage is the error of an exchange that returned neither a message nor an error.
var ErrNoMessage = errors.New("the resolver returned no message")

// Ask calls Exchange of any Exchanger, and returns [ErrNoMessage] if that returns neither a reply nor an
// error.
func Ask(ctx context.Context, r Exchanger, q *dns.Msg) (*dns.Msg, error) {
	m, err := r.Exchange(ctx, q)
	if m == nil && err == nil {
		return nil, ErrNoMessage
	}
	return m, err
}

// An outcome is the result of a goroutine: a value or a panic.
type outcome[T any] struct {
	value    T
	panicked error
}

// get returns the value, or raises the panic again if there was one.
func (o outcome[T]) get() T {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.value
}

// caught runs f, and recovers a panic, which would otherwise end the process.
func caught[T any](f func() T) (o outcome[T]) {
	defer func() {
		if v := recover(); v != nil {
			o.panicked = fmt.Errorf("%v\n\n%s", v, debug.Stack())
		}
	}()
	o.value = f()
	return o
}

// start runs f in a goroutine that sends what it returns.
func start[T any](results chan<- outcome[T], f func() T) {
	go func() { results <- caught(f) }()
}
