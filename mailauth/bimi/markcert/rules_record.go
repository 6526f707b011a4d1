package markcert

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

const recordRef = "draft-brand-indicators-for-message-identification-14 section "

func asked(e *evidence) bool { return e.discovery != nil }

func recorded(e *evidence) bool { return e.applies != nil && e.applies.Record != nil }

var recordRules = diag.Rules[*evidence]{{
	Code: "markcert.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: recordRef + "7.2",
	Title: "BIMI record could not be looked up", Requirement: "The name servers answer for the BIMI record",
	Advice: "Check that every name server of the domain answers TXT queries, and try again.",
	When:   asked, Fails: func(e *evidence) diag.Failures {
		if e.unlearned == nil {
			return nil
		}
		return diag.Fail("The TXT lookup failed: %s.", diag.Reason(e.unlearned)).Because(e.unlearned)
	},
}, {
	Code: "markcert.domain.nxdomain", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true,
	Fact: ground.NoName, DependsOn: []diag.Code{"markcert.record.unknown"}, Ref: recordRef + "7.2",
	Title: "Domain does not exist", Requirement: "The domain exists",
	Advice: "Check the spelling of the domain, its registration and its delegation.",
	When:   func(e *evidence) bool { return asked(e) && (!e.unsure || e.applies != nil) },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.nonexistent, "The DNS answers NXDOMAIN for %s.", e.discovery.Domain)
	},
}, {
	Code: "markcert.record.missing", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"markcert.record.unknown"}, Ref: recordRef + "4.3",
	Title: "No BIMI record", Requirement: "The domain has a BIMI record",
	Advice: "Publish a BIMI record if a logo is to be shown beside the mail of the domain; without one nothing is lost.",
	When:   func(e *evidence) bool { return asked(e) && !e.nonexistent },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.applies == nil, "There is no BIMI record at %s%s.", e.discovery.Own().Name, e.above())
	},
}, {
	Code: "markcert.record.several", Severity: diag.Error, Weight: 4, Category: factorFetch,
	DependsOn: []diag.Code{"markcert.record.missing"}, Ref: recordRef + "7.2",
	Title: "More than one BIMI record", Requirement: "The domain has one BIMI record",
	Advice: "Remove all BIMI records of the selector but one: receivers use none of several.",
	When:   asked, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.applies.Record == nil, "There are %d BIMI records at %s.",
			len(e.applies.Found.Records), e.applies.Name)
	},
}, {
	Code: "markcert.record.declined", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"markcert.record.several"}, Ref: recordRef + "4.3.1",
	Title: "Domain declines to take part in BIMI", Requirement: "The BIMI record does not decline",
	Advice: "Leave it if no logo is to be shown; otherwise put the URLs of the logo and of the certificate into l and a.",
	When:   recorded, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.applies.Record.Declined, "The record at %s has empty tags l and a.", e.applies.Name)
	},
}, {
	Code: "markcert.record.none_named", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"markcert.record.declined"}, Ref: recordRef + "4.3",
	Title: "BIMI record names no certificate", Requirement: "The BIMI record names a certificate",
	Advice: "Order a verified or common mark certificate if the logo is to be shown at Gmail and Apple Mail, and put " +
		"its URL into a. Other mailboxes show the logo without one.",
	When: recorded, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(strings.TrimSpace(e.applies.Record.Authority.Text) == "", "The tag a of the record at %s is "+
			"empty or absent.", e.applies.Name)
	},
}, {
	Code: "markcert.record.invalid", Severity: diag.Error, Weight: 4, Category: factorFetch,
	DependsOn: []diag.Code{"markcert.record.several"}, Ref: recordRef + "4.3",
	Title: "BIMI record is not valid", Requirement: "The BIMI record is valid",
	Advice: "Correct the record: receivers ignore it as it is.",
	When:   func(e *evidence) bool { return recorded(e) && e.applies.Record.Authority.Fault == "" },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.applies.Record.Errors(), func(fault string) diag.Failures {
			return diag.Fail("The record at %s has a fault: %s.", e.applies.Name, strings.TrimSuffix(fault, "."))
		})
	},
}}

// above names the organizational domain if its record would apply as well.
func (e *evidence) above() string {
	if p := e.discovery.At(e.discovery.Organizational()); p != nil && p != e.discovery.Own() {
		return ", nor at " + p.Name
	}
	return ""
}
