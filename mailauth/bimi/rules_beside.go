package bimi

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

// besideRules are about what a reader should know beside the record.
var besideRules = diag.Rules[*evidence]{
	{
		Code: "bimi.record.organizational", Severity: diag.Warning,
		Title:       "Receivers disagree on the organizational domain",
		Requirement: "All receivers find the same BIMI record",
		Ref:         refDiscovery,
		Advice:      "Publish the record at the name of the domain itself, too, where all receivers look first.",
		When:        func(e *evidence) bool { return online(e) && e.present() && e.dmarc.Tree.OrganizationalErr == nil },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.split, "Receivers that use the list of public suffixes (RFC 7489) look at %s, and those that "+
				"walk up the tree of the DNS (RFC 9989) at %s: they do not find the same record.",
				record.Name(e.discovery.Selector, e.discovery.Organizational()),
				record.Name(e.discovery.Selector, e.dmarc.Tree.Organizational))
		},
	},
	{
		Code: "bimi.selector.header", Severity: diag.Info,
		Title:       "Messages must name the selector to show this logo",
		Requirement: "Messages need not name the selector",
		Ref:         refHeader,
		Advice: "Add the field BIMI-Selector to the messages that are to show this logo and sign it with DKIM; receivers use the " +
			"selector default for all others.",
		When: func(e *evidence) bool { return online(e) && e.present() },
		Fails: func(e *evidence) diag.Failures {
			s := e.discovery.Selector.String()
			return diag.FailIf(s != record.DefaultSelector, "Receivers use this record only for messages with the field "+
				"BIMI-Selector: v=BIMI1; s=%s;.", s)
		},
	},
	{
		Code: "bimi.spf.open", Severity: diag.Warning,
		Title:       "SPF lets every host send: some receivers show no logo then",
		Requirement: "The SPF record does not let every host send",
		Ref:         "RFC 7208 section 5.1",
		Advice: "List the hosts that send for the domain in the SPF record, and end it with -all or ~all: with +all anybody's " +
			"mail passes DMARC, and receivers that check this show no logo for it.",
		When: func(e *evidence) bool { return wanted(e) && (e.beside.searched || e.beside.open != "") },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.beside.open != "", "The SPF record %q of %s lets every host send.", diag.Quote(e.beside.open), e.domain())
		},
	},
	{
		Code: "bimi.record.wildcard", Severity: diag.Info,
		Title:       "Wildcard TXT record answers at the name of the BIMI record",
		Requirement: "No wildcard TXT record of another kind answers at the name of the BIMI record",
		Ref:         "RFC 4592 section 2.2.1",
		Advice: "Leave it, or publish a BIMI record, which takes the place of the wildcard there: receivers ignore texts of other " +
			"kinds.",
		When: func(e *evidence) bool {
			return online(e) && e.failing == nil && !e.nonexistent() && (e.beside.searched || e.beside.wildcard != "")
		},
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.beside.wildcard != "", "The wildcard *.%s answers at %s with %q, which is no BIMI record.",
				e.domain(), e.name(), diag.Quote(e.beside.wildcard))
		},
	},
	{
		Code: "bimi.record.unrelated", Severity: diag.Info,
		Title:       "TXT record of another kind at the name of the BIMI record",
		Requirement: "No TXT record of another kind stands at the name of the BIMI record",
		Ref:         refDiscovery,
		Advice:      "Move the record to where it belongs, or remove it: some receivers do not expect it there.",
		When:        func(e *evidence) bool { return online(e) && e.failing == nil && !e.nonexistent() },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.beside.unrelated, func(text string) diag.Failures {
				return diag.Fail("The TXT record %q at %s does not belong to BIMI.", diag.Quote(text), e.name())
			})
		},
	},
	{
		Code: "bimi.record.elsewhere", Severity: diag.Info,
		Title:       "Another BIMI record is published where nobody looks",
		Requirement: "No BIMI record is published where nobody looks",
		Ref:         refDiscovery,
		Advice:      "Remove the record at the other name, so that nobody takes it for the one that applies.",
		When: func(e *evidence) bool {
			return online(e) && kit.One(e) && (e.beside.searched || len(e.beside.places) > 0)
		},
		Fails: func(e *evidence) diag.Failures {
			return diag.FailEach(e.beside.places, func(p place) diag.Failures {
				return diag.Fail("The record %q at %s has no effect.", diag.Quote(p.record), p.name).About(p.name)
			})
		},
	},
}
