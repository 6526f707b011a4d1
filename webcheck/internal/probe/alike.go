package probe

import (
	"context"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// Alike reports whether a server answers as another one of which all is known, so far as a fifth of the connections
// shows: it speaks the same versions, prefers the same suites, groups and application protocols, accepts suites of the
// same strengths, and no common or weak one that the other refuses. Anything else, silence included, makes them differ.
func Alike(ctx context.Context, dial Dialer, config Config, other *Report) bool {
	s := newScanner(dial, config)
	trials := s.comparisons(other)
	same := make([]bool, len(trials))
	var g diag.Group
	for i, t := range trials {
		g.Go(func() {
			reply, err := s.ask(ctx, t.hello)
			same[i] = t.same(reply) && (err == nil || Refused(err))
		})
	}
	g.Wait()
	return !slices.Contains(same, false) && !s.unanswered
}

// A comparison is a ClientHello of which the answer is known.
type comparison struct {
	hello Hello
	same  func(*Reply) bool // the reply is nil if the server refuses
}

func (s *scanner) comparisons(other *Report) (list []comparison) {
	for i, v := range other.Versions {
		supported := v.Supported == Yes
		refuses := func(r *Reply) bool { return r == nil || r.Version != v.Version }
		switch {
		case v.Version == SSL2:
			list = append(list, comparison{Hello{Version: SSL2}, func(r *Reply) bool { return (r != nil) == supported }})
		case !supported && i+1 < len(other.Versions) && v.Version < TLS12 && other.Versions[i+1].Supported != Yes:
			// A server that only speaks this version answers a hello of the next one with it (RFC 5246 appendix E.1).
		case !supported:
			none := func(r *Reply) bool { return refuses(r) && (r == nil || other.Supported(r.Version) == Yes) }
			list = append(list, comparison{s.hello(v.Version, chunks(v.Version)[0]), none})
		default:
			list = append(list, s.suiteComparisons(other, v.Version, refuses)...)
		}
	}
	return list
}

func (s *scanner) suiteComparisons(other *Report, v Version, refuses func(*Reply) bool) []comparison {
	accepted := other.suites(v, anySuite)
	if len(accepted) == 0 {
		return nil
	}
	list := []comparison{s.preference(other, v, accepted)}
	for _, weaker := range byStrength(accepted)[1:] {
		list = append(list, comparison{s.hello(v, weaker), func(r *Reply) bool { return !refuses(r) }})
	}
	for _, rest := range refusedSuites(v, accepted) {
		list = append(list, comparison{s.hello(v, rest), refuses})
	}
	return list
}

// preference offers what the other server accepts, in its order.
func (s *scanner) preference(other *Report, v Version, accepted []uint16) comparison {
	first := other.Old
	if v == TLS13 {
		first = other.New
	}
	return comparison{s.hello(v, accepted), func(r *Reply) bool {
		if r == nil || r.Version != v || r.Suite != accepted[0] {
			return false
		}
		return first == nil || first.Version != v || r.Group == first.Group && r.ALPN == first.ALPN &&
			r.SecureRenegotiation == first.SecureRenegotiation && r.MasterSecret == first.MasterSecret &&
			r.SessionTicket == first.SessionTicket && r.Heartbeat == first.Heartbeat
	}}
}

// byStrength divides suites by how much they protect, that of the first one at the head.
func byStrength(suites []uint16) (lists [][]uint16) {
	var strengths []Strength
	for _, id := range suites {
		strength := SuiteOf(id).Strength()
		i := slices.Index(strengths, strength)
		if i < 0 {
			i = len(strengths)
			strengths, lists = append(strengths, strength), append(lists, nil)
		}
		lists[i] = append(lists[i], id)
	}
	return lists
}

// refusedSuites lists the common and the weak suites of a version that are not accepted, as many together as may be
// offered.
func refusedSuites(v Version, accepted []uint16) (lists [][]uint16) {
	var all []uint16
	for _, s := range table() {
		strength := s.Strength()
		matters := s.TLS13() || s.common() || !s.foreignKey() && (strength == Weak || strength == Insecure)
		if s.fits(v) && matters && !slices.Contains(accepted, s.ID) {
			all = append(all, s.ID)
		}
	}
	return slices.Collect(slices.Chunk(all, maxOffered))
}

// foreignKey reports whether a suite needs a key or a password beside those of the server: no client of the web has it.
func (s Suite) foreignKey() bool {
	return slices.ContainsFunc([]string{"PSK", "KRB5", "SRP", "ECCPWD"}, func(kind string) bool {
		return strings.Contains(s.exchange, kind)
	})
}
