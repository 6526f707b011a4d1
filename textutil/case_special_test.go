package textutil_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/textutil"
)

// A specialContext is a text around a character in which a condition of SpecialCasing.txt holds or does not: what is
// before and behind, and these in lower and in upper case.
type specialContext struct {
	before, behind           string
	lowerBefore, lowerBehind string
	upperBefore, upperBehind string
	holds                    bool
}

// specialContexts are those of the Unicode Standard section 3.13, table 3-17.
var specialContexts = map[string][]specialContext{
	"": {{holds: true}},
	"Final_Sigma": {
		{before: "A", lowerBefore: "a", upperBefore: "A", holds: true},
		{behind: "A", lowerBehind: "a", upperBehind: "A"},
	},
	"After_Soft_Dotted": {
		{before: "j", lowerBefore: "j", upperBefore: "J", holds: true},
		{before: "j\u0323", lowerBefore: "j\u0323", upperBefore: "J\u0323", holds: true},
		{before: "j\u0300", lowerBefore: "j\u0307\u0300", upperBefore: "J\u0300"},
		{before: "a", lowerBefore: "a", upperBefore: "A"},
	},
	"More_Above": {
		{behind: "\u0300", lowerBehind: "\u0300", upperBehind: "\u0300", holds: true},
		{behind: "\u0323\u0300", lowerBehind: "\u0323\u0300", upperBehind: "\u0323\u0300", holds: true},
		{behind: "a\u0300", lowerBehind: "a\u0300", upperBehind: "A\u0300"},
	},
	"Not_Before_Dot": {
		{holds: true},
		{behind: "a", lowerBehind: "a", upperBehind: "A", holds: true},
		{behind: "\u0307", lowerBehind: "\u0307", upperBehind: "\u0307"},
	},
	"After_I": {
		{before: "I", lowerBefore: "i", upperBefore: "I", holds: true},
		{before: "a", lowerBefore: "a", upperBefore: "A"},
	},
}

// TestConformanceSpecialCasing reads SpecialCasing.txt: each mapping must be there where its condition holds, in the
// languages that it names, and not where it does not.
func TestConformanceSpecialCasing(t *testing.T) {
	passed, total := 0, 0
	for _, line := range conformanceLines(t, "text/unicode/SpecialCasing.txt") {
		data, _, _ := strings.Cut(line, "#")
		fields := strings.Split(data, ";")
		if len(fields) < 5 {
			continue
		}
		total++
		before := t.Failed()
		character, lower, upper := fromCodes(t, fields[0]), fromCodes(t, fields[1]), fromCodes(t, fields[3])
		locale, condition := textutil.Undetermined, ""
		for word := range strings.FieldsSeq(fields[4]) {
			if slices.Contains(textutil.Undetermined.Values(), word) {
				locale = textutil.Locale(word)
			} else {
				condition = word
			}
		}
		contexts, known := specialContexts[condition]
		if !known {
			t.Errorf("%s: the condition is not known", line)
			continue
		}
		for _, c := range contexts {
			req := textutil.CaseRequest{Text: c.before + character + c.behind, Locale: locale}
			same := isCased(t, req, c.lowerBefore+lower+c.lowerBehind, c.upperBefore+upper+c.upperBehind)
			if same != c.holds {
				t.Errorf("%s: %+q is mapped %v", line, req.Text, same)
			}
		}
		if t.Failed() == before {
			passed++
		}
	}
	if total == 0 {
		t.Error("no cases")
	}
	t.Logf("SpecialCasing: %d/%d", passed, total)
}

// isCased reports whether a text has these two forms.
func isCased(t *testing.T, req textutil.CaseRequest, lower, upper string) bool {
	t.Helper()
	l, err := textutil.Lower(req)
	if err != nil {
		t.Fatal(err)
	}
	u, err := textutil.Upper(req)
	if err != nil {
		t.Fatal(err)
	}
	return l.Result == lower && u.Result == upper
}

// fromCodes returns the characters that a field of a file of Unicode lists.
func fromCodes(t *testing.T, field string) string {
	t.Helper()
	text := ""
	for code := range strings.FieldsSeq(field) {
		c, err := strconv.ParseUint(code, 16, 21)
		if err != nil {
			t.Fatal(err)
		}
		text += string(rune(c))
	}
	return text
}
