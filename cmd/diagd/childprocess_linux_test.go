package main

import (
	"os/exec"
	"syscall"
)

// endWithTests makes a command end with the tests, also if they are killed.
func endWithTests(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
