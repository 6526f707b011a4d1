package hsts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/net/publicsuffix"
)

// A Request asks for the examination of one site.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain of the site, which may be a subdomain" example:"example.com"`
}

// A Report describes how a site uses HSTS, with a verdict.
type Report struct {
	Domain         diag.Domain `json:"domain" doc:"domain that was examined"`
	DomainUnicode  string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	HTTPSReachable bool        `json:"https_reachable" doc:"whether the site answered over HTTPS"`
	Header         FieldReport `json:"header,omitzero" doc:"the header that came over HTTPS, of several the first"`
	HeaderOverHTTP bool        `json:"header_over_http" doc:"whether plain HTTP sends the header too, where browsers ignore it"`
	Grade          Grade       `json:"grade" doc:"what the header is worth, in a word"`
	HTTPRedirect   Redirect    `json:"http_redirect" doc:"where plain HTTP leads"`
	WWW            WWW         `json:"www" doc:"the host www below the domain"`
	Preload        Preload     `json:"preload" doc:"preload list: whether the domain is on it, and whether it could be"`
	TLS            pki.TLS     `json:"tls,omitzero" doc:"TLS of the site"`
	diag.Verdict
	Errors   []Issue `json:"errors" doc:"what keeps the domain from being preloaded, in the vocabulary of hstspreload.org" example:"redirects.http.no_redirect"`
	Warnings []Issue `json:"warnings" doc:"what hstspreload.org warns about" example:"redirects.http.useless_header"`
	Partial  bool    `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// A FieldReport is a Strict-Transport-Security header as browsers interpret it.
type FieldReport struct {
	Raw               string   `json:"raw" doc:"the field value as it came" example:"max-age=31536000; includeSubDomains"`
	MaxAgeSeconds     *int64   `json:"max_age_seconds,omitempty" min:"0" doc:"how long browsers remember it; absent without a valid one"`
	IncludeSubdomains bool     `json:"include_subdomains" doc:"whether it holds for subdomains too"`
	Preload           bool     `json:"preload" doc:"whether it asks for preloading"`
	DuplicateHeaders  bool     `json:"duplicate_headers" doc:"whether the answer has several of these headers"`
	UnknownDirectives []string `json:"unknown_directives" maxitems:"50" doc:"directives that browsers skip"`
	Valid             bool     `json:"valid" doc:"whether it follows RFC 6797; browsers ignore a header that does not"`
	ParseErrors       []string `json:"parse_errors" maxitems:"20" doc:"why it does not"`
}

// Redirect describes where the site redirects visitors over plain HTTP.
type Redirect struct {
	Tested     bool        `json:"tested" doc:"whether it is known what plain HTTP does"`
	StatusCode int         `json:"status_code,omitempty" doc:"status of the first answer"`
	ToHTTPS    bool        `json:"to_https" doc:"whether the first redirect leads to HTTPS"`
	SameHost   bool        `json:"same_host" doc:"whether the first redirect stays on the host"`
	Hops       []fetch.Hop `json:"hops" maxitems:"4" doc:"answers in order"`
}

// WWW describes the www host of the domain, which the preload list requires to support HTTPS if it exists.
type WWW struct {
	Tested         bool  `json:"tested" doc:"whether it was asked; it is not for subdomains"`
	HTTPSReachable *bool `json:"https_reachable,omitempty" doc:"whether it speaks HTTPS with a valid certificate; absent if there is no such host, or if it was silent"`
}

// Preload reports whether a domain is on the preload list, whether it could be added, and whether it could be
// removed.
type Preload struct {
	Status            Status        `json:"status" doc:"what the list says; unknown: the server has no list but that of whole top-level domains"`
	ListVersion       string        `json:"list_version,omitempty" doc:"version of the list that was asked"`
	Entry             string        `json:"entry,omitempty" doc:"domain on the list that covers this one"`
	IncludeSubdomains *bool         `json:"include_subdomains,omitempty" doc:"whether the entry holds for subdomains too"`
	Policy            Policy        `json:"policy,omitempty" doc:"requirements under which the entry was added" example:"bulk-1-year"`
	Eligible          bool          `json:"eligible" doc:"whether hstspreload.org would accept the domain now"`
	Requirements      []Requirement `json:"requirements" doc:"requirements of the list, in this order"`
	AtRisk            *bool         `json:"at_risk,omitempty" doc:"for an entry of its own: whether the site no longer meets the requirements under which it was added"`
	Removal           Removal       `json:"removal,omitzero" doc:"for an entry of its own: whether hstspreload.org would accept a request for removal"`
}

// Removal reports whether hstspreload.org would accept a request to remove the domain.
type Removal struct {
	Ready  bool    `json:"ready" doc:"whether anyone could request the removal now"`
	Errors []Issue `json:"errors" doc:"what keeps it from being accepted"`
}

// A Requirement is a requirement of the preload list, and whether the site meets it.
type Requirement struct {
	Code   RequirementCode `json:"code" doc:"name of the requirement"`
	Met    bool            `json:"met" doc:"whether the site meets it"`
	Detail string          `json:"detail" doc:"what was seen"`
}

// Check requests a site and its www host over HTTPS and HTTP, and examines their use of HSTS. The error is
// that of the context if it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	list, err := PreloadList(env)
	if err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	e.digest(list)
	r := e.report()
	r.Timing = diag.NewTiming(e.now, env.Now())
	return r, nil
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report() *Report {
	r := &Report{
		Domain: e.domain, DomainUnicode: e.domain.UnicodeIfDifferent(), HTTPSReachable: first(e.https) != nil,
		Header: e.field(), HeaderOverHTTP: len(fieldsOf(first(e.http))) > 0, Grade: e.grade(),
		HTTPRedirect: e.redirect(), WWW: WWW{Tested: e.www != nil, HTTPSReachable: e.wwwReachable()},
		Preload: e.preload(), Verdict: rules().Judge(e, e.texts()), Errors: append([]Issue{}, e.issues.Errors...),
		Warnings: append([]Issue{}, e.issues.Warnings...), Partial: len(e.Unanswered()) > 0,
	}
	r.TLS = kit.OrZero(e.https.TLS)
	if head := first(e.https); head != nil {
		r.TLS = kit.OrZero(head.TLS)
	}
	return r
}

// The limits of quotes in a report.
const (
	maxRaw     = 4096    // of a header, in bytes
	maxSeconds = 1 << 53 // the largest number that all readers of JSON have
	maxWord    = 100     // of a directive's name, in bytes
)

func (e *evidence) field() (f FieldReport) {
	h := e.header
	if h == nil {
		return f
	}
	f = FieldReport{
		Raw: shorten(h.Text, maxRaw), IncludeSubdomains: h.IncludeSubdomains, Preload: h.Preload,
		DuplicateHeaders: len(e.fields) > 1, Valid: h.Valid(),
		UnknownDirectives: kit.Map(h.Unknown, func(name string) string { return shorten(name, maxWord) }),
		ParseErrors:       kit.Map(h.Faults, func(f Fault) string { return f.Text }),
	}
	if h.MaxAge != nil {
		f.MaxAgeSeconds = new(int64(min(*h.MaxAge, maxSeconds)))
	}
	return f
}

func shorten(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "\uFFFD") }

func (e *evidence) redirect() Redirect {
	r := Redirect{Tested: e.http.Err == nil || !e.http.Err.Unanswered || first(e.http) != nil, Hops: e.http.Hops}
	if head := first(e.http); head != nil {
		r.StatusCode = head.StatusCode
	}
	if path := leads(e.http); len(path) > 0 {
		r.ToHTTPS, r.SameHost = path[0].Scheme == "https", hostOf(path[0]) == e.domain.String()
	}
	return r
}

// The limits of fetches.
const (
	// maxRedirects is how many redirects hstspreload.org follows.
	maxRedirects = 3
	// timeout is how long anything is waited for, so that what has come can be reported before the caller's
	// time is up, which usually is 15 seconds (CONTRACT 1.9).
	timeout = 10 * time.Second
	// maxBody is of no interest: all that matters is in the heads of answers.
	maxBody = 1
)

// withoutWWW are the suffixes whose owners cannot have a certificate for a www below their names, so that the
// preload list does not ask for it.
var withoutWWW = map[string]bool{"appspot.com": true}

// evidence is the input of the rules; only gather and digest fill it.
type evidence struct {
	domain diag.Domain
	now    time.Time

	https   *fetch.Result // of https://domain and up to three redirects; never nil
	http    *fetch.Result // of http://domain likewise; never nil
	www     *fetch.Result // of https://www.domain; nil if it does not matter
	wwwHTTP *fetch.Result // of http://www.domain

	list   *List // without a version if no list is known
	entry  *Entry
	fields []string // the header as often as it came over HTTPS
	header *Header  // the first of them; nil without any
	issues Issues   // what hstspreload.org would say
	kept   Issues   // what it would say by the policy under which the entry was added
}

// siteOf returns where a host has its site over HTTPS and over plain HTTP. The error says why a URL cannot have
// such a host: the name denotes the machine itself, or is too long.
func siteOf(host string) (secure, plain diag.URL, err error) {
	if secure, err = diag.ParseURL("https://" + host + "/"); err == nil {
		plain, err = diag.ParseURL("http://" + host + "/")
	}
	return secure, plain, err
}

// gather asks all there is to ask at once.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	_, err := diag.ParseHost(d.String())
	if fault, ok := errors.AsType[*diag.InputError](err); ok {
		return nil, input.Invalid("domain", "%s", fault.Reason)
	}
	secure, plain, err := siteOf(d.String())
	if err != nil {
		return nil, err
	}
	e := &evidence{domain: d, now: env.Now()}
	env = env.Cached()
	wait := diag.TimeLeft(ctx, timeout)
	var failures [4]error
	var g diag.Group
	ask := func(i int, into **fetch.Result, u diag.URL, redirects int, untrusted bool) {
		g.Go(func() {
			*into, failures[i] = fetch.Do(ctx, env, fetch.Request{
				URL: u, MaxRedirects: redirects, MaxBytes: maxBody, Raw: true, Timeout: wait, AllowUntrusted: untrusted,
			})
		})
	}
	ask(0, &e.https, secure, maxRedirects, true)
	ask(1, &e.http, plain, maxRedirects, true)
	if secure, plain, err := siteOf("www." + d.String()); err == nil && hasWWW(d) { // else too long with www in front
		ask(2, &e.www, secure, 0, false)
		ask(3, &e.wwwHTTP, plain, 0, false)
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := cmp.Or(failures[:]...); err != nil {
		return nil, err
	}
	if err := fetch.Unavailable(e.https, e.http); err != nil {
		return nil, fmt.Errorf("examining HSTS of %s: %w", d, err)
	}
	return e, nil
}

// hasWWW reports whether the preload list asks for a www below a domain.
func hasWWW(d diag.Domain) bool {
	suffix, _ := publicsuffix.PublicSuffix(d.String())
	return checkLevel(d.String()).OK() && !withoutWWW[suffix]
}

// digest reads what was fetched. It touches nothing.
func (e *evidence) digest(list *List) {
	e.list = list
	e.fields = fieldsOf(first(e.https))
	if len(e.fields) > 0 {
		e.header = Parse(e.fields[0]) // RFC 6797 section 8.1: of several only the first counts
	}
	e.issues = e.judgeAs(Bulk1Year)
	if entry, ok := list.Lookup(e.domain.String()); ok {
		e.entry = &entry
		e.kept = e.judgeAs(entry.Policy)
	}
}

// first returns the first answer of a chain, or nil.
func first(r *fetch.Result) *fetch.Hop {
	if r == nil || len(r.Hops) == 0 {
		return nil
	}
	return &r.Hops[0]
}

// silent reports whether nothing was learned, and might be the next time.
func silent(r *fetch.Result) bool { return first(r) == nil && r.Err != nil && r.Err.Unanswered }

func fieldsOf(h *fetch.Hop) []string {
	if h == nil {
		return nil
	}
	return h.Header[FieldName]
}

func leads(r *fetch.Result) (path []*url.URL) {
	for i := range r.Hops {
		h := &r.Hops[i]
		if h.RedirectType != fetch.HTTPRedirect {
			continue
		}
		if !h.Target.IsZero() {
			path = append(path, h.Target.HTTP())
			continue
		}
		base, err := url.Parse(h.URL)
		if err != nil {
			break
		}
		next, err := base.Parse(h.Location)
		if err != nil {
			break
		}
		path = append(path, next)
	}
	return path
}

func hostOf(u *url.URL) string { return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) }
