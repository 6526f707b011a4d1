package logo

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(recordRules, logoRules())
})

// logoRules are those that need no record.
var logoRules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(serverRules, answerRules, formatRules.With(rule{Category: factorFormat}),
		safetyRules.With(rule{Category: factorSafety}), profileRules.With(rule{Category: factorProfile}),
		titleRules.With(rule{Category: factorTitle}), designRules.With(rule{Category: factorDesign}))
})

// Where it is written.
const (
	draftBIMI  = "draft-brand-indicators-for-message-identification-14"
	refRecord  = draftBIMI + " section 4.3"
	refFormats = draftBIMI + " section 4.3.2"
	refFetch   = draftBIMI + " section 7.5"
)

func byDomain(e *evidence) bool { return e.discovery != nil }

func nonexistent(e *evidence) bool {
	return e.apex.NXDomain() && len(e.apex.Aliases) == 0 && e.place == nil
}

// recordRules are about the record that names the logo, as far as it keeps the logo from being found. The package
// mailauth/bimi judges the record itself.
var recordRules = diag.Rules[*evidence]{{
	Code: "bimi.logo.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: refRecord,
	Title: "BIMI record could not be looked up", Requirement: "The name servers answer for the BIMI record",
	Advice: "Check that every name server of the domain answers TXT queries: until then receivers show no logo.",
	When:   byDomain, Fails: func(e *evidence) diag.Failures {
		if e.failure == nil {
			return nil
		}
		return diag.Fail("It is not known which logo the domain publishes: %s.", diag.Reason(e.failure)).Because(e.failure)
	},
}, {
	Code: "bimi.logo.domain.nxdomain", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true,
	Fact: ground.NoName, DependsOn: []diag.Code{"bimi.logo.record.unknown"}, Ref: "RFC 8020 section 2",
	Title: "Domain does not exist", Requirement: "The domain exists",
	Advice: "Check the spelling of the domain, its registration and its delegation.",
	When:   func(e *evidence) bool { return e.apex.Err() == nil || e.place != nil },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(nonexistent(e), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}, {
	Code: "bimi.logo.record.missing", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"bimi.logo.record.unknown"}, Ref: refRecord,
	Title: "No BIMI record", Requirement: "The domain has a BIMI record",
	Advice: "Leave it unless you want mailboxes to show your logo. For that you need a DMARC policy of quarantine or " +
		"reject, a logo in SVG Tiny PS and, for most mailboxes, a certificate for it.",
	When: func(e *evidence) bool { return !nonexistent(e) },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.place == nil, "There is no BIMI record at %s.", e.discovery.Own().Name)
	},
}, {
	Code: "bimi.logo.record.multiple", Severity: diag.Critical, DependsOn: []diag.Code{"bimi.logo.record.missing"},
	Ref:   refRecord,
	Title: "More than one BIMI record", Requirement: "There is one BIMI record",
	Advice: "Remove all BIMI records at this name but one: receivers use none of several.",
	Fails: func(e *evidence) diag.Failures {
		n := len(e.place.Found.Records)
		return diag.FailIf(n > 1, "There are %d BIMI records at %s.", n, e.place.Name)
	},
}, {
	Code: "bimi.logo.record.declined", Severity: diag.Info, NoScore: true,
	DependsOn: []diag.Code{"bimi.logo.record.multiple"}, Ref: draftBIMI + " section 4.3.1",
	Title: "Domain declines to have a logo shown", Requirement: "The BIMI record asks for a logo to be shown",
	Advice: "Leave it unless you want mailboxes to show your logo; then write its address into l.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.record.Declined, "The BIMI record at %s has an empty l and an empty a.", e.place.Name)
	},
}, {
	Code: "bimi.logo.record.http", Severity: diag.Error, DependsOn: []diag.Code{"bimi.logo.record.declined"},
	Ref:   refRecord,
	Title: "Logo address begins with http, not https", Requirement: "The address of the logo begins with https",
	Advice: "Serve the logo by https, then write the address with https:// into l: receivers fetch no other.",
	Fails: func(e *evidence) diag.Failures {
		l := e.record.Location
		return diag.FailIf(l.Fault == record.Insecure, "The tag l of the BIMI record is %s.", diag.Quote(l.Text)).About("l")
	},
}, {
	Code: "bimi.logo.record.address", Severity: diag.Error, DependsOn: []diag.Code{"bimi.logo.record.http"},
	Ref:   refRecord,
	Title: "BIMI record has no usable logo address", Requirement: "The BIMI record has a usable address of a logo",
	Advice: "Write the one full address of the logo, such as https://example.com/logo.svg, into l.",
	Fails: func(e *evidence) diag.Failures {
		l := e.record.Location
		switch {
		case l.Usable():
			return nil
		case l.Text == "":
			return diag.Fail("The BIMI record at %s has no address in l.", e.place.Name).About("l")
		}
		return diag.Fail("The tag l of the BIMI record is %s: it %s.", diag.Quote(l.Text), l.Problem).About("l")
	},
}}

var texts = diag.Texts{
	"valid": {Headline: "The BIMI logo can be fetched and follows SVG Tiny PS",
		Sub: "Receivers can show it, if the domain's DMARC policy is enforced; many also ask for a certificate."},
	"bimi.logo.record.declined": {Headline: "The domain declines to have a logo shown",
		Sub: "The BIMI record says so with an empty l. There is no logo to examine."},
}

// The factors of the score, in the order of a reader.
var (
	factorServer  = diag.Category{Code: "server", Label: "Web server"}
	factorFormat  = diag.Category{Code: "format", Label: "File format"}
	factorSafety  = diag.Category{Code: "safety", Label: "Safety"}
	factorProfile = diag.Category{Code: "profile", Label: "SVG Tiny PS"}
	factorTitle   = diag.Category{Code: "title", Label: "Title"}
	factorDesign  = diag.Category{Code: "design", Label: "Shape and size"}
)
