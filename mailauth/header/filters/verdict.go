package filters

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// A Judgment is what a filter took a message for.
type Judgment string

// The judgments.
const (
	Spam       Judgment = "spam"
	NotSpam    Judgment = "not_spam"
	Suspicious Judgment = "suspicious" // below the limit of the filter, but near it, or marked as probable spam
	Bulk       Judgment = "bulk"       // sent to many, as newsletters are
	Phishing   Judgment = "phishing"
	Spoofing   Judgment = "spoofing" // pretends to be from somebody else
	Malware    Judgment = "malware"
	Allowed    Judgment = "allowed"    // not filtered: an allow list, or mail from inside
	Unstated   Judgment = "not_stated" // the field tells no verdict that outsiders can read
)

// Values lists the judgments.
func (Judgment) Values() []string {
	return diag.Values(Spam, NotSpam, Suspicious, Bulk, Phishing, Spoofing, Malware, Allowed, Unstated)
}

var judgmentWords = map[Judgment]string{
	Spam: "spam", NotSpam: "not spam", Suspicious: "suspicious", Bulk: "bulk mail", Phishing: "phishing", Spoofing: "spoofing",
	Malware: "malware", Allowed: "allowed without filtering", Unstated: "nothing that outsiders can read",
}

// A Verdict is what a filter found.
type Verdict struct {
	Vendor  string            `json:"vendor" doc:"who filtered, such as microsoft"`
	Field   string            `json:"field" doc:"name of the field, as sent"`
	Verdict Judgment          `json:"verdict" doc:"what the filter took the message for"`
	Score   *float64          `json:"score,omitempty" doc:"score of the filter, on its own scale"`
	Details map[string]string `json:"details" doc:"what else the field says, explained"`
}

// The bounds of what is reported of a field.
const (
	maxName    = 200 // bytes of the name
	maxValue   = 2000
	maxDetails = 40
	maxDetail  = 600 // bytes of one detail
	maxScore   = 1e9 // no filter has higher ones
)

func newVerdict(vendor, name string) Verdict {
	return Verdict{Vendor: vendor, Field: diag.Clip(name, maxName), Verdict: Unstated, Details: map[string]string{}}
}

// String tells the verdict in a sentence.
func (v *Verdict) String() string {
	text := fmt.Sprintf("%s of %s says: %s", v.Field, v.Vendor, judgmentWords[v.Verdict])
	if v.Score != nil {
		text += fmt.Sprintf(", score %g", *v.Score)
	}
	var details []string
	for _, key := range slices.Sorted(maps.Keys(v.Details)) {
		if len(details) < 5 {
			details = append(details, diag.Quote(key+" "+v.Details[key]))
		}
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return text + "."
}

func (v *Verdict) set(key, value string) {
	if value = strings.TrimSpace(value); value != "" && len(v.Details) < maxDetails {
		v.Details[key] = diag.Clip(value, maxDetail)
	}
}

// setScore notes the score, if it is a number.
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
