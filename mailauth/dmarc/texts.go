package dmarc

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// textsOffline are those of a record that need not be published: nothing was seen to be enforced.
var textsOffline = func() diag.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{Headline: "DMARC record is valid: it asks receivers to reject forged mail",
		Sub: "It takes effect once it is published. Do that when the aggregate reports show that all your senders pass."}
	t["valid"] = diag.Text{Headline: "DMARC record is valid and asks for enforcement",
		Sub: "It takes effect once it is published; the findings show what can be improved."}
	return t
}()

// texts are what the verdict says in words where no rule speaks.
var texts = diag.Texts{
	"excellent": {Headline: "DMARC is enforced: forged mail is rejected",
		Sub: "The domain is protected. Keep reading the aggregate reports, and check them when you add a sending service."},
	"valid": {Headline: "DMARC is enforced",
		Sub: "Receivers act on mail that fails. Keep reading the aggregate reports; the findings show what can be improved."},
	"dmarc.record.missing.suffix": {Headline: "No DMARC record on a public suffix",
		Sub: "That is usual. A record here would apply to every domain below it that has none of its own."},
}
