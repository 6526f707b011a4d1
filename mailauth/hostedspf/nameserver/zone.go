package nameserver

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

const (
	// DefaultTTL is how long a published record may be kept by resolvers. It is short, because a new address of a
	// provider must soon be authorized everywhere, and a query every five minutes from each resolver costs little.
	DefaultTTL = 5 * time.Minute
	// zoneTTL is the TTL of records that seldom change: SOA, NS, and the addresses of name servers.
	zoneTTL = time.Hour
	// negativeTTL is how long the absence of a name may be remembered (RFC 2308 section 5 recommends one to three
	// hours). Here a name is often queried just before it is created.
	negativeTTL = 5 * time.Minute
	// The timers of secondary servers: RFC 1912 section 2.2. They are notified of changes immediately.
	refresh = 4 * time.Hour
	retry   = time.Hour
	expire  = 14 * 24 * time.Hour
	// maxNameservers bounds the NS records, so that they and their addresses fit in a datagram; the root has as many.
	maxNameservers = 13
	// maxAddresses bounds the addresses of one name server.
	maxAddresses = 4
)

// A Zone defines the part of the name space for which the server answers.
type Zone struct {
	// Name is the apex, such as spf.example.net. What the profiles publish outside it is not served.
	Name diag.Name
	// Nameservers are the servers of the zone, as its parent delegates it to them: between 1 and 13, the
	// first of which is named in the SOA record. Two, in different networks, are wise (RFC 2182).
	Nameservers []Nameserver
	// Contact is the mail address of the operator. Empty means hostmaster (RFC 2142 section 7) at the registered
	// domain, which can receive mail; it is required if that is the zone itself.
	Contact string
	// TTL is how long published records may be kept, at most [hostedspf.MaxTTL]; 0 means [DefaultTTL]. The
	// refresh interval of a profile is the upper bound for its own records.
	TTL time.Duration
}

// A Nameserver is one server of a zone.
type Nameserver struct {
	// Name is its host name.
	Name diag.Name
	// Addrs are its addresses, at least one and at most four if the name is in the zone, and empty otherwise, because
	// they are then published elsewhere.
	Addrs []netip.Addr
}

// ParseNameserver reads NAME or NAME=ADDR/ADDR, such as ns1.spf.example.net=192.0.2.53/2001:db8::53.
func ParseNameserver(text string) (Nameserver, error) {
	name, addrs, given := strings.Cut(text, "=")
	n, err := diag.ParseName(name)
	if err != nil {
		return Nameserver{}, fmt.Errorf("name server %.300q: %w", text, err)
	}
	ns := Nameserver{Name: n}
	if !given {
		return ns, nil
	}
	for part := range strings.SplitSeq(addrs, "/") {
		ip, err := netip.ParseAddr(part)
		if err != nil || ip.Zone() != "" {
			return Nameserver{}, fmt.Errorf("name server %s: %.60q is not an IP address", n, part)
		}
		ns.Addrs = append(ns.Addrs, ip.Unmap())
	}
	return ns, nil
}

// Validate returns the first fault of a zone.
func (z *Zone) Validate() error {
	switch {
	case z.Name.IsZero() || z.Name.String() == ".":
		return errors.New("the zone has no name")
	case strings.HasPrefix(z.Name.String(), "*"):
		return fmt.Errorf("zone %s: the name is a wildcard", z.Name)
	case len(z.Nameservers) == 0 || len(z.Nameservers) > maxNameservers:
		return fmt.Errorf("zone %s: has %d name servers, must have 1 to %d", z.Name, len(z.Nameservers), maxNameservers)
	case z.TTL < 0 || z.TTL > hostedspf.MaxTTL:
		return fmt.Errorf("zone %s: the lifetime %s is not between 0 and %s", z.Name, z.TTL, hostedspf.MaxTTL)
	}
	for _, ns := range z.Nameservers {
		inside := dns.IsSubDomain(z.Name.FQDN(), ns.Name.FQDN())
		switch {
		case ns.Name.IsZero() || ns.Name.String() == ".":
			return fmt.Errorf("zone %s: a name server has no name", z.Name)
		case inside && (len(ns.Addrs) == 0 || len(ns.Addrs) > maxAddresses):
			return fmt.Errorf("zone %s: its name server %s needs 1 to %d addresses", z.Name, ns.Name, maxAddresses)
		case !inside && len(ns.Addrs) > 0:
			return fmt.Errorf("zone %s: the addresses of %s are published elsewhere and not here", z.Name, ns.Name)
		}
	}
	_, err := z.mailbox()
	return err
}

// mailbox is the contact in the form of a name: the part before the at sign becomes the first label
// (RFC 1035 section 8).
func (z *Zone) mailbox() (string, error) {
	if z.Contact == "" {
		domain, err := publicsuffix.EffectiveTLDPlusOne(z.Name.String())
		if err != nil || domain == z.Name.String() {
			return "", fmt.Errorf("zone %s: needs a contact, since nobody receives mail at the zone itself", z.Name)
		}
		return "hostmaster." + dns.Fqdn(domain), nil
	}
	at := strings.LastIndexByte(z.Contact, '@')
	if at < 1 {
		return "", fmt.Errorf("contact %.300q is not a mail address", z.Contact)
	}
	domain, err := diag.ParseName(z.Contact[at+1:])
	if err != nil {
		return "", fmt.Errorf("contact %.300q: %w", z.Contact, err)
	}
	local := strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(z.Contact[:at])
	name := local + "." + domain.FQDN()
	if _, ok := dns.IsDomainName(name); !ok || strings.ContainsAny(local, "\" ()<>@,;:\t\r\n") {
		return "", fmt.Errorf("contact %.300q cannot be written as a name", z.Contact)
	}
	return name, nil
}

func (z *Zone) within(name string) bool { return dns.IsSubDomain(z.Name.FQDN(), dns.Fqdn(name)) }

func (z *Zone) ttl(interval time.Duration) uint32 {
	ttl := cmp.Or(z.TTL, DefaultTTL)
	if interval > 0 {
		ttl = min(ttl, interval)
	}
	return seconds(ttl)
}

func seconds(d time.Duration) uint32 { return uint32(max(d/time.Second, 1)) }

// A published thing is one TXT record, or a set of addresses.
type published struct {
	name     string // absolute, in lower case
	value    string
	ttl      uint32
	networks []netip.Prefix // of a set; the value is then empty
}

// A snapshot is all that the server answers from. It never changes, but for answers that are kept packed.
type snapshot struct {
	apex     string // absolute, in lower case
	soa      *dns.SOA
	negative *dns.SOA        // in its form for negative answers
	nodes    map[string]node // by absolute name in lower case
	sets     map[string]answered
	records  int
	signer   *signer // nil: the zone is not signed
	pantry   pantry
}

// A node is a name that exists: its records by type, empty if it only has names below it (RFC 8020).
type node map[uint16][]dns.RR

func (z *Zone) build(records []published, serial uint32) *snapshot {
	apex := z.Name.FQDN()
	s := &snapshot{
		apex:    apex,
		nodes:   make(map[string]node, 2*len(records)),
		sets:    map[string]answered{},
		records: len(records),
	}
	mailbox, _ := z.mailbox() // approved
	s.soa = &dns.SOA{
		Hdr: header(apex, dns.TypeSOA, seconds(zoneTTL)), Ns: z.Nameservers[0].Name.FQDN(), Mbox: mailbox, Serial: serial,
		Refresh: seconds(refresh), Retry: seconds(retry), Expire: seconds(expire), Minttl: seconds(negativeTTL),
	}
	negative := *s.soa
	negative.Hdr.Ttl = min(s.soa.Hdr.Ttl, s.soa.Minttl) // RFC 2308 section 3
	s.negative = &negative
	s.add(s.soa)
	for _, ns := range z.Nameservers {
		name := ns.Name.FQDN()
		s.add(&dns.NS{Hdr: header(apex, dns.TypeNS, seconds(zoneTTL)), Ns: name})
		for _, ip := range ns.Addrs {
			s.add(dnsmsg.AddressRecord(name, ip, seconds(zoneTTL)))
		}
	}
	for _, r := range records {
		if r.networks != nil {
			s.exist(r.name)
			s.sets[r.name] = answered{spf.SetOf(r.networks...), r.ttl}
			continue
		}
		s.add(&dns.TXT{Hdr: header(r.name, dns.TypeTXT, r.ttl), Txt: split(r.value)})
	}
	return s
}

func header(name string, rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}

func (s *snapshot) add(rr dns.RR) {
	name := dns.CanonicalName(rr.Header().Name)
	s.exist(name)
	rrtype := rr.Header().Rrtype
	s.nodes[name][rrtype] = append(s.nodes[name][rrtype], rr)
}

// exist makes a name and those above it exist.
func (s *snapshot) exist(name string) {
	for above := name; ; {
		if s.nodes[above] == nil {
			s.nodes[above] = make(node, 1)
		}
		if above == s.apex {
			break
		}
		next, end := dns.NextLabel(above, 0)
		if end {
			break
		}
		above = above[next:]
	}
}

// split cuts a text into the strings of a TXT record, which readers of SPF join without anything
// between them (RFC 7208 section 3.3), and writes them as the DNS library wants them.
func split(value string) []string {
	parts := slices.Collect(slices.Chunk([]byte(value), dnsmsg.MaxTXTString))
	return kit.Map(parts, func(p []byte) string { return strings.ReplaceAll(string(p), `\`, `\\`) })
}

// An answered set is one that receivers query address by address: "exists:%{i}.name" (RFC 7208 section 5.7).
type answered struct {
	set spf.Set
	ttl uint32
}

// listed is the answer for an address in a set. Only its presence matters.
var listed = netip.AddrFrom4([4]byte{127, 0, 0, 2})

// member answers for a name below that of a set, and reports whether there is such a set. All names below exist: a
// resolver that asks label by label (RFC 9156) must not infer from the absence of one that all names below are absent
// (RFC 8020), and 4.3.2.1 can be an IPv4 address as well as the end of one of IPv6.
func (s *snapshot) member(m *dns.Msg, q dns.Question, name string) bool {
	client, set, ok := s.setOf(name)
	if !ok {
		return false
	}
	if set.has(client) && q.Qtype == dns.TypeA {
		m.Answer = []dns.RR{dnsmsg.AddressRecord(q.Name, listed, set.ttl)}
	} else {
		m.Ns = []dns.RR{s.negative}
	}
	return true
}

func (a answered) has(client string) bool {
	ip, ok := expanded(client)
	return ok && a.set.Contains(ip)
}

// setOf finds the set that a name is below, and the labels before the name of the set.
func (s *snapshot) setOf(name string) (client string, set answered, ok bool) {
	for i := 0; i < len(name) && len(s.sets) > 0; i++ {
		if name[i] == '.' {
			if set, ok = s.sets[name[i+1:]]; ok {
				return name[:i], set, true
			}
		}
	}
	return "", answered{}, false
}

// nibbles is how many labels an IPv6 address has where the macro i is expanded (RFC 7208 section 7.3).
const nibbles = 32

// expanded reads an address as the macro i writes it: dotted decimal for IPv4, nibbles with dots for IPv6.
func expanded(text string) (netip.Addr, bool) {
	if strings.Count(text, ".") != nibbles-1 {
		ip, err := netip.ParseAddr(text)
		return ip, err == nil && ip.Is4()
	}
	var bytes [16]byte
	if len(text) != 2*nibbles-1 {
		return netip.Addr{}, false
	}
	for i := range nibbles {
		digit := strings.IndexByte("0123456789abcdef", text[2*i])
		if digit < 0 {
			return netip.Addr{}, false
		}
		bytes[i/2] = bytes[i/2]<<4 | byte(digit)
	}
	return netip.AddrFrom16(bytes), true
}
