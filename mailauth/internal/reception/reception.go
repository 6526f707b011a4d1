// Package reception determines whether a domain receives mail, and where its mail goes (RFC 5321 section 5.1): call
// [Lookup] with a domain, or [LookupHosts] for its mail servers with their addresses.
//
// Mail goes to the MX hosts or, without MX records, to the domain's own address, its implicit MX. A domain that
// receives no mail publishes a null MX, "MX 0 ." (RFC 7505). The meaning of a missing mail authentication record
// depends on this, and so does whether a report can be delivered.
package reception

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// A Reception holds the DNS records that route mail for a domain.
type Reception struct {
	MX        diag.Answer[*dns.MX]
	Addresses diag.Addresses // of the domain itself
}

// Lookup runs all queries concurrently. DNS failures are in the result.
func Lookup(ctx context.Context, env *diag.Env, name diag.Name) Reception {
	var r Reception
	var g diag.Group
	g.Go(func() { r.MX = diag.Lookup[*dns.MX](ctx, env, name.FQDN()) })
	g.Go(func() { r.Addresses = diag.LookupAddresses(ctx, env, name.FQDN()) })
	g.Wait()
	return r
}

// NullMX reports whether the domain declares that it receives no mail (RFC 7505 section 3).
func (r *Reception) NullMX() bool {
	host := func(mx *dns.MX) bool { return mx.Mx != "." }
	return r.MX.Exists() && !slices.ContainsFunc(r.MX.Records, host)
}

// Receives reports whether mail for the domain may go somewhere, and whether that is known.
func (r *Reception) Receives() (yes, known bool) {
	switch {
	case r.denied():
		return false, true
	case r.MX.Err() != nil:
		return false, false
	case r.MX.Exists():
		return !r.NullMX(), true
	case r.Addresses.V4.Exists() || r.Addresses.V6.Exists():
		return true, true
	default:
		return false, r.Addresses.Err() == nil
	}
}

// A Route is where mail for a domain goes according to the DNS (RFC 5321 section 5.1).
type Route string

// The routes.
const (
	RouteUnknown  Route = "unknown"  // the name servers did not answer
	RouteHosts    Route = "hosts"    // MX records name hosts, whether or not they accept mail
	RouteImplicit Route = "implicit" // there is no MX record, and the name has an address
	RouteNull     Route = "null"     // a null MX declares that it receives no mail (RFC 7505)
	RouteNone     Route = "none"     // there is neither an MX record nor an address, or the name does not exist
)

// Route returns where mail for the domain goes.
func (r *Reception) Route() Route {
	switch yes, known := r.Receives(); {
	case !known:
		return RouteUnknown
	case r.NullMX():
		return RouteNull
	case !yes:
		return RouteNone
	case r.MX.Exists():
		return RouteHosts
	default:
		return RouteImplicit
	}
}

// AliasAdvice returns advice about the MX records of a domain that is an alias, at which nothing can be published
// (RFC 1034 section 3.6.2); empty if it is not an alias.
func (r *Reception) AliasAdvice() string {
	for _, chain := range [][]string{r.MX.Aliases, r.Addresses.V4.Aliases, r.Addresses.V6.Aliases} {
		if len(chain) > 0 {
			return fmt.Sprintf("Leave it to the operator of %s, the target of this alias: nothing can be published "+
				"beside a CNAME record (RFC 1034 section 3.6.2). To have MX records of its own, replace the CNAME with address "+
				"records first.", strings.TrimSuffix(chain[len(chain)-1], "."))
		}
	}
	return ""
}

// Exists reports whether the domain exists, and whether that is known. NXDOMAIN for one type holds for all (RFC 8020
// section 2); at the end of an alias it applies to the target.
func (r *Reception) Exists() (yes, known bool) {
	v4, v6 := &r.Addresses.V4, &r.Addresses.V6
	if len(r.MX.Aliases)+len(v4.Aliases)+len(v6.Aliases) > 0 {
		return true, true
	}
	answered := r.MX.Err() == nil || v4.Name != "" && v4.Err() == nil || v6.Name != "" && v6.Err() == nil
	return answered && !r.denied(), answered
}

func (r *Reception) denied() bool {
	return r.MX.NXDomain() || r.MX.Err() != nil && (r.Addresses.V4.NXDomain() || r.Addresses.V6.NXDomain())
}

// Refusal returns why the domain receives no mail, as a clause about it; empty if it receives mail, or if that is
// unknown.
func (r *Reception) Refusal() string {
	switch yes, known := r.Receives(); {
	case yes || !known:
		return ""
	case r.NullMX():
		return "has a null MX"
	case r.denied():
		return "does not exist"
	default:
		return "has neither an MX record nor an address"
	}
}

// Unknown returns why it is unknown whether the domain receives mail, for use in a sentence; empty if it is known.
func (r *Reception) Unknown() string {
	if _, known := r.Receives(); known {
		return ""
	}
	kind, err := "MX", r.MX.Err()
	if err == nil {
		kind, err = "address", r.Addresses.Err()
	}
	return fmt.Sprintf("the %s lookup of %s failed: %s", kind, strings.TrimSuffix(r.MX.Name, "."), diag.Reason(err))
}

// MaxHosts is how many mail servers are worth examining, the most preferred first. Large providers have up to ten.
const MaxHosts = 50

// Hosts are the mail servers of a domain, with their DNS records.
type Hosts struct {
	// Reception holds the answers about the domain itself: its MX records and, in their absence, its addresses. With
	// MX records the addresses of the domain are irrelevant and not kept.
	Reception

	List     []Host // in the order in which senders try them: by preference, then by name; each name once
	Surplus  int    // mail servers beyond the limit
	Implicit bool   // there are no MX records: the only host is the domain itself (RFC 5321 section 5.1)
}

// A Host is a mail server. Its addresses include the chain of aliases from its name, and the DNSSEC status of the
// lookup of each kind.
type Host struct {
	Preference uint16 // the lowest, if several MX records name the host
	Name       string // in lower case, without a final dot
	Addresses  diag.Addresses
}

// MXHost is a [Host] in a report.
type MXHost struct {
	Preference uint16       `json:"preference" doc:"preference of the MX record; the lowest is tried first"`
	Host       string       `json:"host" doc:"name of the host"`
	Addresses  []netip.Addr `json:"addresses" doc:"addresses of the host"`
	Resolves   bool         `json:"resolves" doc:"whether it has an address"`
}

// LookupHosts finds the mail servers of a domain, at most limit of them, and all their addresses, in two round trips.
// Without MX records one is enough. DNS failures are in the result.
func LookupHosts(ctx context.Context, env *diag.Env, name diag.Name, limit int) Hosts {
	var h Hosts
	own, enough := context.WithCancel(ctx)
	defer enough()
	var g diag.Group
	g.Go(func() {
		h.MX = diag.Lookup[*dns.MX](ctx, env, name.FQDN())
		h.List, h.Surplus = h.Named(limit)
		if h.MX.Exists() {
			enough() // the addresses are irrelevant: do not wait for them
		}
		Resolve(ctx, env, h.List)
	})
	var addresses diag.Addresses
	g.Go(func() { addresses = diag.LookupAddresses(own, env, name.FQDN()) })
	g.Wait()
	if h.MX.Exists() {
		return h
	}
	h.Addresses = addresses
	if yes, known := h.Receives(); h.MX.Err() == nil && (yes || !known) {
		h.Implicit = true
		h.List = []Host{{Name: name.String(), Addresses: addresses}}
	}
	return h
}

// Named lists the hosts that MX records name, at most limit of them, without their addresses, and counts the others.
// The root, the target of a null MX, is left out.
func (r *Reception) Named(limit int) (hosts []Host, surplus int) {
	if r.MX.Err() != nil {
		return nil, 0
	}
	for _, mx := range r.MX.Records {
		if name := strings.TrimSuffix(dns.CanonicalName(mx.Mx), "."); name != "" { // RFC 7505 section 3
			hosts = append(hosts, Host{Preference: mx.Preference, Name: name})
		}
	}
	slices.SortFunc(hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(a.Preference, b.Preference), cmp.Compare(a.Name, b.Name))
	})
	seen := map[string]bool{}
	hosts = slices.DeleteFunc(hosts, func(h Host) bool {
		again := seen[h.Name]
		seen[h.Name] = true
		return again
	})
	surplus = max(0, len(hosts)-limit)
	return hosts[:len(hosts)-surplus], surplus
}

// Resolve looks up the addresses of all hosts concurrently.
func Resolve(ctx context.Context, env *diag.Env, hosts []Host) {
	var g diag.Group
	for i := range hosts {
		g.Go(func() { hosts[i].Addresses = diag.LookupAddresses(ctx, env, dns.Fqdn(hosts[i].Name)) })
	}
	g.Wait()
}

// Aliases lists the targets of the CNAMEs between the name of the host and its addresses, in order and without final
// dots. The list should be empty (RFC 2181 section 10.3).
func (h *Host) Aliases() []string {
	chain := h.Addresses.V4.Aliases
	if len(chain) == 0 {
		chain = h.Addresses.V6.Aliases
	}
	return kit.Map(chain, func(name string) string { return strings.TrimSuffix(name, ".") })
}

// Literal returns the IP address that is used as the name, also if a zone file appended the domain to it: senders
// look it up as if it were a name (RFC 5321 section 5.1). It is invalid if the name is not an IP address.
func (h *Host) Literal(domain string) netip.Addr {
	ip, _ := netip.ParseAddr(strings.Trim(strings.TrimSuffix(h.Name, "."+domain), "[]"))
	return ip
}

// Err returns why the addresses of the host are not fully known: the lookup of at least one kind failed. Addresses of
// the other kind may be known.
func (h *Host) Err() error { return cmp.Or(h.Addresses.V4.Err(), h.Addresses.V6.Err()) }

// DNSSEC returns the DNSSEC status of the addresses: secure only if the lookups of both kinds are, because an
// attacker would forge the other one.
func (h *Host) DNSSEC() diag.DNSSECStatus {
	v4, v6 := h.Addresses.V4.DNSSEC(), h.Addresses.V6.DNSSEC()
	switch {
	case v4 == diag.Bogus || v6 == diag.Bogus:
		return diag.Bogus
	case v4 == v6:
		return v4
	default:
		return diag.Indeterminate
	}
}

// MXHost returns the host in the form used in reports.
func (h *Host) MXHost() MXHost {
	addresses := h.Addresses.All()
	return MXHost{h.Preference, h.Name, addresses, len(addresses) > 0}
}

// MixedNull reports whether a null MX is published beside other MX records, which RFC 7505 section 3 forbids.
func (r *Reception) MixedNull() bool {
	null := func(mx *dns.MX) bool { return mx.Mx == "." }
	return slices.ContainsFunc(r.MX.Records, null) && !r.NullMX()
}
