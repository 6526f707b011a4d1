package bimi

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(slices.Concat(lookupRules, absenceRules,
		recordRules.With(rule.Rule[*evidence]{Category: factorRecord}), tagRules).Reading(fromRecord),
		slices.Concat(dmarcRules, logoRules, certificateRules, comparedRules).Reading(rule.FromRequest), // each knows itself
		surroundingRules.Reading(fromRecord))
})

const (
	internetDraft  = "draft-brand-indicators-for-message-identification-14"
	refDefinition  = internetDraft + " section 4.3"
	refDeclination = internetDraft + " section 4.3.1"
	refFormats     = internetDraft + " section 4.3.2"
	refLocalPart   = internetDraft + " section 4.5"
	refHeader      = internetDraft + " section 5.1"
	refDMARC       = internetDraft + " section 7.1"
	refDiscovery   = internetDraft + " section 7.2"
	refEvidence    = internetDraft + " section 7.4"
	refValidation  = internetDraft + " section 7.6"
)

var tagFinder = taglist.Finder[*evidence]{
	Kit: taglist.Kit[*evidence]{
		Format: record.Format, Ref: refDefinition, Found: func(e *evidence) *taglist.Found { return &e.found },
		Suggest: func(e *evidence) string { return e.suggested },
	},
	Label: "<selector>." + record.Node, Name: (*evidence).name,
	At:        func(e *evidence) *diag.Answer[*dns.TXT] { return &e.discovery.Own().Answer },
	Elsewhere: func(e *evidence) *taglist.Elsewhere { return &e.surroundings.Elsewhere },
}

func lookedUp(e *evidence) bool { return !e.offline }

var lookupRules = rule.Rules[*evidence]{{
	Code: "bimi.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: refDiscovery,
	Title: "BIMI record could not be looked up", Requirement: "The name servers answer for the BIMI record",
	Advice: "Check that every name server of the domain answers TXT queries: until then receivers show no logo.",
	When:   lookedUp, Fails: func(e *evidence) rule.Failures {
		if e.failing == nil {
			return nil
		}
		return rule.Fail("The TXT lookup of %s failed: %s.", e.failing.Name, diag.Reason(e.failing.Answer.Err())).
			Because(e.failing.Answer.Err())
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "bimi.domain.nxdomain", DependsOn: []diag.Code{"bimi.record.unknown"},
	When: func(e *evidence) bool { // what has a name below it exists (RFC 8020 section 2)
		_, known := e.exists()
		return known || !e.discovery.Own().Answer.NXDomain()
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.nonexistent(), "The DNS answers NXDOMAIN for %s.", e.domain())
	},
})}

func isAliased(e *evidence) bool { return len(e.discovery.Own().Answer.Aliases) > 0 }

// absenceRules are about a record that is not there, or not where receivers look. They apply to a domain with a record,
// too, which fulfils them.
var absenceRules = rule.Rules[*evidence]{tagFinder.Location(rule.Rule[*evidence]{
	Code: "bimi.record.location", Severity: diag.Warning, StateIfFailed: diag.Missing, NoScore: true,
	Reads: []rule.Source{fromRecord, fromSurroundings}, Ref: refDiscovery,
	When: func(e *evidence) bool { return lookedUp(e) && (e.hasRecords() || e.isAbsent()) },
}), tagFinder.Alias(rule.Rule[*evidence]{
	Code: "bimi.record.alias", Severity: diag.Warning, StateIfFailed: diag.Missing, NoScore: true,
	When: func(e *evidence) bool { return lookedUp(e) && isAliased(e) && (e.hasRecords() || e.isAbsent()) },
}), {
	Code: "bimi.record.missing", Optional: true, Severity: diag.Info, StateIfFailed: diag.Missing, Ref: refDiscovery,
	Title: "No BIMI record", Requirement: "The domain has a BIMI record",
	Advice: "Leave it unless you want mailboxes to show your logo. For that you need a DMARC policy of quarantine or " +
		"reject and a logo in SVG Tiny PS, and for most large mailbox providers a mark certificate.",
	When:  func(e *evidence) bool { return lookedUp(e) && (e.hasRecords() || e.isAbsent() && !hasMisplaced(e)) },
	Fails: failAbsent,
}}

func hasMisplaced(e *evidence) bool {
	return e.surroundings.Unknown == "" && len(e.surroundings.Places) > 0 || isAliased(e)
}

func (e *evidence) queriedNames() string {
	if org := e.discovery.At(e.discovery.Organizational()); org != nil && org != e.discovery.Own() {
		return e.name() + " or " + org.Name
	}
	return e.name()
}

func failAbsent(e *evidence) rule.Failures {
	if e.hasRecords() {
		return nil
	}
	f := rule.Fail("There is no BIMI record at %s.", e.queriedNames())
	if e.surroundings.fallbackRecord != "" {
		f[0].Detail += " There is one for the selector default, which receivers do not use for messages that name another " +
			"selector."
		f[0].Advice = "Check the spelling of the selector. Publish a record for it, or leave the field BIMI-Selector out " +
			"of messages."
	} else if reason := e.eligibility.firstObstacle(); reason != "" {
		f[0].Detail += " One would have no effect yet. " + reason
		f[0].Advice = "Leave it unless you want mailboxes to show your logo. For that set up DMARC first, with a policy of " +
			"quarantine or reject; then you need a logo in SVG Tiny PS, and for most large mailbox providers a mark certificate."
		f[0].Optional = true
	}
	return f
}

var recordRules = rule.Rules[*evidence]{
	tagFinder.Version(rule.Rule[*evidence]{
		Code: "bimi.record.version", Severity: diag.Critical, Weight: 3,
		Title: "BIMI record does not begin with v=BIMI1;", Requirement: "The BIMI record begins with v=BIMI1;",
	}),
	tagFinder.Stray(rule.Rule[*evidence]{
		Code: "bimi.record.stray", Severity: diag.Warning,
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.found.Strays, func(s taglist.Stray) rule.Failures {
				f := rule.Fail("Receivers ignore the TXT record %q: %s.", phrase.Quote(s.Text), s.Why).Suggesting(e.suggested)
				if slices.Contains(e.otherTexts(), s.Text) {
					f[0].Advice = "Publish all tags in one TXT record, and remove the other: receivers do not join records."
				}
				return f
			})
		},
	}),
	tagFinder.Multiple(rule.Rule[*evidence]{
		Code: "bimi.record.multiple", Severity: diag.Critical, Weight: 3, Category: factorRecord, Ref: refDiscovery,
		Advice: "Remove all records but one: with several, receivers use none. Publish records for other logos at other " +
			"selectors.",
		Fails: func(e *evidence) rule.Failures {
			n := len(e.found.Records)
			return rule.FailIf(n > 1, "There are %d records that begin with v=BIMI1 at %s.", n, kit.OrZero(e.place).Name).
				Suggesting(e.suggested)
		},
	}),
	tagFinder.Syntax(rule.Rule[*evidence]{
		Code: "bimi.record.syntax", Severity: diag.Error, Weight: 3, Category: factorRecord,
		Advice: "Write each tag as name=value, and a semicolon between two of them: receivers must not guess what was meant.",
	}),
	tagFinder.Repeated(rule.Rule[*evidence]{
		Code: "bimi.record.repeated", Severity: diag.Error, Weight: 2, Category: factorRecord, Ref: "RFC 6376 section 3.2",
		Advice: "Keep the tag with the value that is meant and remove the other: a record in which a tag appears twice is " +
			"not valid.",
	}),
	tagFinder.Joined(rule.Rule[*evidence]{Code: "bimi.record.joined", Severity: diag.Error}),
	tagFinder.Long(rule.Rule[*evidence]{
		Code: "bimi.record.string.long", Severity: diag.Error, Ref: "RFC 1035 section 3.3",
		When: func(e *evidence) bool { return tagFinder.HasOne(e) && e.offline },
	}),
	tagFinder.Line(rule.Rule[*evidence]{
		Code: "bimi.record.line", Severity: diag.Info,
		When: func(e *evidence) bool { return tagFinder.HasOne(e) && e.offline },
	}),
	{
		Code: "bimi.record.blank", Severity: diag.Warning, Ref: refDefinition,
		Title:       "White space before the first semicolon of the record",
		Requirement: "The record begins with v=BIMI1; without white space",
		Advice:      "Write v=BIMI1; without a space: the syntax allows one, but some receivers ignore such a record.",
		When:        tagFinder.HasOne, Fails: func(e *evidence) rule.Failures {
			head, _, _ := strings.Cut(e.found.Records[0], ";")
			blank := strings.ContainsAny(head, " \t\r\n")
			return rule.FailIf(blank, "The record %q has white space before its first semicolon.",
				phrase.Quote(e.found.Records[0])).Suggesting(e.suggested)
		},
	},
	{
		Code: "bimi.record.case", Severity: diag.Error, Ref: "RFC 6376 section 3.2",
		Title: "Name of a tag is not in lower case", Requirement: "The names of all tags are in lower case",
		Advice: "Write the names of tags in lower case: they are case-sensitive, and receivers must not correct " +
			"capitalization.",
		When: tagFinder.HasOne, Fails: tagFinder.Faults(record.BadCase),
	},
}

var (
	factorRecord      = rule.Category{Code: "record", Label: "Record"}
	factorDMARC       = rule.Category{Code: "dmarc", Label: "DMARC policy"}
	factorLogo        = rule.Category{Code: "logo", Label: "Logo"}
	factorCertificate = rule.Category{Code: "certificate", Label: "Certificate"}
)

var textsOffline = func() rule.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{
		Headline: "BIMI record is correct",
		Sub:      "The text was examined; logo, certificate and DMARC were not. Publish it and look the domain up.",
	}
	t["valid"] = t["excellent"]
	return t
}()

// texts are those for what was examined: the words of the parts where they speak for the whole, and no praise for what
// was not fetched.
func (e *evidence) texts() rule.Texts {
	t := maps.Clone(texts)
	for p, codes := range map[*part][]diag.Code{
		e.logo: {"bimi.logo_file.unknown", "bimi.logo_file.invalid", "bimi.logo_file.flawed"},
		e.mark: {"bimi.certificate.unknown", "bimi.certificate.invalid", "bimi.certificate.flawed"},
	} {
		for _, code := range codes {
			if p != nil {
				t[string(code)] = p.Text
			}
		}
	}
	what, rest := "", ""
	located := e.wantsLogo() && e.logo == nil
	switch certified := e.wantsLogo() && e.mark == nil && e.record.Authority.Text != ""; {
	case located && certified:
		what, rest = "BIMI record and DMARC policy are correct", "Logo and certificate were not examined."
	case located:
		what, rest = "BIMI record, certificate and DMARC policy are correct", "The logo was not examined."
	case certified:
		what, rest = "BIMI record, logo and DMARC policy are correct", "The certificate was not examined."
	default:
		return t
	}
	t["excellent"] = diag.Text{Headline: what, Sub: rest}
	t["valid"] = t["excellent"]
	return t
}

var texts = rule.Texts{
	"excellent": {Headline: "BIMI is set up correctly",
		Sub: "Receivers that support BIMI can show the logo. Each decides, based on your sending reputation."},
	"valid": {Headline: "BIMI is set up",
		Sub: "Receivers that support BIMI can show the logo. Each decides, based on your sending reputation."},
	"bimi.record.declined": {Headline: "BIMI is declined: the domain wants no logo shown",
		Sub: "Receivers show none. Write the address of a logo into l if one is to be shown."},
}
