package resolve

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

const longChain = 8 // aliases; some resolvers give up after as many

func succeeded(e *evidence) bool { return e.reply.Rcode == dns.RcodeSuccess }
func known(e *evidence) bool     { return succeeded(e) || e.reply.Rcode == dns.RcodeNameError }
func aliased(e *evidence) bool   { return len(e.chain) > 0 }
func found(e *evidence) bool     { return len(e.records) > 0 }

// denied reports whether the absence in the reply can be judged: a resolver that filters denies names that exist.
func denied(e *evidence) bool { return known(e) && resolved(e) && dnsmsg.Filtered(e.reply) == "" }

// resolved reports whether the server that replied has the answer. One that does not refers to others (RFC 1034
// section 4.3.1), or, queried without recursion, returns an empty reply: without an SOA record that says nothing
// about the name (RFC 2308 section 2.2).
func resolved(e *evidence) bool {
	empty := succeeded(e) && len(e.reply.Answer) == 0 && !e.reply.Authoritative && !e.reply.Truncated
	return !empty || !refers(e) && e.request.recursive() || holds(e.reply.Ns, dns.TypeSOA)
}

// refers reports whether a reply names other servers.
func refers(e *evidence) bool { return holds(e.reply.Ns, dns.TypeNS) }

func holds(rrs []dns.RR, rrtype uint16) bool {
	return slices.ContainsFunc(rrs, func(rr dns.RR) bool { return rr.Header().Rrtype == rrtype })
}

// referral names the zone and the servers of a referral.
func referral(e *evidence) string {
	zone, servers := "", []string{}
	for _, rr := range e.reply.Ns {
		if ns, ok := rr.(*dns.NS); ok {
			zone, servers = zoneText(ns.Hdr.Name), append(servers, nameText(ns.Ns))
		}
	}
	return fmt.Sprintf("the name servers of %s: %s", zone, phrase.Series(servers, maxReferred))
}

// maxReferred bounds the servers of a referral that are named.
const maxReferred = 4

// complete reports whether the reply is complete: not truncated, and followed to the last alias.
func complete(e *evidence) bool { return !e.reply.Truncated && (found(e) || unfollowed(e) == "") }

// rcodeText is the reply code as a sentence, with the reasons that the server gave beside it.
func rcodeText(e *evidence) string {
	who := "The resolver"
	if e.request.Resolver == Authoritative {
		who = "The name server"
	}
	text := fmt.Sprintf("%s answered %s for %s %s", who, dnsmsg.RcodeName(e.reply.Rcode), e.request.Name, e.request.Type)
	for i, x := range dnsmsg.ExtendedErrors(e.reply) {
		if i < maxReasons {
			text += "; " + dnsmsg.ExtendedText(x)
		}
	}
	return text + "."
}

// maxReasons bounds the extended errors that are put into words; servers give one or two.
const maxReasons = 4

// bogus reports whether DNSSEC validation failed: the resolver reports it, or it answers SERVFAIL and has an answer
// with validation disabled (RFC 4035 section 3.2.2).
func bogus(e *evidence) bool {
	return diag.MessageDNSSEC(e.reply) == diag.Bogus || e.unchecked != nil && e.reply.Rcode == dns.RcodeServerFailure &&
		(e.unchecked.Rcode == dns.RcodeSuccess || e.unchecked.Rcode == dns.RcodeNameError)
}

// unfollowed says why the last alias was not followed to its end, or nothing.
func unfollowed(e *evidence) string {
	switch {
	case !succeeded(e) || !aliased(e) || found(e) || loopOf(e) != "":
		return ""
	case len(e.chain) >= dnsmsg.MaxAliases:
		return fmt.Sprintf("there are more than %d aliases in a row", dnsmsg.MaxAliases)
	}
	last := e.chain[len(e.chain)-1].Target
	if e.reply.RecursionAvailable || slices.ContainsFunc(e.reply.Ns, func(rr dns.RR) bool {
		return rr.Header().Rrtype == dns.TypeSOA && dns.IsSubDomain(rr.Header().Name, last)
	}) {
		return "" // the server has the zone of the target (RFC 2308 section 2.2)
	}
	return "the server that answered is not authoritative for it"
}

var rules = slices.Concat(answerRules, walkRules)

var answerRules = rule.Rules[*evidence]{{
	Code: "resolve.rcode.servfail", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 1035 section 4.1.1",
	Title: "Resolver answered SERVFAIL", Requirement: "The resolver can resolve the name",
	Advice: "Check that the zone's name servers answer: run domain/dns-check on the domain.",
	When:   func(e *evidence) bool { return !bogus(e) && !unreached(e) },
	Fails: func(e *evidence) rule.Failures {
		text := rcodeText(e)
		if e.unchecked != nil {
			text += " It does so with DNSSEC checking disabled too, so the cause is not DNSSEC."
		}
		return rule.FailIf(e.reply.Rcode == dns.RcodeServerFailure, "%s", text)
	},
}, {
	Code: "resolve.rcode.refused", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1035 section 4.1.1, RFC 8914 section 4.19",
	Title: "Query refused", Requirement: "The server accepts the query",
	Advice: "Ask another resolver: this one refuses this client or this name.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.reply.Rcode == dns.RcodeRefused, "%s", rcodeText(e))
	},
}, {
	Code: "resolve.rcode.other", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 6895 section 2.3",
	Title: "Server could not process the query", Requirement: "The server can process the query",
	Advice: "Ask another resolver: this one does not support the query.",
	Fails: func(e *evidence) rule.Failures {
		usual := known(e) || e.reply.Rcode == dns.RcodeServerFailure || e.reply.Rcode == dns.RcodeRefused
		return rule.FailIf(!usual, "%s", rcodeText(e))
	},
}, {
	Code: "resolve.dnssec.bogus", Severity: diag.Error, Ref: "RFC 4035 section 5.5, RFC 8914 section 4.7",
	Title: "DNSSEC validation failed", Requirement: "The answer does not fail DNSSEC validation",
	Advice: "Run dnssec/check on the name: it says which signature, key or DS record is at fault.",
	Fails: func(e *evidence) rule.Failures {
		text := rcodeText(e)
		if e.unchecked != nil {
			text += fmt.Sprintf(" With DNSSEC checking disabled it answers %s.", dnsmsg.RcodeName(e.unchecked.Rcode))
		}
		return rule.FailIf(bogus(e), "%s", text)
	},
}, {
	Code: "resolve.rcode.nxdomain", Severity: diag.Warning, Fact: reach.NoName,
	Differs: "the answer to a question may be that there is nothing", Ref: "RFC 8020 section 2",
	Title: "Name does not exist", Requirement: "The name exists",
	Advice: "Check the spelling. If it is right, add records for the name to its zone.",
	When:   func(e *evidence) bool { return denied(e) && !aliased(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.reply.Rcode == dns.RcodeNameError, "%s does not exist (NXDOMAIN).", e.request.Name)
	},
}, {
	Code: "resolve.records.nodata", Severity: diag.Info, Ref: "RFC 2308 section 2.2",
	Title: "No record of this type", Requirement: "The name has records of the type",
	Advice: "Add a record of this type if there should be one.",
	When:   func(e *evidence) bool { return denied(e) && succeeded(e) && complete(e) },
	Fails: func(e *evidence) rule.Failures {
		owner := e.request.Name.String()
		if aliased(e) {
			owner = nameText(e.chain[len(e.chain)-1].Target)
		}
		return rule.FailIf(!found(e) && loopOf(e) == "", "%s exists, but has no %s record.", owner, e.request.Type)
	},
}, {
	Code: "resolve.cname.dangling", Severity: diag.Warning, Ref: "RFC 1034 section 3.6.2",
	Title: "CNAME points to a name that does not exist", Requirement: "The target of the CNAME exists",
	Advice: "Remove the CNAME record or point it to an existing name: " +
		"anyone who registers the target takes over this name.",
	When: func(e *evidence) bool { return denied(e) && aliased(e) },
	Fails: func(e *evidence) rule.Failures {
		last := nameText(e.chain[len(e.chain)-1].Target)
		return rule.FailIf(e.reply.Rcode == dns.RcodeNameError, "The CNAME target %s does not exist (NXDOMAIN).", last).
			About(last)
	},
}, {
	Code: "resolve.cname.loop", Severity: diag.Error, Ref: "RFC 1034 section 3.6.2",
	Title: "CNAME loop", Requirement: "The CNAME chain ends",
	Advice: "Point one of the CNAME records to a name that is not an alias.",
	When:   func(e *evidence) bool { return aliased(e) || loopOf(e) != "" },
	Fails: func(e *evidence) rule.Failures {
		again := loopOf(e)
		return rule.FailIf(again != "", "The CNAME chain leads back to %s.", again).About(again)
	},
}, {
	Code: "resolve.cname.unfollowed", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1034 section 4.3.2",
	Title: "CNAME chain not followed to its end", Requirement: "The CNAME chain is followed to its end",
	Advice: "Resolve the target of the last CNAME record by itself.", When: aliased,
	Fails: func(e *evidence) rule.Failures {
		why, last := unfollowed(e), nameText(e.chain[len(e.chain)-1].Target)
		return rule.FailIf(why != "", "The records of %s are not known: %s.", last, why).About(last)
	},
}, {
	Code: "resolve.cname.long", Severity: diag.Warning, Ref: "RFC 1034 section 5.2.2",
	Title: "CNAME chain too long for some resolvers", Requirement: "The CNAME chain is short enough for every resolver",
	Advice: "Point the first CNAME record directly to the last name of the chain.",
	When:   func(e *evidence) bool { return aliased(e) && loopOf(e) == "" },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.chain) > longChain, "The chain has %d CNAME records. Some resolvers follow only %d.",
			len(e.chain), longChain)
	},
}, {
	Code: "resolve.address.private", Severity: diag.Warning, Ref: "RFC 1918 section 5, RFC 6890 section 2.2.2",
	Title: "Address not reachable from the Internet", Requirement: "The addresses are reachable from the Internet",
	Advice: "Publish private addresses in an internal zone only. Elsewhere they lead to other hosts, or nowhere.",
	When:   hasAddresses, Fails: privateAddresses,
}, {
	Code: "resolve.reply.truncated", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 7766 section 5",
	Title: "Reply truncated", Requirement: "The reply is complete",
	Advice: "Allow DNS over TCP to the server: replies of this size need it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.reply.Truncated, "The reply has the TC flag, over TCP too, so records may be missing from it.")
	},
}, {
	Code: "resolve.reply.referral", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1034 section 4.3.1",
	Title: "Server refers to other name servers", Requirement: "The server answers and does not refer to others",
	Advice: "Ask one of the name servers that the server refers to, or a resolver.", When: succeeded,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!resolved(e) && refers(e), "The server does not answer for %s itself. It refers to %s.",
			e.request.Name, referral(e))
	},
}, {
	Code: "resolve.reply.norecursion", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1034 section 4.3.1, RFC 2308 section 2.2",
	Title: "Server has no answer without recursion", Requirement: "The server has an answer without recursion",
	Advice: "Ask with recursion desired: the server has not cached the answer, or is not responsible for the name.",
	When:   func(e *evidence) bool { return succeeded(e) && !e.request.recursive() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!resolved(e) && !refers(e), "The reply about %s %s is empty, and is not authoritative.",
			e.request.Name, e.request.Type)
	},
}, {
	Code: "resolve.reply.filtered", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 8914 sections 4.16 to 4.18",
	Title: "Resolver filters the name", Requirement: "The resolver does not filter the name",
	Advice: "Ask another resolver, or the authoritative servers: this one hides what the zone holds.", When: known,
	Fails: func(e *evidence) rule.Failures {
		why := dnsmsg.Filtered(e.reply)
		return rule.FailIf(why != "", "The resolver answers by a policy of its own: %s.", why)
	},
}, {
	Code: "resolve.reply.explained", Severity: diag.Info, Ref: "RFC 8914 section 3",
	Title: "Resolver added an extended error", Requirement: "The resolver added no extended error",
	Advice: "Read the explanation: it may say that the answer is stale, or was filtered.", When: denied,
	Fails: explanations,
}}

// loopOf returns the name to which the aliases come back, or nothing.
func loopOf(e *evidence) string {
	if found(e) {
		return ""
	}
	end := dns.CanonicalName(e.request.Name.FQDN())
	seen := []string{end}
	for _, alias := range e.chain {
		end = dns.CanonicalName(alias.Target)
		seen = append(seen, end)
	}
	for _, rr := range e.reply.Answer {
		alias, ok := rr.(*dns.CNAME)
		if !ok || dns.CanonicalName(alias.Hdr.Name) != end {
			continue
		}
		if target := dns.CanonicalName(alias.Target); slices.Contains(seen, target) {
			return nameText(target)
		}
	}
	return ""
}

func hasAddresses(e *evidence) bool {
	return found(e) && (e.request.Type == Type(dns.TypeA) || e.request.Type == Type(dns.TypeAAAA))
}

func privateAddresses(e *evidence) rule.Failures {
	return rule.FailEach(e.records, func(rr dns.RR) rule.Failures {
		ip := resolver.AddressIn(rr)
		purpose := purposeOf(ip)
		return rule.FailIf(purpose != "" && purpose != forDocumentation, "%s is %s.", ip, purpose).About(ip.String())
	}).Joined()
}

// explanations lists the extended errors of a reply that is no failure, such as that it is stale or
// was filtered (RFC 8914 section 4).
func explanations(e *evidence) rule.Failures {
	return rule.FailEach(dnsmsg.ExtendedErrors(e.reply), func(x dns.EDNS0_EDE) rule.Failures {
		return rule.Fail("The resolver added: %s.", dnsmsg.ExtendedText(x))
	}).Joined()
}

// texts are the headlines of a lookup where the gravest finding does not say it.
var texts = rule.Texts{
	"valid": {Headline: "Records found", Sub: "The server returned the records that were asked for."},
	"resolve.records.nodata": {
		Headline: "The name exists, but has no record of this type",
		Sub:      "That is an answer, not a failure. Query other types, or add a record of this type.",
	},
}

var reverseTexts = rule.Texts{
	"valid": {Headline: "Reverse DNS is set up", Sub: "The address has a PTR record."},
}
