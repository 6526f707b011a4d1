package headers

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// rules are all that is examined.
var rules = slices.Concat(fetchRules, transportRules, hstsRules, policyRules, policyDetailRules, framingRules, fieldRules,
	isolationRules, cookieRules, cookieDetailRules, sharingRules, hygieneRules)

// fetched are the rules without which there is nothing to judge.
var fetched = []diag.Code{
	"headers.host.missing", "headers.host.address", "headers.fetch.unanswered", "headers.fetch.blocked", "headers.fetch.refused",
	"headers.fetch.tls", "headers.fetch.redirects", "headers.fetch.protocol",
}

// only makes the condition of a rule about how the chain ended: nothing is praised where it ended otherwise.
func only(is func(*fetch.Error) bool) func(*evidence) bool {
	return func(e *evidence) bool { return e.page.Err == nil || is(e.page.Err) }
}

// ended makes the test of such a rule.
func ended(is func(*fetch.Error) bool) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		err := e.page.Err
		return diag.FailIf(err != nil && is(err), "%s", sentence(err)).About(e.page.URL.Host().Name())
	}
}

func sentence(err *fetch.Error) string {
	if err == nil {
		return ""
	}
	return diag.Sentence(err.Message)
}

func unanswered(err *fetch.Error) bool { return err.Unanswered }

func endless(err *fetch.Error) bool {
	return code(fetch.Loop)(err) || code(fetch.TooManyRedirects)(err)
}

func code(code fetch.Reason) func(*fetch.Error) bool {
	return func(err *fetch.Error) bool { return !err.Unanswered && err.Code == code }
}

// fetchRules are about whether there is an answer at all.
var fetchRules = diag.Rules[*evidence]{
	{
		Code: "headers.host.missing", Severity: diag.Error, NoScore: true,
		Title: "Host does not exist", Requirement: "The host exists", Ref: "RFC 8020",
		Advice: "Check the spelling of the host, its DNS records and the registration of the domain.",
		When:   only(code(fetch.DNS)),
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.nxdomain, "%s does not exist in the DNS (NXDOMAIN).", e.page.URL.Host().Name()).
				About(e.page.URL.Host().Name())
		},
	},
	{
		Code: "headers.host.address", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"headers.host.missing"},
		Title: "Host has no address", Requirement: "The host has an address", Ref: "RFC 9110 section 4.3.3",
		Advice: "Publish an A or AAAA record for the host.",
		When:   only(code(fetch.DNS)), Fails: ended(code(fetch.DNS)),
	},
	{
		Code: "headers.fetch.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Title: "Site did not answer", Requirement: "The site answers", Ref: "RFC 9110 section 3.4",
		Advice: "Check that the server runs and that its firewall lets the request through, then try again.",
		When:   only(unanswered),
		Fails:  ended(unanswered),
	},
	{
		Code: "headers.fetch.blocked", Severity: diag.Error, NoScore: true,
		Title:       "URL leads to an address that is not public",
		Requirement: "The URL leads to public addresses only", Ref: "RFC 6890",
		Advice: "Give the host public addresses, and let redirects lead to http and https URLs of public hosts only.",
		When:   only(code(fetch.Blocked)), Fails: ended(code(fetch.Blocked)),
	},
	{
		Code: "headers.fetch.refused", Severity: diag.Error, NoScore: true,
		Title: "Site refuses connections", Requirement: "The site accepts connections", Ref: "RFC 9110 section 4.3.3",
		Advice: "Start the web server, and let the firewall accept connections to its port.",
		When:   only(code(fetch.Connect)), Fails: ended(code(fetch.Connect)),
	},
	{
		Code: "headers.fetch.tls", Severity: diag.Error, NoScore: true,
		Title: "TLS handshake fails", Requirement: "The TLS handshake succeeds", Ref: "RFC 8446 section 4",
		Advice: "Check the server's certificate and its TLS versions and cipher suites.",
		When:   only(code(fetch.TLS)), Fails: ended(code(fetch.TLS)),
	},
	{
		Code: "headers.fetch.redirects", Severity: diag.Error, NoScore: true,
		Title: "Redirects do not end", Requirement: "The redirects come to an end", Ref: "RFC 9110 section 15.4",
		Advice: "Redirect straight to the final URL, at most a few times, and never back.",
		When:   only(endless),
		Fails:  ended(endless),
	},
	{
		Code: "headers.fetch.protocol", Severity: diag.Error, NoScore: true,
		Title: "Answer is not valid HTTP", Requirement: "The answer is valid HTTP", Ref: "RFC 9112 section 2",
		Advice: "Check what runs on the port, and what the server writes into its header.",
		When:   only(code(fetch.Protocol)), Fails: ended(code(fetch.Protocol)),
	},
	{
		Code: "headers.status.error", Severity: diag.Info, DependsOn: fetched,
		Title: "An error page was judged", Requirement: "The answer is not an error", Ref: "RFC 9110 section 15",
		Advice: "Examine a page that exists too: servers often send other headers with it.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.final.StatusCode >= 400, "The server answered %d %s: the headers are those of an error page.",
				e.final.StatusCode, diag.Quote(e.final.StatusText))
		},
	},
}

// transportRules are about https.
var transportRules = diag.Rules[*evidence]{
	{
		Code: "headers.tls.untrusted", Severity: diag.Error, Weight: 20, Category: factorTransport, DependsOn: fetched,
		Title: "Certificate is not trusted", Requirement: "Browsers trust the certificates", Ref: "RFC 9110 section 4.3.4",
		Advice: "Install a certificate of a public authority for this host, with its whole chain, and automate renewal.",
		When: func(e *evidence) bool {
			return slices.ContainsFunc(e.page.Hops, func(h fetch.Hop) bool { return h.TLS != nil })
		},
		Fails: func(e *evidence) diag.Failures {
			hop := untrusted(e.page.Hops)
			if hop == nil {
				return nil
			}
			return diag.Fail("%s", diag.Sentence(hop.TLS.Err().Error())).About(hop.URL)
		},
	},
	{
		Code: "headers.https.missing", Severity: diag.Error, Weight: 30, Category: factorTransport, DependsOn: fetched,
		Title: "Page is served over plain HTTP", Requirement: "The page is served over HTTPS", Ref: "RFC 9110 section 4.2.2",
		Advice: "Serve the page over HTTPS, and redirect every HTTP request to the same URL with https.",
		When:   func(e *evidence) bool { return !e.redirects() },
		Fails: func(e *evidence) diag.Failures {
			if e.secure() {
				return nil
			}
			state := "and the host does not answer over HTTPS with a valid certificate"
			if e.goodHTTPS() {
				state = "although the host answers over HTTPS too"
			}
			return diag.Fail("%s is not encrypted, %s: anybody on the way can read and change it, its headers included.",
				e.final.URL, state).About(e.final.URL)
		},
	},
	{
		Code: "headers.redirect.missing", Severity: diag.Warning, Weight: 10, Category: factorTransport, DependsOn: fetched,
		Title: "HTTP is not redirected to HTTPS", Requirement: "HTTP leads to HTTPS, or is closed",
		Ref:    "RFC 6797 section 7.2",
		Advice: "Answer every HTTP request with 301 and the same URL with https in Location.",
		When:   func(e *evidence) bool { return e.secure() && e.overHTTP != nil && !silent(e.overHTTP) },
		Fails: func(e *evidence) diag.Failures {
			end := e.overHTTP.Final()
			if end == nil || e.overHTTP.Err != nil || e.overHTTP.URL.Scheme() == "https" {
				return nil
			}
			return diag.Fail("%s answers with status %d over plain HTTP and does not lead to HTTPS.", end.URL, end.StatusCode).About(end.URL)
		},
	},
	{
		Code: "headers.redirect.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, DependsOn: fetched,
		Title: "HTTP did not answer", Requirement: "HTTP answers or refuses connections", Ref: "RFC 6797 section 7.2",
		Advice: "Let port 80 answer with a redirect to HTTPS, or refuse connections at once.",
		When:   func(e *evidence) bool { return e.secure() && e.overHTTP != nil },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(silent(e.overHTTP), "Whether HTTP leads to HTTPS is not known: %s", sentence(e.overHTTP.Err))
		},
	},
	{
		Code: "headers.redirect.insecure", Severity: diag.Warning, Weight: 5, Category: factorTransport, DependsOn: fetched,
		Title: "A redirect leads to plain HTTP", Requirement: "No redirect leads to plain HTTP", Ref: "RFC 9110 section 15.4",
		Advice: "Redirect from HTTP straight to HTTPS on the same host, and from there on to HTTPS only.",
		When:   func(e *evidence) bool { return len(e.redirectHops()) > 1 },
		Fails: func(e *evidence) diag.Failures {
			hops := e.redirectHops()
			for _, h := range hops[1:] {
				if !isHTTPS(h.URL) {
					return diag.Fail("The redirects from %s go through %s, which is not encrypted.", hops[0].URL, h.URL).About(h.URL)
				}
			}
			return nil
		},
	},
	{
		Code: "headers.redirect.host", Severity: diag.Info, DependsOn: fetched,
		Title: "HTTP leads to another host first", Requirement: "HTTP leads to HTTPS on the same host first",
		Ref: "RFC 6797 section 7.2",
		Advice: "Redirect to HTTPS on the same host first, so that browsers see the Strict-Transport-Security of that " +
			"host too.",
		When: func(e *evidence) bool { return e.overHTTP != nil && len(e.overHTTP.Hops) > 1 },
		Fails: func(e *evidence) diag.Failures {
			first, second := e.overHTTP.Hops[0], e.overHTTP.Hops[1]
			return diag.FailIf(isHTTPS(second.URL) && hostOf(first.URL) != hostOf(second.URL),
				"%s leads to %s, so that browsers never learn that %s is to be reached over HTTPS.", first.URL, second.URL, hostOf(first.URL)).
				About(first.URL)
		},
	},
}

// redirectHops are those of the page, or those of http:// if that was not what was asked for.
func (e *evidence) redirectHops() []fetch.Hop {
	if e.overHTTP != nil && e.req.URL.Scheme() == "https" && len(e.page.Hops) < 2 {
		return e.overHTTP.Hops
	}
	return e.page.Hops
}

func silent(r *fetch.Result) bool { return r.Err != nil && r.Err.Unanswered }
