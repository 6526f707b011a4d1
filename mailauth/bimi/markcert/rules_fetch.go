package markcert

import (
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
)

func fetched(e *evidence) bool { return e.fetched != nil }

func answered(e *evidence) bool { return fetched(e) && !e.unanswered() }

func served(e *evidence) bool { return fetched(e) && e.fetched.Result.Final() != nil }

func (e *evidence) unanswered() bool {
	return e.fetched != nil && e.fetched.Result.Err != nil && e.fetched.Result.Err.Unanswered
}

var fetchRules = diag.Rules[*evidence]{{
	Code: "cert_url_invalid", Severity: diag.Critical, Weight: 5, Ref: draft + "3.2",
	Title: "URL of the certificate cannot be used", Requirement: "The certificate has an https URL",
	Advice: "Publish the certificate at a URL that begins with https://, and name that in the BIMI record.",
	When:   func(e *evidence) bool { return e.url != "" || e.urlFault != "" },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.urlFault != "", "Receivers cannot fetch the certificate from %q: %s.",
			diag.Quote(e.url), e.urlFault)
	},
}, {
	Code: "markcert.fetch.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: draft + "3.2",
	Title: "Certificate could not be fetched", Requirement: "The web server of the certificate answers",
	Advice: "Check that the web server and its name servers answer, and try again.",
	When:   fetched, Fails: func(e *evidence) diag.Failures {
		if !e.unanswered() {
			return nil
		}
		return diag.Fail("%s gave no answer: %s.", e.fetched.Result.URL.Host(), e.failure())
	},
}, {
	Code: "cert_fetch_failed", Severity: diag.Critical, Weight: 10, Ref: draft + "3.2",
	Title: "Certificate cannot be fetched", Requirement: "The certificate can be fetched",
	Advice: "Publish the certificate at the URL of the record, or correct the URL there.",
	When:   answered, Fails: unfetched,
}, {
	Code: "markcert.fetch.trust", Severity: diag.Critical, Weight: 4, Ref: draft + "3.2",
	Title: "Web server has an untrusted TLS certificate", Requirement: "The TLS certificate of the web server is trusted",
	Advice: "Renew the TLS certificate of the web server and automate renewal: receivers fetch nothing from it until " +
		"then.",
	When: func(e *evidence) bool { return fetched(e) && len(e.handshakes()) > 0 },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.handshakes(), func(t *pki.TLS) diag.Failures {
			if t.Err() == nil {
				return nil
			}
			return diag.Fail("The TLS certificate of %s is not trusted: %s.", t.ServerName, t.Err()).About(t.ServerName)
		})
	},
}, {
	Code: "markcert.fetch.insecure", Severity: diag.Critical, Weight: 3, Ref: draft + "3.2",
	Title: "Redirect to a URL without TLS", Requirement: "All redirects lead to https",
	Advice: "Redirect to https only, or better serve the certificate without a redirect: receivers fetch by https only.",
	When:   served, Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.fetched.Result.Hops, func(h fetch.Hop) diag.Failures {
			return diag.FailIf(strings.HasPrefix(h.URL, "http:"), "The redirects lead through %s.", diag.Quote(h.URL))
		})
	},
}, {
	Code: "markcert.fetch.tls_old", Severity: diag.Warning, Weight: 1, Ref: draft + "3.2",
	Title: "Web server speaks an old version of TLS", Requirement: "The web server speaks TLS 1.2 or 1.3",
	Advice: "Switch on TLS 1.2 and TLS 1.3 on the web server: receivers refuse older versions.",
	When:   func(e *evidence) bool { return fetched(e) && e.fetched.Result.TLS != nil },
	Fails: func(e *evidence) diag.Failures {
		v := e.fetched.Result.TLS.Version
		return diag.FailIf(v == "TLS 1.0" || v == "TLS 1.1", "The web server agreed on %s.", v)
	},
}}

// unfetched says why there is no text, as a matter of fact.
func unfetched(e *evidence) diag.Failures {
	r := e.fetched.Result
	switch head := r.Final(); {
	case r.Err != nil:
		return diag.Fail("The certificate cannot be fetched from %s: %s.", diag.Quote(r.URL.String()), e.failure())
	case head.StatusCode != http.StatusOK:
		return diag.Fail("The web server answered %d %s for %s.",
			head.StatusCode, diag.Quote(head.StatusText), diag.Quote(r.URL.String()))
	default:
		return diag.FailIf(r.Truncated, "The file has more than %d bytes, which is no certificate.", maxBytes)
	}
}

// failure says in a clause what ended the fetch; empty if nothing did.
func (e *evidence) failure() string {
	if e.fetched.Result.Err == nil {
		return ""
	}
	return diag.Quote(strings.TrimSuffix(e.fetched.Result.Err.Message, "."))
}

func (e *evidence) handshakes() []*pki.TLS {
	var list []*pki.TLS
	for _, h := range e.fetched.Result.Hops {
		if h.TLS != nil {
			list = append(list, h.TLS)
		}
	}
	if t := e.fetched.Result.TLS; t != nil && !slices.Contains(list, t) {
		list = append(list, t)
	}
	return list
}
