package propagation

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// compare finds out what is right, and holds the resolvers against it.
func (e *evidence) compare() {
	e.weighAuthority()
	for _, s := range e.probes {
		if s.reply != nil {
			s.observation = observe(s.reply, e.name.FQDN(), e.qtype)
		} else {
			s.observation.values = []string{}
		}
	}
	switch {
	case len(e.expected) > 0:
		e.reference, e.known = observation{told: true, values: e.expected}, true
	case e.truth.told:
		e.reference, e.known = e.truth, true
	default:
		e.reference = e.majority()
	}
	for _, s := range e.probes {
		s.status = s.compare(e.reference)
		if s.status != match && s.reply != nil {
			s.filtered = filteredBy(s.reply, s.observation, e.reference)
		}
	}
}

// weighAuthority finds out what the authoritative servers say: where they disagree, the newest version
// of the zone counts, then what more of them say.
func (e *evidence) weighAuthority() {
	type version struct {
		observation observation
		serial      *uint32
		count       int
	}
	var versions []*version
	serials := map[uint32]bool{}
	for _, s := range e.authority.servers {
		if s.err != nil {
			e.sortOut(s)
			continue
		}
		if s.serial != nil {
			serials[*s.serial] = true
		}
		i := slices.IndexFunc(versions, func(v *version) bool { return v.observation.same(s.observation) })
		if i < 0 {
			versions = append(versions, &version{s.observation, s.serial, 1})
			continue
		}
		v := versions[i]
		v.count++
		if newer(s.serial, v.serial) > 0 {
			v.serial = s.serial
		}
		v.observation.ttl = max(v.observation.ttl, s.observation.ttl) // who asks another server gets the longer time
	}
	e.versions, e.serials = len(versions), len(serials)
	if len(versions) > 0 {
		e.truth = slices.MaxFunc(versions, func(a, b *version) int {
			return cmp.Or(newer(a.serial, b.serial), cmp.Compare(a.count, b.count), strings.Compare(a.observation.key(), b.observation.key()))
		}).observation
	}
}

// sortOut notes why a server does not count.
func (e *evidence) sortOut(s *authServer) {
	switch {
	case errors.Is(s.err, resolver.ErrNoIPv6):
	case errors.Is(s.err, errNotFollowed):
		e.notFollowed = true
	case s.hop.Reply != nil && s.hop.Reply.Rcode != dns.RcodeServerFailure:
		e.notServing = append(e.notServing, s)
	default:
		e.silent = append(e.silent, s)
	}
}

// newer compares serial numbers (RFC 1982 section 3.2); one that is not known is older than any.
func newer(a, b *uint32) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(boolInt(a != nil), boolInt(b != nil))
	default:
		return cmp.Compare(int32(*a-*b), 0)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// majority is what most resolvers say.
func (e *evidence) majority() observation {
	counts, best := map[string]int{}, observation{}
	for _, s := range e.probes {
		if s.reply == nil || !s.observation.told {
			continue
		}
		k := s.observation.key()
		if counts[k]++; !best.told || counts[k] > counts[best.key()] {
			best = s.observation
		}
	}
	return best
}

// compare returns how an answer compares with what is right.
func (s *probe) compare(right observation) Status {
	switch {
	case errors.Is(s.err, resolver.ErrTimeout):
		return timedOut
	case s.err != nil:
		return failed
	case s.reply.Rcode == dns.RcodeServerFailure:
		return servFail
	case s.reply.Rcode == dns.RcodeRefused:
		return refused
	case !s.observation.told:
		return failed
	case s.observation.same(right):
		return match
	case s.reply.Rcode == dns.RcodeNameError:
		return nxDomain
	case len(s.observation.values) == 0:
		return noData
	default:
		return mismatch
	}
}

// answered reports whether a resolver said what it holds.
func (s *probe) answered() bool {
	return s.filtered == "" && slices.Contains([]Status{match, mismatch, nxDomain, noData}, s.status)
}

// filteredBy says in which way a resolver withholds the true answer on purpose: by an extended error
// (RFC 8914 sections 4.16 to 4.18), or by the address that stands for none.
func filteredBy(m *dns.Msg, got, right observation) string {
	if why := diag.Filtered(m); why != "" {
		return why
	}
	for _, null := range []string{"0.0.0.0", "::"} {
		if slices.Equal(got.values, []string{null}) && !slices.Contains(right.values, null) {
			return "the address " + null
		}
	}
	return ""
}

// remark is what a resolver adds to its answer, or why there is none.
func (s *probe) remark() string {
	if s.status == timedOut {
		return "no response"
	}
	if s.err != nil {
		return diag.Reason(s.err)
	}
	if s.filtered != "" {
		return s.filtered
	}
	var texts []string
	if s.status == failed {
		texts = append(texts, "the reply is "+diag.RcodeName(s.reply.Rcode))
	}
	for _, x := range diag.ExtendedErrors(s.reply) {
		if len(texts) < 4 {
			texts = append(texts, diag.ExtendedText(x))
		}
	}
	return strings.Join(texts, "; ")
}
