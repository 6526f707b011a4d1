package compose

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// A ReverseName is the host name of an address that sends mail.
type ReverseName struct {
	Address          netip.Addr `json:"address" doc:"the address"`
	Hostnames        []string   `json:"hostnames" doc:"its names in reverse DNS"`
	ForwardConfirmed *bool      `json:"forward_confirmed,omitempty" doc:"whether one of them leads back to the address; absent if the servers did not say"`
}

// LookupReverse looks up the names of addresses at once, and whether they lead back: two round trips.
func LookupReverse(ctx context.Context, env *diag.Env, addresses []netip.Addr) []ReverseName {
	list := make([]ReverseName, len(addresses))
	var g diag.Group
	for i, addr := range addresses {
		g.Go(func() {
			list[i] = ReverseName{Address: addr, Hostnames: []string{}}
			r, err := resolve.Reverse(ctx, env, resolve.ReverseRequest{IP: diag.IP{Addr: addr}})
			if err != nil {
				return
			}
			list[i].Hostnames = r.Hostnames
			list[i].ForwardConfirmed = confirmed(r)
		})
	}
	g.Wait()
	return list
}

// confirmed reports whether a name leads back to the address; nil if the servers did not say.
func confirmed(r *resolve.ReverseReport) *bool {
	said := func(rcode string) bool {
		return rcode == dns.RcodeToString[dns.RcodeSuccess] || rcode == dns.RcodeToString[dns.RcodeNameError]
	}
	open := func(f resolve.Forward) bool {
		_, err := diag.ParseDomain(f.Hostname) // what is no host name was not looked up, and leads nowhere
		return err == nil && !said(f.Rcode)    // silence has no code
	}
	if !r.ForwardConfirmed && (!said(r.Rcode) || slices.ContainsFunc(r.Forward, open)) {
		return nil
	}
	return new(r.ForwardConfirmed)
}

// ReverseOpen reports whether servers did not say what an address is called.
func ReverseOpen(list []ReverseName) bool {
	return slices.ContainsFunc(list, func(n ReverseName) bool { return n.ForwardConfirmed == nil })
}

// ReverseRules makes the rules about the names of addresses that send mail, for the table of a whole. What fails for
// one address stands, whatever is not known of others.
func ReverseRules[E any](names func(E) []ReverseName) diag.Rules[E] {
	any := func(e E) bool { return len(names(e)) > 0 }
	each := func(all string, fails func(ReverseName) diag.Failures) func(E) diag.Failures {
		return func(e E) diag.Failures {
			list := diag.FailEach(names(e), fails)
			return list.Together(all, len(list))
		}
	}
	return diag.Rules[E]{{
		Code: "check.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 1912 section 2.1",
		Title:       "Reverse DNS of a sending address could not be looked up",
		Requirement: "The name servers answer for the reverse DNS of every sending address",
		Advice:      "Check the name servers of the reverse zone: receivers that get no answer defer mail.",
		When:        any,
		Fails: each("Whether %d sending addresses have names that lead back to them is not known.", func(n ReverseName) diag.Failures {
			return diag.FailIf(n.ForwardConfirmed == nil, "Whether %s has a name in reverse DNS that leads back to it is not known.",
				n.Address).About(n.Address.String())
		}),
	}, {
		Code: "check.ptr.missing", Severity: diag.Warning, Stands: true, Ref: "RFC 1912 section 2.1",
		Title: "Sending address has no name in reverse DNS", Requirement: "Every sending address has a name in reverse DNS",
		Advice: "Have the operator of the address publish a PTR record with the name of the mail server, and give that " +
			"name the address: Gmail and Yahoo refuse mail from addresses without one.",
		When: any, Fails: each("%d sending addresses have no PTR record.", func(n ReverseName) diag.Failures {
			return diag.FailIf(n.ForwardConfirmed != nil && len(n.Hostnames) == 0, "%s has no PTR record.", n.Address).
				About(n.Address.String())
		}),
	}, {
		Code: "check.ptr.unconfirmed", Severity: diag.Warning, Stands: true, Ref: "RFC 1912 section 2.1",
		Title:       "Name in reverse DNS does not lead back to the address",
		Requirement: "The name in reverse DNS of every sending address leads back to it",
		Advice: "Publish an address record for the name with this address, or have the PTR record name a host that has " +
			"it: Gmail and Yahoo ask that both agree.",
		When: any,
		Fails: each("%d sending addresses have names that do not have these addresses.", func(n ReverseName) diag.Failures {
			return diag.FailIf(n.ForwardConfirmed != nil && !*n.ForwardConfirmed && len(n.Hostnames) > 0,
				"%s has the name %s, which does not have this address.", n.Address, listed(n.Hostnames)).About(n.Address.String())
		}),
	}}
}

const maxNames = 3

func listed(list []string) string {
	if more := len(list) - maxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNames], ", "), more)
	}
	return strings.Join(list, ", ")
}
