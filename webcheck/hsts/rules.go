package hsts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table of all that is examined, in the order in which a browser would meet it.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	fromAnswer := []rule.Source{reach.SourceAnswer}
	return slices.Concat(serverRules,
		siteRules.With(rule.Rule[*evidence]{Reads: []rule.Source{reach.SourceServer}, Category: factorHTTPS}),
		headerRules.With(rule.Rule[*evidence]{Reads: fromAnswer, Category: factorHeader, When: present}),
		durationRules.With(rule.Rule[*evidence]{Reads: fromAnswer, Category: factorDuration}),
		redirectRules.With(rule.Rule[*evidence]{
			Reads: []rule.Source{reach.SourceAnswer, sourceHTTP, sourceChain}, Category: factorRedirect,
			HoldsWhenUnanswered: true,
		}),
		wwwRules.With(rule.Rule[*evidence]{Reads: []rule.Source{reach.SourceAnswer, sourceWWW}, Category: factorScope,
			DependsOn: []diag.Code{needsHTTPS}}),
		preloadRules.With(rule.Rule[*evidence]{Category: factorPreload}))
})

// What is asked beside the site over HTTPS.
const (
	sourceHTTP  rule.Source = "http"  // the site over plain HTTP
	sourceChain rule.Source = "chain" // the pages behind redirects
	sourceWWW   rule.Source = "www"
)

func answered(e *evidence) bool { return first(e.https) != nil }

// seen is how far the check came with the site over HTTPS. What redirects lead to is left out.
func (e *evidence) observation() *reach.Observation {
	s := &reach.Observation{Host: e.domain.String(), Port: 443, Err: e.https.Err, Now: e.now}
	if head := first(e.https); head != nil {
		s.Err, s.TLS, s.Hops = nil, []*pki.TLS{head.TLS}, []fetch.Hop{*head}
		s.Hops[0].Faults = slices.DeleteFunc(slices.Clone(head.Faults), ofHSTS) // a rule of this package reports those
	} else if e.https.TLS != nil {
		s.TLS = []*pki.TLS{e.https.TLS}
	}
	return s
}

// needsHTTPS is the last of the rules about reaching the site, which hold before there can be HSTS; needsTrust are
// those about its certificate.
const needsHTTPS diag.Code = "hsts.https.protocol"

var needsTrust = []diag.Code{needsHTTPS, "hsts.certificate.expired", "hsts.certificate.early",
	"hsts.certificate.untrusted", "hsts.certificate.name"}

var serverRules = reach.Server[*evidence]{Name: "HTTPS site", Observation: (*evidence).observation}.Rules(
	rule.Rule[*evidence]{Fact: reach.NotLookedUp, Code: "hsts.domain.unknown"},
	rule.Rule[*evidence]{Fact: reach.Silent, Code: "hsts.https.unknown"},
	rule.Rule[*evidence]{Fact: reach.NoName, Code: "hsts.domain.nxdomain",
		Title: "Domain does not exist", Requirement: "The domain exists"},
	rule.Rule[*evidence]{
		Code: "hsts.domain.address", Severity: diag.Info, StateIfFailed: diag.Missing, Fact: reach.NoAddress,
		Differs: "a domain that only receives mail has no website, and needs none",
		Title:   "Domain has no address and thus no website", Requirement: "The domain has a website",
		Advice: "Check the host that serves the website, such as www, if there is one.",
	},
	rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "hsts.domain.blocked", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.Refused, Code: "hsts.https.connection", NoScore: true,
		Advice: "Serve the site over HTTPS on port 443 with a valid certificate: HSTS requires it."},
	rule.Rule[*evidence]{Fact: reach.Handshake, Code: "hsts.https.handshake", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: needsHTTPS, NoScore: true, Weight: 6, Category: factorHTTPS},
	rule.Rule[*evidence]{Fact: reach.Expired, Code: "hsts.certificate.expired", Weight: 3, Category: factorHTTPS},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "hsts.certificate.early", Weight: 1, Category: factorHTTPS},
	rule.Rule[*evidence]{Fact: reach.Untrusted, Code: "hsts.certificate.untrusted", Weight: 3, Category: factorHTTPS,
		Advice: "Install a certificate from a public authority, with its intermediate certificates: browsers ignore HSTS " +
			"over a connection that they do not trust."},
	rule.Rule[*evidence]{Fact: reach.OtherName, Code: "hsts.certificate.name", Weight: 3, Category: factorHTTPS},
	rule.Rule[*evidence]{Fact: reach.ExpiresNow, Code: "hsts.certificate.expires_now", Weight: 2, Category: factorHTTPS},
	rule.Rule[*evidence]{Fact: reach.Expiring, Code: "hsts.certificate.expiring", Weight: 1, Category: factorHTTPS,
		Advice: "Renew the certificate: with HSTS, visitors cannot click through the warning once it has expired."},
	rule.Rule[*evidence]{Fact: reach.OldTLS, Code: "hsts.tls.version", Weight: 2, Category: factorHTTPS},
	rule.Rule[*evidence]{Fact: reach.BadLine, Code: "hsts.https.header.line"},
)

var siteRules = rule.Rules[*evidence]{{
	Code: "hsts.https.locked_out", Severity: diag.Critical, NoScore: true,
	DependsOn: []diag.Code{"hsts.domain.address"}, Ref: "RFC 6797 section 12.1",
	Title:       "Preloaded domain cannot be opened in browsers",
	Requirement: "Browsers that have the domain on their list can open it",
	Advice: "Restore HTTPS with a valid certificate: current browsers use nothing else, and a removal " +
		"from the list takes months to reach them.",
	When: func(e *evidence) bool { return e.listed() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.trusted(),
			"%s is on the preload list (as %s), and does not serve HTTPS with a valid certificate.", e.domain, e.entry.Name)
	},
}, {
	Code: "hsts.certificate.sha1", Severity: diag.Warning, DependsOn: []diag.Code{needsHTTPS},
	Ref:   "RFC 9155 section 2",
	Title: "Certificate chain has a SHA-1 signature", Requirement: "No certificate of the chain is signed with SHA-1",
	Advice: "Replace the certificate with one that is signed with SHA-256.",
	Fails: func(e *evidence) rule.Failures {
		c := sha1Signed(first(e.https).TLS)
		if c == nil {
			return nil
		}
		return rule.Fail("The certificate of %s, which the site sends, is signed with SHA-1.",
			phrase.Quote(c.Subject.CommonName))
	},
}, {
	Code: "hsts.tls.obsolete", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{needsHTTPS, "hsts.tls.version"}, Ref: "RFC 9325 section 4.2",
	Title:       "Site uses an obsolete cipher suite",
	Requirement: "The site uses TLS 1.3, or a modern cipher suite of TLS 1.2",
	Advice:      "Enable TLS 1.3, and TLS 1.2 with ECDHE and AES-GCM or ChaCha20-Poly1305.",
	Fails: func(e *evidence) rule.Failures {
		t := first(e.https).TLS
		return rule.FailIf(obsolete(t),
			"The site agreed on %s with %s, though both TLS 1.3 and modern cipher suites were offered.", t.Version,
			t.CipherSuite)
	},
}}

// wwwRules are about the host www, which many people type by habit.
var wwwRules = rule.Rules[*evidence]{{
	Code: "hsts.www.cut_off", Severity: diag.Error, Weight: 8, HoldsWhenUnanswered: true, Ref: "RFC 6797 section 14.4",
	Title:       "includeSubDomains cuts off www, which lacks valid HTTPS",
	Requirement: "The host www speaks HTTPS where the header holds for subdomains",
	Advice: "Serve www over HTTPS with a valid certificate: with includeSubDomains, browsers use nothing else " +
		"for it.",
	When:  func(e *evidence) bool { return e.includesSubdomains() && e.www != nil },
	Fails: brokenWWW,
}, {
	Code: "hsts.www.https", Severity: diag.Warning, Weight: 8, HoldsWhenUnanswered: true, Ref: "RFC 6797 section 14.4",
	Title: "www does not speak valid HTTPS", Requirement: "The host www speaks HTTPS, if there is one",
	Advice: "Serve www over HTTPS with a valid certificate before you add includeSubDomains.",
	When:   func(e *evidence) bool { return !e.includesSubdomains() && e.www != nil },
	Fails:  brokenWWW,
}, {
	Code: "hsts.www.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 6797 section 14.4",
	Title: "www did not answer over HTTPS in time", Requirement: "The host www answers in time",
	Advice: "Check that port 443 of www is open to everyone.",
	When:   func(e *evidence) bool { return answered(e) && e.www != nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(silent(e.www), "www.%s did not answer over HTTPS, so it is not known whether it could be covered.",
			e.domain)
	},
}}

func brokenWWW(e *evidence) rule.Failures {
	if e.www == nil || first(e.www) != nil || silent(e.www) || e.www.Err.Code == fetch.DNS {
		return nil
	}
	host := "www." + e.domain.String()
	if e.www.Err.Code == fetch.TLS {
		return rule.Fail("%s does not speak valid HTTPS: %s.", host, e.www.Err.Message).About(host)
	}
	// RFC 6797 section 8.3: what only plain HTTP serves is out of reach.
	return rule.FailIf(first(e.wwwHTTP) != nil, "%s answers over plain HTTP, and over HTTPS it does not: %s.", host,
		e.www.Err.Message).About(host)
}

// The factors of the score, in the order of a reader.
var (
	factorHTTPS    = rule.Category{Code: "https", Label: "HTTPS"}
	factorHeader   = rule.Category{Code: "header", Label: "Header"}
	factorDuration = rule.Category{Code: "duration", Label: "Duration"}
	factorScope    = rule.Category{Code: "scope", Label: "Subdomains"}
	factorRedirect = rule.Category{Code: "redirect", Label: "Redirect from HTTP"}
	factorPreload  = rule.Category{Code: "preload", Label: "Preloading"}
)

// texts are the verdicts in words, where a rule does not say it as well.
var texts = rule.Texts{
	"valid": {Headline: "HSTS is in force", Sub: "Browsers that have visited the site return over HTTPS only."},
	"hsts.include_subdomains.missing": {
		Headline: "HSTS is in force for this host, without its subdomains",
		Sub:      "Add includeSubDomains once every subdomain speaks HTTPS.",
	},
}

// praise holds the verdicts on a header without a fault, by its grade and status.
var praise = map[Grade]diag.Text{
	GradePreloadReady: {
		Headline: "HSTS is in force, and the domain is ready for the preload list",
		Sub:      "It can be submitted at hstspreload.org. Do so only if all subdomains keep HTTPS permanently.",
	},
	GradePreloaded: {
		Headline: "HSTS is in force, and the domain is preloaded",
		Sub:      "Browsers use HTTPS from the first visit on. Keep the header as it is.",
	},
}

// pendingText is the verdict on a domain that was submitted.
var pendingText = diag.Text{
	Headline: "HSTS is in force, and preloading is pending",
	Sub:      "Browsers will ship it in a future version. Keep the header as it is.",
}

func (e *evidence) texts() rule.Texts {
	text, ok := praise[e.grade()]
	if e.entry != nil && e.entry.Pending && e.eligible() {
		text, ok = pendingText, true
	}
	if !ok {
		return texts
	}
	t := maps.Clone(texts)
	t[string(diag.Valid)] = text
	return t
}

func served(e *evidence) bool { return first(e.http) != nil }

func redirected(e *evidence) bool { return served(e) && len(leads(e.http)) > 0 }

// toSite reports whether the first redirect leads to the same host over HTTPS.
func toSite(e *evidence) bool {
	if !redirected(e) {
		return false
	}
	to := leads(e.http)[0]
	return to.Scheme == "https" && hostOf(to) == e.domain.String()
}

var redirectRules = rule.Rules[*evidence]{{
	Code: "hsts.http.closed", Severity: diag.Info, DependsOn: []diag.Code{needsHTTPS}, Ref: "RFC 9110 section 4.2.1",
	Title: "Port 80 refuses connections", Requirement: "Port 80 accepts connections", Fact: reach.HTTPClosed,
	Advice: reach.ClosedAdvice, When: answered,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(reach.Refuses(e.http),
			"Port 80 of %s refuses connections, so http:// links work only in clients that try "+
				"HTTPS by themselves, as browsers do.", e.domain).About(e.domain.String())
	},
}, {
	Code: "hsts.redirect.long", Severity: diag.Info, StateIfFailed: diag.Unknown, Fact: reach.LongRedirect,
	DependsOn: []diag.Code{needsHTTPS}, Ref: "RFC 9110 section 4.1",
	Title: "Redirect is too long to be checked", Requirement: "Every redirect is short enough to be checked",
	Advice: "Open the site in a browser to see where it leads.", When: answered,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(tooLong(e.https) || tooLong(e.http),
			"A redirect leads to a URL of more than %d octets, which was not followed.",
			input.MaxURL)
	},
}, {
	Code: "hsts.http.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, DependsOn: []diag.Code{needsHTTPS},
	Ref:         "RFC 6797 section 7.2",
	Title:       "Site did not answer over plain HTTP in time",
	Requirement: "The site answers over plain HTTP in time, or refuses connections",
	Advice:      reach.SilentAdvice, When: answered,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(silent(e.http), "http://%s/ did not answer, so where it leads is not known.",
			e.domain)
	},
}, {
	Code: "hsts.redirect.missing", Severity: diag.Warning, Weight: 25, DependsOn: []diag.Code{needsHTTPS},
	Ref:   "RFC 6797 section 7.2",
	Title: "Plain HTTP does not redirect to HTTPS", Requirement: "Plain HTTP redirects",
	Fact: reach.NoRedirect, Advice: reach.Redirect, When: served,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!redirected(e), "http://%[1]s/ answers with status %[2]d and does not "+
			"redirect to https://%[1]s/, so a first visit stays unencrypted.",
			e.domain, first(e.http).StatusCode)
	},
}, {
	Code: "hsts.redirect.insecure", Severity: diag.Warning, Weight: 12,
	DependsOn: []diag.Code{"hsts.redirect.missing"}, Ref: "RFC 6797 section 7.2",
	Title: "First redirect stays on plain HTTP", Requirement: "The first redirect from plain HTTP leads to HTTPS",
	Advice: reach.Redirect,
	Fails: func(e *evidence) rule.Failures {
		to := leads(e.http)[0]
		return rule.FailIf(to.Scheme != "https", "http://%[1]s/ redirects to %[2]s first, not to https://%[1]s/.",
			e.domain, phrase.Quote(to.String()))
	},
}, {
	Code: "hsts.redirect.host", Severity: diag.Warning, Weight: 8, DependsOn: []diag.Code{"hsts.redirect.insecure"},
	Ref:         "hstspreload.org, \"Submission Requirements\"",
	Title:       "First redirect leads to another host",
	Requirement: "The first redirect from plain HTTP stays on the host",
	Advice:      reach.Redirect,
	Fails: func(e *evidence) rule.Failures {
		if toSite(e) {
			return nil
		}
		return rule.Failures{{
			Detail: fmt.Sprintf("http://%[1]s/ redirects to the host %[2]s first, "+
				"so browsers never see the HSTS header of %[1]s.",
				e.domain, phrase.Quote(hostOf(leads(e.http)[0]))),
			Advice: fmt.Sprintf("Redirect http://%[1]s/ to https://%[1]s/ first, and from there to %[2]s.", e.domain,
				phrase.Quote(hostOf(leads(e.http)[0]))),
		}}
	},
}, {
	Code: "hsts.redirect.header", Severity: diag.Warning, Weight: 6, DependsOn: []diag.Code{"hsts.redirect.host"},
	Ref:         "RFC 6797 section 7.2",
	Title:       "Page behind the redirect sends no valid HSTS header",
	Requirement: "The page behind the redirect sends a valid HSTS header",
	Advice:      "Send the header with every HTTPS response, including redirects and error pages.",
	When:        func(e *evidence) bool { return e.inForce() && e.afterRedirect() != nil },
	Fails: func(e *evidence) rule.Failures {
		next := e.afterRedirect()
		fields := fieldsOf(next)
		return rule.FailIf(len(fields) == 0 || !Parse(fields[0]).Valid(),
			"https://%s/ sends a valid header, but %s, to which plain HTTP redirects, does not.", e.domain,
			phrase.Quote(next.URL))
	},
}, {
	Code: "hsts.redirect.downgrade", Severity: diag.Error, Weight: 8, DependsOn: []diag.Code{needsHTTPS},
	Ref:   "RFC 6797 section 7.2",
	Title: "HTTPS redirects back to plain HTTP", Requirement: "No redirect leads from HTTPS to plain HTTP",
	Advice: "Redirect to https:// URLs only.",
	Fails:  func(e *evidence) rule.Failures { return either(e, downgrade) },
}, {
	Code: "hsts.redirect.many", Severity: diag.Warning, Weight: 4, DependsOn: []diag.Code{"hsts.redirect.downgrade"},
	Ref:   "hstspreload.org, \"Submission Requirements\"",
	Title: "Too many redirects", Requirement: "There are at most 3 redirects",
	Advice: "Shorten the chain: from http:// to https:// on the same host, and from there to the page.",
	Fails:  func(e *evidence) rule.Failures { return either(e, failLongChain) },
}, {
	Code: "hsts.redirect.broken", Severity: diag.Warning, Weight: 5, DependsOn: needsTrust,
	Ref:         "hstspreload.org, \"Submission Requirements\"",
	Title:       "Redirect leads to a page that cannot be fetched",
	Requirement: "All redirects lead to pages that can be fetched",
	Advice:      "Redirect to a page that answers over HTTPS with a valid certificate.",
	Fails: func(e *evidence) rule.Failures {
		return either(e, failDeadEnd)
	},
}, {
	Code: "hsts.http.header", Severity: diag.Warning, DependsOn: []diag.Code{needsHTTPS}, Ref: "RFC 6797 section 7.2",
	Title: "HSTS header over plain HTTP has no effect", Requirement: "Plain HTTP does not send the HSTS header",
	Advice: "Send the header over HTTPS only: over plain HTTP browsers ignore it, and it must not be sent.",
	When:   func(e *evidence) bool { return served(e) && present(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(fieldsOf(first(e.http))) > 0, "http://%s/ sends a Strict-Transport-Security header.",
			e.domain)
	},
}}

// either fails with the faults of the redirects from HTTPS, or else from plain HTTP, which lead on to those.
func either(e *evidence, fails func(*fetch.Result) rule.Failures) rule.Failures {
	if first(e.https) != nil {
		if failures := fails(e.https); len(failures) > 0 {
			return failures
		}
	}
	if first(e.http) == nil {
		return nil
	}
	return fails(e.http)
}

// downgrade fails with the first redirect of a chain that leads from HTTPS to plain HTTP.
func downgrade(r *fetch.Result) rule.Failures {
	for i, to := range leads(r) {
		if from := r.Hops[i].URL; strings.HasPrefix(from, "https:") && to.Scheme != "https" {
			return rule.Fail("%s redirects to %s.",
				phrase.Quote(from), phrase.Quote(to.String())).About(shorten(from, maxRaw))
		}
	}
	return nil
}

func failLongChain(r *fetch.Result) rule.Failures {
	if !tooMany(r) {
		return nil
	}
	if r.Err.Code == fetch.Loop {
		return rule.Fail("The redirects from %s form a loop.", r.Hops[0].URL)
	}
	return rule.Fail("The redirects from %s do not end after the third.", r.Hops[0].URL)
}

// failDeadEnd fails with why a chain of redirects does not end at a page.
func failDeadEnd(r *fetch.Result) rule.Failures {
	if h := untrustedHop(r, 1); h != nil {
		return rule.Fail("%s leads to %s, whose certificate browsers do not trust: %s.",
			r.Hops[0].URL, phrase.Quote(h.URL), h.TLS.Err())
	}
	if err := brokenOff(r); err != nil && !err.Unanswered {
		return rule.Fail("%s redirects to what cannot be fetched: %s.", r.Hops[len(r.Hops)-1].URL, err.Message)
	}
	return nil
}
