package domaincheck

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
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

var kindReverse = compose.Kind{Code: "ptr", Label: "Reverse DNS"}

// Rules describes what is examined: by this package, and by those of the parts.
func (*Report) Rules() []rule.Description {
	return slices.Concat(rules.Describe(), compose.Rules(), (*spf.LookupReport)(nil).Rules(),
		(*dkim.LookupReport)(nil).Rules(), (*dmarc.LookupReport)(nil).Rules(), (*bimi.LookupReport)(nil).Rules(),
		(*mx.Report)(nil).Rules(), (*mtasts.Report)(nil).Rules(), (*dane.Report)(nil).Rules(),
		(*tlsrpt.LookupReport)(nil).Rules(), (*smtpcheck.Report)(nil).Rules(), (*dnssec.Report)(nil).Rules())
}

var rules = append(rule.Rules[*check]{reach.NoDomain(rule.Rule[*check]{
	Code: "check.domain.nxdomain",
	Fails: func(c *check) rule.Failures {
		return rule.FailIf(c.nonexistent, "The DNS answers NXDOMAIN for %s, so that it can neither send nor receive mail.",
			c.Domain)
	},
})}, compose.ReverseRules(func(c *check) []compose.ReverseName { return c.reverse })...)

var texts = rule.Texts{
	"valid": {Headline: "Domain exists", Sub: "The parts say how it is set up for mail."},
}

func (c *check) goodText() diag.Text {
	receives := c.receives()
	switch {
	case c.SendsNoMail && !receives:
		return diag.Text{Headline: "Domain is set up well for having no mail",
			Sub: "It says that it neither sends nor receives mail, and receivers can reject forgeries."}
	case c.SendsNoMail:
		return diag.Text{Headline: "Domain is ready to receive mail, and sends none",
			Sub: "Mail arrives, and receivers can reject forgeries. Check again when records change."}
	case !receives:
		return diag.Text{Headline: "Domain is ready to send mail, and receives none",
			Sub: "Receivers can tell its mail from forgeries. Check again when records change."}
	}
	return diag.Text{Headline: "Domain is ready to send and receive mail",
		Sub: "No part has a fault. Check again when records change or you add a sending service."}
}

func (c *check) incompleteText() diag.Text {
	isUnknown := func(p compose.WeightedPart) bool { return !p.Known() && !p.MayBeUnknown }
	if c.smtp == nil && c.untested() && !slices.ContainsFunc(c.weightedParts(), isUnknown) {
		return diag.Text{Headline: "Records are in order; mail servers were not tested",
			Sub: "No record has a fault. Check again with include_smtp to see whether the mail servers work."}
	}
	if !c.SendsNoMail && len(c.DKIM) == 1 && c.DKIM[0].Selector == "" && !c.DKIM[0].Known() {
		return diag.Text{Headline: "Set up well as far as seen; DKIM selector is not known",
			Sub: "Everything else is in order. Check again with the selectors that your mail is signed with."}
	}
	return diag.Text{Headline: "Set up well as far as seen; some parts are not known",
		Sub: "What could be examined is in order. Check again later for the rest."}
}

// A Receiver is one whose requirements for domains that send 5,000 messages a day or more are compared: google_bulk,
// yahoo_bulk or microsoft_bulk.
type Receiver string

const (
	Google    Receiver = "google_bulk"    // Email sender guidelines, since February 2024
	Yahoo     Receiver = "yahoo_bulk"     // Sender best practices, since February 2024
	Microsoft Receiver = "microsoft_bulk" // Outlook.com requirements for high-volume senders, since May 2025
)

// Values lists the receivers.
func (Receiver) Values() []string { return kit.Values(Google, Yahoo, Microsoft) }

// A Requirement is a receiver's requirement for bulk senders, compared with what can be observed.
type Requirement struct {
	Code       Receiver `json:"code" doc:"the receiver"`
	Met        *bool    `json:"met,omitempty" doc:"whether all is met that can be seen from outside; absent where something unknown decides"`
	Missing    []string `json:"missing" doc:"what is not met"`
	Unknown    []string `json:"unknown" doc:"what decides and could not be learned"`
	NotChecked []string `json:"not_checked" doc:"what the receiver asks for too and nobody can see from outside"`
}

type answer int

const (
	no answer = iota
	unknown
	yes
)

func answerIf(met bool) answer {
	if met {
		return yes
	}
	return no
}

func (c *check) requirements() []Requirement {
	type condition struct {
		text string
		met  answer
	}
	if c.nonexistent {
		return kit.Map(Receiver("").Values(), func(r string) Requirement {
			return Requirement{Receiver(r), new(false), []string{"The domain must exist"}, []string{}, []string{}}
		})
	}
	base := []condition{
		{"SPF record without errors that lets the sending hosts pass", c.spfMet()},
		{"DKIM key with which mail is signed", c.dkimMet()},
		{"DMARC record with a policy of at least p=none", c.dmarcMet()},
	}
	names := condition{"Reverse DNS of every sending address, with a name that leads back to it", c.reverseMet()}
	complaints, format := "Rate of complaints below 0.3 percent", "Format of messages (RFC 5322)"
	unsubscribe := "One-click unsubscribe in marketing mail (RFC 8058)"
	all := []struct {
		code       Receiver
		conditions []condition
		unseen     []string
	}{
		{Google, append(slices.Clip(base), names), []string{complaints, unsubscribe, "TLS on outgoing connections", format}},
		{Yahoo, append(slices.Clip(base), names), []string{complaints, unsubscribe, format}},
		{Microsoft, base, []string{"Working sender and reply addresses", "Unsubscribe link", "Hygiene of lists"}},
	}
	var list []Requirement
	for _, receiver := range all {
		r := Requirement{Code: receiver.code, Missing: []string{}, Unknown: []string{}, NotChecked: receiver.unseen}
		for _, cond := range receiver.conditions {
			switch {
			case cond.text == names.text && len(c.reverse) == 0:
				r.NotChecked = append(r.NotChecked, "Reverse DNS of the sending addresses, which are not known")
			case cond.met == no:
				r.Missing = append(r.Missing, cond.text)
			case cond.met == unknown:
				r.Unknown = append(r.Unknown, cond.text)
			}
		}
		if len(r.Missing) > 0 || len(r.Unknown) == 0 {
			r.Met = new(len(r.Missing) == 0)
		}
		list = append(list, r)
	}
	return list
}

func (c *check) spfMet() answer {
	if !c.SPF.Known() {
		return unknown
	}
	return answerIf(c.SPF.Result.Valid && !c.SPF.Fails() && !compose.SendsNoMail(c.SPF))
}

func (c *check) dkimMet() answer {
	met := no
	for _, k := range c.DKIM {
		switch {
		case k.Works():
			return yes
		case !k.Known() && !c.SendsNoMail:
			met = unknown
		}
	}
	return met
}

// dmarcMet reports whether a record applies. Alignment needs no condition of its own: a key of the domain, or mail that
// passes SPF for it, is aligned with it.
func (c *check) dmarcMet() answer {
	if !c.DMARC.Known() {
		return unknown
	}
	return answerIf(c.DMARC.State != diag.Missing && c.DMARC.Result.Valid)
}

func (c *check) reverseMet() answer {
	met := yes
	for _, n := range c.reverse {
		switch {
		case n.ForwardConfirmed == nil:
			met = min(met, unknown)
		case !*n.ForwardConfirmed:
			met = no
		}
	}
	return met
}
