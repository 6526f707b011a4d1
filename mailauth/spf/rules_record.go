package spf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The lengths of records (RFC 7208 section 3.4).
const (
	longRecord = 450 // with it, an answer keeps below 512 bytes
	hugeRecord = 512 // no answer of plain DNS over UDP has room for it

	// hugeAnswer is how much goes into a datagram without being cut to pieces (RFC 9715 section 3).
	hugeAnswer = 1232
)

// recordRules are about finding the record.
var recordRules = diag.Rules[*evidence]{
	{
		Code: "spf.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The name servers say whether there is an SPF record",
		Ref:         "RFC 7208 section 4.4",
		Advice:      "See that all name servers of the domain answer: mail is put off while they do not.",
		When:        online,
		Fails:       func(e *evidence) diag.Failures { return failErr(e.published.answer.Err()) },
	},
	{
		Code: "spf.domain.missing", Severity: diag.Critical, Weight: 1, Category: factorRecord, StateIfFailed: diag.Missing,
		Requirement: "The domain exists",
		Ref:         "RFC 7208 section 4.3",
		Advice:      "Check the spelling of the domain, and whether it is registered and delegated.",
		When: func(e *evidence) bool {
			return online(e) && answered(e) && (len(e.records) > 0 || e.published.answer.NXDomain())
		},
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.published.answer.NXDomain(), "There is no domain %s in the DNS.", e.domain)
		},
	},
	{
		Code: "spf.record.missing", Severity: diag.Critical, Weight: 20, Category: factorRecord, StateIfFailed: diag.Missing,
		Requirement: "There is an SPF record",
		Ref:         "RFC 7208 section 3",
		Advice:      "Publish a TXT record at the domain itself that lists who sends its mail, or v=spf1 -all if nobody does.",
		When:        func(e *evidence) bool { return online(e) && answered(e) && !e.published.answer.NXDomain() },
		Fails: func(e *evidence) diag.Failures {
			if len(e.records)+len(e.strays) > 0 {
				return nil
			}
			return diag.Failures{{Detail: "None of the TXT records of " + e.domain.String() + " begins with v=spf1."}}
		},
	},
	{
		Code: "spf.record.version", Severity: diag.Critical, Weight: 5, Category: factorRecord,
		Requirement: "The record begins with v=spf1 and a blank",
		Ref:         "RFC 7208 section 4.5",
		Advice:      "Let the record begin with v=spf1, without quotes or blanks before it and with a blank behind it.",
		When:        func(e *evidence) bool { return answered(e) && len(e.records)+len(e.strays) > 0 },
		Fails: func(e *evidence) diag.Failures {
			if len(e.records) > 0 {
				return nil
			}
			return strays(e)
		},
	},
	{
		Code: "spf.record.stray", Severity: diag.Warning,
		Requirement: "No other TXT record was meant for SPF",
		Ref:         "RFC 7208 section 4.5",
		Advice:      "Remove the record that does not begin with v=spf1 and a blank, since receivers discard it.",
		When:        func(e *evidence) bool { return online(e) && len(e.records) > 0 },
		Fails:       strays,
	},
	{
		Code: "spf.record.location", Severity: diag.Error, StateIfFailed: diag.Missing,
		Requirement: "The record is published at the domain itself",
		Ref:         "RFC 7208 section 4.4",
		Advice:      "Publish the record at the domain itself: receivers look nowhere else.",
		When:        func(e *evidence) bool { return online(e) && answered(e) && len(e.records) == 0 },
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, p := range e.elsewhere[:min(len(e.elsewhere), maxListed)] {
				list = append(list, diag.Failure{
					Detail: fmt.Sprintf("%s has one: %s.", p.name, diag.Quote(p.record)),
					Target: p.name, Suggested: valid(p.record),
				})
			}
			return list
		},
	},
	{
		Code: "spf.record.multiple", Severity: diag.Critical, Weight: 5, Category: factorRecord,
		Requirement: "There is only one SPF record",
		Ref:         "RFC 7208 section 3.2",
		Advice:      "Merge the records into one: with several, receivers use none and end in permerror.",
		When:        func(e *evidence) bool { return online(e) && len(e.records) > 0 },
		Fails: func(e *evidence) diag.Failures {
			if len(e.records) < 2 {
				return nil
			}
			return diag.Failures{{
				Detail:    fmt.Sprintf("There are %d TXT records that begin with v=spf1.", len(e.records)),
				Suggested: combined(e.records),
			}}
		},
	},
	{
		Code: "spf.record.type99", Severity: diag.Warning,
		Requirement: "There is no record of the type SPF",
		Ref:         "RFC 7208 section 3.1",
		Advice:      "Remove the record of type SPF (99) and keep the TXT record: the type was given up, and nobody asks for it.",
		When:        func(e *evidence) bool { return online(e) && e.type99.Err() == nil },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.type99.Exists(), "There is a record of the type SPF at %s.", e.domain)
		},
	},
	{
		Code: "spf.record.sender_id", Severity: diag.Warning,
		Requirement: "There is no record of Sender ID",
		Ref:         "RFC 7208 appendix C",
		Advice:      "Remove the record that begins with spf2.0: Sender ID is dead.",
		When:        func(e *evidence) bool { return online(e) && answered(e) },
		Fails: func(e *evidence) diag.Failures {
			if len(e.senderIDs) == 0 {
				return nil
			}
			return diag.Fail("There is a record %s.", diag.Quote(e.senderIDs[0]))
		},
	},
	{
		Code: "spf.txt.encoding", Severity: diag.Info,
		Requirement: "The TXT records of the domain are readable text",
		Ref:         "RFC 7208 section 3.1",
		Advice:      "Write TXT records in ASCII; if one of these was meant for SPF, receivers do not see it.",
		When:        func(e *evidence) bool { return online(e) && answered(e) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.opaque > 0, "TXT records that are not valid UTF-8: %d.", e.opaque)
		},
	},
	{
		Code: "spf.txt.size", Severity: diag.Info,
		Requirement: "All TXT records of the domain fit into one datagram",
		Ref:         "RFC 7208 section 3.4",
		Advice:      "Remove TXT records that nobody needs any more, such as old proofs of ownership.",
		When:        func(e *evidence) bool { return followed(e) && answered(e) },
		Fails: func(e *evidence) diag.Failures {
			n := 0
			for _, text := range e.published.texts {
				n += len(text)
			}
			return diag.FailIf(n > hugeAnswer, "They have %d bytes together, and %d fit.", n, hugeAnswer)
		},
	},
	{
		Code: "spf.record.long", Severity: diag.Info,
		Requirement: "The record is not longer than 450 bytes",
		Ref:         "RFC 7208 section 3.4",
		Advice:      "Shorten the record, or move a part of it into a record that it includes.",
		When:        func(e *evidence) bool { return one(e) && len(e.records[0]) <= hugeRecord },
		Fails: func(e *evidence) diag.Failures {
			n := len(e.records[0])
			return diag.FailIf(n > longRecord, "It has %d bytes.", n)
		},
	},
	{
		Code: "spf.record.oversized", Severity: diag.Warning, Weight: 3, Category: factorRecord,
		Requirement: "The record is not longer than 512 bytes",
		Ref:         "RFC 7208 section 3.4",
		Advice:      "Shorten the record, or move a part of it into a record that it includes: not every receiver gets it whole.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			n := len(e.records[0])
			return diag.FailIf(n > hugeRecord, "It has %d bytes.", n)
		},
	},
	{
		Code: "spf.record.string", Severity: diag.Error,
		Requirement: "No character-string of the record is longer than 255 bytes",
		Ref:         "RFC 7208 section 3.3",
		Advice:      "Split the record into character-strings of 255 bytes at most, with the blanks between terms kept.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			for i, s := range e.strings {
				if len(s) > maxString {
					return diag.Fail("String %d of %d has %d bytes.", i+1, len(e.strings), len(s))
				}
			}
			return nil
		},
	},
	{
		Code: "spf.record.joined", Severity: diag.Error,
		Requirement: "The character-strings of the record join to whole terms",
		Ref:         "RFC 7208 section 3.3",
		Advice:      "Add a blank at the end of the first or the beginning of the second string: they are joined without one.",
		When:        one,
		Fails:       joints,
	},
}

func failErr(err error) diag.Failures {
	if err == nil {
		return nil
	}
	return diag.Fail("%s.", diag.Quote(err.Error()))
}

func strays(e *evidence) diag.Failures {
	var list diag.Failures
	for _, s := range e.strays[:min(len(e.strays), maxListed)] {
		n := &Node{raw: s}
		n.Parsed, n.Faults = Parse(s)
		list = append(list, diag.Failure{
			Detail: fmt.Sprintf("%q is discarded.", diag.Quote(s)), Suggested: stripped(n),
			Location: &diag.Location{Length: min(len(s), len(version))},
		})
	}
	if len(e.records) > 0 || !e.offline && len(e.strays) > 1 {
		for i := range list {
			list[i].Location = nil // it is not in the record
		}
	}
	return list
}

// stripped returns what a text was probably meant to be.
func stripped(n *Node) string {
	if text := valid(strings.Trim(strings.TrimSpace(strings.TrimPrefix(n.raw, "\ufeff")), "\"'“” ")); text != "" {
		return text
	}
	return n.repaired()
}

// combined merges the terms of records without errors, all but the last without their all and redirect.
func combined(list []string) string {
	merged := &Record{}
	seen := map[string]bool{}
	for i, text := range slices.Sorted(slices.Values(list)) { // servers give them in any order
		record, faults := Parse(text)
		if len(faults) > 0 {
			return ""
		}
		for _, t := range record.Terms {
			if (t.Name == All || t.Name == Redirect) && i < len(list)-1 || seen[t.String()] {
				continue
			}
			seen[t.String()] = true
			merged.Terms = append(merged.Terms, t)
		}
	}
	return valid(merged.String())
}

// joints finds places where two strings join to one term, and the second looks like the beginning of one.
func joints(e *evidence) diag.Failures {
	var list diag.Failures
	offset := 0
	for i, s := range e.strings {
		if i > 0 && s != "" && s[0] != ' ' && offset > 0 && e.records[0][offset-1] != ' ' && beginsTerm(s) {
			text := e.records[0][:offset] + " " + e.records[0][offset:]
			list = append(list, diag.Failure{
				Detail:    fmt.Sprintf("String %d begins with %s, and no blank stands before it.", i+1, diag.Quote(firstTerm(s))),
				Location:  &diag.Location{Offset: offset, Length: len(firstTerm(s))},
				Suggested: valid(text),
			})
		}
		offset += len(s)
	}
	return list[:min(len(list), maxListed)]
}

func firstTerm(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

// beginsTerm reports whether a text begins as a whole term does.
func beginsTerm(s string) bool {
	term := firstTerm(s)
	record, faults := Parse(version + " " + term)
	if len(faults) > 0 || len(record.Terms) != 1 {
		return false
	}
	t := &record.Terms[0]
	return t.Kind == Mechanism && (t.Value != "" || t.Name == All) || t.Name == Redirect || t.Name == Exp
}
