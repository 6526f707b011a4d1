package registry

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"go4.org/netipx"
)

// A networkRecord holds the data of a WHOIS answer for an address. There are two families of formats: RPSL (RFC
// 2622), of all registries but one, and that of ARIN; both are paragraphs about one object each.
type networkRecord struct {
	dates    *dateReader
	facts    ipFacts
	found    bool
	referral string
	size     netip.Prefix // smallest prefix around the network
	origin   netip.Prefix // route that the autonomous system is from
}

// A whoisObject is a paragraph.
type whoisObject struct {
	class  string // its first key
	fields []field
}

// get returns the first value of some keys.
func (o whoisObject) get(keys ...string) string {
	for _, k := range keys {
		for _, f := range o.fields {
			if f.key == k {
				return f.value
			}
		}
	}
	return ""
}

// objects cuts an answer into its paragraphs.
func objects(text string) []whoisObject {
	var list []whoisObject
	for _, f := range scan(text) {
		if n := len(list); n == 0 || list[n-1].class != f.section || f.key == f.section && !f.bare {
			list = append(list, whoisObject{class: f.section})
		}
		o := &list[len(list)-1]
		o.fields = append(o.fields, f)
	}
	return list
}

// abuseComment matches RIPE's comment with the abuse contact.
var abuseComment = kit.Regexp(`(?m)^% Abuse contact for '[^']*' is '([^'\s]+@[^'\s]+)'`)

// readNetwork reads the answer of a WHOIS server about an address.
func readNetwork(text string, ip netip.Addr) *networkRecord {
	n := &networkRecord{dates: recordDates(text, "", nil)}
	list := objects(text)
	for _, o := range list {
		for _, f := range o.fields {
			if referralKeys[f.key] {
				n.referral = cmp.Or(n.referral, referralHost(f.value))
			}
		}
		switch o.class {
		case "inetnum", "inet6num", "netrange":
			n.network(o, ip)
		case "route":
			n.route(o, ip)
		}
	}
	if !n.found {
		return n
	}
	n.holder(list)
	n.people(list)
	if m := abuseComment().FindStringSubmatch(text); m != nil {
		n.facts.abuse.Emails = addOnce(nil, m[1])
	}
	return n
}

// network takes a network if it contains the address and is smaller than the one before. A network of all addresses,
// or one marked as another registry's, means that the server has no data.
func (n *networkRecord) network(o whoisObject, ip netip.Addr) {
	start, end := parseNetwork(o.get(o.class))
	name := o.get("netname")
	if !start.IsValid() || start.BitLen() != ip.BitLen() || ip.Compare(start) < 0 || ip.Compare(end) > 0 ||
		start.IsUnspecified() || strings.Contains(name, "NOT-MANAGED") || strings.Contains(name, "NON-RIPE-NCC-MANAGED") ||
		strings.HasPrefix(name, "IANA-BLK") || strings.HasPrefix(name, "IANA-NETBLOCK") {
		return
	}
	around := enclosing(start, end)
	if n.found && around.Bits() < n.size.Bits() {
		return
	}
	n.found, n.size = true, around
	parent := o.get("parent")
	if i := strings.LastIndexByte(parent, '('); i >= 0 {
		parent = strings.Trim(parent[i:], "()")
	}
	n.facts.network = Network{
		CIDRs: prefixes(start, end), StartAddress: start.String(), EndAddress: end.String(), Name: name,
		Handle: cmp.Or(o.get("nethandle"), o.get(o.class)), Type: cmp.Or(o.get("nettype"), o.get("status")),
		ParentHandle: parent, Country: o.get("country"),
	}
	n.facts.network.RegisteredAt, _ = n.dates.parse(o.get("regdate", "created"))
	n.facts.network.UpdatedAt, _ = n.dates.parse(o.get("updated", "last-modified", "changed"))
	n.facts.organization = Organization{}
	if name := o.get("owner", "organization", "org", "descr"); name != "" {
		n.facts.organization = Organization{Name: name, Handle: o.get("ownerid", "org")}
		if m := nameAndHandle().FindStringSubmatch(name); m != nil && o.class == "netrange" {
			n.facts.organization = Organization{Name: m[1], Handle: m[2]}
		}
	}
	if number, ok := parseASN(o.get("originas", "aut-num")); ok {
		n.facts.asn = ASN{Number: number}
	}
}

// nameAndHandle matches ARIN's form of an organization.
var nameAndHandle = kit.Regexp(`^(.*\S)\s+\(([A-Z0-9-]+)\)$`)

func parseNetwork(text string) (start, end netip.Addr) {
	if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
		return p.Masked().Addr(), netipx.PrefixLastIP(p)
	}
	a, z, found := strings.Cut(text, "-")
	if !found {
		return netip.Addr{}, netip.Addr{}
	}
	start, ok1 := parseAddress(strings.TrimSpace(a))
	end, ok2 := parseAddress(strings.TrimSpace(z))
	if !ok1 || !ok2 || start.BitLen() != end.BitLen() || end.Less(start) {
		return netip.Addr{}, netip.Addr{}
	}
	return start, end
}

// enclosing returns the smallest prefix that has a range.
func enclosing(start, end netip.Addr) netip.Prefix {
	for bits := start.BitLen(); bits > 0; bits-- {
		if p, err := start.Prefix(bits); err == nil && p.Contains(end) {
			return p
		}
	}
	return netip.PrefixFrom(start, 0).Masked()
}

// parseASN reads the number of an autonomous system, such as "AS64496".
func parseASN(text string) (int64, bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(strings.ToUpper(text), "AS"), ",")
	number, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	return int64(number), err == nil
}

// route takes the autonomous system of the most specific route to the address (RFC 2622 section 4). The
// key of a route6 is the same once its number is cut off.
func (n *networkRecord) route(o whoisObject, ip netip.Addr) {
	p, err := netip.ParsePrefix(o.get("route"))
	number, ok := parseASN(o.get("origin"))
	if err != nil || !ok || !p.Contains(ip) || n.origin.IsValid() && p.Bits() < n.origin.Bits() {
		return
	}
	n.origin = p.Masked()
	n.facts.asn = ASN{Number: number, Route: n.origin.String()}
}

// holder finds the organization to which the network refers.
func (n *networkRecord) holder(list []whoisObject) {
	org := &n.facts.organization
	if *org == (Organization{}) {
		return
	}
	for _, o := range list {
		switch {
		case o.class == "organisation" && strings.EqualFold(o.get("organisation"), org.Handle):
			org.Name, org.Country = cmp.Or(o.get("org-name"), org.Name), o.get("country")
		case o.class == "orgname" && strings.EqualFold(o.get("orgid"), org.Handle):
			org.Name, org.Country = o.get("orgname"), o.get("country")
			n.facts.network.Country = cmp.Or(n.facts.network.Country, org.Country)
		}
	}
}

// people reads the contacts: at ARIN from keys that begin with the role, such as "OrgAbuseEmail",
// elsewhere from objects of persons.
func (n *networkRecord) people(list []whoisObject) {
	for _, o := range list {
		var c IPContact
		if role := arinRole(o.class); role != "" {
			prefix := o.class[:len(o.class)-len("handle")]
			c = IPContact{Roles: []string{role}, Name: o.get(prefix + "name"),
				Emails: []string{o.get(prefix + "email")}, Phones: []string{o.get(prefix + "phone")}}
		} else if slices.Contains([]string{"person", "role", "irt", "nic-hdl-br", "nic-hdl"}, o.class) {
			c = n.person(o, list)
		} else {
			continue
		}
		c.hideRedactions()
		if slices.Contains(c.Roles, "abuse") {
			n.facts.abuse.add(c.Emails, c.Phones)
		}
		if len(n.facts.contacts) < maxEntities {
			n.facts.contacts = append(n.facts.contacts, c)
		}
	}
}

// hideRedactions takes away what only says that something was left out, what is empty, and what is there twice.
func (c *IPContact) hideRedactions() {
	keep := func(values []string) []string {
		var kept []string
		for _, v := range values {
			if isRedaction(v) {
				c.Redacted = true
				continue
			}
			kept = addOnce(kept, v)
		}
		return kept
	}
	c.Name = first(keep([]string{c.Name}))
	c.Emails, c.Phones = keep(c.Emails), keep(c.Phones)
}

func arinRole(class string) string {
	for word, role := range map[string]string{"abuse": "abuse", "tech": "technical", "noc": "noc", "routing": "routing"} {
		if strings.HasSuffix(class, word+"handle") {
			return role
		}
	}
	return ""
}

// person reads a person or a role, whose functions are given by the objects that refer to it (RFC 2622 section 3).
func (n *networkRecord) person(o whoisObject, list []whoisObject) IPContact {
	handle := o.get("nic-hdl", "irt", "nic-hdl-br")
	c := IPContact{
		Name:   o.get("person", "role", "irt"),
		Emails: []string{o.get("abuse-mailbox"), o.get("e-mail")}, Phones: []string{o.get("phone")},
	}
	if o.get("abuse-mailbox") != "" {
		c.Roles = append(c.Roles, "abuse")
	}
	for _, other := range list {
		for _, f := range other.fields {
			role := map[string]string{
				"admin-c": "administrative", "tech-c": "technical", "abuse-c": "abuse", "owner-c": "registrant",
				"mnt-irt": "abuse",
			}[f.key]
			if handle != "" && strings.EqualFold(f.value, handle) {
				c.Roles = addOnce(c.Roles, role)
			}
		}
	}
	return c
}

// judge says what a WHOIS answer about an address amounts to.
func (n *networkRecord) judge(text string) outcome {
	if n.found {
		return found
	}
	return judgeText(text)
}
