package header

import "github.com/diagkit/diagkit/diag"

// auditTexts are what the verdict of an audit says in words.
var auditTexts = diag.Texts{
	"excellent": {
		Headline: "The header is consistent and shows no anomalies",
		Sub: "Nothing in it suggests deception or damage, and the domain in From " +
			"did not fail authentication.",
	},
	"valid": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage. The findings list possible improvements.",
	},
	"warning": {
		Headline: "The header has a problem that deserves attention",
		Sub:      "The findings explain it, and whether the sender or the receiver should act.",
	},
	"invalid": {
		Headline: "The header has a serious fault",
		Sub:      "Do not trust the message until the first finding is explained.",
	},
	"header.fields.none": {
		Headline: "The text is not a message header",
		Sub:      "No line starts with a field name and a colon. Copy the message source from the mail program.",
	},
	"header.from.missing": {
		Headline: "The header has no From field",
		Sub:      "Every message must name its author. Copy the whole header, or fix the sending program.",
	},
	"header.date.missing": {
		Headline: "The header has no Date field",
		Sub:      "Every message must have one. Copy the whole header, or fix the sending program.",
	},
	"header.from.duplicate": {
		Headline: "The header has several From fields",
		Sub: "Mail programs differ in which one they display and which one they check. Do not trust the " +
			"message.",
	},
	"header.from.multiple": {
		Headline: "From has more than one address",
		Sub: "DMARC has no single domain to check, and most receivers reject such messages. Send with one " +
			"author.",
	},
	"header.from.invalid": {
		Headline: "From has no valid address",
		Sub:      "Receivers reject mail without one. Fix the sending program.",
	},
	"header.from.lookalike": {
		Headline: "The domain in From imitates another domain",
		Sub: "Such domains can pass all checks. Treat the message as forged until the sender has " +
			"confirmed it.",
	},
	"header.from.display_address": {
		Headline: "The display name shows another address than the real one",
		Sub:      "Judge the message by the real address in From. DMARC does not protect the display name.",
	},
	"header.from.display_domain": {
		Headline: "The display name shows another domain than the real one",
		Sub:      "Judge the message by the real address in From. DMARC does not protect the display name.",
	},
	"header.from.brand": {
		Headline: "The display name uses the name of a well-known company",
		Sub:      "The domain is not known to belong to that company. Check it before you trust the message.",
	},
	"header.reply_to.freemail": {
		Headline: "Replies go to a free mail address instead of the sender",
		Sub:      "This is typical of invoice fraud. Contact the sender through another channel before you reply.",
	},
	"header.dmarc.fail": {
		Headline: "DMARC failed: the sender is not authenticated",
		Sub:      "The receiving server could not authenticate the domain in From. The findings explain why.",
	},
	"header.dmarc.forwarded": {
		Headline: "DMARC failed because a list or forwarder changed the message",
		Sub:      "It passed before that, according to the ARC chain, which the receiving server found valid.",
	},
	"header.dmarc.error": {
		Headline: "DMARC could not be evaluated when the message arrived",
		Sub: "Whether the sender is authentic is unknown. Check the DMARC record and the name servers of " +
			"the domain.",
	},
	"header.spf.fail": {
		Headline: "SPF failed, and nothing else authenticates the sender",
		Sub:      "The sending address is not authorized. Do not trust the message until this is explained.",
	},
	"header.spf.weak": {
		Headline: "SPF does not authorize the sending address",
		Sub: "Nothing proves that the sender is authentic. If you sent the message, add the service to " +
			"the SPF record.",
	},
	"header.dkim.fail": {
		Headline: "The DKIM signature failed to verify",
		Sub: "The message was changed after signing, or the key does not match. Other results may still " +
			"authenticate it.",
	},
	"header.alignment.none": {
		Headline: "Authentication passed, but not for the domain in From",
		Sub:      "SPF or DKIM passed for another domain, which says nothing about the sender that is displayed.",
	},
	"header.authres.contradicted": {
		Headline: "Authentication results from outside contradict the real ones",
		Sub:      "Trust only those of the receiving servers. The others may have been written by the sender.",
	},
	"header.authres.forged": {
		Headline: "The message has forged results in the receiver's name",
		Sub:      "Ignore them, and configure the border server to remove such fields.",
	},
	"header.arc.order": {
		Headline: "The ARC chain is damaged: a set is missing or invalid",
		Sub:      "It proves nothing. Ignore the chain; ARC itself is no reason to reject a message.",
	},
	"header.spam.malicious": {
		Headline: "A filter flagged the message as phishing, spoofing or malware",
		Sub:      "Do not open links or attachments before the sender has confirmed the message.",
	},
	"header.spam.spam": {
		Headline: "A filter classified the message as spam",
		Sub:      "The details of the verdict show which tests added to the score.",
	},
	"header.lines.malformed": {
		Headline: "The header has a malformed line",
		Sub: "It is neither a field nor the continuation of one. The rest was read. Check whether copying " +
			"broke it.",
	},
	"header.lines.long": {
		Headline: "The header has a line longer than 998 bytes",
		Sub:      "Servers may break such lines, and DKIM signatures with them. Fold the field.",
	},
	"header.fields.duplicate": {
		Headline: "A field that may appear only once is repeated",
		Sub:      "Mail programs differ in which one they use. Fix the sending program.",
	},
	"header.date.future": {
		Headline: "The Date is in the future: a wrong clock, or a spam trick",
		Sub: "It is later than the time at which the first server received the message. Correct the clock " +
			"of the sending device.",
	},
	"header.date.past": {
		Headline: "The Date is days before the message was sent",
		Sub:      "An old message was sent again, or a clock is wrong.",
	},
	"header.date.invalid": {
		Headline: "The Date field cannot be parsed",
		Sub:      "Fix the sending program.",
	},
	"header.hop.delay.long": {
		Headline: "Delivery was delayed for an hour or more",
		Sub:      "The finding names the hop where the time was lost. Check the logs of the server before it.",
	},
	"header.hop.tls.missing": {
		Headline: "The message crossed the Internet without TLS",
		Sub:      "It could be read in transit. Enable STARTTLS on both servers.",
	},
	"header.hop.time.backwards": {
		Headline: "The clock of a server on the path is wrong",
		Sub: "Time runs backwards between two hops. Correct the clock, or treat the older field with " +
			"suspicion.",
	},
	"header.received.loop": {
		Headline: "The message was in a mail loop",
		Sub:      "Find the servers that appear again and again, and correct the routing between them.",
	},
	"header.list.one_click.https": {
		Headline: "One-click unsubscribe does not work without an https URI",
		Sub:      "Add one to List-Unsubscribe. Large providers require it from bulk senders.",
	},
	"header.list.one_click.unsigned": {
		Headline: "One-click unsubscribe is ignored: no valid DKIM signature covers it",
		Sub:      "Add List-Unsubscribe and List-Unsubscribe-Post to the signed fields.",
	},
	"header.list.one_click.value": {
		Headline: "One-click unsubscribe is ignored: the value is invalid",
		Sub:      "Set List-Unsubscribe-Post to exactly List-Unsubscribe=One-Click.",
	},
	"header.message_id.missing": {
		Headline: "The header has no Message-ID",
		Sub:      "Large providers count that against a message. Have the sending program add one.",
	},
	"header.authres.missing": {
		Headline: "The header is consistent, but authentication was not recorded",
		Sub: "Whether the sender is authentic cannot be determined from this header. Use " +
			"mail/header-analyze to check it now.",
	},
}
