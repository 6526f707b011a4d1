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
// white space around "=" and quoted values are refused, a directive that is repeated or has a value too
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
		found.warn("header.parse.empty")
		return h, found
	}
	for _, directive := range list {
		if len(found.Errors)+len(found.Warnings) >= maxIssues {
			break
		}
		h.readDirective(strings.TrimSpace(directive), &found)
	}
	return h, found
}

func (h *strict) readDirective(directive string, found *Issues) {
	begins := func(prefix string) bool { return strings.HasPrefix(strings.ToLower(directive), prefix) }
	switch {
	case strings.EqualFold(directive, namePreload):
		flag(&h.Preload, "header.parse.repeated.preload", found)
	case begins(namePreload):
		found.warnOnce("header.parse.invalid.preload")
	case strings.EqualFold(directive, nameInclude):
		flag(&h.IncludeSubdomains, "header.parse.repeated.include_sub_domains", found)
	case begins(nameInclude):
		found.warnOnce("header.parse.invalid.include_sub_domains")
	case begins(nameMaxAge + "="):
		h.readMaxAge(directive[len(nameMaxAge)+1:], found)
	case begins(nameMaxAge):
		found.failOnce("header.parse.invalid.max_age.no_value")
	case directive == "":
		found.warnOnce("header.parse.empty_directive")
	default:
		found.warn("header.parse.unknown_directive")
	}
}

func flag(is *bool, repeated Issue, found *Issues) {
	if *is {
		found.warnOnce(repeated)
	}
	*is = true
}

func (h *strict) readMaxAge(digits string, found *Issues) {
	if len(digits) > 1 && digits[0] == '0' {
		found.warn("header.parse.max_age.leading_zero")
	}
	if strings.Trim(digits, "0123456789") != "" {
		found.fail("header.parse.max_age.non_digit_characters")
		return
	}
	seconds, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil:
		found.fail("header.parse.max_age.parse_int_error")
	case h.MaxAge != nil:
		found.warnOnce("header.parse.repeated.max_age")
	default:
		h.MaxAge = &seconds
	}
}

// Preloadable returns the issues that hstspreload.org finds in a header.
func Preloadable(text string) Issues { return eligible(text, Bulk1Year) }

// eligible is [Preloadable] by the requirements under which an entry of the list was added: those of old are
// less strict.
func eligible(text string, policy Policy) Issues {
	h, found := parseStrict(text)
	if !h.IncludeSubdomains {
		found.fail("header.preloadable.include_sub_domains.missing")
	}
	if !h.Preload {
		found.fail("header.preloadable.preload.missing")
	}
	least, below := uint64(oneYear), Issue("header.preloadable.max_age.below_1_year")
	if policy == Bulk18Weeks {
		least, below = eighteenWeeks, "header.preloadable.max_age.below_18_weeks"
	}
	switch {
	case h.MaxAge == nil:
		found.fail("header.preloadable.max_age.missing")
	case *h.MaxAge == 0:
		found.fail("header.preloadable.max_age.zero")
	case *h.MaxAge < least:
		found.fail(below)
	case *h.MaxAge > tenYears:
		found.warn("header.preloadable.max_age.over_10_years")
	}
	return found
}

// removable says what keeps a header from being accepted as the wish to be removed from the preload list.
// Warnings about its form do not matter then.
func removable(text string) Issues {
	h, parsed := parseStrict(text)
	found := Issues{Errors: parsed.Errors}
	if h.Preload {
		found.fail("header.removable.contains.preload")
	}
	if h.MaxAge == nil {
		found.fail("header.removable.missing.max_age")
	}
	return found
}

// An Issue is an issue code of hstspreload.org, as defined by github.com/chromium/hstspreload.
type Issue string

// Issues are the Errors that keep a domain from being preloaded, and Warnings, in the order of
// hstspreload.org.
type Issues struct {
	Errors, Warnings []Issue
}

// OK reports whether there are no Errors.
func (i Issues) OK() bool { return len(i.Errors) == 0 }

func (i *Issues) fail(code Issue) { i.Errors = append(i.Errors, code) }
func (i *Issues) warn(code Issue) { i.Warnings = append(i.Warnings, code) }

// failOnce and warnOnce add what is reported only once for a header.
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
