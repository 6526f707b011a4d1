package hsts

import (
	"slices"
	"strconv"
	"strings"
)

// The ages that the preload list asks for, in seconds.
const (
	eighteenWeeks = 18 * 7 * 86400   // of entries added for Chrome 50 to 63
	oneYear       = 365 * 86400      // since then
	tenYears      = 10 * 365 * 86400 // above this a typing error is likely
)

// maxIssues bounds the issues of one header; a header of 256 KiB could have 130,000.
const maxIssues = 1000

// A strict is a header as hstspreload.org reads it. That differs from RFC 6797, and so from what browsers do:
// white space around "=" and quoted values are refused, a directive that stands twice or has a value too
// many is only warned about.
type strict struct {
	MaxAge            *uint64 // nil: none
	IncludeSubdomains bool
	Preload           bool
}

// parseStrict reads a header as hstspreload.org does.
func parseStrict(text string) (strict, Issues) {
	var h strict
	var found Issues
	list := strings.Split(text, ";")
	if len(list) == 1 && strings.TrimSpace(text) == "" {
		found.warn(parseEmpty)
		return h, found
	}
	for _, directive := range list {
		if len(found.Errors)+len(found.Warnings) >= maxIssues {
			break
		}
		h.take(strings.TrimSpace(directive), &found)
	}
	return h, found
}

func (h *strict) take(directive string, found *Issues) {
	begins := func(prefix string) bool { return strings.HasPrefix(strings.ToLower(directive), prefix) }
	switch {
	case strings.EqualFold(directive, namePreload):
		flag(&h.Preload, parseRepeatedPreload, found)
	case begins(namePreload):
		found.warnOnce(parseBadPreload)
	case strings.EqualFold(directive, nameInclude):
		flag(&h.IncludeSubdomains, parseRepeatedInclude, found)
	case begins(nameInclude):
		found.warnOnce(parseBadInclude)
	case begins(nameMaxAge + "="):
		h.takeMaxAge(directive[len(nameMaxAge)+1:], found)
	case begins(nameMaxAge):
		found.failOnce(parseNoMaxAgeValue)
	case directive == "":
		found.warnOnce(parseEmptyDirective)
	default:
		found.warn(parseUnknown)
	}
}

func flag(is *bool, repeated Issue, found *Issues) {
	if *is {
		found.warnOnce(repeated)
	}
	*is = true
}

func (h *strict) takeMaxAge(digits string, found *Issues) {
	if len(digits) > 1 && digits[0] == '0' {
		found.warn(parseLeadingZero)
	}
	if strings.Trim(digits, "0123456789") != "" {
		found.fail(parseNonDigits)
		return
	}
	seconds, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil:
		found.fail(parseBadNumber)
	case h.MaxAge != nil:
		found.warnOnce(parseRepeatedMaxAge)
	default:
		h.MaxAge = &seconds
	}
}

// Preloadable says what keeps a header from being accepted for the preload list.
func Preloadable(text string) Issues { return eligible(text, bulk1Year) }

// eligible is [Preloadable] by the requirements under which an entry of the list was added: those of old are
// less strict.
func eligible(text string, policy Policy) Issues {
	h, found := parseStrict(text)
	if !h.IncludeSubdomains {
		found.fail(needsInclude)
	}
	if !h.Preload {
		found.fail(needsPreload)
	}
	least, below := uint64(oneYear), maxAgeBelowYear
	if policy == bulk18Weeks {
		least, below = eighteenWeeks, maxAgeBelow18Weeks
	}
	switch {
	case h.MaxAge == nil:
		found.fail(needsMaxAge)
	case *h.MaxAge == 0:
		found.fail(maxAgeZero)
	case *h.MaxAge < least:
		found.fail(below)
	case *h.MaxAge > tenYears:
		found.warn(maxAgeOver10Years)
	}
	return found
}

// removable says what keeps a header from being accepted as the wish to be removed from the preload list.
// Warnings about its form do not matter then.
func removable(text string) Issues {
	h, parsed := parseStrict(text)
	found := Issues{Errors: parsed.Errors}
	if h.Preload {
		found.fail(removalHasPreload)
	}
	if h.MaxAge == nil {
		found.fail(removalNeedsMaxAge)
	}
	return found
}

// An Issue is a fault in the vocabulary of hstspreload.org, whose codes are those of the program behind it
// (github.com/chromium/hstspreload).
type Issue string

// The issues. Those of the program's own troubles, which begin with "internal.", are left out but for the
// one that speaks of the domain.
const (
	formatLeadingDot      Issue = "domain.format.begins_with_dot"
	formatDoubleDot       Issue = "domain.format.contains_double_dot"
	formatTrailingDot     Issue = "domain.format.ends_with_dot"
	formatCharacters      Issue = "domain.format.invalid_characters"
	formatIPAddress       Issue = "domain.format.is_ip_address"
	formatPublicSuffix    Issue = "domain.format.public_suffix"
	noRegistrableDomain   Issue = "internal.domain.name.cannot_compute_etld1"
	isSubdomain           Issue = "domain.is_subdomain"
	cannotConnect         Issue = "domain.tls.cannot_connect"
	invalidChain          Issue = "domain.tls.invalid_cert_chain"
	sha1Chain             Issue = "domain.tls.sha1"
	obsoleteCipherSuite   Issue = "tls.obsolete_cipher_suite"
	wwwWithoutTLS         Issue = "domain.www.no_tls"
	parseEmpty            Issue = "header.parse.empty"
	parseEmptyDirective   Issue = "header.parse.empty_directive"
	parseBadInclude       Issue = "header.parse.invalid.include_sub_domains"
	parseNoMaxAgeValue    Issue = "header.parse.invalid.max_age.no_value"
	parseBadPreload       Issue = "header.parse.invalid.preload"
	parseLeadingZero      Issue = "header.parse.max_age.leading_zero"
	parseNonDigits        Issue = "header.parse.max_age.non_digit_characters"
	parseBadNumber        Issue = "header.parse.max_age.parse_int_error"
	parseRepeatedInclude  Issue = "header.parse.repeated.include_sub_domains"
	parseRepeatedMaxAge   Issue = "header.parse.repeated.max_age"
	parseRepeatedPreload  Issue = "header.parse.repeated.preload"
	parseUnknown          Issue = "header.parse.unknown_directive"
	needsInclude          Issue = "header.preloadable.include_sub_domains.missing"
	needsPreload          Issue = "header.preloadable.preload.missing"
	needsMaxAge           Issue = "header.preloadable.max_age.missing"
	maxAgeBelowYear       Issue = "header.preloadable.max_age.below_1_year"
	maxAgeBelow18Weeks    Issue = "header.preloadable.max_age.below_18_weeks"
	maxAgeZero            Issue = "header.preloadable.max_age.zero"
	maxAgeOver10Years     Issue = "header.preloadable.max_age.over_10_years"
	removalHasPreload     Issue = "header.removable.contains.preload"
	removalNeedsMaxAge    Issue = "header.removable.missing.max_age"
	noHeader              Issue = "response.no_header"
	multipleHeaders       Issue = "response.multiple_headers"
	redirectFollowError   Issue = "redirects.follow_error"
	httpUnavailable       Issue = "redirects.http.does_not_exist"
	firstRedirectInsecure Issue = "redirects.http.first_redirect.insecure"
	firstRedirectInvalid  Issue = "redirects.http.first_redirect.invalid"
	firstRedirectNoHSTS   Issue = "redirects.http.first_redirect.no_hsts"
	httpNoRedirect        Issue = "redirects.http.no_redirect"
	httpUselessHeader     Issue = "redirects.http.useless_header"
	httpwwwFirst          Issue = "redirects.http.www_first"
	redirectInsecure      Issue = "redirects.insecure.initial"
	redirectInsecureLater Issue = "redirects.insecure.subsequent"
	tooManyRedirects      Issue = "redirects.too_many"
)

// Issues are what keeps a domain from being preloaded (Errors), and what should be better (Warnings), in
// the order in which hstspreload.org finds them.
type Issues struct {
	Errors, Warnings []Issue
}

// OK reports whether there is no error.
func (i Issues) OK() bool { return len(i.Errors) == 0 }

func (i *Issues) fail(code Issue) { i.Errors = append(i.Errors, code) }
func (i *Issues) warn(code Issue) { i.Warnings = append(i.Warnings, code) }

// failOnce and warnOnce add what is told only once for a header.
func (i *Issues) failOnce(code Issue) {
	if !slices.Contains(i.Errors, code) {
		i.fail(code)
	}
}

func (i *Issues) warnOnce(code Issue) {
	if !slices.Contains(i.Warnings, code) {
		i.warn(code)
	}
}

func (i *Issues) add(other Issues) {
	i.Errors = append(i.Errors, other.Errors...)
	i.Warnings = append(i.Warnings, other.Warnings...)
}
