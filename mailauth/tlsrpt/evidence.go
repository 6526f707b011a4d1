package tlsrpt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

type evidence struct {
	domain diag.Domain
	now    time.Time

	txt       diag.Answer[*dns.TXT]
	found     taglist.Found
	addresses []address // of the record, if there is exactly one
	suggested string    // the corrected record; empty if unknown

	elsewhere taglist.Elsewhere
	parent    taglist.Place // the record of the organizational domain; zero without one

	mail         reception.Reception
	sts          diag.Answer[*dns.TXT]
	tlsa         []diag.Answer[*dns.TLSA] // of the most preferred mail servers
	destinations []destination
	unchecked    int // destinations beyond maxDestinations
}

type destination struct {
	scheme, domain string
	uris           []address // that lead there
	external       bool
	mail           reception.Reception // of mailto
	hosts          diag.Addresses      // of https
	consentName    string
	consent        diag.Answer[*dns.TXT]
}

const (
	fromRecord    rule.Source = "record"    // the TXT records at the name
	fromMail      rule.Source = "mail"      // whether the domain receives mail
	fromElsewhere rule.Source = "elsewhere" // wrong names, which matter only if the right one has no record
	fromReports   rule.Source = "reports"   // whether reports arrive at every destination
	fromPolicies  rule.Source = "policies"  // MTA-STS and DANE
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	_, receives := e.mail.Receives()
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: e.txt.Err() == nil, fromMail: receives, fromPolicies: e.sts.Err() == nil && e.mail.MX.Err() == nil &&
			!slices.ContainsFunc(e.tlsa, func(a diag.Answer[*dns.TLSA]) bool { return a.Err() != nil }),
		fromElsewhere: present(e) || e.elsewhere.Unknown == "",
		fromReports: e.unchecked == 0 && !slices.ContainsFunc(e.destinations, func(d destination) bool {
			return d.unknown() != ""
		}),
	})
}

func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (e *evidence) read() {
	if e.txt.Err() != nil {
		return
	}
	e.found = format.Find(e.txt.Records)
	if len(e.found.Records) == 1 {
		e.addresses = addresses(&e.found.List)
	}
}

// locate keeps the records at wrong names, the last of which may be that of the organizational domain.
func (e *evidence) locate(wildcard diag.Answer[*dns.TXT], others []diag.Answer[*dns.TXT]) {
	e.elsewhere = format.Look(&e.found, e.txt, wildcard, others)
	e.elsewhere.Places = slices.DeleteFunc(e.elsewhere.Places, func(p taglist.Place) bool {
		inherited := p.Name+"." == e.parentName()
		if inherited {
			e.parent = p
		}
		return inherited
	})
}

func (e *evidence) name() string { return prefix + "." + e.domain.String() }

// nonexistent reports whether the domain is known not to exist: a domain with a name below it exists (RFC 8020
// section 2).
func (e *evidence) nonexistent() bool {
	exists, known := e.mail.Exists()
	return known && !exists && e.txt.NXDomain()
}

func (e *evidence) receives() bool {
	yes, _ := e.mail.Receives()
	return yes
}

func (e *evidence) valid() bool { return tagRules.HasOne(e) && len(e.found.List.Errors()) == 0 }

func (e *evidence) external(domain string) bool {
	return domain != "" &&
		policy.PublicSuffixOrganizational(domain) != policy.PublicSuffixOrganizational(e.domain.String())
}

// stsRecord identifies the record of MTA-STS (RFC 8461 section 3.1).
var stsRecord = taglist.Format{Protocol: "MTA-STS", Version: "STSv1", Readers: "Senders", Fields: true}

func (e *evidence) protectedBySTS() bool {
	return slices.ContainsFunc(e.sts.Records, func(r *dns.TXT) bool { return stsRecord.Is(dnsmsg.TXT(r)) })
}

func (e *evidence) protectedByDANE() bool {
	return slices.ContainsFunc(e.tlsa, func(a diag.Answer[*dns.TLSA]) bool { return a.Exists() })
}

// authorized reports whether an external destination declares that it accepts the reports, and whether that is known.
func (d *destination) authorized() (yes, known bool) {
	yes = slices.ContainsFunc(d.consent.Records, func(r *dns.TXT) bool {
		return strings.HasPrefix(dnsmsg.TXT(r), "v="+format.Version)
	})
	return yes, d.consent.Err() == nil
}

// refusal returns why no report arrives there, as a clause about the domain; empty if reports may arrive.
func (d *destination) refusal() string {
	switch a := d.hosts; {
	case d.scheme == "mailto":
		return d.mail.Refusal()
	case a.Err() != nil || len(a.All()) > 0:
		return ""
	case a.V4.NXDomain():
		return "does not exist"
	default:
		return "has no address"
	}
}

// unknown returns why it is unknown whether reports arrive there, for use in a sentence; empty if it is known.
func (d *destination) unknown() string {
	if d.scheme == "mailto" {
		return d.mail.Unknown()
	}
	if len(d.hosts.All()) > 0 || d.hosts.Err() == nil {
		return ""
	}
	return fmt.Sprintf("the address lookup of %s failed: %s", d.domain, diag.Reason(d.hosts.Err()))
}

func (e *evidence) partial() bool {
	return len(e.Unanswered()) > 0 || slices.ContainsFunc(e.destinations, func(d destination) bool {
		_, known := d.authorized()
		return d.external && !known
	})
}

const (
	// timeout bounds each wait.
	timeout = 10 * time.Second
	// maxDestinations is how many destinations of reports are examined. Records name one or two.
	maxDestinations = 10
	// maxMXHosts is how many mail servers are examined for DANE, the most preferred first: one TLSA record is enough
	// to know that reports are useful.
	maxMXHosts = 5
	// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
	maxName = 254
)

// prefix holds the labels of the record (RFC 8460 section 3).
const prefix = "_smtp._tls"

// gather runs all queries in two round trips: first for the record, at all possible names, and the mail servers, then
// for the names that these contain.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	if len(d.Sub(prefix)) > maxName {
		return nil, input.Invalid("domain", "is too long to have a TLSRPT record")
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
// the labels in another form, those that result if a control panel appends the domain to the entered name, and that
// of the organizational domain, which subdomains do not inherit.
func (e *evidence) misplaced() []string {
	d := e.domain
	list := []string{d.Sub("*"), d.FQDN(), d.Sub("_tls._smtp"), d.Sub("_smtp-tls"), d.Sub("smtp._tls"), d.Sub("_tls"),
		d.Sub(prefix + "." + d.String()), e.parentName()}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" || len(name) > maxName })
}

func (e *evidence) parentName() string {
	org := policy.PublicSuffixOrganizational(e.domain.String())
	if org == e.domain.String() {
		return ""
	}
	return prefix + "." + org + "."
}

// lookupTLSA looks up the TLSA records of the mail servers (RFC 7672 section 2.2.3).
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

// follow examines the destinations of reports. Those of the domain itself are known from its own lookups.
func (e *evidence) follow(ctx context.Context, env *diag.Env) {
	for _, a := range e.addresses {
		if !a.valid() {
			continue
		}
		i := slices.IndexFunc(e.destinations,
			func(d destination) bool { return d.scheme == a.Scheme && d.domain == a.Domain })
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
		d.consentName = policy.ConsentName("_tls", e.domain.String(), d.domain)
		if d.external && len(d.consentName) < maxName {
			g.Go(func() { d.consent = diag.Lookup[*dns.TXT](ctx, env, d.consentName+".") })
		}
		if d.domain == e.domain.String() {
			continue
		}
		g.Go(func() { d.lookup(ctx, env) })
	}
	g.Wait()
}

func (d *destination) lookup(ctx context.Context, env *diag.Env) {
	name, err := diag.ParseName(d.domain)
	switch {
	case err != nil: // a parsed domain is a valid name
	case d.scheme == "mailto":
		d.mail = reception.Lookup(ctx, env, name)
	default:
		d.hosts = diag.LookupAddresses(ctx, env, name.FQDN())
	}
}

func present(e *evidence) bool { return len(e.found.Records) > 0 }
