package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveWorld runs a resolver on loopback for a world, and returns it as a flag.
func serveWorld(t testing.TB, world *diagtest.World) (flag string) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	answer := func(w dns.ResponseWriter, q *dns.Msg) {
		if m, err := world.Exchange(t.Context(), q); err == nil {
			reply := m.Copy()
			reply.Id = q.Id
			_ = w.WriteMsg(reply)
		}
	}
	server := &dns.Server{PacketConn: conn, UDPSize: 4096, Handler: dns.HandlerFunc(answer)}
	ended := make(chan error, 1)
	go func() { ended <- server.ActivateAndServe() }()
	t.Cleanup(func() { server.Shutdown(); <-ended })
	return "--resolver=udp://" + conn.LocalAddr().String()
}

const mailZone = `
	example.com. TXT "v=spf1 include:one.example include:two.example a:web.example -all"
	web.example. AAAA 2001:db8::80
	one.example. TXT "v=spf1 ip4:192.0.2.0/25 ip4:192.0.2.128/25 -all"
	two.example. TXT "v=spf1 ip6:2001:db8::/32 -all"
`

// fails runs a command that fails with a code, and returns its output and its errors.
func fails(t testing.TB, code int, args ...string) (out, err string) {
	t.Helper()
	stdout, stderr := newWatched(), newWatched()
	require.Equal(t, code, run(t.Context(), args, stdout, stderr), "%v: %s", args, stderr)
	return stdout.String(), stderr.String()
}

// A profile from its creation to its end, with a running server that publishes and resolves it.
func TestSPF(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	world := diagtest.NewWorld(t)
	world.Zone(mailZone)
	resolver := serveWorld(t, world)
	s := start(t, append(dnsFlags, store, resolver)...)
	server := s.log.wait(t, `"serving DNS" address=(\S+)`)[1]
	first := parsed[[]keyView](t, "key", "list", store)[0]
	next := parsed[keyView](t, "key", "rotate", string(first.ID), store)

	text, err := child(t.Context(), "spf", "create", "--key", string(next.ID), "--domain=example.com", "--interval=10m",
		"--spf-dns-zone=spf.example.net", store, resolver, "--json").Output()
	require.NoError(t, err)
	var made spfView
	require.NoError(t, json.Unmarshal(text, &made))
	assert.Equal(t, hostedspf.Owner(first.ID), made.Key, "the first key of the line")
	assert.Equal(t, hostedspf.Active, made.Status)
	assert.Equal(t, 600, made.IntervalSeconds)
	assert.Equal(t, "v=spf1 include:one.example include:two.example a:web.example -all", made.SourceRecord)
	host := made.IncludeHost.String()
	assert.Equal(t, strings.TrimPrefix(made.ID, "spf_")[:13]+".spf.example.net", host)
	const flat = "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all"
	assert.Equal(t, []string{flat}, lookUp(t, server, host, dns.RcodeSuccess))

	assert.Equal(t, []spfView{made}, parsed[[]spfView](t, "spf", "list", "--key", string(next.ID), store))
	assert.Len(t, parsed[[]spfView](t, "spf", "list", "--domain=example.com", store), 1)
	assert.Empty(t, parsed[[]spfView](t, "spf", "list", "--domain=example.org", store))
	assert.Len(t, parsed[[]spfView](t, "spf", "list", "--limit=1", store), 1)
	assert.Empty(t, parsed[[]spfView](t, "spf", "list", "--cursor", made.ID, store), "there is none behind it")
	assert.Regexp(t, `(?m)^`+made.ID+` +example\.com +example\.com +active +`+host, command(t, "spf", "list", store))
	assert.Equal(t, made, parsed[spfView](t, "spf", "show", made.ID, store))
	assert.Regexp(t, `(?m)^`+host+`\. 300 IN TXT "`+flat+`"$`, command(t, "spf", "show", made.ID, store))
	s.secret = next.Secret
	r := get(t, s.url+"/public/v1/spf/hosted/"+made.ID)
	assert.Equal(t, http.StatusUnauthorized, r.status, "nobody sees it without the key")
	reply := s.get("/spf/hosted/" + made.ID)
	require.Equal(t, http.StatusOK, reply.status, reply)
	var shown hostedspf.Profile
	require.NoError(t, json.Unmarshal([]byte(reply.body), &shown))
	assert.Equal(t, made.Records, shown.Records)

	testResolving(t, made, world, server, store, resolver)
	assert.Equal(t, exitOK, s.wait())
	assert.NotContains(t, s.log.String(), "canceled")
}

// testResolving changes the sources of a profile, breaks it, and removes it.
func testResolving(t *testing.T, made spfView, world *diagtest.World, server, store, resolver string) {
	host := made.IncludeHost.String()
	world.Zone("web.example. A 203.0.113.80")
	world.Break("one.example", dns.RcodeServerFailure)
	out, err := fails(t, exitFailed, "spf", "resolve", made.ID, store, resolver)
	assert.Regexp(t, `status +failed`, out)
	assert.Contains(t, err, "diagd: the resolution failed: ")
	assert.Equal(t, hostedspf.Failed, parsed[spfView](t, "spf", "show", made.ID, store).Status)
	assert.Contains(t, command(t, "spf", "show", made.ID, store), "; last error: ")
	assert.Len(t, lookUp(t, server, host, dns.RcodeSuccess), 1, "the last good record")

	out, err = fails(t, exitFailed, "spf", "create", "--key", string(made.Key), "--domain=example.net",
		"--record=v=spf1 include:one.example -all", "--spf-dns-zone=spf.example.net", store, resolver)
	assert.Contains(t, err, "but not resolved yet")
	assert.NotContains(t, out, "to use it", "there is nothing to lead to")
	command(t, "spf", "remove", regexp.MustCompile("spf_[a-z2-7]{26}").FindString(out), store)

	text := command(t, "spf", "pause", made.ID, store)
	assert.Regexp(t, `to use it +example\.com\. TXT "v=spf1 redirect=`+host+`"`, text)
	paused := parsed[spfView](t, "spf", "pause", made.ID, store)
	assert.Equal(t, hostedspf.Paused, paused.Status)
	assert.True(t, paused.NextResolveAt.IsZero())
	world.Fault("one.example", 0, diagtest.Fault{})
	command(t, "spf", "resume", made.ID, store) // due immediately: the server resolves it
	require.Eventually(t, func() bool {
		return strings.Contains(lookUp(t, server, host, dns.RcodeSuccess)[0], "ip4:203.0.113.80")
	}, patience, 100*time.Millisecond)
	assert.Equal(t, hostedspf.Active, parsed[spfView](t, "spf", "show", made.ID, store).Status)
	report := parsed[hostedspf.ResolveReport](t, "spf", "resolve", made.ID, store, resolver)
	assert.Equal(t, hostedspf.ResolutionUnchanged, report.Resolution.Status, "the server was first")

	command(t, "spf", "remove", made.ID, store)
	lookUp(t, server, host, dns.RcodeNameError)
	_, err = fails(t, exitFailed, "spf", "show", made.ID, store)
	assert.Equal(t, "diagd: \""+made.ID+"\": there is no such profile\n", err)
	assert.Empty(t, parsed[[]spfView](t, "spf", "list", store))
}

func (s *server) get(path string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/public/v1"+path, nil)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+s.secret)
	r, err := do(http.DefaultClient, req)
	require.NoError(s.t, err)
	return r
}

// For a record that is published elsewhere, the output lists what resolvers with an earlier record still need.
func TestZoneFile(t *testing.T) {
	text := zoneFile(hostedspf.Profile{
		ID: "spf_a", IntervalSeconds: 600, Records: []hostedspf.Record{{Name: "f.example.net", Value: "v=spf1 -all"}},
		Parts: []hostedspf.Part{
			{Name: "_a.f.example.net", Value: "v=spf1 ip4:192.0.2.1", Until: time.Now().Add(time.Hour)},
			{Name: "_b.f.example.net", Value: "v=spf1 ip4:192.0.2.2", Until: time.Now().Add(-time.Hour)},
			{Name: "_c.f.example.net", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
		},
	})
	assert.Contains(t, text, "f.example.net. 300 IN TXT \"v=spf1 -all\"\n")
	assert.Contains(t, text, "_a.f.example.net. 300 IN TXT \"v=spf1 ip4:192.0.2.1\"\n")
	assert.NotContains(t, text, "_b.")
	assert.Contains(t, text, "redirect=")
	assert.NotContains(t, zoneFile(hostedspf.Profile{ID: "spf_b"}), "redirect=", "nothing is published yet")
	assert.Contains(t, text, "; only the bundled name server can answer below _c.f.example.net\n")
}
