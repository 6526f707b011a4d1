package markcert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/stretchr/testify/require"
)

type (
	mark     = markcerttest.Mark
	template = x509.Certificate
)

// june is when the certificates of the tests are judged.
var june = time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)

// authority issues the certificates of the tests.
var authority = markcerttest.New()

func testEnv(now time.Time) *diag.Env {
	return &diag.Env{Data: authority.Files(), Clock: func() time.Time { return now }}
}

// A text builds an input from a certificate without a fault and its issuer.
type text func(leaf, issuer string) string

func blocks(parts ...string) text {
	return func(string, string) string { return strings.Join(parts, "") }
}

// logotype gives the certificate another logotype extension.
func logotype(value []byte) func(*template) {
	return func(c *template) { c.ExtraExtensions[0].Value = value }
}

// uri gives the logo another URI.
func uri(s string) func(*template) {
	d := markcerttest.Image(markcerttest.Logo)
	d.URI = s
	return logotype(d.Encode())
}

func extend(id asn1.ObjectIdentifier, critical bool, value ...byte) func(*template) {
	return func(c *template) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: id, Critical: critical, Value: value})
	}
}

// government is the subject of a mark that a law grants.
var government = map[string]string{
	"1.3.6.1.4.1.53087.1.13": "Government Mark", "1.3.6.1.4.1.53087.1.3": "", "1.3.6.1.4.1.53087.1.4": "",
	"1.3.6.1.4.1.53087.3.2": "US", "1.3.6.1.4.1.53087.3.5": "5 U.S.C. 1", "2.5.4.15": "Government Entity",
}

// priorUse is the subject of a mark that is in use.
func priorUse(source string) map[string]string {
	return map[string]string{
		"1.3.6.1.4.1.53087.1.13": "Prior Use Mark", "1.3.6.1.4.1.53087.1.3": "", "1.3.6.1.4.1.53087.1.4": "",
		"1.3.6.1.4.1.53087.5.1": source,
	}
}

var (
	march   = time.Date(2025, time.March, 14, 0, 0, 0, 0, time.UTC)
	reverse = func(leaf, issuer string) string { return issuer + leaf }
	root    = markcerttest.PEM(authority.Root)
)

// parseCases are certificates with what is wrong with them.
var parseCases = []struct {
	name   string
	mark   mark
	text   text // nil means the certificate and its issuer
	domain string
	now    time.Time // zero means june
	codes  []diag.Code
}{
	{name: "good", domain: "example.com"},
	{name: "good, no domain"},
	{name: "good below", domain: "news.example.com"},
	{name: "selector", mark: mark{Domains: []string{"default._bimi.example.com"}}, domain: "example.com"},
	{name: "with the root", text: func(l, i string) string { return l + i + root }},
	{name: "CRLF and blanks", text: func(l, i string) string { return "\r\n  " + strings.ReplaceAll(l+i, "\n", " \r\n  ") }},
	{name: "one line", text: func(l, i string) string { return strings.ReplaceAll(l+i, "\n", " ") }},
	{name: "escaped line ends", text: func(l, i string) string { return strings.ReplaceAll(l+i, "\n", `\n`) }},
	{name: "byte order mark", text: func(l, i string) string { return "\ufeff" + l + i }},
	{name: "remarks", text: func(l, i string) string { return "subject=CN = x\n" + l + "\nissuer\n" + i }},
	{name: "government", mark: mark{Fields: government}},

	{name: "html", text: blocks("<!doctype html><title>Log in</title>"), codes: codes("cert_pem_missing")},
	{name: "svg", text: blocks(markcerttest.Logo), codes: codes("cert_pem_missing")},
	{name: "words", text: blocks("v=BIMI1; l=; a="), codes: codes("cert_pem_missing")},
	{name: "blank", text: blocks("\ufeff \n"), codes: codes("cert_pem_missing")},
	{name: "pkcs7 block", text: blocks(block("PKCS7", "x")), codes: codes("cert_pem_missing")},
	{name: "request", text: blocks(block("CERTIFICATE REQUEST", "x")), codes: codes("cert_pem_missing")},
	{name: "end is lost", text: func(l, i string) string { return l[:len(l)/2] }, codes: codes("cert_invalid")},
	{name: "only the end", text: func(l, i string) string { return l[len(l)/2:] }, codes: codes("cert_pem_missing")},
	{name: "no certificate inside", text: blocks(block("CERTIFICATE", "not ASN.1")), codes: codes("cert_invalid")},
	{name: "many broken ones are one cause", text: blocks(strings.Repeat(block("CERTIFICATE", "not ASN.1"), 20)), codes: codes("cert_invalid")},
	{name: "empty block", text: blocks(block("CERTIFICATE", "")), codes: codes("cert_invalid")},
	{name: "changed", text: func(l, i string) string { return block("CERTIFICATE", "\x30\x03\x02\x01\x05") + i },
		codes: codes("cert_invalid")},
	{name: "pkcs7 labeled as a certificate", text: blocks(block("CERTIFICATE", "\x30\x0d"+string(oidSignedData)+"\xa0\x00")),
		codes: codes("cert_invalid")},
	{name: "second block damaged", text: func(l, i string) string { return l + strings.Replace(i, "MII", "M*I", 1) },
		codes: codes("cert_invalid", "markcert.chain.incomplete", "markcert.log.unknown")},
	{name: "DER", text: func(l, i string) string { return decode(l) }, codes: codes("markcert.pem.form", "markcert.chain.incomplete", "markcert.log.unknown")},
	{name: "Base64", text: func(l, i string) string { return base64.StdEncoding.EncodeToString([]byte(decode(l) + decode(i))) },
		codes: codes("markcert.pem.form")},

	{name: "private key", text: func(l, i string) string { return l + i + block("EC PRIVATE KEY", "secret") },
		codes: codes("markcert.pem.private_key")},
	{name: "private key alone", text: blocks(block("PRIVATE KEY", "secret")), codes: codes("cert_pem_missing", "markcert.pem.private_key")},
	{name: "other blocks", text: func(l, i string) string { return l + i + block("DH PARAMETERS", "x") }, codes: codes("markcert.pem.others")},
	{name: "order", text: reverse, codes: codes("markcert.pem.order")},
	{name: "root before issuer", text: func(l, i string) string { return l + root + i }, codes: codes("markcert.pem.order")},
	{name: "duplicate", text: func(l, i string) string { return l + i + i }, codes: codes("markcert.pem.duplicate")},
	{name: "unrelated", text: func(l, i string) string { return l + i + stranger() }, codes: codes("markcert.pem.unrelated")},
	{name: "several", text: func(l, i string) string { return l + authority.Issue(mark{Domains: []string{"example.net"}}) },
		codes: codes("markcert.pem.several")},
	{name: "too many", text: func(l, i string) string { return l + i + strings.Repeat(i, 30) }, codes: codes("markcert.pem.duplicate", "markcert.pem.unrelated")},
	{name: "leaf only", text: func(l, i string) string { return l }, codes: codes("markcert.chain.incomplete", "markcert.log.unknown")},
	{name: "leaf only, with an address of the issuer", text: func(l, i string) string { return l },
		mark:  mark{Change: func(c *template) { c.IssuingCertificateURL = []string{"http://example.net/ca.crt"} }},
		codes: codes("markcert.chain.incomplete", "markcert.log.unknown")},
	{name: "issuer only", text: func(l, i string) string { return i }, codes: codes("cert_not_vmc")},

	{name: "no purpose", mark: mark{Change: func(c *template) { c.UnknownExtKeyUsage = nil }}, codes: codes("cert_not_vmc")},
	{name: "purpose of a web server", mark: mark{Change: func(c *template) {
		c.UnknownExtKeyUsage, c.ExtKeyUsage = nil, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}}, codes: codes("cert_not_vmc")},
	{name: "two purposes", mark: mark{Change: func(c *template) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }},
		codes: codes("markcert.usage.extra")},
	{name: "precertificate", mark: mark{Change: extend(oidPoison, true, 5, 0)}, codes: codes("cert_not_vmc", "markcert.chain.invalid")},
	{name: "authority with a logo", mark: mark{Change: func(c *template) { c.IsCA = true }}, codes: codes("cert_not_vmc", "markcert.usage.signing")},
	{name: "may sign", mark: mark{Change: func(c *template) { c.KeyUsage = x509.KeyUsageCertSign }}, codes: codes("markcert.usage.signing")},

	{name: "expired", now: june.AddDate(1, 0, 0), codes: codes("cert_expired")},
	{name: "expired and order", now: june.AddDate(1, 0, 0), text: reverse, codes: codes("cert_expired", "markcert.pem.order")},
	{name: "not yet valid", now: june.AddDate(-1, 0, 0), codes: codes("markcert.validity.not_yet", "markcert.log.future")},
	{name: "13 days", now: june.AddDate(0, 7, -13), codes: codes("markcert.validity.urgent")},
	{name: "an hour", now: june.AddDate(0, 7, 0).Add(-time.Hour), codes: codes("markcert.validity.urgent")},
	{name: "29 days", now: june.AddDate(0, 7, -29), codes: codes("markcert.validity.soon")},
	{name: "31 days", now: june.AddDate(0, 7, -31)},

	{name: "self-signed", text: func(string, string) string { return selfSigned("") }, codes: codes("markcert.chain.untrusted", "markcert.log.missing")},
	{name: "another authority", text: func(string, string) string { return markcerttest.Named("other").Issue(mark{}) }, codes: codes("markcert.chain.untrusted", "markcert.log.unknown")},
	{name: "expired issuer", text: func(string, string) string { return chained(func(c *template) { c.NotAfter = june.AddDate(0, -1, 0) }) },
		codes: codes("markcert.chain.expired")},
	{name: "issuer not yet valid", text: func(string, string) string { return chained(func(c *template) { c.NotBefore = june.AddDate(0, 1, 0) }) },
		codes: codes("markcert.chain.expired")},
	{name: "issuer without the purpose", text: func(string, string) string { return chained(func(c *template) { c.UnknownExtKeyUsage = nil }) },
		codes: codes("markcert.chain.usage")},
	{name: "issuer that may not sign", text: func(string, string) string { return chained(func(c *template) { c.IsCA, c.KeyUsage = false, 0 }) },
		codes: codes("markcert.chain.invalid", "markcert.log.unknown")},
	{name: "issuer for other names", text: func(string, string) string {
		return chained(func(c *template) { c.PermittedDNSDomains = []string{"example.net"} })
	}, codes: codes("markcert.chain.invalid")},
	{name: "never valid together", text: func(string, string) string {
		return chained(func(c *template) { c.NotBefore, c.NotAfter = june.AddDate(3, 0, 0), june.AddDate(4, 0, 0) })
	}, codes: codes("markcert.chain.invalid")},
	{name: "issuer with a huge key", text: func(l, i string) string { return l + heavy() + i },
		codes: codes("markcert.chain.invalid")},
	{name: "SHA-1", text: func(string, string) string { return selfSigned("SHA-1") }, codes: codes("markcert.signature.weak", "markcert.log.missing")},

	{name: "RSA 1024", mark: mark{Key: weakKey()}, codes: codes("markcert.key.weak")},
	{name: "no policy", mark: mark{Change: func(c *template) { c.Policies = nil }}, codes: codes("markcert.policy.missing")},
	{name: "no revocation list", mark: mark{Change: func(c *template) { c.CRLDistributionPoints = nil }}, codes: codes("markcert.revocation.missing")},
	{name: "name constraints", mark: mark{Change: func(c *template) { c.PermittedDNSDomains = []string{"example.com"} }},
		codes: codes("markcert.constraints.forbidden")},
	{name: "pilot", mark: mark{NotBefore: march, Change: extend(oidPilot, false, 5, 0)}},
	{name: "critical pilot", mark: mark{NotBefore: march, Change: extend(oidPilot, true, 5, 0)}, codes: nil},
	{name: "late pilot", mark: mark{NotBefore: march.AddDate(0, 0, 1), Change: extend(oidPilot, true, 5, 0)}, codes: codes("markcert.pilot.late")},
	{name: "unknown critical extension", mark: mark{Change: extend(asn1.ObjectIdentifier{1, 2, 3}, true, 5, 0)}, codes: codes("markcert.chain.invalid")},

	{name: "no mark type", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.1.13": ""}}, codes: nil},
	{name: "no mark at all", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.1.13": "", "1.3.6.1.4.1.53087.1.4": ""}},
		codes: codes("markcert.type.unknown")},
	{name: "unknown mark type", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.1.13": "Famous Mark"}}, codes: codes("markcert.type.unknown")},
	{name: "prior use", mark: mark{Fields: priorUse("https://example.com/")}, codes: codes("markcert.type.common")},
	{name: "prior use without source", mark: mark{Fields: priorUse("")}, codes: codes("markcert.subject.source", "markcert.type.common")},
	{name: "prior use before", mark: mark{NotBefore: sourceSince.Add(-time.Hour), Fields: priorUse("")}, codes: codes("markcert.type.common")},
	{name: "modified", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.1.13": "Modified Registered Mark"}}, codes: codes("markcert.type.common")},
	{name: "provisional", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.1.13": "Provisional Mark"}}, codes: codes("markcert.type.common")},
	{name: "no trademark", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.1.4": ""}}, codes: codes("markcert.subject.missing")},
	{name: "no street", mark: mark{Fields: map[string]string{"2.5.4.9": ""}}, codes: codes("markcert.subject.missing")},
	{name: "no place", mark: mark{Fields: map[string]string{"2.5.4.7": ""}}, codes: codes("markcert.subject.place")},
	{name: "place without state", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.311.60.2.1.1": "Springfield"}}, codes: codes("markcert.subject.state")},
	{name: "category", mark: mark{Fields: map[string]string{"2.5.4.15": "Startup"}}, codes: codes("markcert.subject.category")},
	{name: "statute of a trademark", mark: mark{Fields: map[string]string{"1.3.6.1.4.1.53087.3.5": "5 U.S.C. 1"}}, codes: codes("markcert.subject.foreign")},
	{name: "unknown attribute", mark: mark{Fields: map[string]string{"1.2.3.4": "x"}}, codes: nil},

	{name: "another domain", domain: "example.net", codes: codes("cert_domain_mismatch")},
	{name: "name of a subdomain", mark: mark{Domains: []string{"news.example.com"}}, domain: "example.com", codes: codes("cert_domain_mismatch")},
	{name: "many names", mark: mark{Domains: []string{"a.example", "b.example", "c.example", "d.example", "e.example", "f.example"}},
		domain: "example.com", codes: codes("cert_domain_mismatch")},
	{name: "CN only", mark: mark{Domains: []string{}, Fields: map[string]string{"2.5.4.3": "example.com"}}, domain: "example.com",
		codes: codes("markcert.names.missing")},
	{name: "no names", mark: mark{Domains: []string{}}, codes: codes("markcert.names.missing")},
	{name: "wildcard", mark: mark{Domains: []string{"*.example.com"}}, domain: "news.example.com",
		codes: codes("cert_domain_mismatch", "markcert.names.wildcard")},

	{name: "no logo", mark: mark{Change: func(c *template) { c.ExtraExtensions = nil }}, codes: codes("markcert.logotype.missing")},
	{name: "no ASN.1", mark: mark{Change: logotype([]byte("data:image/svg+xml;base64,AAAA"))}, codes: codes("markcert.logotype.malformed")},
	{name: "trailing bytes", mark: mark{Change: logotype(append(markcerttest.Image("x").Encode(), 0))}, codes: codes("markcert.logotype.malformed")},
	{name: "community logo only", mark: mark{Change: logotype([]byte{0x30, 4, 0xa0, 2, 0x30, 0})}, codes: codes("markcert.logotype.malformed")},
	{name: "indirect", mark: mark{Change: logotype([]byte{0x30, 6, 0xa2, 4, 0xa1, 2, 0x30, 0})}, codes: codes("markcert.logotype.malformed")},
	{name: "no image", mark: mark{Change: logotype([]byte{0x30, 6, 0xa2, 4, 0xa0, 2, 0x30, 0})}, codes: codes("markcert.logotype.malformed")},
	{name: "https instead of data", mark: mark{Change: uri("https://example.com/logo.svg")}, codes: codes("markcert.logotype.malformed")},
	{name: "percent encoding", mark: mark{Change: uri("data:image/svg+xml,%3Csvg/%3E")}, codes: codes("markcert.logotype.malformed")},
	{name: "compressed type", mark: mark{Change: uri(strings.Replace(markcerttest.Image(markcerttest.Logo).URI, "xml;", "xml+gzip;", 1))}},
	{name: "PNG", mark: mark{Change: uri("data:image/png;base64,iVBORw0KGgo=")}, codes: codes("markcert.logotype.malformed")},
	{name: "broken Base64", mark: mark{Change: uri("data:image/svg+xml;base64,!")}, codes: codes("markcert.logotype.malformed")},
	{name: "broken gzip", mark: mark{Change: uri("data:image/svg+xml;base64,H4sIAAAA")}, codes: codes("markcert.logotype.malformed")},
	{name: "gzip bomb", mark: mark{SVG: strings.Repeat(" ", 50<<20)}, codes: codes("markcert.logotype.malformed")},
	{name: "two logos", mark: mark{Change: logotype(markcerttest.Image(markcerttest.Logo).Encode(markcerttest.Image("x")))},
		codes: codes("markcert.logotype.several")},
	{name: "other hash", mark: mark{Change: func(c *template) {
		d := markcerttest.Image(markcerttest.Logo)
		d.Hash[0]++
		logotype(d.Encode())(c)
	}}, codes: codes("markcert.logotype.hash")},
	{name: "CRLF hashed as LF", mark: mark{Change: func(c *template) {
		d := markcerttest.Image(strings.Replace(markcerttest.Logo, "><", ">\r\n<", 1))
		d.Hash = markcerttest.Sum(strings.Replace(markcerttest.Logo, "><", ">\n<", 1))
		logotype(d.Encode())(c)
	}}},
	{name: "uncompressed", mark: mark{Change: uri("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(markcerttest.Logo)))},
		codes: codes("markcert.logotype.uncompressed")},
	{name: "other media type", mark: mark{Change: func(c *template) {
		d := markcerttest.Image(markcerttest.Logo)
		d.MediaType = "image/png"
		logotype(d.Encode())(c)
	}}, codes: codes("markcert.logotype.type")},
	{name: "critical logotype", mark: mark{Change: func(c *template) { c.ExtraExtensions[0].Critical = true }}, codes: codes("markcert.logotype.critical")},
	{name: "large logo", mark: mark{SVG: strings.Replace(markcerttest.Logo, "Example", "Example</title><desc>"+strings.Repeat("x", 40<<10)+"</desc><title>", 1)},
		codes: codes("markcert.logo.profile", "markcert.logo.size")},
	{name: "script", mark: mark{SVG: strings.Replace(markcerttest.Logo, "<rect", "<script/><rect", 1)}, codes: codes("markcert.logo.profile")},
	{name: "not square", mark: mark{SVG: strings.Replace(markcerttest.Logo, "0 0 64 64", "0 0 64 32", 1)}, codes: nil},

	{name: "not logged", mark: mark{Unlogged: true}, codes: codes("markcert.log.missing")},
	{name: "garbled timestamps", mark: mark{Unlogged: true, Change: extend(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, false, 4, 1, 0)},
		codes: codes("markcert.log.missing")},
	{name: "timestamp of a far future", mark: mark{Unlogged: true, Change: stamped(0, 1<<63)},
		codes: codes("markcert.log.future", "markcert.log.unknown")},
	{name: "timestamp of another version", mark: mark{Unlogged: true, Change: stamped(1, 1)}, codes: codes("markcert.log.unknown")},
	{name: "timestamps of another", mark: mark{Unlogged: true, Change: borrowed}, codes: codes("markcert.log.forged")},
}

func codes(list ...diag.Code) []diag.Code { return list }

// A root that a provider distrusts after a date is accepted for what it issued before, and the report says so.
func distrustVerdicts(t *testing.T) (seen []diag.Verdict) {
	for _, since := range []time.Time{june, june.AddDate(-1, 0, 0)} {
		e, err := newEvidence(testEnv(june))
		require.NoError(t, err)
		roots := *e.roots
		roots.refused = map[string]distrust{fingerprint(authority.Root): {"markcerttest", "a provider", since}}
		e.roots = &roots
		e.parse([]byte(authority.Issue(mark{})))
		r := e.report(parseRules())
		require.Equal(t, codes("markcert.chain.distrusted"), diagtest.Codes(r.Verdict))
		require.True(t, r.Valid)
		seen = append(seen, r.Verdict)
	}
	return seen
}

func uniq(list []diag.Code) []diag.Code {
	slices.Sort(list)
	return slices.Compact(list)
}

// checkReport checks what holds for each report.
func checkReport(t *testing.T, r *ParseReport) {
	t.Helper()
	_, err := json.Marshal(r)
	require.NoError(t, err)
	worst := diag.Info
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
		require.NotContains(t, f.Detail, "secret")
	}
	require.Equal(t, worst < diag.Error && r.ChainTrusted != nil, r.Valid)
	if r.Certificate.FingerprintSHA256 != "" {
		require.Equal(t, r.Certificate.LogoEmbedded, r.Certificate.LogoSHA256 != "")
		require.NotEmpty(t, r.Chain)
	}
}

// checkSuggestion checks that a text that is suggested can be published as it is, and keeps the certificate.
func checkSuggestion(t *testing.T, now time.Time, r *ParseReport) {
	t.Helper()
	for _, rec := range r.Recommendations {
		if rec.SuggestedValue == "" {
			continue
		}
		again, err := Parse(t.Context(), testEnv(now), ParseRequest{PEM: rec.SuggestedValue})
		require.NoError(t, err)
		require.Equal(t, r.Certificate.FingerprintSHA256, again.Certificate.FingerprintSHA256)
		for _, f := range again.Findings {
			require.False(t, strings.HasPrefix(string(f.Code), "markcert.pem."), "%s: %s", rec.Code, f.Code)
			require.True(t, slices.ContainsFunc(r.Findings, func(o diag.Finding) bool { return o.Code == f.Code }), "new: %s", f.Code)
		}
	}
}
