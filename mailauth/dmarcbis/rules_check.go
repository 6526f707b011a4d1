package dmarcbis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

var checkRules = slices.Concat(discoveryRules.With(rule.Rule[*evidence]{
	Category: factorDiscovery, Reads: []rule.Source{fromRecord, fromExistence}}),
	slices.Concat(recordRules.With(rule.Rule[*evidence]{Category: factorPolicy}),
		obsoleteRules.With(rule.Rule[*evidence]{Category: factorObsolete, DependsOn: afterUsable})).
		With(rule.Rule[*evidence]{When: hasRecord, Reads: []rule.Source{fromRecord}}), suffixRules.Reading(fromRecord),
	legacyRulesTable.With(rule.Rule[*evidence]{
		Category: factorLegacy, When: hasRecord, DependsOn: afterUsable, Reads: []rule.Source{fromRecord}}))

var (
	afterRecord  = []diag.Code{"dmarcbis.record.unknown"}
	afterRecords = []diag.Code{"dmarcbis.record.unknown", "dmarcbis.record.multiple", "dmarcbis.record.stray"}
	missingReads = []rule.Source{fromRecord, fromExistence, fromMail}
)

func hasRecord(e *evidence) bool { return e.record() != nil }

// nonexistent reports whether the domain is known not to exist. Some servers deny names above others.
func (e *evidence) nonexistent() bool {
	exists, known := e.mail.Exists()
	return known && !exists && !e.Walk.Steps[0].Answer.Exists()
}

// leaveSuffix is the advice where a public suffix has no record: only its operator can publish one there.
const leaveSuffix = "Leave it unless you operate this public suffix. Its record declares psd=y, and applies to every " +
	"domain below it that has none of its own: begin with p=none and a mailbox for reports."

var discoveryRules = rule.Rules[*evidence]{reach.NoDomain(rule.Rule[*evidence]{
	Code: "dmarcbis.domain.nxdomain", Reads: []rule.Source{fromExistence}, Ref: "RFC 9989 section 3.2.13",
	Requirement: "The DNS does not answer NXDOMAIN for the domain",
	Fails: func(e *evidence) rule.Failures {
		if !e.nonexistent() {
			return nil
		}
		if r := e.record(); r != nil && e.newer.Usable {
			return rule.Fail("The DNS answers NXDOMAIN for %s. Mail from it that fails DMARC gets the policy %s of %s.",
				e.domain, e.newer.Applied.Nonexistent, e.Tree.PolicyDomain())
		}
		return rule.Fail("The DNS answers NXDOMAIN for %s.", e.domain)
	},
}), {
	Code: "dmarcbis.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9989 section 4.10.1",
	Title:       "DMARC record could not be looked up",
	Requirement: "The name servers answer for every name that decides about the policy",
	Advice:      "Check the name servers of these names: until they answer, receivers cannot tell which policy applies.",
	When:        func(e *evidence) bool { return !e.nonexistent() },
	Fails: func(e *evidence) rule.Failures {
		if e.Tree.PolicyErr == nil {
			return nil
		}
		presumed := ""
		if s := e.Tree.Presumed; s != nil {
			presumed = fmt.Sprintf(" According to the answers that came, the record of %s applies.", s.Domain)
		}
		return e.failedSteps("The TXT lookup of %s failed: %s." + presumed)
	},
}, {
	Code: "dmarcbis.organizational.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, DependsOn: afterRecord,
	Ref:         "RFC 9989 section 4.10.2",
	Title:       "Organizational domain is not known for certain",
	Requirement: "The name servers answer for every name of the tree walk",
	Advice:      "Try again later. The policy is certain; which other domains the domain is aligned with is not.",
	When:        hasRecord, Fails: func(e *evidence) rule.Failures {
		return e.failedSteps("The TXT lookup of %s failed: %s. A record there could change the organizational domain, " +
			"which is " + e.Tree.Organizational + " by what is known.")
	},
}, {
	Code: "dmarcbis.psl.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, DependsOn: afterRecord,
	Ref:         "RFC 7489 section 6.6.3",
	Title:       "What receivers of RFC 7489 find is not known",
	Requirement: "The name servers answer for the organizational domain of the public suffix list",
	Advice:      "Try again later, once the name servers of the domain answer.",
	When:        hasRecord, Fails: func(e *evidence) rule.Failures {
		if e.List.PolicyErr == nil {
			return nil
		}
		return rule.Fail("The TXT lookup of _dmarc.%s failed: %s.", e.List.Organizational, diag.Reason(e.List.PolicyErr))
	},
}, {
	Code: "dmarcbis.existence.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, DependsOn: afterRecord,
	Ref:   "RFC 9989 appendix A.4",
	Title: "Whether the domain exists is not known", Requirement: "The name servers say whether the domain exists",
	Advice: "Check the name servers of the domain: whether sp or np applies depends on their answer.",
	When:   func(e *evidence) bool { return hasRecord(e) && e.Tree.Origin != policy.Own },
	Fails: func(e *evidence) rule.Failures {
		if _, known := e.mail.Exists(); !known {
			return rule.Fail("The MX lookup of %s failed: %s.", e.domain, diag.Reason(e.MX.Err()))
		}
		return nil
	},
}, {
	Code: "dmarcbis.mail.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, DependsOn: afterRecord,
	Ref:         "RFC 5321 section 5.1",
	Title:       "Whether the domain receives mail could not be looked up",
	Requirement: "The name servers say whether the domain receives mail",
	Advice:      "Check the name servers of the domain: what a missing record means depends on whether it has mail.",
	When:        func(e *evidence) bool { return !hasRecord(e) && !e.nonexistent() },
	Fails: func(e *evidence) rule.Failures {
		why := e.mail.Unknown()
		return rule.FailIf(why != "", "There is no DMARC record that applies, and what that means is not known: %s.", why)
	},
}, {
	Code: "dmarcbis.record.multiple", Severity: diag.Critical, Weight: 20, DependsOn: afterRecord,
	Ref:         "RFC 9989 section 4.10",
	Title:       "More than one DMARC record, so that none applies",
	Requirement: "The DMARC record is the only one at its name",
	Advice:      "Remove all records but one: with several, receivers use none of them.",
	Fails: func(e *evidence) rule.Failures {
		if hasRecord(e) {
			return nil
		}
		return rule.FailEach(e.Walk.Steps, multiple)
	},
}, {
	Code: "dmarcbis.record.stray", Severity: diag.Critical, Weight: 20, DependsOn: afterRecord,
	Ref:   "RFC 9989 section 4.7",
	Title: "Receivers do not recognize the DMARC record", Requirement: "Receivers recognize the DMARC record",
	Advice: "Begin the record with exactly v=DMARC1; in this letter case.",
	Fails: func(e *evidence) rule.Failures {
		if hasRecord(e) {
			return nil
		}
		return rule.FailEach(e.Walk.Steps, stray)
	},
}, {
	Code: "dmarcbis.record.discarded", Severity: diag.Error, Weight: 10, DependsOn: afterRecord,
	Ref:         "RFC 9989 section 4.10",
	Title:       "Receivers ignore the nearer DMARC records and apply a parent's",
	Requirement: "Receivers discard nothing that is published nearer to the domain than the record that applies",
	Advice:      "Leave exactly one record at the name, which begins with v=DMARC1; or remove all of them.",
	When:        hasRecord, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.Walk.Steps, func(s policy.Step) rule.Failures {
			if len(s.Domain) <= len(e.Tree.PolicyDomain()) {
				return nil
			}
			return append(multiple(s), stray(s)...)
		}).Joined()
	},
}, {
	Code: "dmarcbis.record.alias", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 20, DependsOn: afterRecord,
	Ref:   "RFC 1034 section 3.6.2",
	Title: "CNAME at _dmarc leads to no DMARC record", Requirement: "An alias at _dmarc leads to a DMARC record",
	Advice: "Have the record published at the target of the CNAME, or replace the CNAME with a TXT record: a name " +
		"cannot have both.",
	When: func(e *evidence) bool {
		own := &e.Walk.Steps[0]
		return len(own.Answer.Aliases) > 0 && (own.DanglingAlias() != "" && !hasRecord(e) || len(own.Found.Records) > 0)
	},
	Fails: func(e *evidence) rule.Failures {
		alias := e.Walk.Steps[0].DanglingAlias()
		return rule.FailIf(alias != "", "%s", alias)
	},
}, {
	Code: "dmarcbis.record.missing", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 20, Reads: missingReads,
	DependsOn: afterRecords, Ref: "RFC 9989 section 4.10.1",
	Title: "No DMARC record", Requirement: "The domain has a DMARC record, or a parent domain has one that applies",
	Advice: "Publish a record with p=none and an address of yours for reports. At the organizational domain it covers " +
		"all subdomains. Raise the policy once the reports show that all legitimate mail passes.",
	When: func(e *evidence) bool { return !e.suffix() && (hasRecord(e) || e.fresh() && e.receives()) },
	Fails: func(e *evidence) rule.Failures {
		return e.absent("v=DMARC1; p=none; rua=mailto:dmarc-reports@" + e.List.Organizational)
	},
}, {
	Code: "dmarcbis.record.missing.no_mail", Severity: diag.Warning, StateIfFailed: diag.Missing, Reads: missingReads,
	DependsOn: afterRecords, Ref: "RFC 9989 section 4.10.1",
	Title:       "No DMARC record for a domain that receives no mail",
	Requirement: "The domain has a DMARC record, although it receives no mail",
	Advice: "Check that nothing sends mail in the name of the domain. Then publish v=DMARC1; p=reject at the domain " +
		"itself, so that receivers refuse forged mail.",
	When:  func(e *evidence) bool { return !e.suffix() && (hasRecord(e) || e.fresh() && !e.receives()) },
	Fails: func(e *evidence) rule.Failures { return e.absent("v=DMARC1; p=reject") },
}, {
	Code: "dmarcbis.record.missing.suffix", Severity: diag.Warning, StateIfFailed: diag.Missing, NoScore: true,
	Reads: missingReads, DependsOn: afterRecords,
	Ref:   "RFC 9989 section 5.2",
	Title: "No DMARC record on a public suffix", Requirement: "The public suffix has a DMARC record",
	Advice: leaveSuffix,
	When: func(e *evidence) bool {
		return e.suffix() && (hasRecord(e) || e.fresh() && !e.receives())
	},
	Fails: func(e *evidence) rule.Failures { return e.absent("") },
}, {
	Code: "dmarcbis.record.missing.suffix.mail", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 20,
	Reads: missingReads, DependsOn: afterRecords,
	Ref:         "RFC 9989 section 5.2",
	Title:       "No DMARC record on a public suffix that receives mail",
	Requirement: "The public suffix, which receives mail, has a DMARC record",
	Advice:      leaveSuffix,
	When: func(e *evidence) bool {
		return e.suffix() && e.receives() && (hasRecord(e) || e.fresh())
	},
	Fails: func(e *evidence) rule.Failures { return e.absent("") },
}}

func multiple(s policy.Step) rule.Failures {
	n := len(s.Found.Records)
	return rule.FailIf(n > 1, "There are %d records at %s, and receivers discard them all.", n, s.Name).About(s.Name)
}

func stray(s policy.Step) rule.Failures {
	if len(s.Found.Strays) == 0 || len(s.Found.Records) > 0 {
		return nil
	}
	first := s.Found.Strays[0]
	return rule.Fail("Receivers ignore the text %q at %s: %s.", phrase.Quote(first.Text), s.Name, first.Why).About(s.Name)
}

func (e *evidence) failedSteps(format string) rule.Failures {
	return rule.FailEach(e.Walk.Steps, func(s policy.Step) rule.Failures {
		if s.Outcome != policy.Failed {
			return nil
		}
		return rule.Fail(format, s.Name, diag.Reason(s.Err())).About(s.Name).Because(s.Err())
	})
}

func (e *evidence) suffix() bool { return policy.IsPublicSuffix(e.domain.String()) }

// fresh reports whether a record can be published at the domain without removing an alias first.
func (e *evidence) fresh() bool { return e.Walk.Steps[0].DanglingAlias() == "" }

func (e *evidence) receives() bool { yes, _ := e.mail.Receives(); return yes }

func (e *evidence) absent(suggested string) rule.Failures {
	if hasRecord(e) {
		return nil
	}
	names := e.Walk.Queries()
	detail := "There is no DMARC record at " + strings.Join(names, ", ") + "."
	if len(names) > 1 {
		detail = fmt.Sprintf("There is no DMARC record at %s, and no parent domain has one that applies (%s).", names[0],
			strings.Join(names[1:], ", "))
	}
	f := rule.Fail("%s", detail)
	// Without psd=y the record of a public suffix would apply to all names below it, and below an organizational
	// domain the record belongs at that: a lone one makes the tree walk and the public suffix list differ.
	if name := e.domain.String(); e.suffix() || policy.PublicSuffixOrganizational(name) != name {
		return f
	}
	return f.Suggesting(suggested)
}

var recordRules = rule.Rules[*evidence]{{
	Code: "dmarcbis.record.unusable", Severity: diag.Error, Weight: 20, DependsOn: afterRecord,
	Ref:   "RFC 9989 section 4.10.1",
	Title: "Receivers cannot use the DMARC record", Requirement: "Receivers can use the DMARC record",
	Advice: "Correct the record. Begin with p=none and rua, and raise the policy once the reports show that all " +
		"legitimate mail passes.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.newer.Usable, "Receivers apply no DMARC to mail from %s: %s.", e.domain, e.newer.Reason).
			Suggesting(e.corrected())
	},
}, {
	Code: "dmarcbis.policy.invalid", Severity: diag.Error, Weight: 10,
	DependsOn: afterUsable, Ref: "RFC 9989 section 4.10.1",
	Title: "Policy cannot be read, and p=none is assumed", Requirement: "Every policy of the record can be read",
	Advice: "Check which policy was meant. Publish it once the aggregate reports show that all legitimate mail passes; " +
		"until then write what receivers do today.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.newer.Assumed && e.record().Has("p"), "Receivers act as if the record said only p=none: %s.",
			e.newer.Reason).Suggesting(e.migrated())
	},
}, {
	Code: "dmarcbis.policy.absent", Severity: diag.Warning, Weight: 5,
	DependsOn: afterUsable, Ref: "RFC 9989 section 4.7",
	Title: "No p, and p=none is assumed", Requirement: "The record has p",
	Advice: "Add the policy: without p, receivers of RFC 9989 assume p=none, and some others ignore the record.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.newer.Assumed && !e.record().Has("p"), "The record of %s has no p.", e.Tree.PolicyDomain()).
			Suggesting(e.migrated())
	},
}}

// corrected is the record of the domain itself as dmarc/lookup suggests it: one record has one correction.
func (e *evidence) corrected() string {
	if e.conversion() == nil {
		return ""
	}
	for _, r := range e.analysis.Recommendations {
		if r.SuggestedValue != "" {
			return r.SuggestedValue
		}
	}
	return ""
}

// migrated is the record that applies in the form of RFC 9989, if that changes it; only the owner of the domain can
// publish it.
func (e *evidence) migrated() string {
	c := e.conversion()
	if c == nil || !c.changed() || c.behavior == Stricter {
		return ""
	}
	return c.migrated
}

// conversion migrates the record of the domain itself; that of another domain is not the reader's to change, and one
// that is too long to be examined is left alone.
func (e *evidence) conversion() *conversion {
	if e.Tree.Origin != policy.Own || e.analysis == nil {
		return nil
	}
	return convertRecord(e.record().List.Text, e.domain)
}

var (
	factorDiscovery = rule.Category{Code: "discovery", Label: "Policy discovery"}
	factorPolicy    = rule.Category{Code: "policy", Label: "Policies"}
	factorObsolete  = rule.Category{Code: "obsolete", Label: "Obsolete tags"}
	factorSuffix    = rule.Category{Code: "psd", Label: "Public suffix declaration"}
	factorLegacy    = rule.Category{Code: "legacy", Label: "Receivers of RFC 7489"}
)

var texts = rule.Texts{
	"excellent": {Headline: "DMARC record is ready for RFC 9989",
		Sub: "Receivers of both standards find the record and use it as it was meant. Watch the aggregate reports."},
	"valid": {Headline: "DMARC record works under RFC 9989",
		Sub: "Receivers find the record and use it. The findings say what could be tidied up."},
	"dmarcbis.record.missing.suffix": {Headline: "No DMARC record on a public suffix",
		Sub: "That is usual. A record here would apply to every domain below it that has none of its own."},
}
