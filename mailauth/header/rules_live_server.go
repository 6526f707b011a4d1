package header

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
)

// ptrKnown reports whether the names of the sending server are known, or known to be missing.
func ptrKnown(a *analysis) bool { return checked(a) && a.live.PTR != nil && a.live.PTR.Err == nil }

var liveServerRules = diag.Rules[*analysis]{{
	Code: "header.live.hop", Severity: diag.Info, Category: factorServer, Ref: "RFC 5321 section 4.4",
	Title:       "Server that delivered the message from outside is unknown",
	Requirement: "The server that delivered the message from outside is known",
	Advice:      "Submit all Received fields, and list the receiver's own servers and mail filters in trusted_authserv_ids.",
	When:        checked,
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(a.live.Hop == nil, "SPF and PTR could not be checked. %s", a.live.Why)
	},
}, {
	Code: "header.live.ptr.missing", Severity: diag.Warning, Weight: 10, Ref: "RFC 1912 section 2.1",
	Title: "Sending address has no PTR record", Requirement: "The sending address has a PTR record",
	Advice: "Have the operator of the server publish a PTR record for its address, with a host name that resolves to " +
		"this address. Google, Microsoft and Yahoo reject or defer mail from addresses without one.",
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(len(a.live.PTR.Hostnames) == 0,
			"The address %s, from which the message came, has no PTR record (reverse DNS).", a.live.PTR.IP).About(a.live.PTR.IP)
	},
}, {
	Code: "header.live.ptr.unconfirmed", Severity: diag.Warning, Weight: 10,
	DependsOn: []diag.Code{"header.live.ptr.missing"}, Ref: "RFC 1912 section 2.1",
	Title:       "PTR name of the sending address does not resolve back to it",
	Requirement: "The PTR name of the sending address resolves back to it",
	Advice: "Have the operator of the server publish an address record for the name in the PTR record. Anyone can " +
		"put any name in a PTR record, so large receivers require one that resolves back.",
	Fails: func(a *analysis) diag.Failures {
		p := a.live.PTR
		return diag.FailIf(!p.ForwardConfirmed, "The PTR record of %s points to %s, which does not resolve to this address.", p.IP,
			strings.Join(p.Hostnames, ", ")).About(p.IP)
	},
}, {
	Code: "header.live.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Category: factorServer,
	Ref: "RFC 1912 section 2.1", Title: "PTR lookup for the sending address failed",
	Requirement: "The PTR lookup for the sending address succeeded", Advice: "Repeat the check later.",
	When: func(a *analysis) bool { return checked(a) && a.live.PTR != nil },
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(a.live.PTR.Err != nil, "The PTR record of %s, or the host that it points to, could not be looked up: %s.",
			a.live.PTR.IP, a.live.PTR.Error).About(a.live.PTR.IP)
	},
}, {
	Code: "header.live.gateway", Severity: diag.Info, Category: factorServer, Ref: "RFC 7208 section 2.5",
	Title: "Message came through a mail filter", Requirement: "No external mail filter is in between",
	Advice: "If the filter is the receiver's, add its domain to trusted_authserv_ids: SPF has to be checked for the " +
		"server that delivered to the filter.",
	When: func(a *analysis) bool { return ptrKnown(a) && decisive(a) && !passes(a) },
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(a.gateway() != "", "The server that delivered the message, %s, is a mail filter, which may "+
			"belong to the sender or to the receiver.", a.gateway())
	},
}, {
	Code: "header.live.blocklisted", Severity: diag.Warning, Weight: 5, Reads: []diag.Source{diag.FromRequest},
	Ref: "RFC 5782 section 2.1", Title: "Sending address is on a blocklist",
	Requirement: "The sending address is on none of the blocklists that answered",
	Advice: "Check the address with blacklist/ip, which says what each list has against it. The operator of the " +
		"server removes the cause first and then requests removal.",
	When: func(a *analysis) bool { return checked(a) && a.live.Listed != nil },
	Fails: func(a *analysis) diag.Failures {
		return diag.FailEach(a.live.Listed, func(r dnsbl.Result) diag.Failures {
			because := ""
			if len(r.Meanings) > 0 {
				because = " (" + strings.Join(r.Meanings, "; ") + ")"
			}
			return diag.Fail("%s lists %s, from which the message came%s.", r.Name, a.live.Hop.IP, because).
				About(a.live.Hop.IP.String())
		}).Joined()
	},
}}
