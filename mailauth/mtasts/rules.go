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
		return list[:min(len(list), maxListed)]
	}
}

// newRecord is a record for the domain with an id of the present.
func (e *evidence) newRecord() string { return Record{ID: e.now.UTC().Format(idLayout)}.String() }

// recordRules are about the TXT record.
var recordRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The name servers answer for the record",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Mend the zone: until it answers, senders that do not know the policy yet deliver without it.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!answered(e), "%v.", e.txt.Err())
		},
	},
	{
		Code: "mtasts.record.missing", Severity: diag.Critical, StateIfFailed: diag.Missing, Weight: 10, Category: factorRecord,
		Requirement: "A record says that there is a policy",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Serve a policy first, in the mode testing; then publish this TXT record at _mta-sts.",
		When:        func(e *evidence) bool { return answered(e) && (len(e.records) > 0 || len(e.strays) == 0) },
		Fails: func(e *evidence) diag.Failures {
			switch {
			case len(e.records) > 0:
				return nil
			case e.txt.NXDomain():
				return missing(e, "The name _mta-sts."+e.domain.String()+" does not exist.")
			case e.txt.Exists():
				return missing(e, "None of the TXT records at _mta-sts."+e.domain.String()+" is one of MTA-STS.")
			default:
				return missing(e, "There is no TXT record at _mta-sts."+e.domain.String()+".")
			}
		},
	},
	{
		Code: "mtasts.record.version", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Requirement: "The record begins with v=STSv1;",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Let the record begin with exactly v=STSv1; in this case of letters: all others are discarded.",
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
		Requirement: "No other record at the name was meant for MTA-STS",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Remove the record that does not begin with v=STSv1; since senders discard it.",
		When:        hasRecord,
		Fails:       strays,
	},
	{
		Code: "mtasts.record.multiple", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Requirement: "There is only one record",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Remove all records but one: with several, senders behave as if there were none.",
		When:        hasRecord,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.records) > 1, "There are %d records that begin with v=STSv1;", len(e.records))
		},
	},
	{
		Code: "mtasts.record.syntax", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Requirement: "The record keeps to the syntax",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Write fields as name=value, with one semicolon and any white space between them.",
		When:        oneRecord, Fails: inRecord(badSyntax),
	},
	{
		Code: "mtasts.record.id.missing", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Requirement: "The record has an id",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Add an id, such as the time of the last change of the policy.",
		When:        oneRecord, Fails: inRecord(noID),
	},
	{
		Code: "mtasts.record.id.invalid", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Requirement: "The id consists of 1 to 32 letters and digits",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Use letters and digits only, such as the time of the last change of the policy.",
		When:        func(e *evidence) bool { return oneRecord(e) && inRecord(noID)(e) == nil },
		Fails:       inRecord(badID),
	},
	{
		Code: "mtasts.record.id.undated", Severity: diag.Info,
		Requirement: "The id tells when the policy was changed",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Use the time of the change as the id: a new one is needed with each change, and never an old one.",
		When:        func(e *evidence) bool { return oneRecord(e) && e.record.ID != "" },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!dated(e.record.ID), "The id is %s.", e.record.ID)
		},
	},
	{
		Code: "mtasts.record.repeated", Severity: diag.Warning,
		Requirement: "No field of the record is repeated",
		Ref:         "RFC 8461 section 3.2",
		Advice:      "Remove the second field: senders use the first.",
		When:        oneRecord, Fails: inRecord(repeated),
	},
	{
		Code: "mtasts.record.unknown_field", Severity: diag.Info,
		Requirement: "Every field of the record has a meaning",
		Ref:         "RFC 8461 section 3.1",
		Advice:      "Check the spelling: senders ignore fields that they do not know.",
		When:        oneRecord, Fails: inRecord(unknownKey),
	},
	{
		Code: "mtasts.tls_rpt.missing", Severity: diag.Warning, Weight: 5, Category: factorReporting,
		Requirement: "Senders are asked to report failures of TLS",
		Ref:         "RFC 8460 section 3",
		Advice:      "Publish a TLSRPT record at _smtp._tls: only reports show whom the policy keeps from delivering.",
		When:        func(e *evidence) bool { return announced(e) && e.tlsrpt.Err() == nil },
		Fails: func(e *evidence) diag.Failures {
			if e.hasTLSRPT {
				return nil
			}
			return diag.Failures{{
				Detail:    "There is no TLSRPT record at _smtp._tls." + e.domain.String() + ".",
				Suggested: "v=TLSRPTv1; rua=mailto:tls-reports@" + e.domain.String(),
			}}
		},
	},
}

func missing(e *evidence, detail string) diag.Failures {
	return diag.Failures{{Detail: detail, Suggested: e.newRecord()}}
}

func strays(e *evidence) diag.Failures {
	var list diag.Failures
	for _, s := range e.strays[:min(len(e.strays), maxListed)] {
		list = append(list, diag.Fail("%.100q is discarded.", s)[0])
		list[len(list)-1].Suggested = e.newRecord()
	}
	return list
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
