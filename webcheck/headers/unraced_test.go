//go:build !race || nightly

package headers

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// TestSuggestedFields sends each suggested field in place of the existing one: the finding must be gone, except that a
// policy in Report-Only has to be enforced yet, and nothing but hints may come up that was not there.
func TestSuggestedFields(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	suggested := 0
	for _, tt := range changes {
		r := check(t, newWorld(t, tt.lines, tt.body), Request{URL: diag.MustURL("example.com")})
		for _, rec := range r.Recommendations {
			if rec.SuggestedValue == "" {
				continue
			}
			suggested++
			name, _, _ := strings.Cut(rec.SuggestedValue, ": ")
			require.True(t, strings.HasPrefix(rec.SuggestedValue, name+": "))
			lines := tt.lines + "\n" + rec.SuggestedValue
			if rec.Code == "headers.misspelled" {
				lines += "\n-X-Content-Type-Option"
			}
			after := check(t, newWorld(t, lines, tt.body), Request{URL: diag.MustURL("example.com")})
			codes := diagtest.Codes(after.Verdict)
			// What is sent first: a policy that is reported on, and HSTS for a time after which a mistake is over.
			for of, step := range map[diag.Code]diag.Code{
				"headers.csp.missing": "headers.csp.report_only", "headers.hsts.missing": "headers.hsts.short",
				"headers.hsts.invalid": "headers.hsts.short", "headers.hsts.zero": "headers.hsts.short",
				"headers.hsts.short": "headers.hsts.short",
			} {
				if rec.Code == of {
					codes = slices.DeleteFunc(codes, func(c diag.Code) bool { return c == step })
				}
			}
			require.NotContains(t, codes, rec.Code, rec.SuggestedValue)
			before := diagtest.Codes(r.Verdict)
			if slices.Contains(before, "headers.cookies.session.secure") {
				before = append(before, "headers.cookies.secure") // what is left of it where HSTS protects the cookie
			}
			for _, f := range after.Findings {
				if f.Severity > diag.Info && slices.Contains(codes, f.Code) {
					require.Contains(t, before, f.Code, "%s causes %s", rec.SuggestedValue, f.Detail)
				}
			}
		}
	}
	require.Greater(t, suggested, 15)
}
