package header

import (
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/mailauth/message"
)

// A Judgment is what a spam filter took a message for.
type Judgment string

// The judgments.
const (
	Spam       Judgment = "spam"
	notSpam    Judgment = "not_spam"
	suspicious Judgment = "suspicious" // below the limit of the filter, but near it, or marked as probable spam
	bulk       Judgment = "bulk"       // sent to many, as newsletters are
	phishing   Judgment = "phishing"
	spoofing   Judgment = "spoofing" // pretends to be from somebody else
	malware    Judgment = "malware"
	allowed    Judgment = "allowed"    // not filtered: an allow list, or mail from inside
	unstated   Judgment = "not_stated" // the field tells no verdict that outsiders can read
)

// Values lists the judgments.
func (Judgment) Values() []string {
	return []string{string(Spam), string(notSpam), string(suspicious), string(bulk), string(phishing), string(spoofing),
		string(malware), string(allowed), string(unstated)}
}

// The bounds of what is reported of filters.
const (
	maxVerdicts = 100
	maxDetails  = 40
)

// A spamField is a field of a spam filter and how to read it. The value comes unfolded.
type spamField struct {
	name   string // of the field
	vendor string
	read   func(v *SpamVerdict, value string)
}

// spamFields is every field that is understood, by name in lower case.
var spamFields = sync.OnceValue(func() map[string]spamField {
	fields := map[string]spamField{}
	for _, list := range [][]spamField{microsoftFields, filterFields, providerFields} {
		for _, f := range list {
			fields[strings.ToLower(f.name)] = f
		}
	}
	return fields
})

// readSpam reads the verdicts of spam filters.
func (e *evidence) readSpam() {
	e.spam = []SpamVerdict{}
	for i := range e.msg.Fields {
		f := &e.msg.Fields[i]
		if len(e.spam) == maxVerdicts {
			return
		}
		if known, ok := spamFields()[strings.ToLower(f.Name)]; ok {
			e.addSpam(f, known)
			continue
		}
		lower := strings.ToLower(f.Name)
		if strings.HasSuffix(lower, "mailscanner-spamcheck") { // the name of the organization stands before it
			e.addSpam(f, spamField{f.Name, "mailscanner", readMailScanner})
		}
	}
	for i := range e.authFields {
		if a := &e.authFields[i]; a.header != nil && !a.foreign {
			for _, r := range a.header.Results {
				if r.Method == "compauth" {
					e.spam = append(e.spam, compauthVerdict(a.field, r))
				}
			}
		}
	}
}

func (e *evidence) addSpam(f *message.Field, known spamField) {
	v := SpamVerdict{Vendor: known.vendor, Field: clip(f.Name, maxShown), Verdict: unstated,
		Details: map[string]string{}}
	known.read(&v, f.Value())
	e.spam = append(e.spam, v)
}

// set notes a detail that is not empty.
func (v *SpamVerdict) set(key, value string) {
	if value = strings.TrimSpace(value); value != "" && len(v.Details) < maxDetails {
		v.Details[key] = clip(value, maxDetail)
	}
}

// maxDetail bounds one detail, in bytes.
const maxDetail = 600

// setScore notes the score, if it is a number.
func (v *SpamVerdict) setScore(s string) bool {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || n > maxScore || n < -maxScore || n != n {
		return false
	}
	v.Score = &n
	return true
}

// maxScore bounds scores; no filter has higher ones.
const maxScore = 1e9

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

// yes reads Yes, True, 1 and the like; known is false for what is none of both.
func yes(s string) (is, known bool) {
	word := strings.ToLower(strings.TrimRight(firstWord(s), ",;."))
	switch word {
	case "yes", "true", "1", "spam", "y", "positive":
		return true, true
	case "no", "false", "0", "ham", "n", "notspam", "negative", "clean", "ok", "legit":
		return false, true
	}
	return false, false
}

func firstWord(s string) string {
	if words := strings.Fields(s[:min(len(s), maxRaw)]); len(words) > 0 {
		return words[0]
	}
	return ""
}

// judge sets the verdict to spam or not.
func (v *SpamVerdict) judge(spam bool) {
	if v.Verdict = notSpam; spam {
		v.Verdict = Spam
	}
}
