package header

import "strings"

// providerFields are those of mailbox providers.
var providerFields = []spamField{
	{"X-Gm-Spam", "gmail", readFlag},
	{"X-Gm-Phishy", "gmail", func(v *SpamVerdict, s string) {
		if is, ok := yes(s); ok {
			if v.Verdict = notSpam; is {
				v.Verdict = phishing
			}
		}
	}},
	{"X-YMailISG", "yahoo", func(v *SpamVerdict, _ string) { v.set("ISG", "encoded for the operator") }},
	{"X-YahooFilteredBulk", "yahoo", func(v *SpamVerdict, s string) {
		v.Verdict = bulk
		v.set("address", s)
	}},
	{"X-Apple-MoveToFolder", "apple", readFolder},
	{"X-Apple-Action", "apple", readFolder},
	{"X-Suspected-Spam", "apple", readFlag},
	{"X-Spam-known-sender", "fastmail", func(v *SpamVerdict, s string) { v.set("known sender", s) }},
	{"X-Spam-sender-reputation", "fastmail", func(v *SpamVerdict, s string) { v.set("sender reputation", s) }},
	{"X-Spam-hits", "fastmail", func(v *SpamVerdict, s string) { v.set("tests", s) }},
	{"X-GMX-Antispam", "gmx", readGMX},
	{"X-GMX-Antivirus", "gmx", func(v *SpamVerdict, s string) { v.set("antivirus", s) }},
	{"X-WEBDE-Antispam", "webde", readGMX},
	{"X-UI-Filterresults", "gmx", func(v *SpamVerdict, s string) {
		kind, _, _ := strings.Cut(s, ":")
		v.set("result", kind)
		switch strings.ToLower(kind) {
		case "notjunk", "unknown":
			v.Verdict = notSpam
		case "junk":
			v.Verdict = Spam
		}
	}},
	{"X-ZohoMail-Spam", "zoho", readFlag},
	{"X-Zoho-Virus-Status", "zoho", func(v *SpamVerdict, s string) { v.set("virus status", s) }},
	{"X-Yandex-Spam", "yandex", func(v *SpamVerdict, s string) {
		v.set("value", explain(s, map[string]string{"1": "not spam", "4": "spam"}))
		switch firstWord(s) {
		case "1":
			v.Verdict = notSpam
		case "4":
			v.Verdict = Spam
		}
	}},
	{"X-Mras", "mailru", func(v *SpamVerdict, s string) {
		v.set("status", s)
		switch lower := strings.ToLower(firstWord(s)); {
		case lower == "ok":
			v.Verdict = notSpam
		case strings.Contains(lower, "spam"):
			v.Verdict = Spam
		}
	}},
	{"X-Spam", "mailru", func(v *SpamVerdict, s string) {
		v.set("value", s)
		switch lower := strings.ToLower(strings.TrimSpace(s)); {
		case strings.Contains(lower, "probable"):
			v.Verdict = suspicious
		case strings.HasPrefix(lower, "not"), lower == "undefined", lower == "no":
			v.Verdict = notSpam
		case lower == "yes", lower == "spam":
			v.Verdict = Spam
		}
	}},
	{"X-Ovh-Spam-Status", "ovh", readFlag},
	{"X-OVH-SPAMSTATE", "ovh", readFlag},
	{"X-OVH-SPAMSCORE", "ovh", readScore},
	{"X-SES-Spam-Verdict", "amazon", readSES(Spam)},
	{"X-SES-Virus-Verdict", "amazon", readSES(malware)},
	{"X-T-OnlineAntispam", "telekom", func(v *SpamVerdict, s string) { v.set("value", s) }},
	{"X-TOI-EXPURGATEID", "telekom", func(v *SpamVerdict, s string) { v.set("id", s) }},
	{"X-purgate-type", "expurgate", func(v *SpamVerdict, s string) {
		v.set("type", s)
		switch lower := strings.ToLower(firstWord(s)); {
		case strings.HasPrefix(lower, "clean"):
			v.Verdict = notSpam
		case strings.HasPrefix(lower, "bulk"):
			v.Verdict = bulk
		case strings.HasPrefix(lower, "spam"):
			v.Verdict = Spam
		case strings.HasPrefix(lower, "suspect"):
			v.Verdict = suspicious
		}
	}},
}

// readFolder reads where Apple puts a message: "INBOX", "Junk", "MOVE_TO_FOLDER/INBOX".
func readFolder(v *SpamVerdict, value string) {
	v.set("folder", value)
	switch lower := strings.ToLower(value); {
	case strings.Contains(lower, "junk"):
		v.Verdict = Spam
	case strings.Contains(lower, "inbox"):
		v.Verdict = notSpam
	}
}

// readGMX reads "0 (Mail was not recognized as spam); Detail=V3".
func readGMX(v *SpamVerdict, value string) {
	if v.setScore(firstWord(value)) {
		v.judge(*v.Score != 0)
	}
	v.set("result", value)
}

// readSES reads PASS and FAIL of Amazon SES.
func readSES(bad Judgment) func(*SpamVerdict, string) {
	return func(v *SpamVerdict, value string) {
		v.set("verdict", value)
		switch strings.ToUpper(firstWord(value)) {
		case "PASS":
			v.Verdict = notSpam
		case "FAIL":
			v.Verdict = bad
		}
	}
}
