package tlsrpt

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "TLSRPT is set up correctly",
		Sub: "The published record was examined; the reception of reports was not. Check that they arrive and that somebody " +
			"reads them.",
	},
	"valid": {
		Headline: "TLSRPT is set up",
		Sub:      "The published record was examined; the reception of reports was not. Check that they arrive.",
	},
	"warning": {
		Headline: "TLSRPT works but has a weakness",
		Sub:      "Some reports may be lost. The findings say what to correct.",
	},
	"invalid": {
		Headline: "TLSRPT is broken: senders send no reports",
		Sub:      "You do not learn when senders cannot deliver over TLS. Fix the first finding first.",
	},
	"missing": {
		Headline: "TLSRPT is not set up",
		Sub:      "You do not learn when senders cannot deliver over TLS. Set up a mailbox, then publish the record.",
	},
	"unknown": {
		Headline: "TLSRPT could not be examined",
		Sub:      "The name servers did not answer, so that there is no verdict. Check them and try again.",
	},
	"tlsrpt.record.unknown": {
		Headline: "TLSRPT record could not be looked up",
		Sub:      "The name servers did not answer. Check them and try again.",
	},
	"tlsrpt.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "Nobody can send mail to it. Check the spelling, registration and delegation.",
	},
	"tlsrpt.record.location": {
		Headline: "TLSRPT record is published at the wrong name",
		Sub:      "Senders do not find it and send no reports. Publish it at _smtp._tls below the domain.",
	},
	"tlsrpt.record.alias": {
		Headline: "TLSRPT is delegated by a CNAME that leads to no record",
		Sub:      "Senders find no record and send no reports. Have it published at the target, or replace the CNAME.",
	},
	"tlsrpt.record.missing": {
		Headline: "TLSRPT is not set up",
		Sub:      "You do not learn when senders cannot deliver over TLS. Set up a mailbox, then publish the record.",
	},
	"tlsrpt.record.missing.no_mail": {
		Headline: "TLSRPT is not set up, and not needed",
		Sub:      "The domain receives no mail, so that there is nothing to report.",
	},
	"tlsrpt.record.version": {
		Headline: "The TLSRPT record does not begin with v=TLSRPTv1; and is ignored",
		Sub:      "For senders there is no record, and they send no reports. Correct its beginning.",
	},
	"tlsrpt.record.multiple": {
		Headline: "More than one TLSRPT record, so senders use none",
		Sub:      "No reports are sent. Merge the records into one and remove the others.",
	},
	"tlsrpt.record.syntax": {
		Headline: "TLSRPT record has a syntax error",
		Sub:      "Senders that hold to the standard ignore it and send no reports. Correct the record.",
	},
	"tlsrpt.record.joined": {
		Headline: "Strings of the TLSRPT record join to a broken text",
		Sub:      "Senders read something else than was meant. Add the missing semicolon.",
	},
	"tlsrpt.rua.missing": {
		Headline: "TLSRPT record has no report address (rua)",
		Sub:      "Senders do not know where to send reports, and send none. Add rua with your address.",
	},
	"tlsrpt.rua.invalid": {
		Headline: "TLSRPT record has a report address that senders cannot use",
		Sub:      "Reports to it are not sent, and strict senders ignore the record. Write it as a mailto or https URI.",
	},
	"tlsrpt.destination.none": {
		Headline: "TLSRPT reports cannot be delivered to any address",
		Sub:      "Every report is lost. Correct the addresses, or set up their destinations.",
	},
	"tlsrpt.destination.undeliverable": {
		Headline: "TLSRPT works, but a report address receives no mail",
		Sub:      "Reports to it are lost. Correct the address, or set up mail for its domain.",
	},
	"tlsrpt.destination.host": {
		Headline: "TLSRPT works, but the host of a report address does not resolve",
		Sub:      "Reports to it are lost. Correct the URI, or give the host an address.",
	},
	"tlsrpt.record.stray": {
		Headline: "TLSRPT works, but another record beside it is broken",
		Sub:      "Senders ignore the other record and its addresses. Remove it.",
	},
	"tlsrpt.record.repeated": {
		Headline: "TLSRPT works, but a field of the record appears twice",
		Sub:      "Senders use the first one only. Put all addresses into one rua.",
	},
	"tlsrpt.record.blank": {
		Headline: "TLSRPT record has a space before its first semicolon",
		Sub:      "Some senders ignore such a record. Publish it without the space.",
	},
	"tlsrpt.destination.external": {
		Headline: "TLSRPT is set up, with reports to another organization",
		Sub: "The published record was examined; the reception of reports was not. Check with the operator that they " +
			"arrive.",
	},
	"tlsrpt.policy.missing": {
		Headline: "TLSRPT is set up, but there is no policy to report about",
		Sub: "The published record was examined; the reception of reports was not. Set up MTA-STS or DANE, so that they " +
			"tell more.",
	},
	"tlsrpt.record.unneeded": {
		Headline: "TLSRPT is set up on a domain that receives no mail",
		Sub: "The published record was examined; the reception of reports was not. Nobody sends reports about a domain " +
			"without mail.",
	},
}
