package hsts

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/stretchr/testify/require"
)

// A domain that only receives mail has no website, and nothing is wrong with that.
func TestViewWithoutWebsite(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("mail.example. MX 10 mx.mail.example.\nmx.mail.example. A 192.0.2.25\n")
	r, err := Check(t.Context(), w.Env(), Request{Domain: diag.MustDomain("mail.example")})
	require.NoError(t, err)
	v := r.View()
	require.Equal(t, view.Optional, v.Mark())
	require.Equal(t, "no website", v.Brief)
	require.Empty(t, v.Steps)
	require.Empty(t, v.Facts)
}

func TestViewStage(t *testing.T) {
	for grade, want := range map[Grade]string{
		GradeUnknown: "not known", GradeInvalid: "invalid", GradeMissing: "missing, 1 of 6; next: weak",
		GradeStrong: "strong, 4 of 6; next: preload ready", GradePreloaded: "preloaded",
	} {
		require.Equal(t, want, (&Report{Grade: grade}).stage())
	}
	for want, h := range map[string]*FieldReport{
		"no: browsers ignore the header":                {},
		"365 days, with subdomains":                     {MaxAgeSeconds: new(int64(oneYear)), IncludeSubdomains: true},
		"until the browser forgets, without subdomains": {MaxAgeSeconds: new(int64(maxSeconds))},
	} {
		require.Equal(t, want, h.text(GradeStrong))
	}
}
