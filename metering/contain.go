package metering

import (
	"fmt"
	"runtime/debug"
)

// Contain runs f. A panic in it is returned as an error with its location: one job, or one check of a store, must not
// end the process that does others.
func Contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n\n%s", v, debug.Stack())
		}
	}()
	return f()
}
