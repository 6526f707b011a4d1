package tlsrpt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/miekg/dns"
)

// The bounds of what is looked up.
const (
	// timeout is how long anything is waited for.
	timeout = 10 * time.Second
	// maxDestinations is how many destinations of reports are looked at. Records name one or two.
	maxDestinations = 10
	// maxMXHosts is how many mail servers are asked for DANE, the most preferred first: one with a TLSA record is
	// enough to know that there is something to report.
	maxMXHosts = 5
	// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
	maxName = 254
)

// prefix is where the record is (RFC 8460 section 3).
const prefix = "_smtp._tls"

// gather asks all there is to ask in two round trips: first for the record, wherever it may be, and the mail servers,
// then for what these name.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	if len(d.Sub(prefix)) > maxName {
		return nil, diag.Invalid("domain", "is too long to have a TLSRPT record")
	}
	e := &evidence{domain: d, now: env.Now()}
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	names := e.misplaced()
	elsewhere := make([]diag.Answer[*dns.TXT], len(names))
	var g diag.Group
	g.Go(func() {
		e.txt = diag.Lookup[*dns.TXT](bounded, env, d.Sub(prefix))
		e.read()
		e.follow(bounded, env)
	})
	g.Go(func() {
		e.mail = reception.Lookup(bounded, env, d.Name())
		e.lookupTLSA(bounded, env)
	})
	g.Go(func() { e.sts = diag.Lookup[*dns.TXT](bounded, env, d.Sub("_mta-sts")) })
	for i, name := range names {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](bounded, env, name) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.txt.Silent() && e.mail.MX.Silent() && e.mail.Addresses.V4.Silent() {
		return nil, fmt.Errorf("examining TLSRPT of %s: %w", d, diag.Unavailable(diag.DefaultResolver, e.txt.Err()))
	}
	for i := range e.destinations {
		if dest := &e.destinations[i]; dest.domain == d.String() {
			dest.mail, dest.hosts = e.mail, e.mail.Addresses
		}
	}
	e.locate(elsewhere[0], elsewhere[1:])
	e.suggested = e.correct()
	return e, nil
}

// misplaced lists the wildcard of the domain, and the names under which records are published by mistake: those with
// the labels in another form, those that come about where a control panel adds the domain to the name that was typed,
// and that of the organizational domain, which subdomains do not inherit.
func (e *evidence) misplaced() []string {
	d := e.domain
	list := []string{d.Sub("*"), d.FQDN(), d.Sub("_tls._smtp"), d.Sub("_smtp-tls"), d.Sub("smtp._tls"), d.Sub("_tls"),
		d.Sub(prefix + "." + d.String()), e.parentName()}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" || len(name) > maxName })
}

// parentName is where the organizational domain has its record; empty if the domain is one.
func (e *evidence) parentName() string {
	org := policy.PublicSuffixOrganizational(e.domain.String())
	if org == e.domain.String() {
		return ""
	}
	return prefix + "." + org + "."
}

// lookupTLSA asks the mail servers for DANE (RFC 7672 section 2.2.3).
func (e *evidence) lookupTLSA(ctx context.Context, env *diag.Env) {
	hosts, _ := e.mail.Named(maxMXHosts)
	hosts = slices.DeleteFunc(hosts, func(h reception.Host) bool { return len("_25._tcp."+h.Name+".") > maxName })
	e.tlsa = make([]diag.Answer[*dns.TLSA], len(hosts))
	var g diag.Group
	for i, h := range hosts {
		g.Go(func() { e.tlsa[i] = diag.Lookup[*dns.TLSA](ctx, env, "_25._tcp."+h.Name) })
	}
	g.Wait()
}

// follow looks at the destinations of reports. Those of the domain itself are known from its own lookups.
func (e *evidence) follow(ctx context.Context, env *diag.Env) {
	for _, a := range e.addresses {
		if !a.valid() {
			continue
		}
		i := slices.IndexFunc(e.destinations, func(d destination) bool { return d.scheme == a.Scheme && d.domain == a.Domain })
		switch {
		case i >= 0:
			e.destinations[i].uris = append(e.destinations[i].uris, a)
		case len(e.destinations) < maxDestinations:
			e.destinations = append(e.destinations, destination{
				scheme: a.Scheme, domain: a.Domain, uris: []address{a}, external: e.external(a.Domain),
			})
		default:
			e.unchecked++
		}
	}
	var g diag.Group
	for i := range e.destinations {
		d := &e.destinations[i]
		if d.external {
			d.consentName = policy.ConsentName("_tls", e.domain.String(), d.domain)
			g.Go(func() { d.lookupConsent(ctx, env) })
		}
		if d.domain == e.domain.String() {
			continue
		}
		g.Go(func() { d.lookup(ctx, env) })
	}
	g.Wait()
}

func (d *destination) lookupConsent(ctx context.Context, env *diag.Env) {
	if len(d.consentName) < maxName {
		d.consent = diag.Lookup[*dns.TXT](ctx, env, d.consentName+".")
	}
}

func (d *destination) lookup(ctx context.Context, env *diag.Env) {
	name, err := diag.ParseName(d.domain)
	switch {
	case err != nil: // a domain that was parsed is a name
	case d.scheme == "mailto":
		d.mail = reception.Lookup(ctx, env, name)
	default:
		d.hosts = diag.LookupAddresses(ctx, env, name.FQDN())
	}
}
