package header

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// forSender is the advice for the sender of a message, by code, where the advice of the rule addresses the recipient.
var forSender = map[diag.Code]string{
	"header.live.dmarc.fail":           authenticateAuthor,
	"header.live.dmarc.fail.unclear":   authenticateAuthor,
	"header.live.dmarc.fail.monitored": authenticateAuthor,
	"header.live.author.nxdomain":      "Send with a domain in From that exists and receives mail.",
	"header.live.dmarc.missing": "Publish a DMARC record for the domain in From. Begin with p=none and an address for " +
		"reports (rua).",
	"header.live.spf.fail": "Authorize this server in the SPF record of the envelope sender's domain, or send through " +
		"a server that it authorizes.",
	"header.live.spf.all": "List the servers that send for the domain in its SPF record, and end it with -all or ~all.",
	"header.live.dkim.body": "Find what changes messages after they are signed, such as a disclaimer or a virus filter, " +
		"and sign after it.",
	"header.live.dkim.signature": "Check that the published key belongs to the private key that signs, and that nothing " +
		"changes the signed fields afterwards.",
	"header.live.spf.permerror": "Correct the SPF record of the envelope sender's domain. Use spf/lookup to see what is " +
		"wrong with it.",
	"header.live.spf.helo": "Authorize the address of your server in the SPF record of its HELO name, such as " +
		"\"v=spf1 a -all\", or use a HELO name of its own.",
	"header.live.ptr.missing": "Publish a PTR record for the address of your server, with a host name that resolves to " +
		"this address; often its hosting provider does that. Google, Microsoft and Yahoo reject or defer mail from " +
		"addresses without one.",
	"header.live.ptr.unconfirmed": "Publish an address record for the name in the PTR record of your server: large " +
		"receivers require one that resolves back.",
	"header.live.dkim.key": "Publish a valid key under the selector that signs, and keep old keys published for at " +
		"least a week after the last signature. Use dkim/lookup to see what is wrong with the key.",
	"header.live.dkim.strict": "Leave i= out of the signature, or name the domain of d= itself in it. If you sign for " +
		"subdomains with this key, remove s from t= in the key record.",
	"header.live.dkim.expired": "Set x= of the signature at least a week after t=, or leave it out: queues and " +
		"greylisting delay messages.",
	"header.live.dkim.policy": "Sign with rsa-sha256 and a 2048-bit key, or with Ed25519 in addition, and correct what " +
		"the detail names.",
	"header.live.dkim.body_unsigned": signWhole,
	"header.live.dkim.appended":      signWhole,
	"header.dkim.mime_unsigned":      signWhole,
	"header.dkim.subject_unsigned": "List Subject in h= of the signature: otherwise the message can be sent with any " +
		"other.",
	"header.dkim.field_added": "Write the field once, and list its name in h= once more than it occurs, so that no " +
		"other can be added.",
	"header.live.dkim.reply_to":   "List Reply-To in h= of the signature.",
	"header.reply_to.freemail":    ownReplyTo,
	"header.reply_to.elsewhere":   ownReplyTo,
	"header.from.duplicate":       "Write only one From field: receivers reject messages with several.",
	"header.from.display_address": plainName,
	"header.from.display_domain":  plainName,
	"header.from.brand":           plainName,
	"header.from.lookalike": "Send from a domain that cannot be taken for another one: filters treat such mail as " +
		"phishing.",
	"header.text.direction": "Remove the invisible characters from names and subject: filters treat them as deception.",
}

const (
	authenticateAuthor = "Sign the mail with DKIM for the domain in From, or authorize this server in the SPF record of " +
		"that domain and use it in the envelope sender. As it is, receivers cannot tell the message from a forged one."
	signWhole = "Sign without l=, and list the MIME fields in h=: otherwise anyone can send another text with the " +
		"signature."
	ownReplyTo = "Use a Reply-To in the domain of From: filters take replies to another one for a sign of fraud."
	plainName  = "Use a display name without another address, domain or company: filters treat it as phishing."
)

// ForSender returns the report with advice for the sender, which says what to change, in place of advice for the
// recipient.
func (r *AnalyzeReport) ForSender() *AnalyzeReport {
	own := *r
	own.Findings, own.Recommendations = slices.Clone(r.Findings), slices.Clone(r.Recommendations)
	for i := range own.Findings {
		f := &own.Findings[i]
		advice, ok := forSender[f.Code]
		if !ok {
			continue
		}
		if own.Sub == f.Advice {
			own.Sub = advice
		}
		f.Advice = advice
	}
	for i := range own.Recommendations {
		if advice, ok := forSender[own.Recommendations[i].Code]; ok {
			own.Recommendations[i].Detail = advice
		}
	}
	return &own
}
