package dkim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(lookupRules, recordRules, syntaxRules,
		keyRules.With(diag.Rule[*evidence]{Category: factorKey, When: atHand}),
		strengthRules.With(diag.Rule[*evidence]{Category: factorStrength, When: isRSA}),
		useRules.With(diag.Rule[*evidence]{Category: factorUse, When: atHand})).Reading(fromRecord)
})

var kit = taglist.Kit[*evidence]{
	Format: format, Ref: "RFC 6376 section 3.2",
	Found: func(e *evidence) *taglist.Found { return &e.found }, Suggest: (*evidence).suggestion,
}

const keySection = "RFC 6376 section 3.6.1"

var syntaxRules = diag.Rules[*evidence]{
	kit.Syntax(diag.Rule[*evidence]{
		Code: "dkim.record.version", Severity: diag.Critical, Weight: 10, Category: factorSyntax, Ref: keySection,
		Title:       "DKIM record does not begin with v=DKIM1",
		Requirement: "The tag v comes first and says DKIM1, or is left out",
		Advice:      "Begin the record with exactly v=DKIM1; in this letter case: verifiers discard the record otherwise.",
		When:        inOrder,
		Fails: func(e *evidence) diag.Failures {
			if e.quoted {
				return diag.Fail("The record does not begin with v=DKIM1: it has quotation marks around it, which belong into zone " +
					"files only.").About("v").Suggesting(cmp.Or(e.suggestion(), e.key.List.Text))
			}
			list := kit.Faults(taglist.Misplaced)(e)
			if len(list) == 0 && e.masked() {
				list = diag.Fail("").Suggesting(e.suggestion())
			}
			for i := range list {
				list[i].Detail = e.beginning()
				if kind := e.foreign(); kind != "" {
					list[i].Detail = "The text is " + kind + ", not the record of a DKIM key."
					list[i].Advice = "Enter the TXT record at the selector, below _domainkey: it has the public key in p=."
				}
			}
			return list.About("v")
		},
	}),
	kit.Syntax(diag.Rule[*evidence]{
		Code: "dkim.record.syntax", Severity: diag.Error, Weight: 8, Category: factorSyntax,
		When: func(e *evidence) bool { return inOrder(e) && !e.bare() && e.foreign() == "" },
	}, taglist.Empty, taglist.NoEquals, taglist.BadName, taglist.BadValue, taglist.Unparted, badList),
	kit.Repeated(diag.Rule[*evidence]{
		Code: "dkim.record.repeated", Severity: diag.Error, Weight: 2, Category: factorSyntax, When: inOrder,
	}),
	kit.Joined(diag.Rule[*evidence]{
		Code: "dkim.record.joined", Severity: diag.Error, Ref: "RFC 6376 section 3.6.2.2", When: inOrder,
	}),
	kit.Long(diag.Rule[*evidence]{
		Code: "dkim.record.string.long", Severity: diag.Error, Ref: "RFC 1035 section 3.3",
		When: func(e *evidence) bool { return one(e) && !online(e) && !e.quoted },
	}),
	kit.Line(diag.Rule[*evidence]{Code: "dkim.record.line", Severity: diag.Info}),
	{
		Code: "dkim.record.granularity", Severity: diag.Warning, Ref: "RFC 6376 appendix D",
		Title: "Obsolete tag g limits the key", Requirement: "No obsolete tag g limits the key to some addresses",
		Advice: "Remove the tag g: old verifiers refuse the key for other local parts, present ones ignore the tag.",
		When:   inOrder,
		Fails: func(e *evidence) diag.Failures {
			g, ok := e.key.List.Tag("g")
			return e.in("g", diag.FailIf(ok && g.Value != "*", "The tag g=%s is obsolete; verifiers of RFC 4871 used the "+
				"key for %s.",
				diag.Quote(g.Value), granularity(g.Value))).Suggesting(e.suggestion())
		},
	},
	{
		Code: "dkim.record.granularity.obsolete", Severity: diag.Info,
		DependsOn: []diag.Code{"dkim.record.granularity"}, Ref: "RFC 6376 appendix D",
		Title: "Obsolete tag g in the record", Requirement: "The record has no obsolete tag g",
		Advice: "Remove the tag g when you next change the record: verifiers ignore it.",
		Fails: func(e *evidence) diag.Failures {
			_, ok := e.key.List.Tag("g")
			return e.in("g", diag.FailIf(ok, "The tag g=* is obsolete, and verifiers ignore it.")).Suggesting(e.suggestion())
		},
	},
}

// granularity says which local parts a value of g lets through (RFC 4871 section 3.6.1).
func granularity(value string) string {
	if value == "" {
		return "no address"
	}
	return "no local parts but those that match " + diag.Quote(value)
}

// masked reports whether something stands before the v, so that it is not the name of the first tag: a quotation mark,
// or a character that nobody sees.
func (e *evidence) masked() bool {
	_, ok := e.key.List.Tag("v")
	return !ok && strings.HasPrefix(noise.Replace(e.key.List.Text), "v=")
}

func (e *evidence) beginning() string {
	text := e.key.List.Text
	switch why := format.Resembles(text); {
	case strings.Contains(text, `\;`):
		return "The record does not begin with v=DKIM1: it has backslashes before its semicolons, which belong in zone " +
			"files only."
	case why != "":
		return "The record does not begin with v=DKIM1: " + why + "."
	case e.masked():
		first, _ := utf8.DecodeRuneInString(text)
		return fmt.Sprintf("The record does not begin with v=DKIM1: the character %U stands before it.", first)
	default:
		return "The record begins with " + quoted(text) + ", not with v=DKIM1."
	}
}

func (e *evidence) bare() bool {
	return e.key != nil && len(e.key.List.Tags) == 0 && repair(e.key.List.Text) != ""
}

// in names the tag that failures are about, and where it is.
func (e *evidence) in(tag string, list diag.Failures) diag.Failures {
	t, ok := e.key.List.Tag(tag)
	for i := range list {
		if list[i].Target = tag; ok {
			list[i].Location = &diag.Location{Offset: t.Offset, Length: t.Length}
		}
	}
	return list
}

var texts = diag.Texts{string(diag.Valid): {
	Headline: "DKIM key is published correctly",
	Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
}}

// textsOffline are those of a record that need not be published.
var textsOffline = diag.Texts{string(diag.Valid): {
	Headline: "DKIM record is valid",
	Sub:      "Verifiers can use the key once the record is published at its selector.",
}}

var (
	factorRecord   = diag.Category{Code: "record", Label: "Record"}
	factorSyntax   = diag.Category{Code: "syntax", Label: "Syntax"}
	factorKey      = diag.Category{Code: "key", Label: "Public key"}
	factorStrength = diag.Category{Code: "strength", Label: "Key strength"}
	factorUse      = diag.Category{Code: "use", Label: "Permitted use"}
)
