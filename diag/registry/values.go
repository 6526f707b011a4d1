package registry

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"go4.org/netipx"
)

// The forms of dates, after [tidyDate]; with those of RFC 3339 fractions of a second are read as well. Where a day stands
// before a month in figures it is the only order that the registries with this separator use.
var dateLayouts = sync.OnceValue(func() []string { return lines(strings.TrimSpace(embeddedText("dates.txt"))) })

// zones are the abbreviations of time zones that registries write, in seconds east of Greenwich. Those
// with several meanings are left out.
var zones = map[string]int{
	"UTC": 0, "GMT": 0, "JST": 9 * 3600, "KST": 9 * 3600, "HKT": 8 * 3600, "SGT": 8 * 3600, "ICT": 7 * 3600,
	"CET": 3600, "CEST": 7200, "EET": 7200, "EEST": 3 * 3600, "MSK": 3 * 3600, "NZST": 12 * 3600, "NZDT": 13 * 3600,
	"CLT": -4 * 3600, "CLST": -3 * 3600,
}

var (
	dateNoise   = diag.Regexp(`(?i)^(before|since|on)\s+|\s*#\d+$|\s*\(YYYY-MM-DD\)$|\s+at(\s)|\b(\d{1,2})(?:st|nd|rd|th)\b`)
	dateZone    = diag.Regexp(`\s*\(?\b([A-Z]{3,4})\)?$`)
	dateOffset  = diag.Regexp(`\s*\(?(?:GMT|UTC)\s*([+-])(\d{1,2})(?::(\d{2}))?\)?$`)
	dateBehind  = diag.Regexp(`^\S.* (\d{8}|\d{14})(?: \(.*\))?$`) // "changed: who 20260101", RFC 2622 section 3.1
	dateDoubleT = diag.Regexp(`^(\d{4}-\d{2}-\d{2})-T`)
)

// parseDate reads a date in any of the forms in which registries write them. A time without a zone is
// taken as UTC, which is right to within a day.
func parseDate(s string) (time.Time, bool) {
	s = clip(strings.Join(strings.Fields(s), " "), 60)
	if m := dateBehind().FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	s, zone := tidyDate(s)
	for _, layout := range dateLayouts() {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.Add(-time.Duration(zone) * time.Second).UTC()
			return t, 1900 <= t.Year() && t.Year() <= 9999 // before and after, it stands for no date at all
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

// maxPrefixes bounds the prefixes into which a range is cut. An IPv6 range has up to 254.
const maxPrefixes = 64

// parseAddress reads an address. Registries also write "192.0.2" or leading zeros, which have no one
// meaning and are refused.
func parseAddress(s string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}

// prefixes cuts a range of addresses into the fewest prefixes, the lowest first; at most maxPrefixes.
func prefixes(start, end netip.Addr) []netip.Prefix {
	list := netipx.IPRangeFrom(start, end).Prefixes()
	return list[:min(len(list), maxPrefixes)]
}

// hostName returns a host name in lower case and ASCII, without a final dot, or nothing if it is none.
func hostName(s string) string {
	d, err := diag.ParseDomain(strings.TrimSpace(s))
	if err != nil {
		return ""
	}
	return d.String()
}

// addNameserver adds a name server, or addresses to one that is there.
func addNameserver(list []Nameserver, name string, addresses []netip.Addr) []Nameserver {
	i := slices.IndexFunc(list, func(n Nameserver) bool { return n.Name == name })
	if i < 0 {
		if len(list) >= maxList {
			return list
		}
		list = append(list, Nameserver{Name: name, Addresses: []netip.Addr{}})
		i = len(list) - 1
	}
	for _, a := range addresses {
		if !slices.Contains(list[i].Addresses, a) && len(list[i].Addresses) < maxList {
			list[i].Addresses = append(list[i].Addresses, a)
		}
	}
	return list
}
