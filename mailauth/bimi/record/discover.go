package record

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

// DefaultSelector is the selector of messages that name none (section 4.4 of the draft).
const DefaultSelector = "default"

// Node is the label between the selector and the domain in the name of a record.
const Node = "_bimi"

// Timeout bounds the wait for the answers of a discovery.
const Timeout = 10 * time.Second

// Further bounds of a discovery.
const (
	// maxPlaces bounds the names that are queried: as many as a receiver may query to find the organizational domain
	// (RFC 9989 section 4.10).
	maxPlaces = policy.MaxQueries
	// maxName bounds a name in the DNS, in characters without the final dot (RFC 1035 section 2.3.4).
	maxName = 253
)

// A Place is a name at which there may be a record.
type Place struct {
	Domain string // without a final dot
	Name   string // <selector>._bimi.<domain>, without a final dot
	Answer diag.Answer[*dns.TXT]
	Found  taglist.Found
	Record *Record // the record, if there is exactly one
}

// A Discovery holds the DNS answers for the records of a domain and its parents.
type Discovery struct {
	Domain   diag.Domain
	Selector diag.Selector
	Places   []Place // that of the domain, then those of its parents
}

// Name returns the name of the record of a domain, without a final dot.
func Name(selector diag.Selector, domain string) string {
	return selector.String() + "." + Node + "." + domain
}

// Discover queries the records of a domain and its parents, one of which is the organizational domain, concurrently. A
// zero selector is the default. The error is that of the context, or a *[diag.InputError]; failures of the DNS are in
// the result.
func Discover(ctx context.Context, env *diag.Env, domain diag.Domain, selector diag.Selector) (*Discovery, error) {
	if selector.IsZero() {
		selector = diag.MustSelector(DefaultSelector)
	}
	if err := check(domain, selector); err != nil {
		return nil, err
	}
	wait, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	d := &Discovery{Domain: domain, Selector: selector}
	d.Places = kit.Map(ancestors(domain.String()), func(name string) Place {
		return Place{Domain: name, Name: Name(selector, name)}
	})
	var g diag.Group
	for i := range d.Places {
		g.Go(func() { d.Places[i].lookup(wait, env) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("looking for the BIMI record %s: %w", d.Places[0].Name, err)
	}
	return d, nil
}

func check(domain diag.Domain, selector diag.Selector) error {
	if domain.IsZero() {
		return input.Invalid("domain", "is missing")
	}
	s := selector.String()
	if before, _, ok := strings.Cut("."+s+".", "."+Node+"."); ok {
		if before = strings.Trim(before, "."); before == "" {
			before = DefaultSelector
		}
		return input.Invalid("selector", "%q is a name of the DNS; enter the part before %s: %q", s, Node, before)
	}
	if name := Name(selector, domain.String()); len(name) > maxName {
		return input.Invalid("selector", "is too long for this domain: %s has %d characters, and a name has at most %d",
			name, len(name), maxName)
	}
	return nil
}

// ancestors lists a domain and its parents, without the top-level domain: it sends no mail, and is never an
// organizational domain. Of a name with many labels the middle is left out, as in a tree walk.
func ancestors(domain string) []string {
	labels := strings.Split(domain, ".")
	list := []string{domain}
	for i := max(1, len(labels)-maxPlaces); i+1 < len(labels) && len(list) < maxPlaces; i++ {
		list = append(list, strings.Join(labels[i:], "."))
	}
	return list
}

func (p *Place) lookup(ctx context.Context, env *diag.Env) {
	if p.Answer = diag.Lookup[*dns.TXT](ctx, env, p.Name+"."); p.Answer.Err() != nil {
		return
	}
	p.Found = find(p.Answer.Records)
	if len(p.Found.Records) == 1 {
		record := Read(p.Found.List)
		p.Record = &record
	}
}

// find picks the records out of an answer. A text without a version that names a logo or a certificate was meant as
// one.
func find(answer []*dns.TXT) taglist.Found {
	found := Format.Find(answer)
	for _, r := range answer {
		text := dnsmsg.TXT(r)
		if !Format.Is(text) && Format.Resembles(text) == "" && names(text) {
			found.Strays = append(found.Strays, taglist.Stray{Text: text, Why: "it does not begin with v=" + Format.Version})
		}
	}
	return found
}

// Continues reports whether a text is probably the rest of a record split over several TXT records: it has no version,
// and names a logo or a certificate.
func Continues(text string) bool {
	list := Format.Parse(text)
	_, versioned := list.Tag("v")
	return !versioned && names(text)
}

func names(text string) bool {
	list := Format.Parse(text)
	l, _ := list.Tag("l")
	a, _ := list.Tag("a")
	return strings.HasPrefix(strings.ToLower(l.Value), "http") || strings.HasPrefix(strings.ToLower(a.Value), "http")
}

// At returns the place of a domain, or nil if it is neither the requested one nor one of its parents.
func (d *Discovery) At(domain string) *Place {
	for i := range d.Places {
		if d.Places[i].Domain == domain {
			return &d.Places[i]
		}
	}
	return nil
}

// Own returns the place of the domain itself.
func (d *Discovery) Own() *Place { return &d.Places[0] }

// Applies returns the place whose records apply, given the organizational domain: that of the domain itself if it has
// any, else that of the organizational domain (section 7.2 of the draft). It is nil if neither has one. With an error
// it is the place that the servers did not answer for. A place with several records applies, too, although receivers
// use none of them.
func (d *Discovery) Applies(organizational string) (*Place, error) {
	for _, p := range []*Place{d.Own(), d.At(organizational)} {
		if p == nil {
			continue
		}
		if err := p.Answer.Err(); err != nil {
			return p, fmt.Errorf("looking up TXT %s: %w", p.Name, err)
		}
		if len(p.Found.Records) > 0 {
			return p, nil
		}
	}
	return nil, nil
}

// Organizational returns the organizational domain by the public suffix list.
func (d *Discovery) Organizational() string {
	return policy.PublicSuffixOrganizational(d.Domain.String())
}

// Record returns the record used by receivers that follow the public suffix list, and the domain that publishes it,
// which a certificate may name as well. The record is nil without an error unless there is exactly one.
func (d *Discovery) Record() (r *Record, domain string, err error) {
	p, err := d.Applies(d.Organizational())
	if p == nil || err != nil {
		return nil, "", err
	}
	return p.Record, p.Domain, nil
}
