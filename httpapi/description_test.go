package httpapi

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each operation, and nothing else, is described in three sentences.
func TestAbout(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z].*[^.]\.$`)
	seen := map[string]string{}
	for _, ep := range endpoints {
		require.Len(t, ep.Description(), 3, ep.Name())
		for _, text := range ep.Description() {
			require.Regexp(t, sentence, text, ep.Name())
			require.NotRegexp(t, `[a-z]\. [A-Z]`, text, "%s: two sentences on a line", ep.Name())
		}
		first := ep.Description()[0]
		require.Less(t, len(first), 125, ep.Name())
		require.Empty(t, seen[first], ep.Name())
		seen[first] = ep.Name()
	}
	require.Len(t, descriptions(), len(endpoints))
	require.Equal(t, len(endpoints), strings.Count(descriptionsText, "\n\n")+1)
}

func TestNearest(t *testing.T) {
	for path, want := range map[string]string{
		"/public/v1/spf/lokup": "spf/lookup", "/spf": "spf/lookup", "ssl": "certificates/ssl/check", "whois": "ip/whois",
		"/public/v1/mta-st/lookup": "mta-sts/lookup", "/public/v1/certificate/ssl/check": "certificates/ssl/check",
		"/public/v1/spf/hosted/x/histry": "spf/hosted/{id}/history", "headers": "http/headers-check", "DKIM/Lookup": "dkim/lookup",
		"/": "", "/public/v1/mx": "", "/public/v1/zzz": "", "/spf/" + strings.Repeat("x", 200): "",
	} {
		near, ok := Endpoints().Nearest(path)
		require.Equal(t, want != "", ok, path)
		require.Equal(t, want, near.Name(), path)
	}
	for _, ep := range endpoints {
		near, ok := Endpoints().Nearest(ep.Path + "x")
		require.True(t, ok)
		require.Equal(t, ep.family(), near.family(), ep.Path)
		near, _ = Endpoints().Nearest(ep.Path)
		require.Equal(t, ep.Path, near.Path)
	}
}
