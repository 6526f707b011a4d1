//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// cpuTime returns the CPU time that this process has used so far, or 0 if unknown.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// setStopped stops a process, or continues it.
func setStopped(p *os.Process, stop bool) error {
	if stop {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}
