package logo

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(recordRules, logoRules())
})

// logoRules are those that need no record.
var logoRules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(serverRules, answerRules, formatRules.With(rule.Rule[*evidence]{Category: factorFormat}),
		safetyRules.With(rule.Rule[*evidence]{Category: factorSafety}),
		profileRules.With(rule.Rule[*evidence]{Category: factorProfile}),
		titleRules.With(rule.Rule[*evidence]{Category: factorTitle}),
		designRules.With(rule.Rule[*evidence]{Category: factorDesign}))
})

const (
	draftBIMI  = "draft-brand-indicators-for-message-identification-14"
	refRecord  = draftBIMI + " section 4.3"
	refFormats = draftBIMI + " section 4.3.2"
	refFetch   = draftBIMI + " section 7.5"
)

func nonexistent(e *evidence) bool {
	return e.apex.NXDomain() && len(e.apex.Aliases) == 0 && e.place == nil
}

// recordRules are about the record that names the logo, as far as it keeps the logo from being found. The package
// mailauth/bimi judges the record itself.
var recordRules = rule.Rules[*evidence]{{
	Code: "bimi.logo.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: refRecord,
	Title: "BIMI record could not be looked up", Requirement: "The name servers answer for the BIMI record",
	Advice: "Check that every name server of the domain answers TXT queries: until then receivers show no logo.",
	When:   func(e *evidence) bool { return e.discovery != nil },
	Fails: func(e *evidence) rule.Failures {
		if e.failure == nil {
			return nil
		}
		return rule.Fail("It is not known which logo the domain publishes: %s.", diag.Reason(e.failure)).Because(e.failure)
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "bimi.logo.domain.nxdomain", DependsOn: []diag.Code{"bimi.logo.record.unknown"},
	When: func(e *evidence) bool { return e.apex.Err() == nil || e.place != nil },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(nonexistent(e), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}), {
	Code: "bimi.logo.record.missing", Optional: true, Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"bimi.logo.record.unknown"}, Ref: refRecord,
	Title: "No BIMI record", Requirement: "The domain has a BIMI record",
	Advice: "Leave it unless you want mailboxes to show your logo. For that you need a DMARC policy of quarantine or " +
		"reject, a logo in SVG Tiny PS and, for most mailboxes, a certificate for it.",
	When: func(e *evidence) bool { return !nonexistent(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.place == nil, "There is no BIMI record at %s.", e.discovery.Own().Name)
	},
}, {
	Code: "bimi.logo.record.multiple", Severity: diag.Critical, DependsOn: []diag.Code{"bimi.logo.record.missing"},
	Ref:   refRecord,
	Title: "More than one BIMI record", Requirement: "There is one BIMI record",
	Advice: "Remove all BIMI records at this name but one: receivers ignore them all if there are several.",
	Fails: func(e *evidence) rule.Failures {
		n := len(e.place.Found.Records)
		return rule.FailIf(n > 1, "There are %d BIMI records at %s.", n, e.place.Name)
	},
}, {
	Code: "bimi.logo.record.declined", Optional: true, Severity: diag.Info, NoScore: true,
	DependsOn: []diag.Code{"bimi.logo.record.multiple"}, Ref: draftBIMI + " section 4.3.1",
	Title: "Domain declines to have a logo shown", Requirement: "The BIMI record asks for a logo to be shown",
	Advice: "Leave it unless you want mailboxes to show your logo; then write its address into l.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.record.Declined, "The BIMI record at %s has an empty l and an empty a.", e.place.Name)
	},
}, {
	Code: "bimi.logo.record.http", Severity: diag.Error, DependsOn: []diag.Code{"bimi.logo.record.declined"},
	Ref:   refRecord,
	Title: "Logo address (l) uses http instead of https", Requirement: "The address of the logo begins with https",
	Advice: "Serve the logo by https, then write the address with https:// into l: receivers fetch no other.",
	Fails: func(e *evidence) rule.Failures {
		l := e.record.Location
		return rule.FailIf(l.Fault == record.Insecure, "The tag l of the BIMI record is %s.", phrase.Quote(l.Text)).About("l")
	},
}, {
	Code: "bimi.logo.record.address", Severity: diag.Error, DependsOn: []diag.Code{"bimi.logo.record.http"},
	Ref:   refRecord,
	Title: "BIMI record has no usable logo address", Requirement: "The BIMI record has a usable address of a logo",
	Advice: "Write the one full address of the logo, such as https://example.com/logo.svg, into l.",
	Fails: func(e *evidence) rule.Failures {
		l := e.record.Location
		switch {
		case l.Usable():
			return nil
		case l.Text == "":
			return rule.Fail("The BIMI record at %s has no address in l.", e.place.Name).About("l")
		}
		return rule.Fail("The tag l of the BIMI record is %s: it %s.", phrase.Quote(l.Text), l.Problem).About("l")
	},
}}

var texts = rule.Texts{
	"valid": {Headline: "The BIMI logo can be fetched and follows SVG Tiny PS",
		Sub: "Receivers can show it, if the domain's DMARC policy is enforced; many also ask for a certificate."},
	"bimi.logo.record.declined": {Headline: "The domain declines to have a logo shown",
		Sub: "The BIMI record says so with an empty l. There is no logo to examine."},
}

// The factors of the score, in the order of a reader.
var (
	factorServer  = rule.Category{Code: "server", Label: "Web server"}
	factorFormat  = rule.Category{Code: "format", Label: "File format"}
	factorSafety  = rule.Category{Code: "safety", Label: "Safety"}
	factorProfile = rule.Category{Code: "profile", Label: "SVG Tiny PS"}
	factorTitle   = rule.Category{Code: "title", Label: "Title"}
	factorDesign  = rule.Category{Code: "design", Label: "Shape and size"}
)

func hasDomain(e *evidence) bool { return e.fetched != nil }

func (e *evidence) host() string { return e.fetched.Result.URL.Host().String() }

// wasServed reports whether there is a final response to judge. A redirect that was not followed, because it exceeds
// the limit, does not count.
func wasServed(e *evidence) bool {
	return hasDomain(e) && e.fetched.Result.Final() != nil && (e.fetched.Result.Err == nil || !e.fetched.Result.Err.Limit)
}

var server = reach.Server[*evidence]{Name: "logo's web server", Observation: func(e *evidence) *reach.Observation {
	if !hasDomain(e) {
		return nil
	}
	return reach.Observe(e.fetched.Result, e.fetched.at)
}}

var reachRules = server.Rules(
	rule.Rule[*evidence]{Fact: reach.Silent, Code: "bimi.logo.unknown"},
	rule.Rule[*evidence]{Fact: reach.NoName, Code: "bimi.logo.host.nxdomain", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "bimi.logo.host.address", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "bimi.logo.host.blocked"},
	rule.Rule[*evidence]{Fact: reach.Refused, Code: "bimi.logo.connection", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.Handshake, Code: "bimi.logo.tls.handshake", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.Expired, Code: "bimi.logo.certificate.expired", Weight: 2, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "bimi.logo.certificate.early"},
	rule.Rule[*evidence]{Fact: reach.Untrusted, Code: "bimi.logo.certificate.untrusted", Weight: 2,
		Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.OtherName, Code: "bimi.logo.certificate.name", Weight: 2, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.ExpiresNow, Code: "bimi.logo.certificate.expires_now"},
	rule.Rule[*evidence]{Fact: reach.Expiring, Code: "bimi.logo.certificate.expiring"},
	rule.Rule[*evidence]{Fact: reach.OldTLS, Code: "bimi.logo.tls.version"},
	rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: "bimi.logo.protocol", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.BadLine, Code: "bimi.logo.header.line"},
	rule.Rule[*evidence]{Fact: reach.LongRedirect, Code: "bimi.logo.redirect.long"},
)

var serverRules = slices.Concat(reachRules, rule.Rules[*evidence]{{
	Code: "bimi.logo.redirect.loop", Severity: diag.Critical, Weight: 1, Category: factorServer,
	Ref:   "RFC 9110 section 15.4",
	Title: "Logo address redirects endlessly", Requirement: "The redirects of the logo come to an end",
	Advice: "Serve the logo at the address itself, without redirects.",
	When:   func(e *evidence) bool { return hasDomain(e) && !e.fetched.Unanswered() },
	Fails: func(e *evidence) rule.Failures {
		err := e.fetched.Result.Err
		endless := err != nil && (err.Code == fetch.Loop || err.Code == fetch.TooManyRedirects)
		if !endless {
			return nil
		}
		return rule.Fail("%s", phrase.Sentence(err.Message)).About(e.host())
	},
}, {
	Code: "bimi.logo.redirect.http", Severity: diag.Error, Weight: 2, Category: factorServer, Ref: refFormats,
	Title: "Logo address redirects to http", Requirement: "No redirect of the logo leads to http",
	Advice: "Redirect to addresses with https only, or serve the logo at the address in the record itself.",
	When:   wasServed, Fails: func(e *evidence) rule.Failures {
		for _, h := range e.fetched.Result.Hops {
			if strings.HasPrefix(h.URL, "http:") {
				return rule.Fail("A redirect leads to %s, which is not encrypted.", phrase.Quote(h.URL)).About(phrase.Quote(h.URL))
			}
		}
		return nil
	},
}})

var answerRules = rule.Rules[*evidence]{{
	Code: "bimi.logo.status", Severity: diag.Critical, Weight: 5, Category: factorServer,
	DependsOn: []diag.Code{"bimi.logo.redirect.loop"}, Ref: refFetch,
	Title: "Logo is not served with status 200", Requirement: "The logo is served with status 200",
	Advice: "Upload the logo to this address, or write the address at which it is into the BIMI record.",
	When:   wasServed, Fails: func(e *evidence) rule.Failures {
		head := e.fetched.Result.Final()
		if head.StatusCode == http.StatusOK {
			return nil
		}
		f := rule.Fail("The web server answered %d %s for %s.", head.StatusCode, phrase.Quote(head.StatusText),
			phrase.Quote(head.URL))
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
	When:   wasServed, Fails: func(e *evidence) rule.Failures {
		n := e.fetched.redirects()
		return rule.FailIf(n > 0, "%s %s.", redirectText(n), phrase.Quote(e.fetched.Result.URL.String())).
			About(phrase.Quote(e.fetched.Result.URL.String()))
	},
}, {
	Code: "bimi.logo.content_type", Severity: diag.Warning, Weight: 2, Category: factorServer,
	DependsOn: []diag.Code{"bimi.logo.status"}, Ref: refFormats,
	Title: "Logo is not served as image/svg+xml", Requirement: "The logo is served as image/svg+xml",
	Advice: "Let the web server send Content-Type: image/svg+xml for files ending in .svg and .svgz.",
	When: func(e *evidence) bool { // the media type matters only for SVG
		d := e.document()
		return d == nil || d.Counts[svg.NotSVG] == 0
	},
	Fails: func(e *evidence) rule.Failures {
		kind, _, _ := strings.Cut(e.fetched.contentType(), ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "image/svg+xml":
			return nil
		case "":
			return rule.Fail("The web server sends no Content-Type with the logo.").About(e.host())
		}
		return rule.Fail("The web server sends the logo as %s.", e.fetched.contentType()).About(e.host())
	},
}, {
	Code: "bimi.logo.length", Severity: diag.Error, Weight: 1, Category: factorServer,
	DependsOn: []diag.Code{"bimi.logo.status", "bimi.logo.protocol"}, Ref: refFormats,
	Title: "Logo is larger than 1 MiB", Requirement: "The logo has at most 1 MiB",
	Advice: "Draw the logo with shapes alone and export it again: receivers accept at most 32 KiB.",
	Fails: func(e *evidence) rule.Failures {
		tooLong := e.fetched.Result.Truncated || errors.Is(e.fetched.broken, svg.ErrTooLong)
		return rule.FailIf(tooLong, "The image has more than 1 MiB and was not examined.")
	},
}, {
	Code: "bimi.logo.compression", Severity: diag.Critical, Weight: 1, Category: factorFormat,
	DependsOn: []diag.Code{"bimi.logo.length"}, Ref: "RFC 1952 section 2.3",
	Title: "Compressed logo is damaged", Requirement: "The logo can be decompressed",
	Advice: "Upload the file again in binary mode, or serve the logo without compression.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.fetched.broken != nil, "The file begins as gzip does, but %s.", e.fetched.broken)
	},
}, {
	Code: "bimi.logo.compression.nested", Severity: diag.Warning, DependsOn: []diag.Code{"bimi.logo.compression"},
	Ref:   "RFC 9110 section 8.4",
	Title: "Logo is compressed twice", Requirement: "The logo is compressed once at most",
	Advice: "Let the web server send .svgz files with Content-Encoding: gzip and compress them no further, or serve a " +
		"plain .svg.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.fetched.nested, "The file is compressed, and the web server compresses it once more.")
	},
}}

func redirectText(n int) string {
	if n == 1 {
		return "The address redirects once, to"
	}
	return "The address redirects " + strconv.Itoa(n) + " times, at last to"
}
