package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// A ReportTotal is one of the reports that were judged together.
type ReportTotal struct {
	Organization string    `json:"organization,omitempty" doc:"the receiver that reports"`
	Domain       string    `json:"domain,omitempty" doc:"the domain that it is about"`
	ReportID     string    `json:"report_id,omitempty" doc:"its name for the report"`
	BeginAt      time.Time `json:"begin_at,omitzero" doc:"start of the time that the report is about"`
	EndAt        time.Time `json:"end_at,omitzero" doc:"end of that time"`
	MessageCount int64     `json:"message_count" min:"0" doc:"messages that it counts"`
}

// chooseReports picks the reports that are judged together: those about each domain, each of them once: receivers send
// a report again, and some give one ID to several, which then differ in time or numbers.
func chooseReports(found *File, usedAlignments map[int]alignment, began time.Time) *upload {
	all := found.Reports
	alignments := map[int]alignment{}
	var messages counts[string]
	type identity struct {
		organization, id, domain string
		begin, end               int64
	}
	seen := map[identity]int{}
	for i, r := range all {
		is := identity{strings.ToLower(r.Metadata.Organization), r.Metadata.ReportID, r.Policy.Domain,
			r.Metadata.BeginAt.Unix(), r.Metadata.EndAt.Unix()}
		switch before, again := seen[is]; {
		case !again || is.id == "":
		case r.Truncated:
			continue
		case all[before].Truncated:
			delete(alignments, before)
		case r.Records == all[before].Records && r.Messages == all[before].Messages:
			continue
		}
		seen[is] = i
		alignments[i] = alignmentOf(&r.Policy, usedAlignments[i])
	}
	for i, r := range all {
		if a, ok := alignments[i]; ok {
			messages.addLimited(maxReports, cmp.Or(a.organization, otherDomains), max(1, r.Messages))
		}
	}
	u := &upload{began: began}
	domains := map[string]*evidence{}
	for _, domain := range messages.names() {
		e := &evidence{began: began, allReports: all, unread: found.Unread, alignments: map[int]alignment{}}
		if domains[domain] = e; len(u.domains) < maxDomains {
			u.domains = append(u.domains, e)
		}
	}
	for i, r := range all {
		if _, ok := alignments[i]; !ok {
			u.parts = append(u.parts, scopePart(r, diag.LeftOut, "the same report is in the file twice"))
			continue
		}
		domain := alignments[i].organization
		e := domains[cmp.Or(domain, otherDomains)]
		if domain == "" { // it belongs to the others
			e = u.domains[0]
		}
		if e.alignments[i] = alignments[i]; slices.Contains(u.domains, e) {
			u.parts = append(u.parts, scopePart(r, diag.Examined, ""))
			continue
		}
		u.leftOut.add(domain, 1)
		u.parts = append(u.parts, scopePart(r, diag.LeftOut, fmt.Sprintf("more than %d domains", maxDomains)))
	}
	for _, name := range found.Unread {
		u.parts = append(u.parts, diag.ScopePart{Part: cmp.Or(phrase.Quote(name), "a file without a name"),
			State:  diag.LeftOut,
			Reason: "it could not be opened"})
	}
	u.domains = slices.DeleteFunc(u.domains, func(e *evidence) bool { return len(e.alignments) == 0 })
	for _, e := range u.domains {
		e.mergeReports(all, slices.Sorted(maps.Keys(e.alignments)))
	}
	return u
}

// mergeReports merges the reports that are judged into one: reporter and policy are those of the newest, all else is
// from all of them.
func (e *evidence) mergeReports(all []*Report, judged []int) {
	e.newest = judged[0]
	for _, i := range judged {
		e.reports = append(e.reports, all[i])
		if all[i].Metadata.EndAt.After(all[e.newest].Metadata.EndAt) {
			e.newest = i
		}
	}
	newest := all[e.newest]
	slices.SortStableFunc(e.reports, func(a, b *Report) int {
		return cmp.Or(a.Metadata.BeginAt.Compare(b.Metadata.BeginAt),
			strings.Compare(a.Metadata.Organization, b.Metadata.Organization))
	})
	if e.report = newest; len(judged) == 1 {
		return
	}
	merged := *newest
	merged.Records, merged.Read, merged.Messages, merged.Faults, merged.Metadata.Errors = 0, 0, 0, nil, nil
	for _, r := range e.reports {
		merged.Records, merged.Read, merged.Messages = merged.Records+r.Records, merged.Read+r.Read,
			merged.Messages+r.Messages
		merged.Truncated, merged.Excess = merged.Truncated || r.Truncated, merged.Excess || r.Excess
		merged.Metadata.Errors = append(merged.Metadata.Errors, r.Metadata.Errors...)
		for _, f := range r.Faults {
			i := slices.IndexFunc(merged.Faults, func(g Fault) bool { return g.Kind == f.Kind && g.Element == f.Element })
			if i >= 0 {
				merged.Faults[i].Count += f.Count
			} else {
				merged.Faults = append(merged.Faults, f)
			}
		}
	}
	merged.Metadata.Errors = merged.Metadata.Errors[:min(len(merged.Metadata.Errors), maxErrors)]
	e.report = &merged
}

func (e *evidence) reportTotals() []ReportTotal {
	return kit.Map(e.reports, func(r *Report) ReportTotal {
		return ReportTotal{r.Metadata.Organization, r.Policy.Domain, r.Metadata.ReportID, r.Metadata.BeginAt,
			r.Metadata.EndAt, r.Messages}
	})
}

// Thresholds for volume that follows that of the domain's own mail: fewer days, or volumes that hardly change, prove
// nothing.
const (
	minFollowedDays = 5
	minCorrelation  = 0.9 // coefficient of correlation
)

// markFollowers marks sources without passing mail whose volume correlates day by day with that of the passing mail: a
// server of the owner is idle on weekends as the others are.
func (e *evidence) markFollowers() {
	for _, s := range e.topSources {
		if _, _, known := e.sums.classifyByMessages(s.tally); known || len(e.reports) < minFollowedDays {
			continue
		}
		days := map[time.Time][2]float64{}
		for i, r := range e.allReports {
			day := r.Metadata.BeginAt.Truncate(24 * time.Hour)
			if _, judged := e.alignments[i]; judged && !day.IsZero() {
				sum := days[day]
				days[day] = [2]float64{sum[0] + float64(e.sums.passed[i]), sum[1] + float64(s.byReport[i])}
			}
		}
		if len(days) >= minFollowedDays && correlation(slices.Collect(maps.Values(days))) >= minCorrelation {
			s.traits |= traitSameDays
		}
	}
}

// correlation returns Pearson's coefficient, 0 where one side is constant.
func correlation(pairs [][2]float64) float64 {
	n, x, y, xx, yy, xy := float64(len(pairs)), 0.0, 0.0, 0.0, 0.0, 0.0
	for _, p := range pairs {
		x, y, xx, yy, xy = x+p[0], y+p[1], xx+p[0]*p[0], yy+p[1]*p[1], xy+p[0]*p[1]
	}
	spread := (n*xx - x*x) * (n*yy - y*y)
	if spread <= 0 {
		return 0
	}
	return (n*xy - x*y) / math.Sqrt(spread)
}
