package headers

import (
	"maps"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
)

// The bounds of lists in a report; findings name the rest of what a head can hold.
const (
	maxFields      = 500
	maxDisclosures = 30
)

func (e *evidence) report(ended time.Time) *Report {
	timing := diag.NewTiming(e.now, ended)
	judged := rules
	if e.given {
		judged = givenRules
	}
	verdict := judged().Judge(e, texts)
	if e.quirks = e.unexplained(verdict.Findings); len(e.quirks) > 0 {
		verdict = judged().Judge(e, texts)
	}
	r := &Report{
		Verdict: verdict,
		URL:     e.req.URL.String(), FinalURL: e.page.URL.String(), Hops: e.page.Hops, Headers: []fetch.Field{},
		Cookies: []Cookie{}, Disclosure: []Disclosure{},
		TLS:       kit.OrZero(e.page.TLS),
		Partial:   silent(e.page) || e.coding != nil || e.beyond() || e.final != nil && len(e.Unanswered()) > 0,
		Error:     kit.OrZero(e.failure()),
		CheckedAt: timing.CheckedAt, DurationMS: timing.DurationMS, SecurityHeaders: e.securityHeaders(verdict.Findings),
	}
	if e.final == nil {
		return r
	}
	r.StatusCode, r.HTTPVersion, r.FinalURL = e.final.StatusCode, e.final.HTTPVersion, e.final.URL
	r.Headers = append(r.Headers, e.final.Fields[:min(len(e.final.Fields), maxFields)]...)
	r.Cookies = e.reportCookies()
	r.Caching = e.caching()
	r.Disclosure = append(r.Disclosure, e.disclosures()...)
	r.Compression = text(e.page.Encoding)
	r.Observatory = kit.OrZero(e.grade)
	if e.contacts != nil {
		r.SecurityTxt = e.contacts.SecurityTxt
	}
	return r
}

// failure returns what ended the chain. An untrusted certificate ends it for browsers, though not for the
// examination.
func (e *evidence) failure() *fetch.Error {
	switch {
	case e.beyond():
		return nil // that is not an error of the chain, see Scope
	case e.page.Err != nil:
		return e.page.Err
	}
	if fault := untrusted(e.page.Hops); fault != nil {
		return &fetch.Error{Code: fetch.TLS, Message: fault.TLS.Err().Error()}
	}
	return nil
}

// untrusted returns the first hop with a certificate that is not to be trusted, or nil.
func untrusted(hops []fetch.Hop) *fetch.Hop {
	i := slices.IndexFunc(hops, func(h fetch.Hop) bool { return h.TLS != nil && h.TLS.Err() != nil })
	if i < 0 {
		return nil
	}
	return &hops[i]
}

func (s *SecurityHeaders) list() []*Header {
	return []*Header{&s.StrictTransportSecurity, &s.ContentSecurityPolicy.Header, &s.XFrameOptions, &s.XContentTypeOptions,
		&s.ReferrerPolicy, &s.PermissionsPolicy, &s.CrossOriginOpenerPolicy, &s.CrossOriginEmbedderPolicy,
		&s.CrossOriginResourcePolicy}
}

// protecting are the fields in the order of list, each with the codes that concern it.
var protecting = []struct {
	name  string
	rate  func(*evidence) (valid bool, strength Strength)
	codes []diag.Code
}{
	{"Strict-Transport-Security", (*evidence).rateHSTS, []diag.Code{
		"headers.hsts.duplicate", "headers.hsts.invalid", "headers.hsts.missing", "headers.hsts.over_http",
		"headers.hsts.short", "headers.hsts.zero",
	}},
	{"Content-Security-Policy", (*evidence).ratePolicy, []diag.Code{
		"headers.csp.ancestors", "headers.csp.base", "headers.csp.blocks", "headers.csp.comma",
		"headers.csp.deprecated", "headers.csp.insecure", "headers.csp.long", "headers.csp.meta",
		"headers.csp.meta.directive", "headers.csp.missing", "headers.csp.nonce", "headers.csp.nonce.short",
		"headers.csp.objects", "headers.csp.repeated", "headers.csp.report_only",
		"headers.csp.scripts.broad", "headers.csp.scripts.bypass", "headers.csp.scripts.dynamic",
		"headers.csp.scripts.eval", "headers.csp.scripts.handlers", "headers.csp.scripts.inline",
		"headers.csp.scripts.unrestricted", "headers.csp.syntax",
	}},
	{"X-Frame-Options", (*evidence).rateFraming, []diag.Code{
		"headers.frame_options.conflict", "headers.frame_options.invalid", "headers.frame_options.missing",
	}},
	{"X-Content-Type-Options", (*evidence).rateSniffing, []diag.Code{
		"headers.content_type_options.invalid", "headers.content_type_options.missing",
	}},
	{"Referrer-Policy", (*evidence).rateReferrer, []diag.Code{
		"headers.referrer.insecure", "headers.referrer.invalid", "headers.referrer.leaks",
	}},
	{"Permissions-Policy", (*evidence).rateFeatures, []diag.Code{
		"headers.permissions.ignored", "headers.permissions.invalid", "headers.permissions.misspelled",
	}},
	{"Cross-Origin-Opener-Policy", rateOpener, []diag.Code{"headers.opener.invalid"}},
	{"Cross-Origin-Embedder-Policy", rateEmbedder, []diag.Code{"headers.embedder.invalid"}},
	{"Cross-Origin-Resource-Policy", rateResource, []diag.Code{"headers.resource.invalid"}},
}

// securityHeaders rates the fields, and gives each its findings.
func (e *evidence) securityHeaders(findings []diag.Finding) (s SecurityHeaders) {
	for i, h := range s.list() {
		field := protecting[i]
		*h = Header{Strength: Missing, Findings: []diag.Finding{}}
		if e.final == nil {
			continue
		}
		if h.Present, h.Value = e.has(field.name), e.value(field.name); h.Present {
			h.Valid, h.Strength = field.rate(e)
		}
		for _, f := range findings {
			if slices.Contains(field.codes, f.Code) {
				h.Findings = append(h.Findings, f)
			}
		}
	}
	if e.final != nil && e.isPage() {
		s.ContentSecurityPolicy.Runs = e.runs
	}
	return s
}

// rated is the strength of a header that browsers obey or not.
func rated(valid bool, s Strength) (bool, Strength) {
	if !valid {
		return false, Weak
	}
	return true, s
}

// The ages of Strict-Transport-Security: half a year, below which it is weak, and a year.
const (
	halfYear  = 180 * 24 * time.Hour
	wholeYear = 365 * 24 * time.Hour
)

func (e *evidence) rateHSTS() (bool, Strength) {
	h := e.hsts[0]
	switch {
	case !e.trusted() || !h.Valid(): // RFC 6797 section 8.1
		return false, Weak
	case h.Age() < halfYear:
		return true, Weak
	case h.Age() >= wholeYear && h.IncludeSubdomains:
		return true, Strong
	default:
		return true, Good
	}
}

// ratePolicy follows from what runs, and from nothing else.
func (e *evidence) ratePolicy() (bool, Strength) {
	valid := slices.ContainsFunc(e.enforced, func(p policy) bool { return !p.Meta && known(p) })
	return rated(valid, strengthOf(&e.runs))
}

func (e *evidence) rateFraming() (bool, Strength) {
	switch e.frameOption() {
	case "deny":
		return true, Strong
	case "sameorigin":
		return true, Good
	default:
		return false, Weak
	}
}

func (e *evidence) rateSniffing() (bool, Strength) { return rated(e.nosniff(), Strong) }

func (e *evidence) rateReferrer() (bool, Strength) {
	switch policy := e.referrer(); {
	case policy == "":
		return false, Weak
	case slices.Contains(leaking, policy) || slices.Contains(insecureReferrers, policy):
		return true, Weak
	case policy == "strict-origin-when-cross-origin":
		return true, Good
	default:
		return true, Strong
	}
}

func (e *evidence) rateFeatures() (bool, Strength) {
	f := &e.features
	valid := f.err == nil && len(f.order) > 0
	if f.closed("camera") && f.closed("microphone") && f.closed("geolocation") {
		return rated(valid, Strong)
	}
	if slices.ContainsFunc(f.order, func(name string) bool { return !slices.Contains(f.lists[name], "*") }) {
		return rated(valid, Good)
	}
	return rated(valid, Weak)
}

// The values of the policies that isolate a page.
var (
	openers = map[string]Strength{"same-origin": Strong, "same-origin-allow-popups": Good, "noopener-allow-popups": Good,
		"unsafe-none": Weak}
	embedders = map[string]Strength{"require-corp": Strong, "credentialless": Strong, "unsafe-none": Weak}
	resources = map[string]Strength{"same-origin": Strong, "same-site": Good, "cross-origin": Weak}

	rateOpener   = ofToken("Cross-Origin-Opener-Policy", openers)
	rateEmbedder = ofToken("Cross-Origin-Embedder-Policy", embedders)
)

func ofToken(name string, known map[string]Strength) func(*evidence) (bool, Strength) {
	return func(e *evidence) (bool, Strength) {
		token, ok := e.token(name, slices.Collect(maps.Keys(known)))
		return rated(ok, known[token])
	}
}

func rateResource(e *evidence) (bool, Strength) {
	strength, ok := resources[e.value("Cross-Origin-Resource-Policy")]
	return rated(ok, strength)
}
