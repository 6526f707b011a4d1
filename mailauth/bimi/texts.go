package bimi

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// textsOffline are those of a record that need not be published.
var textsOffline = func() diag.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{
		Headline: "BIMI record is correct",
		Sub:      "The text was examined; logo, certificate and DMARC were not. Publish it and look the domain up.",
	}
	t["valid"] = t["excellent"]
	t["warning"] = diag.Text{
		Headline: "BIMI record is valid but has a weakness",
		Sub:      "Receivers can use it. The findings say what to improve.",
	}
	return t
}()

// texts are those for what was examined: the words of the parts where they speak for the whole, and no praise for what
// was not fetched.
func (e *evidence) texts() diag.Texts {
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
	if e.standing.barred() != "" {
		t["missing"] = diag.Text{
			Headline: texts["missing"].Headline,
			Sub:      "Mailboxes show no logo for your mail. That does no harm; if you want one, begin with a strong DMARC policy.",
		}
	}
	what, rest := "", ""
	switch located, certified := e.unfetchedLogo(), e.unfetchedMark(); {
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

// unfetchedLogo reports whether there is a logo that was not fetched.
func (e *evidence) unfetchedLogo() bool { return e.active() && e.logo == nil }

// unfetchedMark reports whether there is a certificate that was not fetched.
func (e *evidence) unfetchedMark() bool {
	return e.active() && e.mark == nil && e.record.Authority.Text != ""
}

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "BIMI is set up correctly",
		Sub:      "Receivers that support BIMI can show the logo. Whether one does is up to it and to your reputation there.",
	},
	"valid": {
		Headline: "BIMI is set up",
		Sub:      "Receivers that support BIMI can show the logo. Whether one does is up to it and to your reputation there.",
	},
	"warning": {
		Headline: "BIMI works but has a weakness",
		Sub:      "Some receivers show no logo. The findings say what to improve.",
	},
	"invalid": {
		Headline: "BIMI is broken: receivers show no logo",
		Sub:      "Fix the first finding first.",
	},
	"missing": {
		Headline: "BIMI is not set up",
		Sub:      "Mailboxes show no logo for your mail. That does no harm; publish a record if you want one.",
	},
	"unknown": {
		Headline: "BIMI could not be examined",
		Sub:      "Servers did not answer, so that there is no verdict. Try again in a few minutes.",
	},
	"bimi.record.unknown": {
		Headline: "BIMI record could not be looked up",
		Sub:      "Whether there is one is not known: the name servers failed or did not answer. Check them and try again.",
	},
	"bimi.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "Check the spelling, registration and delegation.",
	},
	"bimi.record.location": {
		Headline: "BIMI record is published at the wrong name",
		Sub:      "Receivers do not find it and show no logo. Publish it at <selector>._bimi below the domain.",
	},
	"bimi.record.alias": {
		Headline: "BIMI is delegated by a CNAME that leads to no record",
		Sub:      "Receivers find no record and show no logo. Have it published at the target, or replace the CNAME.",
	},
	"bimi.record.version": {
		Headline: "The BIMI record is ignored: it must begin with v=BIMI1;",
		Sub:      "For receivers there is no record, and they show no logo. Correct its beginning.",
	},
	"bimi.record.multiple": {
		Headline: "More than one BIMI record, so receivers use none",
		Sub:      "No logo is shown. Keep one record and remove the others.",
	},
	"bimi.record.syntax": {
		Headline: "BIMI record has a syntax error",
		Sub:      "Receivers must not guess what was meant, and show no logo. Correct the record.",
	},
	"bimi.record.repeated": {
		Headline: "BIMI record has a tag twice and is not valid",
		Sub:      "Receivers show no logo. Keep the tag with the value that is meant and remove the other.",
	},
	"bimi.record.case": {
		Headline: "Tag names of the BIMI record must be in lower case",
		Sub:      "Receivers must not correct capitalization, and show no logo. Write the names in lower case.",
	},
	"bimi.record.joined": {
		Headline: "Strings of the BIMI record join to a broken text",
		Sub:      "Receivers read something else than was meant. Add the missing semicolon.",
	},
	"bimi.record.string.long": {
		Headline: "BIMI record has a string that is too long for the DNS",
		Sub:      "It cannot be published like this. Split it into strings of at most 255 bytes.",
	},
	"bimi.record.declined": {
		Headline: "BIMI is declined: the domain wants no logo shown",
		Sub:      "Receivers show none. Nothing needs to be done if that is what you want.",
	},
	"bimi.location.missing": {
		Headline: "BIMI record has no logo address (l)",
		Sub:      "Receivers have nothing to show. Write the https address of the logo into l, or decline.",
	},
	"bimi.location.http": {
		Headline: "The logo address of the BIMI record is http instead of https",
		Sub:      "Receivers do not fetch it and show no logo. Serve the logo by https, then change the address.",
	},
	"bimi.location.format": {
		Headline: "The logo address of the BIMI record names no SVG file",
		Sub:      "Receivers take SVG only and show no logo. Export the logo as SVG Tiny PS.",
	},
	"bimi.location.invalid": {
		Headline: "The logo address of the BIMI record cannot be used",
		Sub:      "Receivers cannot fetch the logo and show none. Correct the address in l.",
	},
	"bimi.authority.http": {
		Headline: "The certificate address of the BIMI record is http, not https",
		Sub:      "Receivers do not fetch the certificate and show no logo. Serve it by https, then change the address.",
	},
	"bimi.authority.invalid": {
		Headline: "The certificate address of the BIMI record cannot be used",
		Sub:      "Receivers cannot fetch the certificate and show no logo. Correct the address in a.",
	},
	"bimi.certificate.missing": {
		Headline: "BIMI has no certificate: many mailboxes show no logo",
		Sub:      "Gmail and Apple Mail show no logo without a mark certificate; Yahoo and Fastmail do.",
	},
	"bimi.logo_file.mismatch": {
		Headline: "The BIMI logo is not the one in its certificate",
		Sub:      "Receivers that ask for a certificate show no logo. Publish the file for which it was issued.",
	},
	"bimi.dmarc.unknown": {
		Headline: "BIMI is published, but the DMARC policy could not be looked up",
		Sub:      "Whether receivers show the logo depends on it. Check the name servers and try again.",
	},
	"bimi.dmarc.disputed": {
		Headline: "BIMI works only where receivers read the DMARC policy as meant",
		Sub:      "Receivers of RFC 7489 and RFC 9989 do not agree about it. Publish DMARC at the domain itself.",
	},
	"bimi.dmarc.missing": {
		Headline: "BIMI has no effect: the domain has no DMARC record",
		Sub:      "Receivers show logos only under DMARC with quarantine or reject. Set up DMARC first.",
	},
	"bimi.dmarc.invalid": {
		Headline: "BIMI has no effect: the DMARC record cannot be used",
		Sub:      "Receivers show logos only under DMARC with quarantine or reject. Correct the DMARC record.",
	},
	"bimi.dmarc.none": {
		Headline: "BIMI has no effect: the DMARC policy is none",
		Sub:      "Receivers show logos only under quarantine or reject. Check the DMARC reports, then move the policy.",
	},
	"bimi.dmarc.subdomains": {
		Headline: "BIMI has no effect: the DMARC policy for subdomains is none",
		Sub:      "Receivers show no logo with sp=none. Check the DMARC reports, then move sp to quarantine or reject.",
	},
	"bimi.dmarc.percentage": {
		Headline: "BIMI has no effect: DMARC applies to a part of the mail only (pct)",
		Sub:      "Receivers show no logo with quarantine and less than pct=100. Check the DMARC reports, then remove pct.",
	},
	"bimi.dmarc.testing": {
		Headline: "BIMI has no effect: the DMARC policy is in test mode (t=y)",
		Sub:      "Receivers show no logo for a policy that is only tested. Check the DMARC reports, then remove t=y.",
	},
}
