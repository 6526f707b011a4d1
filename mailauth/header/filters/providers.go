package filters

import "strings"

func providerFields() []field {
	folder := says("folder", whole, meaning{Spam, "*junk*"}, meaning{NotSpam, "*inbox*"})
	verdict := func(bad Judgment) reader {
		return says("verdict", firstWord, meaning{NotSpam, "pass"}, meaning{bad, "fail"})
	}
	return []field{
		{"X-Gm-Spam", "gmail", flag},
		{"X-Gm-Phishy", "gmail", func(v *Verdict, s string) { v.flag(s, Phishing) }},
		{"X-YMailISG", "yahoo", sealed("ISG", "encoded")},
		{"X-YahooFilteredBulk", "yahoo", says("address", whole, meaning{Bulk, "*"})},
		{"X-Apple-MoveToFolder", "apple", folder},
		{"X-Apple-Action", "apple", folder},
		{"X-Suspected-Spam", "apple", flag},
		{"X-Spam-known-sender", "fastmail", note("known sender")},
		{"X-Spam-sender-reputation", "fastmail", note("sender reputation")},
		{"X-Spam-hits", "fastmail", note("tests")},
		{"X-GMX-Antispam", "gmx", readGMX},
		{"X-GMX-Antivirus", "gmx", note("antivirus")},
		{"X-WEBDE-Antispam", "webde", readGMX},
		{"X-UI-Filterresults", "gmx", func(v *Verdict, s string) {
			kind, _, _ := strings.Cut(s, ":")
			says("result", whole, meaning{NotSpam, "notjunk|unknown"}, meaning{Spam, "junk"})(v, kind)
		}},
		{"X-ZohoMail-Spam", "zoho", flag},
		{"X-Zoho-Virus-Status", "zoho", note("virus status")},
		{"X-Yandex-Spam", "yandex", func(v *Verdict, s string) {
			says("value", firstWord, meaning{NotSpam, "1"}, meaning{Spam, "4"})(v, s)
			v.set("value", explain(s, codes{"1": {"", "not spam"}, "4": {"", "spam"}}))
		}},
		{"X-Mras", "mailru", says("status", firstWord, meaning{NotSpam, "ok"}, meaning{Spam, "*spam*"})},
		{"X-Spam", "mailru", says("value", whole, meaning{Suspicious, "*probable*"}, meaning{NotSpam, "not*|undefined|no"},
			meaning{Spam, "yes|spam"})},
		{"X-Ovh-Spam-Status", "ovh", flag},
		{"X-OVH-SPAMSTATE", "ovh", flag},
		{"X-OVH-SPAMSCORE", "ovh", score},
		{"X-SES-Spam-Verdict", "amazon", verdict(Spam)},
		{"X-SES-Virus-Verdict", "amazon", verdict(Malware)},
		{"X-T-OnlineAntispam", "telekom", note("value")},
		{"X-TOI-EXPURGATEID", "telekom", note("id")},
		{"X-purgate-type", "expurgate", says("type", firstWord, meaning{NotSpam, "clean*"}, meaning{Bulk, "bulk*"}, meaning{Spam, "spam*"},
			meaning{Suspicious, "suspect*"})},
	}
}

// readGMX reads "0 (Mail was not recognized as spam); Detail=V3".
func readGMX(v *Verdict, value string) {
	if v.setScore(firstWord(value)) {
		v.judge(*v.Score != 0, Spam)
	}
	v.set("result", value)
}
