package bimi

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

// besideRules are about what a reader should know beside the record.
var besideRules = diag.Rules[*evidence]{{
	Code: "bimi.record.organizational", Severity: diag.Warning, Reads: []diag.Source{fromRecord, fromDMARC},
	Ref:   refDiscovery,
	Title: "Receivers disagree on the organizational domain", Requirement: "All receivers find the same BIMI record",
	Advice: "Publish the record at the name of the domain itself, too, where all receivers look first.",
	When:   func(e *evidence) bool { return online(e) && e.present() && e.dmarc.Tree.OrganizationalErr == nil },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.split, "Receivers that use the list of public suffixes (RFC 7489) look at %s, and those that "+
			"walk up the tree of the DNS (RFC 9989) at %s: they do not find the same record.",
			record.Name(e.discovery.Selector, e.discovery.Organizational()),
			record.Name(e.discovery.Selector, e.dmarc.Tree.Organizational))
	},
}, {
	Code: "bimi.selector.header", Severity: diag.Info, Ref: refHeader,
	Title: "Messages must name the selector to show this logo", Requirement: "Messages need not name the selector",
	Advice: "Add the field BIMI-Selector to the messages that are to show this logo and sign it with DKIM; receivers " +
		"use the selector default for all others.",
	When: func(e *evidence) bool { return online(e) && e.present() },
	Fails: func(e *evidence) diag.Failures {
		s := e.discovery.Selector.String()
		return diag.FailIf(s != record.DefaultSelector, "Receivers use this record only for messages that have the field "+
			"\"BIMI-Selector: v=BIMI1; s=%s\".", s)
	},
}, {
	Code: "bimi.spf.open", Severity: diag.Warning, Reads: []diag.Source{fromRecord, fromBeside}, Stands: true,
	Ref:         "RFC 7208 section 5.1",
	Title:       "SPF lets every host send: some receivers show no logo then",
	Requirement: "The SPF record does not let every host send",
	Advice: "List the hosts that send for the domain in the SPF record, and end it with -all or ~all: with +all " +
		"anybody's mail passes DMARC, and receivers that check this show no logo for it.",
	When: wanted, Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.beside.open != "", "The SPF record %q of %s lets every host send.", diag.Quote(e.beside.open), e.domain())
	},
}}
