package dane

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const key = at + "3 1 1 {key}\n"

var second = "example.com. MX 20 mx2.example.com.\nmx2.example.com. A 192.0.2.26\n"

func breaking(name string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Break(name, dns.RcodeServerFailure) }
}

func signBroken(zone string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Sign(zone, diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.SigCorrupt}}})
	}
}

var tests = []struct {
	name string
	setting
	want string // state, score, statuses of the hosts, codes without dane.
}{
	{"key and next key", setting{zone: oneMX + key + at + other}, "valid 100 pass"},
	{"only one record", setting{zone: oneMX + key}, "valid 100 pass tlsa.rollover"},
	{"whole certificate", setting{zone: oneMX + at + "3 0 1 {cert}\n" + at + "3 0 1" + other[5:]},
		"valid 100 pass tlsa.renewal"},
	{"full data", setting{zone: oneMX + at + "3 1 0 {keydata}\n" + at + other}, "valid 100 pass"},
	{"issuer", setting{zone: oneMX + at + "2 0 1 {issuer}\n" + at + other}, "valid 100 pass"},
	{"key of an expired certificate", setting{zone: oneMX + key + at + other, cert: diagtest.CertSpec{Cert: diagtest.CertExpired}},
		"valid 100 pass"},
	{"key of a certificate for another name", setting{zone: oneMX + key + at + other,
		cert: diagtest.CertSpec{Cert: diagtest.CertWrongName}}, "valid 100 pass"},
	{"issuer of a certificate that expires soon", setting{zone: oneMX + at + "2 0 1 {issuer}\n" + at + other,
		cert: diagtest.CertSpec{NotAfter: time.Date(2026, time.January, 9, 0, 0, 0, 0, time.UTC)}},
		"warning 89 pass certificate.expiring"},
	{"issuer of a certificate that expires at once", setting{zone: oneMX + at + "2 0 1 {issuer}\n" + at + other,
		cert: diagtest.CertSpec{NotAfter: time.Date(2026, time.January, 3, 0, 0, 0, 0, time.UTC)}},
		"invalid 69 pass certificate.expires_now"},
	{"issuer of an expired certificate", setting{zone: oneMX + at + "2 0 1 {issuer}\n",
		cert: diagtest.CertSpec{Cert: diagtest.CertExpired}}, "invalid 69 fail certificate.dates"},
	{"issuer of a certificate for another name", setting{zone: oneMX + at + "2 0 1 {issuer}\n",
		cert: diagtest.CertSpec{Cert: diagtest.CertWrongName}}, "invalid 69 fail certificate.name"},
	{"issuer of a certificate for the domain", setting{zone: oneMX + at + "2 0 1 {issuer}\n" + at + other,
		cert: diagtest.CertSpec{Names: []string{"example.com"}}}, "valid 100 pass"},
	{"issuer of a certificate for an unsigned domain", setting{zone: "example.com. MX 10 mx.example.net.\n" +
		"mx.example.net. A 198.51.100.25\n_25._tcp.mx.example.net. TLSA 2 0 1 {issuer}\n", signed: "example.net.",
		smtp: diagtest.SMTP{Host: "mx.example.net"}, cert: diagtest.CertSpec{Names: []string{"example.com"}}},
		"invalid 69 fail certificate.name"},
	{"anchor that did not issue the certificate", setting{zone: oneMX + at + "2 0 1 {issuer}\n",
		tls: func(c tls.Certificate) *tls.Config {
			w, _ := diagtest.New(diagtest.Config{})
			defer w.Close()
			stranger := w.Certificate(diagtest.CertSpec{Names: []string{"mx.example.com"}, Cert: diagtest.CertSelfSigned})
			stranger.Certificate = append(stranger.Certificate, c.Certificate[1])
			return &tls.Config{Certificates: []tls.Certificate{stranger}}
		}}, "invalid 69 fail certificate.chain"},
	{"other key", setting{zone: oneMX + at + other}, "invalid 69 fail certificate.mismatch"},
	{"weaker digest beside a stronger one", setting{zone: oneMX + key + at + "3 1 2 " + strings.Repeat("ab", 64) + "\n"},
		"invalid 69 fail certificate.mismatch"},
	{"stronger digest", setting{zone: oneMX + at + "3 1 2 {key512}\n" + at + other}, "valid 100 pass"},
	{"no STARTTLS", setting{zone: oneMX + key, smtp: diagtest.SMTP{NoStartTLS: true}}, "invalid 69 fail starttls.missing"},
	{"no STARTTLS, and no usable record", setting{zone: oneMX + at + "1 1 1 {key}\n", smtp: diagtest.SMTP{NoStartTLS: true}},
		"invalid 69 fail starttls.missing tlsa.usage.pkix"},
	{"STARTTLS deferred", setting{zone: oneMX + key, smtp: diagtest.SMTP{Replies: map[string]string{"STARTTLS": "454 no"}}},
		"invalid 69 fail starttls.failed"},
	{"TLS fails", setting{zone: oneMX + key, tls: func(tls.Certificate) *tls.Config { return &tls.Config{} }},
		"invalid 69 fail starttls.failed"},
	{"connection refused", setting{zone: oneMX + key, down: true}, "unknown none unverified server.unreachable"},
	{"no service at present", setting{zone: oneMX + key, smtp: diagtest.SMTP{Replies: map[string]string{"CONNECT": "421 busy"}}},
		"unknown none unverified server.unreachable"},
	{"IPv6 refused", setting{zone: oneMX + key + at + other + "mx.example.com. AAAA 2001:db8::25\n", spoil: func(w *diagtest.World) {
		w.Behave("[2001:db8::25]:25", diagtest.Refuses)
	}}, "valid 89 pass server.address"},
	{"no connection asked for", setting{zone: oneMX + key + at + other, req: Request{Verify: new(false)}},
		"valid none unverified certificate.unverified"},

	{"usages of PKIX", setting{zone: oneMX + at + "1 1 1 {key}\n" + at + "0 0 1 {issuer}\n"},
		"invalid 69 fail tlsa.unusable tlsa.usage.pkix tlsa.usage.pkix"},
	{"usage of PKIX beside the key", setting{zone: oneMX + key + at + other + at + "1 1 1 {key}\n"}, "warning 89 pass tlsa.usage.pkix"},
	{"unknown numbers and bad data beside the key", setting{zone: oneMX + key + at + other + at + "4 1 1 ab\n" + at + "3 2 1 ab\n" +
		at + "3 1 3 ab\n" + at + "3 1 1 ab\n" + at + "3 0 0 ab\n" + at + "2 1 0 ab\n"},
		"warning 89 pass tlsa.usage.unknown tlsa.selector.unknown tlsa.matching.unknown tlsa.data tlsa.data tlsa.data"},

	{"no records", setting{zone: oneMX}, "missing 0 missing tlsa.missing"},
	{"two servers, each with a fault of its own", setting{zone: oneMX + at + "2 0 1 {issuer}\n" + at + other + second +
		"_25._tcp.mx2.example.com. TLSA " + other, cert: diagtest.CertSpec{Cert: diagtest.CertWrongName},
		spoil: func(w *diagtest.World) { w.SMTP(diagtest.SMTP{Host: "mx2.example.com"}) }},
		"invalid 69 fail fail certificate.mismatch certificate.name"},
	{"no records at a provider that does not sign", setting{zone: "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n"},
		"missing 0 insecure tlsa.missing"},
	{"AAAA lookup fails", setting{zone: oneMX + key, spoil: func(w *diagtest.World) {
		w.Fault("mx.example.com", dns.TypeAAAA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	}}, "unknown none unverified host.unknown"},
	{"SRV record for another port", setting{zone: oneMX + "_submission._tcp.example.com. SRV 0 1 2525 smtp.example.com.\n" +
		"_587._tcp.mx.example.com. TLSA 3 1 1 {key}\n", smtp: diagtest.SMTP{Port: 587}, req: Request{Port: 587}},
		"valid 100 pass tlsa.rollover"},
	{"no records, unsigned", setting{zone: oneMX, signed: "none"}, "missing 0 insecure tlsa.missing"},
	{"records unsigned", setting{zone: oneMX + key, signed: "none"}, "warning 89 insecure tlsa.insecure"},
	{"records unsigned, lookup fails", setting{zone: oneMX, signed: "none", spoil: breaking("_25._tcp.mx.example.com")},
		"unknown none insecure tlsa.unasked"},
	{"records at the domain", setting{zone: oneMX + "_25._tcp.example.com. TLSA 3 1 1 {key}\n"}, "missing 0 missing tlsa.location"},
	{"records of an old key at the domain", setting{zone: oneMX + "_25._tcp.example.com. TLSA " + other}, "missing 0 missing tlsa.location"},
	{"records at the domain, unsigned", setting{zone: oneMX + "_25._tcp.example.com. TLSA " + other, signed: "none"},
		"missing 0 insecure tlsa.location"},
	{"records at the domain, servers of a provider", setting{zone: "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n" +
		"_25._tcp.example.com. TLSA " + other, smtp: diagtest.SMTP{Host: "mx.example.net"}}, "missing 0 insecure tlsa.location"},
	{"records of an old key, unsigned", setting{zone: oneMX + at + other, signed: "none"}, "warning 89 insecure tlsa.dormant"},
	{"records of an issuer, unsigned, for another name", setting{zone: oneMX + at + "2 0 1 {issuer}\n", signed: "none",
		cert: diagtest.CertSpec{Cert: diagtest.CertWrongName}}, "warning 89 insecure tlsa.dormant"},
	{"no STARTTLS, unsigned", setting{zone: oneMX + key, signed: "none", smtp: diagtest.SMTP{NoStartTLS: true}},
		"warning 89 insecure tlsa.dormant"},
	{"TLS fails, unsigned", setting{zone: oneMX + key, signed: "none",
		tls: func(tls.Certificate) *tls.Config { return &tls.Config{} }}, "warning 89 insecure tlsa.dormant"},
	{"unusable records, unsigned", setting{zone: oneMX + at + "1 1 1 {key}\n", signed: "none"},
		"warning 89 insecure tlsa.insecure tlsa.usage.pkix"},
	{"records unsigned, server refuses", setting{zone: oneMX + key, signed: "none", down: true}, "warning 89 insecure tlsa.insecure"},
	{"authority that the server does not send", setting{zone: oneMX + at + "2 1 1 {rootkey}\n"}, "invalid 69 fail certificate.mismatch"},
	{"records at the domain too", setting{zone: oneMX + key + at + other + "_25._tcp.example.com. TLSA 3 1 1 {key}\n"},
		"valid 100 pass"},
	{"one of two", setting{zone: oneMX + key + at + other + second}, "warning 86 pass missing host.missing"},
	{"one of two signed", setting{zone: oneMX + key + at + other + "example.com. MX 20 mx.example.net.\nmx.example.net. A 198.51.100.25\n" +
		"_25._tcp.mx.example.net. TLSA " + other}, "warning 86 pass insecure host.insecure"},
	{"signed servers of an unsigned domain", setting{zone: "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n" +
		"_25._tcp.mx.example.net. TLSA 3 1 1 {key}\n_25._tcp.mx.example.net. TLSA " + other,
		signed: "example.net.", smtp: diagtest.SMTP{Host: "mx.example.net"}}, "warning 89 insecure mx.insecure"},
	{"broken servers of an unsigned domain", setting{zone: "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n" +
		"_25._tcp.mx.example.net. TLSA " + other, signed: "example.net.", smtp: diagtest.SMTP{Host: "mx.example.net"}},
		"invalid 69 fail certificate.mismatch"},
	{"eleven servers", setting{zone: oneMX + key + at + other + many(), down: true},
		"unknown none unverified missing missing missing missing missing missing missing missing missing " +
			"host.missing host.missing host.missing host.missing host.missing host.missing host.missing host.missing host.missing " +
			"server.unreachable host.many"},

	{"alias, records at its target", setting{zone: "example.com. MX 10 mail.example.com.\nmail.example.com. CNAME mx.example.com.\n" +
		"mx.example.com. A 192.0.2.25\n" + key + at + other}, "valid 100 pass"},
	{"alias, records at its name", setting{zone: "example.com. MX 10 mail.example.com.\nmail.example.com. CNAME mx.example.com.\n" +
		"mx.example.com. A 192.0.2.25\n_25._tcp.mail.example.com. TLSA 3 1 1 {key}\n"}, "valid 100 pass tlsa.rollover"},
	{"alias of an unsigned host", setting{zone: "example.com. MX 10 mail.example.com.\nmail.example.com. CNAME mx.example.net.\n" +
		"mx.example.net. A 198.51.100.25\n_25._tcp.mail.example.com. TLSA 3 1 1 {key}\n", smtp: diagtest.SMTP{Host: "mx.example.net"}},
		"valid 100 pass tlsa.rollover"},
	{"alias of an unsigned host with records", setting{zone: "example.com. MX 10 mail.example.com.\n" +
		"mail.example.com. CNAME mx.example.net.\nmx.example.net. A 198.51.100.25\n_25._tcp.mx.example.net. TLSA 3 1 1 {key}\n"},
		"missing 0 missing tlsa.missing"},
	{"alias of the records", setting{zone: oneMX + "_25._tcp.mx.example.com. CNAME _dane.example.com.\n_dane.example.com. TLSA 3 1 1 {key}\n"},
		"valid 100 pass tlsa.rollover"},
	{"implicit MX", setting{zone: "example.com. A 192.0.2.25\n_25._tcp.example.com. TLSA 3 1 1 {key}\n",
		smtp: diagtest.SMTP{Host: "example.com"}}, "valid 100 pass tlsa.rollover"},
	{"null MX", setting{zone: "example.com. MX 0 .\n"}, "missing none mail.none"},
	{"no mail", setting{}, "missing none mail.none"},
	{"host without an address", setting{zone: "example.com. MX 10 mx.example.com.\n", down: true}, "warning 33 unverified host.address"},

	{"lookup fails", setting{zone: oneMX, spoil: breaking("_25._tcp.mx.example.com")}, "unknown none unverified tlsa.unknown"},
	{"MX lookup fails", setting{zone: oneMX, spoil: breaking("example.com")}, "unknown none mx.unknown"},
	{"address lookup fails", setting{zone: oneMX, spoil: breaking("mx.example.com")}, "unknown none unverified host.unknown"},
	{"resolver strips DNSSEC", setting{zone: oneMX + key + at + other, env: func(e *diag.Env) { e.Resolver = stripping{e.Resolver} }},
		"unknown none unverified dnssec.unknown dnssec.unknown"},
	{"bogus", setting{zone: oneMX + key, signed: "none", spoil: signBroken("example.com.")}, "invalid 0 mx.bogus"},
	{"bogus host", setting{zone: "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n" +
		"_25._tcp.mx.example.net. TLSA 3 1 1 {key}\n", spoil: signBroken("example.net."), down: true}, "invalid 42 fail host.bogus"},

	{"submission by SRV", setting{zone: oneMX + "_submission._tcp.example.com. SRV 0 1 587 smtp.example.com.\n" +
		"smtp.example.com. A 192.0.2.77\n_587._tcp.smtp.example.com. TLSA 3 1 1 {key}\n",
		smtp: diagtest.SMTP{Host: "smtp.example.com", Port: 587}, req: Request{Port: 587}}, "valid 100 pass tlsa.rollover"},
	{"submission over TLS by the domain itself", setting{zone: oneMX + "example.com. A 192.0.2.77\n" +
		"_465._tcp.example.com. TLSA 3 1 1 {key}\n", smtp: diagtest.SMTP{Host: "example.com", Implicit: true}, req: Request{Port: 465}},
		"valid 100 pass tlsa.rollover"},
	{"submission by MX", setting{zone: oneMX + "_587._tcp.mx.example.com. TLSA 3 1 1 {key}\n", smtp: diagtest.SMTP{Port: 587},
		req: Request{Port: 587}}, "valid 100 pass tlsa.rollover"},
	{"submission without records", setting{zone: oneMX, req: Request{Port: 587}}, "missing none missing tlsa.missing.submission"},
	{"no submission", setting{zone: oneMX + "_submission._tcp.example.com. SRV 0 0 0 .\n", req: Request{Port: 587}},
		"missing none mail.none"},
	{"SRV lookup fails", setting{zone: oneMX, req: Request{Port: 587}, spoil: breaking("_submission._tcp.example.com")},
		"unknown none missing mx.unknown"},
}

func many() string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "example.com. MX 20 mx%d.example.com.\nmx%d.example.com. A 192.0.2.%d\n", i, i, 100+i)
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.lookup(t)
			words := []string{string(r.State), diagtest.Score(r.Verdict)}
			pass := 0
			for _, h := range r.Hosts {
				words = append(words, string(h.Status))
				if h.Status == Pass {
					pass++
					require.Empty(t, h.Error)
				}
			}
			for _, code := range seen.Add(r.Verdict) {
				words = append(words, strings.TrimPrefix(string(code), "dane."))
			}
			require.Equal(t, tt.want, strings.Join(words, " "), "%+v", r.Findings)
			require.Equal(t, pass, r.Summary.ProtectedCount)
			require.Equal(t, pass > 0 && pass == r.Summary.HostCount, r.Summary.Complete)
			unknown := r.State == diag.Unknown || strings.Contains(tt.want, "mx.bogus") || strings.Contains(tt.want, "server.address")
			require.Equal(t, unknown, r.Partial)
		})
	}
	t.Run("domain does not exist", func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone("example. SOA ns.example. h.example. 1 1 1 1 1")
		r := (&setting{}).ask(t, w.Env())
		seen.Add(r.Verdict)
		require.Equal(t, []diag.Code{"dane.domain.nxdomain"}, diagtest.Codes(r.Verdict))
		require.Nil(t, r.Score)
	})
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
	for key, text := range texts {
		said := slices.ContainsFunc(seen, func(v diag.Verdict) bool { return v.Headline == text.Headline })
		require.True(t, said || !strings.Contains(key, "."), "no test hears the text of %s", key)
	}
}
