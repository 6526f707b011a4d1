package spf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the faults of a text, a suggested record has no findings, lists exactly the intended senders, and ends in
// -all only if the text specifies nothing else.
func TestSuggestionsOfTexts(t *testing.T) {
	suggested := 0
	rapid.Check(t, func(t *rapid.T) {
		text, senders, hard := drawText(t)
		r, err := Validate(ValidateRequest{Record: text, Domain: testDomain.Name()})
		require.NoError(t, err)
		for _, advice := range r.Recommendations {
			if advice.SuggestedValue == "" {
				continue
			}
			suggested++
			again, err := Validate(ValidateRequest{Record: advice.SuggestedValue, Domain: testDomain.Name()})
			require.NoError(t, err)
			for _, f := range again.Findings {
				require.LessOrEqual(t, f.Severity, diag.Info, "%s for %s: %+v", advice.SuggestedValue, text, f)
			}
			var listed []string
			for _, term := range again.Terms {
				if term.Mechanism != "" && term.Mechanism != eval.All {
					listed = append(listed, strings.ToLower(term.Raw))
				}
			}
			slices.Sort(listed)
			require.Equal(t, slices.Compact(slices.Sorted(slices.Values(senders))), listed, "%s for %s", advice.SuggestedValue, text)
			require.True(t, hard || again.AllQualifier != eval.QualifierFail, "%s for %s", advice.SuggestedValue, text)
			require.NotEqual(t, eval.QualifierPass, again.AllQualifier)
		}
	})
	t.Logf("suggested: %d", suggested)
	require.Greater(t, suggested, 20)
}

// drawText generates a record with typos. It returns the mechanisms that were meant, and whether no all in it is
// weaker than -all.
func drawText(t *rapid.T) (text string, senders []string, hard bool) {
	var words []string
	pick := func(label string, list ...string) string { return rapid.SampledFrom(list).Draw(t, label) }
	one := func() {
		name := fmt.Sprintf("n%d.example", rapid.IntRange(0, 3).Draw(t, "name"))
		address := fmt.Sprintf("198.51.100.%d", rapid.IntRange(0, 9).Draw(t, "address"))
		var meant, written string
		switch kind := pick("kind", "ip4", "ip4", "ip6", "include", "include", "a", "mx"); kind {
		case "ip4":
			meant = "ip4:" + address
			written = pick("ip4", meant, meant, "ipv4:"+address, "ip4: "+address, "ip4="+address, address, "ip4:"+address+"/32",
				"ip4:"+address+",", "+"+meant)
			if strings.HasSuffix(written, "/32") {
				meant = written
			}
		case "ip6":
			meant = "ip6:2001:db8::" + address[11:]
			written = pick("ip6", meant, "ipv6"+meant[3:], "ip4"+meant[3:])
		default:
			meant = kind + ":" + name
			written = pick("name", meant, meant, kind+": "+name, kind+"="+name, kind+":https://"+name, kind+":"+name+",",
				strings.ToUpper(kind)+":"+name, kind+":x@"+name)
		}
		senders, words = append(senders, meant), append(words, written)
	}
	alls := map[string]bool{}
	all := func() {
		s := pick("sign", "-", "-", "-", "~", "?", "+")
		alls[s] = true
		words = append(words, pick("all", s+"all", s+"all", s+"all", s+s+"all", s+" all", s+"al", s+"ALL."))
	}
	for range rapid.IntRange(1, 3).Draw(t, "senders") {
		one()
	}
	if rapid.IntRange(0, 9).Draw(t, "end") > 0 {
		all()
	}
	if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		words = append(words, pick("version", "v=spf1", "", "and"))
		one()
		all()
	}
	text = pick("begin", "v=spf1", "v=spf1", "v=spf1", "V=SPF1", "spf1", "v=spf1;")
	for _, w := range words {
		text += pick("space", " ", " ", " ", " ", "  ", map[bool]string{true: "", false: " "}[glues(text, w)]) + w
	}
	if rapid.IntRange(0, 4).Draw(t, "quotes") == 0 {
		text = `"` + text + `"`
	}
	return text, senders, len(alls) == 1 && alls["-"]
}

// glues reports whether a word can still be separated from a text that it follows without a space.
func glues(text, word string) bool {
	last := text[strings.LastIndexByte(text, ' ')+1:]
	return isTerm(last) && (strings.HasPrefix(word, "include:") || strings.HasPrefix(word, "ip4:") || word == "v=spf1")
}
