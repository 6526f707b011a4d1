package spf

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// What is more than a sender of mail has: a network of 65536 IPv4 addresses, or what a provider of IPv6
// gets; and a million IPv4 addresses, which no provider of mail has.
const (
	wide4         = 16
	wide6         = 32
	manyAddresses = 1 << 20
)

// networkRules are about the networks that are authorised.
var networkRules = diag.Rules[*evidence]{
	{
		Code: "spf.network.everyone", Severity: diag.Critical, Weight: 5, Category: factorNetworks,
		Requirement: "The networks do not cover the whole Internet",
		Ref:         "RFC 7208 section 11.4",
		Advice:      "Narrow the networks: as they are, everybody may send in the name of the domain.",
		When:        one,
		Fails:       wholeInternet,
	},
	{
		Code: "spf.network.wide", Severity: diag.Warning, Weight: 3, Category: factorNetworks,
		Requirement: "No network is wider than a sender of mail needs",
		Ref:         "RFC 7208 section 11.4",
		Advice:      "Narrow the network to the hosts that send: every other host in it may send too.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Reached || t.Qualifier != QualifierPass {
				return nil
			}
			for _, p := range t.Networks {
				if p.Bits() > 0 && (p.Addr().Is4() && p.Bits() < wide4 || p.Addr().Is6() && p.Bits() < wide6) {
					return diag.Failures{blame(n, t.Term, "%s is authorised.", p)}
				}
			}
			return nil
		}),
	},
	{
		Code: "spf.network.special", Severity: diag.Warning, Weight: 2, Category: factorNetworks,
		Requirement: "All networks are of the public Internet",
		Ref:         "RFC 6890 section 2.2.2",
		Advice:      "Remove the network: mail from the Internet never comes from such addresses.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Reached {
				return nil
			}
			for _, p := range t.Networks {
				if kind := special(p); kind != "" {
					return diag.Failures{blame(n, t.Term, "%s is %s.", p, kind)}
				}
			}
			return nil
		}),
	},
	{
		Code: "spf.network.mapped", Severity: diag.Warning, Weight: 1, Category: factorNetworks,
		Requirement: "No ip6 holds an IPv4 address in the form of IPv6",
		Ref:         "RFC 7208 section 5",
		Advice:      "Write it with ip4: clients with such an address count as IPv4, so this never matches.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != IP6 || !t.Valid || !t.Network.Addr().Is4In6() {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s never matches.", diag.Quote(t.Raw))}
		}),
	},
	{
		Code: "spf.network.host_bits", Severity: diag.Info,
		Requirement: "Every network begins at its first address",
		Ref:         "RFC 7208 section 5.6",
		Advice:      "Write the first address of the network, or leave the length out if one host was meant.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			return inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
				if !t.Network.IsValid() || t.Network == t.Network.Masked() {
					return nil
				}
				f := blame(n, t.Term, "%s lies in %s.", t.Network.Addr(), t.Network.Masked())
				f.Suggested = e.with(n, t.Term, signed(t.Term, string(t.Name)+":"+t.Network.Masked().String()))
				return diag.Failures{f}
			})(e)
		},
	},
	{
		Code: "spf.network.overlap", Severity: diag.Info,
		Requirement: "No network of the record is covered by another",
		Ref:         "RFC 7208 section 5.6",
		Advice:      "Remove the narrower one, if it is there by mistake: it changes nothing.",
		When:        one,
		Fails:       overlaps,
	},
	{
		Code: "spf.authorized.many", Severity: diag.Info,
		Requirement: "Fewer than a million IPv4 addresses are authorised",
		Ref:         "RFC 7208 section 11.4",
		Advice:      "Remove services that are no longer used: whoever gets hold of one of these hosts passes.",
		When:        func(e *evidence) bool { return followed(e) && !e.covers() },
		Fails: func(e *evidence) diag.Failures {
			n := e.authorized.Count4()
			return diag.FailIf(n > manyAddresses, "%d are.", n)
		},
	},
}

// covers reports whether all addresses of a family pass, for whatever reason.
func (e *evidence) covers() bool {
	return slices.Equal(e.authorized.v4, everything.v4) || slices.Equal(e.authorized.v6, everything.v6)
}

// wholeInternet finds networks that are everything, alone or together.
func wholeInternet(e *evidence) diag.Failures {
	list := inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
		for _, p := range t.Networks {
			if p.Bits() == 0 && t.Reached && t.Qualifier == QualifierPass {
				return diag.Failures{blame(n, t.Term, "%s is the whole Internet.", diag.Quote(t.Raw))}
			}
		}
		return nil
	})(e)
	if len(list) > 0 {
		return list
	}
	var all []netip.Prefix
	for _, n := range e.nodes {
		for i := range n.Terms {
			if t := &n.Terms[i]; t.Reached && t.Qualifier == QualifierPass {
				all = append(all, t.Networks...)
			}
		}
	}
	if s := SetOf(all...); slices.Equal(s.v4, everything.v4) || slices.Equal(s.v6, everything.v6) {
		return diag.Fail("Together they are the whole Internet.")
	}
	return nil
}

// sharedSpace is for the carriers' own use (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// special says why no mail comes from a network, or nothing. Networks for documentation are no fault of
// a record that is an example.
func special(p netip.Prefix) string {
	switch a := p.Addr(); {
	case p.Bits() < 8: // it has public addresses as well
		return ""
	case a.IsPrivate():
		return "for private use"
	case a.IsLoopback():
		return "the host itself"
	case a.IsLinkLocalUnicast():
		return "for use on one link"
	case a.IsMulticast():
		return "for multicast"
	case a.IsUnspecified():
		return "unspecified"
	case a.Is4() && sharedSpace.Contains(a):
		return "shared address space"
	default:
		return ""
	}
}

// An owned is a network with the term that stands for it.
type owned struct {
	netip.Prefix
	node *Node
	term *ResolvedTerm
}

// overlaps finds networks of the record that another covers, here or in a record that it leads to, and
// the reverse. Networks are nested or apart, so in order each is covered by those before that are still open.
func overlaps(e *evidence) diag.Failures {
	var list []owned
	for _, n := range e.nodes {
		for i := range n.Terms {
			t := &n.Terms[i]
			if !t.Reached || t.Qualifier != QualifierPass {
				continue
			}
			for _, p := range t.Networks {
				list = append(list, owned{p.Masked(), n, t})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b owned) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var failures diag.Failures
	var open []owned
	said := map[[2]*ResolvedTerm]bool{}
	for _, o := range list {
		for len(open) > 0 && !open[len(open)-1].Contains(o.Addr()) {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			outer := open[len(open)-1]
			pair := [2]*ResolvedTerm{outer.term, o.term}
			if concerns(outer, o) && !said[pair] && len(failures) < maxListed {
				said[pair] = true
				failures = append(failures, overlap(outer, o))
			}
		}
		open = append(open, o)
	}
	return failures
}

// concerns reports whether who runs the domain can mend an overlap, and is not told of it otherwise: as a
// term that is repeated.
func concerns(outer, inner owned) bool {
	if outer.node.Depth == 0 && inner.node.Depth == 0 {
		return !strings.EqualFold(outer.term.String(), inner.term.String())
	}
	return outer.node.Depth == 0 || inner.node.Depth == 0
}

func overlap(outer, inner owned) diag.Failure {
	if inner.node.Depth > 0 { // point to what is in the record
		return blame(outer.node, outer.term.Term, "%s covers %s of %s.", diag.Quote(outer.term.Raw), inner.Prefix,
			diag.Quote(inner.node.Domain))
	}
	where := diag.Quote(outer.term.Raw)
	if outer.node.Depth > 0 {
		where = fmt.Sprintf("%s of %s", outer.Prefix, diag.Quote(outer.node.Domain))
	}
	return blame(inner.node, inner.term.Term, "%s is covered by %s.", diag.Quote(inner.term.Raw), where)
}
