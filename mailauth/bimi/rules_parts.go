package bimi

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

var logoRules = partRules(func(e *evidence) *part { return e.logo },
	rule.Rule[*evidence]{
		Code: "bimi.logo_file.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: refValidation,
		Title: "Logo could not be examined", Requirement: "The logo can be examined",
		Advice: "Check that the web server of the logo answers, then try again.",
	},
	rule.Rule[*evidence]{
		Code: "bimi.logo_file.invalid", Severity: diag.Error, Weight: 8, Category: factorLogo, Ref: refValidation,
		Title: "Logo cannot be shown", Requirement: "Receivers can fetch and show the logo",
		Advice: "Correct the logo: receivers show none that does not conform to SVG Tiny PS.",
	},
	rule.Rule[*evidence]{
		Code: "bimi.logo_file.flawed", Severity: diag.Warning, Weight: 2, Category: factorLogo, Ref: refValidation,
		Title: "Logo has a weakness", Requirement: "The logo has no weakness",
		Advice: "Improve the logo: some receivers do not show it, or not well.",
	})

var certificateRules = partRules(func(e *evidence) *part { return e.mark },
	rule.Rule[*evidence]{
		Code: "bimi.certificate.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: refEvidence,
		Title: "Mark certificate could not be examined", Requirement: "The mark certificate can be examined",
		Advice: "Check that the web server of the certificate answers, then try again.",
	},
	rule.Rule[*evidence]{
		Code: "bimi.certificate.invalid", Severity: diag.Error, Weight: 6, Category: factorCertificate, Ref: refEvidence,
		Title: "Mark certificate cannot be used", Requirement: "Receivers can fetch and use the mark certificate",
		Advice: "Replace the certificate: receivers that ask for one show no logo.",
	},
	rule.Rule[*evidence]{
		Code: "bimi.certificate.flawed", Severity: diag.Warning, Weight: 2, Category: factorCertificate, Ref: refEvidence,
		Title: "Mark certificate has a weakness", Requirement: "The mark certificate has no weakness",
		Advice: "Have the certificate corrected: some receivers may not take it.",
	})

var comparedRules = rule.Rules[*evidence]{{
	Code: "bimi.logo_file.mismatch", Severity: diag.Error, Weight: 4, Category: factorCertificate, Ref: refEvidence,
	Title: "Logo is not the one in the certificate", Requirement: "The logo is the one in the certificate",
	Advice: "Publish the very file for which the certificate was issued, byte for byte, at the address in l, or have " +
		"the certificate issued for the new logo.",
	When: func(e *evidence) bool { return e.matches != nil },
	Fails: func(e *evidence) rule.Failures {
		f := rule.FailIf(!*e.matches, "The logo at %s is not the same file as the logo in the certificate at %s.",
			phrase.Quote(e.record.Location.Text), phrase.Quote(e.record.Authority.Text)).About("l")
		if e.lineEnds {
			f[0].Detail = "The logo at " + phrase.Quote(e.record.Location.Text) + " differs from the logo in the certificate " +
				"in its line ends only, and most receivers compare the files byte for byte."
			f[0].Advice = "Publish the logo with the line ends that it has in the certificate; an editor, FTP in text mode or " +
				"version control may have changed them."
		}
		return f
	},
}}

var surroundingRules = rule.Rules[*evidence]{{
	Code: "bimi.record.organizational", Severity: diag.Warning, Reads: []rule.Source{fromRecord, fromDMARC},
	Ref:   refDiscovery,
	Title: "Receivers disagree on the organizational domain", Requirement: "All receivers find the same BIMI record",
	Advice: "Publish the record at the name of the domain itself, too, where all receivers look first.",
	When:   func(e *evidence) bool { return lookedUp(e) && e.hasRecords() && e.dmarc.Tree.OrganizationalErr == nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.organizationsDiffer, "Receivers that use the list of public suffixes (RFC 7489) look at %s, "+
			"and those that walk up the tree of the DNS (RFC 9989) at %s: they do not find the same record.",
			record.Name(e.discovery.Selector, e.discovery.Organizational()),
			record.Name(e.discovery.Selector, e.dmarc.Tree.Organizational))
	},
}, {
	Code: "bimi.selector.header", Severity: diag.Info, Ref: refHeader,
	Title: "Messages must name the selector to show this logo", Requirement: "Messages need not name the selector",
	Advice: "Add the field BIMI-Selector to the messages that are to show this logo and sign it with DKIM; receivers " +
		"use the selector default for all others.",
	When: func(e *evidence) bool { return lookedUp(e) && e.hasRecords() },
	Fails: func(e *evidence) rule.Failures {
		s := e.discovery.Selector.String()
		return rule.FailIf(s != record.DefaultSelector, "Receivers use this record only for messages that have the field "+
			"\"BIMI-Selector: v=BIMI1; s=%s\".", s)
	},
}, {
	Code: "bimi.spf.open", Severity: diag.Warning, Reads: []rule.Source{fromRecord, fromSurroundings},
	HoldsWhenUnanswered: true,
	Ref:                 "RFC 7208 section 5.1",
	Title:               "SPF lets every host send: some receivers show no logo then",
	Requirement:         "The SPF record does not let every host send",
	Advice: "List the hosts that send for the domain in the SPF record, and end it with -all or ~all: with +all " +
		"anybody's mail passes DMARC, and receivers that check this show no logo for it.",
	When: mayWantLogo, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.surroundings.openSPF != "", "The SPF record %q of %s lets every host send.",
			phrase.Quote(e.surroundings.openSPF), e.domain())
	},
}}

// mayWantLogo reports whether a record requests a logo, usable or not, so that DMARC matters.
func mayWantLogo(e *evidence) bool {
	if !lookedUp(e) || e.record != nil {
		return lookedUp(e) && e.wantsLogo()
	}
	strays := kit.Map(e.found.Strays, func(s taglist.Stray) string { return s.Text })
	return slices.ContainsFunc(slices.Concat(e.found.Records, strays), func(text string) bool {
		r := record.Parse(text)
		return !r.Declined
	})
}

var dmarcRules = rule.Rules[*evidence]{{
	Code: "bimi.dmarc.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: refDMARC,
	Title: "DMARC policy could not be looked up", Requirement: "The name servers answer for the DMARC record",
	Advice: "Check that every name server of the domain answers TXT queries, then try again.",
	When:   mayWantLogo, Fails: func(e *evidence) rule.Failures {
		err := e.eligibility.unknown
		if err == nil {
			return nil
		}
		return rule.Fail("Whether the DMARC policy is strong enough is not known, because the lookup of the DMARC record "+
			"failed: %s.",
			diag.Reason(err))
	},
}, dmarcRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.missing", Weight: 8,
	Title: "No DMARC record, so receivers show no logo", Requirement: "The domain has a DMARC record",
	Advice: "Set up DMARC: begin with p=none and reports, and move to quarantine or reject once all your mail passes. " +
		"Receivers show no logo before that.",
}, dmarcMissing), dmarcRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.invalid", Weight: 8,
	Title: "DMARC record cannot be used, so receivers show no logo", Requirement: "Receivers can use the DMARC record",
	Advice: "Correct the DMARC record: dmarc/lookup shows what is wrong with it.",
}, dmarcInvalid), raiseRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.none", Weight: 8,
	Title: "DMARC policy is none, so receivers show no logo", Requirement: "The DMARC policy is quarantine or reject",
	Advice: "that all your mail passes, then move the policy to quarantine and later to reject: " +
		"mail that fails is then no longer delivered as usual.",
}, dmarcNone), raiseRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.subdomains", Weight: 4,
	Title:       "DMARC policy for subdomains is none: receivers show no logo",
	Requirement: "The DMARC policy for subdomains is not none",
	Advice: "that the mail of all subdomains passes, then move sp to quarantine or reject, or " +
		"remove sp so that the policy of the domain applies: receivers show no logo with sp=none.",
}, dmarcSubdomains), raiseRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.percentage", Weight: 4,
	Title:       "DMARC quarantine applies to a part of the mail only (pct)",
	Requirement: "The DMARC policy quarantine applies to all mail",
	Advice: "that all your mail passes, then remove pct: receivers show no logo with quarantine " +
		"and less than pct=100.",
}, dmarcPartial), raiseRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.testing", Weight: 4,
	Title: "DMARC policy is in test mode (t=y)", Requirement: "The DMARC policy is not in test mode",
	Advice: "that all your mail passes, then remove t=y: receivers apply a weaker policy while it " +
		"is there, and show no logo.",
}, dmarcTesting), dmarcRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.disputed", Severity: diag.Warning, Weight: 2,
	Title:       "Only some receivers apply the DMARC policy",
	Requirement: "Receivers of both DMARC standards read the same DMARC policy",
	Advice: "Publish a DMARC record at the domain itself, with p right after v=DMARC1 and the policy that is in " +
		"force now: then receivers of RFC 7489 and RFC 9989 apply the same policy. Check the domain with " +
		"dmarc/lookup for details.",
}, dmarcDisputed), raiseRule(rule.Rule[*evidence]{
	Code: "bimi.dmarc.percentage.reject", Severity: diag.Warning,
	Title:       "DMARC reject applies to a part of the mail only (pct)",
	Requirement: "The DMARC policy reject applies to all mail",
	Advice: "that all your mail passes, then remove pct: some receivers show a logo only for a " +
		"policy that applies to all mail.",
}, dmarcRejectPartial)}

// checkReports begins the advice that raises a policy; askForReports replaces it if no reports are requested.
const (
	checkReports  = "Check in the DMARC reports"
	askForReports = "Ask for DMARC reports first: the record has no rua. Check in them"
)

// dmarcRule completes a rule about one kind of obstacles. It is an error unless the rule says otherwise.
func dmarcRule(r rule.Rule[*evidence], kind obstacleKind) rule.Rule[*evidence] {
	return newDMARCRule(r, kind, "")
}

// raiseRule is dmarcRule for a rule that advises to raise the policy once the reports show what its advice says.
func raiseRule(r rule.Rule[*evidence], kind obstacleKind) rule.Rule[*evidence] {
	next := " " + r.Advice
	r.Advice = checkReports + next
	return newDMARCRule(r, kind, askForReports+next)
}

// newDMARCRule is dmarcRule with the advice where the record requests no reports; empty if that does not matter.
func newDMARCRule(r rule.Rule[*evidence], kind obstacleKind, withoutReports string) rule.Rule[*evidence] {
	r.Ref, r.Category = refDMARC, factorDMARC
	if r.Severity == diag.Info {
		r.Severity = diag.Error
	}
	r.When = func(e *evidence) bool {
		return mayWantLogo(e) && (e.eligibility.unknown == nil || len(e.eligibility.ofKind(kind)) > 0)
	}
	r.Fails = func(e *evidence) rule.Failures {
		return rule.FailEach(e.eligibility.ofKind(kind), func(o obstacle) rule.Failures {
			f := rule.Fail("%s", o.text).About("_dmarc." + o.domain)
			f[0].Advice = o.advice
			if o.noReports && withoutReports != "" {
				f[0].Advice = withoutReports
			}
			return f
		})
	}
	return r
}

func hasRecord(e *evidence) bool { return e.record != nil }

func hasIntactRecord(e *evidence) bool { return e.record != nil && !e.hasHiddenTag() }

var tagRules = rule.Rules[*evidence]{{
	Code: "bimi.record.declined", Severity: diag.Info, Ref: refDeclination,
	Title: "Record declines BIMI: l and a are empty", Requirement: "The record asks for a logo to be shown",
	When: hasRecord, Fails: func(e *evidence) rule.Failures {
		text := "l and a are empty: the domain does not take part in BIMI."
		if e.record.LocalPartSelectors {
			text = "l and a are empty: no logo is shown but for senders whose local part is a selector (lps)."
		}
		return rule.FailIf(e.record.Declined, "%s", text)
	},
}, {
	Code: "bimi.location.missing", Severity: diag.Error, Weight: 4, Category: factorLogo, Ref: refDefinition,
	Title: "BIMI record has no logo address (l)", Requirement: "The record has the address of a logo, or declines",
	Advice: "Write the https address of the logo into l. To decline, publish v=BIMI1; l=; a=; instead.",
	When:   hasIntactRecord, Fails: tagFinder.Faults(record.NoLocation),
}, uriRule(rule.Rule[*evidence]{
	Code: "bimi.location.http", Severity: diag.Error, Weight: 4, Category: factorLogo,
	Title: "Logo address (l) uses http instead of https", Requirement: "The logo address is https",
	Advice: "Serve the logo by https, check in a browser that it appears without a warning, and write that address " +
		"into l: receivers fetch by https only.",
}, "l", location, record.Insecure), uriRule(rule.Rule[*evidence]{
	Code: "bimi.location.format", Severity: diag.Error, Weight: 4, Category: factorLogo, Ref: refFormats,
	Title:       "Logo address (l) names a file that is not SVG",
	Requirement: "The logo address names no file of another format than SVG",
	Advice: "Export the logo as SVG Tiny PS and write the address of that file into l: receivers take no other " +
		"format.",
}, "l", location, record.WrongFormat), uriRule(rule.Rule[*evidence]{
	Code: "bimi.location.invalid", Severity: diag.Error, Weight: 4, Category: factorLogo,
	Title: "Logo address (l) cannot be used", Requirement: "The logo address is one that receivers can use",
	Advice: "Write the one full address of the logo, such as https://example.com/logo.svg, into l.",
}, "l", location, record.Several, record.Comma, record.Malformed), uriRule(rule.Rule[*evidence]{
	Code: "bimi.authority.http", Severity: diag.Error, Weight: 3, Category: factorCertificate,
	Title: "Certificate address (a) uses http instead of https", Requirement: "The certificate address is https",
	Advice: "Serve the certificate by https, check that it can be fetched there, and write that address into a: " +
		"receivers fetch by https only.",
}, "a", authority, record.Insecure), uriRule(rule.Rule[*evidence]{
	Code: "bimi.authority.invalid", Severity: diag.Error, Weight: 3, Category: factorCertificate,
	Title: "Certificate address (a) cannot be used", Requirement: "The certificate address is one that receivers can use",
	Advice: "Write the one full address of the certificate file (PEM) into a, or leave a empty.",
}, "a", authority, record.WrongFormat, record.Several, record.Comma, record.Malformed), {
	Code: "bimi.certificate.missing", Severity: diag.Warning, Weight: 2, Category: factorCertificate, Ref: refDefinition,
	Title: "No certificate (a): many mailboxes show no logo", Requirement: "The record has the address of a certificate",
	Advice: "For Gmail and Apple Mail obtain a mark certificate, publish it and write its address into a: both take a " +
		"VMC, which needs a registered trademark, and Gmail a CMC, too. Without one, receivers such as Yahoo and " +
		"Fastmail can still show the logo.",
	When: func(e *evidence) bool { return hasIntactRecord(e) && e.wantsLogo() },
	Fails: func(e *evidence) rule.Failures {
		text := "The record has an empty a"
		if !e.record.Has("a") {
			text = "The record has no a"
		}
		return rule.FailIf(e.record.Authority.Text == "",
			"%s: receivers such as Gmail and Apple Mail show no logo without a mark certificate.", text)
	},
}, {
	Code: "bimi.avp.invalid", Severity: diag.Warning, Ref: refDefinition,
	Title:       "Avatar preference (avp) is neither brand nor personal",
	Requirement: "The avatar preference is brand or personal",
	Advice: "Write avp=brand for the logo or avp=personal for the avatar of the sender, in lower case, or remove the " +
		"tag: receivers ignore other values or the whole record.",
	When:  func(e *evidence) bool { return hasRecord(e) && e.record.Has("avp") },
	Fails: tagFinder.Faults(record.BadAvatar),
}, {
	Code: "bimi.lps.invalid", Severity: diag.Warning, Ref: refLocalPart,
	Title: "Local-part prefix (lps) matches no address", Requirement: "Every prefix in lps can match an address",
	Advice: "Write the prefixes with letters, digits and hyphens only, and a comma between two of them: dots and " +
		"underscores of the address count as hyphens.",
	When:  func(e *evidence) bool { return hasRecord(e) && e.record.LocalPartSelectors },
	Fails: tagFinder.Faults(record.BadPrefix),
}}

func location(e *evidence) record.URI  { return e.record.Location }
func authority(e *evidence) record.URI { return e.record.Authority }

func uriRule(r rule.Rule[*evidence], tag string, of func(*evidence) record.URI,
	faults ...record.URIFault) rule.Rule[*evidence] {
	if r.Ref == "" {
		r.Ref = refDefinition
	}
	r.When = func(e *evidence) bool { return hasIntactRecord(e) && of(e).Text != "" }
	r.Fails = func(e *evidence) rule.Failures {
		if !slices.Contains(faults, of(e).Fault) {
			return nil
		}
		return e.uriFailure(tag, of(e))
	}
	return r
}

func (e *evidence) uriFailure(tag string, u record.URI) rule.Failures {
	t, _ := e.found.List.Tag(tag)
	shown := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, u.Text)
	f := rule.Fail("The address \"%s\" in %s %s.", phrase.Quote(shown), tag, u.Problem).About(tag).Suggesting(e.suggested)
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
	record.Several: "Keep the one address that is to be used: a record has one logo and one certificate. Publish " +
		"records for other logos at other selectors.",
	record.Comma: "Write each comma of the address as %2C.",
}
