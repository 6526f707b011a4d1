package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedsqlite "github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dnsFlags make a server answer for spf.example.net on a free port.
var dnsFlags = []string{
	"--spf-dns-listen=127.0.0.1:0", "--spf-dns-zone=spf.example.net",
	"--spf-dns-ns=ns1.spf.example.net=192.0.2.53/2001:db8::53,ns.example.org", "--spf-dns-contact=dns@example.net",
}

// lookUp queries a name server for TXT records until it answers with a code, and returns them.
func lookUp(t testing.TB, server, name string, rcode int) (texts []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pause := time.NewTicker(50 * time.Millisecond) // a server limits its replies to one network
	defer pause.Stop()
	for ; ; <-pause.C {
		m, err := dns.ExchangeContext(ctx, new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeTXT), server)
		require.NoError(t, err)
		if m.Rcode != rcode {
			continue
		}
		for _, rr := range m.Answer {
			texts = append(texts, dnsmsg.TXT(rr.(*dns.TXT)))
		}
		return texts
	}
}

// The zone is signed with an existing key, and the record for the parent zone is logged at the start.
func TestServeSignedZone(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"spf", "key", "--spf-dns-zone=spf.example.net", "--dir=" + t.TempDir(), "--json"}
	require.Equal(t, exitOK, run(t.Context(), args, &out, &errs), errs.String())
	var made struct{ File, DS string }
	require.NoError(t, json.Unmarshal(out.Bytes(), &made))
	out.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"spf", "ds", "--spf-dns-key=" + made.File}, &out, &errs), errs.String())
	require.Equal(t, made.DS+"\n", out.String())

	s := start(t, append(dnsFlags, "--store=memory:", "--spf-dns-key="+made.File)...)
	server := s.log.wait(t, `"serving DNS" address=(\S+) `)[1]
	require.Equal(t, made.DS, s.log.wait(t, `ds="([^"]+)"`)[1])
	q := new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeDNSKEY).SetEdns0(1232, true)
	m, err := dns.ExchangeContext(t.Context(), q, server)
	require.NoError(t, err)
	require.Len(t, m.Answer, 2)
	ds, err := dns.NewRR(made.DS)
	require.NoError(t, err)
	require.True(t, dnssec.MatchesDS(ds.(*dns.DS), m.Answer[0].(*dns.DNSKEY)))
}

// What another process publishes is served a second later, until it is removed.
func TestServeDNS(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	path := filepath.Join(t.TempDir(), "diag.db")
	s := start(t, append(dnsFlags, "--store=sqlite:"+path, "--metrics-listen=127.0.0.1:0")...)
	server := s.log.wait(t, `"serving DNS" address=(\S+) zone=spf.example.net records=0`)[1]
	health := s.log.wait(t, `"serving metrics" url=(\S+)/metrics`)[1]
	lookUp(t, server, "abc.spf.example.net", dns.RcodeNameError)

	store, err := hostedsqlite.Open(t.Context(), path, hostedsqlite.Config{})
	require.NoError(t, err)
	defer store.Close()
	p := hostedspf.Profile{
		ID: "spf_" + strings.Repeat("a", 26), Owner: "key_a", IncludeHost: diag.MustName("abc.spf.example.net"),
		IntervalSeconds: 3600, CreatedAt: time.Now(), IsPaused: true, Status: hostedspf.Paused,
		Records: []hostedspf.Record{{Name: "abc.spf.example.net", Value: "v=spf1 -all"}},
	}
	require.NoError(t, store.Create(t.Context(), p))
	assert.Equal(t, []string{"v=spf1 -all"}, lookUp(t, server, "abc.spf.example.net", dns.RcodeSuccess))
	ready := get(t, health+"/readyz")
	assert.Equal(t, http.StatusOK, ready.status)
	assert.Regexp(t, `^ready\ndns `+server+`: hosted SPF, records: 1, as of 20\S+Z\n$`, ready.body)
	assert.Regexp(t, `diagkit_spf_dns_questions_total\{outcome="NOERROR"\} 1\n`, get(t, health+"/metrics").body)

	require.NoError(t, store.Remove(t.Context(), p.ID))
	lookUp(t, server, "abc.spf.example.net", dns.RcodeNameError)
	assert.Equal(t, exitOK, s.wait())
	_, err = dns.Exchange(new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeSOA), server)
	assert.Error(t, err)
}

// The name server is set up by the environment and by a file as by flags.
func TestDNSSettings(t *testing.T) {
	t.Setenv("DIAG_SPF_DNS_LISTEN", "127.0.0.1:0")
	config := writeConfig(t, "store = memory:\nspf-dns-zone = spf.example.net\nspf-dns-ns = ns.example.org\n")
	s := start(t, "--config", config)
	server := s.log.wait(t, `"serving DNS" address=(\S+)`)[1]
	m, err := dns.Exchange(new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeSOA), server)
	require.NoError(t, err)
	require.Len(t, m.Answer, 1)
	assert.Equal(t, "hostmaster.example.net.", m.Answer[0].(*dns.SOA).Mbox)
}

// dueProfile makes a store with a profile that is due and needs an address that a slow name server knows.
func dueProfile(t testing.TB) (store hostedspf.Store, path string) {
	path = filepath.Join(t.TempDir(), "diag.db")
	store, err := hostedsqlite.Open(t.Context(), path, hostedsqlite.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	require.NoError(t, store.Create(t.Context(), hostedspf.Profile{
		ID: dueID, Owner: "key_a", Domain: diag.MustDomain("example.com"), Status: hostedspf.Active,
		IncludeHost: diag.MustName("abc.spf.example.net"), SourceRecord: "v=spf1 a:slow.example.com -all",
		IntervalSeconds: 3600, CreatedAt: time.Now(), NextResolveAt: time.Now().Add(-time.Hour),
	}))
	return store, path
}

var dueID = "spf_" + strings.Repeat("a", 26)

// After a signal a resolution that runs is finished and published.
func TestDrainResolution(t *testing.T) {
	store, path := dueProfile(t)
	slow := newSlowServer(t)
	s := start(t, "--store=sqlite:"+path, "--resolver=udp://"+slow.address)
	<-slow.asked
	s.stop()
	s.log.wait(t, "msg=draining")
	close(slow.release)
	assert.Equal(t, exitOK, s.wait())
	p, err := store.Profile(t.Context(), dueID)
	require.NoError(t, err)
	assert.Equal(t, "v=spf1 ip4:192.0.2.1 -all", p.FlattenedRecord)
	assert.NotContains(t, s.log.String(), "canceled")
}

// One that does not finish in time changes nothing, and the server ends all the same.
func TestDrainCutsResolutionOff(t *testing.T) {
	store, path := dueProfile(t)
	slow := newSlowServer(t)
	s := startApp(t, &app{drain: 100 * time.Millisecond}, "--store=sqlite:"+path, "--resolver=udp://"+slow.address)
	<-slow.asked
	began := time.Now()
	assert.Equal(t, exitOK, s.wait())
	assert.Less(t, time.Since(began), patience)
	assert.Equal(t, 1, strings.Count(s.log.String(), "a resolution of hosted SPF did not finish and was canceled"))
	p, err := store.Profile(t.Context(), dueID)
	require.NoError(t, err)
	assert.Empty(t, p.FlattenedRecord)
	_, err = store.Claim(t.Context(), dueID, time.Minute)
	assert.ErrorIs(t, err, hostedspf.ErrClaimed, "until the lease ends")
}
