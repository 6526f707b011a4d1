package hostedspf

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// A UseState is whether a domain uses the records of its profile.
type UseState string

// The states of use.
const (
	Used       UseState = "used"    // the domain's own record refers to the include host
	Unused     UseState = "unused"  // it does not
	UseUnknown UseState = "unknown" // the DNS did not say
)

// Values lists the states of use.
func (UseState) Values() []string { return kit.Values(Used, Unused, UseUnknown) }

// A Use reports whether a domain uses the records of its profile, according to the current DNS.
type Use struct {
	State UseState `json:"state" doc:"whether the domain's own record leads to include_host"`
	// Record is a record that uses them. It is empty if the domain already has one, or if it is unknown whether all
	// of the domain's senders would pass.
	Record string `json:"record,omitempty" doc:"the record to publish at the domain, which leads to include_host"`
}

// useTime bounds the lookup of the domain's own record: after that the profile is shown without it.
const useTime = 3 * time.Second

// LookupUse looks up whether the published record of the domain refers to the include host of the profile.
func (p *Profile) LookupUse(ctx context.Context, env *diag.Env) Use {
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	e := evidence{domain: p.Domain, source: p.SourceRecord, host: p.IncludeHost.String()}
	switch e.own = diag.Lookup[*dns.TXT](ctx, env, p.Domain.FQDN()); {
	case e.own.Err() != nil:
		return Use{State: UseUnknown}
	case e.handsOver():
		return Use{State: Used}
	case p.FlattenedRecord == "":
		return Use{State: Unused}
	}
	return Use{Unused, e.suggestion(p.LookupsAfter)}
}

// maxSuggested bounds the DNS lookups of a suggested record: with more, a check of SPF would warn.
const maxSuggested = 7

// suggestion returns the record to publish at the domain that keeps every passing host passing, or "" if unknown. The
// lookups are those of a record that refers to the include host.
func (e *evidence) suggestion(lookups int) string {
	redirect := version + " redirect=" + e.host
	records := recordsOf(e.own)
	if len(records) == 0 {
		return redirect
	}
	own, faults := eval.Parse(records[0])
	source, _ := eval.Parse(e.source) // which is one
	switch {
	case len(records) > 1 || len(faults) > 0:
		return ""
	case slices.Equal(raw(own), raw(source)) || within(own, source):
		return redirect
	}
	return e.including(own, lookups)
}

func raw(r *eval.Record) []string {
	return kit.Map(r.Terms, func(t eval.Term) string { return t.Raw })
}

// within reports whether a record passes only hosts that another passes, and treats the rest alike: all terms of both
// are pass terms, except for their endings.
func within(own, source *eval.Record) bool {
	last := func(r *eval.Record) (all eval.Qualifier, only bool) {
		for _, t := range r.Terms {
			switch {
			case t.Kind == eval.Mechanism && t.Name == eval.All:
				all = t.Qualifier
			case t.Kind != eval.Mechanism || t.Qualifier != eval.QualifierPass || t.Uses("p"):
				return all, false
			}
		}
		return all, true
	}
	a, plain := last(own)
	b, simple := last(source)
	listed := func(t eval.Term) bool {
		return t.Name == eval.All ||
			slices.ContainsFunc(source.Terms, func(s eval.Term) bool { return strings.EqualFold(s.Raw, t.Raw) })
	}
	return plain && simple && a == b && !slices.ContainsFunc(own.Terms, func(t eval.Term) bool { return !listed(t) })
}

// including returns the domain's own record with an include of the host before its end; "" if it might need too many
// lookups.
func (e *evidence) including(own *eval.Record, lookups int) string {
	terms := []string{version}
	include := "include:" + e.host
	for _, t := range own.Terms {
		switch {
		case t.Kind == eval.Modifier || t.Name == eval.Include: // which lead to records that were not read
			return ""
		case t.Name == eval.All && include != "":
			terms, include = append(terms, include), ""
		case t.Name.Counted():
			lookups++
		}
		terms = append(terms, t.Raw)
	}
	if lookups > maxSuggested {
		return ""
	}
	if include != "" {
		terms = append(terms, include)
	}
	return strings.Join(terms, " ")
}
