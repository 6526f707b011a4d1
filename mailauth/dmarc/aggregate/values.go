package aggregate

import (
	"bytes"
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

// maxCount is more messages than any receiver counts in a day; 200,000 such counts have a sum.
const maxCount = 1_000_000_000_000

type vocabulary struct {
	defined []string
	meaning map[string]string
}

var (
	policies     = &vocabulary{defined: []string{"none", "quarantine", "reject"}}
	dispositions = &vocabulary{defined: []string{"none", "pass", "quarantine", "reject"}}
	evaluations  = &vocabulary{defined: []string{"pass", "fail"}}
	overrides    = &vocabulary{defined: []string{"forwarded", "sampled_out", "trusted_forwarder", "mailing_list",
		"local_policy", "policy_test_mode", "other"}}

	alignments = &vocabulary{[]string{"r", "s"}, map[string]string{"relaxed": "r", "strict": "s"}}
	yesNo      = &vocabulary{[]string{"n", "y"},
		map[string]string{"no": "n", "false": "n", "0": "n", "yes": "y", "true": "y", "1": "y"}}
	discoveries = &vocabulary{[]string{"psl", "treewalk"}, map[string]string{"tree_walk": "treewalk",
		"tree-walk": "treewalk"}}
	scopes = &vocabulary{[]string{"mfrom", "helo"},
		map[string]string{"mailfrom": "mfrom", "mail_from": "mfrom", "ehlo": "helo"}}

	// RFC 7489 appendix C: temperror is commonly implemented as unknown, permerror as error.
	spfResults = &vocabulary{[]string{"pass", "fail", "none", "softfail", "neutral", "temperror", "permerror"},
		map[string]string{"hardfail": "fail", "hard_fail": "fail", "soft_fail": "softfail", "unknown": "temperror",
			"error": "permerror", "temp_error": "temperror", "perm_error": "permerror"}}
	dkimResults = &vocabulary{[]string{"pass", "fail", "none", "neutral", "policy", "temperror", "permerror"},
		map[string]string{"temp_error": "temperror", "perm_error": "permerror"}}
)

// keep sets the target of a leaf. Of several elements the first counts.
func (b *builder) keep(l *leaf, value string) {
	if value == "" {
		return
	}
	target := l.target(b)
	if *target != "" {
		b.fault(FaultRepeated, l.path, []byte(value))
		return
	}
	*target = value
}

func (b *builder) readText(l *leaf, text []byte) { b.keep(l, b.intern(text)) }

// readDomain reads the name of a domain; of an address, as some receivers write it, what is behind the at sign.
func (b *builder) readDomain(l *leaf, text []byte) {
	name := lower(bytes.TrimSuffix(text, []byte(".")))
	if len(name) > 1 && name[0] == '<' && name[len(name)-1] == '>' {
		name = name[1 : len(name)-1]
	}
	if i := bytes.LastIndexByte(name, '@'); i >= 0 {
		b.fault(FaultOddValue, l.path, text)
		name = name[i+1:]
	}
	if string(name) == "<>" {
		return // the null sender of notifications (RFC 5321 section 4.5.5)
	}
	b.keep(l, b.ascii(b.intern(name)))
}

// maxIDN bounds the names beyond ASCII that are converted, which takes a thousand times as long as reading one. Real
// reports have a few.
const maxIDN = 1000

// ascii converts a name to its DNS form, if it has one: some receivers write letters beyond ASCII.
func (b *builder) ascii(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 || len(name) > maxDomain {
		return name
	}
	converted, ok := b.idn[name]
	if !ok && len(b.idn) < maxIDN {
		converted = name
		if d, err := diag.ParseDomain(name); err == nil {
			converted = d.String()
		}
		b.idn[name] = converted
	}
	return cmp.Or(converted, name)
}

// readWord reads one of the words of a leaf; others are kept too.
func (b *builder) readWord(l *leaf, text []byte) {
	for _, w := range l.vocabulary.defined {
		if string(text) == w {
			b.keep(l, w)
			return
		}
	}
	if len(text) == 0 {
		return
	}
	value := strings.ToLower(b.intern(text))
	if meaning, ok := l.vocabulary.meaning[value]; ok {
		value = meaning
	} else if other := strings.ReplaceAll(value, "-", "_"); slices.Contains(l.vocabulary.defined, other) {
		value = other
	}
	kind := FaultBadValue
	if slices.Contains(l.vocabulary.defined, value) {
		kind = FaultOddValue
	}
	b.fault(kind, l.path, text)
	b.keep(l, value)
}

func (b *builder) readError(l *leaf, text []byte) {
	errors := &b.report.Metadata.Errors
	switch {
	case len(text) == 0:
	case len(*errors) == maxErrors, b.capacity.errors == 0:
		b.fault(FaultTooMany, l.path, text)
	default:
		b.capacity.errors--
		*errors = append(*errors, b.intern(text))
	}
}

// readCount reads the number of messages: digits, and what else can only mean a whole number.
func (b *builder) readCount(l *leaf, text []byte) {
	if b.counted {
		b.fault(FaultRepeated, l.path, text)
		return
	}
	if len(text) == 0 {
		return
	}
	n, odd, ok := wholeNumber(text)
	b.counted = true
	switch {
	case !ok || n < 0 || n > maxCount:
		b.fault(FaultBadCount, l.path, text)
		b.countInvalid = true
		return
	case odd:
		b.fault(FaultOddValue, l.path, text)
	}
	b.rec.Count = n
}

// wholeNumber reads a number, and tells whether it has a sign or a decimal point that it does not need.
func wholeNumber(text []byte) (n int64, odd, ok bool) {
	s := string(text)
	if whole, fraction, found := strings.Cut(s, "."); found && whole != "" && strings.Trim(fraction, "0") == "" {
		s, odd = whole, true
	}
	if strings.HasPrefix(s, "+") {
		odd = true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, odd, err == nil
}

func (b *builder) readPercentage(l *leaf, text []byte) {
	if len(text) == 0 {
		return
	}
	n, odd, ok := wholeNumber(bytes.TrimSuffix(text, []byte("%")))
	switch {
	case !ok || n < 0 || n > 100:
		b.fault(FaultBadValue, l.path, text)
		return
	case odd || text[len(text)-1] == '%':
		b.fault(FaultOddValue, l.path, text)
	}
	if b.report.Policy.Percentage != nil {
		b.fault(FaultRepeated, l.path, text)
		return
	}
	percentage := int(n)
	b.report.Policy.Percentage = &percentage
}

// readAddress reads the address of the source. It is never guessed: with leading zeros, which some parsers read as
// octal, it is not an address.
func (b *builder) readAddress(l *leaf, text []byte) {
	if len(text) == 0 {
		return
	}
	if b.rec.SourceText != "" {
		b.fault(FaultRepeated, l.path, text)
		return
	}
	b.rec.SourceText = string(text)
	if a, err := netip.ParseAddr(b.rec.SourceText); err == nil && a == a.Unmap().WithZone("") {
		b.rec.SourceIP = a
		return
	}
	s := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(b.rec.SourceText, "["), "]"))
	if len(s) > 5 && strings.EqualFold(s[:5], "ipv6:") {
		s = s[5:]
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		b.fault(FaultBadAddress, l.path, text)
		return
	}
	b.fault(FaultOddValue, l.path, text)
	b.rec.SourceIP = a.Unmap().WithZone("")
}

func (b *builder) readBegin(l *leaf, text []byte) { b.readTime(l, text, &b.report.Metadata.BeginAt) }
func (b *builder) readEnd(l *leaf, text []byte)   { b.readTime(l, text, &b.report.Metadata.EndAt) }

func (b *builder) readTime(l *leaf, text []byte, target *time.Time) {
	if len(text) == 0 {
		return
	}
	t, odd, ok := parseTime(string(text))
	switch {
	case !ok:
		b.fault(FaultBadValue, l.path, text)
		return
	case !target.IsZero():
		b.fault(FaultRepeated, l.path, text)
		return
	case odd:
		b.fault(FaultOddValue, l.path, text)
	}
	*target = t
}

// The forms of dates that receivers write instead of seconds since 1970. Those without a zone are UTC.
var dateForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02", time.RFC1123Z,
	time.RFC1123}

// parseTime reads seconds since 1970, and tells whether they were written in another way.
func parseTime(s string) (t time.Time, odd, ok bool) {
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), true, true
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n >= 1e17 {
		return t, false, false
	}
	odd = strings.ContainsAny(s, ".eE+xXpP_")
	// Seconds of the years to 5138 are below these powers, milliseconds and microseconds of those since 1973 above.
	for n >= 1e11 {
		n, odd = n/1000, true
	}
	return time.Unix(int64(n), 0).UTC(), odd, true
}

func lower(text []byte) []byte {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
	return text
}
