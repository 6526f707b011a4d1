package mtasts

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// texts are what the verdict says in words where no rule speaks.
var texts = diag.Texts{
	"excellent": {Headline: "MTA-STS is enforced and covers every mail server",
		Sub: "Senders that know MTA-STS deliver over authenticated TLS only. Watch the TLS reports."},
	"valid": {Headline: "MTA-STS is set up correctly",
		Sub: "Senders find the policy and follow it. Watch the TLS reports."},
}

// textsUntested are those where mail servers could not be reached.
var textsUntested = func() diag.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{Headline: texts["excellent"].Headline, Sub: "Whether the mail servers have the certificates " +
		"that it asks for was not tested: port 25 could not be reached from here. Watch the TLS reports."}
	t["valid"] = diag.Text{Headline: texts["valid"].Headline, Sub: t["excellent"].Sub}
	return t
}()

// words are the texts for what was examined.
func (e *evidence) words() diag.Texts {
	if len(e.untested()) > 0 {
		return textsUntested
	}
	return texts
}
