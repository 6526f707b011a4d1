package diag

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// The timing of connecting to a host with several addresses.
const (
	attemptDelay    = 250 * time.Millisecond // until the next address is tried (RFC 8305 section 5)
	resolutionDelay = 50 * time.Millisecond  // for IPv6 addresses that come after IPv4 (RFC 8305 section 3)
	// dialTimeout bounds one try. A SYN is sent again after 1, 3 and 7 seconds (RFC 6298 section 2):
	// a host that has answered none of the four is unreachable.
	dialTimeout = 10 * time.Second
	// maxTries bounds the addresses of a host that are tried. Large sites publish up to eight; a
	// longer list only serves to make us knock at the doors of others.
	maxTries = 8
)

// A NoAddressError means that no address of a host is known to connect to.
type NoAddressError struct {
	Host     string
	Missing  bool  // the name does not exist at all (RFC 8020 section 2)
	Resolver bool  // the resolver failed: it did not answer, or refused to
	Err      error // why the lookup failed; nil if the host is known to have no address
}

func (e *NoAddressError) Error() string {
	if e.Missing {
		return e.Host + " does not exist"
	}
	if e.Err == nil {
		return e.Host + " has no address"
	}
	return e.Err.Error()
}

func (e *NoAddressError) Unwrap() error { return e.Err }

// DialAddr connects to an address that the guard allows; network is "tcp" or "udp". On the real network the
// guard also checks the address that the dialer passes to the operating system.
func (e *Env) DialAddr(ctx context.Context, network string, addr netip.AddrPort, ports Ports) (net.Conn, error) {
	e = e.orReal()
	if err := e.Guard.Check(addr, ports); err != nil {
		return nil, err
	}
	if e.Dial != nil {
		return e.Dial(ctx, network, addr.String())
	}
	return e.dialer(ports).DialContext(ctx, network, addr.String())
}

func (e *Env) dialer(ports Ports) *net.Dialer { return &net.Dialer{Control: e.Guard.control(ports)} }

// DialHost connects over TCP to a host, given by its name or its IP address in the usual text form.
//
// IPv4 and IPv6 addresses are looked up concurrently and tried in turn, IPv6 first, each 250 ms after the
// previous one or as soon as that has failed; the first connection wins (RFC 8305). At most 8 addresses are
// tried, each for up to 10 s. Addresses that the guard refuses are not dialed.
//
// If the context has already ended, the error is that of the context. If no address is known, it is a
// *[NoAddressError], which wraps the error of the context if that ended during the lookup. If the guard
// refused all addresses, it is a *[BlockedError]. Otherwise it lists each address tried, and also wraps a
// *BlockedError if others were refused and a *NoAddressError if there may be further addresses.
func (e *Env) DialHost(ctx context.Context, host string, port uint16, ports Ports) (net.Conn, error) {
	e = e.orReal()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	unknown := netip.AddrPortFrom(netip.Addr{}, port)
	if !e.Guard.allowsPort(port, ports) {
		return nil, &BlockedError{unknown, portRefused}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := race{env: e, host: host, port: port, ports: ports, events: make(chan any)}
	if ip, err := netip.ParseAddr(host); err == nil {
		r.add(ip)
	} else if input.IsLocalhost(host) {
		return nil, &BlockedError{unknown, nameRefused}
	} else {
		r.lookUp(ctx)
	}
	return r.run(ctx)
}

// A race is a connection in the making: one goroutine decides, fed with events by those that look up and dial.
type race struct {
	env   *Env
	host  string
	port  uint16
	ports Ports

	events    chan any         // of type resolved, dialed or *GoPanic
	lookups   int              // under way
	tries     int              // under way
	tried     int              // begun so far
	v4, v6    []netip.AddrPort // not yet tried
	last4     bool             // whether the last try was over IPv4
	silence   error            // why addresses could not be learned
	missing   bool             // whether the name does not exist
	heard     bool             // whether the resolver answered anything
	blocked   error            // the first refusal of the guard
	failures  dialErrors
	mayBegin  bool // whether the wait for IPv6 addresses is over
	mayTry    bool // whether the last try has had its time
	begin     <-chan time.Time
	nextTry   <-chan time.Time
	connected net.Conn
}

// resolved is the event that the addresses of one family have been looked up.
type resolved struct {
	v6      bool
	addrs   []netip.Addr
	err     error
	missing bool
	heard   bool
}

func resolvedBy[R dns.RR](a Answer[R], all Addresses) resolved {
	heard := a.silence == nil && a.Rcode != dns.RcodeRefused || errors.Is(a.silence, errAliases)
	return resolved{addrs: all.All(), err: a.Err(), missing: a.NXDomain(), heard: heard}
}

// dialed is the event that a try has ended.
type dialled struct {
	conn net.Conn
	err  error
}

// start runs a step in a goroutine and reports what it returns, unless the race is over by then.
func (r *race) start(ctx context.Context, step func() any) {
	go func() {
		var event any
		if p := Catch(func() { event = step() }); p != nil {
			event = p
		}
		select {
		case r.events <- event:
		case <-ctx.Done():
			if late, ok := event.(dialled); ok && late.conn != nil {
				late.conn.Close()
			}
		}
	}()
}

func (r *race) lookUp(ctx context.Context) {
	r.lookups = 2
	r.start(ctx, func() any {
		a := Lookup[*dns.AAAA](ctx, r.env, r.host)
		found := resolvedBy(a, Addresses{V6: a})
		found.v6 = true
		return found
	})
	r.start(ctx, func() any {
		a := Lookup[*dns.A](ctx, r.env, r.host)
		return resolvedBy(a, Addresses{V4: a})
	})
}

func (r *race) add(ips ...netip.Addr) {
	for _, ip := range ips {
		addr := netip.AddrPortFrom(ip, r.port)
		if err := r.env.Guard.Check(addr, r.ports); err != nil {
			if r.blocked == nil {
				r.blocked = err
			}
		} else if ip.Unmap().Is4() {
			r.v4 = append(r.v4, addr)
		} else {
			r.v6 = append(r.v6, addr)
		}
	}
}

func (r *race) run(ctx context.Context) (net.Conn, error) {
	r.mayTry, r.mayBegin = true, r.lookups == 0
	for {
		r.tryNext(ctx)
		if r.lookups == 0 && r.tries == 0 {
			if err := ctx.Err(); err != nil && (r.tried > 0 || r.silence == nil) {
				return nil, err
			}
			return nil, r.failure()
		}
		select {
		case <-r.begin:
			r.mayBegin = true
		case <-r.nextTry:
			r.mayTry = true
		case event := <-r.events:
			r.handle(event)
		case <-ctx.Done():
			if r.lookups > 0 && r.tried == 0 {
				return nil, &NoAddressError{Host: r.host, Resolver: !r.heard, Err: ctx.Err()}
			}
			return nil, ctx.Err()
		}
		if r.connected != nil {
			return r.connected, nil
		}
	}
}

func (r *race) handle(event any) {
	switch event := event.(type) {
	case resolved:
		r.lookups--
		r.add(event.addrs...)
		r.missing, r.heard = r.missing || event.missing, r.heard || event.heard
		if event.err != nil && r.silence == nil {
			r.silence = event.err
		}
		switch {
		case event.v6 || r.lookups == 0:
			r.mayBegin = true
		case len(r.v4) > 0:
			r.begin = time.After(resolutionDelay)
		}
	case dialled:
		r.tries--
		if event.err != nil {
			r.failures = append(r.failures, event.err)
			r.mayTry = true
		}
		r.connected = event.conn
	case *GoPanic:
		panic(event)
	}
}

// tryNext begins a try if it is time and there is an address, changing the family each time.
func (r *race) tryNext(ctx context.Context) {
	if !r.mayBegin || !r.mayTry || r.tried == maxTries || len(r.v4)+len(r.v6) == 0 {
		return
	}
	queue := &r.v6
	if len(r.v6) == 0 || r.tried > 0 && !r.last4 && len(r.v4) > 0 {
		queue = &r.v4
	}
	addr := (*queue)[0]
	*queue = (*queue)[1:]
	r.last4 = queue == &r.v4
	r.tries, r.tried = r.tries+1, r.tried+1
	r.mayTry, r.nextTry = false, time.After(attemptDelay)
	r.start(ctx, func() any {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := r.env.DialAddr(ctx, "tcp", addr, r.ports)
		return dialled{conn, err}
	})
}

// failure says why there is no connection. Addresses that could not be learned might have been better ones.
func (r *race) failure() error {
	none := &NoAddressError{r.host, r.missing, !r.heard, r.silence}
	if r.missing {
		none.Err = nil // of a name that does not exist no other type does
	}
	all := r.failures
	switch {
	case len(all) > 0 && none.Err != nil:
		all = append(all, none)
	case len(all) == 0 && (r.blocked == nil || none.Err != nil):
		return none
	}
	if r.blocked != nil {
		all = append(all, r.blocked)
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// dialErrors reports on one line why connecting to each of several addresses failed.
type dialErrors []error

func (list dialErrors) Error() string {
	return strings.Join(kit.Map(list, error.Error), "; ")
}

func (list dialErrors) Unwrap() []error { return list }
