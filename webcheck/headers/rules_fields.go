package headers

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// framingRules are about who may embed the page.
var framingRules = rule.Rules[*evidence]{{
	Code: "headers.frame_options.missing", Severity: diag.Warning, Category: factorFraming,
	Ref:   "CSP Level 3 section 6.4.2",
	Title: "Any site may embed the page", Requirement: "Other sites cannot embed the page",
	Advice: "Send X-Frame-Options: SAMEORIGIN, or frame-ancestors in Content-Security-Policy with " +
		"the sites that embed the page on purpose.",
	When: (*evidence).isPage,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.frameOption() == "" && len(e.frameAncestors()) == 0 && !e.has("X-Frame-Options"),
			"The page has neither X-Frame-Options nor frame-ancestors: "+
				"a site can embed it invisibly and trick visitors into clicking in it (clickjacking).").
			About("X-Frame-Options").Suggesting("X-Frame-Options: SAMEORIGIN")
	},
}, {
	Code: "headers.frame_options.invalid", Severity: diag.Warning, Category: factorFraming,
	DependsOn: []diag.Code{"headers.frame_options.missing"}, Ref: "HTML Standard, The X-Frame-Options header",
	Title:       "X-Frame-Options has a value that browsers ignore",
	Requirement: "X-Frame-Options has a value that browsers know",
	Advice: "Send DENY or SAMEORIGIN; for single sites use frame-ancestors in " +
		"Content-Security-Policy instead of ALLOW-FROM.",
	When: func(e *evidence) bool { return e.has("X-Frame-Options") && len(e.frameAncestors()) == 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.frameOption() == "",
			"X-Frame-Options is %s, which browsers ignore: any site may embed the page.",
			phrase.Quote(e.value("X-Frame-Options"))).About("X-Frame-Options").Suggesting(e.newFraming())
	},
}, {
	Code: "headers.frame_options.conflict", Severity: diag.Warning, Category: factorFraming,
	Ref:   "HTML Standard, The X-Frame-Options header",
	Title: "X-Frame-Options has more than one value", Requirement: "X-Frame-Options has one value",
	Advice: "Send one value, once: let only one of web server, proxy and application send the header. Where values " +
		"differ, browsers refuse to embed the page at all.",
	When: (*evidence).isPage,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(words(e.value("X-Frame-Options"))) > 1, "X-Frame-Options is %s.",
			phrase.Quote(e.value("X-Frame-Options"))).About("X-Frame-Options")
	},
}, {
	Code: "headers.csp.ancestors", Severity: diag.Warning, Category: factorFraming,
	DependsOn: []diag.Code{"headers.frame_options.missing"}, Ref: "CSP Level 3 section 6.4.2.2",
	Title:       "frame-ancestors lets any site embed the page",
	Requirement: "frame-ancestors names the sites that may embed the page",
	Advice:      "List the sites that embed the page; if frame-ancestors is present, browsers ignore X-Frame-Options.",
	When:        func(e *evidence) bool { return len(e.frameAncestors()) > 0 },
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.Embedding
		return rule.FailIf(a.Runs, "%s allows %s.", e.by(a), phrase.Quote(strings.Join(a.Sources, " "))).
			About("frame-ancestors")
	},
}}

// newFraming returns the replacement for an X-Frame-Options that browsers ignore.
func (e *evidence) newFraming() string {
	option, origin, _ := strings.Cut(e.value("X-Frame-Options"), " ")
	if strings.EqualFold(strings.TrimSuffix(option, ":"), "ALLOW-FROM") {
		origin = strings.TrimSuffix(strings.TrimSpace(origin), "/")
		existing := e.values(fieldCSP)
		if s, ok := csp.ParseSource(origin); !ok || s.Host == "" || len(existing) > 1 ||
			len(csp.ParseList(e.value(fieldCSP))) > 1 {
			return ""
		}
		policy := ""
		if len(existing) == 1 { // to which the directive is added
			policy = strings.TrimRight(e.value(fieldCSP), "; ") + "; "
		}
		return fieldCSP + ": " + policy + "frame-ancestors " + origin
	}
	return "X-Frame-Options: SAMEORIGIN"
}

var fieldRules = rule.Rules[*evidence]{{
	Code: "headers.content_type_options.missing", Severity: diag.Warning, Category: factorTypes,
	Ref:   "Fetch Standard section 3.5",
	Title: "No X-Content-Type-Options: nosniff", Requirement: "X-Content-Type-Options is sent",
	Advice: "Send X-Content-Type-Options: nosniff with every response.",
	When:   func(e *evidence) bool { return !e.redirects() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.has("X-Content-Type-Options"),
			"Without X-Content-Type-Options browsers may run an uploaded file as a script or style.").
			About("X-Content-Type-Options").Suggesting(nosniff)
	},
}, {
	Code: "headers.content_type_options.invalid", Severity: diag.Warning, Category: factorTypes,
	DependsOn: []diag.Code{"headers.content_type_options.missing"}, Ref: "Fetch Standard section 3.5",
	Title: "X-Content-Type-Options is not nosniff and is ignored", Requirement: "X-Content-Type-Options is nosniff",
	Advice: "Send X-Content-Type-Options: nosniff; there is no other value.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.nosniff(), "X-Content-Type-Options is %s, which does nothing.",
			phrase.Quote(e.value("X-Content-Type-Options"))).
			About("X-Content-Type-Options").Suggesting(nosniff)
	},
}, {
	Code: "headers.content_type.missing", Severity: diag.Warning, Category: factorTypes, Ref: "RFC 9110 section 8.3",
	Title: "No Content-Type", Requirement: "The response has a Content-Type",
	Advice: "Send Content-Type, such as text/html; charset=utf-8.",
	When:   func(e *evidence) bool { return e.document != nil && len(e.page.Body) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mediaType() == "", "The response has no Content-Type, so browsers guess what it is.").
			About("Content-Type")
	},
}, {
	Code: "headers.referrer.invalid", Severity: diag.Warning, Category: factorPrivacy,
	Ref:         "Referrer Policy section 8.1",
	Title:       "Referrer-Policy has no value that browsers know",
	Requirement: "Referrer-Policy has a value that browsers know",
	Advice:      "Send one of the policies, such as strict-origin-when-cross-origin.",
	When:        func(e *evidence) bool { return e.referrers() != "" || e.has("Referrer-Policy") },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.referrer() == "", "Referrer-Policy is %s, which browsers ignore.", phrase.Quote(e.referrers())).
			About("Referrer-Policy").Suggesting(e.newReferrer())
	},
}, {
	Code: "headers.referrer.leaks", Severity: diag.Warning, Category: factorPrivacy,
	DependsOn: []diag.Code{"headers.referrer.invalid"}, Ref: "Referrer Policy section 3.8",
	Title: "Referrer-Policy sends full URLs to other sites", Requirement: "Other sites do not learn full URLs",
	Advice: "Send strict-origin-when-cross-origin: other sites then learn the origin only.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(leaking, e.referrer()),
			"With %s other sites learn the full URL of the page, including its query.", e.referrer()).
			About("Referrer-Policy").Suggesting(e.newReferrer())
	},
}, {
	Code: "headers.referrer.insecure", Severity: diag.Info, Category: factorPrivacy,
	DependsOn: []diag.Code{"headers.referrer.invalid"}, Ref: "Referrer Policy section 3.5",
	Title: "Referrer-Policy sends the origin over plain HTTP too", Requirement: "The origin is sent over HTTPS only",
	Advice: "Send strict-origin or strict-origin-when-cross-origin instead.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(insecureReferrers, e.referrer()),
			"With %s the origin is also sent to sites over plain HTTP.", e.referrer()).About("Referrer-Policy")
	},
}, {
	Code: "headers.permissions.invalid", Severity: diag.Warning, Category: factorPrivacy, Ref: "RFC 9651 section 4.2",
	Title:       "Permissions-Policy has a syntax error and is ignored",
	Requirement: "Permissions-Policy is a valid dictionary",
	Advice: "Write each feature as name=(origins), separated by commas: camera=(), geolocation=(self). The syntax " +
		"of Feature-Policy does not work here.",
	When: func(e *evidence) bool { return e.features.sent },
	Fails: func(e *evidence) rule.Failures {
		if e.features.err == nil && len(e.features.order) > 0 {
			return nil
		}
		return rule.Fail("Permissions-Policy is %s, which is not a structured dictionary: browsers ignore all of it.",
			phrase.Quote(e.value("Permissions-Policy"))).About("Permissions-Policy").
			Suggesting(fieldOf("Permissions-Policy", repaired(e.value("Permissions-Policy"))))
	},
}, {
	Code: "headers.permissions.ignored", Severity: diag.Warning, Category: factorPrivacy,
	DependsOn: []diag.Code{"headers.permissions.invalid"}, Ref: "Permissions Policy section 9.2",
	Title:       "Browsers ignore a part of Permissions-Policy",
	Requirement: "Browsers know every entry of Permissions-Policy",
	Advice: "Write origins in double quotes and with their scheme, self and * without quotes: " +
		"geolocation=(self \"https://maps.example.net\").",
	When: func(e *evidence) bool { return e.features.sent },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.features.ignored, func(i entry) rule.Failures {
			return rule.Fail("The allowlist of %s has %s, which %s: browsers ignore the entry.", i.feature, phrase.Quote(i.text),
				i.why).About(i.feature)
		}).Suggesting(fieldOf("Permissions-Policy", cmp.Or(e.features.corrected(), repaired(e.value("Permissions-Policy")))))
	},
}, {
	Code: "headers.permissions.misspelled", Severity: diag.Warning, Category: factorPrivacy,
	DependsOn: []diag.Code{"headers.permissions.invalid"}, Ref: "Permissions Policy section 9.2",
	Title:       "Permissions-Policy misspells a feature",
	Requirement: "Names of features in Permissions-Policy are spelled right",
	Advice: "Correct the name: browsers skip features that they do not know, " +
		"and the one that was meant keeps its default.",
	When: func(e *evidence) bool { return e.features.sent },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.features.misspelled(), func(m [2]string) rule.Failures {
			return rule.Fail("Permissions-Policy has the feature %s, which no browser knows; %s was probably meant.",
				phrase.Quote(m[0]), m[1]).About(m[0])
		}).Suggesting(fieldOf("Permissions-Policy", e.features.corrected()))
	},
}}

// fieldOf writes a field with a value; nothing without one.
func fieldOf(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + value
}

const nosniff = "X-Content-Type-Options: nosniff"

func isHTTPS(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

var hstsRules = rule.Rules[*evidence]{{
	Code: "headers.hsts.over_http", Severity: diag.Warning, Ref: "RFC 6797 section 8.1",
	Title:       "Strict-Transport-Security over HTTP is ignored",
	Requirement: "Strict-Transport-Security is sent over HTTPS only",
	Advice:      "Send the header over HTTPS, and redirect HTTP there.",
	When:        func(e *evidence) bool { return !e.secure() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.hsts) > 0, "%s sends Strict-Transport-Security over plain HTTP, where browsers ignore it.",
			e.final.URL).
			About("Strict-Transport-Security")
	},
}, {
	Code: "headers.hsts.missing", Severity: diag.Warning, Category: factorTransport, Ref: "RFC 6797 section 7.1",
	Title: "No Strict-Transport-Security", Requirement: "Strict-Transport-Security is sent",
	Advice: "Send Strict-Transport-Security, and raise max-age in stages from 300 to half a year or more while nothing " +
		"breaks, so browsers never try HTTP first. Add includeSubDomains only once every subdomain answers over HTTPS.",
	When: (*evidence).secure,
	Fails: func(e *evidence) rule.Failures {
		detail := "Nothing tells browsers to use HTTPS only (HSTS), so an attacker on the network can keep a visitor on HTTP."
		if host := hostOf(e.final.URL); e.preloaded(host) {
			detail = host + " is covered by the preload list, so browsers use HTTPS only. Other clients are not covered."
		}
		return rule.FailIf(len(e.hsts) == 0, "%s", detail).About("Strict-Transport-Security").Suggesting(e.newHSTS())
	},
}, {
	Code: "headers.hsts.invalid", Severity: diag.Error, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.missing"}, Ref: "RFC 6797 section 6.1",
	Title: "Strict-Transport-Security is invalid and ignored", Requirement: "Strict-Transport-Security is valid",
	Advice: "Write the header as max-age=31536000, with further directives after semicolons.",
	Fails: func(e *evidence) rule.Failures {
		if e.hsts[0].Valid() {
			return nil
		}
		f := e.hsts[0].Faults[0]
		return rule.Failures{{
			Detail: phrase.Sentence(f.Text), Target: "Strict-Transport-Security", Suggested: e.newHSTS(),
			Location: &diag.Location{Offset: f.Offset, Length: f.Length},
		}}
	},
}, {
	Code: "headers.hsts.zero", Severity: diag.Warning, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.invalid"}, Ref: "RFC 6797 section 6.1.1",
	Title: "max-age=0 switches Strict-Transport-Security off", Requirement: "max-age is more than 0",
	Advice: "Raise max-age once the whole host answers over HTTPS; leave it at 0 only to withdraw HSTS.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.hsts[0].Age() == 0,
			"With max-age=0 browsers forget that the host is to be reached over HTTPS only.").
			About("max-age").Suggesting(e.newHSTS())
	},
}, {
	Code: "headers.hsts.short", Severity: diag.Warning, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.zero"}, Ref: "RFC 6797 section 11.2",
	Title: "HSTS max-age is shorter than half a year", Requirement: "max-age is at least half a year",
	Advice: "Raise max-age in stages to 31536000, a year: browsers forget a short one between visits.",
	Fails: func(e *evidence) rule.Failures {
		age := e.hsts[0].Age()
		return rule.FailIf(age < halfYear, "Browsers forget the header after %s.",
			phrase.Count(int64(age/time.Second), "second")).
			About("max-age").Suggesting(e.newHSTS())
	},
}, {
	Code: "headers.hsts.duplicate", Severity: diag.Warning, Category: factorTransport,
	DependsOn: []diag.Code{"headers.hsts.missing"}, Ref: "RFC 6797 section 8.1",
	Title: "Strict-Transport-Security is sent more than once", Requirement: "Strict-Transport-Security is sent once",
	Advice: "Let only one of web server, proxy and application send the header: browsers use the first, " +
		"and preload lists refuse several.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.hsts) > 1, "The header is sent %d times.", len(e.hsts)).About("Strict-Transport-Security")
	},
}}

func isolationRule(code diag.Code, name, ref, advice string, rate func(*evidence) (valid bool, strength Strength),
	known map[string]Strength) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Warning, Category: factorIsolation, Ref: ref, Title: name + " is invalid and ignored",
		Requirement: name + " has a value that browsers know", Advice: advice,
		When: func(e *evidence) bool { return e.has(name) },
		Fails: func(e *evidence) rule.Failures {
			if valid, _ := rate(e); valid {
				return nil
			}
			f := rule.Fail("%s is %s, which browsers ignore.", name, phrase.Quote(e.value(name))).About(name)
			if len(words(e.value(name))) > 1 {
				f = rule.Fail("%s is %s: browsers ignore a list, also one of equal values.", name, phrase.Quote(e.value(name))).
					About(name)
				f[0].Advice = advice + " Let only one of web server, proxy and application send the header."
			}
			return f.Suggesting(fieldOf(name, e.meantToken(name, known)))
		},
	}
}

// meantToken returns the value that was probably meant by one that browsers ignore: of several the mildest. It is empty
// if one of them is unlike any that browsers know, or switches the policy off, and if the page might break by it.
func (e *evidence) meantToken(name string, known map[string]Strength) string {
	rank := map[Strength]int{Weak: 1, Good: 2, Strong: 3}
	meant := ""
	for _, w := range words(e.value(name)) {
		w, _, _ = strings.Cut(w, ";")
		w = strings.Trim(w, "'\" ")
		nearest := ""
		for token := range known {
			if phrase.Distance(w, token) <= 2 {
				nearest = token
			}
		}
		if known[nearest] == Weak || known[nearest] == "" {
			return ""
		}
		if meant == "" || rank[known[nearest]] < rank[known[meant]] {
			meant = nearest
		}
	}
	if name == "Cross-Origin-Embedder-Policy" && e.loadsForeign() {
		return ""
	}
	return meant
}

// loadsForeign reports whether the page loads files of other origins, or may do so.
func (e *evidence) loadsForeign() bool {
	return e.document == nil || e.document.cut || slices.ContainsFunc(e.document.loads, func(l load) bool {
		return l.url.Host != "" && (l.url.Host != e.self.Host || l.url.Scheme != e.self.Scheme)
	})
}

// isolationRules are about the fields that keep a page apart from others. Their absence is not a fault: a page that
// embeds or is embedded can break by them.
var isolationRules = rule.Rules[*evidence]{
	isolationRule("headers.opener.invalid", "Cross-Origin-Opener-Policy", "HTML Standard, Cross-origin opener policies",
		"Send one value: same-origin, same-origin-allow-popups, noopener-allow-popups or unsafe-none.", rateOpener, openers),
	isolationRule("headers.embedder.invalid", "Cross-Origin-Embedder-Policy",
		"HTML Standard, Cross-origin embedder policies",
		"Send one value: require-corp, credentialless or unsafe-none.", rateEmbedder, embedders),
	isolationRule("headers.resource.invalid", "Cross-Origin-Resource-Policy",
		"Fetch Standard, Cross-Origin-Resource-Policy header",
		"Send one value: same-origin, same-site or cross-origin.", rateResource, resources),
}

// An access is the answer of the site to requests from other sites.
type access struct {
	origin, allowed string
	credentials     bool
	several         bool // several Access-Control-Allow-Origin fields, which browsers refuse
	vary            bool
}

// accesses returns what the page's own answer and those to probes say.
func (e *evidence) accesses() []access {
	list := []access{e.access("", e.final)}
	for _, p := range []struct {
		origin string
		answer *fetch.Result
	}{{foreignOrigin, e.probes.foreign}, {"null", e.probes.null}, {foreignOrigin, e.probes.preflight}} {
		if p.answer != nil && p.answer.Final() != nil && p.answer.Err == nil {
			list = append(list, e.access(p.origin, p.answer.Final()))
		}
	}
	return list
}

func (e *evidence) access(origin string, answer *fetch.Hop) access {
	values := answer.Header.Values
	allowed := values("Access-Control-Allow-Origin")
	return access{
		origin: origin, allowed: text(strings.Join(allowed, ", ")), several: len(allowed) > 1,
		credentials: strings.Join(values("Access-Control-Allow-Credentials"), ", ") == "true",
		vary: slices.ContainsFunc(words(strings.Join(values("Vary"), ",")), func(w string) bool {
			return w == "origin" || w == "*"
		}),
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

var fromOthers = []rule.Source{fromPreflight, fromForeign, fromNull}

// sharingRules are about what scripts of other sites may read (Fetch Standard, CORS protocol).
var sharingRules = rule.Rules[*evidence]{{
	Code: "headers.cors.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
	Ref:   "Fetch Standard, CORS protocol",
	Title: "CORS could not be examined", Requirement: "Requests from other sites are answered",
	Advice: "Make the server answer requests with an Origin field, and OPTIONS, immediately: a refusal is an answer too.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(silent(e.probes.preflight) || silent(e.probes.foreign) || silent(e.probes.null),
			"Which other sites may read the page is not known: a request with an Origin field was not answered in time.").
			About("Origin")
	},
}, {
	Code: "headers.cors.reflected", Severity: diag.Error, Category: factorSharing,
	Ref:         "Fetch Standard, CORS protocol and credentials",
	Title:       "CORS lets any site read with the visitor's credentials",
	Requirement: "CORS gives credentials to no foreign site",
	Advice: "Compare Origin with a list of the sites that may read, " +
		"and send no Access-Control-Allow-Origin to others.",
	Fails: func(e *evidence) rule.Failures {
		a, ok := e.find(func(a access) bool { return a.origin == foreignOrigin && a.allowed == a.origin && a.credentials })
		return rule.FailIf(ok,
			"The site answers the origin %s with that origin in Access-Control-Allow-Origin and with "+
				"Access-Control-Allow-Credentials: any site can read what a visitor sees when logged in.", a.origin).
			About(fieldCORS)
	},
}, {
	Code: "headers.cors.star_credentials", Severity: diag.Warning, Category: factorSharing,
	Ref:         "Fetch Standard, CORS protocol and credentials",
	Title:       "Access-Control-Allow-Origin: * does not work with credentials",
	Requirement: "Access-Control-Allow-Origin: * comes without credentials",
	Advice: "Remove Access-Control-Allow-Credentials if the content is public; " +
		"otherwise name the one origin that may read it.",
	Fails: func(e *evidence) rule.Failures {
		_, ok := e.find(func(a access) bool { return a.allowed == "*" && a.credentials })
		return rule.FailIf(ok,
			"The response has Access-Control-Allow-Origin: * with Access-Control-Allow-Credentials: true: "+
				"browsers refuse requests with credentials.").
			About(fieldCORS)
	},
}, {
	Code: "headers.cors.null", Severity: diag.Warning, Category: factorSharing, Ref: "Fetch Standard, CORS protocol",
	Title: "CORS allows the origin null", Requirement: "CORS does not allow the origin null",
	Advice: "Remove null from the allowed origins: any site can make a request with it from a sandboxed frame.",
	Fails: func(e *evidence) rule.Failures {
		_, ok := e.find(func(a access) bool { return strings.EqualFold(a.allowed, "null") })
		return rule.FailIf(ok, "The site allows the origin null, which any site can use through a sandboxed frame.").
			About(fieldCORS)
	},
}, {
	Code: "headers.cors.invalid", Severity: diag.Warning, Category: factorSharing, Ref: "Fetch Standard, CORS check",
	Title:       "Access-Control-Allow-Origin has a value that browsers refuse",
	Requirement: "Access-Control-Allow-Origin is one origin or *",
	Advice:      "Send *, or the one origin of the request; lists and patterns do not exist.",
	Fails: func(e *evidence) rule.Failures {
		a, ok := e.find(func(a access) bool { return a.allowed != "" && (a.several || !isOrigin(a.allowed)) })
		return rule.FailIf(ok, "Access-Control-Allow-Origin is %s.", phrase.Quote(a.allowed)).About(fieldCORS)
	},
}, {
	Code: "headers.cors.vary", Severity: diag.Info, Category: factorSharing,
	Ref:         "Fetch Standard, CORS protocol and HTTP caches",
	Title:       "Response depends on Origin, but lacks Vary: Origin",
	Requirement: "A response that depends on Origin has Vary: Origin",
	Advice:      "Send Vary: Origin with every response, so caches do not give one site the response for another.",
	Fails: func(e *evidence) rule.Failures {
		first := e.accesses()[0]
		_, differs := e.find(func(a access) bool {
			return a.allowed != first.allowed && a.allowed != "*" && a.allowed != "" && !a.vary && a.origin != ""
		})
		return rule.FailIf(differs,
			"Access-Control-Allow-Origin differs between requests with and without Origin, and Vary does not name Origin.").
			About("Vary")
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
