package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
)

// Errors are within the text and in order, and a printed record parses to the same record.
func FuzzParse(f *testing.F) {
	f.Add(tenTerms)
	f.Add("v=spf1 -IP4:192.0.2.0/24 ?a:%{d}/24//64 mx//96 ~include:A.example. exp=%{ir}.x.example x=%_ +all")
	f.Add("v=spf1 --all ipv4:1 ip4:1.2.3 a/ a//129 %{ a:%{d0} redirect:x \t\x80 include:x~all")
	f.Add(" v=spf10 mx")
	f.Fuzz(func(t *testing.T, text string) {
		r, faults := Parse(text)
		last := 0
		for _, e := range faults {
			if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(text) || e.Begin > e.End || e.End > len(text) {
				t.Errorf("error at %d+%d in %d to %d of %d bytes", e.Offset, e.Length, e.Begin, e.End, len(text))
			}
			if e.Kind != BadLength && e.Begin < last {
				t.Errorf("error at %d behind that at %d", e.Begin, last)
			}
			last = max(last, e.Begin)
		}
		invalid := 0
		for i := range r.Terms {
			if one := &r.Terms[i]; text[one.Offset:one.Offset+len(one.Raw)] != one.Raw {
				t.Errorf("term %q is not at %d", one.Raw, one.Offset)
			} else if !one.Valid {
				invalid++
			}
		}
		if (invalid > 0) && len(faults) == 0 {
			t.Errorf("%d terms are invalid without an error", invalid)
		}
		printed := r.String()
		again, faultsAgain := Parse(printed)
		if len(printed) <= MaxRecordLength && again.String() != printed {
			t.Errorf("%q is printed as %q, which is printed as %q", text, printed, again.String())
		}
		if len(faults) == 0 && (len(faultsAgain) > 0 || len(again.Terms) != len(r.Terms)) {
			t.Errorf("%q is valid and printed as %q, which is not: %v", text, printed, faultsAgain)
		}
	})
}

// Any zone is evaluated without a panic, within bounds, and the same way every time.
func FuzzCheck(f *testing.F) {
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
		req := Request{IP: ip("192.0.2.1"), Sender: "a@n0.example", HELO: "n1.example"}
		counter := &counting{records: zone}
		r, err := Check(t.Context(), &diag.Env{Resolver: counter}, req)
		if err != nil {
			t.Fatal(err)
		}
		if n := counter.asked.Load(); n > maxQuestionsOfCheck {
			t.Errorf("%d questions", n)
		}
		again, err := Check(t.Context(), &diag.Env{Resolver: zone}, req)
		if err != nil || *again != *r {
			t.Errorf("%+v the first time, %+v the second", r, again)
		}
	})
}
