package message

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestComments(t *testing.T) {
	tests := []struct{ value, text, comments string }{
		{"a (b) c", "a   c", "b"},
		{"a (b (c) d) e", "a   e", "b (c) d"},
		{`"a (b)" (c\))`, `"a (b)"  `, "c)"},
		{"a (b", "a  ", "b"},
		{"a) b", "a) b", ""},
		{"(1024-bit key; unprotected)", " ", "1024-bit key; unprotected"},
		{`a\(b`, `a\(b`, ""},
	}
	for _, tt := range tests {
		text, comments := Comments(tt.value)
		require.Equal(t, tt.text, text)
		require.Equal(t, tt.comments, strings.Join(comments, "|"), tt.value)
	}
}

func TestMessageIDs(t *testing.T) {
	require.Equal(t, []string{"a@b", "c@d"}, MessageIDs("<a@b>\t<c@d>"))
	require.Equal(t, []string{"a@b"}, MessageIDs("a@b (comment)"))
	require.Equal(t, []string{"a@b"}, MessageIDs("<a@b> <broken"))
	require.Empty(t, MessageIDs(""))
}

func TestDecodeText(t *testing.T) {
	tests := []struct{ value, want string }{
		{"plain", "plain"},
		{"=?utf-8?Q?M=C3=BCller?=", "Müller"},
		{"=?UTF-8?b?TcO8bGxlcg==?= <a@b>", "Müller <a@b>"},
		{"=?utf-8?B?TcO8bGxlcg?=", "Müller"},
		{"=?utf-8?q?a?=  =?utf-8?q?b?= c", "ab c"},
		{"=?utf-8?q?=C3?= =?utf-8?q?=BC?=", "ü"},                                   // split within a character
		{"=?iso-8859-1?Q?a?= =?iso-8859-15?Q?=A4?=", "a€"},                         // two sets
		{"=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=", "日本"},                               // stateful
		{"=?gb2312?B?1tC5+g==?=", "中国"},                                            //
		{"=?utf-8*de?Q?M=C3=BCller?=", "Müller"},                                   // RFC 2231
		{"=?x-unknown?Q?M=FCller?=", "Müller"},                                     //
		{"=?utf-8?Q?a b?=", "a b"},                                                 // a blank that ought not to be there
		{"=?utf-8?Q?=XY?=", "=XY"},                                                 //
		{"=?utf-8?X?a?= b", "=?utf-8?X?a?= b"},                                     // no such encoding
		{"=?utf-8?B?***?=", "=?utf-8?B?***?="},                                     //
		{"a =?utf-8", "a =?utf-8"},                                                 //
		{"M\xFCller", "Müller"},                                                    // Windows-1252
		{"Müller", "Müller"},                                                       // RFC 6532
		{"=?=?utf-8?Q?a?=", "=?a"},                                                 //
		{"(=?utf-8?Q?a?= x =?utf-8?Q?b?=)", "(a x b)"},                             //
		{"=?utf-8?Q?a?=\t=?utf-8?Q?b?=", "ab"},                                     //
		{"Re: =?utf-8?Q?=E2=80=9Ca=E2=80=9D?= now", "Re: “a” now"},                 //
		{"=?UTF-8?Q?" + strings.Repeat("a", 200) + "?=", strings.Repeat("a", 200)}, // longer than allowed
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, DecodeText(tt.value), tt.value)
	}
}

func TestParseAddresses(t *testing.T) {
	tests := []struct {
		value string
		want  []string // name|address|group|extra
	}{
		{"a@b.example", []string{"|a@b.example||"}},
		{"Alice Example <alice@example.org>", []string{"Alice Example|alice@example.org||"}},
		{`"Example, Alice" <alice@example.org>, bob@example.com`, []string{"Example, Alice|alice@example.org||", "|bob@example.com||"}},
		{"alice@example.org (Alice)", []string{"Alice|alice@example.org||"}},
		{"Team: a@b.example, C <c@d.example>; e@f.example", []string{"|a@b.example|Team|", "C|c@d.example|Team|", "|e@f.example||"}},
		{"undisclosed-recipients:;", nil},
		{"<@r.example,@s.example:a@b.example>", []string{"|a@b.example||"}},
		{"<>", []string{"|||"}},
		{"Doe, Jane <jane@example.org>", []string{"Doe, Jane|jane@example.org||"}},
		{"a@b.example; c@d.example", []string{"|a@b.example||", "|c@d.example||"}},
		{`"bank@bank.example" <x@freemail.example>`, []string{"bank@bank.example|x@freemail.example||"}},
		{"bank@bank.example <x@freemail.example>", []string{"bank@bank.example|x@freemail.example||"}},
		{"<a@b.example> <c@d.example>", []string{"|c@d.example||a@b.example"}},
		{"=?utf-8?Q?M=C3=BCller?= <m@example.org>", []string{"Müller|m@example.org||"}},
		{`=?utf-8?Q?a=2C_b?= <m@example.org>`, []string{"a, b|m@example.org||"}},
		{`"john doe"@example.org`, []string{"|john doe@example.org||"}},
		{`"a@b"@example.org`, []string{"|a@b@example.org||"}},
		{`<"a>b"@example.org>`, []string{"|a>b@example.org||"}},
		{"x@[IPv6:2001:db8::1]", []string{"|x@[IPv6:2001:db8::1]||"}},
		{"x@[192.0.2.1], y@z.example", []string{"|x@[192.0.2.1]||", "|y@z.example||"}},
		{"Jane jane@example.org", []string{"Jane|jane@example.org||"}},
		{"MAILER-DAEMON", []string{"MAILER-DAEMON|||"}},
		{"<a@b.example", []string{"|a@b.example||"}},
		{"Müller <m@müller.example>", []string{"Müller|m@müller.example||"}},
		{", ,a@b.example,", []string{"|a@b.example||"}},
		{"a @ b.example", []string{"|a@b.example||"}},
		{"<mailto:a@b.example>", []string{"|a@b.example||"}},
		{"a@b.example.", []string{"|a@b.example||"}},
		{"Re: (x) <a@b.example>", []string{"x|a@b.example|Re|"}},
		{"", nil},
	}
	for _, tt := range tests {
		var got []string
		for _, a := range ParseAddresses(tt.value) {
			got = append(got, a.Name+"|"+a.Addr()+"|"+a.Group+"|"+a.Extra)
		}
		require.Equal(t, tt.want, got, tt.value)
	}
	require.Len(t, ParseAddresses(strings.Repeat("a@b,", 2*maxAddresses)), maxAddresses)
}

func TestParseDate(t *testing.T) {
	tests := []struct {
		value, want string
		odd         string // first letters of the irregularities: NoZone, ObsoleteZone, WrongWeekday, Unusual
	}{
		{"Sun, 01 Nov 2026 09:00:04 +0000", "2026-11-01T09:00:04Z", ""},
		{"Sun, 1 Nov 2026 01:00:08 -0800 (PST)", "2026-11-01T01:00:08-08:00", ""},
		{"1 Nov 2026 09:00 +0530", "2026-11-01T09:00:00+05:30", ""},
		{"Mon, 1 Nov 2026 09:00:04 +0000", "2026-11-01T09:00:04Z", "W"},
		{"Sun, 1 Nov 2026 09:00:04 GMT", "2026-11-01T09:00:04Z", "O"},
		{"Sun, 1 Nov 2026 09:00:04 EST", "2026-11-01T09:00:04-05:00", "O"},
		{"Sun, 1 Nov 2026 09:00:04 -0000", "2026-11-01T09:00:04Z", "N"},
		{"Sun, 1 Nov 2026 09:00:04 A", "2026-11-01T09:00:04Z", "NO"},
		{"Sun, 1 Nov 2026 09:00:04", "2026-11-01T09:00:04Z", "N"},
		{"Sun, 1 Nov 26 09:00:04 +0000", "2026-11-01T09:00:04Z", "U"},
		{"Fri, 21 Nov 97 09(comment):   55  :  06 -0600", "", ""},
		{"Fri, 21 Nov 97 09:55(comment):06 -0600", "", ""},
		{"Fri, 21 Nov 97 09:55:06 -0600", "1997-11-21T09:55:06-06:00", "U"},
		{"Sun Nov  1 09:00:04 2026", "2026-11-01T09:00:04Z", "NU"},
		{"Nov 1, 2026 3:04 PM +0100", "2026-11-01T15:04:00+01:00", "U"},
		{"November 1, 2026 at 12:04 AM +0100", "2026-11-01T00:04:00+01:00", "U"},
		{"2026-11-01 09:00:04 +0200", "2026-11-01T09:00:04+02:00", "U"},
		{"2026-11-01T09:00:04Z", "2026-11-01T09:00:04Z", "U"},
		{"01-Nov-2026 09:00:04 +0000", "2026-11-01T09:00:04Z", "U"},
		{"Sun, 1 Nov 2026 09:00:04 GMT+0200", "2026-11-01T09:00:04+02:00", ""},
		{"Sun, 1 Nov 2026 09:00:04 +0000 GMT", "2026-11-01T09:00:04Z", ""},
		{"Sun, 1 Nov 2026 23:59:60 +0000", "2026-11-02T00:00:00Z", ""},
		{"Sun, 1 Nov 2026 09:00:04.123 +0000", "2026-11-01T09:00:04Z", ""},
		{"31 Feb 2026 09:00 +0000", "", ""},
		{"yesterday", "", ""},
		{"Sun, 1 Nov 2026", "", ""},
		{"09:00:04 +0000", "", ""},
		{"Sun, 1 Nov 2026 25:00:04 +0000", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		d, err := ParseDate(tt.value)
		if tt.want == "" {
			require.Error(t, err, tt.value)
			continue
		}
		require.NoError(t, err, tt.value)
		odd := ""
		for _, o := range []struct {
			is     bool
			letter string
		}{{d.NoZone, "N"}, {d.ObsoleteZone, "O"}, {d.WrongWeekday, "W"}, {d.Unusual, "U"}} {
			if o.is {
				odd += o.letter
			}
		}
		require.Equal(t, tt.want, d.Time.Format(time.RFC3339), tt.value)
		require.Equal(t, tt.odd, odd, tt.value)
	}
}

func TestRepair(t *testing.T) {
	const whole = "Received: from a\n\tby b; Sun, 1 Nov 2026 09:00:04 +0000\nDKIM-Signature: v=1; a=rsa-sha256\nFrom: a@b\nTo: <c@d>"
	before := func(prefix string) string { return prefix + strings.ReplaceAll(whole, "\n", "\n"+prefix) }
	tests := []struct {
		name, text string
		want       string
		damage     []Damage
	}{
		{"none", whole, whole, nil},
		{"blank lines before it", " \r\n\n" + whole, whole, nil},
		{"summary of Gmail", "Original Message\nMessage ID\t<a@b>\nCreated at:\tSun, Nov 1, 2026 at 9:00 AM\nFrom:\tA <a@b>\nSPF:\tPASS with IP 192.0.2.1\n\n\n" + whole, whole, []Damage{Summary}},
		{"quoted", before("> "), whole, []Damage{Quoted}},
		{"quoted twice", before("> >"), whole, []Damage{Quoted}},
		{"indented", before("    "), whole, []Damage{Indented}},
		{"double-spaced", strings.ReplaceAll(whole, "\n", "\n\n"), whole, []Damage{DoubleSpaced}},
		{"escaped", strings.ReplaceAll(strings.ReplaceAll(whole, "\n", `\r\n`), "\t", `\t`), whole, []Damage{Escaped}},
		{"html", strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(whole), whole, []Damage{HTML}},
		{"unindented", strings.ReplaceAll(whole, "\n\tby", "\nby") + "\n(envelope)", whole + "\n\t(envelope)", []Damage{Unindented}},
		{"quoted-printable", strings.ReplaceAll(strings.ReplaceAll(whole, "=", "=3D"), "; a", ";=\n a"), whole, []Damage{QuotedPrintable}},
		{"encoded word beside it", "Subject: =?utf-8?Q?a=3Db?=\nDKIM-Signature: v=3D1", "Subject: =?utf-8?Q?a=3Db?=\nDKIM-Signature: v=1", []Damage{QuotedPrintable}},
		{"base64 is not decoded", "DKIM-Signature: v=1; b=3DAB", "DKIM-Signature: v=1; b=3DAB", nil},
		{"one loose line stays", "From: a@b\nthis line was cut\nTo: c@d", "From: a@b\nthis line was cut\nTo: c@d", nil},
		{"body", before("  ") + "\n\n  body", whole + "\n\n  body", []Damage{Indented}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, damage := Repair([]byte(tt.text))
			require.Equal(t, tt.want, string(got))
			require.Equal(t, tt.damage, damage)
			again, none := Repair(got)
			require.Equal(t, string(got), string(again))
			require.Empty(t, none)
		})
	}
}

// Value readers return valid text, which is longer than the input only as far as its encoding explains.
func FuzzValues(f *testing.F) {
	f.Add(`"Example, Alice" <alice@example.org>, Team: =?utf-8?Q?M=C3=BCller?= <m@example.org>;`)
	f.Add("Sun, 1 Nov 2026 09:00:04 +0000 (UTC)")
	f.Fuzz(func(t *testing.T, value string) {
		if text := DecodeText(value); !utf8.ValidString(text) || len(text) > 4*len(value) {
			t.Errorf("%q became %q", value, text)
		}
		for _, a := range ParseAddresses(value) {
			if !utf8.ValidString(a.Name) || len(a.Local)+len(a.Domain) > len(value) {
				t.Errorf("%q: %+v", value, a)
			}
		}
		if d, err := ParseDate(value); err == nil && d.Time.IsZero() {
			t.Errorf("%q: no time", value)
		}
		MessageIDs(value)
		Unquote(value)
	})
}
