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
		Sub: "SPF or DKIM confirms that it was sent for the domain in From. Whether that is the domain that you know, only " +
			"you can tell: compare it letter by letter.",
	},
	string(diag.Warned): {
		Headline: "The message has faults that receivers may hold against it",
		Sub:      "The findings explain them, and who has to fix them.",
	},
	string(diag.Bad): {
		Headline: "The message is not authentic, or damaged",
		Sub:      "Do not rely on it before the sender has confirmed it. The findings explain what is wrong.",
	},
	string(diag.Unknown): {
		Headline: "Whether the message is authentic could not be checked",
		Sub: "DNS lookups failed. Nothing speaks against the message, and nothing for it. Repeat the " +
			"check later.",
	},
	"header.live.dns": {
		Headline: "DNS lookups failed: authenticity could not be checked",
		Sub:      "Nothing can be concluded now, least of all that the message is forged. Repeat the check later.",
	},
	"header.live.dmarc.fail": {
		Headline: "DMARC fails: the message is probably not from its author",
		Sub: "Neither SPF nor DKIM authenticates the domain in From, which asks receivers not to deliver " +
			"such mail. Do not open its links before the sender has confirmed it.",
	},
	"header.live.dmarc.fail.unclear": {
		Headline: "DMARC fails, though the message may be genuine",
		Sub: "Something other than forgery can explain the failure, such as a mailing list, a forwarder " +
			"or a filter. The reasons list what is known.",
	},
	"header.live.dmarc.fail.since": {
		Headline: "DMARC fails now, some time after delivery",
		Sub: "Keys and records have probably changed since. The results that the receiver recorded at " +
			"delivery carry more weight.",
	},
	"header.live.dmarc.fail.monitored": {
		Headline: "DMARC fails, but the policy of the domain is not enforced",
		Sub: "Neither SPF nor DKIM authenticates the domain in From. Ask the sender before relying on the " +
			"message.",
	},
	"header.live.author.nonexistent": {
		Headline: "The sender's domain does not exist",
		Sub:      "Such a domain can neither send nor receive mail. Treat the message as forged.",
	},
	"header.live.spf.all": {
		Headline: "SPF passes, but for every server on the Internet",
		Sub: "The record authorizes anyone to send, so the pass proves nothing. The reasons say whether " +
			"DKIM authenticates the message.",
	},
	"header.live.dkim.caution": {
		Headline: "A DKIM signature is misleading",
		Sub:      "It verifies, but does not prove what it appears to. The findings explain the difference.",
	},
	"header.live.dmarc.missing": {
		Headline: "The sender's domain has no DMARC policy",
		Sub: "SPF and DKIM were checked, but the domain does not tell receivers how to handle forged " +
			"mail. Its owner should publish a policy.",
	},
	"header.live.undecided": {
		Headline: "Whether the message is authentic cannot be told from this alone",
		Sub: "No fault was found in what was submitted. Submit the whole message with all its fields to " +
			"evaluate DMARC.",
	},
	"header.live.forwarded": {
		Headline: "The message is authentic and was forwarded",
		Sub:      "DKIM still verifies, so DMARC passes. SPF concerns the forwarder.",
	},
	"header.live.spf.fail": {
		Headline: "SPF fails for the server that delivered the message",
		Sub: "The envelope sender's domain does not authorize it. The reasons say whether DKIM " +
			"compensates for that.",
	},
	"header.live.spf.helo": {
		Headline: "SPF fails for the HELO name of the sending server",
		Sub: "The operator of the server should authorize its address for that name. The message itself " +
			"is judged by DMARC.",
	},
	"header.live.spf.permerror": {
		Headline: "The envelope sender's SPF record is invalid",
		Sub:      "Receivers cannot evaluate it, so SPF counts for nothing until its owner corrects it.",
	},
	"header.live.dkim.body": {
		Headline: "The body was changed after it was signed with DKIM",
		Sub: "Something on the way altered the content. Confirm anything important with the sender before " +
			"relying on it.",
	},
	"header.live.dkim.signature": {
		Headline: "A DKIM signature does not verify",
		Sub: "The header was changed after signing, or the key was replaced since. The reasons say " +
			"whether the message is authentic anyway.",
	},
	"header.live.dkim.key": {
		Headline: "A DKIM signature cannot be verified",
		Sub: "Its key or its tags are invalid, which the signer has to fix. The reasons say whether the " +
			"message is authentic anyway.",
	},
	"header.live.dkim.policy": {
		Headline: "A DKIM signature matches but must not be accepted",
		Sub:      "Receivers reject it because of its algorithm, key, date or form. The signer has to change that.",
	},
	"header.live.dkim.appended": {
		Headline: "Part of the body is not covered by the DKIM signature",
		Sub:      "Anyone may have added the end of the body. Do not rely on that part.",
	},
	"header.live.ptr.missing": {
		Headline: "The sending address has no PTR record",
		Sub: "Large receivers reject or defer mail from such addresses. The operator of the server has to " +
			"publish a PTR record.",
	},
	"header.live.ptr.unconfirmed": {
		Headline: "The PTR name of the sending address does not resolve back to it",
		Sub: "Large receivers require one that does. The operator of the server has to correct the PTR or " +
			"the address record.",
	},
	"header.live.blocklisted": {
		Headline: "The sending address is on a blocklist",
		Sub: "Receivers that use the list reject or filter mail from it, whether this message is authentic or not. The operator " +
			"of the server has to remove the cause.",
	},
}
