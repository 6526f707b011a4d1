//go:build !race

// Under the race detector these images take minutes; `.ci/run` reads them without it.

package decode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// images leaves out what is not an image.
func images(t *testing.T, files []string) []string {
	t.Helper()
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Ext(f) == ".txt" })
	require.NotEmpty(t, files)
	return files
}

// decodeFile decodes all codes of a file.
func decodeFile(t *testing.T, file string) *Report {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	report, err := Decode(t.Context(), nil, Request{Image: data, MaxCodes: maxCodes})
	require.NoError(t, err, file)
	return report
}

// Sheets hold several codes; a text file beside a sheet lists them.
func TestConformanceSheets(t *testing.T) {
	played, right := 0, 0
	for _, file := range images(t, diagtest.Vectors(t, "web/qr/multi")) {
		want, err := os.ReadFile(strings.TrimSuffix(file, filepath.Ext(file)) + ".txt")
		report := decodeFile(t, file)
		var got []string
		for _, c := range report.Codes {
			got = append(got, c.Text)
		}
		played++
		if err != nil { // no list: the name tells how many there are at least
			if assert.GreaterOrEqual(t, len(got), 2, file) {
				right++
			}
			t.Logf("%s: %q", filepath.Base(file), got)
			continue
		}
		if assert.ElementsMatch(t, strings.Split(strings.TrimSpace(string(want)), "\n"), got, file) {
			right++
		}
	}
	t.Logf("sheets: %d/%d", right, played)
}

// Images without a code have none, and those with damaged or foreign codes do no harm.
func TestConformanceNoCodes(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	for _, folder := range []string{"*falsepositives*", "*partial", "*unsupported"} {
		files, none := images(t, diagtest.Suite(t, "web/qr/"+folder)), 0
		if folder != "*falsepositives*" { // no answer is required of the others
			files = slices.DeleteFunc(files, func(f string) bool { return !diagtest.Sampled(filepath.Base(f), 3) })
		}
		for _, file := range files {
			if report := decodeFile(t, file); !report.Found {
				none++
			} else if folder == "*falsepositives*" {
				t.Errorf("%s: %q", file, report.Codes[0].Text)
			} else {
				t.Logf("%s: %q", file, report.Codes[0].Text)
			}
		}
		t.Logf("%s: no code in %d/%d", folder, none, len(files))
	}
}
