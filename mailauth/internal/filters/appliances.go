package filters

import "strings"

func applianceFields() []field {
	action := byWords("action", whole, meaning{NotSpam, "no action"},
		meaning{Spam, "reject|add header|rewrite subject|discard|quarantine"}, meaning{Suspicious, "greylist|soft reject"})
	detected := byWords("status", firstWord, meaning{NotSpam, "not_detected*|skipped*|clean"},
		meaning{Spam, "*spam*|detected*"})
	return []field{
		{"X-Spam-Status", "spamassassin", readStatus},
		{"X-Spam-Flag", "spamassassin", flag},
		{"X-Spam-Level", "spamassassin", func(v *Verdict, s string) { v.set("level", firstWord(s)) }},
		{"X-Spam-Score", "spamassassin", score},
		{"X-Spam-Report", "spamassassin", note("report")},
		{"X-Spam-Checker-Version", "spamassassin", note("version")},
		{"X-Spamd-Result", "rspamd", readRspamd},
		{"X-Spamd-Bar", "rspamd", func(v *Verdict, s string) { v.set("bar", firstWord(s)) }},
		{"X-Rspamd-Score", "rspamd", score},
		{"X-Rspamd-Action", "rspamd", action},
		{"X-Rspamd-Action-Taken", "rspamd", action},
		{"X-Amavis-Alert", "amavis",
			byWords("alert", whole, meaning{Malware, "*infected*"}, meaning{Suspicious, "*bad header*|*banned*"})},
		{"X-Virus-Status", "antivirus",
			byWords("status", firstWord, meaning{NotSpam, "clean*|no*"}, meaning{Malware, "infected*"})},
		{"X-Bogosity", "bogofilter", readBogofilter},
		{"X-DSPAM-Result", "dspam", byWords("result", firstWord, meaning{Spam, "spam"}, meaning{NotSpam, "*"})},
		{"X-CRM114-Status", "crm114", byWords("status", whole, meaning{Spam, "*spam*"}, meaning{NotSpam, "*"})},
		{"X-PMX-Spam", "sophos", readPureMessage},
		{"X-LASED-SpamProbability", "sophos", byScore(0.5, "")},
		{"X-Sophos-Email-Scan-Details", "sophos", note("details")},
		{"X-Proofpoint-Spam-Details", "proofpoint", readProofpoint},
		{"X-Proofpoint-Spam-Details-Enc", "proofpoint", sealed("details", "encrypted")},
		{"X-Proofpoint-Virus-Version", "proofpoint", note("scanner")},
		{"X-CLX-Score", "proofpoint", score},
		{"X-Mimecast-Spam-Score", "mimecast",
			byScore(5, "5 and more is spam with moderate settings, 3 with aggressive, 7 with relaxed ones")},
		{"X-Mimecast-Impersonation-Protect", "mimecast", readMimecastImpersonation},
		{"X-Mimecast-Bulk-Signature", "mimecast", func(v *Verdict, s string) {
			if is, _ := yes(s); is { // mail that is not bulk may be spam
				v.Verdict = Bulk
			}
			v.set("bulk signature", s)
		}},
		{"X-Barracuda-Spam-Status", "barracuda", readStatus},
		{"X-Barracuda-Spam-Flag", "barracuda", flag},
		{"X-Barracuda-Spam-Score", "barracuda", score},
		{"X-IronPort-Anti-Spam-Filtered", "cisco", note("filtered")},
		{"X-IronPort-Anti-Spam-Result", "cisco", sealed("result", "encoded")},
		{"X-IronPort-AV", "cisco", note("antivirus")},
		{"X-IronPort-SPAM", "cisco", flag},
		{"X-ThreatScanner-Verdict", "cisco", flag},
		{"X-SBRS", "cisco", func(v *Verdict, s string) {
			v.setScore(s)
			v.set("scale", "reputation of the address, from -10 (bad) to +10 (good)")
		}},
		{"X-TM-AS-Result", "trendmicro", readTrendMicro},
		{"X-TMASE-Result", "trendmicro", note("result")},
		{"X-KLMS-AntiSpam-Status", "kaspersky", detected},
		{"X-KSMG-AntiSpam-Status", "kaspersky", detected},
		{"X-KSE-AntiSpam-Status", "kaspersky", detected},
		{"X-NAI-Spam-Flag", "mcafee", flag},
		{"X-NAI-Spam-Score", "mcafee", score},
		{"X-FEAS-SPAM-Outbreak", "fortinet", note("outbreak")},
		{"X-FEAS-HASH", "fortinet", note("hash")},
		{"X-CMAE-Verdict", "cloudmark", flag},
		{"X-CMAE-Score", "cloudmark", score},
		{"X-VR-SPAMSTATE", "vade", flag},
		{"X-VR-SPAMSCORE", "vade", score},
		{"X-VadeSecure-Verdict", "vade", flag},
		{"X-SpamExperts-Class", "spamexperts", flag},
		{"X-SpamExperts-Outgoing-Class", "spamexperts", flag},
	}
}

// readStatus reads "Yes, score=15.2 required=5.0 tests=A,B autolearn=no version=3.4.2" of SpamAssassin and its
// imitators; old versions write hits, Barracuda writes capital letters.
func readStatus(v *Verdict, value string) {
	v.flag(value, Spam)
	value, tests := cutTests(value)
	for _, p := range pairs(value, " \t,", '=') {
		switch p[0] {
		case "score", "hits":
			v.setScore(p[1])
		case "required", "autolearn", "version", "tag_level", "quarantine_level", "kill_level", "bayes":
			v.set(p[0], p[1])
		}
	}
	v.set("tests", strings.Join(strings.Fields(tests), " "))
}

// cutTests takes the list of tests out of a status: "tests=[A=1.0, B]" or "tests=A,\tB".
func cutTests(value string) (rest, tests string) {
	before, after, _ := strings.Cut(value, "tests=")
	if list, ok := strings.CutPrefix(after, "["); ok {
		tests, rest, _ = strings.Cut(list, "]")
		return before + rest, tests
	}
	words := strings.Fields(after)
	n := min(1, len(words))
	for n > 0 && n < len(words) && strings.HasSuffix(words[n-1], ",") {
		n++
	}
	return before + strings.Join(words[n:], " "), strings.Join(words[:n], " ")
}

// readRspamd reads "default: False [1.40 / 15.00]; R_SPF_ALLOW(-0.20)[+ip4:192.0.2.0/24]; …".
func readRspamd(v *Verdict, value string) {
	head, tests, _ := strings.Cut(value, ";")
	if _, word, ok := strings.Cut(head, ":"); ok {
		v.flag(word, Spam)
	}
	if _, inner, ok := strings.Cut(head, "["); ok {
		points, required, _ := strings.Cut(strings.TrimRight(inner, "] "), "/")
		v.setScore(points)
		v.set("required", required)
	}
	v.set("tests", tests)
}

// readBogofilter reads "Unsure, tests=bogofilter, spamicity=0.500000, version=1.2.5".
func readBogofilter(v *Verdict, value string) {
	v.Verdict, _ = find(strings.TrimRight(firstWord(value), ","),
		[]meaning{{Suspicious, "Unsure"}, {Spam, "Spam|Yes"}, {NotSpam, "*"}})
	for _, p := range pairs(value, ",", '=') {
		if p[0] == "spamicity" {
			v.set(p[0], p[1])
		}
	}
}

// readPureMessage reads "Gauge=IIIIIIII, Probability=98%, Report='A 0.1'".
func readPureMessage(v *Verdict, value string) {
	v.set("report", value)
	for _, p := range pairs(value, ",", '=') {
		if p[0] == "probability" && v.setScore(strings.TrimSuffix(p[1], "%")) {
			v.judge(*v.Score >= 50, Spam)
		}
	}
}

// readProofpoint reads "rule=notspam policy=default score=0 spamscore=0 phishscore=0 …".
func readProofpoint(v *Verdict, value string) {
	for _, p := range pairs(value, " \t", '=') {
		switch {
		case p[0] == "rule":
			byWords("rule", whole, meaning{NotSpam, "*notspam*|*safe*"}, meaning{Phishing, "*phish*"}, meaning{Spam, "*spam*"},
				meaning{Bulk, "*bulk*"})(v, p[1])
		case p[0] == "score":
			v.setScore(p[1])
		case strings.HasSuffix(p[0], "score"), p[0] == "policy", p[0] == "classifier", p[0] == "reason":
			v.set(p[0], p[1])
		}
	}
}

// readMimecastImpersonation reads "Policy=Default;Similar Internal Domain=true;…;Tagged=1".
func readMimecastImpersonation(v *Verdict, value string) {
	for _, p := range pairs(value, ";", '=') {
		v.set(p[0], p[1])
		if is, _ := yes(p[1]); is && p[0] != "policy" && !strings.HasPrefix(p[0], "tagged") {
			v.Verdict = Suspicious
		}
	}
}

// readTrendMicro reads "No--10.123-5.0-31-10": whether it is spam, its score and the limit.
func readTrendMicro(v *Verdict, value string) {
	word, rest, _ := strings.Cut(value, "--")
	v.flag(word, Spam)
	points, _, _ := strings.Cut(rest, "-")
	v.setScore(points)
	v.set("result", value)
}

// readMailScanner reads "not spam, SpamAssassin (score=-1.9, required 5, …)".
func readMailScanner(v *Verdict, value string) {
	byWords("check", whole, meaning{Spam, "spam*"}, meaning{NotSpam, "*"})(v, value)
	if _, inner, ok := strings.Cut(strings.ToLower(value), "score="); ok {
		points, _, _ := strings.Cut(inner, ",")
		v.setScore(points)
	}
}

func providerFields() []field {
	folder := byWords("folder", whole, meaning{Spam, "*junk*"}, meaning{NotSpam, "*inbox*"})
	verdict := func(bad Judgment) reader {
		return byWords("verdict", firstWord, meaning{NotSpam, "pass"}, meaning{bad, "fail"})
	}
	return []field{
		{"X-Gm-Spam", "gmail", flag},
		{"X-Gm-Phishy", "gmail", func(v *Verdict, s string) { v.flag(s, Phishing) }},
		{"X-YMailISG", "yahoo", sealed("ISG", "encoded")},
		{"X-YahooFilteredBulk", "yahoo", byWords("address", whole, meaning{Bulk, "*"})},
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
			byWords("result", whole, meaning{NotSpam, "notjunk|unknown"}, meaning{Spam, "junk"})(v, kind)
		}},
		{"X-ZohoMail-Spam", "zoho", flag},
		{"X-Zoho-Virus-Status", "zoho", note("virus status")},
		{"X-Yandex-Spam", "yandex", func(v *Verdict, s string) {
			byWords("value", firstWord, meaning{NotSpam, "1"}, meaning{Spam, "4"})(v, s)
			v.set("value", explain(s, codes{"1": {"", "not spam"}, "4": {"", "spam"}}))
		}},
		{"X-Mras", "mailru", byWords("status", firstWord, meaning{NotSpam, "ok"}, meaning{Spam, "*spam*"})},
		{"X-Spam", "mailru", byWords("value", whole, meaning{Suspicious, "*probable*"}, meaning{NotSpam, "not*|undefined|no"},
			meaning{Spam, "yes|spam"})},
		{"X-Ovh-Spam-Status", "ovh", flag},
		{"X-OVH-SPAMSTATE", "ovh", flag},
		{"X-OVH-SPAMSCORE", "ovh", score},
		{"X-SES-Spam-Verdict", "amazon", verdict(Spam)},
		{"X-SES-Virus-Verdict", "amazon", verdict(Malware)},
		{"X-T-OnlineAntispam", "telekom", note("value")},
		{"X-TOI-EXPURGATEID", "telekom", note("id")},
		{"X-purgate-type", "expurgate",
			byWords("type", firstWord, meaning{NotSpam, "clean*"}, meaning{Bulk, "bulk*"}, meaning{Spam, "spam*"},
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
