package headers

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The policy suggested as a replacement is the intended one, as long as it allows nothing more to run.
func TestCorrectedPolicy(t *testing.T) {
	for _, tt := range []struct{ policy, want string }{
		{"default-src 'self', script-src 'self' https://cdn.example.org", "default-src 'self'; script-src 'self' https://cdn.example.org"},
		{"default-src 'self', script-src 'self' 'unsafe-inline'", ""},
		{"default-src 'self', script-src https://unpkg.com", ""},
		{"script-src 'self', https://cdn.example.org, https://img.example.org; base-uri 'none'",
			"script-src 'self' https://cdn.example.org https://img.example.org; base-uri 'none'"},
		{"default-src 'self'; report-uri https://r.example/?a=1,2", "default-src 'self'; report-uri https://r.example/?a=1%2C2"},
		{"default-src self; base-uri 'none'", "default-src 'self'; base-uri 'none'"},
		{"default-src 'self'; scripts-src 'unsafe-inline'", ""},
		{"defualt-src 'self'", "default-src 'self'"},
		{"defualt-src 'none'", ""}, // it would stop the page's own script
	} {
		r := check(t, newWorld(t, "Content-Security-Policy: "+tt.policy, goodBody), Request{URL: diag.MustURL("example.com")})
		got := ""
		for _, rec := range r.Recommendations {
			if rec.Code == "headers.csp.comma" || rec.Code == "headers.csp.syntax" {
				got += strings.TrimPrefix(rec.SuggestedValue, "Content-Security-Policy: ")
			}
		}
		require.Equal(t, tt.want, got, tt.policy)
	}
}

func TestWhereTheCommaIs(t *testing.T) {
	const policy = "default-src 'self'; img-src * , script-src 'self'"
	r := check(t, newWorld(t, "Content-Security-Policy: "+policy, goodBody), Request{URL: diag.MustURL("example.com")})
	require.Equal(t, diag.Code("headers.csp.comma"), r.Findings[0].Code, diagtest.Codes(r.Verdict))
	require.Equal(t, strings.IndexByte(policy, ','), r.Findings[0].Location.Offset)
	require.Contains(t, r.Findings[0].Detail, `"img-src *"`)
}

// FuzzCommas: whatever a line holds, the comma that is found is one.
func FuzzCommas(f *testing.F) {
	for _, s := range []string{"default-src 'self', script-src 'self'", "script-src 'self', https://a.example, x", ",;, a,b", "report-uri a,b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := findComma(line)
		if ok {
			require.Equal(t, byte(','), line[c.offset])
			require.NotEmpty(t, c.meant)
			require.NotContains(t, c.meant, ",")
		}
	})
}

// What runs is in the report of every page, also of one without a policy, and framing follows X-Frame-Options.
func TestRunsInTheReport(t *testing.T) {
	for _, tt := range []struct {
		lines              string
		runs               int
		strength           Strength
		embedding, handler string
	}{
		{"", 0, Strong, "frame-ancestors", "script-src"},
		{"-Content-Security-Policy", 7, Missing, "X-Frame-Options", ""},
		{"-Content-Security-Policy\n-X-Frame-Options", 8, Missing, "", ""},
		{"Content-Security-Policy: script-src-attr 'unsafe-inline'; default-src 'self'; base-uri 'none'", 1, Weak, "X-Frame-Options", "script-src-attr"},
		{"Content-Security-Policy: default-src 'self'", 1, Good, "X-Frame-Options", "default-src"},
	} {
		r := check(t, newWorld(t, tt.lines, "<p>"), Request{URL: diag.MustURL("example.com")})
		p := r.SecurityHeaders.ContentSecurityPolicy
		n := 0
		for _, a := range p.Runs.List() {
			if a.Runs {
				n++
			}
		}
		require.Equal(t, tt.runs, n, tt.lines)
		require.Equal(t, []string{tt.embedding, tt.handler, string(tt.strength)},
			[]string{p.Runs.Embedding.By, p.Runs.EventHandler.By, string(p.Strength)})
	}
	r := check(t, newWorld(t, "Content-Type: application/json", "{}"), Request{URL: diag.MustURL("example.com")})
	require.Zero(t, r.SecurityHeaders.ContentSecurityPolicy.Runs)
}

// A full set of fields, as OWASP recommends it, has no fault that costs points without being named.
func TestFullSet(t *testing.T) {
	const set = `X-Permitted-Cross-Domain-Policies: none
Clear-Site-Data: "cache", "cookies", "storage"
Cache-Control: no-store, max-age=0
X-Frame-Options: deny
Content-Security-Policy: `
	for policy, want := range map[string]string{
		"default-src 'self'; form-action 'self'; base-uri 'self'; object-src 'none'; frame-ancestors 'none'; upgrade-insecure-requests": "",
		"default-src 'self'; form-action 'self'; object-src 'none'; frame-ancestors 'none'; block-all-mixed-content":                    "csp.base csp.deprecated",
		"default-src 'self' data:; base-uri 'none'; object-src 'none'":                                                                  "csp.scripts.broad",
	} {
		r := check(t, newWorld(t, set+policy, goodBody), Request{URL: diag.MustURL("example.com")})
		require.Equal(t, want, join(diagtest.Codes(r.Verdict)), policy)
		require.Equal(t, want != "csp.scripts.broad", *r.Score >= 90)
		requireExplained(t, r)
	}
}
