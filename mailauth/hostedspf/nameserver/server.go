package nameserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/miekg/dns"
)

// Config configures a server. All fields but Zone and Store may be zero.
type Config struct {
	// Zone is the zone that is served.
	Zone Zone
	// Store holds the profiles whose records are served.
	Store hostedspf.Store
	// Clock returns the time. If nil, it is the wall clock.
	Clock diag.Clock
	// Log receives warnings, such as a failure of the store. If nil, they are discarded.
	Log *slog.Logger
	// Rate is how many answers per second about one name each network of clients gets by datagram. 0 means
	// [DefaultRate], and less than 0 no limit. Clients with a DNS cookie of this server (RFC 7873) are not limited.
	Rate int
	// Admit, if set, decides whether to accept a connection from an address, for programs with limits of their own;
	// leave is called when an accepted one ends. If nil, at most 1024 connections are open, and 16 per address.
	Admit func(netip.Addr) (leave func(), ok bool)
	// Secondaries are name servers that fetch the zone from this one (RFC 5936) and are notified of changes (RFC
	// 1996). They cannot answer for sets of addresses: then the zone must not contain profiles that need these.
	Secondaries []netip.AddrPort
	// Key, if set, is the key that transfers must be signed with (RFC 8945). Without one, the addresses of
	// Secondaries may fetch the zone.
	Key *Key
	// Signing are the keys of a signed zone (DNSSEC); empty if unsigned. The first signs the zone. The others are
	// published beside it, for a while before and after they are the first.
	Signing []SigningKey

	notifyWait time.Duration // set by tests
	// Observe is called with the outcome of each query: the name of the code of the answer, or dropped. It may be
	// nil.
	Observe func(outcome string)
}

// dropped is the outcome of a question that was not answered, because the network that it came from has
// had more than its share.
const dropped = "dropped"

// A Server answers questions about the published records. Make one with [Listen], or with [New] to
// answer on sockets of your own: it is a [dns.Handler].
type Server struct {
	config  Config
	limiter *limiter
	cookies *jar
	current atomic.Pointer[snapshot]
	source  source
	signer  *signer // nil: the zone is not signed

	transfers chan struct{}   // holds a token for each running transfer
	changed   []chan struct{} // one for each secondary; holds a token while a notification is pending

	address string
	servers []*dns.Server
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	failed  chan error
	ending  sync.Once
	ended   error
}

// New checks the configuration and reads the published records. It does not listen, and only [Server.Refresh] reads
// later changes.
func New(ctx context.Context, c Config) (*Server, error) {
	if err := c.Zone.Validate(); err != nil {
		return nil, err
	}
	if c.Store == nil {
		return nil, errors.New("a name server without a store")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.notifyWait == 0 {
		c.notifyWait = notifyWait
	}
	s := &Server{
		config: c, limiter: newLimiter(c.Rate, c.Clock()), cookies: newJar(), failed: make(chan error, 2),
		transfers: make(chan struct{}, maxTransfers),
	}
	var err error
	if s.signer, err = newSigner(&c); err != nil {
		return nil, err
	}
	for range c.Secondaries {
		s.changed = append(s.changed, make(chan struct{}, 1))
	}
	s.source.busy = make(chan struct{}, 1)
	s.source.busy <- struct{}{}
	if err := s.Refresh(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Listen answers on an address, by UDP and TCP, until [Server.Shutdown]. Port 0 means any that is free. Changes of the
// store are served within a second, or within minutes if it is huge.
func Listen(ctx context.Context, address string, c Config) (*Server, error) {
	s, err := New(ctx, c)
	if err != nil {
		return nil, err
	}
	packets, stream, err := bind(ctx, address)
	if err != nil {
		return nil, err
	}
	s.address = packets.LocalAddr().String()
	s.servers = []*dns.Server{
		{PacketConn: s.datagrams(packets), UDPSize: maxDatagram},
		{
			Listener: newDoorman(stream, c.Admit), MaxTCPQueries: maxQueries, ReadTimeout: firstTimeout,
			IdleTimeout: func() time.Duration { return idleTimeout },
		},
	}
	var started sync.WaitGroup
	for _, server := range s.servers {
		server.Handler, server.MsgAcceptFunc, server.TsigSecret = s, accept, c.Key.secrets()
		server.NotifyStartedFunc = sync.OnceFunc(started.Done)
		started.Add(1)
		s.tasks.Go(func() {
			if err := server.ActivateAndServe(); err != nil {
				server.NotifyStartedFunc() // for a server that failed immediately
				s.failed <- fmt.Errorf("serving DNS on %s: %w", s.address, err)
			}
		})
	}
	started.Wait()
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.tasks.Go(func() { s.follow(following) })
	for i, to := range c.Secondaries {
		s.tasks.Go(func() { s.inform(following, to, s.changed[i]) })
	}
	return s, nil
}

// bindTries bounds the attempts to find a port that is free for both UDP and TCP.
const bindTries = 16

func bind(ctx context.Context, address string) (net.PacketConn, net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, fmt.Errorf("listening for DNS: %w", err)
	}
	var lc net.ListenConfig
	for try := 1; ; try++ {
		packets, err := lc.ListenPacket(ctx, "udp", address)
		if err != nil {
			return nil, nil, fmt.Errorf("listening for DNS: %w", err)
		}
		number := packets.LocalAddr().(*net.UDPAddr).Port
		stream, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(number)))
		if err == nil {
			return packets, stream, nil
		}
		packets.Close()
		if port != "0" || try == bindTries {
			return nil, nil, fmt.Errorf("listening for DNS: %w", err)
		}
	}
}

const maxForeign = 16

// accept decides by the header alone. What is no question gets no answer, so that two servers never
// talk to each other without end.
func accept(h dns.Header) dns.MsgAcceptAction {
	const response = 1 << 15
	switch {
	case h.Bits&response != 0:
		return dns.MsgIgnore
	case int(h.Qdcount)+int(h.Ancount)+int(h.Nscount)+int(h.Arcount) > maxForeign:
		return dns.MsgReject
	}
	return dns.MsgAccept
}

// contained runs a background task. A panic in it, as of the store, is returned as an error.
func (s *Server) contained(f func() error) (err error) {
	if p := diag.Catch(func() { err = f() }); p != nil {
		return p
	}
	return err
}

// ServeDNS implements [dns.Handler].
func (s *Server) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	if p := diag.Catch(func() { s.serve(w, q) }); p != nil { // of one question, which then has no answer
		s.config.Log.Error("panic while a question was answered", "panic", p.Value, "stack", string(p.Stack))
	}
}

func (s *Server) serve(w dns.ResponseWriter, q *dns.Msg) {
	datagram := w.RemoteAddr().Network() == "udp"
	current, from, now := s.current.Load(), addrOf(w.RemoteAddr()), s.config.Clock()
	cookie, known := s.cookies.check(q, from, now)
	verdict := send
	if datagram && !known {
		name, share := current.counted(q)
		verdict = s.limiter.rule(from, name, share, now)
	}
	if verdict == drop {
		s.observe(dropped)
		return
	}
	tsig, fault := s.signed(w, q)
	if fault != dns.RcodeSuccess {
		s.write(w, unsigned(q, tsig, fault), false)
		s.observe(dns.RcodeToString[dns.RcodeNotAuth])
		return
	}
	signed := tsig != nil
	transfer := current.isTransfer(q) && s.mayTransfer(from, signed)
	if transfer && !datagram {
		s.observe(dns.RcodeToString[s.transfer(w, q, signed)])
		return
	}
	m := current.answer(q, datagram)
	if transfer && q.Question[0].Qtype == dns.TypeIXFR { // by TCP, please (RFC 1995 section 2)
		m.Rcode, m.Authoritative, m.Answer = dns.RcodeSuccess, true, []dns.RR{current.soa}
	}
	if opt := m.IsEdns0(); opt != nil && cookie != nil {
		opt.Option = append(opt.Option, cookie)
	}
	if verdict == truncated || (signed || cookie != nil) && s.exceeds(m, q, datagram, signed) {
		truncate(m, m.IsEdns0())
	}
	bad := verdict == truncated // with the cookie there is an answer (RFC 7873 section 5.2.3)
	if asksForCookie(q) && m.Rcode == dns.RcodeSuccess {
		bad, m.Truncated = !known && len(cookieOf(q)) > clientCookie, false // RFC 7873 section 5.4
	}
	if bad && cookie != nil {
		m.Rcode, m.Truncated = dns.RcodeBadCookie, false
	}
	s.observe(dns.RcodeToString[m.Rcode])
	s.write(w, m, signed)
}

// exceeds reports whether a message is too long for a client with its additions: a cookie, and a signature.
func (s *Server) exceeds(m, q *dns.Msg, datagram, signed bool) bool {
	_, limit := negotiate(q, datagram)
	if signed {
		limit -= s.config.Key.size()
	}
	return m.Len() > limit
}

func (s *Server) write(w dns.ResponseWriter, m *dns.Msg, signed bool) bool {
	if signed {
		s.config.Key.sign(m)
	}
	err := w.WriteMsg(m)
	if err != nil {
		s.config.Log.Debug("a DNS answer was not sent", "error", err)
	}
	return err == nil
}

func (s *Server) observe(outcome string) {
	if s.config.Observe != nil {
		s.config.Observe(outcome)
	}
}

// Addr returns the address that is listened on, such as 127.0.0.1:53.
func (s *Server) Addr() string { return s.address }

// Records returns the number of records that are being served.
func (s *Server) Records() int { return s.current.Load().records }

// Err returns a channel that receives the failure of a socket. It is never closed.
func (s *Server) Err() <-chan error { return s.failed }

// Shutdown stops listening, completes pending answers until the context ends, and then aborts them. Further calls do
// nothing and return the same result.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.stop != nil {
		s.ending.Do(func() { s.ended = s.shutdown(ctx) })
	}
	return s.ended
}

func (s *Server) shutdown(ctx context.Context) error {
	s.stop()
	var err error
	for _, server := range s.servers {
		err = errors.Join(err, server.ShutdownContext(ctx))
	}
	s.tasks.Wait()
	return err
}
