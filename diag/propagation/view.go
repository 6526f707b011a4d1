package propagation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// maxNamed bounds the resolvers and values that a line names.
const maxNamed = 4

// View presents the report: how many agree, which do not, and until when.
func (r *Report) View() *view.View {
	v := view.OfText(r.Name.String()+" "+r.Type.String(), r.Text, r.Findings, r.Partial)
	s := r.Summary
	agree := fmt.Sprintf("%d of %s", s.MatchCount, phrase.Count(s.AnsweredCount, "resolver"))
	v.Fact("agree", cmp.Or(view.TextIf(s.AnsweredCount == 0, "no resolver gave a usable answer"), agree+" that answered"),
		"propagation.resolver.stale", "propagation.resolver.missing", "propagation.resolver.none",
		"propagation.resolver.few")
	v.Fact("expected", phrase.Series(r.Expected, maxNamed), "propagation.expected")
	a := r.Authoritative
	v.Fact("zone says", cmp.Or(view.TextIf(!a.Found, "not known"), cmp.Or(phrase.Series(a.Values, maxNamed), "no record")+
		view.TextIf(!a.Consistent, ", but not all of its servers")),
		"propagation.authority", "propagation.name", "propagation.records")
	if a.TTL != nil {
		v.Fact("ttl", view.Seconds(*a.TTL))
	}
	v.Fact("until", r.until())
	v.BriefIf(s.AnsweredCount > 0, agree+" agree")
	d := v.Rows(view.Table, "Who returns what", "answer", "resolvers", "who")
	for _, g := range r.groups() {
		d.Marked(g.mark, g.note, g.answer, fmt.Sprint(len(g.who)), phrase.Series(g.who, maxNamed))
	}
	return v
}

// until says when the last of the old copies runs out, as far as resolvers tell.
func (r *Report) until() string {
	left := int64(-1)
	for _, one := range r.Resolvers {
		if one.TTL != nil && slices.Contains([]Status{Mismatch, NXDomain, NoData}, one.Status) {
			left = max(left, int64(*one.TTL))
		}
	}
	if left < 0 {
		return ""
	}
	d := time.Duration(left) * time.Second
	end := r.CheckedAt.UTC().Add(d).Format("2006-01-02 15:04 MST")
	return fmt.Sprintf("the last old copy expires in %s (%s)", phrase.Duration(d), end)
}

// A group is resolvers that return the same, as a row.
type group struct {
	mark         view.Mark
	answer, note string
	who          []string
}

// groups sorts the resolvers by what they return: the largest group first, and last those without an answer.
func (r *Report) groups() []*group {
	var list []*group
	for _, one := range r.Resolvers {
		g := one.group()
		i := slices.IndexFunc(list, func(o *group) bool { return o.answer == g.answer && o.mark == g.mark })
		if i < 0 {
			i, list = len(list), append(list, g)
		}
		list[i].who = append(list[i].who, one.Name)
	}
	slices.SortStableFunc(list, func(a, b *group) int {
		if (a.mark == view.Unknown) != (b.mark == view.Unknown) {
			return map[bool]int{true: 1, false: -1}[a.mark == view.Unknown]
		}
		return cmp.Compare(len(b.who), len(a.who))
	})
	return list
}

func (r *Resolver) group() *group {
	g := &group{answer: cmp.Or(phrase.Series(r.Values, maxNamed), r.Rcode), note: r.Error}
	switch r.Status {
	case Match:
		g.mark = view.Good
	case Mismatch, NXDomain, NoData:
		g.mark = view.Warning
	default:
		g.mark, g.answer = view.Unknown, cmp.Or(r.Rcode, "no response")
	}
	if g.mark != view.Unknown && len(r.Values) == 0 {
		g.answer = map[bool]string{true: "no such name", false: "no such record"}[r.Rcode == "NXDOMAIN"]
	}
	return g
}
