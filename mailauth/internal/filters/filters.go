// Package filters reads the verdicts of spam filters in the header of a message: call [Read] with the message.
//
// Filters add fields of their own to messages that they pass or mark (RFC 5322 section 3.6.8). Each vendor has its
// own names, words and scales; a [Verdict] expresses them alike: the filter, the classification of the message, its
// score, and the meaning of the codes. Anyone can write such fields; the package does not decide which to trust.
package filters

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/message"
)

// MaxVerdicts bounds the verdicts that are read.
const MaxVerdicts = 100

var fields = sync.OnceValue(func() map[string]field {
	all := map[string]field{}
	for _, list := range [][]field{microsoftFields(), applianceFields(), providerFields()} {
		for _, f := range list {
			all[strings.ToLower(f.name)] = f
		}
	}
	return all
})

// Read reads the verdicts in a header, at most [MaxVerdicts].
func Read(m *message.Message) (list []Verdict) {
	for i := range m.Fields {
		name := m.Fields[i].Name
		known, ok := fields()[strings.ToLower(name)]
		if !ok && strings.HasSuffix(strings.ToLower(name), "mailscanner-spamcheck") { // the organization precedes it
			known, ok = field{name, "mailscanner", readMailScanner}, true
		}
		if ok && len(list) < MaxVerdicts {
			v := newVerdict(known.vendor, name)
			known.read(&v, m.Fields[i].Value())
			list = append(list, v)
		}
	}
	return list
}

type reader func(v *Verdict, value string)

type field struct {
	name   string // of the field
	vendor string
	read   reader
}

// note reads a field whose value is a detail, not a verdict.
func note(key string) reader { return func(v *Verdict, value string) { v.set(key, value) } }

// sealed reads a field whose value only the operator of the filter can read.
func sealed(key, why string) reader {
	return func(v *Verdict, _ string) { v.set(key, why+" for the operator") }
}

// A meaning is a judgment and the texts, separated by |, that express it: x is the whole text, x* its beginning, and
// *x* is somewhere in it.
type meaning struct {
	is    Judgment
	texts string
}

func find(text string, meanings []meaning) (Judgment, bool) {
	for _, m := range meanings {
		for t := range strings.SplitSeq(m.texts, "|") {
			begin, open := strings.CutSuffix(t, "*")
			inner, anywhere := strings.CutPrefix(begin, "*")
			switch {
			case text == t, open && !anywhere && strings.HasPrefix(text, begin), anywhere && strings.Contains(text, inner):
				return m.is, true
			}
		}
	}
	return "", false
}

// byWords reads a field whose value, or first word, is a verdict; the value is kept as a detail.
func byWords(key string, part func(string) string, meanings ...meaning) reader {
	return func(v *Verdict, value string) {
		v.set(key, value)
		if is, ok := find(strings.ToLower(part(value)), meanings); ok {
			v.Verdict = is
		}
	}
}

func whole(s string) string { return strings.TrimSpace(s) }

func firstWord(s string) string {
	if words := strings.Fields(s[:min(len(s), maxValue)]); len(words) > 0 {
		return words[0]
	}
	return ""
}

func flag(v *Verdict, value string) {
	v.flag(value, Spam)
	v.set("value", value)
}

func (v *Verdict) flag(value string, bad Judgment) {
	if is, known := yes(value); known {
		v.judge(is, bad)
	}
}

// yes reads Yes, True, 1 and the like; known is false for a value that is neither affirmative nor negative.
func yes(value string) (is, known bool) {
	word, known := find(strings.ToLower(strings.TrimRight(firstWord(value), ",;.")), []meaning{
		{Spam, "yes|true|1|spam|y|positive"}, {NotSpam, "no|false|0|ham|n|notspam|negative|clean|ok|legit"},
	})
	return word == Spam, known
}

func score(v *Verdict, value string) {
	if !v.setScore(firstWord(value)) {
		v.set("value", value)
	}
}

// byScore reads a score that means spam at or above a limit.
func byScore(limit float64, scale string) reader {
	return func(v *Verdict, value string) {
		if v.setScore(value) {
			v.judge(*v.Score >= limit, Spam)
			v.set("scale", scale)
		}
	}
}

// pairs splits key=value or key:value pairs at a separator; keys come in lower case.
func pairs(s, separators string, equals byte) [][2]string {
	var list [][2]string
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if key, value, ok := strings.Cut(part, string(equals)); ok && len(list) < maxDetails {
			list = append(list, [2]string{strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)})
		}
	}
	return list
}

// A Judgment is a filter's classification of a message.
type Judgment string

// The judgments.
const (
	Spam       Judgment = "spam"
	NotSpam    Judgment = "not_spam"
	Suspicious Judgment = "suspicious" // below the limit of the filter, but near it, or marked as probable spam
	Bulk       Judgment = "bulk"       // sent to many, as newsletters are
	Phishing   Judgment = "phishing"
	Spoofing   Judgment = "spoofing" // pretends to be from another sender
	Malware    Judgment = "malware"
	Allowed    Judgment = "allowed"    // not filtered: an allow list, or internal mail
	Unstated   Judgment = "not_stated" // the field has no verdict that outsiders can read
)

// Values lists the judgments.
func (Judgment) Values() []string {
	return kit.Values(Spam, NotSpam, Suspicious, Bulk, Phishing, Spoofing, Malware, Allowed, Unstated)
}

var judgmentWords = map[Judgment]string{
	Spam: "spam", NotSpam: "not spam", Suspicious: "suspicious", Bulk: "bulk mail",
	Phishing: "phishing", Spoofing: "spoofing",
	Malware: "malware", Allowed: "allowed without filtering", Unstated: "nothing that outsiders can read",
}

// A Verdict is the result of a spam filter.
type Verdict struct {
	Vendor  string            `json:"vendor" doc:"who filtered, such as microsoft"`
	Field   string            `json:"field" doc:"name of the field, as sent"`
	Verdict Judgment          `json:"verdict" doc:"what the filter took the message for"`
	Score   *float64          `json:"score,omitempty" doc:"score of the filter, on its own scale"`
	Details map[string]string `json:"details" doc:"what else the field says, explained"`
}

// The bounds on what is reported of a field.
const (
	maxName    = 200 // bytes of the name
	maxValue   = 2000
	maxDetails = 40
	maxDetail  = 600 // bytes of one detail
	maxScore   = 1e9 // no filter has higher ones
)

func newVerdict(vendor, name string) Verdict {
	return Verdict{Vendor: vendor, Field: phrase.Clip(name, maxName), Verdict: Unstated, Details: map[string]string{}}
}

// String returns the verdict as a sentence.
func (v *Verdict) String() string {
	text := fmt.Sprintf("%s of %s says: %s", v.Field, v.Vendor, judgmentWords[v.Verdict])
	if v.Score != nil {
		text += fmt.Sprintf(", score %g", *v.Score)
	}
	var details []string
	for _, key := range slices.Sorted(maps.Keys(v.Details)) {
		if len(details) < 5 {
			details = append(details, phrase.Quote(key+" "+v.Details[key]))
		}
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return text + "."
}

func (v *Verdict) set(key, value string) {
	if value = strings.TrimSpace(value); value != "" && len(v.Details) < maxDetails {
		v.Details[key] = phrase.Clip(value, maxDetail)
	}
}

func (v *Verdict) setScore(s string) bool {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || n > maxScore || n < -maxScore || n != n {
		return false
	}
	v.Score = &n
	return true
}

func (v *Verdict) judge(is bool, bad Judgment) {
	if v.Verdict = NotSpam; is {
		v.Verdict = bad
	}
}
