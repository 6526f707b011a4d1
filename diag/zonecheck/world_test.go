package zonecheck

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// parentZone is the zone above.
const parentZone = `
com.           3600 SOA ns1.nic.com. hostmaster.nic.com. 1 14400 3600 1209600 3600
com.           3600 NS  ns1.nic.com.
ns1.nic.com.   3600 A   192.0.2.2
`

// goodZone is a zone with which nothing is wrong.
const goodZone = `
example.com.      3600 SOA ns1.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600
example.com.      3600 NS  ns1.example.com.
example.com.      3600 NS  ns2.example.com.
ns1.example.com.  3600 A    192.0.2.53
ns1.example.com.  3600 AAAA 2001:db8:1::53
ns2.example.com.  3600 A    198.51.100.53
ns2.example.com.  3600 AAAA 2001:db8:2::53
example.com.      3600 A    203.0.113.80
example.com.      3600 MX 10 mx.example.com.
mx.example.com.   3600 A    203.0.113.25
example.com.      3600 TXT "v=spf1 mx -all"
www.example.com.  3600 A    203.0.113.80
53.2.0.192.in-addr.arpa.      PTR ns1.example.com.
53.100.51.198.in-addr.arpa.   PTR ns2.example.com.
53.2.0.192.origin.asn.cymru.com.    TXT "64496 | 192.0.2.0/24 | US | arin | 2026-01-01"
53.100.51.198.origin.asn.cymru.com. TXT "64497 | 198.51.100.0/24 | US | arin | 2026-01-01"
`

var request = Request{Domain: diag.MustDomain("example.com")}

// A stage is a world with a zone and its servers, on which a play may spoil something.
type stage struct {
	*diagtest.World
	env *diag.Env
}

// play audits example.com in a bubble, in a world that is set up by the function.
func play(t *testing.T, setup func(*stage)) *Report {
	t.Helper()
	var report *Report
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		s.env = s.World.Env()
		setup(s)
		r, err := Check(t.Context(), s.env, request)
		require.NoError(t, err)
		report = r
	})
	return report
}

// serve opens the servers of a zone below com.
func (s *stage) serve(zone string) {
	s.Zone(parentZone + zone)
	s.ServeZones()
}

// drop returns the good zone without the lines that hold a text.
func drop(texts ...string) string {
	zone := ""
	for line := range strings.Lines(goodZone) {
		held := false
		for _, text := range texts {
			held = held || strings.Contains(line, text)
		}
		if !held {
			zone += line
		}
	}
	return zone
}

// swap returns the good zone with one text replaced.
func swap(old, replacement string) string {
	if !strings.Contains(goodZone, old) {
		panic("the zone does not have " + old)
	}
	return strings.ReplaceAll(goodZone, old, replacement)
}

// worse returns the codes of findings that are worse than info, once each.
func worse(r *Report) []diag.Code {
	codes := []diag.Code{}
	for _, f := range r.Findings {
		if f.Severity > diag.Info {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func TestHealthy(t *testing.T) {
	r := play(t, func(s *stage) { s.serve(goodZone) })
	for _, f := range r.Findings {
		t.Logf("%s %s %s %s", f.Severity, f.Code, f.Target, f.Detail)
	}
	require.Empty(t, worse(r))
}
