package authres

import (
	"strings"
	"testing"

	oracle "github.com/emersion/go-msgauth/authres"
	"github.com/stretchr/testify/require"
)

func TestString(t *testing.T) {
	results := func(list ...Result) *Header { return &Header{AuthservID: "mx.example.com", Results: list} }
	value := func(v string) *Header {
		return results(Result{Method: "spf", Value: "pass", Properties: []Property{{"smtp", "mailfrom", v}}})
	}
	of := func(v string) string { return "mx.example.com;\r\n\tspf=pass smtp.mailfrom=" + v }
	tests := []struct {
		name   string
		header *Header
		want   string
	}{
		{"no results", results(), "mx.example.com; none"},
		{"RFC 8601 B.2", &Header{AuthservID: "example.org", Version: "1"}, "example.org 1; none"},
		{"the results of a server", results(
			Result{Method: "spf", Value: "pass", Properties: []Property{{"smtp", "mailfrom", "alice@example.org"}}},
			Result{Method: "dkim", Value: "pass", Comments: []string{"2048-bit key; unprotected"},
				Properties: []Property{{"header", "d", "example.org"}, {"header", "s", "s1"}}},
			Result{Method: "dmarc", Value: "pass", Comments: []string{"p=reject"},
				Properties: []Property{{"header", "from", "example.org"}}},
		), "mx.example.com;\r\n\tspf=pass smtp.mailfrom=alice@example.org;\r\n" +
			"\tdkim=pass (2048-bit key; unprotected) header.d=example.org\r\n\theader.s=s1;\r\n" +
			"\tdmarc=pass (p=reject) header.from=example.org"},
		{"a version and a reason", results(Result{Method: "dkim", Version: "1", Value: "fail", Reason: `a "bad" \ one`}),
			"mx.example.com;\r\n\t" + `dkim/1=fail reason="a \"bad\" \\ one"`},
		{"a set of ARC", &Header{Instance: 2, AuthservID: "mx.example.com", Results: []Result{{Method: "arc", Value: "none"}}},
			"i=2; mx.example.com;\r\n\tarc=none"},
		{"a property before results", &Header{AuthservID: "a", Properties: []Property{{"header", "from", "x@b.example"}},
			Results: []Result{{Method: "spf", Value: "none"}}}, "a;\r\n\theader.from=x@b.example;\r\n\tspf=none"},
		{"long", results(Result{Method: "dkim", Value: "fail", Comments: []string{strings.Repeat("word ", 14) + "last"},
			Properties: []Property{{"header", "d", "example.org"}}}),
			"mx.example.com;\r\n\tdkim=fail (" + strings.Repeat("word ", 10) + "word\r\n\tword word word last) header.d=example.org"},
		{"brackets in a comment", results(Result{Method: "spf", Value: "pass", Comments: []string{`:) ((\`}}),
			"mx.example.com;\r\n\t" + `spf=pass (:\) \(\(\\)`},

		{"an address", value("SRS0=Hq2x=TT=b.example=x@c.example"), of("SRS0=Hq2x=TT=b.example=x@c.example")},
		{"a domain as the identity of DKIM", value("@example.org"), of("@example.org")},
		{"an address of numbers", value("2001:db8::1"), of(`"2001:db8::1"`)},
		{"base64", value("Zk3/+Q=="), of(`"Zk3/+Q=="`)},
		{"a quoted local part", value(`"a b"@c.example`), of(`"\"a b\"@c.example"`)},
		{"two dots", value("a..b@c.example"), of(`"a..b@c.example"`)},
		{"nothing", value(""), of(`""`)},
		{"Unicode", value("jörg@bücher.example"), of(`"jörg@bücher.example"`)},
		{"a field of a stranger", value("a\r\nX: y"), of(`"a??X: y"`)},
		{"a result of a stranger", value("a; dmarc=pass"), of(`"a; dmarc=pass"`)},
		{"bytes that are not UTF-8", value("a\xff\x00b"), of("\"a\uFFFD?b\"")},
		{"a long value", value(strings.Repeat("é", maxText)), "mx.example.com;\r\n\tspf=pass\r\n\tsmtp.mailfrom=\"" +
			strings.Repeat("é", maxText/2) + `"`},
		{"a method that is not one", results(Result{Method: "a=b;c", Value: "pass\r\n"}),
			"mx.example.com;\r\n\ta-b-c=\"pass??\""},
		{"a comment of a stranger", results(Result{Method: "spf", Value: "pass", Comments: []string{"a\r\nb"}}),
			"mx.example.com;\r\n\tspf=pass (a??b)"},
		{"a server of a stranger", &Header{AuthservID: "a;b"}, `"a;b"; none`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.header.String())
			requireRead(t, tt.header.String())
		})
	}
}

func TestAdd(t *testing.T) {
	var h Header
	h.Add("iprev", "pass")
	h.Add("dkim", "fail", "header.d", "a.example", "x", "y")
	require.Equal(t, []Result{{Method: "iprev", Value: "pass"},
		{Method: "dkim", Value: "fail", Properties: []Property{{"header", "d", "a.example"}, {"", "x", "y"}}}}, h.Results)
	require.Panics(t, func() { h.Add("spf", "pass", "smtp.helo") })
}

// requireRead requires that a written field is read, as the same, and also by another reader; and that it is folded.
func requireRead(t *testing.T, value string) {
	parse := Parse
	if strings.HasPrefix(value, "i=") {
		parse = ParseARC
	}
	h, err := parse(value)
	require.NoError(t, err)
	require.Empty(t, h.Faults, value)
	require.Equal(t, value, h.String())
	for i, line := range strings.Split("Authentication-Results: "+value, "\r\n") {
		require.Less(t, len(line), 998, value)
		require.NotContains(t, line, "\n", value)
		require.Equal(t, i > 0, strings.HasPrefix(line, "\t"), value)
		if columns := strings.ReplaceAll(line, "\t", "        "); len(columns) > maxColumn {
			require.NotContains(t, strings.SplitN(line, `"`, 2)[0], " ", value) // there is no place to break it
		}
	}
}

// What is written is what another reader reads.
func TestStringElsewhere(t *testing.T) {
	h := &Header{AuthservID: "mx.example.com", Results: []Result{
		{Method: "spf", Value: "fail", Properties: []Property{{"smtp", "mailfrom", "a@b.example"}}},
		{Method: "dkim", Value: "pass", Comments: []string{"a b"}, Properties: []Property{{"header", "d", "b.example"}}},
	}}
	id, results, err := oracle.Parse(h.String())
	require.NoError(t, err)
	require.Equal(t, "mx.example.com", id)
	require.Equal(t, []oracle.Result{
		&oracle.SPFResult{Value: "fail", From: "a@b.example"},
		&oracle.DKIMResult{Value: "pass", Domain: "b.example"},
	}, results)
}

// What is written is read as it was, and written again the same.
func FuzzString(f *testing.F) {
	f.Add("mx.example.com", "dkim", "pass", "good (2048-bit)", "key; unprotected", "d", "example.org")
	f.Add("", "", "", "", "", "", "")
	f.Add("a=b", "x.y/1", "\"", "\\", "(\r\n", "\t", "a\x00\xff@b")
	f.Fuzz(func(t *testing.T, id, method, result, reason, comment, name, value string) {
		h := &Header{AuthservID: id, Results: []Result{
			{Method: method, Value: result, Reason: reason, Comments: []string{comment},
				Properties: []Property{{"header", name, value}}},
			{Method: "spf", Value: "none"},
		}}
		text := h.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if bare := strings.ReplaceAll(text, "\r\n\t", " "); strings.ContainsFunc(bare, func(r rune) bool {
			return r < ' ' && r != '\t' || r == 0x7f
		}) {
			t.Fatalf("%q has control characters", text)
		}
		last := again.Results[len(again.Results)-1]
		if len(again.Results) > 2 || last.Method != "spf" || last.Value != "none" || len(last.Properties) > 0 {
			t.Fatalf("%q is read as %q", text, write(again))
		}
		if method == "" || method == "none" || name == "" || strings.Contains(method, ".") || strings.Contains(id, "=") {
			return // not a method, or not a name
		}
		r := again.Results[0]
		if len(again.Results) != 2 || again.AuthservID != written(id) || r.Method != strings.ToLower(keyword(method)) ||
			r.Value != strings.ToLower(written(result)) || r.Reason != written(reason) || len(r.Properties) != 1 ||
			r.Properties[0] != (Property{"header", strings.ToLower(keyword(name)), written(value)}) ||
			len(r.Comments) != 1 || r.Comments[0] != strings.Join(strings.Fields(clean(comment)), " ") {
			t.Fatalf("%q is read as %q", text, write(again))
		}
	})
}

func written(s string) string {
	if isPlain(s) {
		return s
	}
	return clean(s)
}
