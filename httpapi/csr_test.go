package httpapi

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// Keys with mail:read alone may parse signing requests for a while (CONTRACT 1.12): that is logged and counted, and answered
// without a date until one is set.
func TestScopesOfSigningRequests(t *testing.T) {
	a := newAPI(t, "self", nil)
	for _, c := range []struct {
		scope      metering.Scope
		status     int
		deprecated string
	}{
		{metering.WebRead, 200, ""}, {metering.MailRead, 200, "mail:read"}, {metering.DNSRead, 403, ""}, {metering.MailWrite, 403, ""},
	} {
		_, a.secret = a.newKey(c.scope)
		before := len(a.log.String())
		r := a.post("/certificates/csr/parse", `{"csr":"-----BEGIN PRIVATE KEY-----\nMIGkAgEBBDB"}`)
		require.Equal(t, c.status, r.Code, c.scope)
		require.Equal(t, c.deprecated, a.seen[len(a.seen)-1].Deprecated)
		log := a.log.String()[before:]
		require.Equal(t, c.deprecated != "", strings.Contains(log, `"msg":"deprecated use"`))
		require.NotContains(t, log, "MIGkAgEBBDB")
		require.NotContains(t, r.Body.String(), "MIGkAgEBBDB")
		require.Equal(t, c.deprecated != "", r.header("Deprecation") == "@1795824000", r.header("Deprecation"))
		require.Empty(t, r.header("Sunset"))
	}
}
