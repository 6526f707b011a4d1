package spf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/stretchr/testify/require"
)

// A corrected text has no errors.
func FuzzMend(f *testing.F) {
	f.Add(tenTerms)
	f.Add("v=spf1 --all ipv4:1 ip4:1.2.3 a/ a//129 %{ a:%{d0} redirect:x \t\x80 include:x~all")
	f.Add(" v=spf10 mx")
	f.Fuzz(func(t *testing.T, text string) {
		if mended, _ := correctRecord(text); mended != "" {
			if _, left := eval.Parse(mended); len(left) > 0 {
				t.Errorf("%q is repaired to %q, which is not valid", text, mended)
			}
		}
	})
}

// Validation of any text does not panic, and its report is consistent.
func FuzzValidate(f *testing.F) {
	f.Add(tenTerms)
	f.Add(`"v=spf1 ip4:192.0.2.0/24" "-all"`)
	f.Add("v=spf1 all mx/24 ip4:0.0.0.0/0 ip6:::ffff:1.2.3.4 redirect=%{d} exp=%{p}.x a a a")
	f.Add(`""`)
	f.Add("v=spf1 mxinclude:a.exampleip4:192.0.2.1 -allv=spf1 mx:%{i}.exampleexp=%{d}")
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || len(text) > eval.MaxRecordLength {
			return
		}
		r, err := Validate(ValidateRequest{Record: text, IP: diag.MustIP("192.0.2.1")})
		if strings.Join(pasted(text), "") == "" {
			require.EqualError(t, err, "record: is empty")
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Headline == "" || r.Valid && r.Score != nil && *r.Score < 40 && r.State == diag.Valid {
			t.Errorf("%+v", r)
		}
		for _, finding := range r.Findings {
			if l := finding.Location; l != nil && l.Offset+l.Length > r.LengthBytes {
				t.Errorf("%s at %d+%d of %d", finding.Code, l.Offset, l.Length, r.LengthBytes)
			}
		}
	})
}

// Any zone is examined without a panic, and within bounds.
func FuzzLookup(f *testing.F) {
	f.Add("v=spf1 include:n1.example redirect=n2.example|v=spf1 mx a ptr exists:%{p}.n3.example|" +
		"v=spf1 a:n1.example -all exp=n0.example")
	f.Add("v spf1 include:/0")
	f.Add("v=spf1 redirect=%{d}|v=spf1 include:n0.example|%{c} %{t}")
	f.Add("v=spf1 include:n0.example include:n0.example|v=spf1 include:x.%{d} include:y.%{d}|x|v=spf1 mx:n1.example//0")
	f.Fuzz(func(t *testing.T, text string) {
		zone := records{}
		for i, record := range strings.Split(text, "|") {
			name := fmt.Sprintf("n%d.example", i%10)
			zone[name] = append(zone[name], [2]any{"TXT", []any{record}})
			next := fmt.Sprintf("n%d.example", (i+1)%10)
			switch len(record) % 7 {
			case 0:
				zone[name] = append(zone[name], [2]any{"A", "192.0.2.1"})
			case 1:
				zone[name] = append(zone[name], [2]any{"MX", []any{10.0, next}})
			case 2:
				zone["1.2.0.192.in-addr.arpa"] = append(zone["1.2.0.192.in-addr.arpa"], [2]any{"PTR", name})
			case 3:
				zone["alias."+name] = [][2]any{{"CNAME", next}}
			case 4:
				zone[name] = append(zone[name], [2]any{"TIMEOUT", nil})
			}
		}
		counter := &counting{records: zone}
		report, err := Lookup(t.Context(), &diag.Env{Resolver: counter}, LookupRequest{
			Domain: diag.MustDomain("n0.example"), IP: diag.MustIP("192.0.2.1"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := counter.asked.Load(); n > 2*MaxQuestions+maxQuestionsOfCheck+3 {
			t.Errorf("%d questions for the tree", n)
		}
		if report.Headline == "" {
			t.Errorf("no headline for %v", report.Findings)
		}
	})
}
