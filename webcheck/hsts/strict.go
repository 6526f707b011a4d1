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

// A Strict is a header as hstspreload.org reads it. That differs from RFC 6797, and so from what browsers do:
// white space around "=" and quoted values are refused, a directive that stands twice or has a value too
// many is only warned about.
type Strict struct {
	MaxAge            *uint64 // nil: none
	IncludeSubdomains bool
	Preload           bool
}

// ParseStrict reads a header as hstspreload.org does.
func ParseStrict(text string) (Strict, Issues) {
	var h Strict
	var found Issues
	list := strings.Split(text, ";")
	if len(list) == 1 && strings.TrimSpace(text) == "" {
		found.warn(ParseEmpty)
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

func (h *Strict) take(directive string, found *Issues) {
	begins := func(prefix string) bool { return strings.HasPrefix(strings.ToLower(directive), prefix) }
	switch {
	case strings.EqualFold(directive, namePreload):
		flag(&h.Preload, ParseRepeatedPreload, found)
	case begins(namePreload):
		found.warnOnce(ParseBadPreload)
	case strings.EqualFold(directive, nameInclude):
		flag(&h.IncludeSubdomains, ParseRepeatedInclude, found)
	case begins(nameInclude):
		found.warnOnce(ParseBadInclude)
	case begins(nameMaxAge + "="):
		h.takeMaxAge(directive[len(nameMaxAge)+1:], found)
	case begins(nameMaxAge):
		found.failOnce(ParseNoMaxAgeValue)
	case directive == "":
		found.warnOnce(ParseEmptyDirective)
	default:
		found.warn(ParseUnknown)
	}
}

func flag(is *bool, repeated Issue, found *Issues) {
	if *is {
		found.warnOnce(repeated)
	}
	*is = true
}

func (h *Strict) takeMaxAge(digits string, found *Issues) {
	if len(digits) > 1 && digits[0] == '0' {
		found.warn(ParseLeadingZero)
	}
	if strings.Trim(digits, "0123456789") != "" {
		found.fail(ParseNonDigits)
		return
	}
	seconds, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil:
		found.fail(ParseBadNumber)
	case h.MaxAge != nil:
		found.warnOnce(ParseRepeatedMaxAge)
	default:
		h.MaxAge = &seconds
	}
}

// Preloadable says what keeps a header from being accepted for the preload list.
func Preloadable(text string) Issues { return Eligible(text, Bulk1Year) }

// Eligible is [Preloadable] by the requirements under which an entry of the list was added: those of old are
// less strict.
func Eligible(text string, policy Policy) Issues {
	h, found := ParseStrict(text)
	if !h.IncludeSubdomains {
		found.fail(NeedsInclude)
	}
	if !h.Preload {
		found.fail(NeedsPreload)
	}
	least, below := uint64(oneYear), MaxAgeBelowYear
	if policy == Bulk18Weeks {
		least, below = eighteenWeeks, MaxAgeBelow18Weeks
	}
	switch {
	case h.MaxAge == nil:
		found.fail(NeedsMaxAge)
	case *h.MaxAge == 0:
		found.fail(MaxAgeZero)
	case *h.MaxAge < least:
		found.fail(below)
	case *h.MaxAge > tenYears:
		found.warn(MaxAgeOver10Years)
	}
	return found
}

// Removable says what keeps a header from being accepted as the wish to be removed from the preload list.
// Warnings about its form do not matter then.
func Removable(text string) Issues {
	h, parsed := ParseStrict(text)
	found := Issues{Errors: parsed.Errors}
	if h.Preload {
		found.fail(RemovalHasPreload)
	}
	if h.MaxAge == nil {
		found.fail(RemovalNeedsMaxAge)
	}
	return found
}
