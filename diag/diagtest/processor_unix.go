//go:build unix

package diagtest

import (
	"syscall"
	"time"
)

// ProcessorTime returns the CPU time used by this process so far, or 0 on systems that do not report it.
// Unlike wall-clock time, it does not depend on the load of the machine.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
