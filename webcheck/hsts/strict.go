package hsts

import (
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
