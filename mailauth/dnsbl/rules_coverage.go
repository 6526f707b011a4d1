package dnsbl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

func (e *evidence) with(is func(*outcome) bool) []*probe {
	return e.blocks(func(p *probe) bool { return is(&p.outcome) })
}

func (e *evidence) answered() []*probe { return e.with((*outcome).measured) }

// unanswered names the blocklists that did not answer, by reason. The widely used ones have a rule of their own.
func unanswered(e *evidence) rule.Failures {
	var said []string
	for _, kind := range []struct {
		is   func(*outcome) bool
		what string
	}{
		{func(o *outcome) bool { return o.isDefunct() }, "out of operation"},
		{func(o *outcome) bool { return o.status == Refused }, "refused"},
		{func(o *outcome) bool { return o.status == TimedOut }, "silent"},
		{func(o *outcome) bool { return o.status == Failed }, "failed"},
	} {
		on := e.blocks(func(p *probe) bool {
			return kind.is(&p.outcome) && p.outcome.isDefunct() == (kind.what == "out of operation") &&
				p.list.Severity != High &&
				!p.outcome.measured()
		})
		if len(on) > 0 {
			said = append(said, fmt.Sprintf("%s (%s)", kind.what, names(on)))
		}
	}
	return rule.FailIf(len(said) > 0, "Nothing was learned from some blocklists: %s.", strings.Join(said, ", "))
}

// rewritten returns the lists in whose place the resolver answers. A few domains of lists are parked at any time, but
// never many together.
func rewritten(e *evidence) []*probe {
	parked := e.with(func(o *outcome) bool { return o.reading.kind == outOfRange || o.test == Parked })
	silent := e.with(func(o *outcome) bool { return o.status == TimedOut })
	if len(parked) < minRewritten || 2*len(parked) < len(e.probes)-len(silent) {
		return nil
	}
	return parked
}

// minRewritten is the minimum number of lists that answer with foreign addresses before the resolver is blamed.
const minRewritten = 3

func (e *evidence) majors() (all, missing []*probe) {
	all = e.blocks(func(p *probe) bool { return p.list.Severity == High })
	return all, slices.DeleteFunc(slices.Clone(all), func(p *probe) bool { return p.outcome.measured() })
}

// open reports whether too few of the widely used lists answered for a verdict.
func open(e *evidence) bool {
	all, missing := e.majors()
	return len(e.listings()) == 0 && 2*len(missing) > len(all)
}

var knowledgeRules = rule.Rules[*evidence]{{
	Code: "dnsbl.address.special", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 6890 section 2.2.2",
	Title: "Not a public address", Requirement: "The address is a public one",
	Advice: "Check the public address that the mail is sent from; receivers note it in their Received fields.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.purpose.hidden, "%s is a special-purpose address, %s. Receivers on the Internet never see mail "+
			"come from it, so that no list can say anything about it.", e.ip, e.purpose.text)
	},
}, {
	Code: "dnsbl.address.documentation", Severity: diag.Info, Ref: "RFC 5737 section 3, RFC 3849 section 2",
	Title: "Address for use in documentation", Requirement: "The address is not set aside for documentation",
	Advice: "Check the address that the mail is sent from, if this one was taken from an example.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.purpose.example, "%s is set aside for examples: %s.", e.ip, e.purpose.text)
	},
}, {
	Code: "dnsbl.resolver.rewrites", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 5782 section 2.1",
	Title:       "The resolver rewrites the answers of lists",
	Requirement: "The resolver passes on the answers of lists as they are",
	Advice: "Ask through a resolver that returns NXDOMAIN unchanged. Nothing is known about the address: check it " +
		"on the websites of the lists.",
	When: public, Fails: func(e *evidence) rule.Failures {
		on := rewritten(e)
		return rule.FailIf(len(on) > 0,
			"%d of %d blocklists seem to answer with addresses outside 127.0.0.0/8, as a resolver "+
				"does that replaces NXDOMAIN by a page of its own.", len(on), len(e.blocks(func(*probe) bool { return true })))
	},
}, {
	Code: "dnsbl.answers.refused", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dnsbl.resolver.rewrites"}, Ref: "RFC 6471 section 3.3",
	Title: "Blocklists refuse to answer", Requirement: "At least one blocklist answers",
	Advice: "Check the address on the websites of the lists: nothing is known about it here. To get answers here, " +
		"the operator " +
		"of this service uses a recursive resolver of its own instead of a public one, or keys of the lists.",
	Fails: func(e *evidence) rule.Failures {
		on := e.with(func(o *outcome) bool { return o.status == Refused })
		if len(e.answered()) > 0 || len(on) == 0 {
			return nil
		}
		return rule.Fail("No blocklist said whether it lists %s, and %d refused: %s. The first: %s.",
			e.ip, len(on), names(on), on[0].outcome.why)
	},
}, {
	Code: "dnsbl.answers.none", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dnsbl.answers.refused"}, Ref: "RFC 5782 section 5",
	Title: "No blocklist gave a usable answer", Requirement: "At least one blocklist gave a usable answer",
	Advice: "Try again in a few minutes, or check the address on the websites of the lists.",
	When:   asksBlocklists, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.answered()) == 0, "%s asked, and none said whether it lists %s.",
			were(len(e.blocks(func(*probe) bool { return true }))), e.ip)
	},
}, {
	Code: "dnsbl.answers.few", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dnsbl.answers.none"}, Ref: "RFC 6471 section 3.3",
	Title:       "Most of the widely used blocklists did not answer",
	Requirement: "Most of the widely used blocklists answered",
	Advice:      "Check the address on the websites of these lists, which decide whether mail is accepted.",
	Fails: func(e *evidence) rule.Failures {
		_, missing := e.majors()
		if !open(e) {
			return nil
		}
		return rule.Fail("No usable answer about %s came from %s. The first: %s.", e.ip,
			names(missing), missing[0].outcome.why)
	},
}}

// coverageRules concern lists that did not answer, which is worth knowing, but not a fault of the address.
var coverageRules = rule.Rules[*evidence]{{
	Code: "dnsbl.major.unanswered", Severity: diag.Info, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dnsbl.answers.few"}, Ref: "RFC 6471 section 3.3",
	Title: "A widely used blocklist did not answer", Requirement: "All widely used blocklists answered",
	Advice: "Check the address on the website of the list.",
	When:   func(e *evidence) bool { all, _ := e.majors(); return public(e) && len(all) > 0 },
	Fails: func(e *evidence) rule.Failures {
		_, missing := e.majors()
		return rule.FailEach(missing, func(p *probe) rule.Failures {
			return rule.Failures{{
				Detail: fmt.Sprintf("%s did not say whether it lists %s: %s.", p.list.Name, e.ip, p.outcome.why),
				Advice: e.manualCheck(p),
			}}.About(p.list.ID)
		})
	},
}, {
	Code: "dnsbl.lists.unanswered", Severity: diag.Info, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dnsbl.answers.refused", "dnsbl.resolver.rewrites"}, Ref: "RFC 6471 section 3.3",
	Title: "Some blocklists gave no usable answer", Requirement: "All blocklists gave a usable answer",
	Advice: "Check the address on the websites of these lists if they matter to your recipients.",
	When:   public, Fails: unanswered,
}, {
	Code: "dnsbl.allowlist.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 6471 section 3.3",
	Title: "No allow list gave a usable answer", Requirement: "At least one allow list gave a usable answer",
	Advice: "Try again in a few minutes, or check the address on the websites of the lists.",
	When:   asksAllowlistsOnly, Fails: func(e *evidence) rule.Failures {
		if _, answered := e.allowed(); answered > 0 {
			return nil
		}
		return rule.Fail("No usable answer about %s came from %s. The first: %s.", e.ip,
			names(e.probes), e.probes[0].outcome.why)
	},
}, {
	Code: "dnsbl.allowlist.only", Severity: diag.Info, Ref: "RFC 5782 section 2.2",
	Title: "Only allow lists were asked", Requirement: "At least one blocklist was asked",
	Advice: "Repeat the check without choosing lists to learn whether a blocklist lists the address.",
	When:   public, Fails: func(e *evidence) rule.Failures {
		_, answered := e.allowed()
		return rule.FailIf(asksAllowlistsOnly(e) && answered > 0,
			"The request names allow lists only, so that no blocklist was asked about %s.", e.ip)
	},
}}

func were(n int) string {
	if n == 1 {
		return "1 blocklist was"
	}
	return phrase.Count(n, "blocklist") + " were"
}

func (e *evidence) manualCheck(p *probe) string {
	text := "Check the address on the website of the list"
	if url := p.list.delistURL(e.ip.Addr); url != "" {
		text += ", " + url
	}
	if p.outcome.status == Refused {
		text += ". To get answers here, the operator of this service uses a recursive resolver of its own instead of a " +
			"public one, or a key of the list"
	}
	return text + "."
}

func asksBlocklists(e *evidence) bool {
	return public(e) && len(e.blocks(func(*probe) bool { return true })) > 0
}

func asksAllowlistsOnly(e *evidence) bool { return public(e) && !asksBlocklists(e) }

func (e *evidence) allowed() (on []*probe, answered int) {
	for _, p := range e.probes {
		if p.list.Category != Allow || !p.outcome.measured() {
			continue
		}
		if answered++; p.outcome.status == Listed {
			on = append(on, p)
		}
	}
	return on, answered
}

func (e *evidence) judge() diag.Verdict {
	v := rules.Judge(e, texts)
	fill := e.placeholders()
	v.Headline, v.Sub = fill.Replace(v.Headline), fill.Replace(v.Sub)
	return v
}

func (e *evidence) placeholders() *strings.Replacer {
	listings := e.listings()
	on, first := "a blocklist", ""
	// The one that weighs most speaks for all.
	for _, c := range classes {
		if found := e.on(c); len(found) > 0 {
			first = found[0].list.Name
			break
		}
	}
	switch len(listings) {
	case 0:
	case 1:
		on = "the blocklist " + first
	default:
		on = fmt.Sprintf("%d blocklists, among them %s", len(listings), first)
	}
	answered := e.answered()
	clean := fmt.Sprintf("any of the %d blocklists that answered", len(answered))
	if len(answered) == 1 {
		clean = answered[0].list.Name + ", the one list that answered"
	}
	allowed := "On no allow list"
	switch found, _ := e.allowed(); len(found) {
	case 0:
	case 1:
		allowed = "On the allow list " + found[0].list.Name
	default:
		allowed = "On " + phrase.Count(len(found), "allow list")
	}
	_, missing := e.majors()
	unasked := ""
	if len(missing) > 0 {
		unasked = missing[0].list.Name
	}
	return strings.NewReplacer("{lists}", on, "{first}", first, "{unasked}", unasked, "{purpose}", e.purpose.text,
		"{ip}", e.ip.String(), "{answered}", phrase.Count(len(answered), "list"), "{clean}", clean, "{allowed}", allowed)
}

// texts are the texts of the verdict. Placeholders in braces are filled in: {lists} states how many blocklists have
// the address, and names the one that weighs most.
var texts = rule.Texts{
	"valid": {Headline: "Not listed on {clean}",
		Sub: "No blocklist blocks mail from {ip}. Check again when mail is rejected or the address " +
			"changes."},
	"dnsbl.lists.unanswered": {Headline: "Not listed on {clean}",
		Sub: "No list that answered has it; some did not answer. The findings name those that said nothing about {ip}."},
	"dnsbl.major.unanswered": {Headline: "Not listed on {answered}; no answer from {unasked}",
		Sub: "No list that answered has it; a widely used one did not answer. Check {ip} on its website."},
	"dnsbl.listed.minor": {Headline: "Listed on {lists}",
		Sub: "Some receivers reject or filter mail from {ip}. Remove the cause first, then request removal."},
	"dnsbl.listed.obscure": {Headline: "Listed on {lists}",
		Sub: "Few receivers use the list, so most mail from {ip} is not affected. Remove the cause, then request " +
			"removal."},
	"dnsbl.listed.policy": {Headline: "Listed by policy as an address that should not send mail directly",
		Sub: "That is no accusation, but receivers reject mail that comes directly from {ip}. Send through the " +
			"provider's mail server, or have the address of a mail server taken off {first}."},
	"dnsbl.listed.policy.minor": {Headline: "Listed by policy on {first}, which few use",
		Sub: "That is no accusation, and few receivers use the list. If {ip} is a mail server, have it taken off."},
	"dnsbl.listed.network": {Headline: "Listed only with its whole network, on {first}",
		Sub: "The list blames the network of {ip} and not the address, and few receivers reject mail because of it. Ask " +
			"the provider."},
	"dnsbl.listed.several": {Headline: "Listed on {lists}",
		Sub: "Most receivers reject mail from {ip}. Stop sending, find what sends the spam, and request removal only " +
			"then: an address whose cause remains is listed again."},
	"dnsbl.listed.decisive": {Headline: "Listed on {lists}",
		Sub: "Most large receivers reject mail from {ip}. Find and stop the cause first, then request removal: an " +
			"address whose cause remains is listed again."},
	"dnsbl.listed.major": {Headline: "Listed on {lists}",
		Sub: "Many receivers reject mail from {ip}. Remove the cause first, then request removal, or it is listed again."},
	"dnsbl.listed.many": {Headline: "Listed on {lists}",
		Sub: "Lists that work differently agree about {ip}. Find what sends the spam first, then request removal from " +
			"each."},
	"dnsbl.allowlist.only": {Headline: "{allowed}; no blocklist was asked",
		Sub: "The request names allow lists only. Repeat the check without choosing lists to learn whether a " +
			"blocklist lists {ip}."},
	"dnsbl.allowlist.unanswered": {Headline: "Not known whether it is on an allow list: none answered",
		Sub: "This says nothing about {ip}. Try again in a few minutes."},
	"dnsbl.address.special": {Headline: "Special-purpose address, not a public one: check the public address",
		Sub: "{ip} is set aside: {purpose}. Receivers never see it, so blocklists say nothing about it."},
	"dnsbl.resolver.rewrites": {Headline: "Not known whether it is listed: the resolver rewrites answers",
		Sub: "The resolver replaces NXDOMAIN, so the answers of lists cannot be read. Use another resolver: this " +
			"says nothing about {ip}."},
	"dnsbl.answers.refused": {Headline: "Not known whether it is listed: blocklists refuse to answer",
		Sub: "The lists do not answer the resolver of this service. This says nothing about {ip}: check it on their " +
			"websites."},
	"dnsbl.answers.none": {Headline: "Not known whether it is listed: no blocklist answered",
		Sub: "This says nothing about {ip}. Try again in a few minutes."},
	"dnsbl.answers.few": {Headline: "Not known: most widely used blocklists did not answer",
		Sub: "{ip} is on no list of the {answered} that answered, but those that decide did not say. Check it at " +
			"their websites."},
}
