package header

import "github.com/diagkit/diagkit/diag"

// auditTexts are what the verdict of an audit says in words.
var auditTexts = diag.Texts{
	"excellent": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage, and no result of authentication speaks against the sender.",
	},
	"valid": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage. The findings tell what could be better.",
	},
	"warning": {
		Headline: "The header has something that deserves a look",
		Sub:      "The findings say what it is, and whether the sender or the receiver should act.",
	},
	"invalid": {
		Headline: "The header has a grave fault",
		Sub:      "Do not trust the message before the first finding is explained.",
	},
	"header.fields.none": {
		Headline: "The text is no header",
		Sub:      "No line begins with the name of a field. Copy the source of the message from the mail program.",
	},
	"header.from.missing": {
		Headline: "The header has no From field",
		Sub:      "Without it nobody is named as the sender. Copy the whole header, or fix the program that sends.",
	},
	"header.date.missing": {
		Headline: "The header has no Date field",
		Sub:      "Every message must have one. Copy the whole header, or fix the program that sends.",
	},
	"header.from.duplicate": {
		Headline: "The header has several From fields",
		Sub:      "Programs differ in which one they show and which one they check. Do not trust the message.",
	},
	"header.from.multiple": {
		Headline: "From has more than one address",
		Sub:      "DMARC has no single domain to check, and most receivers refuse such messages. Send with one author.",
	},
	"header.from.invalid": {
		Headline: "From has no valid address",
		Sub:      "Receivers refuse mail without one. Fix the program that sends.",
	},
	"header.from.lookalike": {
		Headline: "The domain in From is made to look like another one",
		Sub:      "Such domains pass all checks. Treat the message as forged until the sender has confirmed it.",
	},
	"header.from.display_address": {
		Headline: "The display name shows another address than the real one",
		Sub:      "Judge the message by the real address in From; DMARC does not protect the name.",
	},
	"header.from.display_domain": {
		Headline: "The display name shows another domain than the real one",
		Sub:      "Judge the message by the real address in From; DMARC does not protect the name.",
	},
	"header.from.brand": {
		Headline: "The display name is that of a well-known company",
		Sub:      "The domain is not known as one of that company. Check it before you trust the message.",
	},
	"header.reply_to.freemail": {
		Headline: "Answers go to a free mail address instead of the sender",
		Sub:      "Fraud with invoices begins so. Ask the sender another way before you answer.",
	},
	"header.dmarc.fail": {
		Headline: "DMARC failed: the sender is not authenticated",
		Sub:      "The receiving side could not authenticate the domain in From. The findings say why.",
	},
	"header.dmarc.forwarded": {
		Headline: "DMARC failed because a list or forwarder changed the message",
		Sub:      "Before that it passed, as the ARC chain says, which the receiving side found valid.",
	},
	"header.dmarc.error": {
		Headline: "DMARC could not be evaluated when the message arrived",
		Sub:      "Whether the sender is authentic is not known. Check the DMARC record and its name servers.",
	},
	"header.spf.fail": {
		Headline: "SPF failed, and nothing else authenticates the sender",
		Sub:      "The sending address is not authorized. Do not trust the message before that is explained.",
	},
	"header.spf.weak": {
		Headline: "SPF does not authorize the sending address",
		Sub:      "Nothing proves that the sender is authentic. If the message is yours, add the service to the SPF record.",
	},
	"header.dkim.fail": {
		Headline: "The DKIM signature failed to verify",
		Sub:      "The message was changed behind the signer, or the key does not fit. Other results may still vouch for it.",
	},
	"header.alignment.none": {
		Headline: "What passed authentication is not the domain in From",
		Sub:      "SPF or DKIM passed for another domain, which says nothing about the sender that is shown.",
	},
	"header.authres.contradicted": {
		Headline: "Results that came with the message contradict the real ones",
		Sub:      "Only believe those of the receiving servers; the others may be written by the sender.",
	},
	"header.authres.forged": {
		Headline: "The message brought results in the receiver's name",
		Sub:      "Ignore them, and let the border server remove such fields.",
	},
	"header.arc.order": {
		Headline: "The ARC chain is damaged: a set is missing or invalid",
		Sub:      "It proves nothing. Ignore the chain; ARC itself is no reason to refuse a message.",
	},
	"header.spam.malicious": {
		Headline: "A filter took the message for phishing, spoofing or malware",
		Sub:      "Do not open links or attachments before the sender has confirmed the message.",
	},
	"header.spam.spam": {
		Headline: "A filter took the message for spam",
		Sub:      "The details of the verdict say which tests counted.",
	},
	"header.lines.malformed": {
		Headline: "The header has a malformed line",
		Sub:      "It is no field and continues none; the rest was read. Check whether copying broke it.",
	},
	"header.lines.long": {
		Headline: "The header has a line longer than 998 bytes",
		Sub:      "Servers may break such lines, and signatures with them. Fold the field.",
	},
	"header.fields.duplicate": {
		Headline: "A field that may occur once occurs several times",
		Sub:      "Programs differ in which one they use. Fix the program that sends.",
	},
	"header.date.future": {
		Headline: "The date lies in the future: a wrong clock, or a trick of spam",
		Sub:      "It is later than the first server took the message. Set the clock of the sending device.",
	},
	"header.date.past": {
		Headline: "The date lies days before the message was sent",
		Sub:      "An old message was sent again, or a clock is wrong.",
	},
	"header.date.invalid": {
		Headline: "The date cannot be read",
		Sub:      "Fix the program that sends.",
	},
	"header.hop.delay.long": {
		Headline: "Delivery was delayed for an hour or more",
		Sub:      "The finding names the hop where the time was lost. Look into the logs of the server before it.",
	},
	"header.hop.tls.missing": {
		Headline: "The message crossed the Internet without TLS",
		Sub:      "Everyone on the path could read it. Let both servers use STARTTLS.",
	},
	"header.hop.time.backwards": {
		Headline: "The clock of a server on the way is wrong",
		Sub:      "Time runs backwards between two hops. Set the clock, or doubt the older field.",
	},
	"header.received.loop": {
		Headline: "The message was in a loop",
		Sub:      "Find the servers that appear again and again, and correct the routing between them.",
	},
	"header.list.one_click.https": {
		Headline: "One-click unsubscribe does not work without an https address",
		Sub:      "Add one to List-Unsubscribe; large providers demand it of bulk senders.",
	},
	"header.list.one_click.unsigned": {
		Headline: "One-click unsubscribe is not covered by DKIM and is ignored",
		Sub:      "Add both fields to what is signed.",
	},
	"header.list.one_click.value": {
		Headline: "One-click unsubscribe has a wrong value and is ignored",
		Sub:      "Write exactly List-Unsubscribe=One-Click.",
	},
	"header.message_id.missing": {
		Headline: "The header has no Message-ID",
		Sub:      "Large providers count that against a message. Let the sending program add one.",
	},
	"header.authres.missing": {
		Headline: "The header is consistent, but tells no authentication results",
		Sub:      "Whether the sender is authentic cannot be told from it alone.",
	},
}
