package header

import (
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/message"
)

// evidence is a header read in full. The rules look at nothing else.
type evidence struct {
	now    time.Time
	msg    *message.Message
	damage []Damage
	// trusted are the authserv-ids that the request trusts, in lower case; nil: it names none, and the place of
	// a field decides.
	trusted []string

	from, sender, replyTo, to []message.Address
	returnPath                *message.Address // nil if there is no Return-Path; zero for <>
	date                      message.Date
	dateErr                   error // why Date cannot be read; nil also if there is none
	dated                     bool  // whether Date could be read

	fromDomain string // domain of the only author, in lower case with A-labels; empty if there is none, or several
	fromOrg    string // its organizational domain

	hops       []hop // the oldest first
	hopsCut    int   // fields Received beyond [maxHops]
	border     int   // index of the hop by which the message came in from outside; -1 if there is none
	authFields []authField
	signatures []signature
	chain      *arc.Chain
	spam       []SpamVerdict
	list       List
}

// readPasted reads a header that somebody pasted, which copying may have damaged.
func readPasted(text []byte, now time.Time) *evidence {
	repaired, damage := message.Repair(text)
	e := &evidence{now: now, msg: message.Split(repaired), damage: damage}
	e.read()
	return e
}

// readMessage reads the header of a message as it is.
func readMessage(m *message.Message, now time.Time) *evidence {
	e := &evidence{now: now, msg: m}
	e.read()
	return e
}

// read takes the header apart. What depends on [evidence.trusted] is decided later.
func (e *evidence) read() {
	m := e.msg
	for _, f := range m.All("From") {
		e.from = append(e.from, realAddresses(f)...)
	}
	for _, f := range m.All("To") {
		e.to = append(e.to, message.ParseAddresses(f.Value())...)
	}
	for _, f := range m.All("Reply-To") {
		e.replyTo = append(e.replyTo, realAddresses(f)...)
	}
	for _, f := range m.All("Sender") {
		e.sender = append(e.sender, realAddresses(f)...)
	}
	if f := m.First("Return-Path"); f != nil {
		e.returnPath = new(message.Address{})
		if list := message.ParseAddresses(f.Value()); len(list) > 0 {
			*e.returnPath = list[0]
		}
	}
	if f := m.First("Date"); f != nil {
		e.date, e.dateErr = message.ParseDate(f.Value())
		e.dated = e.dateErr == nil
	}
	if domains := domainsOf(e.from); len(domains) == 1 {
		e.fromDomain = domains[0]
		e.fromOrg = policy.PublicSuffixOrganizational(e.fromDomain)
	}
	e.readHops()
	e.readAuthentication()
	e.readSignatures()
	e.chain = arc.Parse(e.msg.Fields)
	e.readSpam()
	e.readList()
}

// realAddresses are the items of a list that have an address.
func realAddresses(f *message.Field) []message.Address {
	var list []message.Address
	for _, a := range message.ParseAddresses(f.Value()) {
		if !a.IsZero() {
			list = append(list, a)
		}
	}
	return list
}

// domainsOf are the domains of addresses, each once, in lower case with A-labels.
func domainsOf(list []message.Address) []string {
	var domains []string
	seen := map[string]bool{}
	for _, a := range list {
		if d := canonical(a.Domain); d != "" && !seen[d] {
			seen[d] = true
			domains = append(domains, d)
		}
	}
	return domains
}

// canonical is a domain in lower case with A-labels. What is no valid name, such as an address literal, is only put
// in lower case.
func canonical(domain string) string {
	if d, err := diag.ParseName(domain); err == nil && domain != "" {
		return d.String()
	}
	return strings.ToLower(strings.TrimSuffix(domain, "."))
}

// organizational is the organizational domain of a name, by the list of public suffixes; empty for names that no
// public DNS holds, such as those with a single label, below .local or .internal, and addresses.
func organizational(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch last {
	case name, "local", "internal", "lan", "localdomain", "localhost", "home", "corp", "intranet", "filterd", "invalid":
		return ""
	}
	if strings.Trim(last, "0123456789") == "" || strings.ContainsAny(name, ":[]@_ ") {
		return ""
	}
	return policy.PublicSuffixOrganizational(name)
}

// operators are domains whose servers hand mail to each other within one company.
var operators = map[string]string{
	"office365.com": "outlook.com", "microsoft.com": "outlook.com", "hotmail.com": "outlook.com", "exchangelabs.com": "outlook.com",
	"googlemail.com": "google.com", "gmail.com": "google.com", "1e100.net": "google.com", "googlegroups.com": "google.com",
	"apple.com": "icloud.com", "me.com": "icloud.com", "yahoodns.net": "yahoo.com", "aol.com": "yahoo.com",
	"fastmail.com": "messagingengine.com", "amazonaws.com": "amazonses.com", "web.de": "gmx.net", "kundenserver.de": "gmx.net",
}

// operator is who runs the server of a name: its organizational domain, or one that stands for several of a company.
// The list of public suffixes has names below outlook.com and amazonaws.com that customers do not get for mail.
func operator(name string) string {
	org := organizational(name)
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

// sameOrganization reports whether two names have the same organizational domain, as relaxed alignment asks.
func sameOrganization(a, b string) bool {
	a, b = canonical(a), canonical(b)
	return a != "" && policy.PublicSuffixOrganizational(a) == policy.PublicSuffixOrganizational(b)
}

// isPrivate reports whether an address says nothing outside of the network it is in: private (RFC 1918, RFC 4193),
// loopback, link-local and shared (RFC 6598).
func isPrivate(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || shared.Contains(ip)
}

var shared = netip.MustParsePrefix("100.64.0.0/10")
