package headers

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

func isolationRule(code diag.Code, name, ref, advice string, rate func(*evidence) (valid bool, strength Strength)) rule {
	return rule{
		Code: code, Severity: diag.Warning, Category: factorIsolation, Ref: ref, Title: name + " is invalid and ignored",
		Requirement: name + " has a value that browsers know", Advice: advice,
		When: func(e *evidence) bool { return e.has(name) },
		Fails: func(e *evidence) diag.Failures {
			valid, _ := rate(e)
			return diag.FailIf(!valid, "%s is %s, which browsers ignore.", name, diag.Quote(e.value(name))).About(name)
		},
	}
}

// isolationRules are about the fields that keep a page apart from others. Their absence is no fault: a page that
// embeds or is embedded can break by them.
var isolationRules = diag.Rules[*evidence]{
	isolationRule("headers.opener.invalid", "Cross-Origin-Opener-Policy", "HTML Standard, Cross-origin opener policies",
		"Send one value: same-origin, same-origin-allow-popups, noopener-allow-popups or unsafe-none.", (*evidence).rateOpener),
	isolationRule("headers.embedder.invalid", "Cross-Origin-Embedder-Policy", "HTML Standard, Cross-origin embedder policies",
		"Send one value: require-corp, credentialless or unsafe-none.", (*evidence).rateEmbedder),
	isolationRule("headers.resource.invalid", "Cross-Origin-Resource-Policy", "Fetch Standard, Cross-Origin-Resource-Policy header",
		"Send one value: same-origin, same-site or cross-origin.", (*evidence).rateResource),
}

// An access is what the site answers to requests from other sites.
type access struct {
	origin, allowed string
	credentials     bool
	several         bool // several Access-Control-Allow-Origin fields, which browsers refuse
	vary            bool
}

// accesses returns what the page's own answer and those to probes say.
func (e *evidence) accesses() []access {
	list := []access{e.access("", e.final.Header.Values)}
	for _, p := range []struct {
		origin string
		answer func(string) []string
	}{{foreignOrigin, e.answer(1)}, {"null", e.answer(2)}, {foreignOrigin, e.answer(0)}} {
		if p.answer != nil {
			list = append(list, e.access(p.origin, p.answer))
		}
	}
	return list
}

func (e *evidence) answer(i int) func(string) []string {
	r := [3]*fetch.Result{e.probes.preflight, e.probes.foreign, e.probes.null}[i]
	if r == nil || r.Final() == nil || r.Err != nil {
		return nil
	}
	return r.Final().Header.Values
}

func (e *evidence) access(origin string, values func(string) []string) access {
	allowed := values("Access-Control-Allow-Origin")
	return access{
		origin: origin, allowed: text(strings.Join(allowed, ", ")), several: len(allowed) > 1,
		credentials: strings.Join(values("Access-Control-Allow-Credentials"), ", ") == "true",
		vary:        slices.ContainsFunc(words(strings.Join(values("Vary"), ",")), func(w string) bool { return w == "origin" || w == "*" }),
	}
}

// find returns the first access for which something holds.
func (e *evidence) find(holds func(access) bool) (access, bool) {
	list := e.accesses()
	i := slices.IndexFunc(list, holds)
	if i < 0 {
		return access{}, false
	}
	return list[i], true
}

// sharing reports whether other sites may read anything, as far as that is known.
func sharing(e *evidence) bool {
	_, ok := e.find(func(a access) bool { return a.allowed != "" })
	return ok || silent(e.probes.preflight) || silent(e.probes.foreign) || silent(e.probes.null)
}

const fieldCORS = "Access-Control-Allow-Origin"

var fromOthers = []diag.Source{fromPreflight, fromForeign, fromNull}

// sharingRules are about what scripts of other sites may read (Fetch Standard, CORS protocol).
var sharingRules = diag.Rules[*evidence]{{
	Code: "headers.cors.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
	Ref:   "Fetch Standard, CORS protocol",
	Title: "CORS could not be examined", Requirement: "Requests from other sites are answered",
	Advice: "Make the server answer requests with an Origin field, and OPTIONS, at once: a refusal is an answer too.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(silent(e.probes.preflight) || silent(e.probes.foreign) || silent(e.probes.null),
			"Which other sites may read the page is not known: a request with an Origin field was not answered in time.").About("Origin")
	},
}, {
	Code: "headers.cors.reflected", Severity: diag.Error, Category: factorSharing,
	Ref:         "Fetch Standard, CORS protocol and credentials",
	Title:       "CORS lets any site read with the visitor's credentials",
	Requirement: "CORS gives credentials to no foreign site",
	Advice:      "Compare Origin with a list of the sites that may read, and send no Access-Control-Allow-Origin to others.",
	Fails: func(e *evidence) diag.Failures {
		a, ok := e.find(func(a access) bool { return a.origin == foreignOrigin && a.allowed == a.origin && a.credentials })
		return diag.FailIf(ok, "The site answers the origin %s with that origin in Access-Control-Allow-Origin and with Access-Control-Allow-Credentials: "+
			"any site can read what a visitor sees when logged in.", a.origin).About(fieldCORS)
	},
}, {
	Code: "headers.cors.star_credentials", Severity: diag.Warning, Category: factorSharing,
	Ref:         "Fetch Standard, CORS protocol and credentials",
	Title:       "Access-Control-Allow-Origin: * does not work with credentials",
	Requirement: "Access-Control-Allow-Origin: * comes without credentials",
	Advice:      "Remove Access-Control-Allow-Credentials if the content is public; otherwise name the one origin that may read it.",
	Fails: func(e *evidence) diag.Failures {
		_, ok := e.find(func(a access) bool { return a.allowed == "*" && a.credentials })
		return diag.FailIf(ok, "The response has Access-Control-Allow-Origin: * with Access-Control-Allow-Credentials: true: browsers refuse requests with credentials.").
			About(fieldCORS)
	},
}, {
	Code: "headers.cors.null", Severity: diag.Warning, Category: factorSharing, Ref: "Fetch Standard, CORS protocol",
	Title: "CORS allows the origin null", Requirement: "CORS does not allow the origin null",
	Advice: "Remove null from the allowed origins: any site can make a request with it from a sandboxed frame.",
	Fails: func(e *evidence) diag.Failures {
		_, ok := e.find(func(a access) bool { return strings.EqualFold(a.allowed, "null") })
		return diag.FailIf(ok, "The site allows the origin null, which any site can use through a sandboxed frame.").About(fieldCORS)
	},
}, {
	Code: "headers.cors.invalid", Severity: diag.Warning, Category: factorSharing, Ref: "Fetch Standard, CORS check",
	Title:       "Access-Control-Allow-Origin has a value that browsers refuse",
	Requirement: "Access-Control-Allow-Origin is one origin or *",
	Advice:      "Send *, or the one origin of the request; lists and patterns do not exist.",
	Fails: func(e *evidence) diag.Failures {
		a, ok := e.find(func(a access) bool { return a.allowed != "" && (a.several || !isOrigin(a.allowed)) })
		return diag.FailIf(ok, "Access-Control-Allow-Origin is %s.", diag.Quote(a.allowed)).About(fieldCORS)
	},
}, {
	Code: "headers.cors.vary", Severity: diag.Info, Category: factorSharing,
	Ref:         "Fetch Standard, CORS protocol and HTTP caches",
	Title:       "Response depends on Origin, but lacks Vary: Origin",
	Requirement: "An answer that depends on Origin has Vary: Origin",
	Advice:      "Send Vary: Origin with every response, so caches do not give one site the response for another.",
	Fails: func(e *evidence) diag.Failures {
		first := e.accesses()[0]
		_, differs := e.find(func(a access) bool {
			return a.allowed != first.allowed && a.allowed != "*" && a.allowed != "" && !a.vary && a.origin != ""
		})
		return diag.FailIf(differs, "Access-Control-Allow-Origin differs between requests with and without Origin, and Vary does not name Origin.").About("Vary")
	},
}}

// isOrigin reports whether a value is *, null or an origin as browsers write it.
func isOrigin(s string) bool {
	if s == "*" || s == "null" {
		return true
	}
	scheme, host, ok := strings.Cut(s, "://")
	return ok && scheme != "" && host != "" && !strings.ContainsAny(host, "/?#*, ")
}
