package aggregate

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// fileRules are about what the file is. One of them fails if it is no report, and nothing else is judged then.
var fileRules = diag.Rules[*evidence]{
	notReport("dmarc.report.kind.tls", "TLS report, not a DMARC report", "The file is not a TLS report",
		"RFC 8460 section 4.4", "Read it with a tool for TLS reports: it was sent because the domain has a TLSRPT "+
			"record. DMARC aggregate reports are XML files.",
		"The file is a TLS report in JSON (RFC 8460), about TLS connections to the mail servers of a domain.",
		contentTLSReport),
	notReport("dmarc.report.kind.failure", "DMARC failure report, not an aggregate report",
		"The file is not a failure report", "RFC 9991 section 3", "Look at the message in it, which failed DMARC. "+
			"Aggregate reports come to the addresses of rua, failure reports to those of ruf.",
		"The file is a failure report, about one message that failed DMARC.", contentFailure),
	notReport("dmarc.report.kind.dmarc_record", "DMARC record, not a DMARC report", "The file is not a DMARC record",
		"RFC 9989 section 4.7",
		"Check the record with dmarc/validate. Reports are sent by receivers of mail to the addresses in its tag rua.",
		"The text is the DMARC record of a domain.", contentRecord),
	notReport("dmarc.report.kind.empty", "Empty file", "The file is not empty", "RFC 9990 section 3.1",
		"Save the attachment again and upload it as it is.", "The file is empty.", contentEmpty, contentNoFiles),
	notReport("dmarc.report.kind.message", "Message without a DMARC report", "The message has a report attached",
		"RFC 9990 section 3.5.2",
		"Upload the message with its attachments, or the attachment itself: an XML file, usually in gzip or zip.",
		"The message has no aggregate report attached.", contentMessage),
	notReport("dmarc.report.kind.archive", "Archive without a DMARC report", "The archive holds a report",
		"RFC 9990 section 3.5.2", "Upload the archive that was attached to the report message: it holds one XML file.",
		"The archive holds no aggregate report.", contentArchive),
	notReport("dmarc.report.kind.encrypted", "Archive protected by a password",
		"The archive is not protected by a password", "RFC 9990 section 3.5.2", "Unpack the archive and upload the XML "+
			"file in it. Real reports have no password: be careful if the message supplies one.",
		"The archive cannot be opened without a password.", contentEncrypted),
	notReport("dmarc.report.kind.compression", "Compression that is not used for reports",
		"The compression is gzip or zip", "RFC 9990 section 3.5.2", "Unpack the file and upload the XML file in it.",
		"The file is compressed in a format that is not used for reports, which come as gzip, zip or plain XML.",
		contentUnsupported),
	notReport("dmarc.report.kind.damaged", "Damaged archive: nothing can be read", "The archive can be unpacked",
		"RFC 9990 section 3.5.2", "Save the attachment again, in binary form, and upload it. If it is damaged there too, "+
			"the receiver that sent it has to repair its reports.",
		"The archive is broken, and nothing in it could be unpacked.", contentBroken),
	{
		Code: "dmarc.report.kind.other", Severity: diag.Error, NoScore: true, Ref: "RFC 9990 section 3.1.1",
		Title: "Not a DMARC report", Requirement: "The file is an aggregate report",
		Advice: "Upload the attachment of a message sent to one of your rua addresses: XML, usually in gzip or zip.",
		When:   func(e *evidence) bool { return e.other == nil || slices.Contains(otherContents, e.other.Content) },
		Fails: func(e *evidence) diag.Failures {
			if e.other == nil {
				return nil
			}
			return e.other.describe("The file is not an aggregate report in XML.")
		},
	},
}

var otherContents = []content{contentJSON, contentHTML, contentXML, contentCSV, ContentText, contentBinary,
	contentOtherReport}

var contentText = map[content]string{
	contentJSON: "It holds JSON", contentHTML: "It is a web page", contentXML: "It is XML of another kind",
	contentCSV: "It is a table", ContentText: "It is text", contentBinary: "It holds binary data",
	contentOtherReport: "It is a report of another kind", contentNoFiles: "It is an archive without files",
	contentArchive: "It holds other files", contentMessage: "It has other parts",
	contentUnsupported: "The format is another",
}

func notReport(code diag.Code, title, requirement, ref, advice, detail string,
	contents ...content) rule {
	return rule{
		Code: code, Severity: diag.Error, NoScore: true,
		Title: title, Requirement: requirement, Ref: ref, Advice: advice,
		When: func(e *evidence) bool { return e.other != nil }, // of a report there is nothing to say here
		Fails: func(e *evidence) diag.Failures {
			if !slices.Contains(contents, e.other.Content) {
				return nil
			}
			return e.other.describe(detail)
		},
	}
}

func (other *notReportError) describe(detail string) diag.Failures {
	if what := contentText[other.Content]; what != "" {
		detail += " " + what
		if other.Detail != "" {
			detail += ": " + diag.Quote(other.Detail)
		}
		detail += "."
	}
	return diag.Fail("%s", detail).About(diag.Quote(other.Name))
}
