package dkim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(lookupRules, withAliasAdvice(slices.Concat(recordRules, syntaxRules,
		keyRules.With(rule.Rule[*evidence]{Category: factorKey, When: hasUsableKey}),
		strengthRules.With(rule.Rule[*evidence]{Category: factorStrength, When: isRSA}),
		useRules.With(rule.Rule[*evidence]{Category: factorUse, When: hasUsableKey})))).Reading(fromRecord)
})

// withAliasAdvice adds to rules about a record who can change it, if the selector is an alias (CNAME) into another
// organization: nothing can be published at the alias (RFC 1034 section 3.6.2), and the key is not the domain's own.
func withAliasAdvice(rules rule.Rules[*evidence]) rule.Rules[*evidence] {
	for i := range rules {
		fails, severity := rules[i].Fails, rules[i].Severity
		rules[i].Fails = func(e *evidence) rule.Failures {
			list := fails(e)
			if !e.delegated() {
				return list
			}
			for i := range list {
				list[i].Suggested = ""
				if severity > diag.Info {
					list[i].Advice = e.aliasAdvice()
				}
			}
			return list
		}
	}
	return rules
}

func (e *evidence) aliasAdvice() string {
	s := e.service()
	if s == nil {
		return fmt.Sprintf("Have the operator of %s, to which the CNAME of the selector leads, correct the key: it is "+
			"published there, and nothing can be published at %s beside the CNAME.", e.target(), e.name())
	}
	return fmt.Sprintf("Have %s replace the key: rotate it in the settings of the service, or ask its support. The key "+
		"is published at %s, to which the CNAME of the selector leads; leave the CNAME as it is unless %s shows another one.",
		s.Name, e.target(), s.Name)
}

var tagRules = taglist.Kit[*evidence]{
	Format: format, Ref: "RFC 6376 section 3.2",
	Found:   func(e *evidence) *taglist.Found { return &e.found },
	Suggest: func(e *evidence) string { return e.repaired },
}

const keySection = "RFC 6376 section 3.6.1"

var syntaxRules = rule.Rules[*evidence]{
	tagRules.Syntax(rule.Rule[*evidence]{
		Code: "dkim.record.version", Severity: diag.Critical, Weight: 10, Category: factorSyntax, Ref: keySection,
		Title:       "DKIM record does not begin with v=DKIM1",
		Requirement: "The tag v comes first and says DKIM1, or is left out",
		Advice:      "Begin the record with exactly v=DKIM1; in this letter case: verifiers discard the record otherwise.",
		When:        inOrder,
		Fails: func(e *evidence) rule.Failures {
			if e.quoted {
				return rule.Fail("The record does not begin with v=DKIM1: it has quotation marks around it, which belong in zone " +
					"files only.").About("v").Suggesting(cmp.Or(e.repaired, e.key.List.Text))
			}
			list := tagRules.Faults(taglist.Misplaced)(e)
			if len(list) == 0 && e.hasHiddenPrefix() {
				list = rule.Fail("").Suggesting(e.repaired)
			}
			for i := range list {
				list[i].Detail = e.beginning()
				if kind := e.otherProtocol(); kind != "" {
					list[i].Detail = "The text is " + kind + ", not the record of a DKIM key."
					list[i].Advice = "Enter the TXT record at the selector, below _domainkey: it has the public key in p=."
				}
			}
			return list.About("v")
		},
	}),
	tagRules.Syntax(rule.Rule[*evidence]{
		Code: "dkim.record.syntax", Severity: diag.Error, Weight: 8, Category: factorSyntax,
		When: func(e *evidence) bool { return inOrder(e) && !e.isBareKey() && e.otherProtocol() == "" },
	}, taglist.Empty, taglist.NoEquals, taglist.BadName, taglist.BadValue, taglist.MissingSemicolon, badList),
	tagRules.Repeated(rule.Rule[*evidence]{
		Code: "dkim.record.repeated", Severity: diag.Error, Weight: 2, Category: factorSyntax, When: inOrder,
	}),
	tagRules.Joined(rule.Rule[*evidence]{
		Code: "dkim.record.joined", Severity: diag.Error, Ref: "RFC 6376 section 3.6.2.2", When: inOrder,
	}),
	tagRules.Long(rule.Rule[*evidence]{
		Code: "dkim.record.string.long", Severity: diag.Error, Ref: "RFC 1035 section 3.3",
		When: func(e *evidence) bool { return hasSingleRecord(e) && !lookedUp(e) && !e.quoted },
	}),
	tagRules.Line(rule.Rule[*evidence]{Code: "dkim.record.line", Severity: diag.Info}),
	{
		Code: "dkim.record.granularity", Severity: diag.Warning, Ref: "RFC 6376 appendix C.2",
		Title: "Obsolete tag g limits the key", Requirement: "No obsolete tag g limits the key to some addresses",
		Advice: "Remove the tag g: old verifiers refuse the key for other local parts, present ones ignore the tag.",
		When:   inOrder,
		Fails: func(e *evidence) rule.Failures {
			g, ok := e.key.List.Tag("g")
			return e.in("g", rule.FailIf(ok && g.Value != "*", "The tag g=%s is obsolete; verifiers of RFC 4871 used the "+
				"key for %s.", phrase.Quote(g.Value), granularity(g.Value))).Suggesting(e.repaired)
		},
	},
	{
		Code: "dkim.record.granularity.obsolete", Severity: diag.Info,
		DependsOn: []diag.Code{"dkim.record.granularity"}, Ref: "RFC 6376 appendix C.2",
		Title: "Obsolete tag g in the record", Requirement: "The record has no obsolete tag g",
		Advice: "Remove the tag g when you next change the record: verifiers ignore it.",
		Fails: func(e *evidence) rule.Failures {
			_, ok := e.key.List.Tag("g")
			return e.in("g", rule.FailIf(ok, "The tag g=* is obsolete, and verifiers ignore it.")).Suggesting(e.repaired)
		},
	},
}

// granularity describes the local parts that a value of g permits (RFC 4871 section 3.6.1).
func granularity(value string) string {
	if value == "" {
		return "no address"
	}
	return "no local parts but those that match " + phrase.Quote(value)
}

// hasHiddenPrefix reports whether a quotation mark or an invisible character precedes the v, so that v is not the
// name of the first tag.
func (e *evidence) hasHiddenPrefix() bool {
	_, ok := e.key.List.Tag("v")
	return !ok && strings.HasPrefix(strayCharacters.Replace(e.key.List.Text), "v=")
}

// inQuotes reports whether quotation marks keep the record from beginning as it should.
func (e *evidence) inQuotes() bool {
	head := strings.TrimLeft(e.key.List.Text, white+`\`)
	rest := strings.TrimLeft(strings.TrimPrefix(head, "v"), white+"=")
	return strings.IndexAny(head, taglist.Quotes) == 0 || strings.IndexAny(rest, taglist.Quotes) == 0
}

func (e *evidence) beginning() string {
	text := e.key.List.Text
	switch why := format.Resembles(text); {
	case strings.Contains(text, `\;`):
		return "The record does not begin with v=DKIM1: it has backslashes before its semicolons, which belong in zone " +
			"files only."
	case e.inQuotes():
		return "The record does not begin with v=DKIM1: there are quotation marks in front of it or around its values, " +
			"which are not part of a record."
	case why != "":
		return "The record does not begin with v=DKIM1: " + why + "."
	case e.hasHiddenPrefix():
		first, _ := utf8.DecodeRuneInString(text)
		return fmt.Sprintf("The record does not begin with v=DKIM1: the character %U precedes it.", first)
	default:
		return "The record begins with " + quoted(text) + ", not with v=DKIM1."
	}
}

func (e *evidence) isBareKey() bool {
	return e.key != nil && len(e.key.List.Tags) == 0 && repair(e.key.List.Text) != ""
}

func (e *evidence) in(tag string, list rule.Failures) rule.Failures {
	t, ok := e.key.List.Tag(tag)
	for i := range list {
		if list[i].Target = tag; ok {
			list[i].Location = &diag.Location{Offset: t.Offset, Length: t.Length}
		}
	}
	return list
}

var texts = rule.Texts{string(diag.Valid): {
	Headline: "DKIM key is published correctly",
	Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
}}

// textsOffline are those of a record that need not be published.
var textsOffline = rule.Texts{string(diag.Valid): {
	Headline: "DKIM record is valid",
	Sub:      "Verifiers can use the key once the record is published at its selector.",
}}

var (
	factorRecord   = rule.Category{Code: "record", Label: "Record"}
	factorSyntax   = rule.Category{Code: "syntax", Label: "Syntax"}
	factorKey      = rule.Category{Code: "key", Label: "Public key"}
	factorStrength = rule.Category{Code: "strength", Label: "Key strength"}
	factorUse      = rule.Category{Code: "use", Label: "Permitted use"}
)

var lookupRules = rule.Rules[*evidence]{reach.NoDomain(rule.Rule[*evidence]{
	Code: "dkim.domain.nxdomain", Reads: []rule.Source{fromDomain}, When: lookedUp,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.nonexistent(), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}), {
	Code: "dkim.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 6376 section 6.1.2",
	Title: "DKIM key could not be looked up", Requirement: "The name servers answer for the DKIM key",
	Advice: "Check the name servers of the domain: until they answer, verifiers defer mail or treat it as unsigned.",
	When:   func(e *evidence) bool { return lookedUp(e) && !e.nonexistent() },
	Fails: func(e *evidence) rule.Failures {
		if answered(e) && e.existenceKnown() {
			return nil
		} else if answered(e) {
			return rule.Fail("There is no record at %s, and whether the domain exists is not known: the SOA "+
				"lookup of %s failed: %s.",
				e.name(), e.domain, diag.Reason(e.apex.Err()))
		}
		detail := fmt.Sprintf("The TXT lookup of %s failed: %s.", e.name(), diag.Reason(e.txt.Err()))
		if aliased(e) {
			detail = fmt.Sprintf("%s is an alias (CNAME) of %s, whose TXT lookup failed: %s.", e.name(), e.target(),
				diag.Reason(e.txt.Err()))
		}
		return rule.Failures{{Detail: detail, Target: e.name()}}.Because(e.txt.Err())
	},
}, {
	Code: "dkim.record.alias.dangling", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 1,
	Category: factorRecord, DependsOn: []diag.Code{"dkim.record.unknown"}, Ref: "RFC 6376 section 3.6.2",
	Title: "CNAME of the DKIM selector leads to no key", Requirement: "The CNAME of the selector leads to a record",
	Advice: "Ask the service that runs the target to publish the key there, or copy the present target from its " +
		"settings; remove the CNAME if you no longer use the service.",
	When: aliased,
	Fails: func(e *evidence) rule.Failures {
		failure := rule.Failure{Target: e.target()}
		where := e.target()
		if s := e.service(); s != nil {
			where += " of " + s.Name
			failure.Advice = strings.TrimSpace("Set up DKIM for the domain again at " + s.Name + ", or remove the CNAME " +
				"if you no longer use the service. " + s.Sign)
		}
		switch {
		case e.txt.Exists():
			return nil
		case e.txt.NXDomain():
			failure.Detail = fmt.Sprintf("%s is an alias (CNAME) of %s, which does not exist.", e.name(), where)
		default:
			failure.Detail = fmt.Sprintf("%s is an alias (CNAME) of %s, which has no TXT record.", e.name(), where)
		}
		return rule.Failures{failure}
	},
}, {
	Code: "dkim.record.missing", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 10, Category: factorRecord,
	Reads: []rule.Source{fromRecord, fromDomain}, DependsOn: []diag.Code{"dkim.record.unknown"},
	Ref: "RFC 6376 section 3.6.2.1", Title: "No DKIM key at this selector",
	Requirement: "There is a DKIM key at the selector",
	Advice: "Publish the record that your mail system or service shows for this selector, or check the selector: it " +
		"is s= of a DKIM-Signature field.",
	When: func(e *evidence) bool { return !aliased(e) || e.txt.Exists() },
	Fails: func(e *evidence) rule.Failures {
		f := missing(e)
		if found := e.failMisplaced(); len(f) > 0 && len(found) > 0 {
			f[0].Detail += " " + found[0].Detail
			f[0].Target, f[0].Suggested = found[0].Target, found[0].Suggested
			f[0].Advice = "Move the record to the selector's name. Many control panels add the domain themselves: enter only " +
				"the part before it."
		}
		return f
	},
}}

func missing(e *evidence) rule.Failures {
	if len(e.otherTexts) > 0 && len(e.found.Records) == 0 {
		where := ""
		if fromWildcard(e) {
			where = "comes from a wildcard and "
		}
		return rule.Fail("The TXT record at %s %sis not a DKIM key: %q.", e.name(), where, phrase.Quote(e.otherTexts[0]))
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
	return rule.FailIf(len(e.found.Records) == 0, "There is no TXT record at %s%s", e.name(), more)
}

func (e *evidence) failMisplaced() rule.Failures {
	return rule.FailEach(e.places, func(p place) rule.Failures {
		for _, text := range textsOf(p.answer) {
			k := ParseKey(text)
			if !format.Is(text) || k.Err() != nil {
				continue
			}
			return rule.Fail("There is one at %s, the name of the selector %s; verifiers look for it at %s.", p.name, p.what,
				e.name()).About(p.name).Suggesting(text)
		}
		return nil
	})
}

var recordRules = rule.Rules[*evidence]{
	{
		Code: "dkim.record.split", Severity: diag.Critical, Weight: 5, Category: factorRecord,
		Ref: "RFC 6376 section 3.6.2.2", Title: "DKIM key spread over several TXT records",
		Requirement: "The whole key is in one TXT record",
		Advice: "Publish the suggested record as one TXT record, split into strings of at most 255 bytes, and remove " +
			"the parts.",
		When: func(e *evidence) bool { return lookedUp(e) && len(e.found.Records) > 0 },
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.split(), "The key is spread over the %d TXT records at %s, which only together are one record.",
				len(e.found.Records)+len(e.otherTexts), e.name()).Suggesting(e.repaired)
		},
	},
	tagRules.Multiple(rule.Rule[*evidence]{
		Code: "dkim.record.multiple", Severity: diag.Error, Weight: 5, Category: factorRecord,
		DependsOn: []diag.Code{"dkim.record.split"}, Ref: "RFC 6376 section 3.6.2.2",
		Title: "More than one DKIM key at this selector", Requirement: "There is one DKIM key at the selector",
		Advice: "Keep the record whose private key signs and remove the others; a further key needs a selector of " +
			"its own. Which one verifiers use is not defined.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(len(e.found.Records) > 1, "There are %d key records at %s: %s.", len(e.found.Records), e.name(),
				e.summary()).Suggesting(e.repaired)
		},
	}),
	{
		Code: "dkim.record.other", Severity: diag.Warning, DependsOn: []diag.Code{"dkim.record.split"},
		Ref: "RFC 6376 section 3.6.2.2", Title: "Another TXT record beside the DKIM key",
		Requirement: "The key record is the only TXT record at the selector",
		Advice:      "Remove the other record: TXT records at a selector must be unique, and some verifiers join them all.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.otherTexts, func(text string) rule.Failures {
				return rule.Fail("Beside the key there is another TXT record at %s: %q.", e.name(), phrase.Quote(text))
			})
		},
	},
	{
		Code: "dkim.record.order", Severity: diag.Critical, Weight: 1, Category: factorRecord,
		Ref: "RFC 6376 section 3.6.2.2", Title: "Strings of the DKIM record are out of order",
		Requirement: "The character-strings of the record are in order",
		Advice:      "Publish the suggested record: its strings are joined in their order.",
		When: func(e *evidence) bool {
			return hasSingleRecord(e) && (len(e.found.Strings) > 1 || e.assembled != "") && !e.split()
		},
		Fails: func(e *evidence) rule.Failures {
			if at := e.swappedPrefix; at != "" {
				return rule.Fail("The parts of the public key are in the wrong order: %s, the beginning of an RSA key, is in "+
					"the middle of p=.", at).Suggesting(e.repaired)
			}
			return rule.FailIf(e.assembled != "", "The %d strings of the record hold no key in their order, and a whole one in "+
				"another.", len(e.found.Strings)).Suggesting(e.repaired)
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
