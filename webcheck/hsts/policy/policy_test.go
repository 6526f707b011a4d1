package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	tests := []struct{ header, want string }{ // max-age, flags, unknown directives, kinds of faults
		{"max-age=31536000", "31536000"},
		{"max-age=31536000; includeSubDomains; preload", "31536000 include preload"},
		{"MAX-AGE=31536000 ;\tINCLUDESUBDOMAINS", "31536000 include"},
		{`max-age="31536000"`, "31536000"},
		{`max-age="3\1536000"; includeSubDomains`, "31536000 include"},
		{"max-age = 31536000", "31536000"},
		{";;max-age=1;;", "1"},
		{"max-age=007", "7"},
		{"max-age=99999999999999999999", "18446744073709551615"},
		{"max-age=1; includeSubDomain; foo=bar", "1 ?includeSubDomain ?foo"},
		{"max-age=1; foo=\"a;b\"; includeSubDomains", "1 include ?foo"},
		{"max-age=1; preload=1", "1"},

		{"", "none no max-age"},
		{" ; ", "none no max-age"},
		{"includeSubDomains", "none include no max-age"},
		{"max-age", "none bad max-age"},
		{"max-age=", "none syntax"},
		{`max-age=""`, "none bad max-age"},
		{"max-age=-1", "none bad max-age"},
		{"max-age=1y", "none bad max-age"},
		{"max-age:31536000", "none syntax"},
		{"max-age=1, includeSubDomains", "none syntax"},
		{"max-age=1 includeSubDomains", "none syntax"},
		{"max-age=1; includeSubDomains=true", "1 value"},
		{"max-age=1; max-age=2", "1 repeated"},
		{"max-age=1; foo; Foo", "1 ?foo repeated"},
		{`max-age="1`, "none syntax"},
		{"max-age=1; \x00", "1 syntax"},
		{"\"max-age=1\"", "none syntax no max-age"},
		{"Strict-Transport-Security: max-age=1", "none ?Strict-Transport-Security syntax no max-age"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, sketch(Parse(tt.header)), tt.header)
	}
}

// sketch writes a header in a line.
func sketch(h *Header) string {
	list := []string{"none"}
	if h.MaxAge != nil {
		list[0] = fmt.Sprint(*h.MaxAge)
	}
	if h.IncludeSubdomains {
		list = append(list, "include")
	}
	if h.Preload {
		list = append(list, "preload")
	}
	for _, name := range h.Unknown {
		list = append(list, "?"+name)
	}
	for _, f := range h.Faults {
		list = append(list, string(f.Kind))
	}
	return strings.Join(list, " ")
}

func TestParsePositions(t *testing.T) {
	h := Parse(` max-age="300" ;includeSubDomains=1; a, b ; c`)
	require.Equal(t, []Directive{
		{"max-age", "300", true, true, 1, 13},
		{"includeSubDomains", "1", true, false, 16, 19},
		{"a", "", false, false, 37, 1},
		{"c", "", false, false, 44, 1},
	}, h.Directives)
	require.Equal(t, 16, h.Faults[0].Offset)
	require.Equal(t, Fault{BadSyntax, `directives are separated by a comma, not by a semicolon, in "a, b"`, 37, 4}, h.Faults[1])
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"max-age=1; includeSubDomains", `max-age="1"`, ";=;", "a=\"\\", "max-age=1,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := Parse(text)
		require.LessOrEqual(t, len(h.Directives), maxDirectives)
		for _, d := range h.Directives {
			require.Equal(t, d.Name, text[d.Offset:d.Offset+len(d.Name)])
			require.LessOrEqual(t, d.Offset+d.Length, len(text))
		}
		for _, fault := range h.Faults {
			require.LessOrEqual(t, fault.Offset+fault.Length, len(text))
		}
		if h.Valid() {
			require.NotNil(t, h.MaxAge)
		}
	})
}
