package registry

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// The days that the rules count. Registrars remind of expiry about a month and a week before (ICANN
// Expired Registration Recovery Policy, section 2.1); what is younger than a month is what most frauds
// use.
const (
	expirySoon = 30
	young      = 30
)

func isKnown(e *domainEvidence) bool      { return e.outcome.conclusive() }
func isRegistered(e *domainEvidence) bool { return e.outcome == found }

// domainRules are those of a domain's registration.
var domainRules = diag.Rules[*domainEvidence]{
	{
		Code: "rdap.registry.limited", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "The registry lets us ask",
		Ref:         "RFC 7480 section 5.5",
		Advice:      "Ask again later: nothing is known of the registration, not even whether there is one.",
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.outcome == limited, "It refused to answer: %s.", e.excuse())
		},
	},
	{
		Code: "rdap.registry.unreadable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "The registry gives an answer that can be read",
		Advice:      "Look the domain up on the web page of the registry: nothing is known of the registration.",
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.outcome == unreadable || e.outcome == unanswered, "What was learned: %s.", e.excuse())
		},
	},
	{
		Code: "rdap.domain.unregistered", Severity: diag.Warning, StateIfFailed: diag.Missing,
		Requirement: "The domain is registered",
		Ref:         "RFC 7480 section 5.3",
		Advice:      "Register it before somebody else does, if it is meant to be yours.",
		When:        func(e *domainEvidence) bool { return e.outcome == found || e.outcome == absent },
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.outcome == absent, "The registry says that there is no registration of %s.", e.name)
		},
	},
	{
		Code: "rdap.domain.reserved", Severity: diag.Info, StateIfFailed: diag.Missing,
		Requirement: "The domain is not set aside by the registry",
		When:        isKnown,
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.outcome == reserved, "The registry says that %s cannot be registered.", e.name)
		},
	},
	{
		Code: "rdap.domain.suffix", Severity: diag.Info,
		Requirement: "The name can be registered by anybody",
		Ref:         "RFC 9499 section 2",
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.isSuffix, "%s is a public suffix, under which others register their names.", e.name)
		},
	},
	{
		Code: "rdap.protocol.whois", Severity: diag.Info,
		Requirement: "The registry answers over RDAP",
		Ref:         "RFC 9224 section 4",
		When:        isKnown,
		Fails: func(e *domainEvidence) diag.Failures {
			switch {
			case e.protocol == RDAP:
				return nil
			case len(e.services) == 0:
				return diag.Fail("No RDAP service is known for %s, so WHOIS was asked, whose answers have no fixed form.", e.name)
			default:
				return diag.Fail("The RDAP service failed, so WHOIS was asked: %s.", e.rdap.complaint())
			}
		},
	},
	{
		Code: "rdap.answer.malformed", Severity: diag.Info,
		Requirement: "The answers keep to the standard",
		Ref:         "RFC 9083 section 4, RFC 7095 section 3",
		When:        func(e *domainEvidence) bool { return isRegistered(e) && e.protocol == RDAP },
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.facts.faults > 0, "%d parts of them could not be read, and were left out.", e.facts.faults)
		},
	},
	{
		Code: "rdap.registrar.unanswered", Severity: diag.Info, StateIfFailed: diag.Unknown,
		Requirement: "The registrar answers",
		Ref:         "RFC 9083 section 4.2",
		When:        func(e *domainEvidence) bool { return e.registrar.url != "" },
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.registrar.outcome != found, "What it knows is missing: %s.", e.registrar.complaint())
		},
	},
	{
		Code: "rdap.registrar.abuse.missing", Severity: diag.Info,
		Requirement: "The registrar can be told of abuse",
		Ref:         "ICANN Registrar Accreditation Agreement section 3.18",
		When:        func(e *domainEvidence) bool { return isRegistered(e) && e.facts.registrar.IANAID != "" },
		Fails: func(e *domainEvidence) diag.Failures {
			r := e.facts.registrar
			return diag.FailIf(r.AbuseEmail == "" && r.AbusePhone == "", "No abuse contact of %s is given.", r.Name)
		},
	},
	{
		Code: "rdap.expiry.passed", Severity: diag.Error,
		Requirement: "The registration is in force",
		Ref:         "RFC 9083 section 4.5",
		Advice:      "Renew it at the registrar at once: after a grace of some weeks anybody may register it.",
		When:        hasExpiry,
		Fails: func(e *domainEvidence) diag.Failures {
			left := e.facts.dates.ExpiresAt.Sub(e.now)
			return diag.FailIf(left <= 0, "It ended on %s.", e.facts.dates.ExpiresAt.Format(time.DateOnly))
		},
	},
	{
		Code: "rdap.expiry.soon", Severity: diag.Warning,
		Requirement: "The registration does not end within 30 days",
		Ref:         "RFC 9083 section 4.5",
		Advice:      "Renew it at the registrar, or see to it that it is renewed automatically.",
		When:        func(e *domainEvidence) bool { return hasExpiry(e) && e.facts.dates.ExpiresAt.After(e.now) },
		Fails: func(e *domainEvidence) diag.Failures {
			left := days(e.facts.dates.ExpiresAt.Sub(e.now))
			return diag.FailIf(left < expirySoon, "It ends on %s, in %d days.",
				e.facts.dates.ExpiresAt.Format(time.DateOnly), left)
		},
	},
	{
		Code: "rdap.expiry.unpublished", Severity: diag.Info,
		Requirement: "The registry says when the registration ends",
		When:        isRegistered,
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(e.facts.dates.ExpiresAt == nil, "No date is given; some registries publish none.")
		},
	},
	{
		Code: "rdap.age.young", Severity: diag.Info,
		Requirement: "The registration is older than 30 days",
		When:        func(e *domainEvidence) bool { return isRegistered(e) && e.facts.dates.CreatedAt != nil },
		Fails: func(e *domainEvidence) diag.Failures {
			age := days(e.now.Sub(*e.facts.dates.CreatedAt))
			return diag.FailIf(age < young, "It is %d days old; receivers of mail distrust such domains.", max(0, age))
		},
	},
	{
		Code: "rdap.status.hold", Severity: diag.Critical,
		Requirement: "The domain is in the DNS",
		Ref:         "RFC 5731 section 2.3",
		Advice:      "Ask the registrar why, and what it wants: nothing under the domain works until the hold is lifted.",
		When:        hasStatuses,
		Fails:       withStatus("clientHold", "serverHold", "on hold", "suspended", "not delegated"),
	},
	{
		Code: "rdap.status.deletion", Severity: diag.Critical,
		Requirement: "The domain is not about to be deleted",
		Ref:         "RFC 3915 section 3.1",
		Advice:      "Ask the registrar to restore it at once. Once its deletion is pending it cannot.",
		When:        hasStatuses,
		Fails:       withStatus("redemptionPeriod", "pendingDelete", "pendingRestore", "quarantine", "expired"),
	},
	{
		Code: "rdap.status.transfer", Severity: diag.Warning,
		Requirement: "No transfer to another registrar is under way",
		Ref:         "RFC 5731 section 2.3",
		Advice:      "If you did not ask for it, have your registrar reject it now: after some days it is done.",
		When:        hasStatuses,
		Fails:       withStatus("pendingTransfer"),
	},
	{
		Code: "rdap.lock.missing", Severity: diag.Warning,
		Requirement: "The domain is locked against transfers",
		Ref:         "RFC 5731 section 2.3",
		Advice:      "Switch on the transfer lock at the registrar.",
		When:        speaksEPP,
		Fails: func(e *domainEvidence) diag.Failures {
			for _, s := range explainAll(e.facts.statuses) {
				if strings.HasSuffix(letters(s.Code), "transferprohibited") || s.Code == "locked" ||
					s.Code == "pendingTransfer" {
					return nil
				}
			}
			return diag.Fail("Nothing keeps it from being transferred to another registrar.")
		},
	},
	{
		Code: "rdap.nameservers.missing", Severity: diag.Error,
		Requirement: "The registry has name servers of the domain",
		Ref:         "RFC 1034 section 4.2.2",
		Advice:      "Set name servers at the registrar: without them nothing under the domain works.",
		When: func(e *domainEvidence) bool {
			return isRegistered(e) && (e.facts.nameserversKnown || hasInactive(e))
		},
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(len(e.facts.nameservers) == 0, "It has none.")
		},
	},
	{
		Code: "rdap.nameservers.single", Severity: diag.Warning,
		Requirement: "The domain has two name servers or more",
		Ref:         "RFC 1034 section 4.1, RFC 2182 section 5",
		Advice:      "Add a name server in another network: if the only one fails, the domain is gone.",
		When:        func(e *domainEvidence) bool { return isRegistered(e) && len(e.facts.nameservers) > 0 },
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(len(e.facts.nameservers) == 1, "There is one only: %s.", e.facts.nameservers[0].Name)
		},
	},
	{
		Code: "rdap.dnssec.unsigned", Severity: diag.Info,
		Requirement: "The registry has keys of the domain",
		Ref:         "RFC 9364 section 1",
		Advice:      "Sign the zone, and give the registrar its DS record: then answers cannot be forged.",
		When:        func(e *domainEvidence) bool { return isRegistered(e) && e.facts.signedKnown },
		Fails: func(e *domainEvidence) diag.Failures {
			return diag.FailIf(!e.facts.signed, "The delegation is not signed.")
		},
	},
}

func hasExpiry(e *domainEvidence) bool   { return isRegistered(e) && e.facts.dates.ExpiresAt != nil }
func hasStatuses(e *domainEvidence) bool { return isRegistered(e) && len(e.facts.statuses) > 0 }
func hasInactive(e *domainEvidence) bool { return slices.ContainsFunc(e.facts.statuses, isInactive) }
func isInactive(status string) bool      { return strings.EqualFold(status, "inactive") }

// speaksEPP reports whether the statuses are those of EPP, in which the lack of a lock means something.
// "active" alone may be the word of a registry that publishes no locks.
func speaksEPP(e *domainEvidence) bool {
	return isRegistered(e) && slices.ContainsFunc(explainAll(e.facts.statuses), func(s Status) bool {
		return s.Code == "ok" || strings.HasPrefix(s.Code, "client") || strings.HasPrefix(s.Code, "server") ||
			strings.HasSuffix(s.Code, "Period")
	})
}

// withStatus returns a test that fails for each of some statuses.
func withStatus(codes ...string) func(*domainEvidence) diag.Failures {
	return func(e *domainEvidence) diag.Failures {
		var failures diag.Failures
		for _, s := range explainAll(e.facts.statuses) {
			if slices.Contains(codes, s.Code) {
				failures = append(failures, diag.Failure{Detail: s.Code + ": " + s.Meaning, Target: s.Code})
			}
		}
		return failures
	}
}

// complaint says what is wrong with an answer.
func (a rdapAnswer) complaint() string {
	if a.reason == "" {
		return a.url + ": it says that there is none"
	}
	return a.url + ": " + a.reason
}

// excuse says why nothing is known.
func (e *domainEvidence) excuse() string {
	var list []string
	if e.rdap.url != "" {
		list = append(list, e.rdap.complaint())
	}
	return strings.Join(append(list, excuses(e.whois)...), "; ")
}

// excuses lists what WHOIS servers said in place of an answer.
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
		if limitedPhrase.MatchString(strings.ToLower(line)) {
			return clip(line, maxPhrase)
		}
		if begin == "" {
			begin = line
		}
	}
	return clip(begin, maxPhrase)
}
