package route

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// The bounds of the search for the outside hop.
const (
	MaxOwnHops    = 50 // Received fields of the receiver's own side; real ones have up to ten
	maxCandidates = 3  // hops that may be the outside hop, for whose addresses SPF is checked at once
)

// An Outside is the result of the search for the outside hop, where the receiver's own side accepted the mail from
// elsewhere. Fields below that hop may be forged.
type Outside struct {
	// Candidates are the possible outside hops, from the top. All but the last one claim a name of the receiver's own
	// side, which only the DNS can confirm.
	Candidates []Candidate
	// why says in a sentence why the last candidate qualifies, or why no hop does.
	why string
	own []string // organizational domains of the receiver's own side, in the order in which they were found
}

// A Candidate is a hop that may be the outside hop.
type Candidate struct {
	*Hop
	claimsOwn bool
}

// FindOutside walks over the hops from the newest. A hop was written by the receiver's own side if the one above it
// states that the mail came from a server of that side. Trusted are servers of that side by name, hint is the address
// of the sender if the receiver recorded it.
func (p *Path) FindOutside(trusted []string, hint netip.Addr) Outside {
	o := Outside{}
	for _, id := range trusted {
		o.add(Operator(id))
	}
	for n := range p.Hops {
		if n == MaxOwnHops {
			o.why = fmt.Sprintf("The first %d Received fields are all from the receiver's own servers.", MaxOwnHops)
			return o
		}
		if done := o.step(&p.Hops[len(p.Hops)-1-n], hint); done {
			return o
		}
	}
	switch {
	case len(p.Hops) == 0:
		o.why = "The message has no Received field."
	case len(o.Candidates) == 0:
		o.why = "No Received field shows the receiver accepting the message from an outside server."
	}
	return o
}

// step examines one hop, and reports whether the search ends there.
func (o *Outside) step(h *Hop, hint netip.Addr) (done bool) {
	// The client is on the same side as the writer of the field above, so this name belongs to it, too.
	o.add(Operator(h.By))
	sender := cmp.Or(Operator(h.RDNS), Operator(h.HELO))
	claims := sender != "" && slices.Contains(o.own, sender)
	by := phrase.Quote(cmp.Or(h.By, "An unnamed server"))
	switch {
	case h.fetched(): // the mailbox is the receiver's own
		o.add(sender)
		return false
	case h.Submitted():
		return o.giveUp("The message was submitted to %s by an authenticated user, not delivered by a server.", by)
	case h.IP.IsValid() && h.IP == hint:
		return o.accept(h, false, "%s recorded %s as the address of the sender.", by, h.IP)
	case h.IP.IsValid() && (Private(h.IP) || claims && h.inside()):
		return false
	case h.IP.IsValid() && claims:
		o.accept(h, true, "%s received the message from %s, which claims a name of the same organization.", by, h.IP)
		return len(o.Candidates) == maxCandidates
	case h.IP.IsValid():
		return o.accept(h, false, "%s received the message from %s, which is not one of the receiver's servers%s.",
			by, h.IP, o.names())
	case sender != "" && !claims:
		return o.giveUp("%s received the message from %s but did not record its address.", by, phrase.Quote(sender))
	default:
		return false // delivered within one host
	}
}

func (o *Outside) names() string {
	if len(o.own) == 0 {
		return ""
	}
	return " (" + strings.Join(o.own[:min(len(o.own), 3)], ", ") + ")"
}

func (o *Outside) accept(h *Hop, claims bool, why string, args ...any) bool {
	o.Candidates = append(o.Candidates, Candidate{h, claims})
	o.why = fmt.Sprintf(why, args...)
	return true
}

func (o *Outside) giveUp(why string, args ...any) bool {
	o.Candidates, o.why = nil, fmt.Sprintf(why, args...)
	return true
}

func (o *Outside) add(org string) {
	if org != "" && !slices.Contains(o.own, org) {
		o.own = append(o.own, org)
	}
}

// Confirm chooses the hop once the names of the addresses are known: a server that claims to be of the receiver's
// side is, if a name of that side leads to its address. A nil hop means that it is unknown; why gives the reason.
func (o *Outside) Confirm(names func(netip.Addr) (confirmed []string, err error)) (h *Hop, why string) {
	for _, c := range o.Candidates {
		if !c.claimsOwn {
			return c.Hop, o.why
		}
		hosts, err := names(c.IP)
		own := slices.ContainsFunc(hosts, func(h string) bool { return slices.Contains(o.own, Operator(h)) })
		switch {
		case err != nil:
			return nil, fmt.Sprintf("%s claims to be one of the receiver's servers, but its name could not be looked up.", c.IP)
		case !own:
			return c.Hop, fmt.Sprintf("%s received the message from %s, which claims a name of the same "+
				"organization; no such name resolves to its address.", phrase.Quote(c.By), c.IP)
		}
	}
	return nil, o.whyNone()
}

// Offline chooses the hop without the DNS: the names that the receiver recorded are trusted.
func (o *Outside) Offline() (h *Hop, why string) {
	if n := len(o.Candidates); n > 0 && !o.Candidates[n-1].claimsOwn {
		return o.Candidates[n-1].Hop, o.why
	}
	return nil, o.whyNone()
}

func (o *Outside) whyNone() string {
	if len(o.Candidates) > 0 {
		return "All Received fields are from the receiver's own servers."
	}
	return o.why
}

func (h *Hop) fetched() bool {
	protocol := strings.ToUpper(h.With)
	return strings.HasPrefix(protocol, "POP3") || strings.HasPrefix(protocol, "IMAP")
}

// Submitted reports whether the mail came from a user who had signed in: the protocol is ESMTPA, ESMTPSA or such (RFC
// 3848).
func (h *Hop) Submitted() bool {
	protocol, _, _ := strings.Cut(strings.ToUpper(h.With), " ")
	return strings.HasSuffix(protocol, "MTPA") || strings.HasSuffix(protocol, "MTPSA")
}

// inside reports whether a hop between two servers of one name is within their network: Microsoft 365 hands mail to
// the server of the mailbox by HTTPS, and large providers relay it between public addresses without names and record
// both; an attacker could choose only one of them.
func (h *Hop) inside() bool {
	a, b := h.IP, AddrIn(h.Software)
	network, err := a.Prefix(24)
	return strings.EqualFold(h.With, "HTTPS") || b.IsValid() && a.BitLen() == b.BitLen() &&
		err == nil && network.Contains(b)
}

// notPublic are last labels of names that are not in the public DNS.
var notPublic = []string{"local", "internal", "lan", "localdomain", "localhost", "home", "corp", "intranet", "filterd",
	"invalid"}

// Organizational returns the organizational domain of a name, by the list of public suffixes; empty for names that
// are not in the public DNS, such as those with a single label, below .local or .internal, and addresses.
func Organizational(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == name || slices.Contains(notPublic, last) || strings.Trim(last, "0123456789") == "" ||
		strings.ContainsAny(name, ":[]@_ ") {
		return ""
	}
	return policy.PublicSuffixOrganizational(name)
}

// operators are domains whose servers relay mail to each other within one company.
var operators = map[string]string{
	"office365.com": "outlook.com", "microsoft.com": "outlook.com", "hotmail.com": "outlook.com",
	"exchangelabs.com": "outlook.com",
	"googlemail.com":   "google.com", "gmail.com": "google.com", "1e100.net": "google.com",
	"googlegroups.com": "google.com",
	"apple.com":        "icloud.com", "me.com": "icloud.com", "yahoodns.net": "yahoo.com", "aol.com": "yahoo.com",
	"fastmail.com": "messagingengine.com", "amazonaws.com": "amazonses.com", "web.de": "gmx.net",
	"kundenserver.de": "gmx.net",
}

// Operator identifies the operator of the server of a name: its organizational domain, or one that represents several
// of a company. The list of public suffixes has names below outlook.com and amazonaws.com that customers do not get
// for mail.
func Operator(name string) string {
	org := Organizational(name)
	lower := strings.ToLower(strings.TrimSuffix(name, "."))
	for _, d := range []string{"outlook.com", "amazonaws.com"} {
		if strings.HasSuffix(lower, "."+d) {
			org = d
		}
	}
	if other, ok := operators[org]; ok {
		return other
	}
	return org
}

// Canonical returns a domain in lower case with A-labels. An invalid name, such as an address literal, is only put in
// lower case.
func Canonical(domain string) string {
	if d, err := diag.ParseName(domain); err == nil && domain != "" {
		return d.String()
	}
	return strings.ToLower(strings.TrimSuffix(domain, "."))
}

// SameOrganization reports whether two names have the same organizational domain, as relaxed alignment requires.
func SameOrganization(a, b string) bool {
	a, b = Canonical(a), Canonical(b)
	return a != "" && policy.PublicSuffixOrganizational(a) == policy.PublicSuffixOrganizational(b)
}

// Private reports whether an address has no meaning outside of its network: private (RFC 1918, RFC 4193), loopback,
// link-local and shared (RFC 6598).
func Private(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || shared.Contains(ip)
}

var shared = netip.MustParsePrefix("100.64.0.0/10")
