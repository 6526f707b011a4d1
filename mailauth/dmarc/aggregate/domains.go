package aggregate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
)

// maxDomains bounds the domains of a file that are judged, those with the most messages.
const maxDomains = 50

// An upload is a file of reports, which may be about several domains: each is judged by itself.
type upload struct {
	began   time.Time
	domains []*evidence // at least one, that with the most messages first
	leftOut counts[string]
	parts   []diag.ScopePart // the reports, and what may hold others
}

// Scope lists the reports, if there is more than one or a file that may hold another.
func (u *upload) Scope() []diag.ScopePart {
	if len(u.parts) < 2 {
		return nil
	}
	return u.parts
}

// scopePart names a report among others.
func scopePart(r *Report, state diag.ScopeState, reason string) diag.ScopePart {
	m := &r.Metadata
	about := view.Join(phrase.Quote(m.Organization), r.Policy.Domain, view.Period(m.BeginAt, m.EndAt),
		phrase.Quote(m.ReportID))
	return diag.ScopePart{Part: cmp.Or(about, phrase.Quote(r.Name), "a report without metadata"), State: state,
		Reason: reason}
}

// A DomainTotal sums up the reports about one of several domains.
type DomainTotal struct {
	Domain   string     `json:"domain" doc:"the domain, as policy_published of the newest report names it"`
	State    diag.State `json:"state" doc:"the outcome in a word"`
	Score    *int       `json:"score,omitempty" min:"0" max:"100" doc:"its score; absent where nothing can be scored"`
	Headline string     `json:"verdict_headline" maxlen:"70" doc:"the outcome in a plain sentence"`
	Policy   string     `json:"policy,omitempty" doc:"tag p of its DMARC record, by the newest report"`

	ReportCount int       `json:"report_count" min:"1" doc:"reports about it"`
	BeginAt     time.Time `json:"begin_at,omitzero" doc:"start of the time that they are about"`
	EndAt       time.Time `json:"end_at,omitzero" doc:"end of that time"`

	Totals            Totals      `json:"totals" doc:"sums over its records"`
	CompliancePercent *float64    `json:"compliance_percent,omitempty" min:"0" max:"100" doc:"share of its messages that passed DMARC"`
	Enforcement       Enforcement `json:"enforcement,omitzero" doc:"whom p=quarantine or p=reject would concern; absent without messages"`
}

// collect sums up the records. They are read a second time where a report is left out, where there are several domains,
// or where the data for alignment came after them or was guessed wrongly, and another time for the details of the
// largest sources if there are too many to keep all: so memory does not grow with the content of the records.
func collect(ctx context.Context, file []byte, began time.Time) (*upload, error) {
	c := newCollector(nil, maxSources)
	found, err := Read(file, untilDone(ctx, c.add))
	if other, ok := errors.AsType[*notReportError](err); ok {
		return &upload{began: began, domains: []*evidence{{began: began, notReport: other, sums: c}}}, nil
	}
	if err != nil {
		return nil, err
	}
	u := chooseReports(found, c.usedAlignments, began)
	guessed := map[int]alignment{}
	for _, e := range u.domains {
		maps.Copy(guessed, e.alignments)
	}
	maps.DeleteFunc(guessed, func(i int, _ alignment) bool { // reports without records needed no guess
		return found.Reports[i].Read == 0
	})
	if len(u.domains) == 1 && maps.Equal(guessed, c.usedAlignments) {
		c.alignments, u.domains[0].sums = u.domains[0].alignments, c
	} else {
		c = nil // before as much is read again
		by := map[int]*collector{}
		for _, e := range u.domains {
			e.sums = newCollector(e.alignments, maxSources/len(u.domains))
			for i := range e.alignments {
				by[i] = e.sums
			}
		}
		if _, err := Read(file, untilDone(ctx, dispatch(by, (*collector).add))); err != nil {
			return nil, err
		}
	}
	again := map[int]*collector{}
	for _, e := range u.domains {
		e.topSources = e.sums.largestSources()
		if e.sums.details == nil {
			e.sums.keepDetails(e.topSources)
			for i := range e.alignments {
				again[i] = e.sums
			}
		}
	}
	if len(again) > 0 {
		_, err = Read(file, untilDone(ctx, dispatch(again, (*collector).addDetails)))
	}
	for _, e := range u.domains {
		e.sums.alignment = e.alignments[e.newest]
	}
	return u, err
}

// dispatch passes each record to the collector of its report.
func dispatch(by map[int]*collector, take func(*collector, *Record) error) func(*Record) error {
	return func(r *Record) error {
		if c := by[r.Report]; c != nil {
			return take(c, r)
		}
		return nil
	}
}

// Unanswered reports an unanswered lookup of a name that might have identified a source.
func (u *upload) Unanswered() []rule.Source {
	for _, e := range u.domains {
		if e.namesMatter {
			return []rule.Source{reverseNames}
		}
	}
	return nil
}

// forEachDomain turns rules about one domain into rules about each domain: a rule passes if it does for each, and
// scores as the worst. A finding names the domain if there are several.
func forEachDomain(table rule.Rules[*evidence]) rule.Rules[*upload] {
	return kit.Map(table, func(r rule.Rule[*evidence]) rule.Rule[*upload] {
		applies := func(e *evidence) bool { return r.When == nil || r.When(e) }
		all := rule.Rule[*upload]{
			Code: r.Code, Severity: r.Severity, Weight: r.Weight, Category: r.Category, Title: r.Title,
			Requirement: r.Requirement, Ref: r.Ref, Advice: r.Advice, Optional: r.Optional, NoAction: r.NoAction,
			DependsOn: r.DependsOn, StateIfFailed: r.StateIfFailed,
			NoScore: r.NoScore, Reads: r.Reads, HoldsWhenUnanswered: r.HoldsWhenUnanswered, Fact: r.Fact, Differs: r.Differs,
			When: func(u *upload) bool { return slices.ContainsFunc(u.domains, applies) },
			Fails: func(u *upload) (all rule.Failures) {
				for _, e := range u.domains {
					if applies(e) {
						all = append(all, u.nameDomain(e, r.Fails(e))...)
					}
				}
				return all
			},
		}
		if r.Partly != nil {
			all.Partly = func(u *upload) float64 {
				least := 1.0
				for _, e := range u.domains {
					if applies(e) && len(r.Fails(e)) > 0 {
						least = min(least, r.Partly(e))
					}
				}
				return least
			}
		}
		return all
	})
}

// nameDomain adds the domain to findings about one of several.
func (u *upload) nameDomain(e *evidence, found rule.Failures) rule.Failures {
	if len(u.domains) == 1 {
		return found
	}
	for i := range found {
		f := &found[i]
		f.Target = cmp.Or(f.Target, e.domain())
		if !strings.Contains(f.Detail, e.domain()) {
			f.Detail = e.domain() + ": " + f.Detail
		}
	}
	return found
}

func (u *upload) analysis(ended time.Time) *Analysis {
	a := &Analysis{
		Verdict: rules().Judge(u, texts), Timing: diag.NewTiming(u.began, ended),
		Metadata: ReportMetadata{Errors: []string{}}, Services: []ServiceTotal{}, Sources: []Source{},
		Reports: []ReportTotal{},
	}
	first := u.domains[0]
	if first.report != nil {
		first.fillAnalysis(a)
	}
	for _, e := range u.domains {
		a.Partial = a.Partial || e.unnamedCount > 0
	}
	if len(u.domains) > 1 {
		for _, e := range u.domains {
			a.Domains = append(a.Domains, e.domainTotal())
		}
		u.joinDomains(a)
	}
	a.CompliancePercent = a.Totals.compliance()
	return a
}

func (e *evidence) domainTotal() DomainTotal {
	v := table().Judge(e, texts)
	t := DomainTotal{
		Domain: e.domain(), State: v.State, Score: v.Score, Headline: v.Headline, Policy: e.report.Policy.Policy,
		ReportCount: len(e.reports), Totals: e.sums.totals, CompliancePercent: e.sums.totals.compliance(),
		Enforcement: kit.OrZero(e.enforcement),
	}
	t.BeginAt, t.EndAt = e.span()
	return t
}

// span is the time that the reports are about.
func (e *evidence) span() (begin, end time.Time) {
	for _, r := range e.reports {
		m := &r.Metadata
		if begin.IsZero() || !m.BeginAt.IsZero() && m.BeginAt.Before(begin) {
			begin = m.BeginAt
		}
		if m.EndAt.After(end) {
			end = m.EndAt
		}
	}
	return begin, end
}

// joinDomains adds the totals of the other domains to the analysis of the first.
func (u *upload) joinDomains(a *Analysis) {
	services := map[string]int{}
	for i, s := range a.Services {
		services[s.Service] = i
	}
	for i := range a.Sources {
		a.Sources[i].Domain = a.Domains[0].Domain
	}
	for i, e := range u.domains[1:] {
		var other Analysis
		e.fillAnalysis(&other)
		a.Totals.add(&other.Totals)
		a.Totals.SourceCount += u.countUnseen(i + 1)
		for _, s := range other.Services {
			at, ok := services[s.Service]
			if !ok {
				services[s.Service] = len(a.Services)
				a.Services = append(a.Services, s)
				continue
			}
			sum := &a.Services[at]
			sum.MessageCount, sum.PassCount = sum.MessageCount+s.MessageCount, sum.PassCount+s.PassCount
			sum.SourceCount += s.SourceCount
		}
		for j := range other.Sources {
			other.Sources[j].Domain = a.Domains[i+1].Domain
		}
		a.Sources, a.Reports = append(a.Sources, other.Sources...), append(a.Reports, other.Reports...)
		a.SourcesTruncated = a.SourcesTruncated || other.SourcesTruncated
		a.RecordsCount += other.RecordsCount
		a.RecordsTruncated = a.RecordsTruncated || other.RecordsTruncated
		a.Enforcement.add(&other.Enforcement)
	}
	a.Enforcement.AffectedPercent = percent(a.Enforcement.AffectedCount, a.Totals.MessageCount)
	slices.SortStableFunc(a.Services, func(s, t ServiceTotal) int { return cmp.Compare(t.MessageCount, s.MessageCount) })
	slices.SortStableFunc(a.Sources, func(s, t Source) int { return cmp.Compare(t.MessageCount, s.MessageCount) })
	slices.SortStableFunc(a.Reports, func(r, s ReportTotal) int { return r.BeginAt.Compare(s.BeginAt) })
}

// countUnseen counts the sources of a domain that the domains before it have not.
func (u *upload) countUnseen(at int) (n int) {
	for t := range u.domains[at].sums.tallies.all() {
		if !slices.ContainsFunc(u.domains[:at], func(e *evidence) bool {
			_, seen := e.sums.find(&Record{SourceIP: t.ip, SourceText: kit.OrZero(t.text)})
			return seen
		}) {
			n++
		}
	}
	return n
}

func (t *Totals) add(o *Totals) {
	t.MessageCount += o.MessageCount
	t.PassCount, t.FailCount = t.PassCount+o.PassCount, t.FailCount+o.FailCount
	t.SPFAlignedCount, t.DKIMAlignedCount = t.SPFAlignedCount+o.SPFAlignedCount, t.DKIMAlignedCount+o.DKIMAlignedCount
	d, e := &t.Dispositions, &o.Dispositions
	d.None, d.Quarantine, d.Reject, d.Pass = d.None+e.None, d.Quarantine+e.Quarantine, d.Reject+e.Reject, d.Pass+e.Pass
}

// add merges the enforcement of two domains: both are ready if each is.
func (f *Enforcement) add(o *Enforcement) {
	if o.BlockingSources == nil { // without messages
		return
	}
	if f.BlockingSources == nil {
		*f = *o
		return
	}
	certain := func(ready *bool) int {
		return slices.Index([]string{"no", "", "yes"}, view.Known(ready, "yes", "no", ""))
	}
	if certain(o.Ready) < certain(f.Ready) {
		f.Ready, f.Readiness = o.Ready, o.Readiness
	}
	list := append(slices.Clip(f.BlockingSources), o.BlockingSources...)
	f.BlockingSources = list[:min(len(list), maxBlocking)]
	f.MessageCountAtRisk += o.MessageCountAtRisk
	f.AffectedCount += o.AffectedCount
	f.LegitimateCount, f.UnlistedCount = f.LegitimateCount+o.LegitimateCount, f.UnlistedCount+o.UnlistedCount
	f.ForwardingCount, f.UnknownCount = f.ForwardingCount+o.ForwardingCount, f.UnknownCount+o.UnknownCount
	f.SpoofingCount += o.SpoofingCount
}

// uploadRules are about the file as a whole.
var uploadRules = rule.Rules[*upload]{{
	Code: "dmarc.report.domains.mixed", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.5",
	Title: "Reports about more domains than are judged", Requirement: "The reports of all domains are judged",
	Advice: "Analyze the reports of the other domains separately.",
	When:   isUpload,
	Fails: func(u *upload) rule.Failures {
		return rule.FailIf(u.leftOut.total > 0, "The %d domains with the most messages are judged. Left out, with the "+
			"number of reports: %s.", maxDomains, listKeys(&u.leftOut))
	},
}, {
	Code: "dmarc.report.files.unread", Severity: diag.Warning, Ref: "RFC 9990 section 3.5.2",
	Title: "Files that cannot be opened: there may be reports in them", Requirement: "All files can be opened",
	Advice: "Save these files again, unpack them if they have a password, and analyze them together with the others.",
	When:   isUpload,
	Fails: func(u *upload) rule.Failures {
		unread, reports := u.domains[0].unread, 0
		for _, e := range u.domains {
			reports += len(e.reports)
		}
		return rule.FailIf(len(unread) > 0, "Besides %s the file holds %s, which could not be opened.",
			phrase.Count(int64(reports), "report"), phrase.Quote(strings.Join(unread[:min(len(unread), maxInSentence)], ", ")))
	},
}}

func isUpload(u *upload) bool { return u.domains[0].report != nil }
