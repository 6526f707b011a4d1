package dnsbl

import (
	"net/netip"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// BenchmarkCheck queries all built-in lists, each of which answers after 20 ms; the address is on three of them.
func BenchmarkCheck(b *testing.B) {
	w := working(b)
	w.Zone(entries("zen.spamhaus.org", "127.0.0.2", "bl.spamcop.net", "127.0.0.2", "b.barracudacentral.org", "127.0.0.2"))
	w.Latency(20 * time.Millisecond)
	env := w.NewEnv()
	for b.Loop() {
		r, err := Check(b.Context(), env, Request{IP: diag.MustIP(ip4)})
		require.NoError(b, err)
		require.Equal(b, 3, r.ListedCount)
	}
	b.ReportMetric(float64(len(Lists())), "lists")
}

// BenchmarkJudge is the work of a check without the network.
func BenchmarkJudge(b *testing.B) {
	var probes []*probe
	for _, l := range Lists() {
		p := &probe{list: l, listed: []reply{{addrs: []netip.Addr{listedTest4}}}, unlisted: []reply{{}}}
		p.outcome = p.conclude()
		probes = append(probes, p)
	}
	ip := diag.MustIP(ip4)
	e := &evidence{ip: ip, purpose: purposeOf(ip.Addr), probes: probes}
	for b.Loop() {
		e.report()
	}
}
