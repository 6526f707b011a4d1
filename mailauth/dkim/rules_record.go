package dkim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

var lookupRules = diag.Rules[*evidence]{{
	Code: "dkim.domain.nxdomain", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true, Fact: ground.NoName,
	Reads: []diag.Source{fromDomain}, Ref: "RFC 8020 section 2", Title: "Domain does not exist",
	Requirement: "The domain exists", Advice: "Check the spelling of the domain, its registration and its delegation.",
	When: online,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.nonexistent(), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}, {
	Code: "dkim.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 6376 section 6.1.2",
	Title: "DKIM key could not be looked up", Requirement: "The name servers answer for the DKIM key",
	Advice: "Check the name servers of the domain: until they answer, verifiers defer mail or treat it as unsigned.",
	When:   func(e *evidence) bool { return online(e) && !e.nonexistent() },
	Fails: func(e *evidence) diag.Failures {
		if answered(e) && e.existenceKnown() {
			return nil
		} else if answered(e) {
			return diag.Fail("There is no record at %s, and whether the domain exists is not known: the SOA lookup of %s failed: %s.",
				e.name(), e.domain, diag.Reason(e.apex.Err()))
		}
		detail := fmt.Sprintf("The TXT lookup of %s failed: %s.", e.name(), diag.Reason(e.txt.Err()))
		if aliased(e) {
			detail = fmt.Sprintf("%s is an alias (CNAME) of %s, whose TXT lookup failed: %s.", e.name(), e.target(),
				diag.Reason(e.txt.Err()))
		}
		return diag.Failures{{Detail: detail, Target: e.name()}}.Because(e.txt.Err())
	},
}, {
	Code: "dkim.record.alias.dangling", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 1,
	Category: factorRecord, DependsOn: []diag.Code{"dkim.record.unknown"}, Ref: "RFC 6376 section 3.6.2",
	Title: "CNAME of the DKIM selector leads to no key", Requirement: "The CNAME of the selector leads to a record",
	Advice: "Ask the service that runs the target to publish the key there, or copy the present target from its " +
		"settings; remove the CNAME if you no longer use the service.",
	When: aliased,
	Fails: func(e *evidence) diag.Failures {
		failure := diag.Failure{Target: e.target()}
		where := e.target()
		if s := e.service(); s != nil {
			where += " of " + s.Name
			failure.Advice = strings.TrimSpace("Set up DKIM for the domain again at " + s.Name + ", or remove the CNAME " +
				"if you no " +
				"longer use the service. " + s.Sign)
		}
		switch {
		case e.txt.Exists():
			return nil
		case e.txt.NXDomain():
			failure.Detail = fmt.Sprintf("%s is an alias (CNAME) of %s, which does not exist.", e.name(), where)
		default:
			failure.Detail = fmt.Sprintf("%s is an alias (CNAME) of %s, which has no TXT record.", e.name(), where)
		}
		return diag.Failures{failure}
	},
}, {
	Code: "dkim.record.missing", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 10, Category: factorRecord,
	Reads: []diag.Source{fromRecord, fromDomain}, DependsOn: []diag.Code{"dkim.record.unknown"},
	Ref: "RFC 6376 section 3.6.2.1", Title: "No DKIM key at this selector",
	Requirement: "There is a DKIM key at the selector",
	Advice: "Publish the record that your mail system or service shows for this selector, or check the selector: it " +
		"is s= of a DKIM-Signature field.",
	When: func(e *evidence) bool { return !aliased(e) || e.txt.Exists() },
	Fails: func(e *evidence) diag.Failures {
		f := missing(e)
		if found := e.elsewhere(); len(f) > 0 && len(found) > 0 {
			f[0].Detail += " " + found[0].Detail
			f[0].Target, f[0].Suggested = found[0].Target, found[0].Suggested
			f[0].Advice = "Move the record to the selector's name. Many control panels add the domain themselves: enter only the " +
				"part before it."
		}
		return f
	},
}}

func missing(e *evidence) diag.Failures {
	if len(e.strangers) > 0 && len(e.found.Records) == 0 {
		where := ""
		if fromWildcard(e) {
			where = "comes from a wildcard and "
		}
		return diag.Fail("The TXT record at %s %sis not a DKIM key: %q.", e.name(), where, diag.Quote(e.strangers[0]))
	}
	more := "."
	switch {
	case e.node.Err() == nil && e.node.NXDomain() && len(e.node.Aliases) == 0:
		more = fmt.Sprintf(", and no selector of the domain has one: %s does not exist.", e.parent())
	case len(e.others) > 0:
		more = ". There are keys at other selectors of the domain: " + strings.Join(e.others, ", ") + "."
	case e.node.Err() == nil:
		more = fmt.Sprintf(". %s exists, so there may be keys at other selectors.", e.parent())
	}
	return diag.FailIf(len(e.found.Records) == 0, "There is no TXT record at %s%s", e.name(), more)
}

func (e *evidence) elsewhere() diag.Failures {
	return diag.FailEach(e.places, func(p place) diag.Failures {
		for _, text := range textsOf(p.answer) {
			k := ParseKey(text)
			if !format.Is(text) || k.Err() != nil {
				continue
			}
			return diag.Fail("There is one at %s, the name of the selector %s; verifiers look for it at %s.", p.name, p.what,
				e.name()).About(p.name).Suggesting(text)
		}
		return nil
	})
}

var recordRules = diag.Rules[*evidence]{
	{
		Code: "dkim.record.split", Severity: diag.Critical, Weight: 5, Category: factorRecord,
		Ref: "RFC 6376 section 3.6.2.2", Title: "DKIM key spread over several TXT records",
		Requirement: "The whole key stands in one TXT record",
		Advice: "Publish the suggested record as one TXT record, split into strings of at most 255 bytes, and remove " +
			"the parts.",
		When: func(e *evidence) bool { return online(e) && len(e.found.Records) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.split(), "The key is spread over the %d TXT records at %s, which only together are one record.",
				len(e.found.Records)+len(e.strangers), e.name()).Suggesting(e.suggestion())
		},
	},
	kit.Multiple(diag.Rule[*evidence]{
		Code: "dkim.record.multiple", Severity: diag.Error, Weight: 5, Category: factorRecord,
		DependsOn: []diag.Code{"dkim.record.split"}, Ref: "RFC 6376 section 3.6.2.2",
		Title: "More than one DKIM key at this selector", Requirement: "There is one DKIM key at the selector",
		Advice: "Keep the record whose private key signs and remove the others; a further key needs a selector of " +
			"its own. Which one verifiers use is not defined.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.found.Records) > 1, "There are %d key records at %s: %s.", len(e.found.Records), e.name(),
				e.summary()).Suggesting(e.suggestion())
		},
	}),
	{
		Code: "dkim.record.other", Severity: diag.Warning, DependsOn: []diag.Code{"dkim.record.split"},
		Ref: "RFC 6376 section 3.6.2.2", Title: "Another TXT record beside the DKIM key",
		Requirement: "The key record is the only TXT record at the selector",
		Advice:      "Remove the other record: TXT records at a selector must be unique, and some verifiers join them all.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.strangers, func(text string) diag.Failures {
				return diag.Fail("Beside the key there is another TXT record at %s: %q.", e.name(), diag.Quote(text))
			})
		},
	},
	{
		Code: "dkim.record.order", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Ref: "RFC 6376 section 3.6.2.2", Title: "Strings of the DKIM record are out of order",
		Requirement: "The character-strings of the record are in order",
		Advice:      "Publish the suggested record: its strings are joined in the order in which they stand.",
		When:        func(e *evidence) bool { return one(e) && len(e.found.Strings) > 1 && !e.split() },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.shuffled(), "The %d strings of the record hold no key in their order, and a whole one in "+
				"another.",
				len(e.found.Strings)).Suggesting(e.suggestion())
		},
	},
}

func (e *evidence) summary() string {
	var list []string
	for _, text := range e.found.Records[:min(len(e.found.Records), maxSummary)] {
		switch k := ParseKey(text); {
		case k.Revoked:
			list = append(list, "a revoked one")
		case k.Public == nil:
			list = append(list, "one without a key that can be used")
		case k.Type == Ed25519:
			list = append(list, "an Ed25519 key")
		default:
			list = append(list, fmt.Sprintf("an RSA key of %d bits", k.Details.SizeBits))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

const maxSummary = 5
