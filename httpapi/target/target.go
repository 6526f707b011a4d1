// Package target determines what a word or a file is, which checks apply to it, and their combined result. [Parse]
// reads a word, [Content] the content of a file, and [Run] runs the checks concurrently and joins their views:
//
//	t, err := target.Parse("example.com")
//	whole := target.Run(ctx, t, target.Options{}, target.Local(env), nil)
//	render.Text(os.Stdout, whole.View(), render.Options{})
//
// A domain has every check that applies to one, an address its name, its holder and the block lists, a URL its
// redirects, its headers and its certificate. Anything else is examined by one check.
package target

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/dmarc/aggregate"
	rfc5322 "github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// A Kind is the kind of a target.
type Kind string

// The kinds of targets.
const (
	Domain  Kind = "domain"
	Address Kind = "address"
	Network Kind = "network"
	URL     Kind = "url"
	Record  Kind = "record"
	File    Kind = "file"
)

// A Target is the subject of an examination.
type Target struct {
	Kind Kind
	Text string // as the checks take it: a domain without the mailbox before it, a record without its quotes
	Note string // what was omitted, if anything

	check  string         // of a record or a file: the name of its endpoint
	fields map[string]any // and the request
	read   *view.View     // instead, where no endpoint is needed
}

// Parse determines what a word is. The error is a *[diag.InputError] that lists the possible forms.
func Parse(word string) (Target, error) {
	text := strings.TrimSpace(word)
	if t, ok := record(text); ok {
		return t, nil
	}
	if strings.Contains(text, "://") {
		if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
			return Target{Kind: URL, Text: text}, nil
		}
		return Target{}, input.Invalid("target", "is not the URL of a web page, such as https://example.com/")
	}
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return Target{Kind: Address, Text: text}, nil
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return Target{Kind: Network, Text: text, check: "ip/netmask", fields: map[string]any{"ip": text}}, nil
	}
	name, note := text, ""
	if _, after, ok := strings.Cut(name, "@"); ok {
		name = after
	}
	name, _, _ = strings.Cut(name, "/")
	if name != text {
		note = "taking " + name + " from " + text
	}
	if _, err := diag.ParseDomain(name); err != nil {
		return Target{}, err
	}
	if !strings.Contains(name, ".") {
		return Target{}, input.Invalid("target", "%q is not a domain name: it has no dot (a top-level domain ends "+
			"in one)", name)
	}
	return Target{Kind: Domain, Text: name, Note: note}, nil
}

// ParseDomain determines the domain that a person enters: as such, or as a mail address or URL at one. The error is a
// *[diag.InputError].
func ParseDomain(word string) (Target, error) {
	if u, err := url.Parse(strings.TrimSpace(word)); err == nil && u.Host != "" {
		word = u.Hostname()
	}
	t, err := Parse(word)
	if err != nil || t.Kind != Domain {
		return Target{}, input.Invalid("domain", "must be a domain name, such as example.com")
	}
	domain, err := diag.ParseDomain(t.Text)
	t.Text = domain.String()
	return t, err
}

// Read returns the report of the text itself, or nil if a check makes it.
func (t Target) Read() *view.View { return t.read }

// One returns the name of the only check that applies, and its request; ok is false where several do.
func (t Target) One() (check string, fields map[string]any, ok bool) {
	return t.check, t.fields, t.check != ""
}

// validators are the checks of records by how these begin. Two kinds have none of their own among the operations.
var validators = []struct {
	version func() *regexp.Regexp
	check   string
	parse   func(text string) (view.View, error)
}{
	{version("spf1"), "spf/validate", nil}, {version("DMARC1"), "dmarc/validate", nil},
	{version("DKIM1"), "dkim/validate", nil}, {version("BIMI1"), "bimi/validate", nil},
	{version("STSv1"), "", parseSTS}, {version("TLSRPTv1"), "", parseTLSRPT},
}

func version(name string) func() *regexp.Regexp { return kit.Regexp(`(?i)^\s*v\s*=\s*` + name + `\b`) }

func record(text string) (Target, bool) {
	parts, _ := dnsmsg.PastedTXT(text)
	plain := strings.Join(parts, "")
	for _, v := range validators {
		switch {
		case !v.version().MatchString(plain):
		case v.check != "":
			return Target{Kind: Record, Text: plain, check: v.check, fields: map[string]any{"record": plain}}, true
		default:
			read, err := v.parse(plain)
			read.Record = plain
			if err != nil {
				read.State, read.Headline = diag.Bad, "The record is not valid"
				read.Findings = []diag.Finding{{Code: "record.syntax", Severity: diag.Error, Title: read.Headline,
					Detail: phrase.Sentence(err.Error())}}
			}
			read.Brief = read.Headline
			return Target{Kind: Record, Text: plain, read: &read}, true
		}
	}
	return Target{}, false
}

func parseSTS(text string) (view.View, error) {
	r, err := mtasts.ParseRecord(text)
	return view.View{Subject: "MTA-STS record", State: diag.Valid, Headline: "The MTA-STS record is valid",
		Sub:   "Senders also need the policy at https://mta-sts.DOMAIN/.well-known/mta-sts.txt: check it with the domain.",
		Facts: []view.Fact{{Label: "id", Value: r.ID}}}, err
}

func parseTLSRPT(text string) (view.View, error) {
	r, err := tlsrpt.ParseRecord(text)
	return view.View{Subject: "TLSRPT record", State: diag.Valid, Headline: "The TLSRPT record is valid",
		Facts: []view.Fact{{Label: "reports to", Value: phrase.Series(r.RUA, 4)}}}, err
}

// The groups of checks, in the order of a reader.
const (
	Mail = "mail"
	DNS  = "dns"
	Web  = "web"
)

// Options select the checks.
type Options struct {
	Only   []string // groups; all if empty
	NoSMTP bool     // connect to no mail server, as where port 25 is closed
}

// A Check is an endpoint to run, and how it is called in the whole.
type Check struct {
	Group, Name string
	Endpoint    httpapi.Endpoint
	Body        []byte // the request

	// lead runs first and returns the addresses for which Endpoint is then called.
	lead *httpapi.Endpoint
}

// Price returns the minimum and maximum cost of the check at the API, in credits; failures cost nothing.
func (c Check) Price() (least, most int64) {
	if c.lead == nil {
		return c.Endpoint.Credits, c.Endpoint.Credits
	}
	return c.lead.Credits, c.lead.Credits + maxSenders*c.Endpoint.Credits
}

// Checks lists what applies to the target.
func (t Target) Checks(o Options) []Check {
	var list []Check
	add := func(group, name, endpoint string, fields map[string]any) {
		c := Check{Group: group, Name: name, Endpoint: endpointOf(endpoint), Body: bodyOf(fields)}
		if t.Kind == Domain && name == "reputation" {
			c.lead = new(endpointOf("spf/lookup"))
		}
		if len(o.Only) == 0 || slices.Contains(o.Only, group) {
			list = append(list, c)
		}
	}
	subject := func(field string) map[string]any { return map[string]any{field: t.Text} }
	switch t.Kind {
	case Domain:
		add(Mail, "mail", "mail/domain-check",
			map[string]any{"domain": t.Text, "include_smtp": !o.NoSMTP, "detail": "full"})
		add(Mail, "reputation", "blacklist/ip", subject("domain"))
		add(DNS, "servers", "domain/dns-check", subject("domain"))
		add(DNS, "registration", "rdap/lookup", subject("domain"))
		add(Web, "tls", "certificates/ssl/check", map[string]any{"host": t.Text})
		add(Web, "hsts", "http/hsts-check", subject("domain"))
		add(Web, "headers", "http/headers-check", map[string]any{"url": "https://" + t.Text + "/"})
		add(Web, "redirects", "url/check", map[string]any{"url": "http://" + t.Text + "/"})
	case Address:
		add(DNS, "name", "ip/nslookup", subject("ip"))
		add(DNS, "holder", "ip/whois", subject("ip"))
		add(Mail, "reputation", "blacklist/ip", subject("ip"))
	case URL:
		add(Web, "redirects", "url/check", subject("url"))
		add(Web, "headers", "http/headers-check", subject("url"))
		if u, err := url.Parse(t.Text); err == nil && u.Scheme == "https" {
			add(Web, "tls", "certificates/ssl/check", map[string]any{"host": u.Host})
		}
	default:
		add("", t.check, t.check, t.fields)
	}
	return list
}

func endpointOf(name string) httpapi.Endpoint {
	ep, _ := httpapi.Endpoints().ByName(name) // there are all of them: a test
	return ep
}

func bodyOf(fields map[string]any) []byte {
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and booleans
	}
	return body
}

// maxSenders bounds the addresses that are looked up on block lists.
const maxSenders = 2

// senders are the single IPv4 and IPv6 addresses that a domain itself sends from, as its SPF record names them.
func senders(r *spf.LookupReport) (list []string) {
	add := func(addr string) {
		if len(list) < maxSenders && !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	for _, t := range r.Terms {
		prefix, whole := t.PrefixV4, 32
		if t.Mechanism == eval.IP6 {
			prefix, whole = t.PrefixV6, 128
		}
		single := prefix == nil || *prefix == whole
		if (t.Mechanism == eval.IP4 || t.Mechanism == eval.IP6) && t.Qualifier == eval.QualifierPass && single {
			add(t.Value)
		}
	}
	if r.Tree == nil {
		return list
	}
	for _, h := range r.Tree.Hosts {
		for _, addr := range h.Addresses {
			add(addr.String())
		}
	}
	return list
}

// Content determines what a file contains: a message, a DMARC or TLS report, a signing request, a certificate, an
// image or a record. The error is a *[diag.InputError] that lists these.
func Content(data []byte) (Target, error) {
	text := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	inside := expanded(data)
	encoded := func() string { return base64.StdEncoding.EncodeToString(data) }
	file := func(check, field, value string) (Target, error) {
		return Target{Kind: File, check: check, fields: map[string]any{field: value}}, nil
	}
	block, _ := pem.Decode([]byte(text + "\n"))
	kind := cmp.Or(block, &pem.Block{}).Type // RFC 7468 section 2
	_, noRequest := x509.ParseCertificateRequest(data)
	cert, noCertificate := x509.ParseCertificate(data)
	if kind == "CERTIFICATE" {
		cert, _ = x509.ParseCertificate(block.Bytes)
	}
	switch {
	case len(data) == 0:
		return Target{}, input.Invalid("target", "the file is empty")
	case strings.HasPrefix(http.DetectContentType(data), "image/"):
		return file("http/qr/decode", "image_base64", encoded())
	case strings.HasSuffix(kind, "CERTIFICATE REQUEST"):
		return file("certificates/csr/parse", "csr", text)
	case cert != nil && !slices.ContainsFunc(cert.UnknownExtKeyUsage, oidMark.Equal):
		return certificate(pki.Describe(cert, time.Now())), nil
	case kind == "CERTIFICATE":
		return file("certificats/bimi/parse", "pem", text)
	case strings.HasSuffix(kind, "PRIVATE KEY"):
		return Target{}, input.Invalid("target", "the file holds a private key, which must stay secret: "+
			"give the signing request or the certificate")
	case noRequest == nil:
		return file("certificates/csr/parse", "csr", encoded())
	case noCertificate == nil:
		return file("certificats/bimi/parse", "pem", encoded())
	case bytes.HasPrefix(inside, []byte("{")):
		return report(data)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), isTar(inside), bytes.Contains(inside, []byte("<feedback")):
		return file(reportAnalysis, "content_base64", encoded())
	}
	if t, ok := record(text); ok {
		return t, nil
	}
	if field().MatchString(text) && utf8.ValidString(text[:min(len(text), 1)]) {
		if !message().MatchString(text) { // a header alone
			return file("mail/header-audit", "headers", strings.ToValidUTF8(text, "\ufffd")+"\n")
		}
		switch carried(data, 0) {
		case dmarcReport:
			t, err := file(reportAnalysis, "content_base64", encoded())
			t.Note = "the message carries a DMARC report, which is examined; the message itself: diag mail/header-analyze"
			return t, err
		case tlsReport:
			t, err := report(data)
			t.Note = "the message carries a TLS report, which is examined; the message itself: diag mail/header-analyze"
			return t, err
		}
		return file("mail/header-analyze", "message_base64", encoded())
	}
	return Target{}, input.Invalid("target", "the file is not one of: a message, a DMARC or TLS report, "+
		"a certificate or signing request, an image with a QR code, the text of a record")
}

const reportAnalysis = "dmarc/report/analyze"

// What a message carries.
const (
	dmarcReport = "dmarc"
	tlsReport   = "tls"
)

// carried returns which report a message carries; empty for an ordinary message: reports come as the only attachment
// with a text (RFC 9990 section 3.5.2, RFC 8460 section 5.3), and are recognized by their content, because senders
// vary the types. A message with such a subject is a report whatever else is attached, as by a scanner on the way.
func carried(data []byte, depth int) string {
	const maxForwarded = 3
	kind, others := "", false
	if bytes.HasPrefix(data, []byte("From ")) && aggregate.IsReport(data) { // a mailbox
		return dmarcReport
	}
	for _, p := range rfc5322.Parts(data) {
		body := p.Body()
		inside := expanded(body)
		found := ""
		switch {
		case bytes.HasPrefix(inside, []byte("{")):
			if _, err := tlsrpt.ParseReport(body); err == nil {
				found = tlsReport
			}
		case p.Type == "message/rfc822" && depth < maxForwarded:
			found = carried(body, depth+1)
		case bytes.HasPrefix(body, []byte("PK\x03\x04")), isTar(inside), bytes.Contains(inside, []byte("<feedback")):
			if aggregate.IsReport(body) {
				found = dmarcReport
			}
		}
		kind = cmp.Or(kind, found)
		others = others || found == "" && !strings.HasPrefix(p.Type, "text/")
	}
	subject := rfc5322.Split(data).Value("Subject")
	if others && !reportSubject().MatchString(subject) {
		return ""
	}
	return kind
}

// reportSubject matches that of a message with a report (RFC 9990 section 3.5.2.1, RFC 8460 section 5.3).
var reportSubject = kit.Regexp(`(?i)report domain:`)

// isTar reports whether data is a tar archive (POSIX.1 ustar: field magic).
func isTar(data []byte) bool {
	const magic = 257
	return len(data) > magic && bytes.HasPrefix(data[magic:], []byte("ustar"))
}

var (
	field   = kit.Regexp(`^(?:From |[!-9;-~]{1,100}:)`) // RFC 5322 section 3.6.8, and the line before it in an mbox
	message = kit.Regexp(`\r?\n\r?\n`)
)

// expanded is the beginning of the text, without gzip.
func expanded(data []byte) []byte {
	const enough = 4096
	if zr, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		data, _ = io.ReadAll(io.LimitReader(zr, enough)) // a truncated file is still a beginning
	}
	return bytes.TrimSpace(data[:min(len(data), enough)])
}

// oidMark is the purpose of mark certificates, id-kp-BrandIndicatorforMessageIdentification.
var oidMark = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 31}

// certificate reads a certificate that is not a mark certificate, for which there is no operation. Whether it is
// trusted depends on where it is installed.
func certificate(c pki.Certificate) Target {
	v := view.Answer(cmp.Or(c.Subject.Short(), c.SAN.Short(1), "certificate"), "The certificate expires in "+c.Remaining())
	v.Sub = "Nothing was verified. Whether clients trust it is checked where it is served: diag tls HOST."
	v.Optional = true // no praise
	if c.Expired {
		v.Headline = "The certificate has expired"
		v.Judged([]diag.Finding{{Code: "certificate.expired", Severity: diag.Error, Title: v.Headline,
			Detail:    "It expired on " + c.NotAfter.UTC().Format(time.DateOnly) + ".",
			Reference: "RFC 5280 section 4.1.2.5", Advice: "Renew the certificate and automate renewal."}})
		v.Advise()
	}
	v.Brief = v.Headline
	v.Fact("names", c.SAN.Short(4))
	v.Fact("issuer", c.Issuer.Maker())
	v.Fact("valid from", c.NotBefore.UTC().Format(time.DateOnly))
	v.Fact("expires", c.Remaining(), "certificate.expired")
	v.Fact("key", c.PublicKey.Short())
	return Target{Kind: File, read: v}
}

// report reads a TLS report, for which there is no operation.
func report(data []byte) (Target, error) {
	r, err := tlsrpt.ParseReport(data)
	if err != nil {
		return Target{}, input.Invalid("target", "the file is JSON, and no TLS report: %v", err)
	}
	return Target{Kind: File, read: r.View()}, nil
}
