package resolver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// An Iterator resolves names iteratively: it begins with the servers of the root zone and follows referrals
// down to the authoritative servers of the name (RFC 1034 section 5.3.3). Such a resolution is called a walk
// here. The zero Iterator walks the real DNS. It may be used by several goroutines concurrently, and caches
// nothing between walks.
//
// The owner of a domain controls where a walk through it leads. A server is therefore trusted only for names
// at or below the zone for which it was queried; each referral must lead further down; and a walk has limits
// for queries, aliases, nested lookups of name servers, and servers tried for each zone.
type Iterator struct {
	// Ask sends a query unchanged to one server, as [Client.Ask] of a client with AsIs. It must return when
	// the context ends. If nil, the real network is used.
	Ask func(ctx context.Context, server Server, q *dns.Msg) (*dns.Msg, error)
	// Roots are the servers with which walks begin. If empty, [RootServers].
	Roots []NameServer
	// Check, if set, returns an error if a server must not be queried.
	Check func(addr netip.AddrPort) error
	// NoIPv4 and NoIPv6 exclude servers of an address family.
	NoIPv4, NoIPv6 bool
	// TCP queries over TCP only, instead of over UDP first.
	TCP bool
	// MaxQueries is the maximum number of messages sent in one walk. 0 means 100.
	MaxQueries int
}

const (
	// defaultMaxQueries is the limit of other resolvers (max-recursion-queries of BIND is 50 a name). Four are
	// usual; the rest is for servers that do not answer and those without glue.
	defaultMaxQueries = 100
	// queryTimeout is how long a server is waited for. Nearly all answer within a quarter of it.
	queryTimeout = 1500 * time.Millisecond
	// raceDelay is how long a server is waited for before another is asked beside it: more than the
	// usual round trip to the other side of the world.
	raceDelay = 300 * time.Millisecond
	// maxTries bounds the questions to the servers of one zone for one purpose. Zones have up to 13
	// servers of two addresses; if the first 16 tries are in vain, so are the others.
	maxTries = 16
	// maxRepeats bounds how many silent servers are asked once more, without EDNS.
	maxRepeats = 4
	// maxNameServers bounds the NS records of a zone that are used; the root and large domains have 13.
	maxNameServers = 32
	// maxGlueless bounds the name servers without an address that are looked up concurrently. A referral to many
	// such hosts is an attack on the servers of their zones (CVE-2020-8616, "NXNSAttack").
	maxGlueless = 4
	// maxDepth bounds name servers that are looked up for the sake of name servers.
	maxDepth = 4
	// familyGrace is how long the addresses of the other family are waited for once one is there.
	familyGrace = 100 * time.Millisecond
	// maxAliases bounds a chain of CNAMEs; resolvers follow between 8 and 16.
	maxAliases = 16
)

// Errors of [Walk.Err].
var (
	// ErrLame means that a server does not answer for a zone that is delegated to it.
	ErrLame = errors.New("lame server")

	// errBudget says that a walk was given up because it took too many questions.
	errBudget = errors.New("the walk took too many questions")

	// errNoAddress says that there is no server of a zone whose address is known.
	errNoAddress = errors.New("no server with a known address")
)

// A Hop is one query to one server on a walk, and its outcome.
type Hop struct {
	Zone      string // the zone for which the server was queried, with the final dot
	Server    string // name of the server, with the final dot
	Addr      netip.AddrPort
	Transport Transport // UDP, or TCP if the reply over UDP was truncated
	Question  dns.Question
	For       string   // the name server that is being looked up; empty for the caller's query
	Reply     *dns.Msg // the server's reply, or nil; must not be modified
	Child     string   // the zone to which the server refers, or empty
	NS        []string // the servers of the child, with the final dot
	Glue      []dns.RR // glue: addresses of those servers that this server may provide
	Latency   time.Duration
	Truncated bool  // the reply over UDP was truncated
	Err       error // why the reply is unusable or missing; nil if it is usable
}

// A Walk is the result of resolving a name iteratively, with all queries that led to it.
type Walk struct {
	// Reply is the last reply, with the records and the aliases that led to them from all zones of the walk.
	// If no server of the last zone replied, it is SERVFAIL with an extended error (RFC 8914 section 4.23).
	// It is never nil.
	Reply *dns.Msg
	// Err is the reason that no authoritative server answered. Reply may then be the best of the unusable
	// replies, such as one with REFUSED.
	Err error

	Last Hop   // hop of the last reply; its Reply is nil if no server replied
	Hops []Hop // all queries, in the order in which they ended
}

// transport is the transport of the first query to a server.
func (it *Iterator) transport() Transport {
	if it.TCP {
		return TCP
	}
	return UDP
}

// Find walks from the root to the records of one name and type, following aliases. With dnssec, it also
// requests signatures. The walk is never nil; its Err is that of the context if that has ended.
func (it *Iterator) Find(ctx context.Context, name string, qtype uint16, dnssec bool) *Walk {
	w := it.begin(dnssec)
	q := dns.Question{Name: dns.CanonicalName(name), Qtype: qtype, Qclass: dns.ClassINET}
	reply, last, err := w.find(ctx, q, nil)
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return &Walk{Reply: reply, Err: err, Last: last, Hops: w.taken()}
}

// Exchange implements [Exchanger]. It does not validate. If no authoritative server can be reached, the reply
// is SERVFAIL with an extended error (RFC 8914 section 4.23), as from other resolvers. The error is that of
// the context.
func (it *Iterator) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if len(q.Question) != 1 {
		return nil, errQuestion
	}
	opt := q.IsEdns0()
	walk := it.Find(ctx, q.Question[0].Name, q.Question[0].Qtype, opt != nil && opt.Do())
	if err := ctx.Err(); err != nil && walk.Err != nil {
		return nil, err
	}
	found := walk.Reply
	if walk.Err != nil {
		found = unreached(q.Question[0], nil, walk.Err)
	}
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	m.Rcode, m.Answer, m.Ns = found.Rcode, found.Answer, found.Ns
	for _, rr := range found.Extra {
		if rr.Header().Rrtype != dns.TypeOPT || opt != nil {
			m.Extra = append(m.Extra, rr)
		}
	}
	return m, nil
}

type cut struct {
	zone   string
	parent *cut // nil for the root
	hosts  []NameServer
}

// A walk is the work on one call.
type walk struct {
	it     *Iterator
	dnssec bool
	left   atomic.Int64 // messages that may still be sent
	noIPv6 atomic.Bool  // this machine has no way out over IPv6

	mu    sync.Mutex
	hops  []Hop
	cuts  map[string]*cut
	hosts map[string][]netip.Addr // name servers that were looked up
}

func (it *Iterator) begin(dnssec bool) *walk {
	roots := it.Roots
	if len(roots) == 0 {
		roots = RootServers()
	}
	w := &walk{it: it, dnssec: dnssec, cuts: map[string]*cut{}, hosts: map[string][]netip.Addr{}}
	w.cuts["."] = &cut{zone: ".", hosts: roots}
	w.left.Store(defaultMaxQueries)
	if it.MaxQueries > 0 {
		w.left.Store(int64(it.MaxQueries))
	}
	return w
}

func (w *walk) taken() []Hop {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.hops)
}

func (w *walk) record(h Hop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hops = append(w.hops, h)
}

// nearest returns the deepest zone known that holds the answer to a question. The records DS of a zone
// are with the parent zone (RFC 4035 section 3.1.4.1).
func (w *walk) nearest(q dns.Question) *cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := q.Name
	if q.Qtype == dns.TypeDS {
		name = ParentName(name)
	}
	for ; ; name = ParentName(name) {
		if c := w.cuts[name]; c != nil {
			return c
		}
	}
}

// learn keeps a referral for the rest of the walk.
func (w *walk) learn(above *cut, h Hop) *cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.cuts[h.Child]; known != nil {
		return known
	}
	c := &cut{zone: h.Child, parent: above}
	for _, name := range h.NS {
		c.hosts = appendHost(c.hosts, name, maxNameServers)
	}
	for _, rr := range h.Glue {
		if i := hostIn(c.hosts, dns.CanonicalName(rr.Header().Name)); i >= 0 {
			c.hosts[i].Addrs = appendAddr(c.hosts[i].Addrs, AddressIn(rr))
		}
	}
	w.cuts[h.Child] = c
	return c
}

// ParentName returns an absolute name without its first label; the parent of the root is the root.
func ParentName(name string) string {
	i, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[i:]
}

// A NameServer is a host that answers for zones, with its known addresses.
type NameServer struct {
	Name  string // in lower case, with the final dot
	Addrs []netip.Addr
}

// RootServers returns the servers of the root zone from IANA's root hints
// (www.internic.net/domain/named.root, for the root zone 2024041801). The last change was to the addresses of
// B, in November 2023.
func RootServers() []NameServer {
	return []NameServer{
		{"a.root-servers.net.", addrs("198.41.0.4", "2001:503:ba3e::2:30")},
		{"b.root-servers.net.", addrs("170.247.170.2", "2801:1b8:10::b")},
		{"c.root-servers.net.", addrs("192.33.4.12", "2001:500:2::c")},
		{"d.root-servers.net.", addrs("199.7.91.13", "2001:500:2d::d")},
		{"e.root-servers.net.", addrs("192.203.230.10", "2001:500:a8::e")},
		{"f.root-servers.net.", addrs("192.5.5.241", "2001:500:2f::f")},
		{"g.root-servers.net.", addrs("192.112.36.4", "2001:500:12::d0d")},
		{"h.root-servers.net.", addrs("198.97.190.53", "2001:500:1::53")},
		{"i.root-servers.net.", addrs("192.36.148.17", "2001:7fe::53")},
		{"j.root-servers.net.", addrs("192.58.128.30", "2001:503:c27::2:30")},
		{"k.root-servers.net.", addrs("193.0.14.129", "2001:7fd::1")},
		{"l.root-servers.net.", addrs("199.7.83.42", "2001:500:9f::42")},
		{"m.root-servers.net.", addrs("202.12.27.33", "2001:dc3::35")},
	}
}

// Bounds of a file of root hints. That of the Internet has 3 KiB and 13 servers.
const (
	maxHintsText = 64 << 10
	maxHints     = 64
)

// ParseHints parses a root hints file in the format of named.root: a master file (RFC 1035 section 5) with
// the NS records of the root and the addresses of those hosts. Other records are ignored. The error names the
// line, or what is missing.
func ParseHints(text string) ([]NameServer, error) {
	if len(text) > maxHintsText {
		return nil, fmt.Errorf("root hints: longer than %d bytes", maxHintsText)
	}
	parser := dns.NewZoneParser(strings.NewReader(text+"\n"), ".", "")
	parser.SetDefaultTTL(3600)
	var list []NameServer
	hosts := map[string][]netip.Addr{}
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		switch ns, isNS := rr.(*dns.NS); {
		case isNS && ns.Hdr.Name == ".":
			list = appendHost(list, ns.Ns, maxHints)
		case len(hosts) <= maxHints:
			if ip := AddressIn(rr); ip.IsValid() {
				host := dns.CanonicalName(rr.Header().Name)
				hosts[host] = appendAddr(hosts[host], ip)
			}
		}
	}
	if err := parser.Err(); err != nil {
		return nil, fmt.Errorf("root hints: %w", err)
	}
	for i := range list {
		list[i].Addrs = hosts[list[i].Name]
	}
	list = slices.DeleteFunc(list, func(s NameServer) bool { return len(s.Addrs) == 0 })
	if len(list) == 0 {
		return nil, errors.New("root hints: there is no NS record of the root whose host has an address")
	}
	return list, nil
}

// appendHost adds a host to a list unless it is there, is the root, or the list is full.
func appendHost(list []NameServer, name string, limit int) []NameServer {
	name = dns.CanonicalName(name)
	if name == "." || len(list) >= limit || hostIn(list, name) >= 0 {
		return list
	}
	return append(list, NameServer{Name: name})
}

// hostIn returns the index of a host in a list, or -1.
func hostIn(list []NameServer, name string) int {
	return slices.IndexFunc(list, func(s NameServer) bool { return s.Name == name })
}

// maxHostAddrs bounds the addresses of one name server. Hosts have one of each family, a few have more of each.
const maxHostAddrs = 8

// appendAddr adds an address unless it is there, or there are enough.
func appendAddr(list []netip.Addr, ip netip.Addr) []netip.Addr {
	if len(list) >= maxHostAddrs || slices.Contains(list, ip) {
		return list
	}
	return append(list, ip)
}

// AddressIn returns the address in an A or AAAA record, or the zero Addr for other records.
func AddressIn(rr dns.RR) netip.Addr {
	var ip netip.Addr
	switch rr := rr.(type) {
	case *dns.A:
		ip, _ = netip.AddrFromSlice(rr.A.To4())
	case *dns.AAAA:
		ip, _ = netip.AddrFromSlice(rr.AAAA.To16())
	}
	return ip
}
