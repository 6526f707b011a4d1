package hsts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"golang.org/x/net/publicsuffix"
)

// Grade is what the header of a site is worth, in a word.
type Grade string

const (
	gradeUnknown      Grade = "unknown"       // HTTPS could not be asked
	gradeMissing      Grade = "missing"       // there is no header
	gradeInvalid      Grade = "invalid"       // browsers ignore it
	gradeWeak         Grade = "weak"          // max-age below 180 days
	gradeFair         Grade = "fair"          // below a year
	gradeStrong       Grade = "strong"        // a year and more
	gradePreloadReady Grade = "preload_ready" // all requirements of the preload list are met
	gradePreloaded    Grade = "preloaded"     // on the list, and up to its requirements
)

// Values lists the grades.
func (Grade) Values() []string {
	return diag.Values(gradeUnknown, gradeMissing, gradeInvalid, gradeWeak, gradeFair, gradeStrong, gradePreloadReady,
		gradePreloaded)
}

// weakBelow is the max-age below which a header is weak: 180 days, as in MDN's Observatory.
const weakBelow = 180 * 86400

// age is the max-age that is in force, in seconds.
func (e *evidence) age() uint64 {
	if !e.inForce() || e.header.MaxAge == nil {
		return 0
	}
	return *e.header.MaxAge
}

// trusted reports whether browsers accept the certificate. Else they ignore the header (RFC 6797 section 8.1).
func (e *evidence) trusted() bool {
	head := first(e.https)
	return head != nil && head.TLS.Err() == nil
}

// inForce reports whether browsers obey the header.
func (e *evidence) inForce() bool { return e.trusted() && e.header != nil && e.header.Valid() }

// includesSubdomains reports whether a header that is in force, or the preload list, holds for subdomains.
func (e *evidence) includesSubdomains() bool {
	return e.inForce() && e.header.IncludeSubdomains && e.age() > 0 || e.listed() && e.entry.IncludeSubdomains
}

func (e *evidence) listed() bool { return e.entry != nil && !e.entry.Pending }

// ownEntry reports whether the domain itself was submitted, rather than one above it.
func (e *evidence) ownEntry() bool {
	return e.entry != nil && e.entry.Name == e.domain.String() && e.entry.Policy.bulk()
}

// atRisk reports whether the domain was submitted and no longer meets the requirements of then.
func (e *evidence) atRisk() bool { return e.ownEntry() && !silent(e.https) && !e.kept.OK() }

// eligible reports whether the site is known to meet all requirements.
func (e *evidence) eligible() bool { return e.issues.OK() && len(e.Unanswered()) == 0 }

func (e *evidence) grade() Grade {
	switch {
	case first(e.https) == nil:
		return gradeUnknown
	case e.header == nil:
		return gradeMissing
	case !e.inForce():
		return gradeInvalid
	case e.listed() && (e.ownEntry() && !e.atRisk() && len(e.Unanswered()) == 0 || !e.ownEntry() && e.age() >= oneYear):
		return gradePreloaded
	case e.eligible():
		return gradePreloadReady
	case e.age() < weakBelow:
		return gradeWeak
	case e.age() < oneYear:
		return gradeFair
	default:
		return gradeStrong
	}
}

func (e *evidence) preload() Preload {
	p := Preload{
		Status: e.status(), ListVersion: e.list.Version, Eligible: e.eligible(), Requirements: []Requirement{
			e.headerRequirement(needMaxAge), e.headerRequirement(needSubdomains), e.headerRequirement(needDirective),
			e.redirectRequirement(), e.certificateRequirement(), e.wwwRequirement(), e.rootRequirement(),
		},
	}
	if e.entry == nil {
		return p
	}
	p.Entry, p.Policy, p.IncludeSubdomains = e.entry.Name, e.entry.Policy, new(e.entry.IncludeSubdomains)
	if e.ownEntry() && !silent(e.https) {
		if e.atRisk() || len(e.Unanswered()) == 0 {
			p.AtRisk = new(e.atRisk())
		}
		removal := e.removal()
		p.Removal = Removal{removal.OK(), append([]Issue{}, removal.Errors...)}
	}
	return p
}

func (e *evidence) status() Status {
	switch {
	case e.list.Version == "":
		return unknownStatus
	case e.entry == nil:
		return notListed
	default:
		return e.entry.Status()
	}
}

// removal says what keeps the wish to be removed from the list from being accepted.
func (e *evidence) removal() (found Issues) {
	switch {
	case first(e.https) == nil:
		found.fail(cannotConnect)
	case !e.trusted():
		found.fail(invalidChain)
	case len(e.fields) == 0:
		found.fail(noHeader)
	case len(e.fields) > 1:
		found.fail(multipleHeaders)
	default:
		found = removable(e.fields[0])
	}
	return found
}

// RequirementCode names a requirement of the preload list.
type RequirementCode string

// The requirements, in the order of the report.
const (
	needMaxAge      RequirementCode = "max_age"
	needSubdomains  RequirementCode = "include_subdomains"
	needDirective   RequirementCode = "preload_directive"
	needRedirect    RequirementCode = "http_redirect"
	needCertificate RequirementCode = "valid_certificate"
	needWWW         RequirementCode = "www"
	needRoot        RequirementCode = "root_domain"
)

// Values lists the requirements.
func (RequirementCode) Values() []string {
	return diag.Values(needMaxAge, needSubdomains, needDirective, needRedirect, needCertificate, needWWW, needRoot)
}

// headerRequirement is one that the header must meet, as hstspreload.org reads it.
func (e *evidence) headerRequirement(code RequirementCode) Requirement {
	r := Requirement{Code: code}
	switch {
	case first(e.https) == nil:
		r.Detail = "The site did not answer over HTTPS."
		return r
	case len(e.fields) == 0:
		r.Detail = "There is no Strict-Transport-Security header."
		return r
	case len(e.fields) > 1:
		r.Detail = fmt.Sprintf("There are %d Strict-Transport-Security headers, and exactly one is accepted.", len(e.fields))
		return r
	}
	h, parsed := parseStrict(e.fields[0])
	switch code {
	case needMaxAge:
		r.Met = h.MaxAge != nil && *h.MaxAge >= oneYear && parsed.OK()
		if h.MaxAge == nil || !parsed.OK() {
			r.Detail = "hstspreload.org cannot read the max-age of the header."
			break
		}
		r.Detail = fmt.Sprintf("The max-age is %s; at least %d (one year) is required.", seconds(*h.MaxAge), oneYear)
	case needSubdomains:
		r.Met = h.IncludeSubdomains
		r.Detail = has("includeSubDomains", r.Met)
	default:
		r.Met = h.Preload
		r.Detail = has("preload", r.Met)
	}
	return r
}

func has(directive string, is bool) string {
	if is {
		return "The header has the directive " + directive + "."
	}
	return "The header lacks the directive " + directive + "."
}

// redirectIssue lists what hstspreload.org finds wrong with redirects, and what that means.
var redirectIssue = map[Issue]string{
	httpNoRedirect:        "http://DOMAIN/ does not redirect to https://DOMAIN/.",
	httpwwwFirst:          "The first redirect from http://DOMAIN/ leads to www.DOMAIN, not to https://DOMAIN/.",
	firstRedirectInsecure: "The first redirect from http://DOMAIN/ does not lead to https://DOMAIN/.",
	firstRedirectInvalid:  "http://DOMAIN/ redirects to https://DOMAIN/, which did not answer.",
	firstRedirectNoHSTS:   "http://DOMAIN/ redirects to a page whose header does not meet the requirements.",
	redirectInsecure:      "https://DOMAIN/ redirects to plain HTTP.",
	redirectInsecureLater: "One of the redirects leads back to plain HTTP.",
	tooManyRedirects:      "There are more than 3 redirects.",
	redirectFollowError:   "One of the redirects leads to a page that could not be fetched.",
}

func (e *evidence) redirectRequirement() Requirement {
	r := Requirement{Code: needRedirect}
	if first(e.https) == nil {
		r.Detail = "The site did not answer over HTTPS."
		return r
	}
	found, after := e.httpIssues(bulk1Year)
	found.add(after)
	found.add(followIssues(e.https, 1))
	found.add(insecureIssues(e.https))
	open := e.Unanswered()
	switch {
	case slices.Contains(open, sourceHTTP):
		r.Detail = fmt.Sprintf("http://%s/ did not answer in time, so where it leads is not known.", e.domain)
	case slices.Contains(open, sourceChain):
		r.Detail = "A page behind a redirect did not answer in time."
	case len(found.Errors) > 0:
		r.Detail = strings.ReplaceAll(redirectIssue[found.Errors[0]], "DOMAIN", e.domain.String())
	case first(e.http) == nil:
		r.Met, r.Detail = true, "The site does not answer over plain HTTP, so there is nothing to redirect."
	default:
		r.Met, r.Detail = true, fmt.Sprintf("http://%[1]s/ redirects to https://%[1]s/ first.", e.domain)
	}
	return r
}

func (e *evidence) certificateRequirement() Requirement {
	r := Requirement{Code: needCertificate}
	head := first(e.https)
	switch {
	case head == nil:
		r.Detail = "The site did not answer over HTTPS."
	case head.TLS.Err() != nil:
		r.Detail = diag.Sentence(head.TLS.Err().Error())
	case sha1Signed(head.TLS) != nil:
		r.Detail = "A certificate of the chain is signed with SHA-1."
	default:
		r.Met, r.Detail = true, "The certificate is valid, and the chain leads to a trusted authority."
	}
	return r
}

func (e *evidence) wwwRequirement() Requirement {
	r := Requirement{Code: needWWW, Met: true}
	host := "www." + e.domain.String()
	switch {
	case e.www == nil:
		r.Detail = "The list does not ask for a www below this domain."
	case first(e.www) != nil:
		r.Detail = host + " speaks HTTPS with a valid certificate."
	case slices.Contains(e.Unanswered(), sourceWWW):
		r.Met, r.Detail = false, host+" did not answer."
	case e.www.Err.Code == fetch.DNS:
		r.Detail = host + " does not exist, so it need not speak HTTPS."
	case e.www.Err.Code == fetch.TLS:
		r.Met, r.Detail = false, fmt.Sprintf("%s accepts connections on port 443, but not over valid TLS: %s.", host, e.www.Err.Message)
	default:
		r.Detail = host + " does not accept connections on port 443; the list asks only for hosts that do."
	}
	return r
}

func (e *evidence) rootRequirement() Requirement {
	r := Requirement{Code: needRoot}
	found := append(checkFormat(e.domain.String()).Errors, checkLevel(e.domain.String()).Errors...)
	switch {
	case slices.Contains(found, formatPublicSuffix):
		r.Detail = fmt.Sprintf("%s is a public suffix, whose owner has to write to the maintainers of the list.", e.domain)
	case slices.Contains(found, isSubdomain):
		r.Detail = fmt.Sprintf("%s is a subdomain; only %s can be submitted.", e.domain, e.registrable())
	case len(found) > 0:
		r.Detail = fmt.Sprintf("%s is not a registered domain.", e.domain)
	default:
		r.Met, r.Detail = true, fmt.Sprintf("%s is a registered domain, not a subdomain.", e.domain)
	}
	return r
}

func (e *evidence) registrable() string {
	name, err := publicsuffix.EffectiveTLDPlusOne(e.domain.String())
	if err != nil {
		return ""
	}
	return name
}
