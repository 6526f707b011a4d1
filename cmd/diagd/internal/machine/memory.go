// Package machine determines the resources of the machine that a program runs on, and bounds how much the program
// uses.
package machine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/httpapi"
)

const (
	// ballastBytes is memory that is never written, so that the machine never provides it, but that
	// counts as live. What is live otherwise is a few megabytes, and a request leaves a few kilobytes
	// behind: without ballast the collector runs many times a second for nothing. A larger GOGC would
	// do the same, and let a heap that is really large grow to a multiple of itself.
	ballastBytes = 32 << 20
	// memoryPercent is how much of the machine's memory the Go runtime may take before it collects at any cost. The
	// rest is for the page cache, which holds the store, and for other programs.
	memoryPercent = 75
)

var ballast []byte

// BoundMemory sets the limits of the Go runtime by the machine's memory. GOGC and GOMEMLIMIT in the environment take
// precedence.
func BoundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := machineMemory("/"); limit > 0 {
			debug.SetMemoryLimit(limit / 100 * memoryPercent)
		}
	}
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, ballastBytes)
		runtime.KeepAlive(ballast) // the variable keeps it; the call marks it as used for readers and linters
	}
}

// WorkMemory returns how many bytes running operations may hold: half of the limit, because Go's collector lets a
// heap grow to twice what is live.
func WorkMemory() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return httpapi.DefaultMemory
	}
	return limit / 2
}

// machineMemory returns the bytes of memory of this machine, or fewer where a control group has less,
// or 0 where neither can be read.
func machineMemory(root string) int64 {
	limits := append(groupLimits(filepath.Join(root, "sys/fs/cgroup"), ownGroup(filepath.Join(root, "proc/self/cgroup"))),
		memTotal(filepath.Join(root, "proc/meminfo")))
	limits = slices.DeleteFunc(limits, func(n int64) bool { return n <= 0 })
	if len(limits) == 0 {
		return 0
	}
	return slices.Min(limits)
}

// memTotal reads the line "MemTotal: 8052336 kB" of proc_meminfo(5).
func memTotal(path string) int64 {
	text, _ := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// ownGroup reads the path of this process's control group, of version 2, from the line "0::/path" of cgroups(7).
func ownGroup(path string) string {
	text, _ := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "0::"); ok {
			return group
		}
	}
	return "/"
}

// groupLimits returns the limits of a control group and those around it, 0 for none; inside a container the group is
// the visible root. Version 1 has a name of its own for the same file.
func groupLimits(root, group string) (limits []int64) {
	files := []string{filepath.Join(root, "memory/memory.limit_in_bytes"), filepath.Join(root, "memory.max")}
	for dir := group; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		files = append(files, filepath.Join(root, dir, "memory.max"))
	}
	for _, path := range files {
		text, _ := os.ReadFile(path)
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
		if err == nil {
			limits = append(limits, n)
		}
	}
	return limits
}
