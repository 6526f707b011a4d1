package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
)

// Numeric dates are read in the context of the whole answer: 05/12/1994 is the fifth of December or the twelfth of
// May, and another date of the same answer, 05/13/2027, decides which. Without proof the order is the one that the
// answer, or else the registry, declares. If the order remains unknown, the date is left out and not guessed.

// A dateOrder is the order of the parts of a date in figures.
type dateOrder string

const (
	dayFirst   dateOrder = "dmy"
	monthFirst dateOrder = "mdy"
	yearFirst  dateOrder = "ymd" // of two digits; with four it needs no proof
)

// The top-level domains whose registries write dates in figures, and in which order.
var (
	dayFirstDomains   = words(`bg|cr|cz|fi|hk|il|im|lu|mk|mw|pt|rs|sm|tn|tz`)
	monthFirstDomains = words(`cf|ga|gq|ml|tk`)
)

// documentedOrder returns the order of the registry of a name, or nothing.
func documentedOrder(name string) dateOrder {
	switch top := name[strings.LastIndexByte(name, '.')+1:]; {
	case dayFirstDomains[top]:
		return dayFirst
	case monthFirstDomains[top]:
		return monthFirst
	}
	return ""
}

// A dateReader reads the dates of one answer.
type dateReader struct {
	proven   map[string][]dateOrder // the orders that all dates of one form allow
	declared dateOrder              // by the answer or the registry; may be empty
}

var (
	// A date in figures within a text. Those of two digits for the year are looked for in fields alone.
	figuresWithin = kit.Regexp(`\b(\d{1,2})([./-]) ?(\d{1,2})([./-]) ?((?:19[89]|20\d)\d)\b`)
	figures       = kit.Regexp(`^(\d{1,2})([./-]) ?(\d{1,2})([./-]) ?(\d{4}|\d{2})(?:[T ](.*))?$`)
	// How a server explains the form of its dates: "Expiration Date (dd/mm/yyyy)".
	dayFirstForm   = kit.Regexp(`(?i)\b(?:dd|jj|tt)[./-]mm[./-](?:yy|aa|jj)`)
	monthFirstForm = kit.Regexp(`(?i)\bmm[./-]dd[./-]yy`)
)

// recordDates returns the reader for an answer of a WHOIS server about a domain.
func recordDates(text, name string, fields []field) *dateReader {
	d := &dateReader{proven: map[string][]dateOrder{}, declared: documentedOrder(name)}
	days, months := false, false
	for line := range someLines(text) {
		if len(line) > maxPhrase { // terms of use, perhaps in the words of another country
			continue
		}
		days = days || dayFirstForm().MatchString(line)
		months = months || monthFirstForm().MatchString(line)
		for _, m := range figuresWithin().FindAllStringSubmatch(line, -1) {
			d.note(m)
		}
	}
	for _, f := range fields {
		// One registry alone has these keys.
		months = months || f.key == "domain registered" || f.key == "record will expire on"
		if createdKeys[f.key] || expiresKeys[f.key] || updatedKeys[f.key] {
			d.noteShort(f.value)
		}
	}
	if days != months {
		d.declared = map[bool]dateOrder{true: dayFirst, false: monthFirst}[days]
	}
	return d
}

// datesOf returns the reader for dates of one answer.
func datesOf(texts ...string) *dateReader {
	d := &dateReader{proven: map[string][]dateOrder{}}
	for _, text := range texts {
		for _, m := range figuresWithin().FindAllStringSubmatch(text, -1) {
			d.note(m)
		}
		d.noteShort(text)
	}
	return d
}

func (d *dateReader) noteShort(text string) {
	text, _ = tidyDate(text)
	if m := figures().FindStringSubmatch(text); m != nil && len(m[5]) == 2 {
		d.note(m)
	}
}

// note excludes the orders in which a date would be invalid.
func (d *dateReader) note(m []string) {
	if m[2] != m[4] {
		return
	}
	form := m[2] + fmt.Sprint(len(m[5]))
	possible := ordersOf(m)
	if len(possible) == 0 {
		return // it is no date at all
	}
	if before, known := d.proven[form]; known {
		possible = slices.DeleteFunc(possible, func(o dateOrder) bool { return !slices.Contains(before, o) })
	}
	d.proven[form] = possible
}

// ordersOf returns the orders in which figures are a date.
func ordersOf(m []string) []dateOrder {
	return slices.DeleteFunc([]dateOrder{dayFirst, monthFirst, yearFirst}, func(o dateOrder) bool {
		_, ok := inOrder(m, o)
		return !ok
	})
}

// inOrder returns a date in figures with its year first and the month before the day, if it is one in that order.
func inOrder(m []string, o dateOrder) (string, bool) {
	day, month, year := m[1], m[3], m[5]
	switch {
	case o == monthFirst:
		day, month = month, day
	case o == yearFirst && len(m[5]) == 2:
		day, year = m[5], m[1]
	case o == yearFirst:
		return "", false
	}
	if len(year) == 1 {
		return "", false
	}
	if len(year) == 2 {
		year = fmt.Sprint(century(atoi(year)) + atoi(year))
	}
	text := fmt.Sprintf("%s-%02d-%02d", year, atoi(month), atoi(day))
	_, err := time.Parse(time.DateOnly, text)
	return text, err == nil
}

// century returns that of a year of two digits. The first domain was registered in 1985.
func century(year int) int {
	if year >= 85 {
		return 1900
	}
	return 2000
}

// ordered returns a text with the year of its date first, the month next, or nothing if the order is not known.
func (d *dateReader) ordered(text string) string {
	m := figures().FindStringSubmatch(text)
	if m == nil || m[2] != m[4] {
		return text
	}
	possible := ordersOf(m)
	dates := kit.Map(possible, func(o dateOrder) string { date, _ := inOrder(m, o); return date })
	slices.Sort(dates)
	if len(slices.Compact(dates)) > 1 { // the date alone is ambiguous
		if proven, known := d.proven[m[2]+fmt.Sprint(len(m[5]))]; known {
			possible = slices.DeleteFunc(possible, func(o dateOrder) bool { return !slices.Contains(proven, o) })
		}
		declared := d.declared
		if m[2] == "." && len(m[5]) == 4 {
			declared = cmp.Or(declared, dayFirst) // no country that writes full stops puts the month first (Unicode CLDR)
		}
		if len(possible) > 1 && slices.Contains(possible, declared) {
			possible = []dateOrder{declared}
		}
		if len(possible) != 1 {
			return ""
		}
	}
	if len(possible) == 0 {
		return ""
	}
	date, _ := inOrder(m, possible[0])
	return strings.TrimSpace(date + " " + m[6])
}

// The forms of dates, after [tidyDate] and with the year first where there are only figures; with those of RFC 3339
// fractions of a second are read as well. A date without a day does not count.
var dateLayouts = sync.OnceValue(func() []string { return lines(strings.TrimSpace(embeddedText("dates.txt"))) })

// zones are the abbreviations of time zones that registries write, in seconds east of Greenwich. Those
// with several meanings are left out.
var zones = map[string]int{
	"UTC": 0, "GMT": 0, "JST": 9 * 3600, "KST": 9 * 3600, "HKT": 8 * 3600, "SGT": 8 * 3600, "ICT": 7 * 3600,
	"CET": 3600, "CEST": 7200, "EET": 7200, "EEST": 3 * 3600, "MSK": 3 * 3600, "NZST": 12 * 3600, "NZDT": 13 * 3600,
	"CLT": -4 * 3600, "CLST": -3 * 3600,
}

var (
	dateNoise   = kit.Regexp(`(?i)^(since|on)\s+|\s*#\d+$|\s*\(YYYY-MM-DD\)$|\s+at(\s)|\b(\d{1,2})(?:st|nd|rd|th)\b`)
	dateZone    = kit.Regexp(`\s*\(?\b([A-Z]{3,4})\)?$`)
	dateOffset  = kit.Regexp(`\s*\(?(?:GMT|UTC)\s*([+-])(\d{1,2})(?::(\d{2}))?\)?$`)
	dateBehind  = kit.Regexp(`^\S.* (\d{8}|\d{14})(?: \(.*\))?$`) // "changed: <email> 20260101", RFC 2622 section 3.1
	dateDoubleT = kit.Regexp(`^(\d{4}-\d{2}-\d{2})-T`)
)

// parse parses a date in any of the forms that registries use. A time without a zone is read as UTC, which is right
// to within a day. "before" and a date, as for domains older than the registry, does not count.
func (d *dateReader) parse(s string) (time.Time, bool) {
	s = clip(strings.Join(strings.Fields(s), " "), 60)
	if m := dateBehind().FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	s, zone := tidyDate(s)
	s = d.ordered(s)
	for _, layout := range dateLayouts() {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.Add(-time.Duration(zone) * time.Second).UTC()
			return t, 1900 <= t.Year() && t.Year() <= 9999 // before and after, it is a placeholder for no date
		}
	}
	return time.Time{}, false
}

// tidyDate takes away what is no part of a date, and a zone that has no place in a layout; that is
// returned in seconds east of Greenwich.
func tidyDate(s string) (string, int) {
	zone := 0
	if m := dateOffset().FindStringSubmatch(s); m != nil {
		zone = offset(m[1], m[2], m[3])
		s = strings.TrimSuffix(s, m[0])
	} else if m := dateZone().FindStringSubmatch(s); m != nil {
		if seconds, ok := zones[m[1]]; ok {
			zone = seconds
			s = strings.TrimSuffix(s, m[0])
		}
	}
	s = dateDoubleT().ReplaceAllString(s, "${1}T")
	s = dateNoise().ReplaceAllString(s, "$2$3")
	s = strings.ReplaceAll(s, ",", "")
	return strings.Trim(s, " ."), zone
}

// offset returns an offset from UTC in seconds; hours and minutes are at most two digits.
func offset(sign, hours, minutes string) int {
	seconds := 3600*atoi(hours) + 60*atoi(minutes)
	if sign == "-" {
		return -seconds
	}
	return seconds
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// A whoisDate is a date and its source text.
type whoisDate struct {
	text string
	time time.Time
}

// set sets a date unless it is set: the domain comes first in every format.
func (d *dateReader) set(date *whoisDate, text string) {
	if when, ok := d.parse(text); ok && date.time.IsZero() {
		*date = whoisDate{text, when}
	}
}

// later sets a date if it is after the one that is set.
func (d *dateReader) later(date *whoisDate, text string) {
	if when, ok := d.parse(text); ok && when.After(date.time) {
		*date = whoisDate{text, when}
	}
}
