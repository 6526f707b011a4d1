package dnsbl

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
)

// A Category is the subject of a list: spam, exploit, policy, proxy, bot, reputation or allow.
type Category string

// The categories.
const (
	Spam       Category = "spam"       // sources of spam
	Exploit    Category = "exploit"    // infected or hijacked machines, attackers
	Policy     Category = "policy"     // addresses that should not send mail themselves: no accusation
	Proxy      Category = "proxy"      // proxies, VPNs, Tor
	Bot        Category = "bot"        // members and controllers of botnets
	Reputation Category = "reputation" // a score, or the company that an address keeps
	Allow      Category = "allow"      // senders that the list vouches for
)

// Values lists the categories.
func (Category) Values() []string {
	return kit.Values(Spam, Exploit, Policy, Proxy, Bot, Reputation, Allow)
}

// Kinds of return codes that are not a category: they are not listings.
const (
	Neutral         Category = "neutral" // an entry that is neither bad nor good
	CategoryRefused Category = "refused" // the list did not answer the question
)

// Severity rates how many receivers use a list, and so the effect of a listing on mail: high, medium or low.
type Severity string

const (
	High   Severity = "high"   // large receivers reject mail on its word
	Medium Severity = "medium" // some reject, many count it
	Low    Severity = "low"    // few use it
)

// Values lists the severities.
func (Severity) Values() []string { return kit.Values(High, Medium, Low) }

// A Scope is the unit of a list's entries: address or network.
type Scope string

const (
	OfAddresses Scope = "address" // what the address itself did
	OfNetworks  Scope = "network" // what some addresses of its network did
)

// Values lists the scopes.
func (Scope) Values() []string { return kit.Values(OfAddresses, OfNetworks) }

// A Family is a version of the Internet Protocol: ipv4 or ipv6.
type Family string

// The families.
const (
	IPv4 Family = "ipv4"
	IPv6 Family = "ipv6"
)

// Values lists the families.
func (Family) Values() []string { return kit.Values(IPv4, IPv6) }

// A List is a DNS-based list of addresses. [ParseLists] describes its JSON.
type List struct {
	ID       string `json:"id"`       // short, permanent: lower-case letters, digits, hyphens
	Name     string `json:"name"`     // for people
	Operator string `json:"operator"` // who runs it
	// Zone is the zone to query, without a final dot. Empty if the list only answers clients with a key.
	Zone string `json:"zone,omitempty"`
	// KeyedZone is the zone to query with a key, in place of {key}, and KeyName is the name of the account whose key
	// is in the file [KeysFile]. Both may be empty.
	KeyedZone string `json:"keyed_zone,omitempty"`
	KeyName   string `json:"key_name,omitempty"`

	Category Category `json:"category"`
	Severity Severity `json:"severity"`
	Decisive bool     `json:"decisive,omitempty"` // a listing alone makes most large receivers reject mail

	Scope    Scope    `json:"scope"`
	Families []Family `json:"families"`          // which addresses it knows
	Test     bool     `json:"test"`              // it has an entry for the test address (RFC 5782 section 5)
	Delist   string   `json:"delist,omitempty"`  // URL to request removal, with {ip} for the address; may be empty
	Expires  string   `json:"expires,omitempty"` // when entries expire; empty if removal must be requested
	Rate     Rate     `json:"rate,omitzero"`     // permitted rate of checks; zero without a limit
	Codes    []Code   `json:"codes,omitempty"`   // a code that is in none of them is a listing of the category
}

// A Rate is a number of lookups per time. Its text is a number, a slash and s, m, h or d.
type Rate struct {
	Count int
	Per   time.Duration
}

var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// UnmarshalText reads a rate such as 10/s.
func (r *Rate) UnmarshalText(text []byte) error {
	count, unit, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxRateCount || units[unit] == 0 {
		return fmt.Errorf("%.40q is no rate: a number up to %d, a slash and s, m, h or d", text, maxRateCount)
	}
	*r = Rate{n, units[unit]}
	return nil
}

// A Code is a set of return codes and what they mean.
type Code struct {
	Pattern Pattern  `json:"codes"`
	Kind    Category `json:"kind"` // or neutral or refused
	Meaning string   `json:"meaning"`
}

// A Pattern is a set of IPv4 addresses: the octets from first to last.
type Pattern struct{ first, last [4]byte }

func (p Pattern) has(a netip.Addr) bool {
	octets := a.As4()
	for i, o := range octets {
		if o < p.first[i] || o > p.last[i] {
			return false
		}
	}
	return true
}

// UnmarshalText reads four octets, each a number, a range such as 4-7, or * for any.
func (p *Pattern) UnmarshalText(text []byte) error {
	octets := strings.Split(string(text), ".")
	if len(octets) != 4 || octets[0] != "127" {
		return fmt.Errorf("%.40q is no return code: four octets, of which the first is 127", text)
	}
	for i, o := range octets {
		first, last, isRange := strings.Cut(o, "-")
		switch {
		case o == "*":
			first, last = "0", "255"
		case !isRange:
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 8)
		b, errB := strconv.ParseUint(last, 10, 8)
		if errA != nil || errB != nil || a > b {
			return fmt.Errorf("%.40q is not a return code: the octet %.10q is not one", text, o)
		}
		p.first[i], p.last[i] = byte(a), byte(b)
	}
	return nil
}

func (l *List) knows(ip netip.Addr) bool {
	return ip.Is4() && slices.Contains(l.Families, IPv4) || ip.Is6() && slices.Contains(l.Families, IPv6)
}

func (l *List) ofNetworks() bool { return l.Scope == OfNetworks }

func (l *List) public(keyed bool) string {
	if keyed {
		return strings.TrimPrefix(l.KeyedZone, keyMark+".")
	}
	return l.Zone
}

func (l *List) delistURL(ip netip.Addr) string {
	return strings.ReplaceAll(l.Delist, ipMark, ip.String())
}

// The return codes with a meaning for all lists.
var (
	// errorCodes tell the client that the query was not answered; Spamhaus introduced them, and others followed
	// (docs.spamhaus.com, "Return codes").
	errorCodes = netip.MustParsePrefix("127.255.255.0/24")

	// codes is the range of lists' answers (RFC 5782 section 2.1).
	codes = netip.MustParsePrefix("127.0.0.0/8")

	// notACode must not be used for a listing, since it is the address of the local host (RFC 5782 section 2.1). Some
	// lists return it to clients without access.
	notACode = netip.MustParseAddr("127.0.0.1")
)

var errorMeanings = map[netip.Addr]string{
	netip.MustParseAddr("127.255.255.250"): "the key of the account has been disabled",
	netip.MustParseAddr("127.255.255.251"): "the key of the account is not accepted",
	netip.MustParseAddr("127.255.255.252"): "the name of the zone is misspelled",
	netip.MustParseAddr("127.255.255.254"): "the list does not answer queries through public or shared resolvers",
	netip.MustParseAddr("127.255.255.255"): "too many queries, or the resolver is not registered with the list",
}

type reading struct {
	kind     readingKind
	category Category // of a listing, the gravest of its codes
	codes    []netip.Addr
	decisive netip.Addr // the code that determined it
	meanings []string
}

type readingKind int

const (
	absent        readingKind = 0 // no entry
	informational readingKind = 1 // an entry that is not a listing
	present       readingKind = 2 // an entry, which is a listing
	denied        readingKind = 3 // the list refused to answer
	outOfRange    readingKind = 4 // an address that no list answers with
)

func (l *List) read(addrs []netip.Addr) reading {
	r := reading{codes: slices.Clone(addrs)}
	slices.SortFunc(r.codes, netip.Addr.Compare)
	var decisive []string // meanings of that code
	for _, a := range r.codes {
		kind, category, meanings := l.decode(a)
		if kind > r.kind || !r.decisive.IsValid() {
			r.kind, r.decisive, decisive = kind, a, meanings
		}
		if kind == present && (r.category == "" || rank(category) > rank(r.category)) {
			r.category = category
		}
		for _, m := range meanings {
			if !slices.Contains(r.meanings, m) {
				r.meanings = append(r.meanings, m)
			}
		}
	}
	if r.kind != present {
		r.category = ""
	}
	if r.kind > present {
		r.meanings = decisive
	}
	return r
}

func (l *List) decode(a netip.Addr) (kind readingKind, category Category, meanings []string) {
	if !codes.Contains(a) {
		return outOfRange, "", nil
	}
	for _, c := range l.Codes {
		if !c.Pattern.has(a) {
			continue
		}
		meanings = append(meanings, c.Meaning)
		if category == "" {
			category = c.Kind
		}
	}
	switch {
	case category == CategoryRefused, category == "" && (errorCodes.Contains(a) || a == notACode):
		if m := errorMeanings[a]; category == "" && m != "" {
			meanings = []string{m}
		}
		return denied, "", meanings
	case category == "":
		return present, l.Category, nil
	case category == Neutral, category == Allow && l.Category != Allow:
		return informational, "", meanings
	default:
		return present, category, meanings
	}
}

func (r *reading) refusal() string {
	if len(r.meanings) > 0 {
		return fmt.Sprintf("it answered %s (%s)", r.decisive, strings.Join(r.meanings, "; "))
	}
	return fmt.Sprintf("it answered %s, by which lists refuse", r.decisive)
}

// rank orders categories by what they accuse an address of.
func rank(c Category) int {
	return slices.Index([]Category{Allow, Policy, Reputation, Proxy, Exploit, Bot, Spam}, c)
}
