// Package target finds out what a word or a file is, which checks apply to it, and what they say together. [Parse]
// reads a word, [Content] what is in a file, and [Run] runs the checks at once and joins their views:
//
//	t, err := target.Parse("example.com")
//	whole := target.Run(ctx, t, target.Options{}, target.Local(env), nil)
//	render.Text(os.Stdout, whole.View(), render.Options{})
//
// A domain has every check that applies to one, an address its name, its holder and the block lists, a URL its
// redirects, its headers and its certificate. Anything else is examined by one check.
package target

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// A Kind is what something is.
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

// A Target is what is to be examined.
type Target struct {
	Kind Kind
	Text string // as the checks take it: a domain without the mailbox before it, a record without its quotes
	Note string // what was left out, if anything was

	check  string         // of a record or a file: the name of its endpoint
	fields map[string]any // and the request
	read   *view.View     // instead, where no endpoint is needed
}

// Parse finds out what a word is. The error says which forms there are.
func Parse(word string) (Target, error) {
	text := strings.TrimSpace(word)
	if t, ok := record(text); ok {
		return t, nil
	}
	if strings.Contains(text, "://") {
		if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
			return Target{Kind: URL, Text: text}, nil
		}
		return Target{}, diag.Invalid("target", "is no URL of a web page, such as https://example.com/")
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
		return Target{}, diag.Invalid("target", "%q is no domain: it has no dot (a top-level domain ends in one)", name)
	}
	return Target{Kind: Domain, Text: name, Note: note}, nil
}

// Read returns what the text says by itself, or nil where a check says it.
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

func version(name string) func() *regexp.Regexp { return diag.Regexp(`(?i)^\s*v\s*=\s*` + name + `\b`) }

func record(text string) (Target, bool) {
	parts, _ := diag.PastedTXT(text)
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
					Detail: diag.Sentence(err.Error())}}
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
		Facts: []view.Fact{{Label: "reports to", Value: diag.Series(r.RUA, 4)}}}, err
}

// The groups of checks, in the order of a reader.
const (
	Mail = "mail"
	DNS  = "dns"
	Web  = "web"
)

// Options say which checks are wanted.
type Options struct {
	Only   []string // groups; all if empty
	NoSMTP bool     // connect to no mail server, as where port 25 is closed
}

// A Check is an endpoint to run, and how it is called in the whole.
type Check struct {
	Group, Name string
	Endpoint    httpapi.Endpoint
	Body        []byte // the request

	// lead runs first and tells the addresses that Endpoint is then asked about.
	lead *httpapi.Endpoint
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
	list := httpapi.Endpoints() // which has them all: a test
	return list[slices.IndexFunc(list, func(ep httpapi.Endpoint) bool { return ep.Name() == name })]
}

func bodyOf(fields map[string]any) []byte {
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and booleans
	}
	return body
}

// maxSenders bounds the addresses that are looked for on block lists.
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
