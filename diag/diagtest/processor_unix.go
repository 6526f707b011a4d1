//go:build unix

package diagtest

import (
	"syscall"
	"time"
)

// ProcessorTime is what this process has used of its processors so far. Tests that hold work to a bound measure it
// rather than the clock, which runs on while other programs work. It is 0 on systems that do not report it.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
