package main

import (
	"bufio"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// movableClock is the build tag of a diagd whose clock can be moved: by the duration in the file that DIAGD_CLOCK
// names.
const movableClock = "movableclock"

// program is the diagd to run: the one that --diagd names, or one that is built here, until remove is called.
func (f benchFlags) program(ctx context.Context) (path string, remove func(), err error) {
	if f.diagd != "" {
		path, err = filepath.Abs(f.diagd)
		return path, func() {}, err
	}
	dir, err := os.MkdirTemp("", "diagd-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	path = filepath.Join(dir, "diagd.exe") // which is a name like any other where programs have no such ending
	build := exec.CommandContext(ctx, "go", "build", "-tags="+movableClock, "-o", path,
		"github.com/diagkit/diagkit/cmd/diagd")
	if out, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("--diagd: name the program to run; it cannot be built here: %w %s", err, out)
	}
	return path, remove, nil
}

// hasMovableClock reports whether a diagd was built so that its clock can be moved.
func hasMovableClock(program string) bool {
	info, err := buildinfo.ReadFile(program)
	return err == nil && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), movableClock)
	})
}

// A victim is diagd serving as a process of its own.
type victim struct {
	cmd         *exec.Cmd
	url, secret string // the secret is that of a first start
}

var (
	servingLine = kit.Regexp(`msg=serving url=(\S+)`)
	secretText  = kit.Regexp(`svc_live_[a-z2-7]{36}`)
)

// startVictim starts a server with environment settings in addition to the store, and waits until it serves.
func startVictim(ctx context.Context, program, store string, settings ...string) (v victim, err error) {
	v.cmd = exec.CommandContext(ctx, program, "serve", "--listen=127.0.0.1:0", "--ip-rate=0")
	v.cmd.Env = append(victimEnv(store), settings...)
	stderr, err := v.cmd.StderrPipe()
	if err != nil {
		return v, err
	}
	if err := v.cmd.Start(); err != nil {
		return v, err
	}
	if err := v.await(stderr); err != nil {
		return v, errors.Join(err, v.cmd.Wait())
	}
	return v, nil
}

// victimEnv is the environment of a server, without what is set for another one. The command line is seen by others.
func victimEnv(store string) []string {
	others := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "DIAG_") })
	return append(others, "DIAG_STORE="+store)
}

// await reads the log of a server until it serves, and then discards the rest.
func (v *victim) await(stderr io.Reader) error {
	lines := bufio.NewScanner(stderr)
	var seen strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&seen, lines.Text())
		if secret := secretText().FindString(lines.Text()); secret != "" {
			v.secret = secret
		}
		if url := servingLine().FindStringSubmatch(lines.Text()); url != nil {
			v.url = url[1]
			go io.Copy(io.Discard, stderr)
			return nil
		}
	}
	return fmt.Errorf("a server did not start: %s", &seen)
}

// kill ends the server immediately, with all that it has in memory.
func (v victim) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait() // the error is that it was killed
}
