package mtasts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func TestParseRecord(t *testing.T) {
	tests := []struct {
		name, text string
		want       Record
		fault      string // empty if the record is valid
		at         string // the part of the text that the fault points to
	}{
		{"example of the RFC", "v=STSv1; id=20160831085700Z;", Record{ID: "20160831085700Z"}, "", ""},
		{"without the last semicolon", "v=STSv1;id=1", Record{ID: "1"}, "", ""},
		{"white space around semicolons", "v=STSv1; \t id=1 \t ; ", Record{ID: "1"}, "", ""},
		{"extensions", "v=STSv1; a.b-c_d=x:y; id=1; z=!",
			Record{ID: "1", Extensions: []Extension{{"a.b-c_d", "x:y"}, {"z", "!"}}}, "", ""},
		{"id of 32", "v=STSv1; id=" + strings.Repeat("9", 32), Record{ID: strings.Repeat("9", 32)}, "", ""},
		{"second id is ignored, however bad", "v=STSv1; id=1; id=a-b;", Record{ID: "1"}, "", ""},
		{"id of 33", "v=STSv1; id=" + strings.Repeat("9", 33), Record{},
			"is not 1 to 32 letters and digits", strings.Repeat("9", 33)},
		{"white space at the end", "v=STSv1; id=1 ", Record{ID: "1"}, "", ""},
		{"empty", "", Record{}, "does not begin with v=STSv1", ""},
		{"other version", "v=STSv2; id=1;", Record{}, "does not begin with v=STSv1", "v=STSv2"},
		{"lower case", "v=stsv1; id=1;", Record{}, "does not begin with v=STSv1", "v=stsv1"},
		{"leading space", " v=STSv1; id=1;", Record{}, "does not begin with v=STSv1", " v=STSv1"},
		{"nothing but the version", "v=STSv1;", Record{}, "has no id", "v=STSv1;"},
		{"id in capitals", "v=STSv1; ID=1;", Record{}, "has no id", "v=STSv1; ID=1;"},
		{"empty id", "v=STSv1; id=;", Record{}, `the id "" is not`, ""},
		{"hyphen in the id", "v=STSv1; id=a-b;", Record{}, `the id "a-b" is not`, "a-b"},
		{"space in the id", "v=STSv1; id=a b;", Record{}, `the id "a b" is not`, "a b"},
		{"space before equals sign", "v=STSv1; id =1;", Record{}, "white space at the equals sign of id", " ="},
		{"no equals sign", "v=STSv1; id=1; hello", Record{}, `"hello" has no equals sign`, "hello"},
		{"two semicolons", "v=STSv1; id=1;;", Record{}, "nothing before a semicolon", ";"},
		{"bad name", "v=STSv1; id=1; 1%=a", Record{}, `"1%" cannot be the name`, "1%"},
		{"empty value", "v=STSv1; id=1; more=", Record{}, "more has no value", "more="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseRecord(tt.text)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.fault == "", err == nil)
			if err == nil {
				return
			}
			require.ErrorContains(t, err, tt.fault)
			var syntax *SyntaxError
			require.True(t, errors.As(err, &syntax))
			list := format.Parse(tt.text)
			readRecord(&list)
			for _, f := range list.Faults {
				if strings.Contains(f.Text, tt.fault) {
					require.Equal(t, tt.at, tt.text[f.Offset:f.Offset+f.Length])
				}
			}
		})
	}
}

func TestParsePolicy(t *testing.T) {
	swap := func(s, old, replacement string) string { return strings.Replace(s, old, replacement, 1) }
	const year = 31557600 * time.Second
	enforced := Policy{Mode: Enforce, MX: []string{"a.example"}, MaxAge: 60 * time.Second}
	none := Policy{Mode: None, MaxAge: 60 * time.Second}
	body := "version: STSv1\nmode: enforce\nmx: a.example\nmax_age: 60\n"
	off := "version: STSv1\nmode: none\nmax_age: 60\n"
	tests := []struct {
		name, text string
		want       Policy
		fault      string // empty if the policy is valid
		line       int
	}{
		{"LF", body, enforced, "", 0},
		{"CRLF", strings.ReplaceAll(body, "\n", "\r\n"), enforced, "", 0},
		{"without the last line end", strings.TrimSuffix(body, "\n"), enforced, "", 0},
		{"any order", "max_age: 60\nmx: a.example\nmode: enforce\nversion: STSv1", enforced, "", 0},
		{"no white space", "version:STSv1\nmode:enforce\nmx:a.example\nmax_age:60", enforced, "", 0},
		{"much white space", "version: \t STSv1 \t\nmode:\tenforce\t\nmx:   a.example \nmax_age: 60 \n",
			enforced, "", 0},
		{"none needs no mx", off, none, "", 0},
		{"names in capitals", swap(body, "a.example", "A.Example"), enforced, "", 0},
		{"several mx", body + "mx: *.b.example\n",
			Policy{Enforce, []string{"a.example", "*.b.example"}, time.Minute, nil}, "", 0},
		{"longest max_age", swap(off, "60", "31557600"), Policy{Mode: None, MaxAge: year}, "", 0},
		{"leading zeros", swap(off, "60", "0000000060"), none, "", 0},
		{"extension", off + "x.y-z_1: J\u00fcrgen \u00fc\n",
			Policy{None, nil, time.Minute, []Extension{{"x.y-z_1", "J\u00fcrgen \u00fc"}}}, "", 0},
		{"second mode is ignored, however bad", off + "mode: bad\n", none, "", 0},

		{"empty", "", Policy{}, "this is an empty text", 0},
		{"page", "\n<html>", Policy{}, "this is a page", 0},
		{"byte order mark", "\ufeff" + off, Policy{}, "byte order mark", 1},
		{"no version", "mode: none\nmax_age: 60\n", Policy{}, "no line begins with version:", 0},
		{"no mode", "version: STSv1\nmx: a.example\nmax_age: 60\n", Policy{}, "no line begins with mode:", 0},
		{"no max_age", "version: STSv1\nmode: none\n", Policy{}, "no line begins with max_age:", 0},
		{"no mx", swap(off, "none", "testing"), Policy{}, "no line begins with mx:", 0},
		{"version in small letters", swap(off, "STS", "sts"), Policy{}, `the version is "stsv1"`, 1},
		{"mode in capitals", swap(off, "none", "None"), Policy{}, `the mode is "None"`, 2},
		{"field in capitals", swap(off, "mode", "Mode"), Policy{}, "no field Mode, but one named mode", 2},
		{"letter too much", swap(off, "mode", "mmode"), Policy{}, "no field mmode, but one named mode", 2},
		{"letter before mx", swap(body, "mx", "nmx"), Policy{}, "no field nmx, but one named mx", 3},
		{"all in capitals", "VERSION: STSv1\nMODE: none\nMAX-AGE: 60\n", Policy{}, "no field MAX-AGE, but one named max_age", 3},
		{"one line", "version: STSv1; mode: none; max_age: 60", Policy{}, "3 fields are on the line", 1},
		{"one line with escapes", `version: STSv1\nmode: none\nmax_age: 60\n`, Policy{}, "3 fields are on the line", 1},
		{"two fields on a line", "version: STSv1 mode: none\nmax_age: 60\n", Policy{}, "2 fields are on the line", 1},
		{"max_age too long", swap(off, "60", "31557601"), Policy{}, "more than 31557600", 3},
		{"max_age of 11 digits", swap(off, "60", "00000000060"), Policy{}, "not a number of seconds", 3},
		{"negative max_age", swap(off, "60", "-1"), Policy{}, "not a number of seconds", 3},
		{"signed max_age", swap(off, "60", "+1"), Policy{}, "not a number of seconds", 3},
		{"empty max_age", swap(off, "60", ""), Policy{}, "not a number of seconds", 3},
		{"blank line", "version: STSv1\n \nmode: none\nmax_age: 60\n", Policy{}, "the line is blank", 2},
		{"no colon", off + "hello\n", Policy{}, `"hello" has no colon`, 4},
		{"indented", swap(off, "mode", " mode"), Policy{}, "white space around the name", 2},
		{"space before the colon", swap(off, "mode:", "mode :"), Policy{}, "white space around the name", 2},
		{"name with a space", off + "a b: c\n", Policy{}, `"a b" cannot be the name`, 4},
		{"name of 33", off + strings.Repeat("n", 33) + ": x\n", Policy{}, "cannot be the name", 4},
		{"empty extension", off + "x:\n", Policy{}, "cannot be the value of x", 4},
		{"control character", off + "x: a\tb\n", Policy{}, "cannot be the value of x", 4},
		{"lone CR", strings.ReplaceAll(off, "\n", "\r"), Policy{},
			"3 fields are on the line", 1},
		{"no UTF-8", off + "x: \xff\n", Policy{}, "not UTF-8", 4},
		{"empty mx", body + "mx:\n", Policy{}, "it is empty", 5},
		{"mx with a dot", body + "mx: a.example.\n", Policy{}, "it ends with a dot", 5},
		{"mx with two wildcards", body + "mx: *.*.example\n", Policy{}, "a wildcard may only be", 5},
		{"mx with part of a wildcard", body + "mx: mx*.example\n", Policy{}, "a wildcard may only be", 5},
		{"wildcard alone", body + "mx: *\n", Policy{}, "a wildcard may only be", 5},
		{"leading dot", body + "mx: .example\n", Policy{}, "a label has not", 5},
		{"long label", body + "mx: " + strings.Repeat("a", 64) + ".example\n", Policy{}, "a label has not", 5},
		{"long name", body + "mx: " + strings.Repeat("a.", 127) + "\n", Policy{}, "ends with a dot", 5},
		{"longer name", body + "mx: " + strings.Repeat("a.", 127) + "a\n", Policy{}, "longer than 253", 5},
		{"hyphen at the end", body + "mx: a-.example\n", Policy{}, "hyphen", 5},
		{"underscore", body + "mx: a_b.example\n", Policy{}, "it is not a host name", 5},
		{"U-label", body + "mx: b\u00fccher.example\n", Policy{}, "A-labels", 5},
		{"address", body + "mx: [192.0.2.1]\n", Policy{}, "it is an IP address", 5},
		{"list", body + "mx: a.example, b.example\n", Policy{}, "it is not a host name", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePolicy(tt.text)
			require.Equal(t, tt.want, got)
			if tt.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.fault)
			for _, f := range scanPolicy(tt.text).faults {
				if strings.Contains(f.text, tt.fault) {
					require.Equal(t, tt.line, f.line)
				}
			}
		})
	}
}

// The list of faults is bounded, and no fault hides another.
func TestPolicyBoundsFaults(t *testing.T) {
	d := scanPolicy(strings.Repeat("x: y\n", 10_000) + "mode: bad\n" + strings.Repeat("\n", 10_000))
	require.Less(t, len(d.faults), maxFaults+20)
	require.NotNil(t, d.of(badMode))
	require.NotNil(t, d.of(blankLine))
	require.NotNil(t, d.of(noVersion))
	require.False(t, d.valid())
}

func TestPolicyMatch(t *testing.T) {
	p := Policy{MX: []string{"mx.example.com", "*.example.net"}}
	tests := []struct {
		host, pattern string
	}{
		{"mx.example.com", "mx.example.com"},
		{"MX.Example.COM.", "mx.example.com"},
		{"a.mx.example.com", ""},
		{"a.example.net", "*.example.net"},
		{"a.b.example.net", ""}, // RFC 8461 section 4.1
		{"example.net", ""},
		{".example.net", ""},
		{"", ""},
	}
	for _, tt := range tests {
		pattern, ok := p.match(tt.host)
		require.Equal(t, tt.pattern, pattern, tt.host)
		require.Equal(t, tt.pattern != "", ok, tt.host)
	}
}

// TestConformanceMTASTS reads texts that another implementation accepts or refuses. They are not marked as records or
// policies: records begin with v=.
func TestConformanceMTASTS(t *testing.T) {
	type vector struct {
		Valid bool
		Text  string
	}
	cases, passed := diagtest.Cases[vector](t, diagtest.Suite(t, "mail/records-mox/mtasts.json")), 0
	for _, c := range cases {
		_, err := ParsePolicy(c.Text)
		if strings.HasPrefix(c.Text, "v=") {
			_, err = ParseRecord(c.Text)
		}
		if c.Valid != (err == nil) {
			t.Errorf("%q: %v", c.Text, err)
			continue
		}
		passed++
	}
	t.Logf("mtasts: %d/%d", passed, len(cases))
}
