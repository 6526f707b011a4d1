package header

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The bounds of the search for the outside hop.
const (
	maxOwnHops    = 50 // Received fields of the receiver's own side; real ones have up to ten
	maxCandidates = 3  // hops that may be the outside hop, for whose addresses SPF is checked at once
)

// A relay is a Received field as the search for the outside hop needs it.
type relay struct {
	index    int        // in the list of hops of the report
	from     string     // name that the server had by its address, as the receiver noted it; may be empty
	helo     string     // name that it gave itself; may be empty
	ip       netip.Addr // of the server; invalid if the field does not say
	by       string     // who wrote the field
	byIP     netip.Addr // its address; mostly not there
	authUser bool       // the mail was submitted by somebody who had signed in (RFC 3848)
	fetched  bool       // a program fetched the mail from a mailbox there
	https    bool       // the protocol is HTTPS, by which Microsoft 365 hands mail to the server of the mailbox
}

// An outside is what the search for the outside hop came to: where the receiver's own side took the mail from
// elsewhere. What stands below that hop may be invented.
type outside struct {
	// candidates are the hops that may be it, from the top. All but the last one claim a name of the receiver's
	// own side, which only the DNS can confirm.
	candidates []candidate
	// why says why the last candidate is one, or why there is none, in a sentence.
	why string

	own     []string // organizational domains of the receiver's own side, in the order in which they were found
	trusted bool     // whether the caller named the first of them
}

type candidate struct {
	relay
	claimsOwn bool
}

// findOutside walks over the Received fields from the top. Each was written by the receiver's own side, as long as
// the one above it says that the mail came from a server of that side.
func findOutside(relays []relay, trusted []string, hint netip.Addr) outside {
	o := outside{}
	for _, id := range trusted {
		if org := operator(id); org != "" {
			o.add(org)
			o.trusted = true
		}
	}
	for i := range relays {
		if i == maxOwnHops {
			o.why = fmt.Sprintf("The first %d Received fields are all from the receiver's own servers.", maxOwnHops)
			return o
		}
		if done := o.step(&relays[i], hint); done {
			return o
		}
	}
	switch {
	case len(relays) == 0:
		o.why = "The message has no Received field."
	case len(o.candidates) == 0:
		o.why = "No Received field shows the receiver accepting the message from an outside server."
	}
	return o
}

// step looks at one hop, and reports whether the search ends there.
func (o *outside) step(r *relay, hint netip.Addr) (done bool) {
	// Whoever hands over is of the same side as who wrote the field above, so this name is one, too.
	o.add(operator(r.by))
	sender, claims := operator(r.from), false
	if sender == "" {
		sender = operator(r.helo)
	}
	claims = sender != "" && slices.Contains(o.own, sender)
	by := diag.Quote(cmp.Or(r.by, "An unnamed server"))
	switch {
	case r.fetched: // the mailbox is the receiver's own
		o.add(sender)
		return false
	case r.authUser:
		o.candidates = nil
		o.why = fmt.Sprintf("The message was submitted to %s by an authenticated user, not delivered by a server.", by)
		return true
	case r.ip.IsValid() && r.ip == hint:
		o.accept(r, false, "%s recorded %s as the address of the sender.", by, r.ip)
		return true
	case r.ip.IsValid() && isPrivate(r.ip), r.ip.IsValid() && claims && (r.https || near(r.ip, r.byIP)):
		return false
	case r.ip.IsValid() && claims:
		o.accept(r, true, "%s received the message from %s, which claims a name of the same organization.", by, r.ip)
		return len(o.candidates) == maxCandidates
	case r.ip.IsValid():
		o.accept(r, false, "%s received the message from %s, which is not one of the receiver's servers%s.", by, r.ip, o.names())
		return true
	case sender != "" && !claims:
		o.candidates = nil
		o.why = fmt.Sprintf("%s received the message from %s but did not record its address.", by, diag.Quote(sender))
		return true
	default:
		return false // delivered within one host
	}
}

// names lists the receiver's own side, in brackets.
func (o *outside) names() string {
	if len(o.own) == 0 {
		return ""
	}
	return " (" + strings.Join(o.own[:min(len(o.own), 3)], ", ") + ")"
}

func (o *outside) accept(r *relay, claims bool, why string, args ...any) {
	o.candidates = append(o.candidates, candidate{*r, claims})
	o.why = fmt.Sprintf(why, args...)
}

func (o *outside) add(org string) {
	if org != "" && !slices.Contains(o.own, org) {
		o.own = append(o.own, org)
	}
}

// confirm chooses the hop once the names of the addresses are known: a server that claims to be of the receiver's
// side is, if a name of that side leads to its address. A nil relay means that the hop is not known; why says so.
func (o *outside) confirm(names func(netip.Addr) (confirmed []string, err error)) (*relay, string) {
	for i := range o.candidates {
		c := &o.candidates[i]
		if !c.claimsOwn {
			return &c.relay, o.why
		}
		hosts, err := names(c.ip)
		own := slices.ContainsFunc(hosts, func(h string) bool { return slices.Contains(o.own, operator(h)) })
		switch {
		case err != nil:
			return nil, fmt.Sprintf("%s claims to be one of the receiver's servers, but its name could not be looked up.", c.ip)
		case !own:
			return &c.relay, fmt.Sprintf("%s received the message from %s, which claims a name of the same "+
				"organization; no such name resolves to its address.", diag.Quote(c.by), c.ip)
		}
	}
	if len(o.candidates) > 0 {
		return nil, "All Received fields are from the receiver's own servers."
	}
	return nil, o.why
}

// offline chooses the hop without asking the DNS: what the receiver noted as names is believed.
func (o *outside) offline() (*relay, string) {
	if n := len(o.candidates); n > 0 && !o.candidates[n-1].claimsOwn {
		return &o.candidates[n-1].relay, o.why
	}
	if len(o.candidates) > 0 {
		return nil, "All Received fields are from the receiver's own servers."
	}
	return nil, o.why
}

// near reports whether two addresses are of one network. Large providers hand mail over between public addresses
// that have no names, and note both; what an attacker could choose is only one of them.
func near(a, b netip.Addr) bool {
	if !a.IsValid() || !b.IsValid() || a.BitLen() != b.BitLen() {
		return false
	}
	network, err := a.Prefix(24)
	return err == nil && network.Contains(b)
}
