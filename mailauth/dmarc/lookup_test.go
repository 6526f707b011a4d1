package dmarc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const (
	mx   = "example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n"
	full = mx + `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"` + "\n"
	ext  = mx + `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:d@reports.example.net"` + "\n" +
		"reports.example.net. MX 10 mx.example.net.\n"
	consented = `example.com._report._dmarc.reports.example.net. TXT "v=DMARC1"` + "\n"
)

// accepting lets a domain accept the reports of all others.
func accepting(domain string) string {
	return domain + ". MX 10 mx.example.net.\n*._report._dmarc." + domain + `. TXT "v=DMARC1"` + "\n"
}

// dmarcAt is a record.
func dmarcAt(domain, text string) string { return fmt.Sprintf("_dmarc.%s. TXT %q\n", domain, text) }

var worlds = []struct {
	name, zone, domain string
	spoil              func(*diagtest.World)
	outcome, suggested string
}{
	{"reject", full, "", nil,
		"valid 100", ""},
	{"alias to a provider", mx + "_dmarc.example.com. CNAME d.example.net.\nd.example.net. TXT \"v=DMARC1; p=reject; rua=mailto:dmarc@example.com\"\n", "", nil,
		"valid 100", ""},
	{"no record", mx, "", nil,
		"missing 0 record.missing", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"no record, address only", "example.com. A 192.0.2.1\n", "", nil,
		"missing 0 record.missing", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"no record, null MX", "example.com. MX 0 .\n", "", nil,
		"missing 0 record.missing.no_mail", "v=DMARC1; p=reject"},
	{"no record, no mail", "example.com. TXT \"x\"\n", "", nil,
		"missing 0 record.missing.no_mail", "v=DMARC1; p=reject"},
	{"no record, no mail received, and a parked SPF record", "example.com. TXT \"v=spf1  -ALL\"\n", "", nil,
		"missing 0 record.missing.no_mail", "v=DMARC1; p=reject"},
	{"no record, no mail received, and an SPF record with senders", "example.com. TXT \"v=spf1 ip4:192.0.2.1 -all\"\n", "", nil,
		"missing 0 record.missing.no_mail", ""},
	{"no record at a public suffix", "co.uk. TXT \"x\"\nexample.co.uk. A 192.0.2.1\n", "co.uk", nil,
		"missing none record.missing.suffix", ""},
	{"public suffix without mail, with a record", "co.uk. TXT \"x\"\n" + dmarcAt("co.uk", "v=DMARC1; p=reject; psd=y"), "co.uk", nil,
		"valid 100", ""},
	{"no record at a public suffix with mail", "co.uk. MX 10 mx.example.com.\n", "co.uk", nil,
		"missing 0 record.missing.suffix.mail", ""},
	{"no record at a public suffix, MX SERVFAIL", "x.co.uk. A 192.0.2.1\n", "co.uk", func(w *diagtest.World) {
		w.Fault("co.uk", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	},
		"missing none record.missing.mail.unknown", ""},
	{"public suffix with mail, with a record", "co.uk. MX 10 mx.example.com.\n" +
		dmarcAt("co.uk", "v=DMARC1; p=reject; psd=y; rua=mailto:d@co.uk"), "co.uk", nil,
		"valid 100", ""},
	{"public suffix, at the domain itself", `co.uk. TXT "v=DMARC1; p=reject; rua=mailto:d@co.uk"` + "\n", "co.uk", nil,
		"missing 0 record.location", ""},
	{"public suffix, at the domain itself, with psd", `co.uk. TXT "v=DMARC1; p=none; psd=y; rua=mailto:d@co.uk"` + "\n",
		"co.uk", nil, "missing 0 record.location", "v=DMARC1; p=none; psd=y; rua=mailto:d@co.uk"},
	{"public suffix, stray", dmarcAt("co.uk", "v=dmarc1; p=none; rua=mailto:d@co.uk"), "co.uk", nil,
		"invalid 0 record.version", ""},
	{"public suffix, without a version", "co.uk. TXT \"x\"\n" + dmarcAt("co.uk", "p=none; rua=mailto:d@co.uk"), "co.uk", nil,
		"missing none record.missing.suffix", ""},
	{"below a public suffix", "example.co.uk. MX 10 mx.example.com.\n", "example.co.uk", nil,
		"missing 0 record.missing", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.co.uk"},
	{"none without reports, null MX", "example.com. MX 0 .\n" + dmarcAt("example.com", "v=DMARC1; p=none"), "", nil,
		"warning 44 policy.none rua.missing", ""},
	{"inherited without reports, mail at the subdomain only", "example.com. MX 0 .\na.example.com. MX 10 mx.example.net.\n" +
		dmarcAt("example.com", "v=DMARC1; p=quarantine"), "a.example.com", nil,
		"warning 76 rua.missing policy.reject", ""},
	{"no record, MX SERVFAIL", "x.example.com. A 192.0.2.1\n", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	},
		"missing none record.missing.mail.unknown", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"no record, MX silent", "x.example.com. A 192.0.2.1\n", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Silent: true})
	},
		"missing none record.missing.mail.unknown", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"none, MX silent", dmarcAt("example.com", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"), "",
		func(w *diagtest.World) { w.Fault("example.com", dns.TypeMX, diagtest.Fault{Silent: true}) },
		"warning 50 policy.none destination.mail.unknown", ""},
	{"none, no reports, MX silent", dmarcAt("example.com", "v=DMARC1; p=none"), "",
		func(w *diagtest.World) { w.Fault("example.com", dns.TypeMX, diagtest.Fault{Silent: true}) },
		"warning 50 policy.none mail.unknown", ""},
	{"parked", "example.com. MX 0 .\n" + dmarcAt("example.com", "v=DMARC1; p=reject"), "", nil,
		"valid 100", ""},
	{"parked, with reports", "example.com. MX 0 .\n" + dmarcAt("example.com", "v=DMARC1; p=reject; rua=mailto:d@example.net") +
		accepting("example.net"), "", nil, "valid 100", ""},
	{"no such domain", "example.net. TXT \"x\"\n", "", nil,
		"missing none domain.nxdomain", ""},
	{"no such subdomain", full, "nx.example.com", nil,
		"missing none domain.nxdomain", ""},
	{"SERVFAIL", full, "", broken("_dmarc.example.com"),
		"unknown none record.unknown", ""},
	{"silence", full, "", func(w *diagtest.World) { w.Fault("_dmarc.example.com", 0, diagtest.Fault{Silent: true}) },
		"unknown none record.unknown", ""},
	{"SERVFAIL above", mx, "", broken("_dmarc.com"),
		"unknown none record.inherited.unknown", ""},
	{"at the domain itself", mx + `example.com. TXT "v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com"` + "\n", "", nil,
		"missing 0 record.location", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"domain twice", mx + dmarcAt("example.com.example.com", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"), "", nil,
		"missing 0 record.location", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"no underscore", mx + `dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:dmarc@example.com"` + "\n", "", nil,
		"missing 0 record.location", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"also at the domain itself", full + `example.com. TXT "v=DMARC1; p=none"` + "\n", "", nil,
		"valid 100", ""},
	{"alias to nowhere", mx + "_dmarc.example.com. CNAME gone.example.net.\n", "", nil,
		"missing 0 record.alias", ""},
	{"alias to another text", mx + "_dmarc.example.com. CNAME d.example.net.\nd.example.net. A 192.0.2.1\n", "", nil,
		"missing 0 record.alias", ""},
	{"alias of the domain itself", mx + "example.com. TXT \"v=spf1 mx -all\"\n_dmarc.example.com. CNAME example.com.\n", "", nil,
		"missing 0 record.alias", ""},
	{"alias of a text that looks like a part of a record", mx + "_dmarc.example.com. CNAME d.example.net.\nd.example.net. TXT \"p=reject\"\n", "", nil,
		"missing 0 record.alias", ""},
	{"alias of a broken record", mx + "_dmarc.example.com. CNAME d.example.net.\nd.example.net. TXT \"v=DMARC1; p=rejct\"\n", "", nil,
		"invalid 39 record.void policy.value", ""},
	{"wildcard alias", mx + "example.com. TXT \"v=spf1 mx -all\"\n*.example.com. CNAME example.com.\n", "", nil,
		"missing 0 record.missing", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"wildcard alias of nothing", mx + "*.example.com. CNAME gone.example.net.\nexample.net. TXT x\n", "", nil,
		"missing 0 record.missing", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"alias of its own beside a wildcard alias", mx + "*.example.com. CNAME example.com.\n_dmarc.example.com. CNAME gone.example.net.\n", "", nil,
		"missing 0 record.alias", ""},
	{"policy spelt out, no reports", mx + dmarcAt("example.com", "v=DMARC1; policy=reject"), "", nil,
		"invalid 39 record.void", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"no semicolon", mx + dmarcAt("example.com", "v=DMARC1 p=reject"), "", nil,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"no semicolon, no mail", "example.com. MX 0 .\n" + dmarcAt("example.com", "v=DMARC1 p=reject"), "", nil,
		"invalid 0 record.version", ""},
	{"wildcard with SPF", mx + `*.example.com. TXT "v=spf1 -all"` + "\n", "", nil,
		"missing 0 record.missing record.wildcard", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"wildcard with DMARC", mx + `*.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"` + "\n", "", nil,
		"valid 100", ""},
	{"SPF at _dmarc", mx + dmarcAt("example.com", "v=spf1 -all"), "", nil,
		"missing 0 record.missing record.spf", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"unrelated", full + dmarcAt("example.com", "verification=1"), "", nil,
		"valid 100", ""},
	{"stray alone", mx + dmarcAt("example.com", "v=DMARC1 p=reject; rua=mailto:dmarc@example.com"), "", nil,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"stray beside", full + dmarcAt("example.com", "v=dmarc1; p=none"), "", nil,
		"warning 89 record.stray", ""},
	{"two records", mx + dmarcAt("example.com", "v=DMARC1; p=none; rua=mailto:a@example.com") + dmarcAt("example.com", "v=DMARC1; p=reject; rua=mailto:b@example.com"), "", nil,
		"invalid 39 record.multiple", "v=DMARC1; p=none; rua=mailto:a@example.com,mailto:b@example.com"},
	{"two records below a record", full + "a.example.com. A 192.0.2.1\n" + dmarcAt("a.example.com", "v=DMARC1; p=none") + dmarcAt("a.example.com", "v=DMARC1; p=reject"), "a.example.com", nil,
		"invalid 39 record.multiple", ""},
	{"rest in another record", mx + dmarcAt("example.com", "v=DMARC1; p=none") + dmarcAt("example.com", "rua=mailto:dmarc@example.com"), "", nil,
		"invalid 50 record.split policy.none", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"rest without a version", mx + dmarcAt("example.com", "p=reject; rua=mailto:dmarc@example.com"), "", nil,
		"missing 0 record.missing", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"none", mx + dmarcAt("example.com", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"), "", nil,
		"warning 60 policy.none", ""},
	{"none, and a destination is silent", strings.Replace(ext, "p=reject", "p=none", 1), "",
		broken("example.com._report._dmarc.reports.example.net"), "unknown none policy.none destination.consent.unknown", ""},
	{"none with pct", mx + dmarcAt("example.com", "v=DMARC1; p=none; pct=50; rua=mailto:dmarc@example.com"), "", nil,
		"warning 57 policy.none policy.sampled", ""},
	{"none without reports", mx + dmarcAt("example.com", "v=DMARC1; p=none"), "", nil,
		"warning 44 policy.none rua.missing", "v=DMARC1; p=none; rua=mailto:dmarc-reports@example.com"},
	{"reject without reports", mx + dmarcAt("example.com", "v=DMARC1; p=reject; sp=quarantine"), "", nil,
		"warning 84 subdomain.weaker rua.missing", "v=DMARC1; p=reject; sp=quarantine; rua=mailto:dmarc-reports@example.com"},
	{"inherited", full + "a.example.com. A 192.0.2.1\n", "a.example.com", nil,
		"valid 100", ""},
	{"inherited sp=none", mx + "a.example.com. A 192.0.2.1\n" + dmarcAt("example.com", "v=DMARC1; p=reject; sp=none; rua=mailto:dmarc@example.com"), "a.example.com", nil,
		"warning 55 policy.none subdomain.weaker", ""},
	{"broken beside an inherited one", full + "a.example.com. A 192.0.2.1\n" + dmarcAt("a.example.com", "v=dmarc1; p=none"), "a.example.com", nil,
		"warning 89 record.own.ignored", ""},
	{"nearer parent", full + "b.a.example.com. A 192.0.2.1\n" + dmarcAt("a.example.com", "v=DMARC1; p=none"), "b.a.example.com", nil,
		"valid 100 record.nearest", ""},
	{"sp below the organizational domain", full + "a.example.com. A 192.0.2.1\n" + dmarcAt("a.example.com", "v=DMARC1; p=reject; sp=none; rua=mailto:dmarc@example.com"), "a.example.com", nil,
		"valid 100 subdomain.ignored", ""},
	{"psd=y", mx + dmarcAt("example.com", "v=DMARC1; p=reject; psd=y; rua=mailto:dmarc@example.com"), "", nil,
		"warning 89 psd.suffix", ""},
	{"psd=y at a public suffix", "co.uk. MX 10 mx.example.com.\n" + dmarcAt("co.uk", "v=DMARC1; p=reject; psd=y; rua=mailto:dmarc@co.uk"), "co.uk", nil,
		"valid 100", ""},
	{"external, agreed", ext + consented, "", nil,
		"valid 100", ""},
	{"external, not agreed", ext, "", nil,
		"warning 89 destination.unauthorized", ""},
	{"external, another text", ext + `example.com._report._dmarc.reports.example.net. TXT "yes"` + "\n", "", nil,
		"warning 89 destination.unauthorized", ""},
	{"external, wildcard", ext + `*._report._dmarc.reports.example.net. TXT "v=DMARC1;"` + "\n", "", nil,
		"valid 100", ""},
	{"external, unknown", ext, "", broken("example.com._report._dmarc.reports.example.net"),
		"unknown none destination.consent.unknown", ""},
	{"external, override", ext + `example.com._report._dmarc.reports.example.net. TXT "v=DMARC1; rua=mailto:x@reports.example.net"` + "\n", "", nil,
		"valid 100", ""},
	{"external, override elsewhere", ext + `example.com._report._dmarc.reports.example.net. TXT "v=DMARC1; rua=mailto:x@example.org"` + "\n", "", nil,
		"warning 89 destination.override.elsewhere", ""},
	{"external, long name", mx + dmarcAt("example.com", "v=DMARC1; p=reject; rua=mailto:d@"+strings.Repeat("a234567890.", 21)+"example.net"), "", nil,
		"warning 89 destination.unauthorized destination.undeliverable", ""},
	{"external without mail", strings.Replace(ext, "MX 10 mx.example.net.", "MX 0 .", 1) + consented, "", nil,
		"warning 89 destination.undeliverable", ""},
	{"external, mail unknown", ext + consented, "", func(w *diagtest.World) {
		w.Fault("reports.example.net", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	},
		"valid 89 destination.mail.unknown", ""},
	{"many destinations", mx + dmarcAt("example.com", manyURIs(12)), "", nil,
		"warning 89 destination.unauthorized destination.undeliverable destination.many", ""},
	{"own mail domain that does not exist", mx + dmarcAt("example.com", "v=DMARC1; p=reject; rua=mailto:d@gone.example.com"), "", nil,
		"warning 89 destination.undeliverable", ""},
}

func manyURIs(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("mailto:d@d%d.example.net", i))
	}
	return "v=DMARC1; p=reject; rua=" + strings.Join(list, ",")
}

func lookup(t *testing.T, zone, domain string, spoil func(*diagtest.World)) *LookupReport {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	if spoil != nil {
		spoil(w)
	}
	if domain == "" {
		domain = "example.com"
	}
	r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: diag.MustDomain(domain)})
	require.NoError(t, err)
	return r
}

func broken(name string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Break(name, dns.RcodeServerFailure) }
}

// lookupVerdicts judges domains.
func lookupVerdicts(t *testing.T) []diag.Verdict {
	var seen diagtest.Seen
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			r := lookup(t, tt.zone, tt.domain, tt.spoil)
			seen.Add(r.Verdict)
			require.Equal(t, tt.outcome, outcome(r.Verdict), "%+v", r.Findings)
			require.Equal(t, tt.suggested, suggested(r.Verdict))
		})
	}
	return seen
}

// The impact of a missing record is unknown if the MX lookup fails, and the finding says so.
func TestMissingWithoutMX(t *testing.T) {
	r := lookup(t, "x.example.com. A 192.0.2.1\n", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Silent: true})
	})
	require.Equal(t, diag.Missing, r.State)
	require.Nil(t, r.Score)
	require.Contains(t, r.Findings[0].Detail, "Whether the domain receives mail is not known: the MX lookup of example.com failed")
	require.True(t, r.Partial)
}

// A record found through an alias is at another name, and is corrected there.
func TestAliasNamesTheRecord(t *testing.T) {
	r := lookup(t, mx+"_dmarc.example.com. CNAME d.example.net.\nd.example.net. TXT \"v=DMARC1; p=rejct\"\n", "", nil)
	require.Contains(t, r.Recommendations[0].Detail, "corrected at d.example.net, of which _dmarc.example.com is an alias")
}

func TestInForce(t *testing.T) {
	for _, tt := range []struct {
		zone, domain, want string
	}{
		{mx + dmarcAt("example.com", "v=DMARC1; p=reject; sp=quarantine"), "example.com", "reject example.com"},
		{mx + dmarcAt("example.com", "v=DMARC1; p=reject; sp=quarantine") + "a.example.com. A 192.0.2.1\n", "a.example.com", "quarantine example.com"},
		{mx + dmarcAt("example.com", "v=DMARC1; p=reject; t=y"), "example.com", "quarantine example.com"},
		{mx + dmarcAt("example.com", "v=DMARC1; p=rejct"), "example.com", "none example.com"},
		{mx, "example.com", "none "},
	} {
		applied, from, known := lookup(t, tt.zone, tt.domain, nil).InForce()
		require.True(t, known)
		require.Equal(t, tt.want, string(applied)+" "+from)
	}
	_, _, known := lookup(t, mx, "", func(w *diagtest.World) { w.Silence("_dmarc.example.com") }).InForce()
	require.False(t, known)
}

func TestRules(t *testing.T) {
	verdicts := append(validateVerdicts(t), lookupVerdicts(t)...)
	diagtest.CoverRules(t, rules(), verdicts)
	diagtest.CheckTexts(t, texts, rules().Describe(), verdicts)
}

// If no record applies because those of the organization are broken, they are named: correcting them is enough.
func TestBrokenRecordsAbove(t *testing.T) {
	for above, want := range map[string]string{
		dmarcAt("example.com", "v=DMARC1; p=reject") + dmarcAt("example.com", "v=DMARC1; p=none"): "Receivers ignore the 2 records at _dmarc.example.com, since there are several.",
		dmarcAt("example.com", "v=DMARC1 p=reject"):                                               `Receivers ignore the TXT record "v=DMARC1 p=reject" at _dmarc.example.com: `,
	} {
		w := diagtest.NewWorld(t)
		w.Zone("in.example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n" + above)
		r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: diag.MustDomain("in.example.com")})
		require.NoError(t, err)
		require.Equal(t, diag.Code("dmarc.record.missing"), r.Findings[0].Code)
		require.Contains(t, r.Findings[0].Detail, want)
	}
}
