package registry

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseDate(t *testing.T) {
	tests := []struct{ text, want string }{
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"},
		{"2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"},
		{"2026-01-02T03:04:05-0700", "2026-01-02T10:04:05Z"},
		{"2026-01-02-T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"2026-01-02 03:04:05 +03:00", "2026-01-02T00:04:05Z"},
		{"2026-01-02 03:04:05+03", "2026-01-02T00:04:05Z"},
		{"2026-01-02 03:04:05.12345", "2026-01-02T03:04:05.12345Z"},
		{"2026-01-02 03:04:05 (UTC+8)", "2026-01-01T19:04:05Z"},
		{"2026-01-02 03:04:05 (GMT+0:00)", "2026-01-02T03:04:05Z"},
		{"2026-01-02 03:04:05 UTC", "2026-01-02T03:04:05Z"},
		{"2026/01/02 03:04:05 (JST)", "2026-01-01T18:04:05Z"},
		{"2026/01/02", "2026-01-02T00:00:00Z"},
		{"2026.01.02 03:04:05", "2026-01-02T03:04:05Z"},
		{"2026. 01. 02.", "2026-01-02T00:00:00Z"},
		{"22.1.2026 03:04:05", "2026-01-22T03:04:05Z"},
		{"22. 01. 2026.", "2026-01-22T00:00:00Z"},
		{"01-22-2026", "2026-01-22T00:00:00Z"},
		{"1/22/2026 3:04:05 PM", "2026-01-22T15:04:05Z"},
		{"02/02/2026", "2026-02-02T00:00:00Z"},
		{"02-01-2026", ""},
		{"2.1.2026 03:04:05", "2026-01-02T03:04:05Z"},
		{"2.1.26", ""},
		{"2/1/2026", ""},
		{"30/02/2026", ""},
		{"22/01/26", ""},
		{"31/12/99", "1999-12-31T00:00:00Z"},
		{"99.12.31", "1999-12-31T00:00:00Z"},
		{"22/01-2026", ""},
		{"02-Jan-2026", "2026-01-02T00:00:00Z"},
		{"02-jan-2026", "2026-01-02T00:00:00Z"},
		{"2026-Jan-02.", "2026-01-02T00:00:00Z"},
		{"20260102", "2026-01-02T00:00:00Z"},
		{"20260102 #12345", "2026-01-02T00:00:00Z"},
		{"31 May 1999", "1999-05-31T00:00:00Z"},
		{"before 1 January 1996", ""},
		{"before Aug-1996", ""},
		{"Aug-1996", ""},
		{"since 1 January 1996", "1996-01-01T00:00:00Z"},
		{"30th April 2003 at 00:00:00.000", "2003-04-30T00:00:00Z"},
		{"Fri Jan  2 03:04:05 2026", "2026-01-02T03:04:05Z"},
		{"January 2, 2026", "2026-01-02T00:00:00Z"},
		{"", ""},
		{"none", ""},
		{"0000-00-00", ""},
		{"0001-01-01T00:00:00Z", ""},
		{"REDACTED FOR PRIVACY", ""},
		{"2026-13-45", ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			when, ok := datesOf(tt.text).parse(tt.text)
			require.Equal(t, tt.want != "", ok, "%v", when)
			if ok {
				require.Equal(t, tt.want, when.Format(time.RFC3339Nano))
			}
		})
	}
}

// The meaning of a numeric date follows from all dates of the answer.
func TestDatesOfOneAnswer(t *testing.T) {
	tests := []struct{ name, domain, created, expires, more, want string }{
		{"month first", "example.com", "05/12/1994.", "05/13/2027.", "Record last updated on..: 04/08/2026.",
			"1994-05-12 2027-05-13 2026-04-08"},
		{"month first, the other date proves it", "example.com", "03/28/2013", "04/05/2027", "", "2013-03-28 2027-04-05 -"},
		{"day first", "example.net", "28/03/2013", "05/04/2027", "", "2013-03-28 2027-04-05 -"},
		{"the date of the change proves it", "example.com", "01/02/2020", "01/02/2027", "Updated: 11/25/2026",
			"2020-01-02 2027-01-02 2026-11-25"},
		{"a notice proves it", "example.com", "01/02/2020", "01/02/2027", ">>> Last update of WHOIS database: 11/25/2026 <<<",
			"2020-01-02 2027-01-02 -"},
		{"with times", "example.com", "01/02/2020 04:05:06", "01/13/2027 11:00:00 PM", "",
			"2020-01-02 2027-01-13 -"},
		{"with hyphens", "example.com", "01-02-2020", "01-13-2027", "", "2020-01-02 2027-01-13 -"},
		{"month first with dots", "example.com", "01.02.2020", "01.13.2027", "", "2020-01-02 2027-01-13 -"},
		{"no proof", "example.com", "05/12/1994", "05/11/2027", "Updated: 01/02/2026", "- - -"},
		{"the same number twice", "example.com", "05/05/1994", "05/11/2027", "", "1994-05-05 - -"},
		{"proofs of both", "example.com", "05/12/1994", "05/13/2027", "Updated: 25/01/2026", "- 2027-05-13 2026-01-25"},
		{"another separator proves nothing", "example.com", "05/12/1994", "05-13-2027", "", "- 2027-05-13 -"},
		{"no proof by what is no date", "example.com", "05/12/1994", "05/11/2027", "Note: 31/31/2020", "- - -"},
		{"no proof by long terms of use", "example.com", "05/12/1994", "05/11/2027",
			"% The terms of 12/25/2020 " + strings.Repeat("of use ", 30), "- - -"},
		{"declared day first", "example.com", "05/12/1994", "05/11/2027", "% Format of dates: DD/MM/YYYY",
			"1994-12-05 2027-11-05 -"},
		{"declared month first", "example.com", "05/12/1994", "05/11/2027", "% Format of dates: mm/dd/yyyy",
			"1994-05-12 2027-05-11 -"},
		{"declared in French", "example.com", "05/12/1994", "05/11/2027", "Note (JJ/MM/AAAA): -", "1994-12-05 2027-11-05 -"},
		{"declared and disproven", "example.com", "05/12/1994", "05/13/2027", "% Format of dates: DD/MM/YYYY",
			"1994-05-12 2027-05-13 -"},
		{"a registry that writes the day first", "example.hk", "05-12-1994", "05-11-2027", "", "1994-12-05 2027-11-05 -"},
		{"a registry that writes the month first", "example.tk", "05/12/1994", "05/11/2027", "", "1994-05-12 2027-05-11 -"},
		{"such a registry, disproven", "example.hk", "05-12-1994", "05-13-2027", "", "1994-05-12 2027-05-13 -"},
		{"two digits, month first", "example.com", "05/12/94", "05/13/27", "", "1994-05-12 2027-05-13 -"},
		{"two digits, day first", "example.com", "28/03/93", "05/04/27", "", "1993-03-28 2027-04-05 -"},
		{"two digits, year first", "example.com", "94/05/12", "27/05/12", "", "1994-05-12 2027-05-12 -"},
		{"two digits, no proof", "example.com", "05/12/04", "05/11/27", "", "- - -"},
		{"year first", "example.com", "2013/03/28", "2027-04-05", "Updated: 05/13/2026", "2013-03-28 2027-04-05 2026-05-13"},
		{"names of months", "example.com", "05-Dec-1994", "13 May 2027", "", "1994-12-05 2027-05-13 -"},
		{"not a day", "example.uk", "before Aug-1996", "05-Dec-2027", "", "- 2027-12-05 -"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := "Domain Name: " + tt.domain + "\nRegistered on: " + tt.created + "\nExpires on: " + tt.expires + "\n" + tt.more + "\n"
			r, got := readRecord(text, tt.domain), []string{}
			for _, d := range []whoisDate{r.created, r.expires, r.updated} {
				got = append(got, map[bool]string{true: "-", false: d.time.Format(time.DateOnly)}[d.time.IsZero()])
			}
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

// Events of RDAP that are not in the form of RFC 3339 are read together as well.
func TestDatesOfEvents(t *testing.T) {
	o, err := parseObject([]byte(`{"objectClassName": "domain", "events": [
		{"eventAction": "registration", "eventDate": "05/12/1994"}, {"eventAction": "expiration", "eventDate": "05/13/2027"}]}`))
	require.NoError(t, err)
	require.Equal(t, "1994-05-12", o.event("registration").Format(time.DateOnly))
}
