package hsts

import "slices"

// An Issue is a fault in the vocabulary of hstspreload.org, whose codes are those of the program behind it
// (github.com/chromium/hstspreload).
type Issue string

// The issues. Those of the program's own troubles, which begin with "internal.", are left out but for the
// one that speaks of the domain.
const (
	FormatLeadingDot      Issue = "domain.format.begins_with_dot"
	FormatDoubleDot       Issue = "domain.format.contains_double_dot"
	FormatTrailingDot     Issue = "domain.format.ends_with_dot"
	FormatCharacters      Issue = "domain.format.invalid_characters"
	FormatIPAddress       Issue = "domain.format.is_ip_address"
	FormatPublicSuffix    Issue = "domain.format.public_suffix"
	NoRegistrableDomain   Issue = "internal.domain.name.cannot_compute_etld1"
	IsSubdomain           Issue = "domain.is_subdomain"
	CannotConnect         Issue = "domain.tls.cannot_connect"
	InvalidChain          Issue = "domain.tls.invalid_cert_chain"
	SHA1Chain             Issue = "domain.tls.sha1"
	ObsoleteCipherSuite   Issue = "tls.obsolete_cipher_suite"
	WWWWithoutTLS         Issue = "domain.www.no_tls"
	ParseEmpty            Issue = "header.parse.empty"
	ParseEmptyDirective   Issue = "header.parse.empty_directive"
	ParseBadInclude       Issue = "header.parse.invalid.include_sub_domains"
	ParseNoMaxAgeValue    Issue = "header.parse.invalid.max_age.no_value"
	ParseBadPreload       Issue = "header.parse.invalid.preload"
	ParseLeadingZero      Issue = "header.parse.max_age.leading_zero"
	ParseNonDigits        Issue = "header.parse.max_age.non_digit_characters"
	ParseBadNumber        Issue = "header.parse.max_age.parse_int_error"
	ParseRepeatedInclude  Issue = "header.parse.repeated.include_sub_domains"
	ParseRepeatedMaxAge   Issue = "header.parse.repeated.max_age"
	ParseRepeatedPreload  Issue = "header.parse.repeated.preload"
	ParseUnknown          Issue = "header.parse.unknown_directive"
	NeedsInclude          Issue = "header.preloadable.include_sub_domains.missing"
	NeedsPreload          Issue = "header.preloadable.preload.missing"
	NeedsMaxAge           Issue = "header.preloadable.max_age.missing"
	MaxAgeBelowYear       Issue = "header.preloadable.max_age.below_1_year"
	MaxAgeBelow18Weeks    Issue = "header.preloadable.max_age.below_18_weeks"
	MaxAgeZero            Issue = "header.preloadable.max_age.zero"
	MaxAgeOver10Years     Issue = "header.preloadable.max_age.over_10_years"
	RemovalHasPreload     Issue = "header.removable.contains.preload"
	RemovalNeedsMaxAge    Issue = "header.removable.missing.max_age"
	NoHeader              Issue = "response.no_header"
	MultipleHeaders       Issue = "response.multiple_headers"
	RedirectFollowError   Issue = "redirects.follow_error"
	HTTPUnavailable       Issue = "redirects.http.does_not_exist"
	FirstRedirectInsecure Issue = "redirects.http.first_redirect.insecure"
	FirstRedirectInvalid  Issue = "redirects.http.first_redirect.invalid"
	FirstRedirectNoHSTS   Issue = "redirects.http.first_redirect.no_hsts"
	HTTPNoRedirect        Issue = "redirects.http.no_redirect"
	HTTPUselessHeader     Issue = "redirects.http.useless_header"
	HTTPWWWFirst          Issue = "redirects.http.www_first"
	RedirectInsecure      Issue = "redirects.insecure.initial"
	RedirectInsecureLater Issue = "redirects.insecure.subsequent"
	TooManyRedirects      Issue = "redirects.too_many"
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
