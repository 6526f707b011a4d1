package policy

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

// A URI is a destination of reports (RFC 9989 section 4.6).
type URI struct {
	Text           string // as it was written, with its size limit
	URI            string // without the size limit
	Scheme         string // in lower case, such as "mailto"; empty without one
	Address        string // of mailto the mailbox, decoded; else the host
	Domain         string // to which reports go, as A-labels; empty if unknown
	SizeLimit      uint64 // in bytes, if HasSizeLimit
	HasSizeLimit   bool   // obsolete; reporters ignore it (RFC 9989 section 4.8)
	Offset, Length int    // of Text, in bytes of the record

	problem string
}

// Valid reports whether reports can be sent there, as far as the text tells.
func (u URI) Valid() bool { return u.problem == "" }

// Problem returns what is wrong with the URI: a clause, such as "has no scheme"; empty for a valid one.
func (u URI) Problem() string { return u.problem }

// uris reads rua or ruf: URIs separated by commas.
func (p parser) uris(name string) []URI {
	t, ok := p.list.Tag(name)
	if !ok {
		return nil
	}
	var list []URI
	offset, blank := t.ValueOffset, strings.Trim(t.Value, white+",") == ""
	for part := range strings.SplitSeq(t.Value, ",") {
		text := strings.Trim(part, white)
		u := ParseURI(text)
		u.Offset, u.Length = offset+strings.Index(part, text), len(text)
		offset += len(part) + 1
		fault := taglist.Fault{Offset: u.Offset, Length: u.Length}
		if text == "" && !blank {
			fault.Kind, fault.Harmless = EmptyURI, true
			fault.Text = fmt.Sprintf("there is nothing between two commas of %s, or after the last one", t.Name)
			p.list.Add(fault)
			continue
		}
		list = append(list, u)
		switch {
		case !u.Valid():
			fault.Kind, fault.Text = BadURI, fmt.Sprintf("%q in %s %s", phrase.Quote(text), t.Name, u.problem)
			if text == "" {
				fault.Text = t.Name + " has no address"
			}
			p.list.Add(fault)
		case u.HasSizeLimit:
			fault.Kind, fault.Harmless = sizeLimit, true
			fault.Text = fmt.Sprintf("%q in %s has a size limit", phrase.Quote(text), t.Name)
			p.list.Add(fault)
		}
	}
	return list
}

// ParseURI reads one destination. White space around it is not part of it.
func ParseURI(text string) URI {
	u := URI{Text: text, URI: text}
	if before, size, ok := strings.Cut(text, "!"); ok {
		if u.URI, u.HasSizeLimit = before, true; !u.size(size) {
			u.URI, u.HasSizeLimit = text, false
			u.problem = "has an exclamation mark that no size limit follows; in a URI it is written %21"
		}
	}
	if scheme, _, ok := strings.Cut(u.URI, ":"); ok && isScheme(scheme) {
		u.Scheme = strings.ToLower(scheme)
	}
	if problem := u.read(); u.problem == "" {
		u.problem = problem
	}
	return u
}

// size reads a limit such as 10m; the units are powers of two (RFC 7489 section 6.2).
func (u *URI) size(s string) bool {
	shift := 0
	if s != "" {
		if i := strings.IndexByte("kmgt", s[len(s)-1]|0x20); i >= 0 {
			s, shift = s[:len(s)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n<<shift>>shift != n {
		return false
	}
	u.SizeLimit = n << shift
	return true
}

func (u *URI) read() (problem string) {
	foreign := strings.IndexFunc(u.URI, func(r rune) bool { // RFC 3986 section 2
		return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r)
	})
	rest := u.URI[min(len(u.URI), len(u.Scheme)+1):]
	switch {
	case u.URI == "":
		return "is not an address"
	case strings.ContainsAny(u.URI, white):
		return "has white space in it; two URIs are separated by a comma"
	case foreign >= 0:
		return "has a character that a URI cannot have"
	case u.Scheme == "" && strings.Contains(u.URI, "@"):
		return "has no mailto: in front of the address"
	case u.Scheme == "" && nowhere(u.URI):
		return "is not an address; without reports the tag is left out"
	case u.Scheme == "" && isMailto(u.URI):
		return "is not an address; mailto: with a colon precedes one"
	case u.Scheme != "mailto" && isMailto(u.Scheme) && strings.Contains(rest, "@"):
		return "has the scheme " + u.Scheme + " where mailto is meant"
	case u.Scheme == "":
		return "is not a URI: it has no scheme such as mailto:"
	case u.Scheme == "mailto":
		return u.mailto(rest)
	default:
		return u.web(rest)
	}
}

// mailto reads an address (RFC 6068 section 2).
func (u *URI) mailto(rest string) (problem string) {
	to, _, _ := strings.Cut(rest, "?")
	address, err := url.PathUnescape(to)
	if err != nil {
		return "has a percent sign that two hexadecimal digits do not follow"
	}
	u.Address = strings.ToValidUTF8(address, "\uFFFD")
	at := strings.LastIndexByte(address, '@')
	first, _, more := strings.Cut(address[:max(0, at)], ":")
	switch d, err := diag.ParseDomain(address[at+1:]); {
	case strings.HasPrefix(to, "//"):
		return "has slashes after mailto:"
	case at <= 0:
		return "has no address of the form local-part@domain"
	case more && isMailto(first):
		return "has mailto: twice"
	case badLocal(address[:at]) != "":
		return badLocal(address[:at])
	case err != nil:
		return "has an address without a valid domain"
	case strings.HasSuffix(address, "."): // RFC 5321 section 4.1.2
		return "has a domain that ends with a dot, which mail addresses do not"
	default:
		u.Domain = d.String()
		return ""
	}
}

// maxLocal is the maximum length of a local part, in octets (RFC 5321 section 4.5.3.1.1).
const maxLocal = 64

// badLocal returns what is wrong with a local part: a clause; empty if it is valid. It is a quoted string, or atoms
// with dots between them (RFC 5321 section 4.1.2, RFC 6531 section 3.3).
func badLocal(s string) string {
	quoted := len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"'
	special := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`()<>[]:;@\"`, r) }
	switch {
	case len(s) > maxLocal:
		return fmt.Sprintf("has a local part of more than %d characters", maxLocal)
	case quoted:
		return ""
	case strings.HasPrefix(s, "."), strings.HasSuffix(s, "."):
		return "has a local part that begins or ends with a dot"
	case strings.Contains(s, ".."):
		return "has a local part with two dots in a row"
	case strings.ContainsFunc(s, special):
		return "has a local part that no address can have"
	}
	return ""
}

// web reads a URI that is not of mail. Receivers need not support any of them (RFC 9989 section 4.7).
func (u *URI) web(rest string) (problem string) {
	parsed, err := url.Parse(u.URI)
	if err != nil || rest == "" {
		return "is not a URI"
	}
	u.Address = parsed.Hostname()
	if d, err := diag.ParseDomain(u.Address); err == nil {
		u.Domain = d.String()
	} else if u.Scheme == "https" || u.Scheme == "http" {
		return "has no valid host"
	}
	return ""
}

// isScheme reports whether s is the scheme of a URI (RFC 3986 section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= s[i] && s[i] <= '9') && strings.IndexByte("+-.", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

// A Consent is the answer of a report destination's domain about reports for another domain: without consent receivers
// send no reports there (RFC 9990 section 4).
type Consent struct {
	Name        string // where it is published, without a final dot
	TooLong     bool   // the name cannot exist, and was not queried
	Destination string
	Answer      diag.Answer[*dns.TXT]
	Wildcard    diag.Answer[*dns.TXT] // the same for all domains
}

// ConsentName returns the name at which a destination accepts the reports of a domain, without a final dot. The label
// is that of the protocol: _dmarc, or _tls for TLSRPT, which does not require it.
func ConsentName(label, domain, destination string) string {
	return domain + "._report." + label + "." + destination
}

// LookupConsent looks up whether a destination accepts reports for the domain of a record. Failures of the DNS are in
// the result.
func LookupConsent(ctx context.Context, env *diag.Env, domain, destination string) Consent {
	c := Consent{Name: ConsentName("_dmarc", domain, destination), Destination: destination}
	if c.TooLong = len(c.Name) > maxName; c.TooLong {
		return c
	}
	var g diag.Group
	g.Go(func() { c.Answer = diag.Lookup[*dns.TXT](ctx, env, c.Name+".") })
	g.Go(func() { c.Wildcard = diag.Lookup[*dns.TXT](ctx, env, ConsentName("_dmarc", "*", destination)+".") })
	g.Wait()
	return c
}

// Given reports whether there is consent, and whether that is known.
func (c *Consent) Given() (yes, known bool) {
	if c.TooLong {
		return false, true
	}
	return len(c.records()) > 0, c.Answer.Err() == nil
}

// records lists the records of consent. There may be several (RFC 9990 section 4, step 8).
func (c *Consent) records() []string {
	var list []string
	for _, r := range c.Answer.Records {
		if text := dnsmsg.TXT(r); Format.Is(text) {
			list = append(list, text)
		}
	}
	return list
}

// ForAll reports whether the destination accepts reports for every domain.
func (c *Consent) ForAll() bool {
	return slices.ContainsFunc(c.Wildcard.Records, func(r *dns.TXT) bool { return Format.Is(dnsmsg.TXT(r)) })
}

// Overrides lists the URIs that replace those of the record, and reports whether they have the same host, as they must
// (RFC 9990 section 4, step 9).
func (c *Consent) Overrides() (list []string, allowed bool) {
	allowed = true
	for _, text := range c.records() {
		r := Parse(text)
		for _, u := range r.AggregateURIs {
			list = append(list, u.Text)
			allowed = allowed && u.Valid() && strings.EqualFold(u.Domain, c.Destination)
		}
	}
	return list, allowed
}
