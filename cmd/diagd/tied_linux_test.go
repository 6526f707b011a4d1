package main

import (
	"os/exec"
	"syscall"
)

// tied makes a command end with the tests, also if they are killed.
func tied(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
