//go:build unix

package main

import "syscall"

// openFiles returns how many files and sockets this process may have open, or 0 if unknown. Go raises the limit as
// far as permitted.
func openFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return int(min(r.Cur, 1<<30))
}
