package diagtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ending is a test that notes how it ends.
type ending struct {
	testing.TB
	how string
}

func (e *ending) end(how string) { e.how = how; panic(how) }

func (e *ending) Helper()               {}
func (e *ending) Skipf(string, ...any)  { e.end("skipped") }
func (e *ending) Fatalf(string, ...any) { e.end("failed") }

func TestVectors(t *testing.T) {
	there := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(there, "cases.json"), nil, 0o644))
	nowhere := filepath.Join(there, "nowhere")
	for _, c := range []struct{ name, dir, file, ci, want string }{
		{"there", there, "cases.json", "", ""},
		{"no vectors at all", nowhere, "cases.json", "", "skipped"},
		{"no vectors where they are demanded", nowhere, "cases.json", "true", "failed"},
		{"one file is missing", there, "others.json", "", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CONFORMANCE_DIR", c.dir)
			t.Setenv("CI", c.ci)
			e := &ending{TB: t}
			if c.want == "" {
				assert.Equal(t, filepath.Join(c.dir, c.file), diagtest.Vectors(e, c.file))
				return
			}
			assert.Panics(t, func() { diagtest.Vectors(e, c.file) })
			assert.Equal(t, c.want, e.how)
		})
	}
}
