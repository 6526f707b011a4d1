package tlscert

import (
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// several reports whether the host has several addresses, one of which answered.
func several(e *evidence) bool { return e.whole != nil && len(e.whole.places) > 1 }

// whyElsewhere is why addresses that clients cannot use are less than critical here.
const whyElsewhere = "another address of the host answers, to which most clients turn after a while"

// addressRules are about what the addresses of a host have in common. They say the same of every part.
var addressRules = rule.Rules[*evidence]{{
	Code: "tls.address.refused", Severity: diag.Error, Weight: 5, Category: factorConnection, When: several,
	Fact: reach.Refused, Differs: whyElsewhere,
	Ref:   "RFC 1034 section 3.6.1",
	Title: "An address of the host refuses connections", Requirement: "Every address of the host accepts connections",
	Advice: "Start the server at that address and open the port in its firewall, or remove the address from the DNS.",
	Fails: func(e *evidence) rule.Failures {
		return e.whole.each((*place).refuses, "%s refuses connections on port %d, while another address of %s accepts them.",
			"%s refuse connections on port %d, while another address of %s accepts them.")
	},
}, {
	Code: "tls.address.blocked", Severity: diag.Warning, Weight: 2, Category: factorConnection, When: several,
	Fact: reach.NotPublic, Differs: whyElsewhere,
	Ref:   "RFC 6890 section 2.2",
	Title: "An address of the host is not public", Requirement: "Every address of the host is public",
	Advice: "Remove the address from the public DNS: clients elsewhere cannot reach it.",
	Fails: func(e *evidence) rule.Failures {
		return e.whole.each(func(p *place) bool { return p.blocked },
			"%s is not a public address; port %d answers at another address of %s.",
			"%s are not public addresses; port %d answers at another address of %s.")
	},
}}

// presentedRules are about certificates that usual clients do not get.
var presentedRules = rule.Rules[*evidence]{{
	Code: "tls.certificate.without_sni", Severity: diag.Info, Ref: "RFC 6066 section 3",
	Title:       "Clients that send no server name get an expired certificate",
	Requirement: "The certificate for clients that send no server name has not expired",
	Advice: "Configure a valid certificate for the default server of the address: old devices and some monitoring " +
		"tools do not send the name that they want (SNI).",
	When: func(e *evidence) bool { return e.noSNI != nil && e.noSNI.leaf != nil },
	Fails: func(e *evidence) rule.Failures {
		leaf := e.noSNI.leaf
		return rule.FailIf(e.foreignBare() && e.now.After(leaf.NotAfter),
			"Without a server name the server presents the certificate for %s, which expired on %s.", subject(leaf),
			leaf.NotAfter.UTC().Format(time.DateOnly))
	},
}}

// each fails once for all addresses of a kind, in the words for one or for several.
func (x *examination) each(is func(*place) bool, one, several string) rule.Failures {
	var list rule.Failures
	var names []string
	for _, p := range x.places {
		if is(p) {
			list = append(list, rule.Failure{Target: p.addr.String()})
			names = append(names, p.addr.String())
		}
	}
	req := x.parts[0].req
	text := func(format string) string {
		return fmt.Sprintf(format, phrase.Series(names, maxNamed), req.Port, req.Host.Name())
	}
	if len(list) == 1 {
		list[0].Detail = text(one)
	}
	return list.Together("%s", text(several))
}
