package diagtest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A recorder is a test that records its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatalf(f string, args ...any)    { r.Errorf(f, args...) }
func (r *recorder) Fatal(args ...any)               { r.Error(args...) }
func (r *recorder) Logf(format string, args ...any) {}

var numbers = rule.Rules[int]{
	{Code: "test.even", Severity: diag.Error, Title: "The number is odd", Requirement: "The number is even",
		Fails: func(n int) rule.Failures { return rule.FailIf(n%2 != 0, "it is %d", n) }},
	{Code: "test.small", Severity: diag.Warning, Title: "The number is large", Requirement: "The number is small",
		Fails: func(n int) rule.Failures { return rule.FailIf(n > 9, "it is %d", n) }},
}

var texts = rule.Texts{
	"valid":   {Headline: "All is well", Sub: "Nothing to do."},
	"warning": {Headline: "The number is large", Sub: "Take another."},
	"invalid": {Headline: "The number is odd", Sub: "Take another."},
}

func TestCoverRules(t *testing.T) {
	tests := []struct {
		name     string
		evidence []int
		want     []string
	}{
		{"all", []int{2, 11}, nil},
		{"none", nil, []string{"no test fulfils test.even", "no test violates test.even",
			"no test fulfils test.small", "no test violates test.small"}},
		{"only good", []int{2, 4}, []string{"no test violates test.even", "no test violates test.small"}},
		{"only bad", []int{11}, []string{"no test fulfils test.even", "no test fulfils test.small"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen diagtest.Seen
			for _, n := range tt.evidence {
				seen.Add(numbers.Judge(n, texts))
			}
			r := &recorder{}
			diagtest.CoverRules(r, numbers, seen)
			assert.Equal(t, tt.want, r.failures)
		})
	}
}

func TestCodes(t *testing.T) {
	var seen diagtest.Seen
	assert.Equal(t, []diag.Code{"test.even", "test.small"}, seen.Add(numbers.Judge(11, texts)))
	assert.Equal(t, []diag.Code{}, diagtest.Codes(numbers.Judge(2, texts)))
}

func TestCheckTexts(t *testing.T) {
	long := rule.Texts{"valid": {Headline: strings.Repeat("x", 71), Sub: "Nothing to do."}}
	tests := []struct {
		name  string
		texts rule.Texts
		n     int
		want  []string // parts of the failures
	}{
		{"good", texts, 11, nil},
		{"no text for the state", rule.Texts{}, 2,
			[]string{"the state valid has no text", "state valid with findings [] has no headline"}},
		{"headline too long", long, 2, []string{"the headline has 71 characters", "headline of 71 characters"}},
		{"no sub", rule.Texts{"valid": {Headline: "All is well"}}, 2, []string{"without a full stop", "no sub"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			verdicts := []diag.Verdict{numbers.Judge(tt.n, tt.texts)}
			diagtest.CheckTexts(r, tt.texts, numbers.Describe(), verdicts)
			require.Len(t, r.failures, len(tt.want))
			for i, want := range tt.want {
				assert.Contains(t, r.failures[i], want)
			}
		})
	}
}

func TestGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts.golden")
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	tests := []struct{ name, got, want string }{
		{"same", "one\ntwo\n", ""},
		{"other line", "one\n2\n", ":2: differs (go test -update writes it)\n got: 2\nwant: two"},
		{"shorter", "one\n", ":2: differs (go test -update writes it)\n got: \nwant: two"},
		{"longer", "one\ntwo\nthree\n", ":3: differs (go test -update writes it)\n got: three\nwant: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			diagtest.Golden(r, path, []byte(tt.got))
			assert.True(t, strings.HasSuffix(strings.Join(r.failures, "\n"), tt.want), r.failures)
			assert.Equal(t, tt.want == "", len(r.failures) == 0)
		})
	}
}

func TestWorldReportsMistakes(t *testing.T) {
	tests := []struct {
		name string
		do   func(*diagtest.World)
		want string
	}{
		{"bad record", func(w *diagtest.World) { w.Zone("example.com. A 999") }, "zone"},
		{"bad address", func(w *diagtest.World) { w.Host("example.com", "999") }, "unable to parse IP"},
		{"bad port", func(w *diagtest.World) { w.Behave("example.com:x", diagtest.Hangs) }, "the port of example.com:x"},
		{"record outside", func(w *diagtest.World) {
			w.Server("ns.example.com", "192.0.2.1", "example.com. NS ns\nexample.net. NS ns")
		}, "example.net. lies outside"},
		{"algorithm", func(w *diagtest.World) { w.Sign("example.com", diagtest.Signing{Algorithm: 99}) },
			"unknown algorithm 99"},
		{"server without an address", func(w *diagtest.World) { w.Server("ns.example.com", "none") }, "unable to parse IP"},
		{"resolver without an address", func(w *diagtest.World) { w.Resolver("none") }, "unable to parse IP"},
		{"site at a bad port", func(w *diagtest.World) { w.HTTPS("example.com:x", nil) }, "the port of example.com:x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world, err := diagtest.New(diagtest.Config{})
			require.NoError(t, err)
			defer world.Close()
			tt.do(world)
			assert.ErrorContains(t, world.Err(), tt.want)
			world.Zone("also bad")
			assert.ErrorContains(t, world.Err(), tt.want, "the first mistake counts")
		})
	}
}

func TestGoldenUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "texts.golden")
	r := &recorder{TB: t}
	require.NoError(t, flag.Set("update", "true"))
	diagtest.Golden(r, path, []byte("one\n"))
	require.NoError(t, flag.Set("update", "false"))
	diagtest.Golden(r, path, []byte("one\n"))
	assert.Empty(t, r.failures)
}
