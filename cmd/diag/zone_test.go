package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const nextZone = `@ 3600 SOA ns1 hostmaster 2 3600 900 604800 300
@ NS ns1
ns1 A 192.0.2.53
@ A 192.0.2.80
@ MX 10 mx1
mx1 A 192.0.2.25
@ TXT "some-site-verification=1"
@ TXT "v=spf1 mx include:missing ~all"
_dmarc TXT "v=DMARC1; p=nothing"
`

// zoneFile writes a zone file into a folder that is the working one, so that findings name it as it was given.
func zoneFile(t *testing.T, name, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func TestZone(t *testing.T) {
	w := testWorld(t)
	zoneFile(t, "zones/db.example.com", nextZone)
	const file = " --zone zones/db.example.com"
	for _, tt := range []struct {
		name, args string
		code       int
		out, err   string
	}{
		{"record", "TXT _dmarc.example.com --zone zones/db.example.com --short", exitOK, `"v=DMARC1; p=nothing"`, ""},
		{"what will be gone", "resolve _mta-sts.example.com TXT --zone zones/db.example.com", exitOK, "NXDOMAIN", ""},
		{"outside", "MX broken.example --zone zones/db.example.com --short", exitOK, "mx1.broken.example.", ""},
		{"a finding", "spf example.com --zone zones/db.example.com", exitFinding, "(zones/db.example.com:8)", ""},
		{"JUnit", "spf example.com --junit --zone zones/db.example.com", exitFinding, "(zones/db.example.com:8)", ""},
		{"annotated", "dmarc example.com --annotate github" + file, exitFinding,
			"::error file=zones/db.example.com,line=9,title=", ""},
		{"all", "example.com --no-smtp --annotate github" + file, exitFinding,
			"::error file=zones/db.example.com,line=8,title=", ""},
		{"the file alone", "--no-smtp --zone zones/db.example.com --annotate github", exitFinding,
			"::error file=zones/db.example.com,line=8,title=", ""},
		{"servers are not asked", "zone example.com" + file, exitPartial, "", "name servers of example.com"},
		{"nor resolvers", "propagation example.com" + file, exitPartial, "", "not asked before the zone is published"},
		{"nor one", "resolve example.com A --resolver google" + file, exitPartial, "", "name servers of example.com"},
		{"nor the root", "resolve example.com A --trace" + file, exitPartial, "", "name servers of example.com"},
		{"how it will be signed is not known", "dnssec example.com" + file, exitPartial, "", ""},
		{"of others they are", "resolve broken.example MX --resolver google" + file, exitOK, "mx1", ""},
		{"with a server", "example.com --server https://diag.example --key x" + file, exitUsage, "", "--zone works locally only: omit --server"},
		{"no file", "example.com --zone zones/none", exitUsage, "", "zones/none"},
		{"formats", "example.com --json --annotate github", exitUsage, "", "excludes other formats"},
		{"format", "example.com --annotate svn", exitUsage, "", "not github or gitlab"},
		{"DS alone", "zone example.com --ds x", exitUsage, "", "--ds needs --ns"},
		{"no server", "zone example.com --ns ns1.example.com/y", exitUsage, "", "is not an address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(w)
			assert.Equal(t, tt.code, s.run(t.Context(), strings.Fields(tt.args)), "%s%s", &s.out, &s.err)
			assert.Contains(t, s.out.String(), tt.out)
			assert.Contains(t, s.err.String(), tt.err)
		})
	}
}

// What comes on standard input has its name from the argument.
func TestZoneInput(t *testing.T) {
	s := newSession(testWorld(t))
	s.stdin = strings.NewReader(`_dmarc TXT "v=DMARC1; p=none"`)
	code := s.run(t.Context(), strings.Fields("dmarc example.com --zone - --json --fail-on critical"))
	assert.Equal(t, exitOK, code, "%s", &s.err)
	assert.Contains(t, s.out.String(), `p=none`)
	assert.NotContains(t, s.out.String(), "(-:")
}

// A finding is at the line of its record: the one that names its target, or if it is missing, the name or the zone.
func TestPlaces(t *testing.T) {
	z, err := overlay.Parse(nextZone+`_25._tcp.mx1 TLSA 3 1 1 `+strings.Repeat("ab", 32)+`
@ MX 20 mx2.example.net.
s1._domainkey TXT "v=DKIM1; p="
_spf TXT "v=spf1 ?all"
www CNAME example.com.
`, "", "db.example.com")
	require.NoError(t, err)
	a := &app{zone: zoneFlags{zones: []*overlay.Zone{z}}}
	for _, tt := range []struct {
		code, target string
		line         int
	}{
		{"spf.syntax.ip4", "", 8}, {"spf.all.neutral", "_spf.example.com", 13},
		{"spf.a.void", "include:_spf.example.com", 13},
		{"dmarc.policy.value", "p", 9}, {"mtasts.record.missing", "", 1}, {"mx.hosts.unreachable", "", 5},
		{"mx.host.x", "mx2.example.net", 11}, {"smtp.tls.none", "mx2.example.net:25", 11},
		{"dane.tlsa.mismatch", "mx1.example.com", 10},
		{"dkim.key.revoked", "s1._domainkey.example.com", 12}, {"url.dns.none", "www.example.com", 14},
		{"zone.ns.address", "ns1.example.com 192.0.2.53", 3}, {"tls.expired", "", 1},
	} {
		v := &view.View{Subject: "example.com", Findings: []diag.Finding{{Code: diag.Code(tt.code), Target: tt.target}}}
		assert.Equal(t, tt.line, a.locate(v)[0].line, "%s %s", tt.code, tt.target)
	}
	v := &view.View{Subject: "example.com", Findings: []diag.Finding{{Code: "x.y"}},
		Steps: []view.Step{{Code: "x.y", Name: "_dmarc.example.com.", Type: "TXT", Value: "x"}}}
	assert.Equal(t, 9, a.locate(v)[0].line, "where a value belongs")
}

// A file that cannot be read is annotated too.
func TestZoneFault(t *testing.T) {
	zoneFile(t, "example.com.zone", "@ A 192.0.2.1\nwww A 192.0.2.256\n")
	s := newSession(testWorld(t))
	assert.Equal(t, exitUsage, s.run(t.Context(), strings.Fields("--zone example.com.zone --annotate github")))
	assert.Equal(t, "::error file=example.com.zone,line=2,title=Zone file not valid::bad A A%3A \"192.0.2.256\"\n",
		strings.ReplaceAll(s.out.String(), "A A: ", "A A%3A "))
	assert.Contains(t, s.err.String(), "example.com.zone:2: ")
}

// Zone files without an argument are examined one after the other, and annotated together.
func TestZones(t *testing.T) {
	zoneFile(t, "db.example.com", nextZone)
	require.NoError(t, os.WriteFile("db.broken.example", []byte("$INCLUDE x\n"), 0o644))
	require.NoError(t, os.WriteFile("example.net.zone", []byte("_dmarc TXT v=DMARC1\n"), 0o644))
	s := newSession(testWorld(t))
	args := "--only mail --no-smtp --annotate gitlab --zone db.example.com --zone db.broken.example " +
		"--zone example.net.zone"
	assert.Equal(t, exitUsage, s.run(t.Context(), strings.Fields(args)), "%s", &s.err)
	var issues []struct{ Location struct{ Path string } }
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &issues), "%s", &s.out)
	paths := map[string]bool{}
	for _, i := range issues {
		paths[i.Location.Path] = true
	}
	assert.Equal(t, map[string]bool{"db.example.com": true, "db.broken.example": true, "example.net.zone": true}, paths)
	assert.Contains(t, s.err.String(), "db.broken.example:1: ")
}

func TestGitLab(t *testing.T) {
	zoneFile(t, "db.example.com", nextZone)
	s := newSession(testWorld(t))
	code := s.run(t.Context(), strings.Fields("spf example.com --zone db.example.com --annotate gitlab"))
	assert.Equal(t, exitFinding, code)
	var issues []struct {
		Fingerprint string
		Severity    string
		Location    struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &issues), "%s", &s.out)
	require.NotEmpty(t, issues)
	seen := map[string]bool{}
	for _, i := range issues {
		assert.Equal(t, "db.example.com", i.Location.Path)
		assert.Equal(t, 8, i.Location.Lines.Begin)
		assert.False(t, seen[i.Fingerprint])
		seen[i.Fingerprint] = true
	}
}

// An audit of the delegation to come.
func TestDelegationToCome(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("com. 3600 SOA ns1.nic.com. h.nic.com. 1 1 1 1 1\ncom. 3600 NS ns1.nic.com.\nns1.nic.com. 3600 A 192.0.2.2\n")
	w.ServeZones()
	w.Server("ns1.example.com", "192.0.2.53", "$ORIGIN example.com.\n"+nextZone)
	s := newSession(w)
	code := s.run(t.Context(), strings.Fields("domain/dns-check example.com --json --ns ns1.example.com/192.0.2.53"))
	assert.Contains(t, []int{exitOK, exitFinding, exitPartial}, code, "%s", &s.err)
	assert.Contains(t, s.out.String(), `"serial":2`)
}
