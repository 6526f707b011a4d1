package main

import (
	"os/exec"
	"syscall"
)

// tied lets a command die with the tests, also where they are killed.
func tied(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
