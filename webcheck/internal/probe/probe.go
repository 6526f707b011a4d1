package probe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// The bounds of a scan.
const (
	// maxConnections is how many connections a scan makes. Servers of today need about 40, one that has everything
	// enabled that OpenSSL knows needs 200.
	maxConnections = 240
	// concurrency is how many of them are open at the same time: fewer than a browser opens to a host.
	concurrency = 5
)

// A Dialer connects to the server, to the same address each time.
type Dialer func(ctx context.Context) (net.Conn, error)

// Config says what to ask a server for. Its zero value asks for no name.
type Config struct {
	ServerName string
	ALPN       []string // application protocols to offer; nil offers none
	Limits     Limits   // of the connections that are open at a time; nil means 5

	refused Intolerance // of application protocols, if they are left out because of that
	silent  bool        // the server left a ClientHello unanswered, and answers others
}

// A Report lists what a server supports.
type Report struct {
	Versions []VersionResult // all versions, the oldest first
	Suites   []SuiteResult   // the newest version first, then as the server prefers them
	Groups   []GroupResult   // for the key exchange, the newest version first, then as the server prefers them
	ALPN     []string        // application protocols, as the server prefers them; those of TLS 1.3 are encrypted

	ServerOrder  Answer // whether the server picks by its own preference rather than the client's, in TLS 1.2 or earlier
	FallbackSCSV Answer // whether it refuses connections that were made to fall back (RFC 7507)
	Compression  Answer // whether it compresses (RFC 3749)
	// Browser says whether the server answers a ClientHello with all that those of browsers have: TLS 1.3 beside an older
	// version, post-quantum key shares and the size that these make, GREASE, new extensions. If not, Intolerances are the
	// reasons, as far as they were found.
	Browser      Answer
	Intolerances []Intolerance
	// Old is the reply to the newest of TLS 1.2 and earlier, New that of TLS 1.3; nil without one.
	Old, New *Reply

	NotTLS bool // what answers is not TLS
	// Partial says that something could not be learned: the server was silent, or stopped to answer.
	Partial     bool
	Connections int
}

// An Answer is yes, no, or not known.
type Answer string

// The answers.
const (
	Unknown Answer = ""
	Yes     Answer = "yes"
	No      Answer = "no"
)

func answer(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// A VersionResult says whether a version is supported.
type VersionResult struct {
	Version   Version
	Supported Answer
}

// A SuiteResult is a suite that a server accepts.
type SuiteResult struct {
	Suite
	Version Version
	DHBits  int // size of the prime, if keys are agreed on modulo a prime of the server
}

// A GroupResult is a group that a server accepts.
type GroupResult struct {
	Group   Group
	Version Version // TLS 1.3, or the newest of the earlier versions
}

// Supported says whether a version is supported.
func (r *Report) Supported(v Version) Answer {
	for _, one := range r.Versions {
		if one.Version == v {
			return one.Supported
		}
	}
	return Unknown
}

// Any reports whether any version is supported.
func (r *Report) Any() bool {
	return slices.ContainsFunc(r.Versions, func(v VersionResult) bool { return v.Supported == Yes })
}

type scanner struct {
	dial   Dialer
	config Config

	mu          sync.Mutex
	made        int
	unanswered  bool // an exchange failed without an answer
	silentTLS13 bool // one of TLS 1.3, where the server is known to be silent to some
	plain       bool // an answer was no TLS

	holder *Reply // the reply of the newest version that has a chain, which may be long and is kept for no other
}

func newScanner(dial Dialer, config Config) *scanner {
	if config.Limits == nil {
		config.Limits = Limits{make(Limit, concurrency)}
	}
	return &scanner{dial: dial, config: config}
}

// Scan asks a server for everything. It returns early, with partial results, when the context ends.
func Scan(ctx context.Context, dial Dialer, config Config) *Report {
	s := newScanner(dial, config)
	r := &Report{}
	versions := Versions()
	found := make([]support, len(versions))
	var g diag.Group
	for i, v := range versions {
		g.Go(func() { found[i] = s.version(ctx, v) })
	}
	g.Wait()
	for i, v := range versions {
		r.Versions = append(r.Versions, VersionResult{v, found[i].answer()})
	}
	for i := len(versions) - 1; i >= 0; i-- {
		r.Suites = append(r.Suites, found[i].suites...)
	}
	if newest := found[len(found)-1]; newest.answer() == Yes {
		r.New = newest.first
	}
	for i := len(versions) - 2; i > 0 && r.Old == nil; i-- {
		r.Old = found[i].first
	}
	s.details(ctx, r)
	r.NotTLS = s.plain && !r.Any()
	if s.silentTLS13 && r.Tolerates(NewVersion) == No {
		r.Versions[len(r.Versions)-1].Supported = No
	} else {
		s.unanswered = s.unanswered || s.silentTLS13
	}
	r.Partial, r.Connections = s.unanswered, s.made
	if config.refused.Property != "" {
		r.Browser, r.Intolerances = No, append(r.Intolerances, config.refused)
	}
	if bare, ok := withoutALPN(ctx, dial, config, r); ok {
		return Scan(ctx, dial, bare)
	}
	return r
}

func (r *Report) suites(v Version, is func(Suite) bool) (list []uint16) {
	for _, one := range r.Suites {
		if one.Version == v && is(one.Suite) {
			list = append(list, one.ID)
		}
	}
	return list
}

func anySuite(Suite) bool { return true }

func (c Config) hello(v Version, suites []uint16) Hello {
	return Hello{Version: v, Suites: suites, Groups: groups(v), ServerName: c.ServerName, ALPN: c.ALPN}
}

func (s *scanner) hello(v Version, suites []uint16) Hello { return s.config.hello(v, suites) }

// errBudget says that no more connections are made.
var errBudget = errors.New("all connections of the scan are made")

func (s *scanner) ask(ctx context.Context, h Hello) (*Reply, error) {
	release, err := s.config.Limits.Acquire(ctx)
	if err != nil {
		return nil, s.note(err)
	}
	defer release()
	if !s.spend() {
		return nil, s.note(errBudget)
	}
	patience := connectionTime
	if s.config.silent {
		patience = toleranceTime
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.dial(bounded)
	if err != nil {
		return nil, s.note(err)
	}
	defer conn.Close()
	reply, err := Ask(bounded, conn, h)
	if h.Version == TLS13 && s.config.silent && timedOut(err) { // it may be what is left unanswered
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silentTLS13 = true
		return nil, err
	}
	return reply, s.note(err)
}

func (s *scanner) spend() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return s.made <= maxConnections
}

// note remembers whether an error leaves something unknown.
func (s *scanner) note(err error) error {
	_, refused := errors.AsType[*refusal](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = s.plain || errors.Is(err, errNotTLS)
	s.unanswered = s.unanswered || err != nil && !refused && !faulty(err)
	return err
}

// Refused reports whether an error of [Ask] is the server's no, or an answer that no client can use.
func Refused(err error) bool {
	_, yes := errors.AsType[*refusal](err)
	return yes || faulty(err)
}

// support holds the findings on one version.
type support struct {
	suites []SuiteResult
	first  *Reply
	silent bool // an exchange failed without an answer
}

func (s support) answer() Answer {
	switch {
	case s.first != nil:
		return Yes
	case s.silent:
		return Unknown
	default:
		return No
	}
}

// version finds all suites of a version. If the server refuses the version as such, one connection is enough.
func (s *scanner) version(ctx context.Context, v Version) support {
	if v == SSL2 {
		reply, err := s.ask(ctx, Hello{Version: v})
		return support{first: reply, silent: err != nil && !Refused(err)}
	}
	lists := chunks(v)
	reply, err := s.ask(ctx, s.hello(v, lists[0]))
	if r, ok := errors.AsType[*refusal](err); ok && r.Alert == ProtocolVersion || reply != nil && reply.Version != v {
		return support{}
	}
	parts := make([]support, len(lists))
	var g diag.Group
	g.Go(func() { parts[0] = s.enumerate(ctx, v, lists[0], reply, err) })
	for i, list := range lists[1:] {
		g.Go(func() {
			next, err := s.ask(ctx, s.hello(v, list))
			if next != nil && reply != nil && len(reply.Chain) > 0 {
				next.Chain, next.Staple = nil, nil
			}
			parts[i+1] = s.enumerate(ctx, v, list, next, err)
		})
	}
	g.Wait()
	var all support
	for _, p := range parts {
		all.suites = append(all.suites, p.suites...)
		all.silent = all.silent || p.silent
		if all.first == nil || len(all.first.Chain) == 0 && p.first != nil && len(p.first.Chain) > 0 {
			all.first = cmp.Or(p.first, all.first)
		}
	}
	s.hold(all.first)
	return all
}

// hold keeps the chain of the newest version, and drops all others.
func (s *scanner) hold(reply *Reply) {
	if reply == nil || len(reply.Chain) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder == nil || reply.Version > s.holder.Version {
		s.holder, reply = reply, s.holder
	}
	if reply != nil {
		reply.Chain, reply.Staple = nil, nil
	}
}

// enumerate leaves out what the server picks until it refuses. It begins with the reply to the whole list.
func (s *scanner) enumerate(ctx context.Context, v Version, list []uint16, reply *Reply, err error) (found support) {
	list = slices.Clone(list)
	for {
		if err != nil {
			found.silent = !Refused(err)
			return found
		}
		i := slices.Index(list, reply.Suite)
		if reply.Version != v || i < 0 {
			return found
		}
		if found.first == nil {
			found.first = reply
		}
		found.suites = append(found.suites, SuiteResult{SuiteOf(reply.Suite), v, reply.DHBits})
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			return found
		}
		reply, err = s.ask(ctx, s.hello(v, list))
	}
}
