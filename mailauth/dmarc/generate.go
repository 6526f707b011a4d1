package dmarc

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// A Style is the standard for whose receivers a record is written: dmarcbis or rfc7489.
type Style string

const (
	StyleDMARCbis Style = "dmarcbis" // RFC 9989
	StyleRFC7489  Style = "rfc7489"
)

// Values lists the styles.
func (Style) Values() []string { return kit.Values(StyleDMARCbis, StyleRFC7489) }

// ttl is that of generated records, in seconds: an hour, so that a mistake does not last.
const ttl = 3600

type stage struct {
	policies   policy.Policies // only those requested
	testing    bool
	percentage int
}

type generation struct {
	req      GenerateRequest
	target   stage
	rua, ruf []policy.URI
}

func newGeneration(req GenerateRequest) (*generation, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	g := &generation{req: req, target: stage{
		policies: policy.Policies{
			Domain: req.Policy, Subdomain: req.SubdomainPolicy, Nonexistent: req.NonexistentSubdomainPolicy,
		},
		testing: req.Testing, percentage: policy.DefaultPercentage,
	}}
	if req.Percentage != nil {
		g.target.percentage = *req.Percentage
	}
	var aggregate, failure error
	g.rua, aggregate = destinations("aggregate_reports", req.AggregateReports, req.Style)
	g.ruf, failure = destinations("failure_reports", req.FailureReports, req.Style)
	return g, cmp.Or(aggregate, failure)
}

// check rejects undefined values, and fields that contradict each other.
func (req *GenerateRequest) check() error {
	if req.Policy == "" {
		return input.Invalid("policy", "is missing")
	}
	for _, one := range []struct {
		field, value string
		known        []string
	}{
		{"policy", string(req.Policy), req.Policy.Values()},
		{"subdomain_policy", string(req.SubdomainPolicy), req.Policy.Values()},
		{"nonexistent_subdomain_policy", string(req.NonexistentSubdomainPolicy), req.Policy.Values()},
		{"dkim_alignment", string(req.DKIMAlignment), req.DKIMAlignment.Values()},
		{"spf_alignment", string(req.SPFAlignment), req.SPFAlignment.Values()},
		{"psd", string(req.PSD), req.PSD.Values()},
		{"style", string(req.Style), req.Style.Values()},
	} {
		if one.value != "" && !slices.Contains(one.known, one.value) {
			return input.Invalid(one.field, "must be one of %s", strings.Join(one.known, ", "))
		}
	}
	return cmp.Or(req.checkOptions(), req.checkStyle())
}

func (req *GenerateRequest) checkOptions() error {
	list := req.FailureOptions
	for i, o := range list {
		switch {
		case !slices.Contains([]string{"0", "1", "d", "s"}, o):
			return input.Invalid("failure_options", "must hold 0, 1, d or s, not %q", phrase.Quote(o))
		case slices.Contains(list[:i], o):
			return input.Invalid("failure_options", "must hold %q only once", o)
		}
	}
	switch {
	case slices.Contains(list, "0") && slices.Contains(list, "1"): // RFC 9989 section 4.7
		return input.Invalid("failure_options", "must not hold both 0 and 1: 1 asks for all reports that 0 asks for")
	case len(list) > 0 && !slices.Equal(list, []string{"0"}) && len(req.FailureReports) == 0:
		return input.Invalid("failure_options", "needs failure_reports: without an address receivers ignore the options")
	}
	return nil
}

func (req *GenerateRequest) checkStyle() error {
	if req.Percentage != nil && (*req.Percentage < 0 || *req.Percentage > 100) {
		return input.Invalid("percentage", "must be between 0 and 100")
	}
	if req.Style != StyleRFC7489 {
		if req.Percentage != nil && *req.Percentage < 100 { // RFC 9989 appendix A.6
			return input.Invalid("percentage", "does not exist in RFC 9989: set testing instead, or the style rfc7489")
		}
		return nil
	}
	const remedy = "does not exist in RFC 7489: leave it out, or set the style dmarcbis"
	switch {
	case req.Testing:
		return input.Invalid("testing", "does not exist in RFC 7489: set percentage to 0 instead, or the style dmarcbis")
	case req.NonexistentSubdomainPolicy != "":
		return input.Invalid("nonexistent_subdomain_policy", remedy)
	case req.PSD != "" && req.PSD != policy.Undeclared:
		return input.Invalid("psd", remedy)
	}
	return nil
}

// record writes the record of a stage, without what holds by default anyway.
func (g *generation) record(s stage) string {
	d := policy.NewDraft(s.policies.Domain)
	set := func(tag, value string, condition bool) {
		if condition {
			d.Set(tag, value)
		}
	}
	set("sp", string(s.policies.Subdomain), s.policies.Subdomain != "")
	set("np", string(s.policies.Nonexistent), s.policies.Nonexistent != "")
	set("adkim", "s", g.req.DKIMAlignment == policy.Strict)
	set("aspf", "s", g.req.SPFAlignment == policy.Strict)
	set("rua", joined(g.rua), len(g.rua) > 0)
	set("ruf", joined(g.ruf), len(g.ruf) > 0)
	options := strings.Join(g.req.FailureOptions, ":")
	set("fo", options, options != "" && options != "0")
	set("psd", string(g.req.PSD), g.req.PSD != "" && g.req.PSD != policy.Undeclared)
	set("t", "y", s.testing)
	set("pct", strconv.Itoa(s.percentage), s.percentage < policy.DefaultPercentage)
	return d.String()
}

func joined(list []policy.URI) string {
	return strings.Join(kit.Map(list, func(u policy.URI) string { return u.Text }), ",")
}

func (g *generation) authorizations() []Authorization {
	list := []Authorization{}
	for _, d := range g.external() {
		if name := g.consentName(d); len(name) <= maxName {
			list = append(list, Authorization{Name: name, Type: "TXT", Value: "v=" + policy.Format.Version})
		}
	}
	return list
}

// maxName is the maximum length of a name in text form (RFC 1035 section 2.3.4).
const maxName = 253

// consentName returns the name at which a domain accepts reports for that of the record (RFC 9990 section 4).
func (g *generation) consentName(destination string) string {
	return policy.ConsentName("_dmarc", g.req.Domain.String(), destination)
}

func (g *generation) external() []string {
	var list []string
	if g.req.Domain.IsZero() {
		return nil
	}
	own := policy.PublicSuffixOrganizational(g.req.Domain.String())
	for _, u := range slices.Concat(g.rua, g.ruf) {
		if policy.PublicSuffixOrganizational(u.Domain) != own && !slices.Contains(list, u.Domain) {
			list = append(list, u.Domain)
		}
	}
	return list
}

// zoneLine writes a record as in a zone file (RFC 1035 section 5.1).
func zoneLine(name, record string, absolute bool) string {
	if absolute {
		name += "."
	}
	return fmt.Sprintf(`%s %d IN TXT "%s"`, name, ttl, strings.Join(dnsmsg.SplitTXT(record), `" "`))
}

// maxLocalPart is the maximum length of the local part of an address (RFC 5321 section 4.5.3.1.1).
const maxLocalPart = 64

// destinations reads the report addresses of a request. The error is a *[diag.InputError] that names the item.
func destinations(field string, list []string, style Style) ([]policy.URI, error) {
	const most = 10 // CONTRACT 3.3.4
	if len(list) > most {
		return nil, input.Invalid(field, "must have at most %d items", most)
	}
	var all []policy.URI
	for i, text := range list {
		field := fmt.Sprintf("%s[%d]", field, i)
		u, reason := readDestination(strings.TrimSpace(text))
		switch {
		case reason != "":
			return nil, input.Invalid(field, "%s", reason)
		case u.HasSizeLimit && style != StyleRFC7489: // RFC 9989 section 4.8
			return nil, input.Invalid(field, "has a size limit, which does not exist in RFC 9989: write %s", phrase.Quote(u.URI))
		case !slices.ContainsFunc(all, func(o policy.URI) bool { return strings.EqualFold(o.URI, u.URI) }):
			all = append(all, u)
		}
	}
	return all, nil
}

func readDestination(text string) (u policy.URI, reason string) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		return u, "is empty: give a mail address"
	case strings.EqualFold(scheme, "mailto"):
		if i := strings.IndexAny(rest, ",; \t"); i >= 0 {
			return u, fmt.Sprintf("has the character %q: give one address per item; in a URI the character is written %%%02X",
				rest[i:i+1], rest[i])
		}
		u = policy.ParseURI("mailto:" + rest)
	case strings.Contains(text, "://"):
		return u, "is not a mail address: receivers need to support no other way of sending reports"
	default:
		if u, reason = bareDestination(text); reason != "" {
			return u, reason
		}
	}
	if !u.Valid() {
		return u, fmt.Sprintf("%s: give an address such as dmarc@example.com", u.Problem())
	}
	return u, ""
}

// bareDestination converts an address to a URI (RFC 6068 section 2).
func bareDestination(text string) (u policy.URI, reason string) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return u, "is not a mail address: give one such as dmarc@example.com"
	}
	local := text[:at]
	domain, err := diag.ParseDomain(text[at+1:])
	foreign := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>()[]\,:;@`, r) }
	switch {
	case err != nil:
		return u, "has no valid domain after the at sign: give an address such as dmarc@example.com"
	case len(local) > maxLocalPart:
		return u, fmt.Sprintf("has more than %d characters before the at sign", maxLocalPart)
	case strings.ContainsFunc(local, foreign):
		return u, "has a character before the at sign that senders of reports need not support: give one plain address " +
			"per item"
	}
	return policy.ParseURI("mailto:" + escaped(local) + "@" + domain.String()), ""
}

// escaped writes the local part of an address as in a URI, in which commas and exclamation marks are encoded, too
// (RFC 9989 section 4.8).
func escaped(local string) string { return strings.ReplaceAll(url.QueryEscape(local), "%2B", "+") }
