//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// cpuTime is what this process has used so far, or 0 where that is not known.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openFiles is how many files and sockets this process may have open, or 0 where that is not known. Go
// raises the limit as far as it may be raised.
func openFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return int(min(r.Cur, 1<<30))
}

// freeze stops a process, or lets it go on.
func freeze(p *os.Process, stop bool) error {
	if stop {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}
