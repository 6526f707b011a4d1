package filters

import (
	"strings"
	"sync"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
)

// microsoftFields are those of Exchange and Microsoft 365 (learn.microsoft.com: anti-spam message headers).
func microsoftFields() []field {
	return []field{
		{"X-Forefront-Antispam-Report", "microsoft", readForefront},
		{"X-Forefront-Antispam-Report-Untrusted", "microsoft", readForefront},
		{"X-Microsoft-Antispam", "microsoft", readMicrosoftAntispam},
		{"X-MS-Exchange-Organization-SCL", "microsoft", func(v *Verdict, s string) { v.level("SCL", s, sclLevels) }},
		{"X-MS-Exchange-Organization-PCL", "microsoft", func(v *Verdict, s string) {
			v.set("PCL", s+": phishing confidence level, 1 to 8; above 3 is suspicious")
		}},
		{"X-MS-Exchange-Organization-AuthAs", "microsoft",
			func(v *Verdict, s string) { v.set("AuthAs", explain(s, authAs)) }},
		{"X-MS-Exchange-Organization-AVStamp-Enterprise", "microsoft", note("AVStamp")},
		{"X-MS-Exchange-AtpMessageProperties", "microsoft", note("AtpMessageProperties")},
		{"X-MS-Exchange-SkipListedInternetSender", "microsoft", note("SkipListedInternetSender")},
	}
}

// codes are the meanings of the codes of a key: in words, and as a verdict if they are one.
type codes map[string]struct {
	is   Judgment
	text string
}

func explain(code string, known codes) string {
	code = strings.TrimSpace(code)
	if m := known[code].text; m != "" {
		return code + ": " + m
	}
	return code
}

var authAs = codes{
	"Anonymous": {"", "came from outside without logging in"}, "Internal": {"", "sent from inside the organization"},
	"Partner": {"", "came from a partner domain"}, "External": {"", "came from outside"},
}

// forefront are the keys of X-Forefront-Antispam-Report with a documented meaning, and their codes.
var forefront = sync.OnceValue(func() map[string]codes {
	return map[string]codes{
		"CIP": nil, "CTRY": nil, "LANG": nil, "H": nil, "PTR": nil, "SRV": nil, "SFTY": nil,
		"SFV": {
			"BLK":  {Spam, "blocked by the recipient's list of blocked senders"},
			"NSPM": {NotSpam, "not spam"},
			"SFE":  {Allowed, "let through by the recipient's list of safe senders"},
			"SKA":  {Allowed, "let through by an allow list of the organization"},
			"SKB":  {Spam, "marked as spam by a block list of the organization"},
			"SKI":  {Allowed, "not filtered, as it is mail within the organization"},
			"SKN":  {Allowed, "marked as not spam before filtering, mostly by a mail flow rule"},
			"SKQ":  {Allowed, "released from quarantine"},
			"SKS":  {Spam, "marked as spam before filtering, mostly by a mail flow rule"},
			"SPM":  {Spam, "marked as spam by the filter"},
		},
		"CAT": {
			"AMP": {Malware, "malware"}, "BIMP": {Phishing, "impersonates a brand"}, "BULK": {Bulk, "bulk mail"},
			"DIMP": {Phishing, "impersonates a protected domain"}, "FTBP": {Malware, "attachment of a blocked type"},
			"GIMP": {Phishing, "impersonates a contact of the recipient"}, "HPHSH": {Phishing, "high confidence phishing"},
			"HPHISH": {Phishing, "high confidence phishing"}, "HSPM": {Spam, "high confidence spam"},
			"INTOS": {Phishing, "phishing within the organization"}, "MALW": {Malware, "malware"},
			"OSPM": {Spam, "outbound spam"},
			"PHSH": {Phishing, "phishing"}, "SAP": {Malware, "caught by Safe Attachments"}, "SPM": {Spam, "spam"},
			"SPOOF": {Spoofing, "spoofing: the sender is not who it claims to be"},
			"UIMP":  {Phishing, "impersonates a protected user"}, "NONE": {"", "no category"},
		},
		"IPV": {
			"CAL": {"", "the address is on the allow list of the connection filter, so that nothing was filtered"},
			"NLI": {"", "the address is on no list"},
		},
		"DIR": {"INB": {"", "inbound"}, "OUT": {"", "outbound"}, "INT": {"", "within the organization"}},
	}
})

// readForefront reads key:value pairs, separated by semicolons. The category says more than the rest.
func readForefront(v *Verdict, value string) {
	var category Judgment
	for _, p := range pairs(value, ";", ':') {
		key, value := strings.ToUpper(p[0]), p[1]
		known, ok := forefront()[key]
		switch is := known[value].is; {
		case key == "SCL":
			v.level(key, value, sclLevels)
		case key == "CAT":
			category = is
		case is != "":
			v.Verdict = is
		}
		if ok {
			v.set(key, explain(value, known))
		}
	}
	if category != "" {
		v.Verdict = category
	}
}

type level struct {
	most float64
	is   Judgment
	text string
}

// The spam confidence level and the bulk complaint level.
var (
	sclLevels = []level{
		{-1, Allowed, "not filtered: a trusted sender, an allow list or a mail flow rule"}, {1, NotSpam, "not spam"},
		{4, Suspicious, "rarely used: between not spam and spam"}, {6, Spam, "spam"},
		{maxScore, Spam, "high confidence spam"},
	}
	bclLevels = []level{
		{0, NotSpam, "not from a bulk sender"}, {3, Bulk, "from a bulk sender with few complaints"},
		{7, Bulk, "from a bulk sender with a mixed number of complaints"},
		{maxScore, Bulk, "from a bulk sender with many complaints"},
	}
)

func (v *Verdict) level(key, value string, scale []level) {
	if !v.setScore(value) {
		return
	}
	for _, l := range scale {
		if *v.Score <= l.most {
			v.Verdict = l.is
			v.set(key, strings.TrimSpace(value)+": "+l.text)
			return
		}
	}
}

// readMicrosoftAntispam reads the bulk complaint level among other, internal values.
func readMicrosoftAntispam(v *Verdict, value string) {
	for _, p := range pairs(value, ";", ':') {
		if p[0] == "bcl" {
			v.level("BCL", p[1], bclLevels)
		}
	}
}

// compauthCodes explain the reason of compauth, by the longest matching prefix.
var compauthCodes = map[string]string{
	"000": "explicit authentication failed, and the DMARC policy of the domain is quarantine or reject",
	"001": "implicit authentication failed: the domain publishes no usable records, or a weak policy",
	"002": "the organization has a policy that this pair of sender and domain must not send spoofed mail",
	"010": "DMARC failed with quarantine or reject, and the domain is one of the recipient's organization",
	"1":   "authentication passed", "130": "ARC of a trusted sealer overrode a failure of DMARC",
	"2": "implicit authentication passed softly", "3": "the message was not checked", "4": "the check was bypassed",
	"6":   "implicit authentication failed",
	"601": "implicit authentication failed for a domain of the recipient's own organization",
	"7":   "implicit authentication passed", "9": "the check was bypassed",
}

// Composite reads the result of the composite authentication of Microsoft 365 (compauth).
func Composite(f *message.Field, r authres.Result) Verdict {
	v := newVerdict("microsoft", f.Name)
	byWords("compauth", whole, meaning{Spoofing, "fail"}, meaning{NotSpam, "pass|softpass"})(&v, r.Value)
	reason := r.Reason
	for n := min(3, len(reason)); n > 0; n-- {
		if text := compauthCodes[reason[:n]]; text != "" {
			reason += ": " + text
			break
		}
	}
	v.set("reason", reason)
	return v
}
