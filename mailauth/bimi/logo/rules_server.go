package logo

import (
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// expiringDays is when a certificate should have been renewed: those of Let's Encrypt have 30 days left then.
const expiringDays = 14

func asked(e *evidence) bool { return e.fetched != nil }

// host names the host of the last address that was tried.
func (e *evidence) host() string { return e.fetched.Result.URL.Host().String() }

// failedFor fails with what the fetch said if it failed for one of the reasons, as a matter of fact.
func failedFor(reasons ...fetch.Reason) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		err := e.fetched.Result.Err
		if err == nil || err.Unanswered || !slices.Contains(reasons, err.Code) {
			return nil
		}
		return e.explained()
	}
}

// explained fails with what the fetch said.
func (e *evidence) explained() diag.Failures {
	text := diag.Sentence(strings.TrimSuffix(e.fetched.Result.Err.Message, "."))
	return diag.Failures{{Detail: text, Target: e.host()}}
}

// learned reports whether it is known if the host can be reached.
func learned(e *evidence) bool {
	return asked(e) && (!e.fetched.Unanswered() || e.fetched.Result.TLS != nil)
}

// secured reports whether there was a TLS handshake with the last host.
func secured(e *evidence) bool { return e.fetched.Result.TLS != nil }

func served(e *evidence) bool { return asked(e) && e.fetched.Result.Final() != nil }

// serverRules are about reaching the web server.
var serverRules = diag.Rules[*evidence]{
	{
		Code: "bimi.logo.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "Web server of the logo did not answer",
		Requirement: "The web server of the logo answers",
		Ref:         refFetch,
		Advice:      "Check that the web server of the logo answers in time from everywhere, then try again.",
		When:        asked,
		Fails: func(e *evidence) diag.Failures {
			if !e.fetched.Unanswered() {
				return nil
			}
			return e.explained()
		},
	},
	{
		Code: "bimi.logo.redirect.loop", Severity: diag.Critical, Weight: 1, Category: factorServer,
		Title:       "Logo address redirects without an end",
		Requirement: "The redirects of the logo come to an end",
		Ref:         "RFC 9110 section 15.4",
		Advice:      "Serve the logo at the address itself, without redirects.",
		When:        learned, Fails: failedFor(fetch.Loop, fetch.TooManyRedirects),
	},
	{
		Code: "bimi.logo.host.missing", Severity: diag.Critical, Weight: 2, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.redirect.loop"},
		Title:       "Host of the logo has no address",
		Requirement: "The host of the logo has an address",
		Ref:         refFetch,
		Advice:      "Give the host an A or AAAA record, or correct the host in the address of the logo.",
		Fails:       failedFor(fetch.DNS),
	},
	{
		Code: "bimi.logo.connection", Severity: diag.Critical, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.host.missing"},
		Title:       "Web server of the logo cannot be reached",
		Requirement: "The web server of the logo accepts connections",
		Ref:         refFetch,
		Advice:      "Let the web server listen on port 443 of a public address, and open the firewall for it.",
		Fails:       failedFor(fetch.Connect, fetch.Blocked),
	},
	{
		Code: "bimi.logo.redirect.http", Severity: diag.Error, Weight: 2, Category: factorServer,
		Title:       "Logo address redirects to http",
		Requirement: "No redirect of the logo leads to http",
		Ref:         refFormats,
		Advice:      "Redirect to addresses with https only, or serve the logo at the address in the record itself.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			for _, h := range e.fetched.Result.Hops {
				if strings.HasPrefix(h.URL, "http:") {
					return diag.Fail("A redirect leads to %s, which is not encrypted.", diag.Quote(h.URL)).About(diag.Quote(h.URL))
				}
			}
			return nil
		},
	},
	{
		Code: "bimi.logo.tls.handshake", Severity: diag.Critical, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.connection"},
		Title:       "TLS handshake with the web server of the logo failed",
		Requirement: "The web server of the logo completes a TLS handshake",
		Ref:         refFetch,
		Advice:      "Configure the web server with a certificate for this host and TLS 1.2 or 1.3.",
		Fails:       failedFor(fetch.TLS),
	},
	{
		Code: "bimi.logo.certificate.expired", Severity: diag.Critical, Weight: 2, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.tls.handshake"},
		Title:       "Certificate of the logo's web server has expired",
		Requirement: "The certificate of the logo's web server has not expired",
		Ref:         "RFC 9110 section 4.3.4",
		Advice:      "Renew the certificate and automate renewal.",
		When:        secured, Fails: untrusted(func(r pki.Reason) bool { return r == pki.Expired }),
	},
	{
		Code: "bimi.logo.certificate.untrusted", Severity: diag.Critical, Weight: 2, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.tls.handshake"},
		Title:       "Certificate of the logo's web server is not trusted",
		Requirement: "The certificate of the logo's web server is trusted",
		Ref:         "RFC 9110 section 4.3.4",
		Advice:      "Use a certificate of a public authority, and send its intermediate certificates along.",
		When:        secured, Fails: untrusted(func(r pki.Reason) bool { return r != pki.Expired }),
	},
	{
		Code: "bimi.logo.certificate.name", Severity: diag.Critical, Weight: 2, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.tls.handshake"},
		Title:       "Certificate does not cover the host of the logo",
		Requirement: "The certificate covers the host of the logo",
		Ref:         "RFC 9110 section 4.3.4",
		Advice:      "Get a certificate that lists the host of the logo as a subject alternative name.",
		When:        func(e *evidence) bool { return secured(e) && len(e.fetched.Result.TLS.Chain) > 0 },
		Fails: func(e *evidence) diag.Failures {
			err := e.fetched.Result.TLS.Name
			if err == nil {
				return nil
			}
			return diag.Fail("%s", diag.Sentence(err.Error())).About(e.host())
		},
	},
	{
		Code: "bimi.logo.certificate.expiring", Severity: diag.Warning,
		DependsOn:   []diag.Code{"bimi.logo.certificate.expired", "bimi.logo.certificate.untrusted"},
		Title:       "Certificate of the logo's web server expires within two weeks",
		Requirement: "The certificate of the logo's web server is valid for two weeks",
		Ref:         "RFC 9110 section 4.3.4",
		Advice:      "Renew the certificate and automate renewal: once it has expired, receivers fetch no logo.",
		When:        secured,
		Fails: func(e *evidence) diag.Failures {
			leaf := e.fetched.Result.TLS.Leaf()
			if leaf == nil || leaf.DaysRemaining >= expiringDays {
				return nil
			}
			return diag.Failures{{Due: leaf.NotAfter, Target: e.host(), Detail: "The certificate of " + e.host() + " expires on " +
				leaf.NotAfter.Format("2006-01-02") + ", in " + diag.Count(leaf.DaysRemaining, "day") + "."}}
		},
	},
	{
		Code: "bimi.logo.tls.version", Severity: diag.Warning,
		DependsOn:   []diag.Code{"bimi.logo.tls.handshake"},
		Title:       "Web server of the logo uses an obsolete TLS version",
		Requirement: "The web server of the logo uses TLS 1.2 or later",
		Ref:         "RFC 8996 section 1",
		Advice:      "Enable TLS 1.2 and 1.3: receivers refuse older versions.",
		When:        secured,
		Fails: func(e *evidence) diag.Failures {
			v := e.fetched.Result.TLS.Version
			old := v == tls.VersionName(tls.VersionTLS10) || v == tls.VersionName(tls.VersionTLS11)
			return diag.FailIf(old, "%s agreed on %s.", e.host(), v).About(e.host())
		},
	},
}

// untrusted fails with why the certificate is not trusted, for the reasons that are picked.
func untrusted(pick func(pki.Reason) bool) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		trust, ok := errors.AsType[*pki.TrustError](e.fetched.Result.TLS.Trust)
		if !ok || !pick(trust.Reason) {
			return nil
		}
		text := trust.Text
		if rest, ok := strings.CutPrefix(text, "the certificate "); ok {
			text = "the certificate of " + e.host() + " " + rest
		}
		return diag.Fail("%s", diag.Sentence(text)).About(e.host())
	}
}

// answerRules are about what the web server answers.
var answerRules = diag.Rules[*evidence]{
	{
		Code: "bimi.logo.http", Severity: diag.Critical, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.tls.handshake"},
		Title:       "Web server of the logo does not answer in valid HTTP",
		Requirement: "The web server of the logo answers in valid HTTP",
		Ref:         refFetch,
		Advice:      "Check the web server: its answer is not valid HTTP.",
		When:        func(e *evidence) bool { return !e.fetched.Unanswered() },
		Fails:       failedFor(fetch.Protocol),
	},
	{
		Code: "bimi.logo.status", Severity: diag.Critical, Weight: 5, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.redirect.loop"},
		Title:       "Logo is not served with status 200",
		Requirement: "The logo is served with status 200",
		Ref:         refFetch,
		Advice:      "Upload the logo to this address, or write the address at which it is into the BIMI record.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			head := e.fetched.Result.Final()
			if head.StatusCode == http.StatusOK {
				return nil
			}
			f := diag.Fail("The web server answered %d %s for %s.", head.StatusCode, diag.Quote(head.StatusText), diag.Quote(head.URL))
			switch code := head.StatusCode; {
			case code >= http.StatusInternalServerError:
				f[0].Advice = "Find the cause in the log of the web server and correct it, then try again."
			case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusTooManyRequests:
				f[0].Advice = "Let everybody fetch the logo, without a password and without a filter against programs: receivers " +
					"fetch it from many addresses and run no scripts."
			}
			return f.About(e.host())
		},
	},
	{
		Code: "bimi.logo.redirect", Severity: diag.Warning, Weight: 1, Category: factorServer,
		Title:       "Logo is behind a redirect",
		Requirement: "The logo is served without a redirect",
		Ref:         refFormats,
		Advice:      "Write the last address into the BIMI record: not every receiver follows redirects.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			n := e.fetched.redirects()
			return diag.FailIf(n > 0, "%s %s.", redirects(n), diag.Quote(e.fetched.Result.URL.String())).
				About(diag.Quote(e.fetched.Result.URL.String()))
		},
	},
	{
		Code: "bimi.logo.content_type", Severity: diag.Warning, Weight: 2, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.status"},
		Title:       "Logo is not served as image/svg+xml",
		Requirement: "The logo is served as image/svg+xml",
		Ref:         refFormats,
		Advice:      "Let the web server send Content-Type: image/svg+xml for files ending in .svg and .svgz.",
		When: func(e *evidence) bool { // what is no SVG need not be called one
			d := e.document()
			return d == nil || d.Counts[svg.NotSVG] == 0
		},
		Fails: func(e *evidence) diag.Failures {
			switch e.fetched.mediaType() {
			case "image/svg+xml":
				return nil
			case "":
				return diag.Fail("The web server sends no Content-Type with the logo.").About(e.host())
			}
			return diag.Fail("The web server sends the logo as %s.", e.fetched.contentType()).About(e.host())
		},
	},
	{
		Code: "bimi.logo.length", Severity: diag.Error, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"bimi.logo.status", "bimi.logo.http"},
		Title:       "Logo is far too large",
		Requirement: "The logo has at most 1 MiB",
		Ref:         refFormats,
		Advice: "Draw the logo with shapes alone and export it again: 32 KiB are enough for that, and all that " +
			"receivers take.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.tooLong(), "The image has more than 1 MiB and was not examined.")
		},
	},
	{
		Code: "bimi.logo.compression", Severity: diag.Critical, Weight: 1, Category: factorFormat,
		DependsOn:   []diag.Code{"bimi.logo.length"},
		Title:       "Compressed logo is damaged",
		Requirement: "The logo can be decompressed",
		Ref:         "RFC 1952 section 2.3",
		Advice:      "Upload the file again in binary mode, or serve the logo without compression.",
		Fails: func(e *evidence) diag.Failures {
			if e.fetched.broken == nil {
				return nil
			}
			return diag.Fail("The file begins as gzip does, but %s.", e.fetched.broken)
		},
	},
	{
		Code: "bimi.logo.compression.nested", Severity: diag.Warning,
		DependsOn:   []diag.Code{"bimi.logo.compression"},
		Title:       "Logo is compressed twice",
		Requirement: "The logo is compressed once at most",
		Ref:         "RFC 9110 section 8.4",
		Advice: "Let the web server send .svgz files with Content-Encoding: gzip and compress them no further, or " +
			"serve a plain .svg.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.fetched.nested, "The file is compressed, and the web server compresses it once more.")
		},
	},
}

// tooLong reports whether the image is longer than is examined.
func (e *evidence) tooLong() bool {
	return e.fetched.Result.Truncated || errors.Is(e.fetched.broken, svg.ErrTooLong)
}

// redirects writes a number of redirects, to be followed by the last address.
func redirects(n int) string {
	if n == 1 {
		return "The address redirects once, to"
	}
	return "The address redirects " + strconv.Itoa(n) + " times, at last to"
}
