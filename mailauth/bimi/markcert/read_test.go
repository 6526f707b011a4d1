package markcert

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

func TestBuiltInRoots(t *testing.T) {
	for _, c := range defaultRoots().Certificates {
		require.NoError(t, c.CheckSignatureFrom(c), name(c))
	}
	listed := map[string]bool{}
	for _, c := range defaultRoots().Certificates {
		listed[fingerprint(c)] = true
	}
	for sum := range distrusted {
		require.True(t, listed[sum], "%s is distrusted and not among the roots", sum)
	}
}

func TestCovers(t *testing.T) {
	at := func(domain, organizational, selector string) Place { return Place{domain, organizational, selector} }
	for _, tt := range []struct {
		name  string
		names []string
		place Place
		want  bool
	}{
		{"same", []string{"Example.com."}, at("example.com", "example.com", "default"), true},
		{"other", []string{"example.net"}, at("example.com", "example.com", "default"), false},
		{"organizational", []string{"example.com"}, at("news.example.com", "example.com", "default"), true},
		{"below", []string{"news.example.com"}, at("example.com", "example.com", "default"), false},
		{"between", []string{"b.example.com"}, at("a.b.example.com", "example.com", "default"), false},
		{"selector", []string{"default._bimi.example.com"}, at("example.com", "example.com", "default"), true},
		{"other selector", []string{"default._bimi.example.com"}, at("example.com", "example.com", "s1"), false},
		{"any selector", []string{"s1._bimi.example.com"}, at("example.com", "example.com", ""), true},
		{"selector of another", []string{"s1._bimi.example.net"}, at("example.com", "example.com", ""), false},
		{"wildcard", []string{"*.example.com"}, at("news.example.com", "example.net", "default"), false},
		{"none", nil, at("example.com", "", ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, readCoverage(tt.names).covers(tt.place)) })
	}
}

// Details of a certificate's findings that depend on a list, a time or the order of the rules.
func TestDetails(t *testing.T) {
	names := func(list ...string) text {
		return func(_, issuer string) string { return authority.Issue(mark{Domains: list}) }
	}
	for _, tt := range []struct {
		name   string
		text   text
		now    time.Time
		domain string
		want   string
	}{
		{"two names", names("example.net", "example.org"), june, "example.com",
			"The certificate is for example.net and example.org, not for example.com."},
		{"many names", names("a.example", "b.example", "c.example", "d.example", "e.example", "f.example"), june, "example.com",
			"The certificate is for a.example, b.example, c.example, d.example, e.example and 1 more, not for example.com."},
		{"just expired", names("example.com"), time.Date(2027, time.January, 1, 0, 0, 1, 0, time.UTC), "example.com",
			"The certificate expired on 2027-01-01, less than an hour ago."},
		{"key alone", blocks(block("PRIVATE KEY", "secret")), june, "",
			"The text has a block with a private key. It is not repeated here."},
		{"no usage", func(string, string) string {
			return authority.Issue(mark{Change: func(c *template) { c.UnknownExtKeyUsage = nil }})
		}, june, "", "The certificate of “Example Ltd” holds a mark, but lacks the extended key usage of mark certificates " +
			"(id-kp-BrandIndicatorforMessageIdentification)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := ParseRequest{PEM: tt.text("", "")}
			if tt.domain != "" {
				req.Domain = diag.MustDomain(tt.domain)
			}
			r, err := Parse(t.Context(), testEnv(tt.now), req)
			require.NoError(t, err)
			require.Equal(t, tt.want, r.Findings[0].Detail)
		})
	}
}
