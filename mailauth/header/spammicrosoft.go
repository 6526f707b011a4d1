package header

import (
	"strings"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
)

// microsoftFields are those of Exchange and Microsoft 365 (learn.microsoft.com: anti-spam message headers).
var microsoftFields = []spamField{
	{"X-Forefront-Antispam-Report", "microsoft", readForefront},
	{"X-Forefront-Antispam-Report-Untrusted", "microsoft", readForefront},
	{"X-Microsoft-Antispam", "microsoft", readMicrosoftAntispam},
	{"X-MS-Exchange-Organization-SCL", "microsoft", func(v *SpamVerdict, s string) { v.scl(s) }},
	{"X-MS-Exchange-Organization-PCL", "microsoft", func(v *SpamVerdict, s string) {
		v.set("PCL", s+": phishing confidence level, 1 to 8; above 3 is suspicious")
	}},
	{"X-MS-Exchange-Organization-AuthAs", "microsoft", func(v *SpamVerdict, s string) {
		v.set("AuthAs", explain(s, authAsCodes))
	}},
	{"X-MS-Exchange-Organization-AVStamp-Enterprise", "microsoft", func(v *SpamVerdict, s string) {
		v.set("AVStamp", s)
	}},
	{"X-MS-Exchange-AtpMessageProperties", "microsoft", func(v *SpamVerdict, s string) {
		v.set("AtpMessageProperties", s)
	}},
	{"X-MS-Exchange-SkipListedInternetSender", "microsoft", func(v *SpamVerdict,
		s string) {
		v.set("SkipListedInternetSender", s)
	}},
}

// explain adds what a code means.
func explain(code string, meanings map[string]string) string {
	code = strings.TrimSpace(code)
	if m := meanings[code]; m != "" {
		return code + ": " + m
	}
	return code
}

// The codes of X-Forefront-Antispam-Report.
var (
	sfvCodes = map[string]string{
		"BLK": "blocked by the recipient's list of blocked senders", "NSPM": "not spam", "SFE": "let through by the recipient's list of safe senders",
		"SKA": "let through by an allow list of the organization", "SKB": "marked as spam by a block list of the organization",
		"SKI": "not filtered, as it is mail within the organization", "SKN": "marked as not spam before filtering, mostly by a mail flow rule",
		"SKQ": "released from quarantine", "SKS": "marked as spam before filtering, mostly by a mail flow rule", "SPM": "marked as spam by the filter",
	}
	sfvVerdicts = map[string]Judgment{
		"BLK": Spam, "NSPM": notSpam, "SFE": allowed, "SKA": allowed, "SKB": Spam, "SKI": allowed, "SKN": allowed, "SKQ": allowed, "SKS": Spam, "SPM": Spam,
	}
	catCodes = map[string]string{
		"AMP": "malware", "BIMP": "impersonates a brand", "BULK": "bulk mail", "DIMP": "impersonates a protected domain", "FTBP": "attachment of a blocked type",
		"GIMP": "impersonates a contact of the recipient", "HPHSH": "high confidence phishing", "HPHISH": "high confidence phishing", "HSPM": "high confidence spam",
		"INTOS": "phishing within the organization", "MALW": "malware", "OSPM": "outbound spam", "PHSH": "phishing", "SAP": "caught by Safe Attachments",
		"SPM": "spam", "SPOOF": "spoofing: the sender is not who it claims to be", "UIMP": "impersonates a protected user", "NONE": "no category",
	}
	catVerdicts = map[string]Judgment{
		"AMP": malware, "BIMP": phishing, "BULK": bulk, "DIMP": phishing, "FTBP": malware, "GIMP": phishing, "HPHSH": phishing, "HPHISH": phishing, "HSPM": Spam,
		"INTOS": phishing, "MALW": malware, "OSPM": Spam, "PHSH": phishing, "SAP": malware, "SPM": Spam, "SPOOF": spoofing, "UIMP": phishing,
	}
	authAsCodes = map[string]string{
		"Anonymous": "came from outside without logging in", "Internal": "sent from inside the organization",
		"Partner": "came from a partner domain", "External": "came from outside",
	}
	ipvCodes = map[string]string{"CAL": "the address is on the allow list of the connection filter, so that nothing was filtered", "NLI": "the address is on no list"}
	dirCodes = map[string]string{"INB": "inbound", "OUT": "outbound", "INT": "within the organization"}
	// forefrontKeys are the other keys that mean something to people.
	forefrontKeys = map[string]string{"CIP": "connecting address", "CTRY": "country of the address",
		"LANG": "language", "H": "HELO name", "PTR": "reverse DNS name", "SRV": "service", "SFTY": "safety tip"}
)

// readForefront reads key:value pairs, separated by semicolons.
func readForefront(v *SpamVerdict, value string) {
	scl := unstated
	for _, p := range pairs(value, ";", ':') {
		key, value := strings.ToUpper(p[0]), p[1]
		switch key {
		case "SCL":
			v.scl(value)
			scl = v.Verdict
		case "SFV":
			v.set(key, explain(value, sfvCodes))
			if j, ok := sfvVerdicts[value]; ok {
				v.Verdict = j
			}
		case "CAT":
			v.set(key, explain(value, catCodes))
		case "IPV":
			v.set(key, explain(value, ipvCodes))
		case "DIR":
			v.set(key, explain(value, dirCodes))
		default:
			if forefrontKeys[key] != "" {
				v.set(key, value)
			}
		}
	}
	cat, _, _ := strings.Cut(v.Details["CAT"], ":")
	if j, ok := catVerdicts[cat]; ok {
		v.Verdict = j
	} else if v.Verdict == unstated {
		v.Verdict = scl
	}
}

// scl reads the spam confidence level.
func (v *SpamVerdict) scl(s string) {
	if !v.setScore(s) {
		return
	}
	meaning := ""
	switch n := *v.Score; {
	case n < 0:
		v.Verdict, meaning = allowed, "not filtered: a trusted sender, an allow list or a mail flow rule"
	case n <= 1:
		v.Verdict, meaning = notSpam, "not spam"
	case n <= 4:
		v.Verdict, meaning = suspicious, "rarely used: between not spam and spam"
	case n <= 6:
		v.Verdict, meaning = Spam, "spam"
	default:
		v.Verdict, meaning = Spam, "high confidence spam"
	}
	v.set("SCL", strings.TrimSpace(s)+": "+meaning)
}

// readMicrosoftAntispam reads the bulk complaint level among other, internal values.
func readMicrosoftAntispam(v *SpamVerdict, value string) {
	for _, p := range pairs(value, ";", ':') {
		if p[0] != "bcl" || !v.setScore(p[1]) {
			continue
		}
		meaning := ""
		switch n := *v.Score; {
		case n == 0:
			v.Verdict, meaning = notSpam, "not from a bulk sender"
		case n <= 3:
			v.Verdict, meaning = bulk, "from a bulk sender with few complaints"
		case n <= 7:
			v.Verdict, meaning = bulk, "from a bulk sender with a mixed number of complaints"
		default:
			v.Verdict, meaning = bulk, "from a bulk sender with many complaints"
		}
		v.set("BCL", p[1]+": "+meaning)
	}
}

// compauthCodes explain the reason of compauth, by the longest beginning that fits.
var compauthCodes = map[string]string{
	"000": "explicit authentication failed, and the DMARC policy of the domain is quarantine or reject",
	"001": "implicit authentication failed: the domain publishes no usable records, or a weak policy",
	"002": "the organization has a policy that this pair of sender and domain must not send spoofed mail",
	"010": "DMARC failed with quarantine or reject, and the domain is one of the recipient's organization",
	"1":   "authentication passed", "130": "ARC of a trusted sealer overrode a failure of DMARC",
	"2": "implicit authentication passed softly", "3": "the message was not checked", "4": "the check was bypassed",
	"6": "implicit authentication failed", "601": "implicit authentication failed for a domain of the recipient's own organization",
	"7": "implicit authentication passed", "9": "the check was bypassed",
}

// compauthVerdict reads the composite authentication of Microsoft 365.
func compauthVerdict(f *message.Field, r authres.Result) SpamVerdict {
	v := SpamVerdict{Vendor: "microsoft", Field: clip(f.Name, maxShown), Verdict: unstated,
		Details: map[string]string{}}
	v.set("compauth", r.Value)
	switch r.Value {
	case "fail":
		v.Verdict = spoofing
	case "pass", "softpass":
		v.Verdict = notSpam
	}
	for n := min(3, len(r.Reason)); n > 0; n-- {
		if meaning := compauthCodes[r.Reason[:n]]; meaning != "" {
			v.set("reason", r.Reason+": "+meaning)
			return v
		}
	}
	v.set("reason", r.Reason)
	return v
}
