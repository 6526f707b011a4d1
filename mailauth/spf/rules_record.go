package spf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// The lengths of records (RFC 7208 section 3.4).
const (
	longRecord = 450 // up to it, an answer stays below 512 bytes
	hugeRecord = 512 // too long for an answer of plain DNS over UDP
)

// isNeeded reports whether the lack of a record leaves mail unprotected: the domain receives mail, or other
// records lead to the name.
func isNeeded(e *evidence) bool {
	receives, _ := e.mail.Receives()
	return receives || e.isHelperName()
}

func isUnneeded(e *evidence) bool {
	_, known := e.mail.Receives()
	return known && !isNeeded(e)
}

func noRecord(e *evidence) rule.Failures {
	if len(e.records)+len(e.strays) > 0 {
		return nil
	}
	f := rule.Failure{Detail: fmt.Sprintf("%s has no TXT record.", e.domain)}
	if n := len(e.published.texts); n > 0 {
		f.Detail = fmt.Sprintf("%s has %s, and none begins with v=spf1.", e.domain, phrase.Count(n, "TXT record"))
	}
	if e.opaque > 0 {
		f.Detail += fmt.Sprintf(" %s cannot be read as text: write SPF records in ASCII.",
			phrase.Count(e.opaque, "TXT record"))
	}
	if isUnneeded(e) {
		f.Detail += " It receives no mail."
	}
	if isUnneeded(e) && len(e.elsewhere) == 0 && !e.lookupFailed {
		f.Suggested = "v=spf1 -all"
	}
	return rule.Failures{f}
}

var recordRules = rule.Rules[*evidence]{{
	Code: "spf.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 4.4",
	Title: "SPF record could not be looked up", Requirement: "The name servers answer for the SPF record",
	Advice: "Check that every name server of the domain answers TXT queries: receivers defer mail while they do not.",
	Fails: func(e *evidence) rule.Failures {
		if e.offline || e.published.answer.Err() == nil {
			return nil
		}
		return rule.Fail("The SPF record is not known: %s.", phrase.Quote(eval.AnswerError(e.published.answer).Error())).
			Because(e.published.answer.Err())
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "spf.domain.nxdomain", DependsOn: []diag.Code{"spf.record.unknown"}, Ref: "RFC 7208 section 4.3", When: lookedUp,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.published.answer.NXDomain(), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}), {
	Code: "spf.record.location", Severity: diag.Error, StateIfFailed: diag.Missing,
	Reads: []rule.Source{fromPlaces}, DependsOn: []diag.Code{"spf.domain.nxdomain"}, Ref: "RFC 7208 section 4.4",
	Title:       "SPF record is published at the wrong name",
	Requirement: "The SPF record is published at the domain itself",
	Advice:      "Publish the record at the domain itself: receivers look nowhere else.",
	When:        func(e *evidence) bool { return len(e.records) == 0 },
	Fails: suggesting(func(e *evidence) rule.Failures {
		return rule.FailEach(e.elsewhere, func(p place) rule.Failures {
			return rule.Fail("%s has the SPF record %q.", p.name, phrase.Quote(p.record)).About(p.name)
		})
	}),
}, {
	Code: "spf.mail.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"spf.domain.nxdomain"}, Ref: "RFC 7208 section 10.1.2",
	Title:       "No SPF record, and mail servers could not be looked up",
	Requirement: "The name servers say whether a domain without a record receives mail",
	Advice:      "Try again in a few minutes: what the lack of a record means depends on whether the domain has mail.",
	When:        func(e *evidence) bool { return len(e.records)+len(e.strays) == 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(e.Unanswered(), fromMail),
			"%s has no SPF record, and the MX lookup got no usable answer.", e.domain)
	},
}, {
	Code: "spf.record.missing", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 20,
	Category: factorRecord, Reads: []rule.Source{fromRecord, fromMail},
	DependsOn: []diag.Code{"spf.domain.nxdomain"}, Ref: "RFC 7208 section 3",
	Title: "No SPF record", Requirement: "The domain has an SPF record",
	Advice: "Publish one TXT record at the domain itself that lists every host and service that sends its mail.",
	When:   isNeeded, Fails: noRecord,
}, {
	Code: "spf.record.missing.no_mail", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 20,
	Category: factorRecord, Reads: []rule.Source{fromRecord, fromMail},
	DependsOn: []diag.Code{"spf.domain.nxdomain"}, Ref: "RFC 7208 section 10.1.2",
	Title:       "No SPF record on a domain without mail",
	Requirement: "The domain has an SPF record, although it receives no mail",
	Advice:      "Publish v=spf1 -all if the domain sends no mail, so that receivers can refuse forged mail.",
	When:        isUnneeded, Fails: noRecord,
}, {
	Code: "spf.record.version", Severity: diag.Critical, Weight: 5, Category: factorRecord,
	Ref:   "RFC 7208 section 4.5",
	Title: "SPF record does not begin with v=spf1", Requirement: "The SPF record begins with v=spf1",
	Advice: "Begin the record with v=spf1 and a space, with no quotation mark or space before it.",
	When:   func(e *evidence) bool { return len(e.records) < 2 && len(e.records)+len(e.strays) > 0 },
	Fails: func(e *evidence) rule.Failures {
		if len(e.records) > 0 {
			return nil
		}
		return strayTexts(e)
	},
}, {
	Code: "spf.record.stray", Severity: diag.Warning, DependsOn: []diag.Code{"spf.domain.nxdomain"},
	Ref:   "RFC 7208 section 4.5",
	Title: "Another TXT record looks like a broken SPF record", Requirement: "No other TXT record looks like SPF",
	Advice: "Remove the TXT record that does not begin with v=spf1 and a space: receivers ignore it.",
	When:   func(e *evidence) bool { return len(e.records) > 0 }, Fails: strayTexts,
}, {
	Code: "spf.record.split", Severity: diag.Error, Weight: 3, Category: factorRecord,
	DependsOn: []diag.Code{"spf.domain.nxdomain"}, Ref: "RFC 7208 section 3.2",
	Title:       "Rest of the SPF record is in another TXT record",
	Requirement: "The whole SPF record is in one TXT record",
	Advice:      "Put all terms into one TXT record: receivers read only the one that begins with v=spf1.",
	When:        func(e *evidence) bool { return len(e.records) > 0 }, Fails: suggesting(func(e *evidence) rule.Failures {
		return rule.FailEach(e.fragments, func(text string) rule.Failures {
			return rule.Fail("Receivers ignore the TXT record %q, which has no v=spf1.", phrase.Quote(text))
		})
	}),
}, {
	Code: "spf.record.multiple", Severity: diag.Critical, Weight: 5, Category: factorRecord,
	DependsOn: []diag.Code{"spf.domain.nxdomain"}, Ref: "RFC 7208 section 3.2",
	Title: "More than one SPF record", Requirement: "The domain has only one SPF record",
	Advice: "Merge the records into one: with more than one, receivers use none and return permerror.",
	When:   func(e *evidence) bool { return len(e.records) > 0 }, Fails: suggesting(func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.records) > 1, "%s has %d TXT records that begin with v=spf1.", e.domain, len(e.records))
	}),
}}

func strayTexts(e *evidence) rule.Failures {
	var list rule.Failures
	for _, s := range e.strays {
		f := rule.Failure{Detail: fmt.Sprintf("Receivers ignore the text %q.", phrase.Quote(s))}
		if strings.ContainsAny(s, dropped) {
			f.Detail = fmt.Sprintf("Receivers ignore the text %s, which has quotation marks or invisible characters in it.",
				phrase.Quote(s))
		}
		if len(e.records) == 0 {
			f.Suggested = e.suggested
		}
		if len(e.records) == 0 && len(e.strays) == 1 {
			f.Location = &diag.Location{Length: min(len(s), len(version))}
		}
		list = append(list, f)
	}
	return list
}

// publicationRules are about further records beside the SPF record. They apply if the domain exists.
var publicationRules = on("spf.domain.nxdomain", rule.Rules[*evidence]{{
	Code: "spf.record.type99", Severity: diag.Warning, Reads: []rule.Source{fromType99},
	Ref:   "RFC 7208 section 3.1",
	Title: "Obsolete record of type SPF", Requirement: "No record of the obsolete type SPF is published",
	Advice: "Remove the record of type SPF (99) and keep the TXT record: receivers do not query type 99 any more.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.type99.Exists(), "%s has a record of type SPF (99).", e.domain)
	},
}, {
	Code: "spf.record.sender_id", Severity: diag.Warning, Ref: "RFC 6686 section 6",
	Title: "Obsolete Sender ID record", Requirement: "No Sender ID record is published",
	Advice: "Remove the TXT record that begins with spf2.0: receivers do not evaluate Sender ID any more.",
	Fails: func(e *evidence) rule.Failures {
		if len(e.senderIDs) == 0 {
			return nil
		}
		return rule.Fail("%s has the Sender ID record %q.", e.domain, phrase.Quote(e.senderIDs[0]))
	},
}})

var formRules = rule.Rules[*evidence]{{
	Code: "spf.record.oversized", Severity: diag.Warning, Weight: 3, Category: factorRecord,
	Ref:   "RFC 7208 section 3.4",
	Title: "SPF record is longer than 512 bytes", Requirement: "The SPF record has at most 512 bytes",
	Advice: "Shorten the record, or move some of its terms into a record that it includes: some receivers cannot read it.",
	Fails: func(e *evidence) rule.Failures {
		n := len(e.records[0])
		return rule.FailIf(n > hugeRecord,
			"The record has %d bytes, more than a DNS answer over UDP without EDNS can hold.", n)
	},
}, {
	Code: "spf.record.string", Severity: diag.Error, Ref: "RFC 7208 section 3.3",
	Title:       "SPF record has a string longer than 255 bytes",
	Requirement: "Every character-string of the record has at most 255 bytes",
	Advice: "Split the record into strings of at most 255 bytes, and keep the space between two " +
		"terms in one of them.",
	Fails: func(e *evidence) rule.Failures {
		for i, s := range e.strings {
			if len(s) > dnsmsg.MaxTXTString {
				return rule.Fail("String %d of %d has %d bytes.", i+1, len(e.strings), len(s))
			}
		}
		return nil
	},
}, {
	Code: "spf.record.joined", Severity: diag.Critical, Ref: "RFC 7208 section 3.3",
	Title:       "SPF record has no space between two of its strings",
	Requirement: "The character-strings of the record join without breaking terms",
	Advice: "Add a space at the end of the first string or at the beginning of the second: strings are joined " +
		"without one.",
	Fails: suggesting(joints),
}}
