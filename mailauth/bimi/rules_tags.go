package bimi

import (
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

func hasRecord(e *evidence) bool { return e.record != nil }

// whole reports whether there is one record, in which no tag is hidden in another.
func whole(e *evidence) bool { return e.record != nil && !e.torn() }

var tagRules = diag.Rules[*evidence]{{
	Code: "bimi.record.declined", Severity: diag.Info, Ref: refDeclination,
	Title: "Record declines BIMI: l and a are empty", Requirement: "The record asks for a logo to be shown",
	When: hasRecord, Fails: func(e *evidence) diag.Failures {
		text := "l and a are empty: the domain does not take part in BIMI."
		if e.record.LocalPartSelectors {
			text = "l and a are empty: no logo is shown but for senders whose local part is a selector (lps)."
		}
		return diag.FailIf(e.record.Declined, "%s", text)
	},
}, {
	Code: "bimi.location.missing", Severity: diag.Error, Weight: 4, Category: factorLogo, Ref: refDefinition,
	Title: "BIMI record has no logo address (l)", Requirement: "The record has the address of a logo, or declines",
	Advice: "Write the https address of the logo into l. To decline, publish v=BIMI1; l=; a=; instead.",
	When:   whole, Fails: kit.Faults(record.NoLocation),
}, uriRule(rule{
	Code: "bimi.location.http", Severity: diag.Error, Weight: 4, Category: factorLogo,
	Title: "Logo address (l) is http instead of https", Requirement: "The logo address is https",
	Advice: "Serve the logo by https, check in a browser that it appears without a warning, and write that address " +
		"into l: receivers fetch by https only.",
}, "l", location, record.Insecure), uriRule(rule{
	Code: "bimi.location.format", Severity: diag.Error, Weight: 4, Category: factorLogo, Ref: refFormats,
	Title:       "Logo address (l) names a file that is not SVG",
	Requirement: "The logo address names no file of another format than SVG",
	Advice:      "Export the logo as SVG Tiny PS and write the address of that file into l: receivers take no other format.",
}, "l", location, record.WrongFormat), uriRule(rule{
	Code: "bimi.location.invalid", Severity: diag.Error, Weight: 4, Category: factorLogo,
	Title: "Logo address (l) cannot be used", Requirement: "The logo address is one that receivers can use",
	Advice: "Write the one full address of the logo, such as https://example.com/logo.svg, into l.",
}, "l", location, record.Several, record.Comma, record.Malformed), uriRule(rule{
	Code: "bimi.authority.http", Severity: diag.Error, Weight: 3, Category: factorCertificate,
	Title: "Certificate address (a) is http instead of https", Requirement: "The certificate address is https",
	Advice: "Serve the certificate by https, check that it can be fetched there, and write that address into a: " +
		"receivers fetch by https only.",
}, "a", authority, record.Insecure), uriRule(rule{
	Code: "bimi.authority.invalid", Severity: diag.Error, Weight: 3, Category: factorCertificate,
	Title: "Certificate address (a) cannot be used", Requirement: "The certificate address is one that receivers can use",
	Advice: "Write the one full address of the certificate file (PEM) into a, or leave a empty.",
}, "a", authority, record.WrongFormat, record.Several, record.Comma, record.Malformed), {
	Code: "bimi.certificate.missing", Severity: diag.Warning, Weight: 2, Category: factorCertificate, Ref: refDefinition,
	Title: "No certificate (a): many mailboxes show no logo", Requirement: "The record has the address of a certificate",
	Advice: "For Gmail and Apple Mail obtain a mark certificate, publish it and write its address into a: both take a " +
		"VMC, which needs a registered trademark, and Gmail a CMC, too. Without one, receivers such as Yahoo and " +
		"Fastmail can still show the logo.",
	When: func(e *evidence) bool { return whole(e) && e.active() },
	Fails: func(e *evidence) diag.Failures {
		text := "The record has an empty a"
		if !e.record.Has("a") {
			text = "The record has no a"
		}
		return diag.FailIf(e.record.Authority.Text == "",
			"%s: receivers such as Gmail and Apple Mail show no logo without a mark certificate.", text)
	},
}, {
	Code: "bimi.avp.invalid", Severity: diag.Warning, Ref: refDefinition,
	Title:       "Avatar preference (avp) is neither brand nor personal",
	Requirement: "The avatar preference is brand or personal",
	Advice: "Write avp=brand for the logo or avp=personal for the avatar of the sender, in lower case, or remove the " +
		"tag: receivers ignore other values or the whole record.",
	When:  func(e *evidence) bool { return hasRecord(e) && e.record.Has("avp") },
	Fails: kit.Faults(record.BadAvatar),
}, {
	Code: "bimi.lps.invalid", Severity: diag.Warning, Ref: refLocalPart,
	Title: "Local-part prefix (lps) that matches no address", Requirement: "Every prefix in lps can match an address",
	Advice: "Write the prefixes with letters, digits and hyphens only, and a comma between two of them: dots and " +
		"underscores of the address count as hyphens.",
	When:  func(e *evidence) bool { return hasRecord(e) && e.record.LocalPartSelectors },
	Fails: kit.Faults(record.BadPrefix),
}}

func location(e *evidence) record.URI  { return e.record.Location }
func authority(e *evidence) record.URI { return e.record.Authority }

func uriRule(r rule, tag string, of func(*evidence) record.URI, faults ...record.URIFault) rule {
	if r.Ref == "" {
		r.Ref = refDefinition
	}
	r.When = func(e *evidence) bool { return whole(e) && of(e).Text != "" }
	r.Fails = func(e *evidence) diag.Failures {
		u := of(e)
		for _, f := range faults {
			if u.Fault == f {
				return e.uriFailure(tag, u)
			}
		}
		return nil
	}
	return r
}

func (e *evidence) uriFailure(tag string, u record.URI) diag.Failures {
	t, _ := e.found.List.Tag(tag)
	shown := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, u.Text)
	f := diag.Fail("The address \"%s\" in %s %s.", diag.Quote(shown), tag, u.Problem).About(tag).Suggesting(e.suggested)
	f[0].Location = &diag.Location{Offset: t.ValueOffset, Length: len(t.Value)}
	if advice := uriAdvice[u.Fault]; advice != "" {
		f[0].Advice = advice
	}
	if tag == "a" && strings.EqualFold(u.Text, "self") {
		f[0].Advice = "Leave a empty: the value self is from early drafts, and receivers do not know it."
	}
	return f
}

var uriAdvice = map[record.URIFault]string{
	record.Several: "Keep the one address that is to be used: a record has one logo and one certificate. Publish records for " +
		"other logos at other selectors.",
	record.Comma: "Write each comma of the address as %2C.",
}
