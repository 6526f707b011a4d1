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
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/mtasts"
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

// record takes the text of a record, or the line of a zone file with one.
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
