package diagtest

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// InOwnProcess reports whether this is the process in which a test measures memory with [LiveBytes]. Elsewhere it
// runs the test there, and the caller returns. What other tests leave behind makes collections long, and what is
// allocated meanwhile would be counted as live; with gcstoptheworld nothing is.
func InOwnProcess(t *testing.T) bool {
	t.Helper()
	const setting = "gcstoptheworld=1"
	if strings.Contains(os.Getenv("GODEBUG"), setting) {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "GODEBUG="+setting)
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Fatalf("%s in a process of its own: %v", t.Name(), err)
	}
	return false
}

// LiveBytes returns how many bytes of heap were live at most while f ran, beside those that were before, as far as
// looking every fraction of a millisecond tells. What the fakes hold is counted too, and garbage of some hundred KiB
// may be. Beyond limit it runs f once more and removes the garbage before each look, which is slower. It is meant for
// a process of [InOwnProcess].
func LiveBytes(limit int64, f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	live := liveBytes(func() {}, f)
	if live > limit {
		live = liveBytes(runtime.GC, f)
	}
	return live
}

func liveBytes(beforeLook, f func()) int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	done := make(chan bool)
	go func() { f(); close(done) }()
	for {
		select {
		case <-done:
			return int64(most - before)
		default:
			beforeLook()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			time.Sleep(200 * time.Microsecond)
		}
	}
}
