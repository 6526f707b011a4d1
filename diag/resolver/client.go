package resolver

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// Defaults of a [Client]. Most replies take less than a second even from afar; one lost datagram of
// two, both of two seconds, leaves time for the rest of a diagnostic.
const (
	defaultTimeout  = 2 * time.Second
	defaultAttempts = 2
	maxAttempts     = 10 // more would be an attack
)

// A Client queries name servers. Its zero value queries those of the system. It may be used by several
// goroutines concurrently. It must not be copied, and must not be changed after first use.
type Client struct {
	// Servers are queried in this order. A server that did not answer is moved behind the others for ten
	// seconds. If empty, the servers are those of ConfigFile.
	Servers []Server
	// ConfigFile is the path of a file with the servers, in the format of resolv.conf(5). It is read again
	// when it changes. Empty means /etc/resolv.conf. If the file does not exist, 127.0.0.1 and ::1 are
	// queried.
	ConfigFile string
	// Dial connects to an IP address and port; network is "tcp" or "udp". Each Read and Write of a udp
	// connection carries one message. If nil, the real network is used, with shared sockets.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Lookup looks up the addresses of DoT and DoH servers that have none. If nil, the system does.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Roots are the certificate authorities to trust. If nil, the system's are trusted.
	Roots *x509.CertPool
	// Clock returns the time at which certificates must be valid. If nil, it is the wall clock.
	Clock func() time.Time
	// Timeout limits the wait for the reply to one message, including the time to connect. It applies
	// separately to a query over UDP and its repetition over TCP. 0 means the value of the ConfigFile, or 2
	// seconds.
	Timeout time.Duration
	// Attempts is the number of times that the servers are tried, at most 10. 0 means the value of the
	// ConfigFile, or 2.
	Attempts int
	// Case0x20 sends names over UDP in random letter case, and accepts only replies that repeat it. A server
	// that does not repeat it is queried over TCP after 100 ms and, with AsIs, again over UDP if that fails.
	Case0x20 bool
	// AsIs sends queries unchanged and returns the replies as received: EDNS is not added, a truncated reply
	// is not repeated over TCP, and a refusal is final.
	AsIs bool

	mu     sync.Mutex // guards file, and changing what follows
	file   configFile
	set    atomic.Pointer[upstreams]
	closed atomic.Bool

	turn atomic.Uint32 // counts questions, for option rotate
}

// upstreams are the servers in force.
type upstreams struct {
	list     []*upstream
	timeout  time.Duration
	attempts int
	rotate   bool
	stale    time.Time // when to check the file again; zero: never
}

// System returns a client that queries the servers of the system.
func System() *Client { return new(Client) }

// Exchange sends a query to the servers until one answers. The query is a message with one question; it is
// not modified. If it has no OPT record, one is added to permit larger replies, and removed from the reply.
// The bits DO, CD and AD are sent as set by the caller.
//
// The reply is returned as received. After REFUSED, NOTIMP or FORMERR, the other servers are queried too.
// SERVFAIL is final: that is how a validating server reports a forged answer, and another server might return
// it. The error is that of the context if it has ended; otherwise it says why no server answered, and wraps
// [ErrTimeout] if no reply came in time.
func (c *Client) Exchange(ctx context.Context, msg *dns.Msg) (*dns.Msg, error) {
	set, err := c.upstreams()
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, msg, set)
}

// Ask is Exchange with one given server. It opens a socket for the query and closes it afterwards, which
// suits servers that are queried rarely.
func (c *Client) Ask(ctx context.Context, server Server, msg *dns.Msg) (*dns.Msg, error) {
	set := &upstreams{list: []*upstream{c.newUpstream(server, true)}}
	set.complete(c, Config{})
	return c.ask(ctx, msg, set)
}

// Ready waits until the client could send another query immediately, at most as long as that query would
// wait. Call it before each of many concurrent examinations, so that they do not queue up in the client.
func (c *Client) Ready(ctx context.Context) error {
	set, err := c.upstreams()
	if err != nil {
		return err
	}
	return set.order(&c.turn)[0].window.pass(ctx, set.timeout)
}

func (c *Client) ask(ctx context.Context, msg *dns.Msg, set *upstreams) (*dns.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q, err := newQuery(msg, !c.AsIs)
	if err != nil {
		return nil, err
	}
	defer q.free()
	options := optionsOf(ctx)
	how, attempts := options.manner(c, set)
	var declined *dns.Msg
	for round := range attempts {
		err = ErrNoServer
		for i, u := range set.order(&c.turn) {
			if !options.admits(u.server) {
				continue
			}
			if round+i > 0 {
				q.pack(msg, !c.AsIs) // it packed before; now the form may have been changed
			}
			m, failure := u.exchange(ctx, q, how)
			switch {
			case failure == nil && (c.AsIs || !declinesRequest(m.Rcode)):
				return m, nil
			case failure == nil:
				declined = m
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case c.closed.Load():
				return nil, ErrClosed
			case err == ErrNoServer:
				err = failure
			default:
				err = fmt.Errorf("%w; %w", err, failure)
			}
		}
		if declined != nil {
			return declined, nil
		}
	}
	return nil, err
}

// order lists the servers, those that lately did not answer last.
func (s *upstreams) order(turn *atomic.Uint32) []*upstream {
	list := s.list
	if len(list) == 1 {
		return list
	}
	if s.rotate {
		n := int(turn.Add(1)) % len(list)
		list = slices.Concat(list[n:], list[:n])
	}
	now := time.Now().UnixNano()
	answering, silent := make([]*upstream, 0, len(list)), []*upstream(nil)
	for _, u := range list {
		if u.silentUntil.Load() > now {
			silent = append(silent, u)
		} else {
			answering = append(answering, u)
		}
	}
	return append(answering, silent...)
}

func (c *Client) upstreams() (*upstreams, error) {
	set := c.set.Load()
	if set != nil && (set.stale.IsZero() || time.Now().Before(set.stale)) {
		return set, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return nil, ErrClosed
	}
	if len(c.Servers) > 0 {
		if set = c.set.Load(); set == nil {
			set = c.build(Config{Servers: c.Servers}, time.Time{})
		}
		return set, nil
	}
	now := time.Now()
	conf, changed := c.file.read(c.ConfigFile)
	if set = c.set.Load(); set == nil || changed {
		// Connections to servers no longer in the file are closed when they have been idle.
		return c.build(conf, now.Add(configCheck)), nil
	}
	again := *set
	again.stale = now.Add(configCheck)
	c.set.Store(&again)
	return &again, nil
}

func (c *Client) build(conf Config, stale time.Time) *upstreams {
	set := &upstreams{stale: stale}
	for _, s := range conf.Servers {
		set.list = append(set.list, c.newUpstream(s, false))
	}
	set.complete(c, conf)
	c.set.Store(set)
	return set
}

// complete fills in the figures: the caller's, or else those of the file, or else the defaults.
func (s *upstreams) complete(c *Client, conf Config) {
	s.rotate = conf.Rotate
	s.timeout = positive(c.Timeout, conf.Timeout, defaultTimeout)
	s.attempts = min(positive(c.Attempts, conf.Attempts, defaultAttempts), maxAttempts)
}

// Close closes all connections and ends the exchanges on them with [ErrClosed]. The client cannot be used
// afterwards.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed.Store(true)
	// The rest fails immediately: it is due for renewal, and renewal finds the client closed.
	if set := c.set.Swap(&upstreams{stale: time.Unix(0, 1)}); set != nil {
		for _, u := range set.list {
			u.close()
		}
	}
	return nil
}
