package httpapi

import (
	"time"

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

// The limits of an operation that sets none of its own (CONTRACT 1.9).
const (
	defaultBody = 64 << 10
	defaultTime = 15 * time.Second
	// textBody leaves room for a text of 1 MiB and the JSON around it.
	textBody = 1<<20 + defaultBody
	// pemBody leaves room for certificates of 256 KiB with their line ends escaped.
	pemBody = 256<<10 + defaultBody
	// csrBody leaves room for a signing request of 64 KiB with its line ends escaped.
	csrBody = 64<<10 + defaultBody
	// headerBody leaves room for a header of 256 KiB with its line ends and quotation marks escaped.
	headerBody = 512<<10 + defaultBody
)

// endpoints is the whole public surface: one row each. It is the only source of server, command line, OpenAPI
// document and price list.
var endpoints = []Endpoint{
	// method, path under Prefix, scope, credits, purpose, function
	{"POST", "/resolve", dnsRead, 1, "standard DNS resolution", Call(resolve.Lookup)},
	{"POST", "/resolve/propagation", dnsRead, 3, "multi-resolver propagation test",
		Call(propagation.Check).WithTimeout(10 * time.Second)},
	{"POST", "/dnssec/check", dnsRead, 3, "DNSSEC chain validation", Call(dnssec.Check)},
	{"POST", "/ip/whois", dnsRead, 2, "WHOIS lookup for an IP", Call(registry.LookupIP)},
	{"POST", "/ip/nslookup", dnsRead, 1, "reverse DNS (PTR) lookup", Call(resolve.Reverse)},
	{"POST", "/ip/netmask", dnsRead, 1, "IPv4 netmask calculator", Pure(netmask.Compute)},
	{"POST", "/rdap/lookup", dnsRead, 2, "RDAP/WHOIS domain lookup", Call(registry.LookupDomain)},
	{"POST", "/domain/dns-check", dnsRead, 5, "DNS server audit", Call(zonecheck.Check)},
	{"POST", "/dns/idn", dnsRead, 1, "convert a domain name between Unicode and ASCII (Punycode)", Pure(idn.Convert)},
	{"POST", "/text/lower", dnsRead, 1, "text utility", text(textutil.Lower).withSummary("convert to lower case")},
	{"POST", "/text/upper", dnsRead, 1, "text utility", text(textutil.Upper).withSummary("convert to upper case")},
	{"POST", "/text/stats", dnsRead, 1, "text utility",
		text(textutil.Stats).withSummary("count characters, words and sentences")},
	{"POST", "/text/slug", dnsRead, 1, "text utility", text(textutil.Slug).withSummary("make a slug for URLs")},
	{"POST", "/text/base64/encode", dnsRead, 1, "text utility",
		text(textutil.Base64Encode).withSummary("encode as Base64")},
	{"POST", "/text/base64/decode", dnsRead, 1, "text utility",
		text(textutil.Base64Decode).withSummary("decode Base64")},
	{"POST", "/text/password/generate", dnsRead, 1, "text utility",
		Pure(textutil.GeneratePassword).withSummary("generate passwords or passphrases").sealReplies()},
	{"POST", "/text/urlencode", dnsRead, 1, "text utility", text(textutil.URLEncode).withSummary("percent-encode")},
	{"POST", "/text/urldecode", dnsRead, 1, "text utility",
		text(textutil.URLDecode).withSummary("decode percent-encoding")},
	{"POST", "/text/json/format", dnsRead, 1, "text utility",
		text(textutil.FormatJSON).withSummary("format or minify JSON")},
	{"POST", "/text/json/to-yaml", dnsRead, 1, "text utility",
		text(textutil.JSONToYAML).withSummary("convert JSON to YAML")},
	{"POST", "/text/yaml/format", dnsRead, 1, "text utility", text(textutil.FormatYAML).withSummary("format YAML")},
	{"POST", "/text/yaml/to-json", dnsRead, 1, "text utility",
		text(textutil.YAMLToJSON).withSummary("convert YAML to JSON")},
	{"POST", "/text/hash", dnsRead, 1, "text utility",
		text(textutil.Hash).withSummary("hash with several algorithms, or make an HMAC")},
	{"POST", "/text/regex/test", dnsRead, 1, "text utility",
		text(textutil.Regex).withSummary("test a regular expression (RE2)")},
	{"POST", "/spf/lookup", mailRead, 1, "SPF lookup and parsing", Call(spf.Lookup)},
	{"POST", "/spf/validate", mailRead, 1, "SPF validation, no DNS lookup", Pure(spf.Validate)},
	{"POST", "/dkim/lookup", mailRead, 1, "DKIM lookup by selector", Call(dkim.Lookup)},
	{"POST", "/dkim/validate", mailRead, 1, "DKIM validation, no DNS lookup", Pure(dkim.Validate)},
	{"POST", "/dmarc/lookup", mailRead, 1, "DMARC lookup and parsing", Call(dmarc.Lookup)},
	{"POST", "/dmarc/validate", mailRead, 1, "DMARC validation, no DNS lookup; returns scoring and recommendations",
		Pure(dmarc.Validate)},
	{"POST", "/bimi/lookup", mailRead, 2, "BIMI lookup with logo retrieval", Call(bimi.Lookup).WithMemory(16 << 20)},
	{"POST", "/bimi/validate", mailRead, 2, "BIMI validation, no DNS lookup", Pure(bimi.Validate)},
	{"POST", "/bimi/logo/lookup", mailRead, 2, "BIMI logo download and validation",
		Call(logo.Lookup).WithMemory(16 << 20)},
	{"POST", "/mta-sts/lookup", mailRead, 2, "MTA-STS policy lookup", Call(mtasts.Lookup)},
	{"POST", "/tls-rpt/lookup", mailRead, 2, "TLS-RPT lookup", Call(tlsrpt.Lookup)},
	{"POST", "/dane/lookup", mailRead, 2, "DANE/TLSA lookup for SMTP", Call(dane.Lookup)},
	{"POST", "/blacklist/ip", mailRead, 5, "multi-RBL blacklist check", Call(dnsbl.Check).WithMemory(3 << 20)},
	{"POST", "/smtp/check", mailRead, 6, "SMTP test (HELO, STARTTLS, AUTH)",
		Call(smtpcheck.Check).WithTimeout(30 * time.Second)},
	{"POST", "/mail/header-audit", mailRead, 2, "raw email header analysis",
		Call(header.Audit).WithMaxBody(headerBody).WithMemory(6 << 20)},
	{"POST", "/mail/header-analyze", mailRead, 2, "email header analysis",
		Call(header.Analyze).WithMaxBody(11 << 20)}, // 5 MiB, escaped
	{"POST", "/mail/domain-check", mailRead, 10, "full email domain readiness check",
		Call(domaincheck.Check).WithTimeout(30 * time.Second).WithMemory(40 << 20)},
	{"POST", "/dmarcbis/check", mailRead, 2, "DMARCbis Tree Walk analysis", Call(dmarcbis.Check)},
	{"POST", "/dmarc/report/analyze", mailRead, 5, "DMARC aggregate report analysis",
		Call(aggregate.Analyze).acceptUpload("content_base64", aggregate.MaxSent)},
	{"POST", "/certificats/bimi/parse", mailRead, 1, "BIMI/VMC certificate parser",
		Call(markcert.Parse).WithMaxBody(pemBody).WithMemory(5 << 20)},
	{"POST", "/certificats/bimi/lookup", mailRead, 2, "BIMI certificate download and parse",
		Call(markcert.Lookup).WithMemory(5 << 20)},
	{"GET", "/spf/hosted", mailRead, 1, "list the key's Hosted SPF profiles", hosted(hostedspf.List)},
	{"GET", "/spf/hosted/{id}", mailRead, 1, "single Hosted SPF profile", hosted(hostedspf.Show)},
	{"GET", "/spf/hosted/{id}/history", mailRead, 2, "paginated resolution history", hosted(hostedspf.History)},
	{"GET", "/spf/hosted/{id}/stats", mailRead, 2, "statistics over 24 hours, 7 days, 30 days",
		hosted(hostedspf.Stats)},
	{"POST", "/deliverability/score", mailWrite, 30, "aggregated score (SPF, DKIM, DMARC, BIMI, reputation)",
		Call(deliverability.Score).WithTimeout(45 * time.Second).WithMemory(40 << 20)},
	{"POST", "/dmarc/generate", mailWrite, 1, "DMARC record generator", Pure(dmarc.Generate)},
	{"POST", "/dmarcbis/migrate", mailWrite, 1, "DMARC to DMARCbis migration", Pure(dmarcbis.Migrate)},
	{"POST", "/spf/hosted/{id}/resolve", mailWrite, 5, "forced re-resolve of a Hosted SPF profile",
		hosted(hostedspf.Resolve)},
	{"POST", "/url/check", webRead, 3, "redirect chain analysis", Call(redirect.Check).WithMemory(redirect.Memory)},
	{"POST", "/page/crawl-check", webRead, 10, "page crawl with metadata extraction", Call(crawl.Check)},
	{"POST", "/phishing/check", webRead, 8, "heuristic phishing detection",
		Call(phishing.Check).WithMemory(phishing.Memory)},
	{"POST", "/http/headers-check", webRead, 2, "HTTP headers, redirect chain, TLS",
		Call(headers.Check).WithMemory(headers.Memory)},
	{"POST", "/http/hsts-check", webRead, 3, "HSTS analysis and preload eligibility",
		Call(hsts.Check).WithMemory(12 << 20)},
	{"POST", "/certificates/ssl/check", webRead, 2, "web server TLS certificate and chain",
		Call(tlscert.Check).WithMemory(32 << 20)},
	{"POST", "/certificates/csr/parse", webRead, 2,
		"CSR compliance analysis (verdict, weak-key detection, SPKI SHA-256 fingerprint)",
		Call(csr.Parse).WithMaxBody(csrBody).WithMemory(4<<20).
			alsoAllow(mailRead, Deprecation{Since: mailReadDeprecated})},
	{"POST", "/http/qr", webRead, 2, "generate a QR code; success body is image bytes; image never stored",
		image(qr.Encode, "image/png", "image/svg+xml", "image/jpeg")},
	{"POST", "/http/qr/decode", webRead, 2, "read QR codes from an uploaded image; image never stored",
		Call(qrdecode.Decode).acceptUpload("image_base64", qrdecode.MaxBytes,
			"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")},
}

// mailReadDeprecated is since when requests for certificates should not be parsed by a key for mail alone (CONTRACT
// 1.12).
var mailReadDeprecated = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
