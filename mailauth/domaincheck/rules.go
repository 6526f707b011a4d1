package domaincheck

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// kindReverse is what the rules of this package are about, beside the domain itself.
var kindReverse = compose.Kind{Code: "ptr", Label: "Reverse DNS"}

// Rules describes what is examined: by this package, and by those of the parts.
func (*Report) Rules() []diag.RuleInfo {
	return slices.Concat(rules.Describe(), compose.Rules(), (*spf.LookupReport)(nil).Rules(),
		(*dkim.LookupReport)(nil).Rules(), (*dmarc.LookupReport)(nil).Rules(), (*bimi.LookupReport)(nil).Rules(),
		(*mx.Report)(nil).Rules(), (*mtasts.Report)(nil).Rules(), (*dane.Report)(nil).Rules(),
		(*tlsrpt.LookupReport)(nil).Rules(), (*smtpcheck.Report)(nil).Rules(), (*dnssec.Report)(nil).Rules())
}

type ownReport struct{ diag.Verdict }

func (*ownReport) Rules() []diag.RuleInfo { return rules.Describe() }

var rules = append(diag.Rules[*check]{{
	Code: "check.domain.nxdomain", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true, Fact: ground.NoName,
	Ref:   "RFC 8020 section 2",
	Title: "Domain does not exist", Requirement: "The domain exists",
	Advice: "Check the spelling of the domain, its registration and its delegation.",
	Fails: func(c *check) diag.Failures {
		return diag.FailIf(c.gone, "The DNS answers NXDOMAIN for %s, so that it can neither send nor receive mail.",
			c.Domain)
	},
}}, compose.ReverseRules(func(c *check) []compose.ReverseName { return c.reverse })...)

var texts = diag.Texts{
	"valid": {Headline: "Domain exists", Sub: "The parts say how it is set up for mail."},
}

// good is the text where nothing needs to be done.
func (c *check) good() diag.Text {
	receives := c.receives()
	switch {
	case c.silent && !receives:
		return diag.Text{Headline: "Domain is set up well for having no mail",
			Sub: "It says that it neither sends nor receives mail, and receivers can reject forgeries."}
	case c.silent:
		return diag.Text{Headline: "Domain is ready to receive mail, and sends none",
			Sub: "Mail arrives, and receivers can reject forgeries. Check again when records change."}
	case !receives:
		return diag.Text{Headline: "Domain is ready to send mail, and receives none",
			Sub: "Receivers can tell its mail from forgeries. Check again when records change."}
	}
	return diag.Text{Headline: "Domain is ready to send and receive mail",
		Sub: "No part has a fault. Check again when records change or you add a sending service."}
}

// open is the text where nothing that is known needs to be done.
func (c *check) open() diag.Text {
	unknown := func(p compose.Share) bool { return !p.Known() && !p.NoMatter }
	if c.smtp == nil && c.untested() && !slices.ContainsFunc(c.shares(), unknown) {
		return diag.Text{Headline: "Records are in order; mail servers were not tested",
			Sub: "No record has a fault. Check again with include_smtp to see whether the mail servers work."}
	}
	if !c.silent && len(c.dkim) == 1 && c.dkim[0].Selector == "" && !c.dkim[0].Known() {
		return diag.Text{Headline: "Set up well as far as seen; DKIM selector is not known",
			Sub: "Everything else is in order. Check again with the selectors that your mail is signed with."}
	}
	return diag.Text{Headline: "Set up well as far as seen; some parts are not known",
		Sub: "What could be examined is in order. Check again later for the rest."}
}
