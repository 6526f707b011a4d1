package spf

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// Networks larger than any mail sender has: 65536 IPv4 addresses, or the allocation of an IPv6 provider.
const (
	wide4 = 16
	wide6 = 32
)

var networkRules = rule.Rules[*evidence]{
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.network.everyone", Severity: diag.Critical, Weight: 5, Category: factorNetworks,
		Ref:   "RFC 7208 section 11.4",
		Title: "SPF authorizes the whole Internet", Requirement: "The networks do not cover the whole Internet",
		Advice: "Narrow the networks to the hosts that send: anyone can send mail as the domain.",
		Fails:  wholeInternet,
	}),
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.network.wide", Severity: diag.Warning, Weight: 3, Category: factorNetworks,
		Ref: "RFC 7208 section 11.4", Title: "SPF authorizes a very large network",
		Requirement: "No authorized network is wider than a /16 of IPv4 or a /32 of IPv6",
		Advice:      "Narrow the network to the hosts that send: every other host in it passes, too.",
		Fails: inRecord(authorizing(func(p netip.Prefix) string {
			if p.Bits() > 0 && (p.Addr().Is4() && p.Bits() < wide4 || p.Addr().Is6() && p.Bits() < wide6) {
				return "authorizes all of " + p.String()
			}
			return ""
		})),
	}),
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.network.special", Severity: diag.Warning, Weight: 2, Category: factorNetworks,
		Ref:   "RFC 6890 section 2.2.2",
		Title: "SPF authorizes a network that is not public", Requirement: "All networks are on the public Internet",
		Advice: "Remove the network: mail from the Internet never comes from such addresses.",
		Fails:  notPublic,
	}),
	{
		Code: "spf.network.mapped", Severity: diag.Warning, Weight: 1, Category: factorNetworks,
		Ref:   "RFC 7208 section 5",
		Title: "SPF has an IPv4-mapped address in ip6", Requirement: "No ip6 has an IPv4-mapped address",
		Advice: "Write it with ip4: receivers treat clients with such an address as IPv4.",
		Fails: suggesting(inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Name == eval.IP6 && t.Valid && t.Network.Addr().Is4In6(), n, t,
				"%q never matches.", phrase.Quote(t.Raw))
		})),
	},
	{
		Code: "spf.network.host_bits", Severity: diag.Info, Ref: "RFC 7208 section 5.6",
		Title:       "SPF has a network that does not begin at its first address",
		Requirement: "Every network begins at its first address",
		Advice:      "Write the first address of the network, or remove the prefix length if one host was meant.",
		Fails: suggesting(inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Network.IsValid() && t.Network != t.Network.Masked(), n, t,
				"%q stands for %s.", phrase.Quote(t.Raw), t.Network.Masked())
		})),
	},
}

// authorizing checks terms that authorize the hosts of a network; the test returns a clause about the term.
func authorizing(test func(netip.Prefix) string) termCheck {
	return func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
		for _, p := range t.Networks {
			if clause := test(p); clause != "" && t.Reached && t.Qualifier == eval.QualifierPass {
				return rule.Failures{failTerm(n, t.Term, "%q %s.", phrase.Quote(t.Raw), clause)}
			}
		}
		return nil
	}
}

// notPublic finds networks from which no mail comes. A finding about one applies to all of its kind.
func notPublic(e *evidence) rule.Failures {
	var list rule.Failures
	kinds := kit.Map(specials, func(s special) string { return s.kind })
	for i, kind := range kinds {
		if slices.Index(kinds, kind) < i {
			continue
		}
		list = append(list, inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			var found []string
			for _, p := range t.Networks {
				if specialKind(p) == kind && !slices.Contains(found, p.String()) {
					found = append(found, p.String())
				}
			}
			clause := kind
			if len(found) > 1 {
				clause = strings.Replace(kind, "which is", "which are", 1)
			}
			return failTermIf(len(found) > 0 && t.Reached && t.Qualifier == eval.QualifierPass, n, t, "%q stands for %s, %s.",
				phrase.Quote(t.Raw), phrase.Series(found, maxNamed), clause)
		})(e)...)
	}
	return list
}

func wholeInternet(e *evidence) rule.Failures {
	list := inTree(authorizing(func(p netip.Prefix) string {
		if p.Bits() == 0 {
			return "stands for every address of its family"
		}
		return ""
	}))(e)
	if len(list) > 0 {
		return list
	}
	var all []netip.Prefix
	for _, t := range e.tree.terms() {
		if t.Reached && t.Qualifier == eval.QualifierPass {
			all = append(all, t.Networks...)
		}
	}
	return rule.FailIf(slices.ContainsFunc(SetOf(all...).Prefixes(), func(p netip.Prefix) bool { return p.Bits() == 0 }),
		"Together, the networks cover every address of one family.")
}

type special struct {
	netip.Prefix
	kind string
}

// specials are the networks from which no mail comes over the Internet (RFC 6890 and the IANA registries of
// special-purpose addresses). Networks for documentation are not a fault in an example record.
var specials = []special{
	{netip.MustParsePrefix("0.0.0.0/8"), "which is not a host's address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "which is for private use"},
	{netip.MustParsePrefix("100.64.0.0/10"), "which is shared address space"},
	{netip.MustParsePrefix("127.0.0.0/8"), "the loopback network"},
	{netip.MustParsePrefix("169.254.0.0/16"), "which is link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "which is for private use"},
	{netip.MustParsePrefix("192.0.0.0/24"), "which is for protocol assignments"},
	{netip.MustParsePrefix("192.88.99.0/24"), "the deprecated 6to4 relay network"},
	{netip.MustParsePrefix("192.168.0.0/16"), "which is for private use"},
	{netip.MustParsePrefix("198.18.0.0/15"), "which is for benchmarks"},
	{netip.MustParsePrefix("224.0.0.0/4"), "which is for multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "which is reserved"},
	{netip.MustParsePrefix("::/127"), "the unspecified and loopback addresses"},
	{netip.MustParsePrefix("64:ff9b::/96"), "which is for IPv4/IPv6 translation"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "which is for IPv4/IPv6 translation"},
	{netip.MustParsePrefix("100::/64"), "which is discard-only"},
	{netip.MustParsePrefix("fc00::/7"), "which is for private use"},
	{netip.MustParsePrefix("fe80::/10"), "which is link-local"},
	{netip.MustParsePrefix("ff00::/8"), "which is for multicast"},
}

// specialKind returns why no mail comes from a network; empty if mail may. A network that also has public addresses
// is not special.
func specialKind(p netip.Prefix) string {
	for _, s := range specials {
		if s.Contains(p.Addr()) && p.Bits() >= s.Bits() {
			return s.kind
		}
	}
	return ""
}
