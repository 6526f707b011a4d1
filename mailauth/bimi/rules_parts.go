package bimi

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

var logoRules = partRules(func(e *evidence) *part { return e.logo },
	rule{
		Code: "bimi.logo_file.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: refValidation,
		Title: "Logo could not be examined", Requirement: "The logo can be examined",
		Advice: "Check that the web server of the logo answers, then try again.",
	},
	rule{
		Code: "bimi.logo_file.invalid", Severity: diag.Error, Weight: 8, Category: factorLogo, Ref: refValidation,
		Title: "Logo cannot be shown", Requirement: "Receivers can fetch and show the logo",
		Advice: "Correct the logo: receivers show none that does not conform to SVG Tiny PS.",
	},
	rule{
		Code: "bimi.logo_file.flawed", Severity: diag.Warning, Weight: 2, Category: factorLogo, Ref: refValidation,
		Title: "Logo has a weakness", Requirement: "The logo has no weakness",
		Advice: "Improve the logo: some receivers do not show it, or not well.",
	})

var certificateRules = partRules(func(e *evidence) *part { return e.mark },
	rule{
		Code: "bimi.certificate.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: refEvidence,
		Title: "Mark certificate could not be examined", Requirement: "The mark certificate can be examined",
		Advice: "Check that the web server of the certificate answers, then try again.",
	},
	rule{
		Code: "bimi.certificate.invalid", Severity: diag.Error, Weight: 6, Category: factorCertificate, Ref: refEvidence,
		Title: "Mark certificate cannot be used", Requirement: "Receivers can fetch and use the mark certificate",
		Advice: "Replace the certificate: receivers that ask for one show no logo.",
	},
	rule{
		Code: "bimi.certificate.flawed", Severity: diag.Warning, Weight: 2, Category: factorCertificate, Ref: refEvidence,
		Title: "Mark certificate has a weakness", Requirement: "The mark certificate has no weakness",
		Advice: "Have the certificate corrected: some receivers may not take it.",
	})

var comparedRules = diag.Rules[*evidence]{{
	Code: "bimi.logo_file.mismatch", Severity: diag.Error, Weight: 4, Category: factorCertificate, Ref: refEvidence,
	Title: "Logo is not the one in the certificate", Requirement: "The logo is the one in the certificate",
	Advice: "Publish the very file for which the certificate was issued, byte for byte, at the address in l, or have " +
		"the certificate issued for the new logo.",
	When: func(e *evidence) bool { return e.matches != nil },
	Fails: func(e *evidence) diag.Failures {
		f := diag.FailIf(!*e.matches, "The logo at %s is not the same file as the logo in the certificate at %s.",
			diag.Quote(e.record.Location.Text), diag.Quote(e.record.Authority.Text)).About("l")
		if e.lineEnds {
			f[0].Detail = "The logo at " + diag.Quote(e.record.Location.Text) + " differs from the logo in the certificate in its " +
				"line ends only, and most receivers compare the files byte for byte."
			f[0].Advice = "Publish the logo with the line ends that it has in the certificate; an editor, FTP in text mode or " +
				"version control may have changed them."
		}
		return f
	},
}}

func partsRules() diag.Rules[*evidence] {
	return slices.Concat(logoRules, certificateRules, comparedRules)
}

var besideRules = diag.Rules[*evidence]{{
	Code: "bimi.record.organizational", Severity: diag.Warning, Reads: []diag.Source{fromRecord, fromDMARC},
	Ref:   refDiscovery,
	Title: "Receivers disagree on the organizational domain", Requirement: "All receivers find the same BIMI record",
	Advice: "Publish the record at the name of the domain itself, too, where all receivers look first.",
	When:   func(e *evidence) bool { return online(e) && e.present() && e.dmarc.Tree.OrganizationalErr == nil },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.split, "Receivers that use the list of public suffixes (RFC 7489) look at %s, and those that "+
			"walk up the tree of the DNS (RFC 9989) at %s: they do not find the same record.",
			record.Name(e.discovery.Selector, e.discovery.Organizational()),
			record.Name(e.discovery.Selector, e.dmarc.Tree.Organizational))
	},
}, {
	Code: "bimi.selector.header", Severity: diag.Info, Ref: refHeader,
	Title: "Messages must name the selector to show this logo", Requirement: "Messages need not name the selector",
	Advice: "Add the field BIMI-Selector to the messages that are to show this logo and sign it with DKIM; receivers " +
		"use the selector default for all others.",
	When: func(e *evidence) bool { return online(e) && e.present() },
	Fails: func(e *evidence) diag.Failures {
		s := e.discovery.Selector.String()
		return diag.FailIf(s != record.DefaultSelector, "Receivers use this record only for messages that have the field "+
			"\"BIMI-Selector: v=BIMI1; s=%s\".", s)
	},
}, {
	Code: "bimi.spf.open", Severity: diag.Warning, Reads: []diag.Source{fromRecord, fromBeside}, Stands: true,
	Ref:         "RFC 7208 section 5.1",
	Title:       "SPF lets every host send: some receivers show no logo then",
	Requirement: "The SPF record does not let every host send",
	Advice: "List the hosts that send for the domain in the SPF record, and end it with -all or ~all: with +all " +
		"anybody's mail passes DMARC, and receivers that check this show no logo for it.",
	When: wanted, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.beside.open != "", "The SPF record %q of %s lets every host send.", diag.Quote(e.beside.open), e.domain())
	},
}}
