package markcert

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

const fieldsRef = mcr + " section 7.1.4.2.2"

const reissue = "Ask the authority to reissue the certificate with the right fields. Receivers currently show " +
	"the logo regardless."

// required are the fields that each mark certificate has, and those that a mark type asks for besides.
var (
	required    = []field{organization, streetAddress, country, businessCategory, registrationNumber, jurisdictionLand}
	requiredFor = map[MarkType][]field{
		registered: {trademarkLand, trademarkID}, modifiedRegistered: {trademarkLand, trademarkID},
		Government: {statuteLand, statuteCitation},
	}
	trademarks = []MarkType{registered, modifiedRegistered}
	// allowedFor are the mark types that have a field at all.
	allowedFor = []struct {
		field field
		types []MarkType
	}{
		{trademarkOffice, trademarks}, {trademarkLand, trademarks}, {trademarkID, trademarks},
		{statuteLand, []MarkType{Government}}, {statuteState, []MarkType{Government}}, {statutePlace, []MarkType{Government}},
		{statuteCitation, []MarkType{Government}}, {statuteURL, []MarkType{Government}},
		{priorUseURL, []MarkType{PriorUse}},
	}
	// implied are fields that ask for another one: a place lies in a state.
	implied = map[field]field{jurisdictionPlace: jurisdictionState, statutePlace: statuteState}
)

// categories are the kinds of organizations (section 4.1.1 of the EV Guidelines).
var categories = []string{"Private Organization", "Government Entity", "Business Entity", "Non-Commercial Entity"}

// sourceSince is since when certificates for marks in prior use say where the authority saw the mark.
var sourceSince = time.Date(2025, time.April, 15, 0, 0, 0, 0, time.UTC)

func typed(e *evidence) bool {
	return marked(e) && e.mark.Subject.Type() != unknownType && e.mark.Subject.MarkType() != provisional
}

var subjectRules = diag.Rules[*evidence]{{
	Code: "markcert.type.unknown", Severity: diag.Error, Weight: 3, Ref: fieldsRef,
	Title: "Mark type missing or unknown", Requirement: "The certificate says how the mark was verified",
	Advice: "Ask the authority to reissue the certificate with the mark type: mailboxes choose by it whether to show " +
		"the logo, and whether with a check mark.",
	Fails: func(e *evidence) diag.Failures {
		t := e.mark.Subject.MarkType()
		if e.mark.Subject.Type() != unknownType {
			return nil
		}
		if t == "" {
			return diag.Fail("The subject has no mark type (1.3.6.1.4.1.53087.1.13), and no trademark from which it could " +
				"be inferred.")
		}
		return diag.Fail("The mark type is %q, which is none of those that are known: Registered Mark, Government Mark, "+
			"Prior Use Mark, Modified Registered Mark.", diag.Quote(string(t)))
	},
}, {
	Code: "markcert.type.common", Severity: diag.Info, DependsOn: []diag.Code{"markcert.type.unknown"}, Ref: mcr,
	Title: "Common mark certificate (CMC)", Requirement: "The certificate is a verified mark certificate (VMC)",
	Advice: "Check that the mailboxes that matter to you accept it: Gmail shows the logo without the check mark, Apple " +
		"Mail asks for a verified mark certificate, which needs a registered trademark.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.mark.Subject.Type() == cmc, "The mark type %s makes it a common mark certificate.",
			e.mark.Subject.MarkType())
	},
}, {
	Code: "markcert.subject.missing", Severity: diag.Warning, Weight: 2, Ref: fieldsRef,
	Title: "Required fields missing in the subject", Requirement: "The subject has all required fields",
	Advice: reissue,
	Fails: func(e *evidence) diag.Failures {
		s, t := e.mark.Subject, e.mark.Subject.MarkType()
		return diag.FailEach(slices.Concat(required, requiredFor[t]), func(f field) diag.Failures {
			what := "each mark certificate"
			if slices.Contains(requiredFor[t], f) {
				what = "a certificate for a " + string(t)
			}
			return diag.FailIf(!s.Has(f), "The subject has no %s, which %s must have.", f, what).About(string(f))
		})
	},
}, {
	Code: "markcert.subject.place", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Neither locality nor state in the subject", Requirement: "The subject has a locality or a state",
	Advice: reissue,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!e.mark.Subject.Has(locality) && !e.mark.Subject.Has(stateOrProvince),
			"The subject has neither localityName nor stateOrProvinceName; one of the two is required.")
	},
}, {
	Code: "markcert.subject.state", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Place without its state in the subject", Requirement: "Places in the subject come with their state",
	Advice: reissue,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach([]field{jurisdictionPlace, statutePlace}, func(f field) diag.Failures {
			return diag.FailIf(e.mark.Subject.Has(f) && !e.mark.Subject.Has(implied[f]),
				"The subject has %s without %s.", f, implied[f]).About(string(f))
		})
	},
}, {
	Code: "markcert.subject.category", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Unknown business category", Requirement: "The business category is one of the four that are defined",
	Advice: reissue,
	When:   func(e *evidence) bool { return marked(e) && e.mark.Subject.Has(businessCategory) },
	Fails: func(e *evidence) diag.Failures {
		c := e.mark.Subject.Get(businessCategory)
		return diag.FailIf(!slices.Contains(categories, c), "The businessCategory is %q, not one of: %s.",
			diag.Quote(c), strings.Join(categories, ", ")).About(string(businessCategory))
	},
}, {
	Code: "markcert.subject.source", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title:       "Source of the mark in prior use missing",
	Requirement: "A certificate for a mark in prior use says where the mark was seen",
	Advice:      reissue,
	When:        func(e *evidence) bool { return marked(e) && e.mark.Subject.MarkType() == PriorUse },
	Fails: func(e *evidence) diag.Failures {
		begin := e.mark.X509.NotBefore
		return diag.FailIf(!begin.Before(sourceSince) && !e.mark.Subject.Has(priorUseURL),
			"The subject has no %s, which certificates for a Prior Use Mark must have since %s; this one is of %s.",
			priorUseURL, date(sourceSince), date(begin)).About(string(priorUseURL))
	},
}, {
	Code: "markcert.subject.foreign", Severity: diag.Warning, Weight: 1, Ref: fieldsRef,
	Title: "Fields of another mark type in the subject", Requirement: "The subject has no field of another mark type",
	Advice: reissue,
	When:   typed, Fails: func(e *evidence) diag.Failures {
		var all diag.Failures
		for _, a := range allowedFor {
			if e.mark.Subject.Has(a.field) && !slices.Contains(a.types, e.mark.Subject.MarkType()) {
				all = append(all, diag.Fail("The subject has %s, which a certificate for a %s must not have.",
					a.field, e.mark.Subject.MarkType()).About(string(a.field))...)
			}
		}
		return all
	},
}}
