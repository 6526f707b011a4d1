//go:build !linux

package main

import (
	"os/exec"
	"syscall"
)

// tied does nothing where the system cannot.
func tied(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}
