package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// summary says in a line what was read.
func summary(r *record) string {
	var servers []string
	for _, n := range r.nameservers {
		servers = append(servers, strings.TrimSpace(n.Name+" "+strings.Trim(fmt.Sprint(n.Addresses), "[]")))
	}
	date := func(d whoisDate) string {
		if d.time.IsZero() {
			return "-"
		}
		return d.time.Format(time.DateOnly)
	}
	return strings.Join([]string{r.registrar.Name, date(r.created), date(r.expires), date(r.updated),
		strings.Join(servers, ","), strings.Join(r.statuses, ",")}, "|")
}

// The same registration in the formats that there are: keys with values in columns, in brackets, behind
// dots; headings with lines below them; paragraphs about one object each; sentences.
func TestFormats(t *testing.T) {
	const want = "Example Registrar|2020-01-02|2027-01-02|2026-01-01|" +
		"ns1.example.net,ns2.example.com 192.0.2.1 2001:db8::1|ok"
	tests := []struct{ name, text string }{
		{"keys", `
Domain Name: EXAMPLE.COM
Updated Date: 2026-01-01T00:00:00Z
Creation Date: 2020-01-02T00:00:00Z
Registry Expiry Date: 2027-01-02T00:00:00Z
Registrar: Example Registrar
Reseller:
Domain Status: ok https://icann.org/epp#ok
Name Server: NS1.EXAMPLE.NET
Name Server: NS2.EXAMPLE.COM 192.0.2.1, 2001:db8::1
>>> Last update of WHOIS database: 2026-01-01T03:00:00Z <<<`},
		{"dots", `
domain.............: example.com
status.............: ok
created............: 2.1.2020 10:00:00
expires............: 2.1.2027 10:00:00
modified...........: 1.1.2026

Nameservers

nserver............: ns1.example.net [OK]
nserver............: ns2.example.com [192.0.2.1] [2001:db8::1] [OK]

Holder

name...............: Example
created............: 1.1.1999

Registrar

registrar..........: Example Registrar`},
		{"brackets", `
[ Notice: for internal use only. ]
Domain Information:
a. [Domain Name]                EXAMPLE.COM
[Name Server]                   ns1.example.net
p. [Name Server]                ns2.example.com (192.0.2.1 2001:db8::1)
[Signing Key]
[Registered Date]               2020/01/02
[Expires on]                    2027/01/02
[State]                         ok (2027/01/31)
[Last Updated]                  2026/01/01 12:00:00 (JST)
[Registrar]                     Example Registrar

Contact Information:
[Name]                          Example`},
		{"headings", "\r\n    Domain name:\r\n        example.com\r\n\r\n    Registrar:\r\n        Example Registrar\r\n" +
			"        URL: http://registrar.example\r\n\r\n    Relevant dates:\r\n        Registered on: 02-Jan-2020\r\n" +
			"        Expiry date:  02-Jan-2027\r\n        Last updated:  01-Jan-2026\r\n\r\n    Registration status:\r\n" +
			"        ok\r\n\r\n    Name servers:\r\n        ns1.example.net\r\n" +
			"        ns2.example.com  192.0.2.1  2001:db8::1\r\n\r\n    WHOIS lookup made at 09:42:27 03-Jan-2026\r\n"},
		{"tabs", "Domain name\texample.com\n\nRegistrar\tExample Registrar\nStreet 1\n\nName servers\nns1.example.net\n" +
			"ns2.example.com\t192.0.2.1\nns2.example.com\t2001:db8::1\n\nFirst registration date\t2 January 2020\n\n" +
			"Expires:\t2027-01-02\nUpdated:\t2026-01-01\nStatus:\tok\n"},
		{"paragraphs", `
% Comment: created: 1990-01-01

domain:      example.com
status:      ok
registrar:   Example Registrar
Expiry Date: 2027-01-02T08:07:09Z
created:     2020-01-02T23:00:00Z
last-update: 2026-01-01T08:38:28Z

ns-list:     NSL1
nserver:     ns1.example.net
nserver:     ns2.example.com [192.0.2.1 2001:db8::1]

registrar:   Example Registrar
registered:  1999-10-21T12:00:00Z

nic-hdl:     EX1
contact:     Example
status:      linked
changed:     2018-12-26T12:48:55Z nic@example.com`},
		{"headings with keys", `
Domain:
name:       example.com
status:     ok (paid and in zone)
registered: 2020-01-02 04:34:46 +03:00
changed:    2026-01-01 20:40:09 +03:00
expire:     2027-01-02

Registrant:
name:       Example
changed:    2025-10-20 20:40:09 +03:00

Registrar:
name:       Example Registrar
changed:    2019-07-01 13:55:58 +03:00

Name servers:
nserver:   ns1.example.net
nserver:   ns2.example.com 192.0.2.1 2001:db8::1`},
		{"sentences", `
Domain Name: example.com
Record created on 2020-01-02 22:59:12.55172
Record expires on 2027-01-02 00:00:00 (UTC+8)
Record last updated on 2026-01-01
Registration Service Provider: Example Registrar
Status: ok - Normal state.

Domain name servers:
-----------------------------------------------------
ns1.example.net
ns2.example.com 192.0.2.1 2001:db8::1
`},
		{"numbered", `
domain_name: example.com
query_status: ok
domain_dateregistered: 2020-01-02T00:00:00+00:00
domain_datebilleduntil: 2027-01-02T00:00:00+00:00
domain_datelastmodified: 2026-01-01T00:00:00+00:00
registrar_name: Example Registrar
ns_name_01: ns1.example.net
ns_name_02: ns2.example.com 192.0.2.1 2001:db8::1`},
		{"continued", `
DOMAIN NAME:           example.com
nameservers:           ns1.example.net.
                       ns2.example.com. [192.0.2.1][2001:db8::1]
created:               2020.01.02 01:08:04
last modified:         2026.01.01 20:12:54
renewal date:          2027.01.02 01:08:04
status:                ok

REGISTRAR:
Example Registrar
Street 1
tel.+1.5555550100
http://registrar.example`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := readRecord(tt.text, "example.com")
			got := summary(r)
			// A record that is made in one zone and expires in another is off by some hours.
			got = strings.Replace(got, "2027-01-01", "2027-01-02", 1)
			require.Equal(t, want, got)
			require.Equal(t, found, r.judge(tt.text))
			require.True(t, r.mine)
		})
	}
}

func TestJudgeText(t *testing.T) {
	tests := []struct {
		text string
		want outcome
	}{
		{"No match for domain \"EXAMPLE.COM\".", absent},
		{"NOT FOUND\n>>> Last update <<<", absent},
		{"% No entries found for the selected source(s).", absent},
		{"%ERROR:101: no entries found", absent},
		{"example.com is free", absent},
		{"The domain has not been registered.", absent},
		{">>> Domain example.com is available for registration", absent},
		{"Domain: example.com\nStatus: AVAILABLE", absent},
		{"Domain: example.com\nStatus: NOT AVAILABLE", found},
		{"Domain Name: example.com\nDomain Status: No Object Found", absent},
		{"query_status: 220 Available", absent},
		{"% This query returned 0 objects.", absent},
		{"Reserved by the registry.", reserved},
		{"This name is reserved.", reserved},
		{"example.com cannot be registered.", reserved},
		{"WHOIS LIMIT EXCEEDED - SEE WWW.EXAMPLE.COM/WHOIS FOR DETAILS", limited},
		{"% Error: 55000000002 Connection refused; access control limit exceeded.", limited},
		{"You have exceeded your quota. Please try again later.", limited},
		{"BLACKLISTED: You have exceeded the query limit for your network or IP address.", limited},
		{"%ERROR:201: access denied for 192.0.2.1", limited},
		{"Too many requests.\nNo match for example.com", limited},
		{"Too many requests.\nThis name is reserved.", limited},
		{"No match for example.com\nYour IP is not authorized to query this server.", limited},
		{"", unanswered},
		{"\r\n\r\n", unanswered},
		{"Timeout.", unreadable},
		{"You agree that exceeding query rate or volume limits is prohibited, and that access may be denied to\n" +
			"those who do. NOT FOUND is not said here.", unreadable},
		{"domain: com\ncreated: 1985-01-01\nnserver: a.gtld-servers.net", unreadable},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, tt.want, readRecord(tt.text, "example.com").judge(tt.text))
		})
	}
}

func TestReferralHost(t *testing.T) {
	tests := []struct{ value, want string }{
		{"whois.example.com", "whois.example.com"},
		{"WHOIS.EXAMPLE.COM", "whois.example.com"},
		{"whois://whois.example.com:43", "whois.example.com"},
		{"whois://whois.example.com/", "whois.example.com"},
		{"whois.example.com:43", "whois.example.com"},
		{"rwhois://rwhois.example.com:4321", ""},
		{"https://example.com/whois", ""},
		{"whois.example.com:4343", ""},
		{"localhost", ""},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) { require.Equal(t, tt.want, referralHost(tt.value)) })
	}
}

func TestDecode(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"UTF-8", "caf\u00e9", "café"},
		{"ISO-8859-1", "caf\xe9", "café"},
		{"Windows", "\x93caf\xe9\x94", "“café”"},
		{"ISO-2022-JP", "\x1b$B4A;z\x1b(B", "漢字"},
		{"nothing known", "\x1b$B\xff", "�"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, decode([]byte(tt.data))) })
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		text, code string
		impact     Impact
	}{
		{"client transfer prohibited", "clientTransferProhibited", Protective},
		{"clientTransferProhibited", "clientTransferProhibited", Protective},
		{"CLIENT_TRANSFER_PROHIBITED", "clientTransferProhibited", Protective},
		{"Transfer Prohibited by Registrar", "clientTransferProhibited", Protective},
		{"Delete Prohibited by Registry", "serverDeleteProhibited", Protective},
		{"server hold", "serverHold", Problem},
		{"redemption period", "redemptionPeriod", Problem},
		{"OK", "ok", Neutral},
		{"ACTIVE", "active", Neutral},
		{"NOT DELEGATED", "not delegated", Problem},
		{"Sleeping", "Sleeping", Neutral},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			s := explain(tt.text)
			require.Equal(t, tt.code, s.Code)
			require.Equal(t, tt.impact, s.Impact)
			require.True(t, strings.HasSuffix(s.Meaning, "."))
		})
	}
	require.Len(t, (&facts{statuses: []string{"client hold", "clientHold", ""}}).explained(), 1)
	for _, s := range statuses() {
		require.True(t, slices.Contains(s.Impact.Values(), string(s.Impact)), s.Code)
	}
}
