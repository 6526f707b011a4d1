package deliverability

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
)

// A ReputationReport holds the facts about the addresses that send mail of the domain.
type ReputationReport struct {
	Assumed   bool                  `json:"assumed" doc:"whether the addresses are those of the mail servers, or of the domain itself, because the request gave none"`
	Addresses []Address             `json:"addresses" maxitems:"5" doc:"what blocklists say of each address"`
	Reverse   []compose.ReverseName `json:"reverse" maxitems:"5" doc:"names in reverse DNS of the addresses that are known to send"`

	mxErr        error             // why the mail servers are unknown
	service      *provider.Service // operator of all the mail servers; nil if not a known service
	noSignOfMail bool              // there is no sign that the domain sends mail
	verdict      diag.Verdict
}

// An Address is one that sends mail, with its listings on blocklists.
type Address struct {
	Address netip.Addr    `json:"address" doc:"the address"`
	Report  *dnsbl.Report `json:"report,omitempty" doc:"the report of blacklist/ip; absent if no list answered"`
}

// Judgement is the verdict of all addresses.
func (r *ReputationReport) Judgement() diag.Verdict { return r.verdict }

// Unanswered implements [rule.Unanswerer]: the sending addresses are unknown if a lookup failed, and their names if
// reverse DNS did not answer.
func (r *ReputationReport) Unanswered() []rule.Source {
	if r.mxErr != nil || compose.ReverseUnknown(r.Reverse) {
		return []rule.Source{"DNS"}
	}
	return nil
}

// Rules describes what is examined.
func (*ReputationReport) Rules() []rule.Description {
	return slices.Concat(reputationRules.Describe(), (*dnsbl.Report)(nil).Rules())
}

func (s *scoring) lookupReputation(ctx context.Context, env *diag.Env) (*ReputationReport, error) {
	r := &ReputationReport{Assumed: s.IP.IsZero(), Addresses: []Address{}, Reverse: []compose.ReverseName{}}
	var g diag.Group
	g.Go(func() {
		var known []netip.Addr
		switch {
		case r.Assumed:
			known = compose.SendingAddresses(ctx, env, s.domain)
		case !s.sender.IsZero():
			known = []netip.Addr{s.sender.Addr}
		}
		r.Reverse = compose.LookupReverse(ctx, env, known)
	})
	if r.Assumed {
		s.assume(ctx, env, r)
	} else {
		r.Addresses = append(r.Addresses, Address{Address: s.IP.Addr})
	}
	errs := make([]error, len(r.Addresses))
	for i := range r.Addresses {
		g.Go(func() {
			a := &r.Addresses[i]
			a.Report, errs[i] = dnsbl.Check(ctx, env, dnsbl.Request{IP: diag.IP{Addr: a.Address}})
		})
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err == nil {
			break
		}
		if i == len(errs)-1 {
			return nil, err // nothing is known about any address
		}
	}
	r.judge()
	return r, nil
}

// assume uses the addresses of the mail servers, or of the domain itself without any, since they often send as well.
func (s *scoring) assume(ctx context.Context, env *diag.Env, r *ReputationReport) {
	hosts := reception.LookupHosts(ctx, env, s.domain.Name(), compose.MaxAddresses)
	r.mxErr = hosts.MX.Err()
	r.service = operator(hosts.List)
	for _, h := range hosts.List {
		if r.mxErr == nil { // one of either kind may be on a list
			r.mxErr = cmp.Or(h.Addresses.V4.Err(), h.Addresses.V6.Err())
		}
		for _, addr := range h.Addresses.All() {
			addr = addr.Unmap()
			same := func(a Address) bool { return a.Address == addr }
			if len(r.Addresses) < compose.MaxAddresses && env.Public(addr) && !slices.ContainsFunc(r.Addresses, same) {
				r.Addresses = append(r.Addresses, Address{Address: addr})
			}
		}
	}
}

func operator(hosts []reception.Host) (s *provider.Service) {
	for i, h := range hosts {
		one := provider.ByPTR(h.Name)
		if one == nil || i > 0 && one != s {
			return nil
		}
		s = one
	}
	return s
}

// judge merges the verdicts about the addresses into one: the worst represents all.
func (r *ReputationReport) judge() {
	own := reputationRules.Judge(r, reputationTexts)
	worst, open := (*diag.Verdict)(nil), own
	findings, recommendations := own.Findings, own.Recommendations
	reported := map[diag.Code]bool{} // unanswered lists are the same for every address
	for _, a := range r.Addresses {
		if a.Report == nil {
			continue
		}
		one := &a.Report.Verdict
		for _, f := range one.Findings {
			if f.Severity > diag.Info || !reported[f.Code] {
				findings = append(findings, f)
			}
			reported[f.Code] = true
		}
		recommendations = append(recommendations, one.Recommendations...)
		if worst == nil || worse(one, worst) {
			worst = one
		}
		if worst == one && len(open.Open()) == 0 || len(one.Open()) > 0 {
			open = *one
		}
	}
	slices.SortStableFunc(findings, func(a, b diag.Finding) int { return int(b.Severity) - int(a.Severity) })
	v := open // what one of them leaves open is open for all
	v.State, v.Headline, v.Sub = own.State, own.Headline, own.Sub
	v.Findings, v.Recommendations, v.Passed = findings, recommendations, r.passed(own.Passed)
	v.Score, v.Band, v.Factors, v.Breakdown = nil, diag.Undetermined, []diag.Factor{}, diag.Breakdown{}
	switch {
	case worst != nil:
		v.Factors, v.Breakdown = worst.Factors, worst.Breakdown
		if worst.State != diag.Unknown {
			v.Score, v.Band = worst.Score, worst.Band
		}
		if own.State != diag.Warned || worst.State == diag.Bad || worst.State == diag.Unknown {
			v.State, v.Headline, v.Sub = worst.State, worst.Headline, worst.Sub
		}
		if own.State == diag.Warned && v.Score != nil {
			v.Score = new(min(*v.Score, diag.Warning.Cap()))
			v.Band = rule.BandOf(*v.Score)
		}
	case len(r.Addresses) == 0 && r.noSignOfMail:
		text := reputationTexts["score.address.unneeded"]
		v.State, v.Headline, v.Sub = diag.Unknown, text.Headline, text.Sub
	case len(r.Addresses) == 0:
		text := reputationTexts["unknown"]
		v.State, v.Headline, v.Sub = diag.Unknown, text.Headline, text.Sub
	}
	r.verdict = v
}

// passed lists what holds for all addresses; nothing holds for one without an answer, or an unknown one.
func (r *ReputationReport) passed(list []diag.Check) []diag.Check {
	if r.mxErr != nil {
		return list
	}
	for i, a := range r.Addresses {
		switch {
		case a.Report == nil:
			return []diag.Check{}
		case i == 0:
			list = a.Report.Passed
		default:
			list = slices.DeleteFunc(slices.Clone(list), func(c diag.Check) bool { return !slices.Contains(a.Report.Passed, c) })
		}
	}
	return list
}

// worse reports whether a verdict is worse than another: a listing is worse than ignorance, and a lower score than a
// higher one.
func worse(a, b *diag.Verdict) bool {
	if a.Score == nil || b.Score == nil {
		return a.Score != nil
	}
	return *a.Score < *b.Score
}
