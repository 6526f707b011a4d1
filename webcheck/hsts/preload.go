package hsts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"golang.org/x/net/publicsuffix"
)

// Grade rates the header of a site: unknown, missing, invalid, weak, fair, strong, preload_ready
// or preloaded.
type Grade string

const (
	GradeUnknown      Grade = "unknown"       // HTTPS could not be asked
	GradeMissing      Grade = "missing"       // there is no header, or one that turns HSTS off
	GradeInvalid      Grade = "invalid"       // browsers ignore it
	GradeWeak         Grade = "weak"          // max-age below 180 days
	GradeFair         Grade = "fair"          // below a year
	GradeStrong       Grade = "strong"        // a year and more
	GradePreloadReady Grade = "preload_ready" // all requirements of the preload list are met
	GradePreloaded    Grade = "preloaded"     // on the list, and up to its requirements
)

// Values lists the grades.
func (Grade) Values() []string {
	return kit.Values(GradeUnknown, GradeMissing, GradeInvalid, GradeWeak, GradeFair, GradeStrong, GradePreloadReady,
		GradePreloaded)
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

// wholeSuffix reports whether browsers have the public suffix of the domain on their list, with all names below it.
func (e *evidence) wholeSuffix() bool {
	return e.listed() && e.entry.IncludeSubdomains && e.entry.Policy == PublicSuffix && e.entry.Name != e.domain.String()
}

// off reports whether the header that counts turns HSTS off.
func (e *evidence) off() bool { return e.inForce() && e.age() == 0 }

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
		return GradeUnknown
	case e.header == nil:
		return GradeMissing
	case !e.inForce():
		return GradeInvalid
	case e.off():
		return GradeMissing // browsers forget what they knew
	case e.listed() && (e.ownEntry() && !e.atRisk() && len(e.Unanswered()) == 0 || !e.ownEntry() && e.age() >= oneYear):
		return GradePreloaded
	case e.eligible():
		return GradePreloadReady
	case e.age() < weakBelow:
		return GradeWeak
	case e.age() < oneYear:
		return GradeFair
	default:
		return GradeStrong
	}
}

func (e *evidence) preload() Preload {
	p := Preload{Status: e.status(), ListVersion: e.list.Version, Eligible: e.eligible(), Requirements: e.requirements()}
	if e.entry == nil {
		return p
	}
	p.ListVersion = cmp.Or(e.list.Version, e.list.source)
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
	case e.entry != nil:
		return e.entry.Status()
	case e.list.Version == "":
		return UnknownStatus
	default:
		return NotListed
	}
}

// removal says what keeps the wish to be removed from the list from being accepted.
func (e *evidence) removal() (found Issues) {
	switch {
	case first(e.https) == nil:
		found.fail("domain.tls.cannot_connect")
	case !e.trusted():
		found.fail("domain.tls.invalid_cert_chain")
	case len(e.fields) == 0:
		found.fail("response.no_header")
	case len(e.fields) > 1:
		found.fail("response.multiple_headers")
	default:
		found = removable(e.fields[0])
	}
	return found
}

// RequirementCode names a requirement of the preload list.
type RequirementCode string

// Values lists the requirements.
func (RequirementCode) Values() (codes []string) {
	for _, q := range requirements {
		codes = append(codes, string(q.code))
	}
	return codes
}

// requirements are those of the preload list, in the order of the report.
var requirements = []struct {
	code  RequirementCode
	apart bool // whether it can be met without an answer over HTTPS
	check func(*evidence) (met bool, detail string)
}{
	{"max_age", false, ofHeader(maxAgeRequirement)},
	{"include_subdomains", false, ofHeader(func(h strict, _ Issues) (bool, string) {
		return has("includeSubDomains", h.IncludeSubdomains)
	})},
	{"preload_directive", false, ofHeader(func(h strict, _ Issues) (bool, string) { return has("preload", h.Preload) })},
	{"http_redirect", false, (*evidence).redirectRequirement},
	{"valid_certificate", false, (*evidence).certificateRequirement},
	{"www", true, (*evidence).wwwRequirement},
	{"root_domain", true, (*evidence).rootRequirement},
}

func (e *evidence) requirements() (list []Requirement) {
	for _, q := range requirements {
		met, detail := false, "The site did not answer over HTTPS."
		if q.apart || first(e.https) != nil {
			met, detail = q.check(e)
		}
		list = append(list, Requirement{q.code, met, detail})
	}
	return list
}

// ofHeader makes the check of a requirement that the header must meet, as hstspreload.org reads it.
func ofHeader(check func(strict, Issues) (bool, string)) func(*evidence) (bool, string) {
	return func(e *evidence) (bool, string) {
		switch n := len(e.fields); n {
		case 0:
			return false, "There is no Strict-Transport-Security header."
		case 1:
			return check(parseStrict(e.fields[0]))
		default:
			return false, fmt.Sprintf("There are %d Strict-Transport-Security headers, and exactly one is accepted.", n)
		}
	}
}

func maxAgeRequirement(h strict, parsed Issues) (bool, string) {
	if h.MaxAge == nil || !parsed.OK() {
		return false, "hstspreload.org cannot read the max-age of the header."
	}
	return *h.MaxAge >= oneYear,
		fmt.Sprintf("The max-age is %s; at least %d (one year) is required.", seconds(*h.MaxAge), oneYear)
}

func has(directive string, is bool) (bool, string) {
	if is {
		return true, "The header has the directive " + directive + "."
	}
	return false, "The header lacks the directive " + directive + "."
}

// redirectIssue lists what hstspreload.org finds wrong with redirects, and what that means.
var redirectIssue = map[Issue]string{
	"redirects.http.no_redirect": "http://DOMAIN/ does not redirect to https://DOMAIN/.",
	"redirects.http.www_first": "The first redirect from http://DOMAIN/ leads to www.DOMAIN, not to " +
		"https://DOMAIN/.",
	"redirects.http.first_redirect.insecure": "The first redirect from http://DOMAIN/ does not lead to https://DOMAIN/.",
	"redirects.http.first_redirect.invalid":  "http://DOMAIN/ redirects to https://DOMAIN/, which did not answer.",
	"redirects.http.first_redirect.no_hsts": "http://DOMAIN/ redirects to a page whose header does " +
		"not meet the requirements.",
	"redirects.insecure.initial":    "https://DOMAIN/ redirects to plain HTTP.",
	"redirects.insecure.subsequent": "One of the redirects leads back to plain HTTP.",
	"redirects.too_many":            "There are more than 3 redirects.",
	"redirects.follow_error":        "One of the redirects leads to a page that could not be fetched.",
}

func (e *evidence) redirectRequirement() (met bool, detail string) {
	found, after := e.httpIssues(Bulk1Year)
	found.add(after)
	found.add(followIssues(e.https, 1))
	found.add(insecureIssues(e.https))
	open := e.Unanswered()
	switch {
	case slices.Contains(open, sourceHTTP):
		return false, fmt.Sprintf("http://%s/ did not answer in time, so where it leads is not known.", e.domain)
	case tooLong(e.http) || tooLong(e.https):
		return false, fmt.Sprintf("A redirect leads to a URL of more than %d octets, which was not followed.", input.MaxURL)
	case slices.Contains(open, sourceChain):
		return false, "A page behind a redirect did not answer in time."
	case len(found.Errors) > 0:
		return false, strings.ReplaceAll(redirectIssue[found.Errors[0]], "DOMAIN", e.domain.String())
	case first(e.http) == nil:
		return true, "The site does not answer over plain HTTP, so there is nothing to redirect."
	default:
		return true, fmt.Sprintf("http://%[1]s/ redirects to https://%[1]s/ first.", e.domain)
	}
}

func (e *evidence) certificateRequirement() (met bool, detail string) {
	switch t := first(e.https).TLS; {
	case t.Err() != nil:
		return false, phrase.Sentence(t.Err().Error())
	case sha1Signed(t) != nil:
		return false, "A certificate of the chain is signed with SHA-1."
	default:
		return true, "The certificate is valid, and the chain leads to a trusted authority."
	}
}

func (e *evidence) wwwRequirement() (met bool, detail string) {
	host := "www." + e.domain.String()
	switch {
	case e.www == nil:
		return true, "The list does not ask for a www below this domain."
	case first(e.www) != nil:
		return true, host + " speaks HTTPS with a valid certificate."
	case slices.Contains(e.Unanswered(), sourceWWW):
		return false, host + " did not answer."
	case e.www.Err.Code == fetch.DNS:
		return true, host + " does not exist, so it need not speak HTTPS."
	case e.www.Err.Code == fetch.TLS:
		return false, fmt.Sprintf("%s accepts connections on port 443, but not over valid TLS: %s.", host, e.www.Err.Message)
	default:
		return true, host + " does not accept connections on port 443; the list asks only for hosts that do."
	}
}

func (e *evidence) rootRequirement() (met bool, detail string) {
	found := append(checkFormat(e.domain.String()).Errors, checkLevel(e.domain.String()).Errors...)
	switch {
	case slices.Contains(found, "domain.format.public_suffix"):
		return false, fmt.Sprintf("%s is a public suffix, whose owner has to write to the maintainers of the list.", e.domain)
	case slices.Contains(found, "domain.is_subdomain"):
		return false, fmt.Sprintf("%s is a subdomain; only %s can be submitted.", e.domain, e.registrable())
	case len(found) > 0:
		return false, fmt.Sprintf("%s is not a registered domain.", e.domain)
	default:
		return true, fmt.Sprintf("%s is a registered domain, not a subdomain.", e.domain)
	}
}

func (e *evidence) registrable() string {
	name, err := publicsuffix.EffectiveTLDPlusOne(e.domain.String())
	if err != nil {
		return ""
	}
	return name
}
