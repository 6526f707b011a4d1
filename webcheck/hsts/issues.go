package hsts

import "slices"

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

// add appends the issues of another check.
func (i *Issues) add(other Issues) {
	i.Errors = append(i.Errors, other.Errors...)
	i.Warnings = append(i.Warnings, other.Warnings...)
}
