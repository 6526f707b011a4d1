package markcert

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// The severities follow one principle: critical faults make receivers refuse the logo under the draft; errors break a
// requirement that some of them enforce; warnings are for authorities or publishers to improve.

// parseRules concern a text; lookupRules also its discovery and fetch.
var (
	parseRules = sync.OnceValue(func() rule.Rules[*evidence] {
		return slices.Concat(textRules, validityRules.With(rule.Rule[*evidence]{Category: factorDates, When: isMark}),
			chainRules.With(rule.Rule[*evidence]{Category: factorChain, When: isMark}),
			profileRules.With(rule.Rule[*evidence]{Category: factorProfile, When: isMark}),
			subjectRules.With(rule.Rule[*evidence]{Category: factorSubject, When: isMark}),
			domainRules.With(rule.Rule[*evidence]{Category: factorDomain}),
			logoRules.With(rule.Rule[*evidence]{Category: factorLogo, When: hasLogo}),
			logRules.With(rule.Rule[*evidence]{Category: factorLog, When: isMark}))
	})
	lookupRules = sync.OnceValue(func() rule.Rules[*evidence] {
		return slices.Concat(recordRules, fetchRules.With(rule.Rule[*evidence]{Category: factorFetch}), parseRules())
	})
)

var (
	factorFetch   = rule.Category{Code: "fetch", Label: "Web server"}
	factorText    = rule.Category{Code: "text", Label: "PEM text"}
	factorDates   = rule.Category{Code: "validity", Label: "Validity"}
	factorChain   = rule.Category{Code: "chain", Label: "Authority"}
	factorProfile = rule.Category{Code: "profile", Label: "Certificate profile"}
	factorSubject = rule.Category{Code: "subject", Label: "Mark and owner"}
	factorDomain  = rule.Category{Code: "domain", Label: "Domain"}
	factorLogo    = rule.Category{Code: "logo", Label: "Logo"}
	factorLog     = rule.Category{Code: "transparency", Label: "Certificate Transparency"}
)

const (
	draft = "draft-fetch-validation-vmc-wchuang-11 section "
	mcr   = "Mark Certificate Requirements" // sections only where they are the same in all versions
)

func hasText(e *evidence) bool { return e.hasText }

func isMark(e *evidence) bool { return e.isMark() }

func hasLogo(e *evidence) bool { return e.isMark() && e.mark.logo() != nil }

var texts = rule.Texts{
	"valid": {Headline: "Mark certificate is valid",
		Sub: "Mailboxes that ask for one can show the logo. Whether it was revoked was not examined."},
}

const recordRef = "draft-brand-indicators-for-message-identification-14 section "

func hasDomain(e *evidence) bool { return e.discovery != nil }

func hasRecord(e *evidence) bool { return e.applies != nil && e.applies.Record != nil }

var recordRules = rule.Rules[*evidence]{{
	Code: "markcert.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: recordRef + "7.2",
	Title: "BIMI record could not be looked up", Requirement: "The name servers answer for the BIMI record",
	Advice: "Check that every name server of the domain answers TXT queries, and try again.",
	When:   hasDomain, Fails: func(e *evidence) rule.Failures {
		if e.recordErr == nil {
			return nil
		}
		return rule.Fail("The TXT lookup failed: %s.", diag.Reason(e.recordErr)).Because(e.recordErr)
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "markcert.domain.nxdomain", DependsOn: []diag.Code{"markcert.record.unknown"}, Ref: recordRef + "7.2",
	When: func(e *evidence) bool { return hasDomain(e) && (!e.domainUnknown || e.applies != nil) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.nonexistent, "The DNS answers NXDOMAIN for %s.", e.discovery.Domain)
	},
}), {
	Code: "markcert.record.missing", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"markcert.record.unknown"}, Ref: recordRef + "4.3",
	Title: "No BIMI record", Requirement: "The domain has a BIMI record",
	Advice: "Publish a BIMI record if a logo is to be shown beside the mail of the domain; without one nothing is lost.",
	When:   func(e *evidence) bool { return hasDomain(e) && !e.nonexistent },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.applies == nil, "There is no BIMI record at %s%s.", e.discovery.Own().Name, e.above())
	},
}, {
	Code: "markcert.record.several", Severity: diag.Error, Weight: 4, Category: factorFetch,
	DependsOn: []diag.Code{"markcert.record.missing"}, Ref: recordRef + "7.2",
	Title: "More than one BIMI record", Requirement: "The domain has one BIMI record",
	Advice: "Remove all BIMI records of the selector but one: receivers ignore them all if there are several.",
	When:   hasDomain, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.applies.Record == nil, "There are %d BIMI records at %s.",
			len(e.applies.Found.Records), e.applies.Name)
	},
}, {
	Code: "markcert.record.declined", Optional: true, Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"markcert.record.several"}, Ref: recordRef + "4.3.1",
	Title: "Domain declines to take part in BIMI", Requirement: "The BIMI record does not decline",
	Advice: "Leave it if no logo is to be shown; otherwise put the URLs of the logo and of the certificate into l and a.",
	When:   hasRecord, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.applies.Record.Declined, "The record at %s has empty tags l and a.", e.applies.Name)
	},
}, {
	Code: "markcert.record.none_named", Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"markcert.record.declined"}, Ref: recordRef + "4.3",
	Title: "BIMI record names no certificate", Requirement: "The BIMI record names a certificate",
	Advice: "Order a verified or common mark certificate if the logo is to be shown at Gmail and Apple Mail, and put " +
		"its URL into a. Other mailboxes show the logo without one.",
	When: hasRecord, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(strings.TrimSpace(e.applies.Record.Authority.Text) == "", "The tag a of the record at %s is "+
			"empty or absent.", e.applies.Name)
	},
}, {
	Code: "markcert.record.invalid", Severity: diag.Error, Weight: 4, Category: factorFetch,
	DependsOn: []diag.Code{"markcert.record.several"}, Ref: recordRef + "4.3",
	Title: "BIMI record is not valid", Requirement: "The BIMI record is valid",
	Advice: "Correct the record: receivers ignore it as it is.",
	When:   func(e *evidence) bool { return hasRecord(e) && e.applies.Record.Authority.Fault == "" },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.applies.Record.Errors(), func(fault string) rule.Failures {
			return rule.Fail("The record at %s has a fault: %s.", e.applies.Name, strings.TrimSuffix(fault, "."))
		})
	},
}}

// above names the organizational domain if its record would apply as well.
func (e *evidence) above() string {
	if p := e.discovery.At(e.discovery.Organizational()); p != nil && p != e.discovery.Own() {
		return ", nor at " + p.Name
	}
	return ""
}

func wasFetched(e *evidence) bool { return e.fetched != nil }

func wasServed(e *evidence) bool { return wasFetched(e) && e.fetched.Final() != nil }

func (e *evidence) unanswered() bool {
	return e.fetched != nil && e.fetched.Err != nil && e.fetched.Err.Unanswered
}

var fetchRules = rule.Rules[*evidence]{{
	Code: "cert_url_invalid", Severity: diag.Critical, Weight: 5, Ref: draft + "3.2",
	Title: "URL of the certificate cannot be used", Requirement: "The certificate has an https URL",
	Advice: "Publish the certificate at a URL that begins with https://, and name that in the BIMI record.",
	When:   func(e *evidence) bool { return e.url != "" || e.urlFault != "" },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.urlFault != "", "Receivers cannot fetch the certificate from %q: %s.",
			phrase.Quote(e.url), e.urlFault)
	},
}, {
	Code: "markcert.fetch.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: draft + "3.2",
	Title: "Certificate could not be fetched", Requirement: "The web server of the certificate answers",
	Advice: "Check that the web server and its name servers answer, and try again.",
	When:   wasFetched, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.unanswered(), "%s gave no answer: %s.", e.fetched.URL.Host(), e.failure())
	},
}, {
	Code: "cert_fetch_failed", Severity: diag.Critical, Weight: 10, Ref: draft + "3.2",
	Title: "Certificate cannot be fetched", Requirement: "The certificate can be fetched",
	Advice: "Publish the certificate at the URL of the record, or correct the URL there.",
	When:   func(e *evidence) bool { return wasFetched(e) && !e.unanswered() }, Fails: failUnfetched,
}, {
	Code: "markcert.fetch.trust", Severity: diag.Critical, Weight: 4, Ref: draft + "3.2",
	Title: "Web server has an untrusted TLS certificate", Requirement: "The TLS certificate of the web server is trusted",
	Advice: "Install a trusted TLS certificate on the web server and automate its renewal: receivers fetch nothing " +
		"from it until then.",
	When: func(e *evidence) bool { return wasFetched(e) && len(e.handshakes()) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.handshakes(), func(t *pki.TLS) rule.Failures {
			return rule.FailIf(t.Err() != nil, "The TLS certificate of %s is not trusted: %s.",
				t.ServerName, t.Err()).About(t.ServerName)
		})
	},
}, {
	Code: "markcert.fetch.insecure", Severity: diag.Critical, Weight: 3, Ref: draft + "3.2",
	Title: "Redirect to a URL without TLS", Requirement: "All redirects lead to https",
	Advice: "Redirect to https only, or better serve the certificate without a redirect: receivers fetch by https only.",
	When:   wasServed, Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.fetched.Hops, func(h fetch.Hop) rule.Failures {
			return rule.FailIf(strings.HasPrefix(h.URL, "http:"), "The redirects lead through %s.", phrase.Quote(h.URL))
		})
	},
}, {
	Code: "markcert.fetch.tls_old", Severity: diag.Warning, Weight: 1, Ref: draft + "3.2",
	Title: "Web server speaks an old version of TLS", Requirement: "The web server speaks TLS 1.2 or 1.3",
	Advice: "Switch on TLS 1.2 and TLS 1.3 on the web server: receivers refuse older versions.",
	When:   func(e *evidence) bool { return wasFetched(e) && e.fetched.TLS != nil },
	Fails: func(e *evidence) rule.Failures {
		v := e.fetched.TLS.Version
		return rule.FailIf(v == "TLS 1.0" || v == "TLS 1.1", "The web server agreed on %s.", v)
	},
}}

func failUnfetched(e *evidence) rule.Failures {
	r := e.fetched
	switch head := r.Final(); {
	case r.Err != nil:
		return rule.Fail("The certificate cannot be fetched from %s: %s.", phrase.Quote(r.URL.String()), e.failure())
	case head.StatusCode != http.StatusOK:
		return rule.Fail("The web server answered %d %s for %s.",
			head.StatusCode, phrase.Quote(head.StatusText), phrase.Quote(r.URL.String()))
	default:
		return rule.FailIf(r.Truncated, "The file has more than %d bytes, which is too long for a "+
			"certificate.", maxBytes)
	}
}

func (e *evidence) failure() string {
	if e.fetched.Err == nil {
		return ""
	}
	return phrase.Quote(strings.TrimSuffix(e.fetched.Err.Message, "."))
}

func (e *evidence) handshakes() []*pki.TLS {
	var list []*pki.TLS
	for _, h := range e.fetched.Hops {
		if h.TLS != nil {
			list = append(list, h.TLS)
		}
	}
	if t := e.fetched.TLS; t != nil && !slices.Contains(list, t) {
		list = append(list, t)
	}
	return list
}
