package mtasts

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table of all that is examined, in the order in which a sender would meet it.
var rules = slices.Concat(recordRules, serverRules, certificateRules, answerRules, textRules, policyRules, mxRules)

// idLayout is the form of the ids in RFC 8461: the time of the last change.
const idLayout = "20060102T150405"

func answered(e *evidence) bool  { return e.txt.Err() == nil }
func hasRecord(e *evidence) bool { return answered(e) && len(e.records) > 0 }
func oneRecord(e *evidence) bool { return answered(e) && len(e.records) == 1 }

// announced reports whether the domain means to take part.
func announced(e *evidence) bool {
	return answered(e) && (len(e.records) > 0 || len(e.strays) > 0 || unannounced(e))
}

// unannounced reports whether there is a policy that no record speaks of. Web servers that answer for
// all names are no policy hosts.
func unannounced(e *evidence) bool {
	return answered(e) && len(e.records) == 0 && e.policy != nil && e.policy.seen["version"]
}

// inRecord returns the faults of a kind in the record.
func inRecord(k kind) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var list diag.Failures
		for _, f := range e.faults {
			if f.kind == k {
				list = append(list, diag.Failure{
					Detail: diag.Sentence(f.text), Location: f.location(), Suggested: e.newRecord(),
				})
			}
		}
		return list
	}
}

// newRecord is a record for the domain with an id of the present.
func (e *evidence) newRecord() string { return Record{ID: e.now.UTC().Format(idLayout)}.String() }

// recordRules are about the TXT record.
var recordRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "MTA-STS record could not be looked up",
		Requirement: "The name servers answer for the MTA-STS record",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Check the name servers of the domain: until they answer, senders without a cached policy deliver without it.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!answered(e), "The TXT lookup of _mta-sts.%s failed.", e.domain)
		},
	},
	{
		Code: "mtasts.domain.missing", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true,
		DependsOn:   []diag.Code{"mtasts.record.unknown"},
		Title:       "Domain does not exist",
		Requirement: "The domain exists",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Check the spelling of the domain, its registration and its delegation.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(nonexistent(e), "The DNS answers NXDOMAIN for %s.", e.domain)
		},
	},
	{
		Code: "mtasts.record.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 10, Category: factorRecord,
		DependsOn:   []diag.Code{"mtasts.domain.missing"},
		Title:       "No MTA-STS record",
		Requirement: "The domain has an MTA-STS record",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Serve a policy in testing mode first; then publish the TXT record at _mta-sts.",
		When:        func(e *evidence) bool { return receives(e) && (len(e.records) > 0 || len(e.strays) == 0) },
		Fails:       absent,
	},
	{
		Code: "mtasts.record.missing.no_mail", Severity: diag.Info, StateIfFailed: diag.Missing,
		DependsOn:   []diag.Code{"mtasts.domain.missing"},
		Title:       "No MTA-STS record, and none is needed",
		Requirement: "The domain has an MTA-STS record, although it receives no mail",
		Ref:         "RFC 8461 section 3.1",
		When:        func(e *evidence) bool { return !receives(e) && (len(e.records) > 0 || len(e.strays) == 0) },
		Fails:       absent,
	},
	{
		Code: "mtasts.record.version", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Title:       "MTA-STS record does not begin with v=STSv1",
		Requirement: "The MTA-STS record begins with v=STSv1",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Begin the record with exactly v=STSv1; in this letter case: senders ignore all others.",
		When:        func(e *evidence) bool { return answered(e) && len(e.records)+len(e.strays) > 0 },
		Fails: func(e *evidence) diag.Failures {
			if len(e.records) > 0 {
				return nil
			}
			return strays(e)
		},
	},
	{
		Code: "mtasts.record.stray", Severity: diag.Warning,
		Title:       "Another TXT record looks like a broken MTA-STS record",
		Requirement: "No other TXT record looks like MTA-STS",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Remove the record that does not begin with v=STSv1; since senders ignore it.",
		When:        hasRecord,
		Fails:       strays,
	},
	{
		Code: "mtasts.record.multiple", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Title:       "More than one MTA-STS record",
		Requirement: "There is only one MTA-STS record",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Remove all records but one: with several, senders behave as if there were none.",
		When:        hasRecord,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.records) > 1, "_mta-sts.%s has %d records that begin with v=STSv1.", e.domain,
				len(e.records))
		},
	},
	{
		Code: "mtasts.record.blank", Severity: diag.Warning,
		Title:       "Space before the first semicolon of the record",
		Requirement: "No space precedes the first semicolon of the record",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Write v=STSv1; without a space: the syntax allows one, but some senders ignore such a record.",
		When:        oneRecord,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!strings.HasPrefix(e.records[0], "v="+version+";"),
				"The record %q has white space before its first semicolon.", diag.Quote(e.records[0]))
		},
	},
	{
		Code: "mtasts.record.syntax", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Title:       "Syntax error in the MTA-STS record",
		Requirement: "The MTA-STS record has a valid syntax",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Write fields as name=value, with one semicolon and any white space between them.",
		When:        oneRecord, Fails: inRecord(badSyntax),
	},
	{
		Code: "mtasts.record.id.missing", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Title:       "MTA-STS record has no id",
		Requirement: "The MTA-STS record has an id",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Add an id, such as the time of the last change of the policy.",
		When:        oneRecord, Fails: inRecord(noID),
	},
	{
		Code: "mtasts.record.id.invalid", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Title:       "Invalid id in the MTA-STS record",
		Requirement: "The id has 1 to 32 letters and digits",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Use letters and digits only, such as the time of the last change of the policy.",
		When:        func(e *evidence) bool { return oneRecord(e) && inRecord(noID)(e) == nil },
		Fails:       inRecord(badID),
	},
	{
		Code: "mtasts.record.id.undated", Severity: diag.Info,
		Title:       "id does not show when the policy changed",
		Requirement: "The id shows when the policy changed",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Use the time of the change as the id: a new one is needed with each change, and never an old one.",
		When:        func(e *evidence) bool { return oneRecord(e) && e.record.ID != "" },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!dated(e.record.ID), "The id %s is neither a date nor a time.", e.record.ID)
		},
	},
	{
		Code: "mtasts.record.repeated", Severity: diag.Warning,
		Title:       "Field of the record appears twice",
		Requirement: "No field of the record appears twice",
		Ref:         "RFC 8461 section 3.2",
		Advice:      "Remove the second field: senders use the first.",
		When:        oneRecord, Fails: inRecord(repeated),
	},
	{
		Code: "mtasts.record.unknown_field", Severity: diag.Info,
		Title:       "Unknown field in the MTA-STS record",
		Requirement: "Every field of the record is one that MTA-STS defines",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Check the spelling: senders ignore fields that they do not know.",
		When:        oneRecord, Fails: inRecord(unknownKey),
	},
	{
		Code: "mtasts.tls_rpt.missing", Severity: diag.Warning, Weight: 5, Category: factorReporting,
		Title:       "No TLS reports requested",
		Requirement: "A TLSRPT record requests TLS reports",
		Ref:         "RFC 8460 section 3",
		Advice:      "Publish a TLSRPT record at _smtp._tls: only reports show which senders the policy stops.",
		When:        func(e *evidence) bool { return announced(e) && e.tlsrpt.Err() == nil },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.hasTLSRPT, "There is no TLSRPT record at _smtp._tls.%s.", e.domain).
				Suggesting("v=TLSRPTv1; rua=mailto:tls-reports@" + e.domain.String())
		},
	},
}

// nonexistent reports whether the domain does not exist.
func nonexistent(e *evidence) bool { return e.mx.NXDomain() && e.txt.NXDomain() }

// receives reports whether mail for the domain may go somewhere: there is no null MX, and an MX record or an
// address (RFC 5321 section 5.1). If that is not known, it may.
func receives(e *evidence) bool { return e.mx.Err() != nil || len(e.hosts) > 0 }

// absent finds that there is no record.
func absent(e *evidence) diag.Failures {
	name := "_mta-sts." + e.domain.String()
	switch {
	case len(e.records) > 0:
		return nil
	case e.txt.Exists():
		return missing(e, "None of the TXT records at "+name+" begins with v=STSv1.")
	default:
		return missing(e, "There is no TXT record at "+name+".")
	}
}

// missing fails for want of a record. What is suggested comes first: the record if a policy is served, else
// a policy.
func missing(e *evidence, detail string) diag.Failures {
	failures := diag.Fail("%s", detail)
	switch {
	case unannounced(e) && e.validPolicy():
		return failures.Suggesting(e.newRecord())
	case e.policy == nil && receives(e):
		return failures.Suggesting(e.newPolicy())
	}
	return failures
}

func strays(e *evidence) diag.Failures {
	return diag.FailEach(e.strays, func(s string) diag.Failures {
		return diag.Fail("Senders ignore the TXT record %.100q.", s)
	}).Suggesting(e.newRecord())
}

// dated reports whether an id begins with a date of the time since MTA-STS exists, or is a number of
// seconds of that time.
func dated(id string) bool {
	if len(id) >= 8 {
		if t, err := time.Parse("20060102", id[:8]); err == nil && t.Year() >= 2016 && t.Year() < 2100 {
			return true
		}
	}
	letter := func(r rune) bool { return r > '9' }
	return len(id) >= 10 && strings.HasPrefix(id, "1") && !strings.ContainsFunc(id, letter)
}
