package diag

import (
	"errors"
	"fmt"
	"io/fs"
)

// ForgetLists makes the lists of [Env.Data] be read again, each when it is needed next.
func (e *Env) ForgetLists() { e.source().lists.Clear() }

// listKey is under what a list is kept: one file may be read as lists of several types.
type listKey[T any] struct{ name string }

// List returns a list that an operator may replace, such as that of public resolvers: what parse
// makes of the file of that name in [Env.Data], or else what is built in. The file is read once for
// each Env and each type of list. The error names the file.
func List[T any](e *Env, name string, builtIn func() T, parse func([]byte) (T, error)) (T, error) {
	e = e.source()
	if e.Data == nil {
		return builtIn(), nil
	}
	if kept, ok := e.lists.Load(listKey[T]{name}); ok {
		return kept.(T), nil
	}
	data, err := fs.ReadFile(e.Data, name)
	if errors.Is(err, fs.ErrNotExist) {
		kept, _ := e.lists.LoadOrStore(listKey[T]{name}, builtIn())
		return kept.(T), nil
	}
	var list T
	if err == nil {
		list, err = parse(data)
	}
	if err != nil {
		return list, fmt.Errorf("reading the list %s: %w", name, err)
	}
	kept, _ := e.lists.LoadOrStore(listKey[T]{name}, list)
	return kept.(T), nil
}
