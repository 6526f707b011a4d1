package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childEnv makes the test program be bench itself, which loads servers from a second process.
const childEnv = "DIAGD_TEST_IS_BENCH"

// built is the diagd that all tests run, with a clock that can be moved.
var built = sync.OnceValue(func() string {
	path, remove, err := benchFlags{}.program(context.Background())
	if err != nil {
		panic(err)
	}
	removeBuilt = remove
	return path
})

var removeBuilt = func() {}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	os.Unsetenv("JOURNAL_STREAM") // of the user's session
	code := m.Run()
	removeBuilt()
	os.Exit(code)
}

// command runs a command that succeeds and returns its output.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), args, &out, &log), "%v: %s%s", args, &out, &log)
	return out.String()
}

// The measurement runs, with the load in a second process.
func TestBench(t *testing.T) {
	t.Setenv(childEnv, "1")
	f := benchFlags{postgres: os.Getenv("DIAG_TEST_POSTGRES"), redis: os.Getenv("DIAG_TEST_REDIS")}
	text := command(t, "--duration", "50ms", "--rounds", "1", "--connections", "4",
		"--postgres", f.postgres, "--redis", f.redis)
	for _, w := range f.variants() {
		assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(w.name)+` +\d+ `, text)
	}
}

// A store grows with what is charged, and gets rid of it.
func TestSize(t *testing.T) {
	const charges = 5_000
	var list []sizeView
	args := []string{"size", "--json", fmt.Sprint("--charges=", charges), "--dir=" + t.TempDir(),
		"--postgres=" + os.Getenv("DIAG_TEST_POSTGRES")}
	require.NoError(t, json.Unmarshal([]byte(command(t, args...)), &list))
	for _, v := range list {
		assert.Greater(t, v.Full-v.Empty, int64(30*charges), "%+v", v)
		assert.Less(t, v.Full-v.Empty, int64(500*charges), "%+v", v)
		assert.Less(t, v.Pruned-v.Empty, (v.Full-v.Empty)/2, "%+v", v)
	}
}
