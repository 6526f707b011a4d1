package dmarcbis

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict of a check says in words.
var texts = diag.Texts{
	"excellent": {Headline: "DMARC record is ready for RFC 9989",
		Sub: "Receivers of both standards find the record and use it as it was meant. Watch the aggregate reports."},
	"valid": {Headline: "DMARC record works under RFC 9989",
		Sub: "Receivers find the record and use it. The findings say what could be tidied up."},
	"dmarcbis.record.missing.suffix": {Headline: "No DMARC record on a public suffix",
		Sub: "That is usual. A record here would apply to every domain below it that has none of its own."},
}
