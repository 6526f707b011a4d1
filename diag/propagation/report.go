package propagation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/view"
)

func (e *evidence) report() *Report {
	verdict := rules.Judge(e, texts)
	r := &Report{
		Text: verdict.Text(), Name: e.name, Type: e.qtype, Authoritative: e.authorityReport(), Expected: e.expected,
		Resolvers: []Resolver{}, ValueGroups: e.groups(), Summary: e.summary(),
		Partial: !e.truth.answered || len(e.silent) > 0 || e.notFollowed, Timing: diag.NewTiming(e.began, e.ended),
		Findings: verdict.Findings,
	}
	for _, s := range e.probes {
		r.Resolvers = append(r.Resolvers, s.report())
		r.Partial = r.Partial || s.reply == nil
	}
	return r
}

func (e *evidence) authorityReport() Authoritative {
	a := Authoritative{
		Found: e.truth.answered, Values: []string{}, Servers: []Server{}, Consistent: e.truth.answered && e.versions == 1,
	}
	if e.truth.answered {
		a.Values = e.truth.values
	}
	if e.truth.timed {
		a.TTL = new(e.truth.ttl)
	}
	for _, s := range e.authority.servers {
		server := Server{
			Name: strings.TrimSuffix(s.name, "."), Address: text(s.addr), Serial: s.serial, Values: s.observation.values,
		}
		if s.hop.Reply != nil {
			server.Rcode = dnsmsg.RcodeName(s.hop.Reply.Rcode)
		}
		if s.err != nil {
			server.Error = diag.Reason(s.err)
		}
		a.Servers = append(a.Servers, server)
	}
	return a
}

func (s *probe) report() Resolver {
	r := Resolver{
		ID: s.vantage.ID, Name: s.vantage.Name, Operator: s.vantage.Operator, Country: s.vantage.Country,
		Address: text(s.addr), Transport: s.transport,
		Values: s.observation.values, LatencyMS: max(0, s.latency.Milliseconds()), Status: s.status, Error: s.remark(),
	}
	if s.reply == nil {
		return r
	}
	r.Rcode, r.AD = dnsmsg.RcodeName(s.reply.Rcode), s.reply.AuthenticatedData
	if s.observation.answered && s.observation.timed {
		r.TTL = new(s.observation.ttl)
	}
	return r
}

// groups lists the resolvers by equal answers, the largest group first.
func (e *evidence) groups() []ValueGroup {
	groups := []ValueGroup{}
	for _, s := range e.probes {
		if s.reply == nil || !s.observation.answered {
			continue
		}
		i := slices.IndexFunc(groups, func(g ValueGroup) bool { return slices.Equal(g.Values, s.observation.values) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, ValueGroup{Values: s.observation.values})
		}
		groups[i].ResolverIDs = append(groups[i].ResolverIDs, s.vantage.ID)
		groups[i].Count++
	}
	slices.SortStableFunc(groups, func(a, b ValueGroup) int { return cmp.Compare(b.Count, a.Count) })
	return groups
}

func (e *evidence) summary() Summary {
	s := Summary{
		ResolverCount: len(e.probes), AnsweredCount: view.CountIf(e.probes, (*probe).answered),
		MatchCount: view.CountIf(e.probes, func(p *probe) bool { return p.status == Match }),
	}
	if s.AnsweredCount > 0 {
		s.PropagationPercent = 100 * s.MatchCount / s.AnsweredCount
	}
	switch {
	case !e.known || s.AnsweredCount*2 < s.ResolverCount || s.AnsweredCount == 0:
		s.Status = Inconclusive
	case s.MatchCount == s.AnsweredCount:
		s.Status = Complete
	case s.MatchCount == 0:
		s.Status = Nowhere
	default:
		s.Status = Partly
	}
	return s
}
