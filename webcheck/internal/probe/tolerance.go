package probe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A Property is a feature of a ClientHello that some servers or middleboxes fail on, although each must accept it
// (RFC 8446 section 9.3).
type Property string

const (
	Large      Property = "large"      // more octets than fit a TCP segment, as with post-quantum key shares
	NewVersion Property = "tls13"      // TLS 1.3 among the versions, where the server only speaks older ones
	Protocols  Property = "alpn"       // application protocols (RFC 7301)
	Reserved   Property = "grease"     // reserved values that servers must ignore (RFC 8701)
	Extensions Property = "extensions" // extensions that browsers have and the server does not know
	KeyShare   Property = "key_share"  // a key share for X25519MLKEM768, not its size
)

// An Intolerance is a property of which it was proved that a server answers without it, and not with it.
type Intolerance struct {
	Property Property
	Reaction string // what happens instead of an answer, such as "the server closed the connection"
	Alert    Alert  // that of the reaction, if it is one; else 0
	// Answered and Failed are the sizes of the largest ClientHello that was answered and of the smallest that was not,
	// in octets on the wire. InSegments says that a small one fails as well where it comes in two TCP segments, and
	// InRecords where it comes in two records. They are set for Large only.
	Answered, Failed      int
	InSegments, InRecords bool
}

// browserOctets is the size of a large ClientHello: Chrome and Firefox send 1,700 to 1,900 octets.
const browserOctets = 1800

// sizes are tried to find out how large a ClientHello may be. The last two are below and above what a TCP segment
// holds.
var sizes = []int{700, 1000, 1400, 1500}

// toleranceTime bounds one exchange: servers that ignore a ClientHello must be distinguished from slow ones.
const toleranceTime = 2 * time.Second

// Tolerates reports whether a server has answered a ClientHello with a property, as far as that is known.
func (r *Report) Tolerates(p Property) Answer {
	switch {
	case slices.ContainsFunc(r.Intolerances, func(i Intolerance) bool { return i.Property == p }):
		return No
	case r.Browser == Yes:
		return Yes
	default:
		return Unknown
	}
}

// tolerance asks with a ClientHello that has all that those of browsers have. Only if that fails, and a plain one does
// not, each property is tried alone.
func (s *scanner) tolerance(ctx context.Context, r *Report) {
	plain, ok := r.Plain(s.config)
	if !ok {
		return
	}
	full := s.browserHello(r, plain)
	if !s.config.silent && s.try(ctx, full) == nil {
		r.Browser = Yes
		return
	}
	list := s.failing(ctx, s.properties(r, plain, len(full.bytes())))
	has := func(p Property) int {
		return slices.IndexFunc(list, func(i Intolerance) bool { return i.Property == p })
	}
	if has(Large) >= 0 || has(NewVersion) >= 0 { // a hybrid key share is both
		list = slices.DeleteFunc(list, func(i Intolerance) bool { return i.Property == KeyShare })
	}
	if i := has(Large); i >= 0 {
		s.measure(ctx, plain, &list[i], len(full.bytes()))
	}
	if s.try(ctx, plain) != nil {
		return // it has stopped to answer
	}
	if len(list) > 0 || !s.config.silent {
		r.Browser, r.Intolerances = No, append(r.Intolerances, list...)
	}
}

// failing tries properties, and returns those that are not taken.
func (s *scanner) failing(ctx context.Context, trials []trial) (list []Intolerance) {
	found := make([]error, len(trials))
	var g diag.Group
	for i, t := range trials {
		g.Go(func() {
			if found[i] = s.try(ctx, t.with); Refused(found[i]) { // a connection may break off by chance
				found[i] = s.try(ctx, t.with)
			}
		})
	}
	g.Wait()
	for i, t := range trials {
		if found[i] == nil {
			continue
		}
		one := intolerance(t.property, found[i])
		if one.Alert == NoApplicationProtocol { // some send it only after the key exchange
			one.Property = Protocols
		}
		if !slices.ContainsFunc(list, func(i Intolerance) bool { return i.Property == one.Property }) {
			list = append(list, one)
		}
	}
	return list
}

// Plain returns a small ClientHello that the server has answered, if there is one with extensions.
func (r *Report) Plain(config Config) (Hello, bool) {
	first := cmp.Or(r.Old, r.New)
	if first == nil || first.Version <= SSL3 {
		return Hello{}, false
	}
	v := first.Version
	return config.hello(v, bounded(r.suites(v, anySuite))), true
}

// bounded keeps a list of suites so short that it does not make a ClientHello large.
func bounded(suites []uint16) []uint16 { return suites[:min(len(suites), 30)] }

// browserHello adds to a plain one all that browsers send.
func (s *scanner) browserHello(r *Report, h Hello) Hello {
	h = s.withTLS13(r, h)
	h = h.withHybridShare()
	h.GREASE, h.Extensions, h.Octets = true, BrowserExtensions(), browserOctets
	return h
}

// withHybridShare sends key shares for X25519MLKEM768 and X25519, in the order of the groups (RFC 8446 section 4.2.8).
func (h Hello) withHybridShare() Hello {
	h.Shares = []Group{X25519MLKEM768, X25519}
	h.Groups = slices.Concat(h.Shares, slices.DeleteFunc(slices.Clone(h.Groups), func(g Group) bool {
		return slices.Contains(h.Shares, g)
	}))
	return h
}

// withTLS13 offers TLS 1.3 beside what a plain one offers.
func (s *scanner) withTLS13(r *Report, h Hello) Hello {
	if h.Version == TLS13 {
		return h
	}
	suites := r.suites(TLS13, anySuite)
	supported := len(suites) > 0
	if !supported {
		suites = []uint16{0x1301, 0x1302, 0x1303}
	}
	h.Older, h.Version = []Version{h.Version}, TLS13
	h.Suites = slices.Concat(suites, h.Suites)
	for _, g := range groups(TLS13) {
		if !slices.Contains(h.Groups, g) && (supported || !g.PostQuantum()) { // those would be a property of their own
			h.Groups = append(slices.Clip(h.Groups), g)
		}
	}
	h.Shares = []Group{X25519}
	return h
}

// A trial is a plain ClientHello with a property added.
type trial struct {
	property Property
	with     Hello
}

func (s *scanner) properties(r *Report, plain Hello, octets int) []trial {
	large, reserved, extensions := plain, plain, plain
	large.Octets, reserved.GREASE, extensions.Extensions = octets, true, BrowserExtensions()
	newer := s.withTLS13(r, plain)
	list := []trial{
		{Large, large}, {Reserved, reserved}, {Extensions, extensions}, {KeyShare, newer.withHybridShare()},
	}
	if r.Supported(TLS13) != Yes {
		list = append(list, trial{NewVersion, newer})
	}
	return list
}

// measure learns how large a ClientHello may be, and whether it is its division that matters.
func (s *scanner) measure(ctx context.Context, plain Hello, i *Intolerance, failed int) {
	segments, records := plain, plain
	segments.Sent, records.Sent = InSegments, InRecords
	trials := []Hello{segments, records}
	for _, octets := range sizes {
		h := plain
		h.Octets = octets
		trials = append(trials, h)
	}
	found := make([]error, len(trials))
	var g diag.Group
	for n, h := range trials {
		g.Go(func() { found[n] = s.try(ctx, h) })
	}
	g.Wait()
	i.InSegments, i.InRecords = found[0] != nil, found[1] != nil
	i.Answered, i.Failed = len(plain.bytes()), failed
	for n, err := range found[2:] {
		if err != nil {
			i.Failed = sizes[n]
			break
		}
		i.Answered = max(i.Answered, sizes[n])
	}
}

// Knock finds out with four small ClientHellos whether a server answers any that has left another unanswered. It
// returns what to ask for: without application protocols if it only answers who names none.
func Knock(ctx context.Context, dial Dialer, config Config) (Config, bool) {
	with := newScanner(dial, config)
	without := newScanner(dial, Config{ServerName: config.ServerName, Limits: with.config.Limits})
	var found [4]error
	var g diag.Group
	for i, v := range []Version{TLS12, TLS13} {
		g.Go(func() { found[i] = with.try(ctx, with.hello(v, bounded(chunks(v)[0]))) })
		g.Go(func() { found[i+2] = without.try(ctx, without.hello(v, bounded(chunks(v)[0]))) })
	}
	g.Wait()
	answered := slices.ContainsFunc(found[:2], func(err error) bool { return err == nil })
	bare := slices.ContainsFunc(found[2:], func(err error) bool { return err == nil })
	if len(config.ALPN) > 0 && bare && !answered {
		config = without.config
		config.refused = intolerance(Protocols, cmp.Or(found[0], found[1]))
	}
	config.silent = true
	return config, slices.ContainsFunc(found[:], func(err error) bool { return err == nil || Refused(err) })
}

// withoutALPN returns what to ask for instead if a scan shows that the server does not take application protocols,
// which makes it refuse all, or all of some versions.
func withoutALPN(ctx context.Context, dial Dialer, config Config, r *Report) (bare Config, ok bool) {
	if len(config.ALPN) == 0 || r.NotTLS {
		return config, false
	}
	if !r.Any() {
		bare, ok = Knock(ctx, dial, config)
		return bare, ok && bare.refused.Property != ""
	}
	i := slices.IndexFunc(r.Intolerances, func(i Intolerance) bool { return i.Property == Protocols })
	if i < 0 {
		return config, false
	}
	config.ALPN, config.refused = nil, r.Intolerances[i]
	return config, true
}

// try asks, and returns why there is no answer. Silence is an answer here, and nothing that the scan has missed.
func (s *scanner) try(ctx context.Context, h Hello) error {
	release, err := s.config.Limits.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	bounded, cancel := context.WithTimeout(ctx, toleranceTime)
	defer cancel()
	if !s.spend() {
		return errBudget
	}
	conn, err := s.dial(bounded)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = Ask(bounded, conn, h)
	return err
}

// intolerance says what a server did instead of answering.
func intolerance(p Property, err error) Intolerance {
	i := Intolerance{Property: p, Reaction: "the server did not answer"}
	if refusal, ok := errors.AsType[*refusal](err); ok {
		i.Reaction, i.Alert = refusal.Error(), refusal.Alert
	} else if faulty(err) {
		i.Reaction = err.Error()
	}
	return i
}
