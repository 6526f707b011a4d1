package header

import "strings"

// filterFields are those of filters that anybody can run.
var filterFields = []spamField{
	{"X-Spam-Status", "spamassassin", readSpamStatus},
	{"X-Spam-Flag", "spamassassin", readFlag},
	{"X-Spam-Level", "spamassassin", func(v *SpamVerdict, s string) { v.set("level", firstWord(s)) }},
	{"X-Spam-Score", "spamassassin", readScore},
	{"X-Spam-Report", "spamassassin", func(v *SpamVerdict, s string) { v.set("report", s) }},
	{"X-Spamd-Result", "rspamd", readRspamd},
	{"X-Spamd-Bar", "rspamd", func(v *SpamVerdict, s string) { v.set("bar", firstWord(s)) }},
	{"X-Rspamd-Score", "rspamd", readScore},
	{"X-Rspamd-Action", "rspamd", readRspamdAction},
	{"X-Rspamd-Action-Taken", "rspamd", readRspamdAction},
	{"X-Amavis-Alert", "amavis", func(v *SpamVerdict, s string) {
		v.set("alert", s)
		switch lower := strings.ToLower(s); {
		case strings.Contains(lower, "infected"):
			v.Verdict = malware
		case strings.Contains(lower, "bad header"), strings.Contains(lower, "banned"):
			v.Verdict = suspicious
		}
	}},
	{"X-Virus-Status", "antivirus", readVirus},
	{"X-Bogosity", "bogofilter", func(v *SpamVerdict, s string) {
		word := strings.TrimRight(firstWord(s), ",")
		switch word {
		case "Unsure":
			v.Verdict = suspicious
		default:
			v.judge(word == "Spam" || word == "Yes")
		}
		v.details(s, ",", "spamicity")
	}},
	{"X-DSPAM-Result", "dspam", func(v *SpamVerdict, s string) {
		v.judge(strings.EqualFold(firstWord(s), "Spam"))
		v.set("result", s)
	}},
	{"X-CRM114-Status", "crm114", func(v *SpamVerdict, s string) {
		v.judge(strings.Contains(strings.ToUpper(s), "SPAM"))
		v.set("status", s)
	}},
	{"X-PMX-Spam", "sophos", func(v *SpamVerdict, s string) {
		v.set("report", s)
		for _, p := range pairs(s, ",", '=') {
			if p[0] == "probability" && v.setScore(strings.TrimSuffix(p[1], "%")) {
				v.judge(*v.Score >= 50)
			}
		}
	}},
	{"X-LASED-SpamProbability", "sophos", func(v *SpamVerdict, s string) {
		if v.setScore(s) {
			v.judge(*v.Score >= 0.5)
		}
	}},
	{"X-Sophos-Email-Scan-Details", "sophos", func(v *SpamVerdict, s string) { v.set("details", s) }},
	{"X-Proofpoint-Spam-Details", "proofpoint", readProofpoint},
	{"X-Proofpoint-Spam-Details-Enc", "proofpoint", func(v *SpamVerdict, s string) {
		v.set("details", "encrypted for the operator")
	}},
	{"X-Proofpoint-Virus-Version", "proofpoint", func(v *SpamVerdict, s string) { v.set("scanner", s) }},
	{"X-CLX-Score", "proofpoint", readScore},
	{"X-Mimecast-Spam-Score", "mimecast", func(v *SpamVerdict, s string) {
		if v.setScore(s) {
			v.judge(*v.Score >= 5)
			v.set("scale", "5 and more is spam with moderate settings, 3 with aggressive, 7 with relaxed ones")
		}
	}},
	{"X-Mimecast-Impersonation-Protect", "mimecast", readMimecastImpersonation},
	{"X-Mimecast-Bulk-Signature", "mimecast", func(v *SpamVerdict, s string) {
		if is, ok := yes(s); ok && is {
			v.Verdict = bulk
		}
		v.set("bulk signature", s)
	}},
	{"X-Barracuda-Spam-Status", "barracuda", readSpamStatus},
	{"X-Barracuda-Spam-Flag", "barracuda", readFlag},
	{"X-Barracuda-Spam-Score", "barracuda", readScore},
	{"X-IronPort-Anti-Spam-Filtered", "cisco", func(v *SpamVerdict, s string) { v.set("filtered", s) }},
	{"X-IronPort-Anti-Spam-Result", "cisco", func(v *SpamVerdict, _ string) {
		v.set("result", "encoded for the operator")
	}},
	{"X-IronPort-AV", "cisco", func(v *SpamVerdict, s string) { v.set("antivirus", s) }},
	{"X-IronPort-SPAM", "cisco", readFlag},
	{"X-ThreatScanner-Verdict", "cisco", readFlag},
	{"X-SBRS", "cisco", func(v *SpamVerdict, s string) {
		v.setScore(s)
		v.set("scale", "reputation of the address, from -10 (bad) to +10 (good)")
	}},
	{"X-TM-AS-Result", "trendmicro", readTrendMicro},
	{"X-TMASE-Result", "trendmicro", func(v *SpamVerdict, s string) { v.set("result", s) }},
	{"X-KLMS-AntiSpam-Status", "kaspersky", readDetected},
	{"X-KSMG-AntiSpam-Status", "kaspersky", readDetected},
	{"X-KSE-AntiSpam-Status", "kaspersky", readDetected},
	{"X-NAI-Spam-Flag", "mcafee", readFlag},
	{"X-NAI-Spam-Score", "mcafee", readScore},
	{"X-FEAS-SPAM-Outbreak", "fortinet", func(v *SpamVerdict, s string) { v.set("outbreak", s) }},
	{"X-FEAS-HASH", "fortinet", func(v *SpamVerdict, s string) { v.set("hash", s) }},
	{"X-CMAE-Verdict", "cloudmark", readFlag},
	{"X-CMAE-Score", "cloudmark", readScore},
	{"X-VR-SPAMSTATE", "vade", readFlag},
	{"X-VR-SPAMSCORE", "vade", readScore},
	{"X-VadeSecure-Verdict", "vade", readFlag},
	{"X-SpamExperts-Class", "spamexperts", readFlag},
	{"X-SpamExperts-Outgoing-Class", "spamexperts", readFlag},
	{"X-Spam-Checker-Version", "spamassassin", func(v *SpamVerdict, s string) { v.set("version", s) }},
}

func readFlag(v *SpamVerdict, value string) {
	if is, ok := yes(value); ok {
		v.judge(is)
	}
	v.set("value", value)
}

func readScore(v *SpamVerdict, value string) {
	if !v.setScore(firstWord(value)) {
		v.set("value", value)
	}
}

// details notes the named values of key=value pairs.
func (v *SpamVerdict) details(s, separators string, keys ...string) {
	for _, p := range pairs(s, separators, '=') {
		for _, k := range keys {
			if p[0] == k {
				v.set(k, p[1])
			}
		}
	}
}

// readSpamStatus reads "Yes, score=15.2 required=5.0 tests=A,B autolearn=no version=3.4.2" of SpamAssassin and what
// imitates it; old versions have hits, Barracuda has capital letters.
func readSpamStatus(v *SpamVerdict, value string) {
	if is, ok := yes(value); ok {
		v.judge(is)
	}
	value, tests, found := cutTests(value)
	for _, p := range pairs(value, " \t,", '=') {
		switch p[0] {
		case "score", "hits":
			v.setScore(p[1])
		case "required", "autolearn", "version", "tag_level", "quarantine_level", "kill_level", "bayes":
			v.set(p[0], p[1])
		}
	}
	if found {
		v.set("tests", strings.Join(strings.Fields(tests), " "))
	}
}

// cutTests takes the list of tests out of a status: "tests=[A=1.0, B]" or "tests=A,\tB".
func cutTests(value string) (rest, tests string, found bool) {
	before, after, ok := strings.Cut(value, "tests=")
	if !ok {
		return value, "", false
	}
	if list, ok := strings.CutPrefix(after, "["); ok {
		tests, rest, _ = strings.Cut(list, "]")
		return before + rest, tests, true
	}
	words := strings.Fields(after)
	n := 1
	for n < len(words) && strings.HasSuffix(words[n-1], ",") {
		n++
	}
	n = min(n, len(words))
	return before + strings.Join(words[n:], " "), strings.Join(words[:n], " "), true
}

// readRspamd reads "default: False [1.40 / 15.00]; R_SPF_ALLOW(-0.20)[+ip4:192.0.2.0/24]; …".
func readRspamd(v *SpamVerdict, value string) {
	head, tests, _ := strings.Cut(value, ";")
	if _, flag, ok := strings.Cut(head, ":"); ok {
		if is, known := yes(flag); known {
			v.judge(is)
		}
	}
	if _, inner, ok := strings.Cut(head, "["); ok {
		score, required, _ := strings.Cut(strings.TrimRight(inner, "] "), "/")
		v.setScore(score)
		v.set("required", required)
	}
	v.set("tests", tests)
}

func readRspamdAction(v *SpamVerdict, value string) {
	v.set("action", value)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "no action":
		v.Verdict = notSpam
	case "reject", "add header", "rewrite subject", "discard", "quarantine":
		v.Verdict = Spam
	case "greylist", "soft reject":
		v.Verdict = suspicious
	}
}

// readProofpoint reads "rule=notspam policy=default score=0 spamscore=0 phishscore=0 …".
func readProofpoint(v *SpamVerdict, value string) {
	for _, p := range pairs(value, " \t", '=') {
		switch p[0] {
		case "rule":
			v.set(p[0], p[1])
			switch lower := strings.ToLower(p[1]); {
			case strings.Contains(lower, "notspam"), strings.Contains(lower, "safe"):
				v.Verdict = notSpam
			case strings.Contains(lower, "phish"):
				v.Verdict = phishing
			case strings.Contains(lower, "spam"):
				v.Verdict = Spam
			case strings.Contains(lower, "bulk"):
				v.Verdict = bulk
			}
		case "score":
			v.setScore(p[1])
		default:
			if strings.HasSuffix(p[0], "score") || p[0] == "policy" || p[0] == "classifier" || p[0] == "reason" {
				v.set(p[0], p[1])
			}
		}
	}
}

// readMimecastImpersonation reads "Policy=Default;Similar Internal Domain=true;…;Tagged=1".
func readMimecastImpersonation(v *SpamVerdict, value string) {
	for _, p := range pairs(value, ";", '=') {
		v.set(p[0], p[1])
		if is, ok := yes(p[1]); ok && is && p[0] != "policy" && !strings.HasPrefix(p[0], "tagged") {
			v.Verdict = suspicious
		}
	}
}

// readTrendMicro reads "No--10.123-5.0-31-10": whether it is spam, its score and the limit.
func readTrendMicro(v *SpamVerdict, value string) {
	flag, rest, _ := strings.Cut(value, "--")
	if is, ok := yes(flag); ok {
		v.judge(is)
	}
	score, _, _ := strings.Cut(rest, "-")
	v.setScore(score)
	v.set("result", value)
}

func readDetected(v *SpamVerdict, value string) {
	word := strings.ToLower(firstWord(value))
	v.set("status", value)
	switch {
	case strings.HasPrefix(word, "not_detected"), strings.HasPrefix(word, "skipped"), word == "clean":
		v.Verdict = notSpam
	case strings.Contains(word, "spam"), strings.HasPrefix(word, "detected"):
		v.Verdict = Spam
	}
}

func readVirus(v *SpamVerdict, value string) {
	v.set("status", value)
	switch word := strings.ToLower(firstWord(value)); {
	case strings.HasPrefix(word, "clean"), strings.HasPrefix(word, "no"):
		v.Verdict = notSpam
	case strings.HasPrefix(word, "infected"):
		v.Verdict = malware
	}
}

// readMailScanner reads "not spam, SpamAssassin (score=-1.9, required 5, …)".
func readMailScanner(v *SpamVerdict, value string) {
	lower := strings.ToLower(value)
	v.judge(!strings.HasPrefix(lower, "not spam") && strings.HasPrefix(lower, "spam"))
	if _, inner, ok := strings.Cut(lower, "score="); ok {
		score, _, _ := strings.Cut(inner, ",")
		v.setScore(score)
	}
	v.set("check", value)
}
