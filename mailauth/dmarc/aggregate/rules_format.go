package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// formatRules concern the format of the file. Its faults are those of the receiver that made it, or of intermediaries:
// what could be read counts all the same.
var formatRules = rule.Rules[*evidence]{
	{
		Code: "dmarc.report.xml.truncated", Severity: diag.Error, NoScore: true, Ref: "RFC 9990 section 3.1.1.2",
		Title: "Truncated report: the XML ends too early", Requirement: "The report is complete",
		Advice: "Save the attachment again and upload the whole file. If the message itself is cut off, ask the " +
			"receiver, or raise the size limit of the mailbox.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.report.Truncated, "The XML is incomplete: it ends in the middle of the report. %s could be "+
				"read; what came after them is lost.",
				phrase.Count(int64(e.report.Read), "record"))
		},
	},
	ruleWhen(isPacked, faultRule("dmarc.report.archive.damaged", diag.Warning, "Damaged archive",
		"The archive is undamaged", "RFC 9990 section 3.5.2",
		"Save the attachment again, in binary form, and compare: numbers may be missing.",
		"The archive around the report is damaged, so that records may be missing", nil, Damaged)),
	faultRule("dmarc.report.count.invalid", diag.Warning, "Records without a usable count",
		"Every record has a count", "RFC 9990 section 3.1.1.8",
		"Tell the receiver. The records are left out of all totals, because it is unknown how many messages they represent.",
		"Records are left out because their count is not a number of messages", nil, FaultBadCount),
	faultRule("dmarc.report.address.invalid", diag.Warning, "Invalid source_ip: not an IP address",
		"Every source_ip is an IP address", "RFC 9990 section 3.1.1.8",
		"Tell the receiver. The messages are counted, but where they came from is not known.",
		"The element source_ip of some records is not a valid IP address", nil, FaultBadAddress),
	faultRule("dmarc.report.xml.encoding", diag.Warning, "Characters that are not UTF-8",
		"The characters are in the declared encoding", "RFC 9990 section 3.1.1",
		"Tell the receiver. Numbers and addresses are not affected; names may show a wrong letter.",
		"The file has bytes that are not valid in its character encoding, which is UTF-8 unless it declares "+
			"another", nil, FaultBadEncoding),
	faultRule("dmarc.report.xml.malformed", diag.Warning, "XML that is not well-formed", "The XML is well-formed",
		"RFC 9990 section 3.1.1", "Tell the receiver: other tools refuse the file. What could be read is shown.",
		"The XML is not well-formed", nil, FaultMalformed, FaultBadEntity, FaultBadChar, FaultDoctype),
	faultRule("dmarc.report.metadata.missing", diag.Warning, "Required metadata missing",
		"The metadata is complete", "RFC 9990 section 3.1.1.3",
		"Tell the receiver. Without its name and a report ID, duplicates cannot be recognized.",
		"The metadata lacks required elements", inSection("report_metadata"), FaultMissing),
	faultRule("dmarc.report.policy.missing", diag.Warning, "Published policy incomplete",
		"The published policy is complete", "RFC 9990 section 3.1.1.5",
		"Look the record up with dmarc/lookup: the report does not say what the receiver found.",
		"The section policy_published lacks required elements", inSection("policy_published"), FaultMissing),
	faultRule("dmarc.report.record.missing", diag.Warning, "Records with missing elements",
		"The records are complete", "RFC 9990 section 3.1.1.7",
		"Tell the receiver. What is missing was worked out from the other elements where that is possible.",
		"Records lack required elements", inRecords, FaultMissing),
	faultRule("dmarc.report.value.invalid", diag.Warning, "Values that the format does not define",
		"All values are defined by the format", "RFC 9990 section 3.1.1",
		"Tell the receiver. The values are shown as sent, and none of them counts as a pass.",
		"The report has values that the format does not define", nil, FaultBadValue, FaultRepeated),
	faultRule("dmarc.report.value.cut", diag.Info, "Values cut short or left out", "No value had to be cut",
		"RFC 9990 section 3.1.3", "Ignore this where only totals matter: counts are not affected.",
		"Some values are longer or more than are kept here", func(element string) bool { return element != "record" },
		FaultTooLong, FaultTooMany),
	{
		Code: "dmarc.report.records.limit", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.7",
		Title: "More records than are read", Requirement: "All records are read",
		Advice: "Split the file, or read the rest with a tool of your own: all totals cover only the records that were " +
			"read.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.report.Excess, "The report has more than %s records; those after them were not "+
				"read.", thousands(maxRecords))
		},
	},
}

func isPacked(e *evidence) bool { return len(e.report.Container) > 0 }

func ruleWhen(condition func(*evidence) bool, r rule.Rule[*evidence]) rule.Rule[*evidence] {
	r.When = condition
	return r
}

// inSection matches elements of a section of the report.
func inSection(section string) func(string) bool {
	return func(element string) bool { return strings.HasPrefix(element, section+"/") }
}

func inRecords(element string) bool {
	return element != "record" && element != "feedback" && !inSection("report_metadata")(element) &&
		!inSection("policy_published")(element)
}

// faultRule is the rule that reading met no fault of some kinds, in elements that match.
func faultRule(code diag.Code, severity diag.Severity, title, requirement, ref, advice, detail string,
	match func(element string) bool, kinds ...Kind) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: severity, Ref: ref,
		Title: title, Requirement: requirement,
		Advice: advice,
		Fails: func(e *evidence) rule.Failures {
			var found []string
			for _, f := range e.report.Faults {
				if slices.Contains(kinds, f.Kind) && (match == nil || match(f.Element)) {
					found = append(found, faultText(&f))
				}
			}
			if len(found) == 0 {
				return nil
			}
			text := strings.Join(found[:min(len(found), maxInSentence)], "; ")
			if len(found) > maxInSentence {
				text += fmt.Sprintf("; and %d more", len(found)-maxInSentence)
			}
			return rule.Fail("%s: %s.", detail, text)
		},
	}
}

func faultText(f *Fault) string {
	var p Place
	if len(f.Places) > 0 {
		p = f.Places[0]
	}
	text := kindText[f.Kind]
	switch {
	case text == "" && p.Value == "":
		text = "is empty or missing"
	case text == "":
		text = fmt.Sprintf("is %q", phrase.Quote(p.Value))
	case p.Value != "" && f.Kind != Damaged:
		text += fmt.Sprintf(": %q", phrase.Quote(p.Value))
	}
	if f.Element != "" {
		text = f.Element + " " + text
	}
	if p.Line > 0 && f.Kind != FaultMissing {
		text += fmt.Sprintf(" in line %d", p.Line)
	}
	if f.Count > 1 {
		text += fmt.Sprintf(" (%d times)", f.Count)
	}
	return text
}

// kindText describes the kinds of faults in a few words. Kinds without an entry are described by their value.
var kindText = map[Kind]string{
	FaultMalformed: "has broken markup", FaultBadEntity: "has an unknown entity", FaultBadChar: "has a control character",
	FaultBadEncoding: "has bytes in another encoding", FaultDoctype: "has a document type declaration",
	Damaged:       "its end or checksum is wrong",
	FaultRepeated: "appears more than once", FaultTooLong: "is too long",
	FaultTooMany: "appears too often", FaultEmpty: "is empty", FaultUnknown: "is unknown",
	FaultMisplaced: "is in the wrong place",
	FaultOldName:   "has the name of a draft", FaultMissing: "is missing",
}

// fileRules concern the type of the file. If it is not a report, one of them fails, and nothing else is judged.
var fileRules = rule.Rules[*evidence]{
	notReport("dmarc.report.kind.tls", "TLS report, not a DMARC report", "The file is not a TLS report",
		"RFC 8460 section 4.4", "Read it with a tool for TLS reports: it was sent because the domain has a TLSRPT "+
			"record. DMARC aggregate reports are XML files.",
		"The file is a TLS report in JSON (RFC 8460), about TLS connections to the mail servers of a domain.",
		contentTLSReport),
	notReport("dmarc.report.kind.failure", "DMARC failure report, not an aggregate report",
		"The file is not a failure report", "RFC 9991 section 3", "Read the message in it, which failed DMARC. "+
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
		When: func(e *evidence) bool {
			return e.notReport == nil || slices.Contains(otherContents, e.notReport.Content)
		},
		Fails: func(e *evidence) rule.Failures {
			if e.notReport == nil {
				return nil
			}
			return e.notReport.describe("The file is not an aggregate report in XML.")
		},
	},
}

var otherContents = []content{contentJSON, contentHTML, contentXML, contentCSV, contentText, contentBinary,
	contentOtherReport}

var contentTexts = map[content]string{
	contentJSON: "It holds JSON", contentHTML: "It is a web page", contentXML: "It is XML of another kind",
	contentCSV: "It is a table", contentText: "It is text", contentBinary: "It holds binary data",
	contentOtherReport: "It is a report of another kind", contentNoFiles: "It is an archive without files",
	contentArchive: "It holds other files", contentMessage: "It has other parts",
	contentUnsupported: "The format is another",
}

func notReport(code diag.Code, title, requirement, ref, advice, detail string,
	contents ...content) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Error, NoScore: true,
		Title: title, Requirement: requirement, Ref: ref, Advice: advice,
		When: func(e *evidence) bool { return e.notReport != nil }, // not for reports
		Fails: func(e *evidence) rule.Failures {
			if !slices.Contains(contents, e.notReport.Content) {
				return nil
			}
			return e.notReport.describe(detail)
		},
	}
}

func (other *notReportError) describe(detail string) rule.Failures {
	if what := contentTexts[other.Content]; what != "" {
		detail += " " + what
		if other.Detail != "" {
			detail += ": " + phrase.Quote(other.Detail)
		}
		detail += "."
	}
	return rule.Fail("%s", detail).About(phrase.Quote(other.Name))
}
