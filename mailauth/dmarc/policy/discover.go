package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// A Method is a way to find the organizational domain: tree_walk or psl.
type Method string

// The methods.
const (
	TreeWalk         Method = "tree_walk" // RFC 9989 section 4.10
	PublicSuffixList Method = "psl"       // RFC 7489 section 3.2
)

// Values lists the methods.
func (Method) Values() []string { return kit.Values(TreeWalk, PublicSuffixList) }

// An Origin is the place of the record that applies to a domain.
type Origin string

// The origins.
const (
	Own            Origin = "own"            // at the domain itself
	Organizational Origin = "organizational" // at its organizational domain
	PublicSuffix   Origin = "public_suffix"  // at the public suffix above that, with psd=y
)

// A View is the result of discovery for a domain by one method.
type View struct {
	Method Method
	// Organizational is the organizational domain. With OrganizationalErr it follows from the available answers alone,
	// and may be wrong.
	Organizational    string
	OrganizationalErr error
	// Policy is the step that found the record that applies, and Origin its relation to the domain; nil and empty
	// without one. With PolicyErr they are unknown, and Presumed follows from the available answers.
	Policy    *Step
	Origin    Origin
	PolicyErr error
	Presumed  *Step
}

// PolicyDomain returns the domain whose record applies, or nothing.
func (v *View) PolicyDomain() string { return kit.OrZero(v.Policy).Domain }

// A Discovery holds the results of policy discovery for a domain in the From field of a message.
type Discovery struct {
	Domain diag.Name
	Walk   Walk
	Tree   View // of receivers that follow RFC 9989
	List   View // of receivers that follow RFC 7489
	// MX is the answer to the question whether the domain exists, which any record type answers.
	MX diag.Answer[*dns.MX]
}

// Discover finds the record that applies to a domain, and its organizational domain, by tree walk and by public
// suffix list. All queries that either may need are sent concurrently. The error is that of the context, or a
// *[diag.InputError]; failures of the DNS are in the result.
func Discover(ctx context.Context, env *diag.Env, domain diag.Name) (*Discovery, error) {
	if err := checkDomain("domain", domain); err != nil {
		return nil, err
	}
	d := &Discovery{Domain: domain}
	if _, err := d.gather(ctx, env); err != nil {
		return nil, err
	}
	return d, nil
}

func checkDomain(field string, domain diag.Name) error {
	switch name := domain.String(); {
	case domain.IsZero():
		return input.Invalid(field, "is missing")
	case name == "." || strings.HasPrefix(name, "*"):
		return input.Invalid(field, "cannot be the domain of a mail address")
	}
	return nil
}

// gather sends all queries that may be needed concurrently, including those for the walks from the domains of
// identifiers, and draws the conclusions. The error is that of the context.
func (d *Discovery) gather(ctx context.Context, env *diag.Env, identifiers ...Identifier) (*lookups, error) {
	wait, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	var l lookups
	var g diag.Group
	name := d.Domain.String()
	l.ask(wait, env, &g, append(path(name), PublicSuffixOrganizational(name))...)
	for _, id := range identifiers {
		l.ask(wait, env, &g, path(id.Domain.String())...)
	}
	g.Go(func() { d.MX = diag.Lookup[*dns.MX](wait, env, d.Domain.FQDN()) })
	g.Wait()
	d.Walk = l.walk(name)
	d.Tree, d.List = d.byWalk(), byList(&l, name)
	return &l, ctx.Err()
}

// byWalk is policy discovery of RFC 9989 section 4.10.1.
func (d *Discovery) byWalk() View {
	w, v := &d.Walk, View{Method: TreeWalk}
	v.Organizational, v.OrganizationalErr = w.organizational()
	own, stop := &w.Steps[0], w.stop()
	switch org := w.At(v.Organizational); {
	case own.Record != nil: // even if parents are unknown
		v.Policy, v.Origin = own, Own
		return v
	case org != nil && org.Record != nil:
		v.Policy, v.Origin = org, Organizational
	case stop != nil && stop.Record.PSD == IsPSD:
		v.Policy, v.Origin = stop, PublicSuffix
	}
	if err := w.Err(); err != nil {
		v.Policy, v.Origin, v.PolicyErr, v.Presumed = nil, "", err, v.Policy
	}
	return v
}

// byList is policy discovery of RFC 7489 section 6.6.3. In contrast to the walk, several records at the domain
// itself end it.
func byList(l *lookups, domain string) View {
	v := View{Method: PublicSuffixList, Organizational: PublicSuffixOrganizational(domain)}
	own, org := l.step(domain), l.step(v.Organizational)
	switch {
	case own.Record != nil:
		v.Policy, v.Origin = &own, Own
	case own.Err() != nil:
		v.PolicyErr = own.Err()
	case len(own.Found.Records) > 1:
	case org.Err() != nil:
		v.PolicyErr = org.Err()
	case org.Record != nil:
		v.Policy, v.Origin = &org, Organizational
	}
	return v
}

// Exists reports whether the domain exists (RFC 9989 section 3.2.13): only NXDOMAIN says that it does not. A name
// with other records or with names below it exists, and so does an alias, whatever its target. The error says why that
// is unknown.
func (d *Discovery) Exists() (bool, error) {
	if err := d.MX.Err(); err != nil {
		return false, err
	}
	return !d.MX.NXDomain() || len(d.MX.Aliases) > 0, nil
}

// Agree reports whether both methods find the same organizational domain; the error says why that is unknown.
func (d *Discovery) Agree() (bool, error) {
	if err := d.Tree.OrganizationalErr; err != nil {
		return false, err
	}
	return d.Tree.Organizational == d.List.Organizational, nil
}

// Unavailable returns an error that wraps [diag.ErrUnavailable] if no query was answered, else nil.
func (d *Discovery) Unavailable() error {
	if !d.Walk.silent() || !d.MX.Silent() {
		return nil
	}
	return fmt.Errorf("looking for the DMARC record of %s: %w", d.Domain,
		diag.Unavailable(diag.DefaultResolver, d.Walk.Err()))
}

// PublicSuffixOrganizational returns the organizational domain of a domain by the list of publicsuffix.org, as RFC
// 7489 section 3.2 suggests. Receivers have copies of the list of different ages. A public suffix is its own
// organizational domain.
func PublicSuffixOrganizational(domain string) string {
	if org, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return org
	}
	return domain
}

// IsPublicSuffix reports whether a domain is a public suffix by the list of publicsuffix.org; every top-level domain
// is one.
func IsPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}
