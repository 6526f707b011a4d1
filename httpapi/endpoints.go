package httpapi

import (
	"cmp"
	_ "embed" // what is said of each operation
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/netmask"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/zonecheck"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/bimi/logo"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/diagkit/diagkit/mailauth/deliverability"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/aggregate"
	"github.com/diagkit/diagkit/mailauth/dmarcbis"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/header"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/textutil"
	"github.com/diagkit/diagkit/webcheck/crawl"
	"github.com/diagkit/diagkit/webcheck/csr"
	"github.com/diagkit/diagkit/webcheck/headers"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/phishing"
	"github.com/diagkit/diagkit/webcheck/qr"
	qrdecode "github.com/diagkit/diagkit/webcheck/qr/decode"
	"github.com/diagkit/diagkit/webcheck/redirect"
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

// Prefix precedes the path of every endpoint.
const Prefix = "/public/v1"

// The scopes, by the names that the table uses.
const (
	dnsRead   = metering.DNSRead
	mailRead  = metering.MailRead
	mailWrite = metering.MailWrite
	webRead   = metering.WebRead
)

// endpoints is the whole public surface: one line each. It is the only source of server, command line, OpenAPI
// document and price list.
var endpoints = []Endpoint{
	// method, path under Prefix, scope, credits, purpose, function
	{"POST", "/resolve", dnsRead, 1, "standard DNS resolution", Call(resolve.Lookup)},
	{"POST", "/resolve/propagation", dnsRead, 3, "multi-resolver propagation test", Call(propagation.Check).Within(10 * time.Second)},
	{"POST", "/dnssec/check", dnsRead, 3, "DNSSEC chain validation", Call(dnssec.Check)},
	{"POST", "/ip/whois", dnsRead, 2, "WHOIS lookup for an IP", Call(registry.LookupIP)},
	{"POST", "/ip/nslookup", dnsRead, 1, "reverse DNS (PTR) lookup", Call(resolve.Reverse)},
	{"POST", "/ip/netmask", dnsRead, 1, "IPv4 netmask calculator", Pure(netmask.Compute)},
	{"POST", "/rdap/lookup", dnsRead, 2, "RDAP/WHOIS domain lookup", Call(registry.LookupDomain)},
	{"POST", "/domain/dns-check", dnsRead, 5, "DNS server audit", Call(zonecheck.Check)},
	{"POST", "/dns/idn", dnsRead, 1, "convert a domain name between Unicode and ASCII (Punycode)", Pure(idn.Convert)},
	{"POST", "/text/lower", dnsRead, 1, "text utility", text(textutil.Lower).about("convert to lower case")},
	{"POST", "/text/upper", dnsRead, 1, "text utility", text(textutil.Upper).about("convert to upper case")},
	{"POST", "/text/stats", dnsRead, 1, "text utility", text(textutil.Stats).about("count characters, words and sentences")},
	{"POST", "/text/slug", dnsRead, 1, "text utility", text(textutil.Slug).about("make a slug for URLs")},
	{"POST", "/text/base64/encode", dnsRead, 1, "text utility", text(textutil.Base64Encode).about("encode as Base64")},
	{"POST", "/text/base64/decode", dnsRead, 1, "text utility", text(textutil.Base64Decode).about("decode Base64")},
	{"POST", "/text/password/generate", dnsRead, 1, "text utility", Pure(textutil.GeneratePassword).about("generate passwords or passphrases").sealed()},
	{"POST", "/text/urlencode", dnsRead, 1, "text utility", text(textutil.URLEncode).about("percent-encode")},
	{"POST", "/text/urldecode", dnsRead, 1, "text utility", text(textutil.URLDecode).about("decode percent-encoding")},
	{"POST", "/text/json/format", dnsRead, 1, "text utility", text(textutil.FormatJSON).about("format or minify JSON")},
	{"POST", "/text/json/to-yaml", dnsRead, 1, "text utility", text(textutil.JSONToYAML).about("convert JSON to YAML")},
	{"POST", "/text/yaml/format", dnsRead, 1, "text utility", text(textutil.FormatYAML).about("format YAML")},
	{"POST", "/text/yaml/to-json", dnsRead, 1, "text utility", text(textutil.YAMLToJSON).about("convert YAML to JSON")},
	{"POST", "/text/hash", dnsRead, 1, "text utility", text(textutil.Hash).about("hash with several algorithms, or make an HMAC")},
	{"POST", "/text/regex/test", dnsRead, 1, "text utility", text(textutil.Regex).about("test a regular expression (RE2)")},
	{"POST", "/spf/lookup", mailRead, 1, "SPF lookup and parsing", Call(spf.Lookup)},
	{"POST", "/spf/validate", mailRead, 1, "SPF validation, no DNS lookup", Pure(spf.Validate)},
	{"POST", "/dkim/lookup", mailRead, 1, "DKIM lookup by selector", Call(dkim.Lookup)},
	{"POST", "/dkim/validate", mailRead, 1, "DKIM validation, no DNS lookup", Pure(dkim.Validate)},
	{"POST", "/dmarc/lookup", mailRead, 1, "DMARC lookup and parsing", Call(dmarc.Lookup)},
	{"POST", "/dmarc/validate", mailRead, 1, "DMARC validation, no DNS lookup; returns scoring and recommendations", Pure(dmarc.Validate)},
	{"POST", "/bimi/lookup", mailRead, 2, "BIMI lookup with logo retrieval", Call(bimi.Lookup).Holding(16 << 20)},
	{"POST", "/bimi/validate", mailRead, 2, "BIMI validation, no DNS lookup", Pure(bimi.Validate)},
	{"POST", "/bimi/logo/lookup", mailRead, 2, "BIMI logo download and validation", Call(logo.Lookup).Holding(16 << 20)},
	{"POST", "/mta-sts/lookup", mailRead, 2, "MTA-STS policy lookup", Call(mtasts.Lookup)},
	{"POST", "/tls-rpt/lookup", mailRead, 2, "TLS-RPT lookup", Call(tlsrpt.Lookup)},
	{"POST", "/dane/lookup", mailRead, 2, "DANE/TLSA lookup for SMTP", Call(dane.Lookup)},
	{"POST", "/blacklist/ip", mailRead, 5, "multi-RBL blacklist check", Call(dnsbl.Check).Holding(3 << 20)},
	{"POST", "/smtp/check", mailRead, 6, "SMTP test (HELO, STARTTLS, AUTH)", Call(smtpcheck.Check).Within(30 * time.Second)},
	{"POST", "/mail/header-audit", mailRead, 2, "raw email header analysis", Call(header.Audit).UpTo(headerBody).Holding(6 << 20)},
	{"POST", "/mail/header-analyze", mailRead, 2, "email header analysis", Call(header.Analyze).UpTo(11 << 20)}, // 5 MiB, escaped
	{"POST", "/mail/domain-check", mailRead, 10, "full email domain readiness check", Call(domaincheck.Check).Within(30 * time.Second).Holding(40 << 20)},
	{"POST", "/dmarcbis/check", mailRead, 2, "DMARCbis Tree Walk analysis", Call(dmarcbis.Check)},
	{"POST", "/dmarc/report/analyze", mailRead, 5, "DMARC aggregate report analysis", Call(aggregate.Analyze).uploads("content_base64", aggregate.MaxSent)},
	{"POST", "/certificats/bimi/parse", mailRead, 1, "BIMI/VMC certificate parser", Call(markcert.Parse).UpTo(pemBody).Holding(5 << 20)},
	{"POST", "/certificats/bimi/lookup", mailRead, 2, "BIMI certificate download and parse", Call(markcert.Lookup).Holding(5 << 20)},
	{"GET", "/spf/hosted", mailRead, 1, "list the key's Hosted SPF profiles", hosted(hostedspf.List)},
	{"GET", "/spf/hosted/{id}", mailRead, 1, "single Hosted SPF profile", hosted(hostedspf.Show)},
	{"GET", "/spf/hosted/{id}/history", mailRead, 2, "paginated resolution history", hosted(hostedspf.History)},
	{"GET", "/spf/hosted/{id}/stats", mailRead, 2, "statistics over 24 hours, 7 days, 30 days", hosted(hostedspf.Stats)},
	{"POST", "/deliverability/score", mailWrite, 30, "aggregated score (SPF, DKIM, DMARC, BIMI, reputation)", Call(deliverability.Score).Within(45 * time.Second).Holding(40 << 20)},
	{"POST", "/dmarc/generate", mailWrite, 1, "DMARC record generator", Pure(dmarc.Generate)},
	{"POST", "/dmarcbis/migrate", mailWrite, 1, "DMARC to DMARCbis migration", Pure(dmarcbis.Migrate)},
	{"POST", "/spf/hosted/{id}/resolve", mailWrite, 5, "forced re-resolve of a Hosted SPF profile", hosted(hostedspf.Resolve)},
	{"POST", "/url/check", webRead, 3, "redirect chain analysis", Call(redirect.Check).Holding(redirect.Memory)},
	{"POST", "/page/crawl-check", webRead, 10, "page crawl with metadata extraction", Call(crawl.Check)},
	{"POST", "/phishing/check", webRead, 8, "heuristic phishing detection", Call(phishing.Check).Holding(phishing.Memory)},
	{"POST", "/http/headers-check", webRead, 2, "HTTP headers, redirect chain, TLS", Call(headers.Check).Holding(headers.Memory)},
	{"POST", "/http/hsts-check", webRead, 3, "HSTS analysis and preload eligibility", Call(hsts.Check).Holding(12 << 20)},
	{"POST", "/certificates/ssl/check", webRead, 2, "web server TLS certificate and chain", Call(tlscert.Check).Holding(32 << 20)},
	{"POST", "/certificates/csr/parse", webRead, 2, "CSR compliance analysis (verdict, weak-key detection, SPKI SHA-256 fingerprint)", Call(csr.Parse).UpTo(csrBody).Holding(4<<20).alsoFor(mailRead, Deprecation{Since: mailReadEnds})},
	{"POST", "/http/qr", webRead, 2, "generate a QR code; success body is image bytes; image never stored", image(qr.Encode, "image/png", "image/svg+xml", "image/jpeg")},
	{"POST", "/http/qr/decode", webRead, 2, "read QR codes from an uploaded image; image never stored", Call(qrdecode.Decode).uploads("image_base64", qrdecode.MaxBytes, "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")},
}

// An Endpoint is one operation of the public API: a row of its table. Those of one's own are made like ours, of all
// fields, and served by [Config.Endpoints].
type Endpoint struct {
	Method    string // GET or POST; a GET request has its fields in path and query
	Path      string // under Prefix, such as /acme/mx-policy or /acme/hosts/{id}
	Scope     metering.Scope
	Credits   int64     // price of a reply; what fails costs nothing
	Purpose   string    // its purpose, in a few words
	Operation Operation // its work, made by Call or Pure; without it, New panics and Run returns an error
}

// Name is the path without its first slash, such as "mta-sts/lookup".
func (ep Endpoint) Name() string { return strings.TrimPrefix(ep.Path, "/") }

// At is the name as addresses of pages have it: without the braces around parameters.
func (ep Endpoint) At() string { return unbraced.Replace(ep.Name()) }

var unbraced = strings.NewReplacer("{", "", "}", "")

// ID is the method and the whole path, as the ledger and the metrics name the endpoint.
func (ep Endpoint) ID() string { return ep.Method + " " + Prefix + ep.Path }

// Summary returns what the operation does: its purpose, or a more specific text if that is the purpose of a family.
func (ep Endpoint) Summary() string { return cmp.Or(ep.Operation.summary, ep.Purpose) }

// Family is the heading under which lists have the endpoint.
func (ep Endpoint) Family() string {
	switch scope, _, _ := strings.Cut(string(ep.Scope), ":"); {
	case strings.HasPrefix(ep.Path, "/text/"):
		return "Text"
	case strings.HasPrefix(ep.Path, "/spf/hosted"):
		return "Hosted SPF"
	case scope == "mail":
		return "Mail"
	case scope == "web":
		return "Web"
	}
	return "DNS and registration"
}

// Headlined reports whether replies have a verdict in words.
func (ep Endpoint) Headlined() bool {
	if ep.Operation.report == nil {
		return false
	}
	_, ok := ep.Operation.report.FieldByName("Headline")
	return ok
}

// HasBody reports whether a request carries its fields in a JSON body.
func (ep Endpoint) HasBody() bool { return ep.Method == http.MethodPost }

// Rules describes the rules by which the endpoint's reports are judged, if there are any.
func (ep Endpoint) Rules() []diag.RuleInfo {
	if ep.Operation.report == nil {
		return nil
	}
	if judged, ok := reflect.New(ep.Operation.report).Interface().(interface{ Rules() []diag.RuleInfo }); ok {
		return judged.Rules()
	}
	return nil
}

// mailReadEnds is since when requests for certificates should not be parsed by a key for mail alone (CONTRACT 1.12).
var mailReadEnds = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)

// A Deprecation holds since when something should no longer be used, and when it ends.
type Deprecation struct {
	Since  time.Time // zero: no date is set yet, so replies do not contain one
	Sunset time.Time // zero: no end is decided yet
}

// A transition is a scope that a row temporarily accepts in addition to its own.
type transition struct {
	scope metering.Scope
	Deprecation
}

// deprecated marks the row itself. Every reply to an authorized caller reports it.
func (op Operation) deprecated(d Deprecation) Operation { op.deprecation = &d; return op }

// alsoFor accepts another scope for a while (CONTRACT 1.12). Use by it alone is logged, counted, and
// answered with its deprecation.
func (op Operation) alsoFor(scope metering.Scope, d Deprecation) Operation {
	op.transition = &transition{scope, d}
	return op
}

// Scopes are those of which any one suffices: the row's own, and one that it accepts for a while.
func (ep Endpoint) Scopes() []metering.Scope {
	list := []metering.Scope{ep.Scope}
	if ep.Operation.transition != nil {
		list = append(list, ep.Operation.transition.scope)
	}
	return list
}

// deprecatedOperation is the value of [Observation.Deprecated] for the use of a deprecated row.
const deprecatedOperation = "operation"

// admitScope checks that the key carries a scope of the row, and records deprecated use.
func (x *exchange) admitScope() *failure {
	_, err := x.caller.Require(x.ep.Scope)
	if other := x.ep.Operation.transition; err != nil && other != nil {
		if _, missing := x.caller.Require(other.scope); missing == nil {
			err = nil
			x.deprecate(string(other.scope), other.Deprecation)
		}
	}
	if err != nil {
		return x.problem(err)
	}
	if d := x.ep.Operation.deprecation; d != nil && x.seen.Deprecated == "" {
		x.deprecate(deprecatedOperation, *d)
	}
	return nil
}

func (x *exchange) deprecate(what string, d Deprecation) {
	x.seen.Deprecated = what
	x.log.Info("deprecated use", "request_id", x.id, "endpoint", x.seen.Endpoint, "deprecated", what,
		"key", string(x.caller.Key.ID), "account", string(x.caller.Account.ID))
	if !d.Since.IsZero() {
		x.header("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10)) // RFC 9745 section 2.1
	}
	if !d.Sunset.IsZero() {
		x.header("Sunset", d.Sunset.UTC().Format(http.TimeFormat)) // RFC 8594 section 3
	}
}

// aboutText describes in three sentences what each operation examines: a paragraph each, which begins with its name.
//
//go:embed docs/about.txt
var aboutText string

var abouts = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(aboutText), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		all[lines[0]] = lines[1:]
	}
	return all
})

// About describes in three sentences what the operation examines and how; for one of one's own, its purpose. The
// caller must not change them.
func (ep Endpoint) About() []string {
	if own, ok := abouts()[ep.Name()]; ok || ep.Purpose == "" {
		return own
	}
	return []string{diag.Upper(ep.Purpose) + "."}
}
