package header

import (
	"context"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
)

// A listing is what the blocklists that matter most say of the sending server.
type listing struct {
	results  []dnsbl.Result // of the lists that have it
	answered bool           // whether any list answered
}

// lookupListing asks the blocklists about an address: one round trip, and another one for their reasons. That they
// do not answer says nothing about the message.
func lookupListing(ctx context.Context, env *diag.Env, ip netip.Addr) listing {
	results, answered, err := dnsbl.Listings(ctx, env, diag.IP{Addr: ip.Unmap()})
	if err != nil {
		return listing{}
	}
	return listing{results, answered > 0}
}

// report is the listings as the report has them; nil if no list answered.
func (l *listing) report() []dnsbl.Result {
	if l == nil || !l.answered {
		return nil
	}
	return append([]dnsbl.Result{}, l.results...)
}

// liveListed is the rule that no blocklist has the sending server.
var liveListed = diag.Rules[*analysis]{
	{
		Code: "header.live.blocklisted", Severity: diag.Warning, Weight: 5, Category: liveHost,
		Ref:         "RFC 5782 section 2.1",
		Title:       "Sending address is on a blocklist",
		Requirement: "The sending address is on none of the blocklists that answered",
		Advice: "Check the address with blacklist/ip, which says what each list has against it. The operator of the server " +
			"removes the cause first and then requests removal.",
		When: func(a *analysis) bool { return checked(a) && a.live.rbl.report() != nil },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailEach(a.live.rbl.results, func(r dnsbl.Result) diag.Failures {
				return diag.Fail("%s lists %s, from which the message came%s.", r.Name, a.live.hop.ip, because(r.Meanings)).
					About(a.live.hop.ip.String())
			}).Joined()
		},
	},
}

// because gives the meanings of return codes as the end of a sentence.
func because(meanings []string) string {
	if len(meanings) == 0 {
		return ""
	}
	return " (" + strings.Join(meanings, "; ") + ")"
}
