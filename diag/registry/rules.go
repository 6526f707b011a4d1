package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// The thresholds of the rules. Registrars remind of expiry about a month and a week before (ICANN Expired
// Registration Recovery Policy, section 2.1); most domains used for fraud are younger than a month.
const (
	expirySoon = 30 * day
	expiryNow  = 7 * day
	young      = 30 // days
)

func isKnown(e *domainEvidence) bool      { return e.outcome.conclusive() }
func isRegistered(e *domainEvidence) bool { return e.outcome == found }

var domainRules = rule.Rules[*domainEvidence]{{
	Code: "rdap.registry.unreadable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 3912 section 2, RFC 9083 section 5.3",
	Title: "Registry's answer could not be read", Requirement: "The registry's answer can be read",
	Advice: "Look the domain up on the registry's website.",
	Fails: func(e *domainEvidence) rule.Failures {
		return rule.FailIf(e.outcome == unreadable, "Nothing is known about the registration: %s.", excuse(e.rdap, e.whois))
	},
}, {
	Code: "rdap.domain.unregistered", Severity: diag.Warning, StateIfFailed: diag.Missing, Ref: "RFC 7480 section 5.3",
	Title: "Domain not registered", Requirement: "The domain is registered",
	Advice: "Register the domain before someone else does, if it is meant to be yours.",
	When:   func(e *domainEvidence) bool { return e.outcome == found || e.outcome == absent },
	Fails: func(e *domainEvidence) rule.Failures {
		return rule.FailIf(e.outcome == absent, "The registry says that %s is not registered.", e.name)
	},
}, {
	Code: "rdap.domain.reserved", Severity: diag.Info, StateIfFailed: diag.Missing, Ref: "RFC 5731 section 2.3",
	Title: "Domain reserved by the registry", Requirement: "The domain is not reserved by the registry",
	Advice: "Choose another name, or ask the registry under what terms it is released.", When: isKnown,
	Fails: func(e *domainEvidence) rule.Failures {
		if e.outcome != reserved {
			return nil
		}
		for _, a := range e.whois {
			if why := reservedBy(a.text); why != "" {
				return rule.Fail("The registry says that %s cannot be registered. %s answers %q.",
					e.name, a.host, strings.TrimRight(why, "."))
			}
		}
		return rule.Fail("The registry says that %s cannot be registered.", e.name)
	},
}, {
	Code: "rdap.domain.suffix", Severity: diag.Info, Ref: "RFC 9499 section 9",
	Title: "Name is a public suffix", Requirement: "The name is not a public suffix",
	Advice: "Look up a domain registered under it.",
	Fails: func(e *domainEvidence) rule.Failures {
		return rule.FailIf(e.isSuffix, "%s is a public suffix: others register their names under it.", e.name)
	},
}, {
	Code: "rdap.registrar.unanswered", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 9083 section 4.2",
	Title: "Registrar did not answer", Requirement: "The registrar answered",
	Advice: "Try again later, or look the domain up on the registrar's website.",
	When:   func(e *domainEvidence) bool { return e.registrar.url != "" },
	Fails: func(e *domainEvidence) rule.Failures {
		return rule.FailIf(e.registrar.outcome != found, "The registrar's own data is missing: %s.", e.registrar.complaint())
	},
}, {
	Code: "rdap.expiry.passed", Severity: diag.Critical, Ref: "RFC 9083 section 4.5",
	Title: "Registration expired", Requirement: "The registration has not expired",
	Advice: "Renew the domain at the registrar now: after a grace period of some weeks, anyone may register it.",
	When:   func(e *domainEvidence) bool { return hasExpiry(e) || e.remains() && e.hasStatus("expired") },
	Fails: func(e *domainEvidence) rule.Failures {
		if hasExpiry(e) && !e.facts.dates.ExpiresAt.After(e.now) {
			return rule.Fail("The registration expired on %s.", e.facts.dates.ExpiresAt.Format(time.DateOnly))
		}
		return rule.FailIf(e.hasStatus("expired"), "The registry says that the registration has expired.")
	},
}, {
	Code: "rdap.expiry.expires_now", Severity: diag.Error, Ref: "RFC 9083 section 4.5",
	Title: "Registration expires within 7 days", Requirement: "The registration does not expire within 7 days",
	Advice:    "Renew the domain at the registrar now: when it expires, web and mail stop working.",
	DependsOn: []diag.Code{"rdap.expiry.passed"}, When: hasExpiry, Fails: expiring(0, expiryNow),
}, {
	Code: "rdap.expiry.expiring", Severity: diag.Warning, Fact: reach.RegistrationEnds, Ref: "RFC 9083 section 4.5",
	Title: "Registration expires within 30 days", Requirement: "The registration does not expire within 30 days",
	Advice:    "Renew the domain at the registrar, or turn on automatic renewal there.",
	DependsOn: []diag.Code{"rdap.expiry.passed"}, When: hasExpiry, Fails: expiring(expiryNow, expirySoon),
}, {
	Code: "rdap.age.young", Severity: diag.Info, Ref: "RFC 9083 section 4.5",
	Title: "Domain registered less than 30 days ago", Requirement: "The domain was registered more than 30 days ago",
	Advice: "Warm the domain up: send little mail at first, and more as its reputation grows.",
	When:   func(e *domainEvidence) bool { return isRegistered(e) && !e.facts.dates.CreatedAt.IsZero() },
	Fails: func(e *domainEvidence) rule.Failures {
		age := days(e.now.Sub(e.facts.dates.CreatedAt))
		return rule.FailIf(
			age < young,
			"The domain was registered %s ago. Mail receivers distrust new domains.",
			phrase.Count(max(0, age), "day"),
		)
	},
}, {
	Code: "rdap.status.deletion", Severity: diag.Critical, Ref: "RFC 3915 section 3.1",
	Title: "Domain is being deleted", Requirement: "The domain is not being deleted",
	Advice: "Have the registrar restore the domain now if its status still allows that.",
	When:   hasStatuses, Fails: deletions,
}, {
	Code: "rdap.status.hold", Severity: diag.Critical, Ref: "RFC 5731 section 2.3",
	Title: "Domain on hold", Requirement: "The domain is not on hold",
	Advice: "Ask the registrar for the reason: the domain is not in the DNS until the hold is lifted.",
	When:   func(e *domainEvidence) bool { return hasStatuses(e) && e.deletion() != unrestorable }, Fails: holds,
}, {
	Code: "rdap.status.transfer", Severity: diag.Warning, Ref: "RFC 5731 section 2.3",
	Title: "Transfer to another registrar pending", Requirement: "No transfer to another registrar is pending",
	Advice: "Have your registrar reject the transfer now if you did not ask for it: it completes within days.",
	When:   hasStatuses, Fails: withStatus("pendingTransfer"),
}, {
	Code: "rdap.lock.missing", Severity: diag.Warning, Ref: "RFC 5731 section 2.3",
	Title: "No transfer lock", Requirement: "The domain is locked against transfers",
	Advice: "Turn on the transfer lock at the registrar.", When: speaksEPP,
	Fails: func(e *domainEvidence) rule.Failures {
		for _, s := range e.facts.explained() {
			if strings.HasSuffix(letters(s.Code), "transferprohibited") || s.Code == "locked" ||
				s.Code == "pendingTransfer" {
				return nil
			}
		}
		return rule.Fail("No status prevents the transfer of the domain to another registrar.")
	},
}, {
	Code: "rdap.nameservers.missing", Severity: diag.Error, Ref: "RFC 1034 section 4.2.2",
	Title: "No name servers", Requirement: "The domain has name servers",
	Advice: "Set name servers at the registrar: without them the domain does not resolve.",
	When: func(e *domainEvidence) bool {
		return e.remains() && (e.facts.nameserversKnown || e.hasStatus("inactive"))
	},
	Fails: func(e *domainEvidence) rule.Failures {
		return rule.FailIf(len(e.facts.nameservers) == 0, "The registry has no name servers for the domain.")
	},
}, {
	Code: "rdap.nameservers.single", Severity: diag.Warning, Ref: "RFC 1034 section 4.1, RFC 2182 section 5",
	Title: "Only one name server", Requirement: "The domain has at least two name servers",
	Advice: "Add a second name server in another network: if the only one fails, the domain does not resolve.",
	When:   func(e *domainEvidence) bool { return e.remains() && len(e.facts.nameservers) > 0 },
	Fails: func(e *domainEvidence) rule.Failures {
		return rule.FailIf(
			len(e.facts.nameservers) == 1,
			"The registry has only one name server for the domain: %s.",
			e.facts.nameservers[0].Name,
		)
	},
}}

// expiring returns a test that fails if the registration ends in more than one time from now, and in another at most.
func expiring(after, atMost time.Duration) func(*domainEvidence) rule.Failures {
	return func(e *domainEvidence) rule.Failures {
		left := e.facts.dates.ExpiresAt.Sub(e.now)
		if left <= after || left > atMost {
			return nil
		}
		return rule.Failures{{Due: e.facts.dates.ExpiresAt, Detail: fmt.Sprintf("The registration expires on %s, in %s.",
			e.facts.dates.ExpiresAt.Format(time.DateOnly), phrase.Count(days(left), "day"))}}
	}
}

func hasExpiry(e *domainEvidence) bool   { return e.remains() && !e.facts.dates.ExpiresAt.IsZero() }
func hasStatuses(e *domainEvidence) bool { return isRegistered(e) && len(e.facts.statuses) > 0 }

func (e *domainEvidence) hasStatus(codes ...string) bool {
	return hasStatus(e.facts.explained(), codes...)
}

// remains reports whether the domain is registered and not being deleted. Of one that is, nothing else can be changed.
func (e *domainEvidence) remains() bool { return isRegistered(e) && e.deletion() == undeleted }

// A deletion is how far the deletion of a domain has got (RFC 3915 section 3.1).
type deletion int

const (
	undeleted    deletion = 0
	restorable   deletion = 1 // in its redemption period, mostly with pendingDelete beside
	restoring    deletion = 2 // the registrar has asked for it
	unrestorable deletion = 3 // pendingDelete without any of these
)

func (e *domainEvidence) deletion() deletion {
	switch {
	case e.hasStatus("pendingRestore"):
		return restoring
	case e.hasStatus("redemptionPeriod", "quarantine"):
		return restorable
	case e.hasStatus("pendingDelete"):
		return unrestorable
	}
	return undeleted
}

// deletions says how far the deletion has got, and what can still be done.
func deletions(e *domainEvidence) rule.Failures {
	var codes []string
	for _, s := range e.facts.explained() {
		if slices.Contains([]string{"redemptionPeriod", "quarantine", "pendingRestore", "pendingDelete"}, s.Code) {
			codes = append(codes, s.Code)
		}
	}
	f := rule.Failure{Target: strings.Join(codes, " ")}
	status := strings.Join(codes, ", ")
	switch e.deletion() {
	case undeleted:
		return nil
	case restorable:
		f.Detail = fmt.Sprintf("%s was deleted, but its registrar can still restore it until its redemption period "+
			"ends, about 30 days after the deletion. Its status is %s.", e.name, status)
		f.Advice = "Have the registrar restore the domain now: after the redemption period anyone may register it."
	case restoring:
		f.Detail = fmt.Sprintf("%s was deleted, and its registrar has asked to restore it. Until the registry has the "+
			"registrar's report, the deletion is not revoked. Its status is %s.", e.name, status)
		f.Advice = "Have the registrar submit the restore report: without it the domain returns to its redemption period."
	case unrestorable:
		f.Detail = fmt.Sprintf("%s is about to be removed: its registrar can no longer restore it, and within days "+
			"anyone may register it. Its status is %s.", e.name, status)
		f.Advice = "Register the domain anew as soon as it is released, if you want to keep it."
	}
	return rule.Failures{f}
}

// holds lists the statuses by which the domain is out of the DNS, and says how they end where others tell.
func holds(e *domainEvidence) rule.Failures {
	failures := withStatus("clientHold", "serverHold", "on hold", "suspended", "not delegated")(e)
	for i := range failures {
		switch {
		case e.deletion() != undeleted:
			failures[i].Advice = "Have the registrar restore the domain first, and then lift the hold."
		case e.hasStatus("autoRenewPeriod") && e.hasStatus("clientHold"):
			failures[i].Advice = "Pay for the renewal at the registrar, which then lifts the hold."
		}
	}
	return failures
}

// speaksEPP reports whether the statuses are those of EPP, in which the lack of a lock means something.
// "active" alone may be the word of a registry that publishes no locks.
func speaksEPP(e *domainEvidence) bool {
	return e.remains() && slices.ContainsFunc(e.facts.explained(), func(s Status) bool {
		return s.Code == "ok" || strings.HasPrefix(s.Code, "client") || strings.HasPrefix(s.Code, "server") ||
			strings.HasSuffix(s.Code, "Period")
	})
}

// withStatus returns a test that fails for each of some statuses.
func withStatus(codes ...string) func(*domainEvidence) rule.Failures {
	return func(e *domainEvidence) rule.Failures {
		return rule.FailEach(e.facts.explained(), func(s Status) rule.Failures {
			return rule.FailIf(slices.Contains(codes, s.Code), "%s: %s", s.Code, s.Meaning).About(s.Code)
		}).Joined()
	}
}

func (a rdapAnswer) complaint() string {
	if a.reason == "" {
		return a.url + ": it says that there is none"
	}
	return a.url + ": " + a.reason
}

// excuse says why nothing is known.
func excuse(rdap rdapAnswer, whois []whoisAnswer) string {
	var list []string
	if rdap.url != "" {
		list = append(list, rdap.complaint())
	}
	return strings.Join(append(list, excuses(whois)...), "; ")
}

func excuses(answers []whoisAnswer) []string {
	var list []string
	for _, a := range answers {
		if a.err != nil {
			list = append(list, a.err.Error())
			continue
		}
		list = append(list, a.host+": "+telling(a.text))
	}
	return list
}

// telling returns the line of a text that says why there is no record, or else its first words.
func telling(text string) string {
	begin := ""
	for line := range someLines(text) {
		line = oneLine(strings.TrimLeft(line, "%#*>;- \t"))
		if limitedPhrase().MatchString(strings.ToLower(line)) {
			return clip(line, maxPhrase)
		}
		if begin == "" {
			begin = line
		}
	}
	return clip(begin, maxPhrase)
}

func held(e *ipEvidence) bool     { return e.asked() && e.outcome == found }
func answered(e *ipEvidence) bool { return e.purpose == nil && e.outcome.conclusive() }

// ipRules are those of an address.
var ipRules = rule.Rules[*ipEvidence]{{
	Code: "ipwhois.registry.unreadable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 3912 section 2, RFC 9083 section 5.4",
	Title: "No readable answer from the registry", Requirement: "The registry's answer can be read",
	Advice: "Look the address up on the registry's website.", When: (*ipEvidence).asked,
	Fails: func(e *ipEvidence) rule.Failures {
		silent := e.purpose != nil && !e.outcome.conclusive()
		return rule.FailIf(e.outcome == unreadable || silent, "Nothing is known about the holder of the address: %s.",
			excuse(e.rdap, e.whois))
	},
}, {
	Code: "ipwhois.address.special", Severity: diag.Info, Ref: "RFC 6890 section 2.2",
	Title: "Special-purpose address", Requirement: "The address is not a special-purpose one",
	Advice: "Ask the operator of the network: registries hold no data about such addresses.",
	Fails: func(e *ipEvidence) rule.Failures {
		if e.purpose == nil || e.asked() && e.outcome != absent {
			return nil
		}
		f := rule.Failure{Detail: fmt.Sprintf("The address belongs to %s, which %s reserves: %s.",
			e.block, e.purpose.RFC, e.purpose.Name)}
		if ip, ok := embeddedIPv4(e.block, e.ip.Addr); ok {
			f.Detail += fmt.Sprintf(" It stands for the IPv4 address %s.", ip)
			f.Advice = fmt.Sprintf("Look up %s instead: its holder is behind this address.", ip)
		}
		return rule.Failures{f}
	},
}, {
	Code: "ipwhois.address.service", Severity: diag.Info, Ref: "RFC 6890 section 2.2",
	Title: "Address of a special-purpose service", Requirement: "The address is not that of a special-purpose service",
	Advice: "Ask the operator of the network that answers near you: many networks announce the address, not only " +
		"that of its holder.",
	When: (*ipEvidence).asked,
	Fails: func(e *ipEvidence) rule.Failures {
		if e.purpose == nil || e.outcome == absent {
			return nil
		}
		holder := cmp.Or(e.facts.organization.Name, e.facts.organization.Handle)
		if holder != "" {
			holder = " It is registered to " + holder + "."
		}
		return rule.Fail("The address belongs to %s, which %s sets aside for a service: %s.%s", e.block, e.purpose.RFC,
			e.purpose.Name, holder)
	},
}, {
	Code: "ipwhois.network.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Ref: "RFC 7020 section 3",
	Title: "Address not allocated", Requirement: "The address is allocated",
	Advice: "Block it: traffic from an address that nobody holds is forged or misrouted.", When: answered,
	Fails: func(e *ipEvidence) rule.Failures {
		return rule.FailIf(e.outcome != found, "The registry says that the address is not allocated.")
	},
}, {
	Code: "ipwhois.abuse.missing", Severity: diag.Warning, Ref: "RFC 9083 section 10.2.4",
	Title: "No abuse contact", Requirement: "The network has an abuse contact",
	Advice: "Register an abuse contact at the registry if the network is yours.", When: held,
	Fails: func(e *ipEvidence) rule.Failures {
		a := e.facts.abuse
		return rule.FailIf(
			len(a.Emails)+len(a.Phones) == 0,
			"The registry lists no address or phone number for abuse reports.",
		)
	},
}}

// domainTexts are the headlines of a domain's registration where the gravest finding does not say it.
var domainTexts = rule.Texts{
	"valid": {
		Headline: "The domain is registered and in good standing",
		Sub:      "The registry reports nothing that requires action.",
	},
}

// ipTexts are those of an address.
var ipTexts = rule.Texts{
	"valid": {
		Headline: "The holder of the address is known",
		Sub:      "The registry names the network, its holder and where to report abuse.",
	},
	"ipwhois.address.special": {
		Headline: "A special-purpose address that nobody holds",
		Sub:      "A standard reserves it, and it has no single holder. Ask the operator of the network that uses it.",
	},
}
