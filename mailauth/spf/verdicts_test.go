package spf

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// unknownVerdicts judges worlds with unanswered queries: silence never counts against the domain.
func unknownVerdicts(t *testing.T) []diag.Verdict {
	const record = "v=spf1 mx a:a.example.com include:good.example.net -all exp=why.example.net"
	tests := []struct {
		name  string
		spoil func(*diagtest.World)
		codes string
		score string
	}{
		{"record SERVFAIL", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeTXT, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}, "spf.record.unknown", "none"},
		{"record silent", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeTXT, diagtest.Fault{Silent: true})
		}, "spf.record.unknown", "none"},
		{"include SERVFAIL", func(w *diagtest.World) { w.Break("good.example.net", dns.RcodeServerFailure) },
			"spf.tree.unknown", "none"},
		{"include silent", func(w *diagtest.World) { w.Silence("good.example.net") }, "spf.tree.unknown", "none"},
		{"a SERVFAIL", func(w *diagtest.World) { w.Break("a.example.com", dns.RcodeRefused) }, "spf.tree.unknown", "none"},
		{"MX SERVFAIL", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}, "spf.tree.unknown", "none"},
		{"host of the MX SERVFAIL", func(w *diagtest.World) { w.Break("mx.example.com", dns.RcodeServerFailure) },
			"spf.tree.unknown", "none"},
		{"nobody passes but by a silent include", func(w *diagtest.World) { w.Silence("only.example.net") },
			"spf.tree.unknown spf.all.neutral", "none"},
		{"no record, MX silent", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeMX, diagtest.Fault{Silent: true})
		}, "spf.mail.unknown", "none"},
		{"explanation SERVFAIL", func(w *diagtest.World) { w.Break("why.example.net", dns.RcodeServerFailure) },
			"spf.exp.unknown", "89"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				record := record
				switch {
				case strings.HasPrefix(tt.name, "no record"):
					record = ""
				case strings.HasPrefix(tt.name, "nobody passes"):
					record = "v=spf1 include:only.example.net ?all"
				}
				w := zoneWith(t, record, hosts+"example.com. MX 10 mx.example.com.")
				tt.spoil(w)
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				r, err := Lookup(ctx, w.Env(), request)
				require.NoError(t, err)
				require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
				require.Equal(t, tt.score, diagtest.Score(r.Verdict))
				require.True(t, r.Partial)
				require.Equal(t, tt.codes != "spf.exp.unknown", r.State == diag.Unknown)
			})
		})
	}
	return seen
}

// addressVerdicts judges addresses.
func addressVerdicts(t *testing.T) []diag.Verdict {
	tests := []struct {
		record, ip string
		want       string // result, matched term and domain, codes
	}{
		{"v=spf1 a:a.example.com include:good.example.net -all", "192.0.2.26", "pass a:a.example.com example.com"},
		{"v=spf1 a:a.example.com include:good.example.net -all", "198.51.100.1",
			"pass ip4:198.51.100.0/24 good.example.net"},
		{"v=spf1 a:a.example.com -all exp=why.example.net", "203.0.113.1", "fail -all example.com spf.ip.result"},
		{"v=spf1 include:soft.example.net ?all", "203.0.113.1", "neutral ?all example.com spf.all.neutral spf.ip.result"},
		{"v=spf1 redirect=soft.example.net", "203.0.113.1",
			"softfail ~all soft.example.net spf.ip.result"},
		{"v=spf1 include:broken.example.net a:mx.example.com -all", "203.0.113.1",
			"permerror   spf.include.syntax spf.ip.result"},
		{"v=spf1 a:dead.example.com a:mx.example.com -all", "203.0.113.1", "temperror   spf.tree.unknown spf.ip.unknown"},
		{"", "203.0.113.1", "none   spf.record.missing spf.ip.result"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.record+" "+tt.ip, func(t *testing.T) {
			w := zoneWith(t, tt.record, hosts+"example.com. A 192.0.2.1")
			w.Break("dead.example.com", dns.RcodeServerFailure)
			r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: request.Domain, IP: diag.MustIP(tt.ip)})
			require.NoError(t, err)
			got := fmt.Sprintf("%s %s %s %s", r.IPTest.Result, r.IPTest.MatchedTerm, r.IPTest.MatchedDomain,
				join(seen.Add(r.Verdict)))
			require.Equal(t, tt.want, strings.TrimSpace(got))
			if strings.Contains(tt.record, "exp=") {
				require.Equal(t, "203.0.113.1 is not one of example.com's hosts", r.IPTest.Explanation)
			}
		})
	}
	return seen
}

// validated judges records without the DNS.
func validated(t *testing.T) []diag.Verdict {
	tests := []struct {
		record string
		ip     string
		want   string // state, score, lookups, strings, result for the address, codes
	}{
		{"v=spf1 ip4:192.0.2.0/24 -all", "192.0.2.1", "valid 100 0 1 pass"},
		{"v=spf1 ip4:192.0.2.0/24 -all", "203.0.113.1", "valid 100 0 1 fail spf.ip.result"},
		{"v=spf1 ip4:192.0.2.0/24 mx -all", "192.0.2.1", "valid 100 1 1 pass"},
		{"v=spf1 mx ip4:192.0.2.0/24 -all", "192.0.2.1", "valid 100 1 1 needs_dns spf.ip.unknown"},
		{"v=spf1 ip4:192.0.2.0/24", "203.0.113.1", "warning 89 0 1 neutral spf.all.missing spf.ip.result"},
		{"v=spf1 include:good.example.net -all", "", "valid 100 1 1 "},
		{"v=spf1 redirect=good.example.net", "192.0.2.1",
			"valid 100 1 1 needs_dns spf.ip.unknown"},
		{"v=spf1 a mx ptr a:%{i}.x.example exists:%{l}.x.example -all", "",
			"warning 89 5 1  spf.ptr"},
		{`"v=spf1 ip4:192.0.2.0/24" " -all"`, "192.0.2.1", "valid 100 0 2 pass"},
		{`"v=spf1 ip4:192.0.2.0/24" "-all"`, "192.0.2.1",
			"invalid 39 0 2 permerror spf.record.joined spf.ip.result"},
		{`"v=spf1` + networks(20) + ` -all"`, "", "invalid 69 0 1  spf.record.string"},
		{"v=spf1" + networks(20) + " -all", "", "valid 100 0 2 "},
		{"v=spf1 -all -all", "", "warning 89 0 1  spf.term.repeated spf.term.unreached spf.none.form"},
		{" v=spf1 -all", "", "invalid 0 0 1  spf.record.version"},
		{"hello", "192.0.2.1", "invalid 0 0 1  spf.record.version"},
		{"v=spf1 a a:x.example a:y.example a:z.example mx:x.example mx:y.example mx:z.example include:x.example " +
			"include:y.example include:z.example include:a.example -all", "",
			"invalid 39 11 1  spf.lookups.exceeded"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.record, func(t *testing.T) {
			req := ValidateRequest{Record: tt.record}
			if tt.ip != "" {
				req.IP = diag.MustIP(tt.ip)
			}
			r, err := Validate(req)
			require.NoError(t, err)
			got := fmt.Sprintf("%s %s %d %d %s %s", r.State, diagtest.Score(r.Verdict), r.DNSLookups.Count, r.StringsCount, r.IPTest.Result,
				join(seen.Add(r.Verdict)))
			require.Equal(t, strings.TrimSpace(tt.want), strings.TrimSpace(got), "%+v", r.Findings)
			require.True(t, r.DNSLookups.Estimated)
			require.Equal(t, r.State == diag.Valid || r.State == diag.Warned, r.Valid)
		})
	}
	return seen
}

// wideTree returns a record with more includes than are followed.
func wideTree() string {
	var b strings.Builder
	for i := range eval.MaxTerms + 20 {
		fmt.Fprintf(&b, " include:w%d.example.net", i)
	}
	return "v=spf1" + b.String() + " -all"
}
