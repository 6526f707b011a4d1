package diagtest

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// EDNS is a name server's reaction to queries with EDNS (RFC 6891).
type EDNS string

// The reactions to EDNS.
const (
	EDNSKnown   EDNS = ""        // as it should be
	EDNSIgnored EDNS = "ignored" // the reply is as if the query had no OPT record
	EDNSRefused EDNS = "formerr" // the reply is FORMERR without an OPT record
	EDNSDropped EDNS = "dropped" // no reply, as behind a broken firewall
)

// A Forgery is a false reply that arrives before the true one.
type Forgery string

// The forgeries.
const (
	ForgedID    Forgery = "wrong id"   // has the ID of another query
	ForgedName  Forgery = "wrong name" // answers for another name
	ForgedType  Forgery = "wrong type" // answers for another type
	ForgedQuery Forgery = "not reply"  // is a query, not a reply
)

// ServerConfig configures how a name server behaves. The zero value is a correct server.
type ServerConfig struct {
	Recursive     bool      // also answers for names outside its zones: an open resolver
	Transfer      bool      // allows zone transfers (AXFR, RFC 5936)
	EDNS          EDNS      // how it reacts to EDNS; empty means correctly
	AnyVersion    bool      // accepts any version of EDNS, instead of returning BADVERS
	NSID          string    // its identifier for queries with NSID (RFC 5001)
	Cookies       bool      // supports DNS cookies (RFC 7873)
	Version       string    // answer to version.bind; empty means none
	Upward        bool      // refers to the root servers for unknown names, instead of REFUSED
	NoAA          bool      // does not claim to be authoritative: a lame delegation
	Unsigned      bool      // omits the signatures of signed zones
	Forged        []Forgery // false replies that come first
	Truncate      bool      // truncates every reply over UDP
	NoUDP, NoTCP  bool      // does not listen there
	LowerCase     bool      // does not preserve the letter case of the query name
	Silent        bool      // never answers
	RecursionFlag bool      // sets RA without offering recursion
}

// A Server is a name server of the world: a resolver, or one that is authoritative for zones.
type Server struct {
	world    *World
	name     string       // canonical, of an authoritative server
	addrs    []netip.Addr // at least one
	resolver bool
	faults   faultTable

	mu      sync.Mutex
	config  ServerConfig
	zones   map[string]*zone    // what it says; nil means what the world says
	records []dns.RR            // of zones
	signing map[string]*Signing // of zones that it signs in its own way
	signed  map[*zone]*zone     // those zones by what they are in the world
}

// Server opens an authoritative name server at an address, and publishes that address for its name unless the
// name has one. An empty address means those of the name, or an allocated one.
//
// The server answers for the zones in the given texts, which may differ from server to server. An SOA record
// makes its owner the apex of a zone; a text without any is a zone whose apex is the owner of its first
// record. Without texts, the server answers for the zones of the world with NS records that name it. In both
// cases it returns referrals with glue for child zones, refuses names outside its zones, and signs the zones
// that [World.Sign] signed.
func (w *World) Server(name, addr string, zones ...string) *Server {
	var ips []netip.Addr
	switch known := w.known(name); {
	case addr != "":
		ip := w.parseAddr(addr)
		ips = []netip.Addr{ip}
		if !slices.Contains(known, ip) {
			w.host(name, ip)
		}
	default:
		ips = w.addresses(name, false)
	}
	s := &Server{world: w, name: dns.CanonicalName(name), addrs: ips}
	for _, text := range zones {
		w.check(s.add(text))
	}
	return s.Configure(ServerConfig{})
}

// Resolver opens a resolver at an address, which may be that of a public resolver. It answers from the given
// texts, in master file format, and for all other names as the world does.
func (w *World) Resolver(addr string, texts ...string) *Server {
	ip := w.parseAddr(addr)
	w.mu.Lock()
	s := w.resolvers[ip]
	w.mu.Unlock()
	if s == nil {
		s = w.resolverAt(ip)
	}
	for _, text := range texts {
		records, err := parseZone(text, ".")
		w.check(err)
		s.mu.Lock()
		s.records = append(s.records, records...)
		s.zones = map[string]*zone{".": newZone(".", s.records...)}
		s.mu.Unlock()
	}
	return s
}

func (s *Server) add(text string) error {
	records, err := parseZone(text, ".")
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("zone of %s: no records", s.name)
	}
	origins := apexes(records)
	if len(origins) == 0 {
		origins[dns.CanonicalName(records[0].Header().Name)] = true
	}
	zones := split(records, origins)
	for _, rr := range records {
		if z := enclosing(zones, rr.Header().Name, dns.TypeNone); !origins[z.origin] {
			return fmt.Errorf("zone of %s: %s lies outside", s.name, rr.Header().Name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.zones == nil {
		s.zones = map[string]*zone{}
	}
	for origin := range origins {
		s.zones[origin] = zones[origin]
	}
	return nil
}

// Configure sets how the server behaves, and returns it.
func (s *Server) Configure(c ServerConfig) *Server {
	s.mu.Lock()
	s.config = c
	s.mu.Unlock()
	n := s.world.net
	for _, ip := range s.addrs {
		addr := netip.AddrPortFrom(ip, portDNS)
		n.listen("udp", addr, func(c *conn) { serveDatagrams(c, s.at(ip)) })
		n.listen("tcp", addr, func(c *conn) { serveStream(c, "tcp", s.at(ip)) })
		if c.NoUDP {
			n.listen("udp", addr, nil)
		}
		if c.NoTCP {
			n.listen("tcp", addr, nil)
		}
	}
	return s
}

// Addrs returns the addresses of the server.
func (s *Server) Addrs() []netip.Addr { return slices.Clone(s.addrs) }

// Fault adds a fault for a name and type at this server, as [World.Fault] does for all resolvers.
func (s *Server) Fault(name string, qtype uint16, f Fault) *Server {
	s.world.check(s.faults.set(name, qtype, f))
	return s
}

// Break makes the server answer every query for a name with an rcode.
func (s *Server) Break(name string, rcode int) *Server { return s.Fault(name, 0, Fault{Rcode: rcode}) }

// Asked counts the queries that the server received for a name and type; the empty name and type 0 match all.
func (s *Server) Asked(name string, qtype uint16) int {
	return view.CountIf(s.world.Queries(), func(q Query) bool {
		return slices.Contains(s.addrs, q.Server) && q.is(name, qtype)
	})
}

func (s *Server) content() map[string]*zone {
	s.mu.Lock()
	own, unsigned := s.zones, s.config.Unsigned
	s.mu.Unlock()
	zones := map[string]*zone{}
	if own == nil {
		for origin, z := range s.world.dns.current() {
			if s.named(z) {
				zones[origin] = z
			}
		}
	}
	for origin, z := range own {
		zones[origin] = s.world.dns.signedLike(z)
	}
	for origin, z := range zones {
		zones[origin] = s.resign(z)
	}
	if unsigned {
		for origin, z := range zones {
			bare := *z
			bare.signer = nil
			zones[origin] = &bare
		}
	}
	return zones
}

func (s *Server) named(z *zone) bool {
	return slices.ContainsFunc(z.apex()[dns.TypeNS], func(rr dns.RR) bool {
		return dns.CanonicalName(rr.(*dns.NS).Ns) == s.name
	})
}

// A Fault is a failure of queries for a name, or for aliases to it.
type Fault struct {
	Rcode    int           // the reply has this rcode and no records; 0 means unchanged
	Delay    time.Duration // the reply is delayed
	Silent   bool          // there is no reply
	Truncate bool          // over UDP the reply is truncated
	Secure   bool          // the resolver sets the AD bit
	Explain  uint16        // code of an extended error (RFC 8914), if Rcode is set or Text is not empty
	Text     string        // text of the extended error
	// Answers replace the records of the name, in turn, each text in master file format. An empty one means
	// that the name does not exist. They are not signed.
	Answers []string
	// Times ends the fault after that many queries; 0 means never.
	Times int
}

type faultKey struct {
	name  string // canonical
	qtype uint16 // 0 for all
}

type activeFault struct {
	Fault
	zones []*zone // of Answers
	asked int
}

// A faultTable holds the faults of one server, by name and type.
type faultTable struct {
	mu     sync.Mutex
	faults map[faultKey]*activeFault
}

func (t *faultTable) set(name string, qtype uint16, f Fault) error {
	a := &activeFault{Fault: f}
	for _, text := range f.Answers {
		records, err := parseZone(text, ".")
		if err != nil {
			return err
		}
		a.zones = append(a.zones, newZone(".", records...))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = map[faultKey]*activeFault{}
	}
	key := faultKey{dns.CanonicalName(name), qtype}
	if t.faults[key] = a; reflect.ValueOf(f).IsZero() {
		delete(t.faults, key)
	}
	return nil
}

// hit returns the fault for a question, counting it, and the content that replaces that of the name.
func (t *faultTable) hit(name string, qtype uint16) (f Fault, instead *zone) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.active(name, qtype)
	if a == nil {
		return Fault{}, nil
	}
	if len(a.zones) > 0 {
		instead = a.zones[a.asked%len(a.zones)]
	}
	a.asked++
	return a.Fault, instead
}

// replaces reports whether a fault replaces the content of a name.
func (t *faultTable) replaces(name string, qtype uint16) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.active(name, qtype)
	return a != nil && len(a.zones) > 0
}

// active returns the fault for a question, or nil. One for a name with "*" as its first label holds for all names
// below. The caller holds the lock.
func (t *faultTable) active(name string, qtype uint16) *activeFault {
	if len(t.faults) == 0 {
		return nil
	}
	name = dns.CanonicalName(name)
	a := t.find(name, qtype)
	for up := name; a == nil && up != "."; {
		if up = resolver.ParentName(up); up == "." {
			a = t.find("*.", qtype)
			break
		}
		a = t.find("*."+up, qtype)
	}
	if a == nil || a.Times > 0 && a.asked >= a.Times {
		return nil
	}
	return a
}

func (t *faultTable) find(name string, qtype uint16) *activeFault {
	if a := t.faults[faultKey{name, qtype}]; a != nil {
		return a
	}
	return t.faults[faultKey{name, 0}]
}

// add joins what goes wrong along a chain of aliases.
func (f *Fault) add(g Fault) {
	f.Delay += g.Delay
	f.Silent = f.Silent || g.Silent
	f.Truncate = f.Truncate || g.Truncate
	f.Secure = f.Secure || g.Secure
	if g.Rcode != 0 {
		f.Rcode = g.Rcode
	}
	if g.Rcode != 0 || g.Text != "" {
		f.Explain, f.Text = g.Explain, g.Text
	}
}

// Fault adds a fault for a name and type, also if reached through an alias, to the world's own resolver and
// all public resolvers. Type 0 means all types, and a name such as "*.example.com" all names below
// example.com. It replaces an earlier fault of the same name and type; the zero Fault removes it.
func (w *World) Fault(name string, qtype uint16, f Fault) { w.check(w.dns.faults.set(name, qtype, f)) }

// FaultEverywhere adds a fault as [World.Fault] does, and also to the authoritative name servers.
func (w *World) FaultEverywhere(name string, qtype uint16, f Fault) {
	w.check(w.dns.everywhere.set(name, qtype, f))
}

// Break makes every query for a name fail with an rcode, such as [dns.RcodeServerFailure].
func (w *World) Break(name string, rcode int) { w.Fault(name, 0, Fault{Rcode: rcode}) }

// Silence leaves every query for a name unanswered. Outside a testing/synctest bubble, the world's resolver
// reports a timeout immediately.
func (w *World) Silence(name string) { w.Fault(name, 0, Fault{Silent: true}) }

// Delay delays the replies for a name.
func (w *World) Delay(name string, d time.Duration) { w.Fault(name, 0, Fault{Delay: d}) }

// Secure makes the resolver set the AD bit in its answers for a name, as if it had validated them. It is not
// needed for zones signed with [World.Sign].
func (w *World) Secure(name string) { w.Fault(name, 0, Fault{Secure: true}) }

// Flap makes the records of a name change with every query: it returns the answers in turn, each in master
// file format.
func (w *World) Flap(name string, answers ...string) { w.Fault(name, 0, Fault{Answers: answers}) }

func (r *recursion) step(name string, qtype uint16) result {
	for _, table := range r.faults {
		fault, instead := table.hit(name, qtype)
		r.fault.add(fault)
		if instead != nil {
			r.secure = false
			return instead.within(enclosing(r.zones, name, qtype)).lookup(name, qtype, false)
		}
	}
	if z := r.overlaid(name); z != nil {
		r.secure = false
		return z.lookup(name, qtype, false)
	}
	z := enclosing(r.zones, name, qtype)
	found := z.lookup(name, qtype, false)
	secure, bogus := status(r.zones, z, r.now)
	switch {
	case secure && z.delegated(found.name, qtype):
		secure = false // data of a zone below that the world does not have as such
	case secure:
		bogus = z.troubleWith(found)
	}
	r.secure = r.secure && secure && bogus == nil
	if r.bogus == nil {
		r.bogus = bogus
	}
	return found
}

func (s *Server) at(ip netip.Addr) responder {
	return func(q *dns.Msg, transport string) []*dns.Msg { return s.respond(q, ip, transport) }
}
