package spf

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words where no rule failed.
var texts = diag.Texts{
	"valid": {Headline: "SPF is set up correctly",
		Sub: "Receivers can tell which hosts may send mail for the domain. Check the record again when you add a service."},
}

// textsAlone are those of a record that was examined alone.
var textsAlone = diag.Texts{
	"valid": {Headline: "SPF record is valid as far as its text tells",
		Sub: "What it includes was not looked at. Look up the domain once the record is published."},
}
