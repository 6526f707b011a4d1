package header

import (
	"maps"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// analyzeTexts speak for what header-analyze comes to: its own, and those of the rules of header-audit.
var analyzeTexts = func() diag.Texts {
	all := maps.Clone(liveTexts)
	for key, text := range auditTexts {
		if strings.Contains(key, ".") { // a rule, not a state or a band
			all[key] = text
		}
	}
	return all
}()

// liveTexts are those of what was checked live.
var liveTexts = diag.Texts{
	string(diag.Valid): {
		Headline: "The message is authentic: DMARC passes for its author",
		Sub:      "SPF or DKIM shows that the domain in the From field sent it. Nothing in its header speaks against that.",
	},
	string(diag.Warned): {
		Headline: "The message has faults that a receiver may hold against it",
		Sub:      "The findings say what they are, and whose they are to fix.",
	},
	string(diag.Bad): {
		Headline: "The message is not authentic, or damaged",
		Sub:      "Do not rely on it before the sender has confirmed it; the findings say what is wrong.",
	},
	string(diag.Unknown): {
		Headline: "Whether the message is authentic could not be checked",
		Sub:      "The DNS did not answer. Nothing speaks against the message, and nothing for it; repeat the check later.",
	},
	"header.live.dns": {
		Headline: "The DNS did not answer: authenticity could not be checked",
		Sub:      "Nothing can be concluded now, least of all that the message is forged. Repeat the check later.",
	},
	"header.live.dmarc.fail": {
		Headline: "DMARC fails: the message is probably not from its author",
		Sub: "Neither SPF nor DKIM shows that the domain in the From field sent it, and that domain asks receivers not to " +
			"deliver such mail. " +
			"Do not follow its links before the sender has confirmed it.",
	},
	"header.live.dmarc.fail.unclear": {
		Headline: "DMARC fails, though the message may be genuine",
		Sub: "It was changed or passed on by a list, a forwarder or a filter, which takes away what shows its author. " +
			"The reasons say what is known.",
	},
	"header.live.dmarc.fail.since": {
		Headline: "DMARC fails now, some time after the message was delivered",
		Sub:      "Keys and records have probably changed since. What the receiver noted at the time counts for more.",
	},
	"header.live.dmarc.fail.monitored": {
		Headline: "DMARC fails, and the policy of the domain asks for nothing",
		Sub: "Neither SPF nor DKIM shows that the domain in the From field sent the message. Ask the sender before " +
			"relying on it.",
	},
	"header.live.author.nonexistent": {
		Headline: "The domain of the sender does not exist",
		Sub:      "Nobody there can have sent the message, and nobody can answer it. Treat it as forged.",
	},
	"header.live.spf.all": {
		Headline: "SPF passes, but for every server of the Internet",
		Sub: "The record of the domain authorizes anybody to send, so that the pass shows nothing. The reasons say " +
			"whether DKIM does.",
	},
	"header.live.dkim.caution": {
		Headline: "A DKIM signature does not show what it seems to",
		Sub:      "It verifies, but not for all that people see or believe of it; the findings say for what not.",
	},
	"header.live.dmarc.missing": {
		Headline: "The domain of the sender has no DMARC policy",
		Sub: "SPF and DKIM were checked, but the domain does not tell receivers what to do with forged mail. Its " +
			"owner should publish a policy.",
	},
	"header.live.undecided": {
		Headline: "Whether the message is authentic cannot be told from this alone",
		Sub: "What was submitted is in order as far as it goes. Submit the whole message with all its fields to " +
			"decide DMARC.",
	},
	"header.live.forwarded": {
		Headline: "The message is authentic, and was forwarded",
		Sub:      "DKIM still verifies, so DMARC passes; SPF is about the forwarder, as it must be.",
	},
	"header.live.spf.fail": {
		Headline: "SPF fails for the server that delivered the message",
		Sub:      "The envelope sender's domain does not authorize it. The reasons say whether DKIM makes up for that.",
	},
	"header.live.spf.helo": {
		Headline: "The server uses a HELO name that does not authorize it",
		Sub: "The operator of the server should authorize its address for that name; the message itself is judged by " +
			"DMARC.",
	},
	"header.live.spf.permerror": {
		Headline: "The SPF record of the envelope sender is broken",
		Sub:      "Receivers cannot evaluate it, so SPF counts for nothing until its owner corrects it.",
	},
	"header.live.dkim.body": {
		Headline: "The body was changed after it was signed with DKIM",
		Sub:      "Something on the way altered the content: confirm what matters with the sender before relying on it.",
	},
	"header.live.dkim.signature": {
		Headline: "A DKIM signature does not verify",
		Sub: "The header was changed after signing, or the key was replaced since. The reasons say whether the " +
			"message is authentic all the same.",
	},
	"header.live.dkim.key": {
		Headline: "A DKIM signature cannot be verified",
		Sub: "Its key or its tags are at fault, which the signer has to fix. The reasons say whether the message is " +
			"authentic all the same.",
	},
	"header.live.dkim.policy": {
		Headline: "A DKIM signature is too weak to be accepted",
		Sub:      "It matches the message, but receivers refuse its algorithm, key or form. The signer has to change that.",
	},
	"header.live.dkim.appended": {
		Headline: "Part of the body is not covered by the DKIM signature",
		Sub:      "Anybody may have added what stands at its end; do not rely on that part.",
	},
	"header.live.ptr.missing": {
		Headline: "The sending address has no name in the DNS (PTR record)",
		Sub: "Large receivers refuse or defer mail from such addresses. The operator of the server has to publish a " +
			"PTR record.",
	},
	"header.live.ptr.unconfirmed": {
		Headline: "The name of the sending address does not lead back to it",
		Sub: "Large receivers ask for a name that does. The operator of the server has to correct the PTR or the " +
			"address record.",
	},
}
