package dnsbl

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

var rules = slices.Concat(knowledgeRules.Reading(rule.FromRequest),
	listingRules.With(rule.Rule[*evidence]{HoldsWhenUnanswered: true}),
	coverageRules.Reading(rule.FromRequest))

var (
	factorMajor   = rule.Category{Code: "major", Label: "Widely used lists"}
	factorOther   = rule.Category{Code: "other", Label: "Other lists"}
	factorPolicy  = rule.Category{Code: "policy", Label: "Policy lists"}
	factorNetwork = rule.Category{Code: "network", Label: "Lists of networks"}
)

type class int

const (
	decisive    class = iota // most large receivers reject the mail
	major                    // many receivers do
	minor                    // some receivers reject or count it
	obscure                  // few do
	policy                   // the address should not send mail itself, as receivers believe
	minorPolicy              // the same, as few receivers believe
	network                  // the list has the whole network
)

var classes = []class{decisive, major, minor, obscure, policy, minorPolicy, network}

func (c class) source() rule.Source { return rule.Source(fmt.Sprintf("lists %d", c)) }

// Unanswered returns the classes with a list in operation that did not answer.
func (e *evidence) Unanswered() (list []rule.Source) {
	for _, c := range classes {
		mute := func(p *probe) bool { return mayBelong(p, c) && !p.outcome.measured() && !p.outcome.isDefunct() }
		if len(e.blocks(mute)) > 0 {
			list = append(list, c.source())
		}
	}
	return list
}

func mayBelong(p *probe, c class) bool {
	aboutPolicy := func(c Code) bool { return c.Kind == Policy }
	return classOf(p) == c || c == policy && p.list.Severity != Low && slices.ContainsFunc(p.list.Codes, aboutPolicy)
}

func classOf(p *probe) class {
	switch {
	case p.category() == Policy && p.list.Severity == Low:
		return minorPolicy
	case p.category() == Policy:
		return policy
	case p.list.ofNetworks():
		return network
	case p.list.Decisive && (p.outcome.status != Listed || len(p.outcome.reading.meanings) > 0):
		return decisive // except for an undocumented code
	case p.list.Severity == High:
		return major
	case p.list.Severity == Medium:
		return minor
	default:
		return obscure
	}
}

func (e *evidence) blocks(is func(*probe) bool) (list []*probe) {
	for _, p := range e.probes {
		if p.list.Category != Allow && is(p) {
			list = append(list, p)
		}
	}
	return list
}

func (e *evidence) listings() []*probe {
	return e.blocks(func(p *probe) bool { return p.outcome.status == Listed })
}

func (e *evidence) on(c class) []*probe {
	return e.blocks(func(p *probe) bool { return p.outcome.status == Listed && classOf(p) == c })
}

// public reports whether receivers can see mail come from the address.
func public(e *evidence) bool { return !e.purpose.hidden }

func measured(c class) func(*evidence) bool {
	return func(e *evidence) bool {
		return public(e) && len(e.blocks(func(p *probe) bool { return p.outcome.measured() && mayBelong(p, c) })) > 0
	}
}

func listed(c class) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.on(c), func(p *probe) rule.Failures { return e.listing(p) })
	}
}

// unlistedRule completes the rule that no list of a class has the address.
func unlistedRule(c class, r rule.Rule[*evidence]) rule.Rule[*evidence] {
	r.Reads, r.When, r.Fails = []rule.Source{c.source()}, measured(c), listed(c)
	r.Ref = cmp.Or(r.Ref, "RFC 5782 section 2.1")
	r.Advice = cmp.Or(r.Advice, "Remove the cause, then request removal.")
	return r
}

func (e *evidence) listing(p *probe) rule.Failures {
	var b strings.Builder
	fmt.Fprintf(&b, "%s lists %s", p.list.Name, e.ip)
	if p.list.ofNetworks() {
		b.WriteString(" with its network")
	}
	fmt.Fprintf(&b, " (%s", strings.Join(kit.Map(p.outcome.reading.codes, netip.Addr.String), ", "))
	if len(p.outcome.reading.meanings) > 0 {
		b.WriteString(": " + strings.Join(p.outcome.reading.meanings, "; "))
	}
	b.WriteString(").")
	if len(p.reasons) > 0 {
		fmt.Fprintf(&b, ` The list says: "%s".`, phrase.Quote(strings.TrimSuffix(strings.Join(p.reasons, "; "), ".")))
	}
	return rule.Failures{{Detail: b.String(), Advice: e.remedy(p)}}.About(p.list.ID)
}

// remedies remove the cause of a listing, which precedes the request for removal: an address whose cause remains is
// listed again.
var remedies = map[Category]string{
	Spam: "Find and stop what sends the spam: a hijacked mailbox, a form or script that is abused, or a mailing to " +
		"people who did not ask for it.",
	Exploit: "Find and clean the machine behind the address that is infected or attacks others; " +
		"behind NAT it may be any.",
	Bot:        "Find and clean the machine behind the address that is part of a botnet; behind NAT it may be any.",
	Proxy:      "Close the proxy, or send mail from an address that is not a proxy, VPN or Tor node.",
	Reputation: "Check the mail log for spam and bounces, and give the address a PTR record with a host name of its own.",
}

const networkRemedy = "Ask your provider to stop the spam from its network, or send from an address of another " +
	"network: nobody else can end this listing."

// What to do about policy lists, which differs between clients and mail servers. Neither has done anything wrong.
const (
	policyRemedy = "If this is a home connection or another dynamic address, leave the entry and send through the mail " +
		"server of your provider (port 587 or 465). If it is a mail server with a static address, give it a PTR record " +
		"with a host name of its own, then "
	policyRemedyAgain = "If this is a mail server with a static address, also "
)

func (e *evidence) remedy(p *probe) string {
	removal := "ask " + p.list.Operator + " for removal."
	url := p.list.delistURL(e.ip.Addr)
	if url != "" {
		removal = "request removal from " + p.list.Name + " at " + url + "."
	}
	explained := e.isExplained(p)
	switch text := remedies[p.category()]; {
	case p.list.ofNetworks():
		return networkRemedy
	case p.category() == Policy && explained:
		return policyRemedyAgain + removal
	case p.category() == Policy:
		return policyRemedy + removal
	case p.list.Expires != "":
		if explained {
			text = "Remove the cause."
		}
		text += " " + p.list.Name + " then removes the entry by itself " + p.list.Expires
		if url == "" {
			return text + "."
		}
		return text + "; see " + url + "."
	case explained:
		return "Remove the cause first, then " + removal
	default:
		return text + " Then " + removal
	}
}

// isExplained reports whether an earlier finding advises on the cause of this listing.
func (e *evidence) isExplained(p *probe) bool {
	for _, c := range classes {
		for _, earlier := range e.on(c) {
			if earlier == p {
				return false
			}
			if earlier.category() == p.category() && !earlier.list.ofNetworks() {
				return true
			}
		}
	}
	return false
}

var listingRules = rule.Rules[*evidence]{{
	Code: "dnsbl.listed.several", Severity: diag.Critical, Weight: 5, Category: factorMajor,
	Reads: []rule.Source{decisive.source(), major.source()}, Ref: "RFC 5782 section 2.1",
	Title:       "Listed on several widely used blocklists",
	Requirement: "At most one widely used blocklist that answered lists the address",
	Advice:      "Stop sending from the address until the cause is found: each further message makes removal harder.",
	When:        func(e *evidence) bool { return measured(decisive)(e) || measured(major)(e) },
	Fails: func(e *evidence) rule.Failures {
		on := slices.Concat(e.on(decisive), e.on(major))
		return rule.FailIf(len(on) > 1, "%s is on %s, so that most receivers reject its mail.", e.ip, names(on))
	},
}, unlistedRule(decisive, rule.Rule[*evidence]{
	Code: "dnsbl.listed.decisive", Severity: diag.Critical, Weight: 40, Category: factorMajor,
	Title:       "Listed on the most widely used blocklist",
	Requirement: "The most widely used blocklist does not list the address",
}), unlistedRule(major, rule.Rule[*evidence]{
	Code: "dnsbl.listed.major", Severity: diag.Error, Weight: 80, Category: factorMajor,
	Title:       "Listed on a widely used blocklist",
	Requirement: "No other widely used blocklist that answered lists the address",
}), {
	Code: "dnsbl.listed.many", Severity: diag.Error, Weight: 5, Category: factorOther,
	Reads: []rule.Source{minor.source(), obscure.source()}, Ref: "RFC 5782 section 2.1",
	Title:       "Listed on several independent blocklists",
	Requirement: "At most two smaller blocklists that answered list the address",
	Advice:      "Look for the cause before requesting removal: lists that work differently do not err alike.",
	When:        func(e *evidence) bool { return measured(minor)(e) || measured(obscure)(e) },
	Fails: func(e *evidence) rule.Failures {
		on := slices.Concat(e.on(minor), e.on(obscure))
		return rule.FailIf(operators(on) >= manyOperators, "%s is on %s.", e.ip, names(on))
	},
}, unlistedRule(minor, rule.Rule[*evidence]{
	Code: "dnsbl.listed.minor", Severity: diag.Warning, Weight: 30, Category: factorOther,
	Title:       "Listed on a blocklist that some receivers use",
	Requirement: "No blocklist that some receivers use and that answered lists the address",
}), unlistedRule(obscure, rule.Rule[*evidence]{
	Code: "dnsbl.listed.obscure", Severity: diag.Warning, Weight: 5, Category: factorOther,
	Title:       "Listed on a blocklist that few receivers use",
	Requirement: "No blocklist that few receivers use and that answered lists the address",
}), unlistedRule(policy, rule.Rule[*evidence]{
	Code: "dnsbl.listed.policy", Severity: diag.Warning, Weight: 60, Category: factorPolicy, Ref: "RFC 5782 section 1",
	Title:       "On a policy list: the address should not send mail directly",
	Requirement: "No policy list says that the address should not send mail directly",
	Advice: "Send through the mail server of your provider, or have a static address of a mail server taken off the " +
		"list.",
}), unlistedRule(minorPolicy, rule.Rule[*evidence]{
	Code: "dnsbl.listed.policy.minor", Severity: diag.Warning, Weight: 5, Category: factorPolicy,
	Ref:         "RFC 5782 section 1",
	Title:       "On a policy list that few receivers use",
	Requirement: "No policy list that few receivers use lists the address",
	Advice:      "Give a mail server a PTR record with a host name of its own, and have it taken off the list.",
}), unlistedRule(network, rule.Rule[*evidence]{
	Code: "dnsbl.listed.network", Severity: diag.Warning, Weight: 5, Category: factorNetwork,
	Ref:         "RFC 6471 section 2.1.3",
	Title:       "Listed with its whole network because of other senders",
	Requirement: "No list of networks lists the network of the address",
	Advice:      networkRemedy,
})}

// manyOperators is the number of operators whose lists must have the address before chance is ruled out: one lists it
// by mistake, two may have the same source.
const manyOperators = 3

func operators(list []*probe) int {
	seen := map[string]bool{}
	for _, p := range list {
		seen[p.list.Operator] = true
	}
	return len(seen)
}

const maxNamed = 6

func names(list []*probe) string {
	return phrase.Series(kit.Map(list, func(p *probe) string { return p.list.Name }), maxNamed)
}
