package aggregate

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "Mail of the domain passes DMARC, and the policy is enforced",
		Sub:      "Nothing to do. Check the reports of other receivers too, and again when a new service sends for you.",
	},
	"valid": {
		Headline: "Mail of the domain passes DMARC",
		Sub:      "The findings say what can be improved. Check the reports of other receivers too.",
	},
	"warning": {
		Headline: "DMARC report with findings to look at",
		Sub:      "The findings say what should be fixed, and by whom.",
	},
	"invalid": {
		Headline: "DMARC report with a serious fault",
		Sub:      "Mail or numbers are lost. Start with the first finding.",
	},
	"unknown": {
		Headline: "The DMARC report says nothing about the mail of the domain",
		Sub:      "The report holds no numbers to judge. Analyze the reports of other receivers.",
	},
	"dmarc.report.records.none": {
		Headline: "The DMARC report counts no messages",
		Sub:      "It says nothing about the mail of the domain. Analyze the reports of other receivers or days.",
	},

	"dmarc.report.kind.tls": {
		Headline: "Not a DMARC report but a TLS report (RFC 8460)",
		Sub:      "It is about TLS connections, not about who sends in your name. Upload the XML of a DMARC report.",
	},
	"dmarc.report.kind.failure": {
		Headline: "Not an aggregate report but a DMARC failure report",
		Sub:      "It is about one message that failed. Upload the XML sent to one of your rua addresses.",
	},
	"dmarc.report.kind.dmarc_record": {
		Headline: "Not a DMARC report but a DMARC record",
		Sub:      "Check the record with dmarc/validate. Reports come by mail from the receivers.",
	},
	"dmarc.report.kind.empty": {
		Headline: "Not a DMARC report: the file is empty",
		Sub:      "Save the attachment again and upload it as it is.",
	},
	"dmarc.report.kind.message": {
		Headline: "Not a DMARC report: the message has none attached",
		Sub:      "Upload the message with its attachments, or the attachment itself.",
	},
	"dmarc.report.kind.archive": {
		Headline: "Not a DMARC report: the archive holds none",
		Sub:      "Upload the archive that came as attachment of the report.",
	},
	"dmarc.report.kind.encrypted": {
		Headline: "Not readable: the archive is protected by a password",
		Sub:      "Unpack it and upload the XML. Real reports have no password, so be careful.",
	},
	"dmarc.report.kind.compression": {
		Headline: "Not readable: a compression that is not used for reports",
		Sub:      "Unpack the file and upload the XML in it.",
	},
	"dmarc.report.kind.damaged": {
		Headline: "Not readable: the archive is damaged",
		Sub:      "Nothing in it could be unpacked. Save the attachment again and upload it.",
	},
	"dmarc.report.kind.other": {
		Headline: "Not a DMARC report: the file holds something else",
		Sub:      "Upload the attachment of a message sent to one of your rua addresses: XML, usually in gzip or zip.",
	},
	"dmarc.report.xml.truncated": {
		Headline: "The DMARC report is truncated: its XML ends too early",
		Sub:      "What could be read is shown, but numbers are missing. Upload the whole file.",
	},

	"dmarc.report.legitimate.blocked": {
		Headline: "Legitimate mail fails DMARC and is not delivered as usual",
		Sub:      "The enforced policy hits your own mail. Fix the sources that the findings name now.",
	},
	"dmarc.report.spoofing.delivered": {
		Headline: "Spoofed mail in your name is delivered: the policy is p=none",
		Sub:      "Mail that is not authenticated uses the domain. Fix what fails of your own mail, then enforce the policy.",
	},
	"dmarc.report.spoofing.spared": {
		Headline: "Spoofed mail was delivered in spite of the policy",
		Sub:      "The policy does not cover all mail, or the receiver spared some. The findings say which and why.",
	},
	"dmarc.report.spoofing.stopped": {
		Headline: "Spoofed mail in your name was rejected or quarantined",
		Sub:      "Receivers kept the forged messages out of the inbox, as they should.",
	},
	"dmarc.report.forwarding.blocked": {
		Headline: "Forwarded mail fails DMARC and is not delivered as usual",
		Sub:      "Forwarders and mailing lists break authentication. Sign all mail with DKIM, and weigh p=quarantine.",
	},
	"dmarc.report.service.unaligned": {
		Headline: "A sending service of yours fails DMARC",
		Sub:      "Its mail is lost once the policy is enforced. Set up DKIM signing with your domain there.",
	},
	"dmarc.report.sender.failing": {
		Headline: "Some of your own mail fails DMARC",
		Sub:      "It is lost once the policy is enforced. Sign it with DKIM, and list its servers in the SPF record.",
	},
	"dmarc.report.unknown.failing": {
		Headline: "Mail of unknown sources fails DMARC",
		Sub:      "Find out whether a service of yours is among them before you enforce the policy.",
	},
	"dmarc.report.alignment.strict": {
		Headline: "Strict alignment makes authenticated mail fail",
		Sub:      "The mail is authenticated by your own organization. Use relaxed alignment, or exactly the same domain.",
	},
	"dmarc.report.spf.permerror": {
		Headline: "Receivers cannot evaluate the SPF record of the domain",
		Sub:      "Mail passes by DKIM alone, or not at all. Check the record with spf/lookup.",
	},
	"dmarc.report.dkim.key": {
		Headline: "Receivers find no usable key for DKIM signatures of the domain",
		Sub:      "Signed mail counts as unsigned. Look up the selector that the finding names.",
	},
	"dmarc.report.dkim.broken": {
		Headline: "DKIM signatures of your own servers fail",
		Sub:      "The mail passes by SPF alone, and fails once it is forwarded. Check the key and the signing server.",
	},
	"dmarc.report.policy.subdomains": {
		Headline: "Subdomains are not protected: their policy (sp) is weaker",
		Sub:      "Forged mail can use a subdomain. Raise sp to the value of p once their own mail passes.",
	},
	"dmarc.report.policy.nonexistent": {
		Headline: "Names that do not exist are not protected (np)",
		Sub:      "Forged mail can use any invented subdomain. Set np=reject.",
	},
	"dmarc.report.policy.percentage": {
		Headline: "The policy applies to only a part of the mail (pct)",
		Sub:      "The rest of the forged mail is delivered. Remove pct once your own mail passes.",
	},
	"dmarc.report.policy.testing": {
		Headline: "The policy is in test mode (t=y)",
		Sub:      "Receivers apply a weaker policy than published. Remove t=y once your own mail passes.",
	},
	"dmarc.report.policy.none": {
		Headline: "The policy is p=none: failing mail is only reported",
		Sub:      "Mail of the domain passes DMARC, but spoofed mail would be delivered. See whether it is ready to enforce.",
	},
	"dmarc.report.domain.foreign": {
		Headline: "The DMARC report holds records of another domain",
		Sub:      "The receiver mixed up reports. What it says about your domain stands; tell the receiver.",
	},
	"dmarc.report.errors.reported": {
		Headline: "The receiver had errors while it made the DMARC report",
		Sub:      "They are often about an invalid or duplicate DMARC record. Check it with dmarc/lookup.",
	},
	"dmarc.report.time.order": {
		Headline: "The DMARC report ends before it begins",
		Sub:      "The counts stand, but not for which day. Tell the receiver.",
	},
	"dmarc.report.time.future": {
		Headline: "The DMARC report is about a time that has not come yet",
		Sub:      "The counts stand, but not for which day. Tell the receiver that its clock is wrong.",
	},
	"dmarc.report.archive.damaged": {
		Headline: "The archive is damaged: the DMARC report may be incomplete",
		Sub:      "Save the attachment again, in binary form, and compare the numbers.",
	},
	"dmarc.report.count.invalid": {
		Headline: "The DMARC report has records without a usable count",
		Sub:      "They are left out of all totals; the other records count. Tell the receiver.",
	},
	"dmarc.report.address.invalid": {
		Headline: "The DMARC report names sources that are not IP addresses",
		Sub:      "Their messages are counted, but nobody can tell where they came from. Tell the receiver.",
	},
	"dmarc.report.xml.encoding": {
		Headline: "The DMARC report has characters that are not UTF-8",
		Sub:      "Counts and addresses are not affected. Tell the receiver.",
	},
	"dmarc.report.xml.malformed": {
		Headline: "The DMARC report is not well-formed XML",
		Sub:      "What could be read is shown; other tools refuse the file. Tell the receiver.",
	},
	"dmarc.report.metadata.missing": {
		Headline: "The DMARC report lacks required metadata",
		Sub:      "The records count in full. Tell the receiver.",
	},
	"dmarc.report.policy.missing": {
		Headline: "The DMARC report does not say what policy was published",
		Sub:      "The counts stand. Check the record itself with dmarc/lookup.",
	},
	"dmarc.report.record.missing": {
		Headline: "The DMARC report has incomplete records",
		Sub:      "What is missing was worked out where possible. Tell the receiver.",
	},
	"dmarc.report.value.invalid": {
		Headline: "The DMARC report has values that the format does not define",
		Sub:      "None of them counts as a pass. Tell the receiver.",
	},
	"dmarc.report.records.limit": {
		Headline: "The DMARC report has more records than are read",
		Sub:      "The totals cover only the records that were read. Split the file.",
	},
	"dmarc.report.files.unread": {
		Headline: "Only the first file was read: there may be another DMARC report",
		Sub:      "Upload the other files one by one.",
	},
	"dmarc.report.evaluation.contradiction": {
		Headline: "The DMARC report contradicts itself",
		Sub:      "Evaluation and results of the receiver do not match. Do not act on these records alone.",
	},
	"dmarc.report.passed.blocked": {
		Headline: "Mail that passes DMARC was quarantined or rejected",
		Sub:      "DMARC was not the reason. Ask the receiver, and look at the reputation of the senders.",
	},
}
