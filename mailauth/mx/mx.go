package mx

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/suffix"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/miekg/dns"
)

// Request names the domain to examine.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain that receives mail" example:"example.com"`
}

// Report holds the mail routing of a domain, with a verdict.
type Report struct {
	diag.RecordLookup
	diag.Verdict
	NullMX     bool   `json:"null_mx" doc:"whether the domain says that it receives no mail (RFC 7505)"`
	ImplicitMX bool   `json:"implicit_mx" doc:"whether mail goes to the domain's own address for want of MX records"`
	Hosts      []Host `json:"hosts" maxitems:"50" doc:"mail servers, the most preferred first"`
	Partial    bool   `json:"partial" doc:"whether something could not be learned"`

	route Route
}

// A Route tells where mail for a domain goes.
type Route = reception.Route

// Route returns where mail for the domain goes. It is unknown for a report that was read from JSON.
func (r *Report) Route() Route { return cmp.Or(r.route, reception.RouteUnknown) }

// An MXHost is the target of an MX record with its addresses.
type MXHost = reception.MXHost

// A Host is a mail server of the domain.
type Host struct {
	MXHost
	SharesPreference bool              `json:"shares_preference" doc:"whether another host has the same preference"`
	CNAMEChain       []string          `json:"cname_chain" doc:"aliases between the name and its addresses"`
	DNSSEC           diag.DNSSECStatus `json:"dnssec_status" doc:"what is known of the authenticity of the addresses"`
	Error            string            `json:"error,omitempty" doc:"why not all of its addresses are known"`
}

// Lookup finds the mail servers of a domain and examines their DNS records. The error is a *[diag.InputError], that of
// the context if it ended, or wraps [diag.ErrUnavailable] if every lookup failed.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	e.digest()
	return e.report(env.Now()), nil
}

// Rules describes the checks.
func (*Report) Rules() []rule.Description { return rules.Describe() }

func (e *evidence) report(ended time.Time) *Report {
	_, known := e.mail.Receives()
	records := kit.Map(e.mail.MX.Records, func(mx *dns.MX) string { return data(mx.Preference, mx.Mx) })
	r := &Report{
		RecordLookup: diag.NewRecordLookup(e.domain.Name(), e.mail.MX, records, e.now, ended),
		Verdict:      rules.Judge(e, texts), NullMX: e.mail.NullMX(), ImplicitMX: e.mail.Implicit && known, Hosts: []Host{},
		Partial: slices.ContainsFunc(e.Unanswered(), func(s rule.Source) bool { return s != fromList }),
		route:   e.mail.Route(),
	}
	count := map[uint16]int{}
	for _, h := range e.hosts {
		count[h.Preference]++
	}
	for _, h := range e.hosts {
		host := Host{
			MXHost: h.MXHost(), SharesPreference: count[h.Preference] > 1, CNAMEChain: h.Aliases(), DNSSEC: h.DNSSEC(),
		}
		if err := h.Err(); err != nil {
			host.Error = diag.Reason(err)
		}
		r.Hosts = append(r.Hosts, host)
	}
	return r
}

func data(preference uint16, host string) string {
	return fmt.Sprintf("%d %s", preference, dns.CanonicalName(host))
}

const (
	// timeout bounds each wait.
	timeout = 10 * time.Second
	// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
	maxName = 254
)

type evidence struct {
	domain diag.Domain
	now    time.Time
	public func(netip.Addr) bool // whether senders all over the Internet reach an address

	mail reception.Hosts

	preferences map[string][]uint16 // of the MX records, by the name of the host, in ascending order

	hosts    []host                    // those of mail
	wildcard diag.Answer[*dns.MX]      // of the wildcard of the domain; zero if the domain is too long to have one
	intended map[string]reception.Host // by the name of the host: the intended name, if it repeats the domain
}

// gather runs all queries in two round trips. A host whose name repeats the domain by mistake takes a third, for the
// intended name.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	e := &evidence{domain: d, now: env.Now(), public: env.Public, intended: map[string]reception.Host{}}
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	var g diag.Group
	g.Go(func() {
		e.mail = reception.LookupHosts(bounded, env, d.Name(), reception.MaxHosts)
		e.lookupIntended(bounded, env)
	})
	if wildcard := d.Sub("*"); len(wildcard) <= maxName {
		g.Go(func() { e.wildcard = diag.Lookup[*dns.MX](bounded, env, wildcard) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.mail.MX.Silent() {
		return nil, fmt.Errorf("examining the MX records of %s: %w", d,
			diag.Unavailable(diag.DefaultResolver, e.mail.MX.Err()))
	}
	return e, nil
}

func (e *evidence) lookupIntended(ctx context.Context, env *diag.Env) {
	var repeating []string
	var meant []reception.Host
	for _, h := range e.mail.List {
		if name := withoutDomain(h.Name, e.domain.String()); name != "" {
			repeating = append(repeating, h.Name)
			meant = append(meant, reception.Host{Preference: h.Preference, Name: name})
		}
	}
	reception.Resolve(ctx, env, meant)
	for i, name := range repeating {
		e.intended[name] = meant[i]
	}
}

func (e *evidence) digest() {
	e.preferences = map[string][]uint16{}
	for _, mx := range e.mail.MX.Records {
		name := trimDot(dns.CanonicalName(mx.Mx))
		e.preferences[name] = append(e.preferences[name], mx.Preference)
	}
	for _, list := range e.preferences {
		slices.Sort(list)
	}
	for _, h := range e.mail.List {
		one := host{Host: h}
		for _, ip := range h.Addresses.All() {
			if e.public(ip) {
				one.reachable = append(one.reachable, ip)
			} else {
				one.special = append(one.special, ip)
			}
		}
		one.fault = e.faultOf(&one)
		e.hosts = append(e.hosts, one)
	}
}

type host struct {
	reception.Host
	fault              fault
	reachable, special []netip.Addr // public and special-purpose addresses
}

// A fault is a reason why a host cannot receive mail. Each host has the first that applies, so one mistake is
// reported once.
type fault int

const (
	noFault      fault = iota
	literal            // the name is an IP address
	loopback           // the name means the sender's own machine
	repeating          // the name ends with the domain twice
	malformed          // the name has characters that are invalid in a host name
	undetermined       // the servers did not answer whether it has an address
	nonexistent        // the name does not exist
	addressless        // the name has no address
	unroutable         // none of its addresses is public
)

func (e *evidence) faultOf(h *host) fault {
	switch a := h.Addresses; {
	case h.Literal(e.domain.String()).IsValid():
		return literal
	case strings.HasPrefix(h.Name+".", "localhost.") || strings.HasSuffix(h.Name, ".localhost"):
		return loopback
	case withoutDomain(h.Name, e.domain.String()) != "":
		return repeating
	case oddity(h.Name) != "":
		return malformed
	case a.V4.NXDomain() || a.V6.NXDomain(): // the name does not exist, whatever the outcome of the other lookup
		return nonexistent
	case a.Err() != nil:
		return undetermined
	case len(h.reachable)+len(h.special) == 0:
		return addressless
	case len(h.reachable) == 0:
		return unroutable
	default:
		return noFault
	}
}

func (e *evidence) with(f fault) []host {
	return slices.DeleteFunc(slices.Clone(e.hosts), func(h host) bool { return h.fault != f })
}

// withoutDomain returns the intended name if a zone file appended the domain to a name that already ended with it;
// empty if it did not.
func withoutDomain(name, domain string) string {
	if meant, ok := strings.CutSuffix(name, "."+domain); ok && (meant == domain || strings.HasSuffix(meant, "."+domain)) {
		return meant
	}
	return ""
}

// foreign returns the name of another organization that a zone file probably appended the domain to, such as
// mx.example.net.example.com; empty if it does not look like one.
func foreign(name, domain string) string {
	if meant, likely := suffix.Undotted(name, domain); likely {
		return meant
	}
	return ""
}

// oddity returns why a name is not a valid host name (RFC 1123 section 2.1); empty if it is valid. It accepts
// underscores, as most senders do.
func oddity(name string) string {
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case strings.ContainsFunc(label, notInHosts):
			return fmt.Sprintf("its label %s has a character that no host name has", phrase.Quote(label))
		case label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-"):
			return fmt.Sprintf("its label %s begins or ends with a hyphen", phrase.Quote(label))
		}
	}
	return ""
}

func notInHosts(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// internalNames are the endings of names that exist only within a private network (RFC 6762 section 3 and appendix G,
// RFC 8375 section 4, RFC 9476 section 3, and ICANN's reservation of internal).
var internalNames = []string{"local", "lan", "home", "corp", "internal", "intranet", "private", "alt", "localdomain",
	"home.arpa"}

// internal returns the ending that limits a name to a private network; empty without one.
func internal(name string) string {
	for _, ending := range internalNames {
		if strings.HasSuffix("."+name, "."+ending) {
			return ending
		}
	}
	return ""
}

func purposes(list []netip.Addr) string {
	return join(kit.Map(list, func(ip netip.Addr) string {
		if _, p, ok := registry.PurposeOf(ip); ok {
			return fmt.Sprintf("%s (%s, %s)", ip, p.Name, p.RFC)
		}
		return ip.String() + " (not a public address)"
	}))
}

func join[T any](list []T) string {
	return phrase.Series(kit.Map(list, func(one T) string { return fmt.Sprint(one) }), len(list))
}

func trimDot(name string) string { return strings.TrimSuffix(name, ".") }
