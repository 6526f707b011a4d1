//go:build !race && linux

package main

// The race detector takes memory of its own.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// worstMix is what takes the most memory, of all that a key of the plan Pack allows in a minute.
func worstMix(n int) (paths, bodies []string) {
	text := func(s string) string {
		body, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			panic(err)
		}
		return string(body)
	}
	const size = 1 << 20
	list := func(item string) string { return "[" + strings.Repeat(item+",", size/(len(item)+1)-2) + item + "]" }
	large := `"` + strings.Repeat(`\u0001`, 10_000) + `"`
	for _, c := range [][2]string{
		{"/text/yaml/to-json", text("a: &a " + large + "\nb: [" + strings.Repeat("*a,", 130) + "*a]\n# " +
			strings.Repeat("x", size-100_000) + "\n")},
		{"/http/qr", `{"data":"` + strings.Repeat("a", 1200) + `","format":"jpeg","size":4096,"foreground":"#200000"}`},
		{"/text/json/format", text(list("1"))},
		{"/http/qr", `{"data":"a","format":"jpeg","size":4096,"foreground":"#002000"}`},
		{"/text/json/to-yaml", text(list(`[1]`))},
		{"/text/slug", text(strings.Repeat("Ä ", size/3))},
		{"/dmarc/report/analyze", manySources(50_000)},
		{"/mail/header-analyze", `{"live":false,"message":"` + strings.Repeat(`a:\n`, 80_000) + `\n` + strings.Repeat("x", 4*size) + `"}`},
	} {
		paths, bodies = append(paths, c[0]), append(bodies, c[1])
	}
	for i := range n - len(paths) {
		paths, bodies = append(paths, paths[i]), append(bodies, bodies[i])
	}
	return paths, bodies
}

// manySources is a request to analyze a report with another source in each record.
func manySources(records int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, "<feedback>")
	for i := range records {
		fmt.Fprintf(z, "<record><row><source_ip>198.%d.%d.%d</source_ip><count>1</count></row></record>", byte(i>>16), byte(i>>8), byte(i))
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	body, err := json.Marshal(map[string][]byte{"content_base64": b.Bytes()})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// All that a key of the plan Pack may request concurrently stays below half a gigabyte, also if each reply is to be
// kept. How many are answered, and how many are asked to retry because they have waited for too long or did not end
// in time, depends on the machine: on a quiet one with two cores nearly all are answered.
func TestMemoryOfWorstMix(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	const atOnce, most = 60, 512 << 20
	t.Setenv("GOGC", "") // which is the caller's
	t.Setenv("GOMEMLIMIT", "")
	dir := t.TempDir()
	store := "--store=sqlite:" + filepath.Join(dir, "diag.db")
	p := startProcess(t, store, "--data", t.TempDir())
	before := highWater(t, p.cmd.Process.Pid)
	out := command(t, "account", "create", "--name=customer", "--plan=pack", "--json", store)
	var account accountView
	require.NoError(t, json.Unmarshal([]byte(out), &account))
	out = command(t, "key", "create", "--account", string(account.ID), "--name=worst", "--scopes=dns:read,mail:read,web:read", "--json", store)
	secret := secretPattern.FindString(out)
	paths, bodies := worstMix(atOnce)
	status := make([]int, atOnce)
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			r, err := post(t.Context(), p.url, secret, paths[i], bodies[i], "Idempotency-Key", fmt.Sprint("worst-mix-", i))
			if assert.NoError(t, err) {
				status[i] = r.status
			}
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, s := range status {
		count[s]++
	}
	peak := highWater(t, p.cmd.Process.Pid)
	t.Logf("%d MiB resident at most, %d before; replies by status: %v", peak>>20, before>>20, count)
	assert.Less(t, peak, int64(most))
	ended := count[http.StatusOK] + count[http.StatusServiceUnavailable] + count[http.StatusGatewayTimeout]
	assert.Equal(t, atOnce, ended, "%v", count)

	var kept int64
	for _, name := range []string{"diag.db", "diag.db-wal"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			kept += info.Size()
		}
	}
	assert.Less(t, kept, int64(8<<20), "large replies that can be made again are not kept")
}

var highWaterLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// highWater returns the most bytes that a process ever had resident (proc_pid_status(5)).
func highWater(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := highWaterLine.FindSubmatch(text)
	require.NotNil(t, found)
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}
