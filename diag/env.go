package diag

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Env is the outside world as a diagnostic sees it. A nil *Env, like the zero Env, is the real Internet; a
// field that is set replaces that part of it. An Env may be used by several goroutines concurrently. It must
// not be copied, and must not be changed after first use.
type Env struct {
	// Resolver answers DNS questions. If nil, the system's name servers do.
	Resolver Resolver
	// HideResolver keeps the address of Resolver out of reports, because an operator's resolver is private.
	HideResolver bool
	// Dial connects to an IP address and port; network is "tcp" or "udp". Each Read and Write of a udp
	// connection carries one message. Dial must return when the context ends; once it has returned, the end
	// of the context must not affect the connection. If nil, the real network is used. Either way the Guard
	// is asked first, except about name servers that the operator chose.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Roots are the certificate authorities to trust. If nil, the system's are trusted.
	Roots *x509.CertPool
	// TrustAnchors are the DS and DNSKEY records with which DNSSEC validation begins; dnssec.ParseAnchors
	// reads them from a file. If empty, they are those of the root zone that IANA publishes.
	TrustAnchors []dns.RR
	// RootServers are the servers with which iterative resolution begins; [resolver.ParseHints] reads them
	// from a root hints file. If empty, they are the root servers of the Internet. The guard is not asked
	// about them.
	RootServers []resolver.NameServer
	// HelloName is the name sent in EHLO to mail servers (RFC 5321 section 4.1.1.1): the host name of this
	// machine in the DNS. If empty, an address literal is sent.
	HelloName string
	// Clock returns the time. If nil, it is the wall clock.
	Clock Clock
	// Guard decides which addresses and ports may be reached. Its zero value allows public addresses and the
	// usual ports of each protocol.
	Guard Guard
	// Data holds files that replace built-in lists of the same name; see [List]. If nil, no list is replaced.
	Data fs.FS

	origin    *Env     // that this one is derived from, see Cached; nil if not derived
	lists     sync.Map // file name to list, see List
	system    sync.Once
	systemDNS Resolver
	clients   sync.Map // resolver id to Resolver, see Upstream
	shared    sync.Map // key to value, see Shared
}

// A Clock returns the time. The nil Clock is the wall clock.
type Clock func() time.Time

// A Resolver sends one query to the DNS. Exchange returns the reply as received: NXDOMAIN and SERVFAIL are
// answers, and only the lack of an answer is an error. It must return when the context ends, and may be
// called by several goroutines concurrently. It must not modify the query, and callers must not modify the
// reply.
type Resolver interface {
	Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error)
}

// real is the world of a nil Env. It holds nothing but connections to the system's name servers.
var realWorld Env

func (e *Env) orReal() *Env {
	if e == nil {
		return &realWorld
	}
	return e
}

// Now returns the current time of the environment.
func (e *Env) Now() time.Time {
	if e == nil || e.Clock == nil {
		return time.Now()
	}
	return e.Clock()
}

// DNS returns the resolver of the environment. Its Exchange always returns either a reply or an error.
func (e *Env) DNS() Resolver {
	switch r := e.resolver().(type) {
	case *resolver.Client, *resolver.Cache, *resolver.Iterator, answering:
		return r
	default:
		return answering{r}
	}
}

// resolver is that of the caller, or of the system.
func (e *Env) resolver() Resolver {
	if e = e.orReal(); e.Resolver != nil {
		return e.Resolver
	}
	e.system.Do(func() { e.systemDNS = &resolver.Client{Dial: e.Dial, Roots: e.Roots, Clock: e.Now} })
	return e.systemDNS
}

// answering is a resolver of a caller: where it returns nothing, that is an error.
type answering struct{ Resolver }

// Exchange implements [Resolver].
func (a answering) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	return resolver.Ask(ctx, a.Resolver, q)
}

// The bounds of the cache of one operation: no operation lasts longer than the time for which replies are
// kept, and the largest asks a few hundred questions.
const (
	operationTime    = 2 * time.Minute
	operationReplies = 4096
	operationBytes   = 8 << 20
)

// Cached returns an environment for one operation that consists of several diagnostics. It is like e, but
// sends each DNS query once, and all diagnostics see the same answer. It shares lists and connections with e.
func (e *Env) Cached() *Env {
	e = e.orReal()
	c := e.WithResolver(&resolver.Cache{
		Upstream: e.DNS(), MinTTL: operationTime, MaxEntries: operationReplies, MaxBytes: operationBytes, Clock: e.Now,
	})
	c.origin = e.source()
	return c
}

// source is the environment from which this one derives, or itself.
func (e *Env) source() *Env {
	if e = e.orReal(); e.origin != nil {
		return e.origin
	}
	return e
}

// Shared returns the value that all diagnostics of an environment share under a key, such as the remaining
// query quota of a service; the first call creates it. As with a key of a context, the type of the key should
// be an unexported type of the calling package. The value must be safe for concurrent use. Environments from
// [Env.Cached] share the values of their origin.
func Shared[T any](e *Env, key any, create func() T) T {
	e = e.source()
	if v, ok := e.shared.Load(key); ok {
		return v.(T)
	}
	v, _ := e.shared.LoadOrStore(key, create())
	return v.(T)
}

// TLSConfig returns a new configuration for a TLS client that requires TLS 1.2 or later and trusts the
// environment's Roots at the environment's time. The certificate must be valid for serverName, a host name or
// IP address.
func (e *Env) TLSConfig(serverName string) *tls.Config {
	e = e.orReal()
	return &tls.Config{
		ServerName: strings.TrimSuffix(serverName, "."),
		RootCAs:    e.Roots,
		Time:       e.Now,
		MinVersion: tls.VersionTLS12, // RFC 8996 sections 4 and 5
	}
}

// A Delegation describes how a zone that is not yet published will be delegated.
type Delegation struct {
	Zone    string                // absolute
	Servers []resolver.NameServer // empty if none can be queried yet
	DS      []*dns.DS             // the DS records that the parent zone will have
}

// A delegator is a Resolver that answers for zones before they are published, such as one of package overlay. The
// name servers that the world has for such a zone have another version of it, or none.
type delegator interface {
	Undelegated(name string) (Delegation, bool)
}

// ErrUndelegated means that an answer requires the name servers of a zone that is not published yet.
var ErrUndelegated = errors.New("the zone is not published yet")

// Undelegated returns how the zone of a name will be delegated, and whether the resolver of the environment
// answers for that zone before it is published. A check that queries name servers itself must then query only
// those of the Delegation.
func (e *Env) Undelegated(name string) (Delegation, bool) {
	if d, ok := e.source().Resolver.(delegator); ok {
		return d.Undelegated(dns.CanonicalName(name))
	}
	return Delegation{}, false
}

// Published returns nil if real name servers may be asked about a name. Otherwise, because the zone of the
// name is not published yet, the error wraps [ErrUndelegated] and [ErrUnavailable].
func (e *Env) Published(name string) error {
	d, ok := e.Undelegated(name)
	if !ok {
		return nil
	}
	zone := strings.TrimSuffix(d.Zone, ".")
	return Unavailable("the name servers of "+zone+", which are not asked before the zone is published", ErrUndelegated)
}

// WithResolver returns an environment like e with another resolver, such as one of package overlay, which
// answers for zones that are not published yet.
func (e *Env) WithResolver(r Resolver) *Env {
	e = e.orReal()
	return &Env{
		Resolver: r, HideResolver: e.HideResolver, Dial: e.Dial, Roots: e.Roots, TrustAnchors: e.TrustAnchors,
		RootServers: e.RootServers, HelloName: e.HelloName, Clock: e.Clock, Guard: e.Guard, Data: e.Data,
	}
}

// withheld is a resolver that is not queried for names that are not published yet: it would return another version.
type withheld struct {
	Resolver
	env *Env
}

// Exchange implements [Resolver].
func (w *withheld) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if err := w.env.allowed(q); err != nil {
		return nil, err
	}
	return w.Resolver.Exchange(ctx, q)
}

// allowed says whether a question may be put to servers of the world.
func (e *Env) allowed(q *dns.Msg) error {
	if len(q.Question) == 1 {
		return e.Published(q.Question[0].Name)
	}
	return nil
}

// ForgetLists discards the lists read from [Env.Data]. Each is read again when it is next needed.
func (e *Env) ForgetLists() { e.source().lists.Clear() }

// listKey is under what a list is kept: one file may be read as lists of several types.
type listKey[T any] struct{ name string }

// List returns a list that an operator may replace, such as the list of public resolvers. If [Env.Data] has a
// file of that name, List returns it as parsed by parse, otherwise the built-in list. The file is read once
// for each Env and each type T. The error names the file.
func List[T any](e *Env, name string, builtIn func() T, parse func([]byte) (T, error)) (T, error) {
	e = e.source()
	if e.Data == nil {
		return builtIn(), nil
	}
	if kept, ok := e.lists.Load(listKey[T]{name}); ok {
		return kept.(T), nil
	}
	data, err := fs.ReadFile(e.Data, name)
	if errors.Is(err, fs.ErrNotExist) {
		kept, _ := e.lists.LoadOrStore(listKey[T]{name}, builtIn())
		return kept.(T), nil
	}
	var list T
	if err == nil {
		list, err = parse(data)
	}
	if err != nil {
		return list, fmt.Errorf("reading the list %s: %w", name, err)
	}
	kept, _ := e.lists.LoadOrStore(listKey[T]{name}, list)
	return kept.(T), nil
}

// DecodeList decodes a list that an operator provides as a single JSON value. Duplicate members are errors,
// and so are unknown members if strict is set.
func DecodeList(data []byte, v any, strict bool) error {
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return uniqueMembers(json.NewDecoder(bytes.NewReader(data)))
}

// uniqueMembers reads one value and fails if an object has a member twice, which decoders resolve in silence.
func uniqueMembers(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			lower := strings.ToLower(name.(string)) // encoding/json takes names whatever their case
			if seen[lower] {
				return fmt.Errorf("the member %.40q appears twice", name)
			}
			seen[lower] = true
		}
		if err := uniqueMembers(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
