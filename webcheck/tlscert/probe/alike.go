package probe

import (
	"context"
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// Alike reports whether a server answers as another one of which all is known, so far as a third of the connections
// shows: it speaks the same versions, prefers the same suites, groups and application protocols, accepts suites of the
// same strengths and none that the other one refuses. Anything else, silence included, makes them differ.
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
	return !slices.Contains(same, false) && !s.lost
}

// A comparison is a ClientHello of which the answer is known.
type comparison struct {
	hello Hello
	same  func(*Reply) bool // the reply is nil if the server refuses
}

func (s *scanner) comparisons(other *Report) (list []comparison) {
	for _, v := range other.Versions {
		accepted := other.suites(v.Version, anySuite)
		refuses := func(r *Reply) bool { return r == nil || r.Version != v.Version }
		switch {
		case v.Version == SSL2:
			list = append(list, comparison{Hello{Version: SSL2}, func(r *Reply) bool { return (r != nil) == (v.Supported == Yes) }})
		case v.Supported != Yes:
			list = append(list, comparison{s.hello(v.Version, chunks(v.Version)[0]), refuses})
		default:
			list = append(list, s.preference(other, v.Version, accepted))
			for _, weaker := range byStrength(accepted)[1:] {
				list = append(list, comparison{s.hello(v.Version, weaker), func(r *Reply) bool { return !refuses(r) }})
			}
			for _, rest := range refusedSuites(v.Version, accepted) {
				list = append(list, comparison{s.hello(v.Version, rest), refuses})
			}
		}
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

// refusedSuites lists those of a version that are not accepted, as many together as may be offered.
func refusedSuites(v Version, accepted []uint16) (lists [][]uint16) {
	all := slices.DeleteFunc(slices.Concat(chunks(v)...), func(id uint16) bool { return slices.Contains(accepted, id) })
	return slices.Collect(slices.Chunk(all, maxOffered))
}
