package logo

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

func asked(e *evidence) bool { return e.fetched != nil }

func (e *evidence) host() string { return e.fetched.Result.URL.Host().String() }

func served(e *evidence) bool { return asked(e) && e.fetched.Result.Final() != nil }

var server = ground.Server[*evidence]{Name: "logo's web server", Seen: func(e *evidence) *ground.Seen {
	if !asked(e) {
		return nil
	}
	return ground.See(e.fetched.Result, e.fetched.at)
}}

type rule = diag.Rule[*evidence]

var reachRules = server.Rules(
	rule{Fact: ground.Silent, Code: "bimi.logo.unknown"},
	rule{Fact: ground.NoName, Code: "bimi.logo.host.nxdomain", Weight: 1, Category: factorServer},
	rule{Fact: ground.NoAddress, Code: "bimi.logo.host.address", Weight: 1, Category: factorServer},
	rule{Fact: ground.NotPublic, Code: "bimi.logo.host.blocked"},
	rule{Fact: ground.Refused, Code: "bimi.logo.connection", Weight: 1, Category: factorServer},
	rule{Fact: ground.Handshake, Code: "bimi.logo.tls.handshake", Weight: 1, Category: factorServer},
	rule{Fact: ground.Expired, Code: "bimi.logo.certificate.expired", Weight: 2, Category: factorServer},
	rule{Fact: ground.NotYetValid, Code: "bimi.logo.certificate.early"},
	rule{Fact: ground.Untrusted, Code: "bimi.logo.certificate.untrusted", Weight: 2, Category: factorServer},
	rule{Fact: ground.OtherName, Code: "bimi.logo.certificate.name", Weight: 2, Category: factorServer},
	rule{Fact: ground.ExpiresNow, Code: "bimi.logo.certificate.expires_now"},
	rule{Fact: ground.Expiring, Code: "bimi.logo.certificate.expiring"},
	rule{Fact: ground.OldTLS, Code: "bimi.logo.tls.version"},
	rule{Fact: ground.NotHTTP, Code: "bimi.logo.protocol", Weight: 1, Category: factorServer},
)

var serverRules = slices.Concat(reachRules, diag.Rules[*evidence]{{
	Code: "bimi.logo.redirect.loop", Severity: diag.Critical, Weight: 1, Category: factorServer,
	Ref:   "RFC 9110 section 15.4",
	Title: "Logo address redirects endlessly", Requirement: "The redirects of the logo come to an end",
	Advice: "Serve the logo at the address itself, without redirects.",
	When:   func(e *evidence) bool { return asked(e) && !e.fetched.Unanswered() },
	Fails: func(e *evidence) diag.Failures {
		err := e.fetched.Result.Err
		endless := err != nil && (err.Code == fetch.Loop || err.Code == fetch.TooManyRedirects)
		if !endless {
			return nil
		}
		return diag.Fail("%s", diag.Sentence(err.Message)).About(e.host())
	},
}, {
	Code: "bimi.logo.redirect.http", Severity: diag.Error, Weight: 2, Category: factorServer, Ref: refFormats,
	Title: "Logo address redirects to http", Requirement: "No redirect of the logo leads to http",
	Advice: "Redirect to addresses with https only, or serve the logo at the address in the record itself.",
	When:   served, Fails: func(e *evidence) diag.Failures {
		for _, h := range e.fetched.Result.Hops {
			if strings.HasPrefix(h.URL, "http:") {
				return diag.Fail("A redirect leads to %s, which is not encrypted.", diag.Quote(h.URL)).About(diag.Quote(h.URL))
			}
		}
		return nil
	},
}})

var answerRules = diag.Rules[*evidence]{{
	Code: "bimi.logo.status", Severity: diag.Critical, Weight: 5, Category: factorServer,
	DependsOn: []diag.Code{"bimi.logo.redirect.loop"}, Ref: refFetch,
	Title: "Logo is not served with status 200", Requirement: "The logo is served with status 200",
	Advice: "Upload the logo to this address, or write the address at which it is into the BIMI record.",
	When:   served, Fails: func(e *evidence) diag.Failures {
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
}, {
	Code: "bimi.logo.redirect", Severity: diag.Warning, Weight: 1, Category: factorServer, Ref: refFormats,
	Title: "Logo is behind a redirect", Requirement: "The logo is served without a redirect",
	Advice: "Write the last address into the BIMI record: not every receiver follows redirects.",
	When:   served, Fails: func(e *evidence) diag.Failures {
		n := e.fetched.redirects()
		return diag.FailIf(n > 0, "%s %s.", redirects(n), diag.Quote(e.fetched.Result.URL.String())).
			About(diag.Quote(e.fetched.Result.URL.String()))
	},
}, {
	Code: "bimi.logo.content_type", Severity: diag.Warning, Weight: 2, Category: factorServer,
	DependsOn: []diag.Code{"bimi.logo.status"}, Ref: refFormats,
	Title: "Logo is not served as image/svg+xml", Requirement: "The logo is served as image/svg+xml",
	Advice: "Let the web server send Content-Type: image/svg+xml for files ending in .svg and .svgz.",
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
}, {
	Code: "bimi.logo.length", Severity: diag.Error, Weight: 1, Category: factorServer,
	DependsOn: []diag.Code{"bimi.logo.status", "bimi.logo.protocol"}, Ref: refFormats,
	Title: "Logo is far too large", Requirement: "The logo has at most 1 MiB",
	Advice: "Draw the logo with shapes alone and export it again: 32 KiB are enough for that, and all that receivers " +
		"take.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.tooLong(), "The image has more than 1 MiB and was not examined.")
	},
}, {
	Code: "bimi.logo.compression", Severity: diag.Critical, Weight: 1, Category: factorFormat,
	DependsOn: []diag.Code{"bimi.logo.length"}, Ref: "RFC 1952 section 2.3",
	Title: "Compressed logo is damaged", Requirement: "The logo can be decompressed",
	Advice: "Upload the file again in binary mode, or serve the logo without compression.",
	Fails: func(e *evidence) diag.Failures {
		if e.fetched.broken == nil {
			return nil
		}
		return diag.Fail("The file begins as gzip does, but %s.", e.fetched.broken)
	},
}, {
	Code: "bimi.logo.compression.nested", Severity: diag.Warning, DependsOn: []diag.Code{"bimi.logo.compression"},
	Ref:   "RFC 9110 section 8.4",
	Title: "Logo is compressed twice", Requirement: "The logo is compressed once at most",
	Advice: "Let the web server send .svgz files with Content-Encoding: gzip and compress them no further, or serve a " +
		"plain .svg.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.fetched.nested, "The file is compressed, and the web server compresses it once more.")
	},
}}

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
