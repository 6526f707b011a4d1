package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

// startInBackground starts this program anew, and returns once that serves, as ssh-agent does. Commands that set the
// variables of programs go to out, all else that it prints to notes. The port is free, unless -listen names one.
func startInBackground(out, notes io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // which the new process inherits: an interrupt at the prompt is not meant for it
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), isBackgroundFlag)
	server := exec.Command(program, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	server.Stderr = os.Stderr
	printed, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	pid := server.Process.Pid
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		line := lines.Text()
		command := strings.TrimSpace(line)
		if !strings.HasPrefix(command, "export ") {
			fmt.Fprintln(notes, line)
			continue
		}
		fmt.Fprintln(out, command)
		if strings.HasPrefix(command, "export DIAG_KEY=") {
			fmt.Fprintf(notes, "It runs in the background: kill %d ends it.\n", pid)
			fmt.Fprintf(out, "export DEMO_PID=%d\n", pid)
			return server.Process.Release()
		}
	}
	return errors.Join(errors.New("the server has ended"), server.Wait())
}

// isBackgroundFlag reports whether an argument is the flag that the new process must not have.
func isBackgroundFlag(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "-") && name == "background"
}
