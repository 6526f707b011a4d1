package message

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDate bounds the text that is read as a date, in bytes; real ones have about forty.
const maxDate = 500

// A Date is a time in the header, with the irregularities of its form.
type Date struct {
	Time time.Time // with the offset that was written

	NoZone       bool // no zone, or -0000 or a military letter: the offset is unknown and assumed to be 0
	ObsoleteZone bool // a zone by name (RFC 5322 section 4.3), such as EST; UT and GMT too
	WrongWeekday bool // the day of the week is not that of the date
	Unusual      bool // not the order and form of RFC 5322 section 3.3
}

// ParseDate reads a date in the form of RFC 5322 sections 3.3 and 4.3 (Sun, 1 Nov 2026 09:00:04 +0000), and further
// forms that occur in practice: without seconds, with full names of months, with the month before the day, with the
// year behind the time, as ISO 8601.
func ParseDate(value string) (Date, error) {
	text, _ := Comments(value[:min(len(value), maxDate)])
	p := dateParser{day: -1, hour: -1, weekday: -1}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
		if !p.word(w) {
			return Date{}, fmt.Errorf("%.40q is no part of a date", w)
		}
	}
	return p.date()
}

type dateParser struct {
	d                 Date
	year, month, day  int
	hour, minute, sec int
	weekday           int // -1 if missing
	offset            int // in seconds
	zoned             bool
	pm, twelve        bool // of the hours from 1 to 12
}

func (p *dateParser) word(w string) bool {
	lower := strings.ToLower(strings.TrimSuffix(w, "."))
	switch {
	case p.iso(w):
	case strings.Contains(w, ":") && p.hour < 0:
		return p.clock(w)
	case w[0] == '+' || w[0] == '-':
		return p.numericZone(w)
	case '0' <= w[0] && w[0] <= '9':
		return p.number(w)
	case lower == "am" || lower == "pm":
		p.pm, p.twelve, p.d.Unusual = lower == "pm", true, true
	case lower == "at":
		p.d.Unusual = true
	default:
		return p.name(lower)
	}
	return true
}

// iso reads 2026-11-01, 2026-11-01T09:00:04Z and 2026-11-01T09:00:04.123+02:00.
func (p *dateParser) iso(w string) bool {
	if len(w) < 10 || w[4] != '-' || w[7] != '-' {
		return false
	}
	d, err := time.Parse(time.DateOnly, w[:10])
	if err != nil {
		return false
	}
	p.year, p.month, p.day, p.d.Unusual = d.Year(), int(d.Month()), d.Day(), true
	if len(w) == 10 {
		return true
	}
	t, err := time.Parse(time.RFC3339, w)
	if err != nil {
		return false
	}
	p.hour, p.minute, p.sec = t.Hour(), t.Minute(), t.Second()
	_, p.offset = t.Zone()
	p.zoned = true
	return true
}

// clock reads 09:00, 09:00:04 and 09:00:04.123.
func (p *dateParser) clock(w string) bool {
	parts := strings.Split(w, ":")
	if len(parts) > 3 {
		return false
	}
	sec := 0
	if len(parts) == 3 {
		whole, _, _ := strings.Cut(parts[2], ".")
		n, err := strconv.Atoi(whole)
		if err != nil {
			return false
		}
		sec = n
	}
	hour, err1 := strconv.Atoi(parts[0])
	minute, err2 := strconv.Atoi(parts[1])
	// RFC 5322 section 3.3: 60 is a leap second.
	if err1 != nil || err2 != nil || hour < 0 || hour > 24 || minute < 0 || minute > 59 || sec < 0 || sec > 60 {
		return false
	}
	p.hour, p.minute, p.sec = hour, minute, sec
	return true
}

// number reads a day or a year, by its size and place.
func (p *dateParser) number(w string) bool {
	if d, err := time.Parse("2-Jan-2006", w); err == nil {
		p.year, p.month, p.day, p.d.Unusual = d.Year(), int(d.Month()), d.Day(), true
		return true
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 || n > 9999 {
		return false
	}
	switch {
	case p.day < 0 && n >= 1 && n <= 31 && len(w) <= 2:
		p.day = n
		p.d.Unusual = p.d.Unusual || p.month > 0
	case p.year == 0:
		p.d.Unusual = p.d.Unusual || p.hour >= 0 || len(w) < 4
		switch { // RFC 5322 section 4.3
		case len(w) <= 2 && n < 50:
			n += 2000
		case len(w) <= 3:
			n += 1900
		}
		p.year = n
	default:
		return false
	}
	return true
}

// numericZone reads +0100, +01:00, -5 and +530.
func (p *dateParser) numericZone(w string) bool {
	digits := strings.ReplaceAll(w[1:], ":", "")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || len(digits) > 4 {
		return false
	}
	if len(digits) <= 2 {
		n *= 100
	}
	if n/100 > 23 || n%100 > 59 || p.zoned && p.offset != 0 {
		return false
	}
	p.offset = (n/100*60 + n%100) * 60
	if w[0] == '-' {
		p.offset = -p.offset
		p.d.NoZone = n == 0 // RFC 5322 section 3.3: -0000 means that the zone is not stated
	}
	p.d.Unusual = p.d.Unusual || len(w) != 5
	p.zoned = true
	return true
}

// zones are those of RFC 5322 section 4.3, and further ones that servers write, in hours.
var zones = map[string]float64{
	"ut": 0, "gmt": 0, "utc": 0, "z": 0, "edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7,
	"pst": -8, "cet": 1, "cest": 2, "met": 1, "mest": 2, "wet": 0, "west": 1, "eet": 2, "eest": 3, "bst": 1, "msk": 3,
	"jst": 9, "kst": 9, "sgt": 8, "hkt": 8, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (p *dateParser) name(lower string) bool {
	if len(lower) >= 3 {
		if i := slices.Index(months, lower[:3]); i >= 0 && p.month == 0 && isLetters(lower) {
			p.month = i + 1
			p.d.Unusual = p.d.Unusual || len(lower) > 3
			return true
		}
		if i := slices.Index(weekdays, lower[:3]); i >= 0 && p.weekday < 0 && isLetters(lower) {
			p.weekday = i
			return true
		}
	}
	if p.hour >= 0 && strings.HasPrefix(lower, "gmt") && len(lower) > 3 {
		return p.numericZone(lower[3:])
	}
	if hours, ok := zones[lower]; ok && !p.zoned {
		p.offset, p.zoned, p.d.ObsoleteZone = int(hours*3600), true, true
		return true
	}
	if len(lower) == 1 && isLetters(lower) && !p.zoned {
		p.zoned, p.d.NoZone, p.d.ObsoleteZone = true, true, true // RFC 5322 section 4.3: as -0000
		return true
	}
	// Behind an offset some write the name of the zone without parentheses.
	return p.zoned && isLetters(lower)
}

func isLetters(s string) bool { return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" }

func (p *dateParser) date() (Date, error) {
	switch {
	case p.day < 0 || p.month == 0 || p.year == 0:
		return Date{}, fmt.Errorf("the day, the month or the year is missing")
	case p.hour < 0:
		return Date{}, fmt.Errorf("the time of day is missing")
	}
	if p.twelve {
		if p.hour > 12 {
			return Date{}, fmt.Errorf("the hour is more than 12")
		}
		p.hour %= 12
		if p.pm {
			p.hour += 12
		}
	}
	zone := time.FixedZone("", p.offset)
	if p.offset == 0 {
		zone = time.UTC
	}
	p.d.NoZone = p.d.NoZone || !p.zoned
	p.d.Time = time.Date(p.year, time.Month(p.month), p.day, p.hour, p.minute, p.sec, 0, zone)
	day := time.Date(p.year, time.Month(p.month), p.day, 0, 0, 0, 0, time.UTC)
	if day.Day() != p.day {
		return Date{}, fmt.Errorf("the month has no day %d", p.day)
	}
	p.d.WrongWeekday = p.weekday >= 0 && int(day.Weekday()) != p.weekday
	return p.d, nil
}
