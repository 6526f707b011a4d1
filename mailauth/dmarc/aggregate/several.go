package aggregate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A ReportTotal is one of the reports that were judged together.
type ReportTotal struct {
	Organization string    `json:"organization,omitempty" doc:"the receiver that reports"`
	ReportID     string    `json:"report_id,omitempty" doc:"its name for the report"`
	BeginAt      time.Time `json:"begin_at,omitzero" doc:"start of the time that the report is about"`
	EndAt        time.Time `json:"end_at,omitzero" doc:"end of that time"`
	MessageCount int64     `json:"message_count" min:"0" doc:"messages that it counts"`
}

// choose picks the reports that are judged together: those about the domain with the most messages, each of them once:
// receivers send a report again, and some give one ID to several, which then differ in time or numbers.
// It returns what the alignment of their records depends on, by number.
func (e *evidence) choose(all []*Report, used map[int]alignment) map[int]alignment {
	given := map[int]alignment{}
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
			delete(given, before)
		case r.Records == all[before].Records && r.Messages == all[before].Messages:
			continue
		}
		seen[is] = i
		given[i] = alignmentOf(&r.Policy, used[i])
	}
	for i, r := range all {
		if a, ok := given[i]; ok {
			messages.addUpTo(maxReports, cmp.Or(a.organization, otherDomains), max(1, r.Messages))
		}
	}
	domain := messages.sorted()[0].what
	for i, a := range given {
		if a.organization != "" && a.organization != domain {
			e.otherDomains.add(a.organization, 1)
			delete(given, i)
		}
	}
	e.merge(all, slices.Sorted(maps.Keys(given)))
	return given
}

// merge makes one report of those that are judged, so that they are judged as one: who reports and the policy are
// those of the newest, all else is that of all.
func (e *evidence) merge(all []*Report, judged []int) {
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
	one := *newest
	one.Records, one.Read, one.Messages, one.Faults, one.Metadata.Errors = 0, 0, 0, nil, nil
	for _, r := range e.reports {
		one.Records, one.Read, one.Messages = one.Records+r.Records, one.Read+r.Read, one.Messages+r.Messages
		one.Truncated, one.Excess = one.Truncated || r.Truncated, one.Excess || r.Excess
		one.Metadata.Errors = append(one.Metadata.Errors, r.Metadata.Errors...)
		for _, f := range r.Faults {
			i := slices.IndexFunc(one.Faults, func(g Fault) bool { return g.Kind == f.Kind && g.Element == f.Element })
			if i >= 0 {
				one.Faults[i].Count += f.Count
			} else {
				one.Faults = append(one.Faults, f)
			}
		}
	}
	one.Metadata.Errors = one.Metadata.Errors[:min(len(one.Metadata.Errors), maxErrors)]
	e.report = &one
}

func (e *evidence) listed() []ReportTotal {
	return diag.Map(e.reports, func(r *Report) ReportTotal {
		return ReportTotal{r.Metadata.Organization, r.Metadata.ReportID, r.Metadata.BeginAt, r.Metadata.EndAt, r.Messages}
	})
}

// What volume that follows that of the domain's own mail takes: from fewer days, or where both hardly change, nothing
// can be told.
const (
	followedDays = 5
	followedBy   = 0.9 // coefficient of correlation
)

// follow marks sources of which nothing passes whose volume goes with that of the mail that passes, day by day: a
// server of the owner rests on weekends as the others do.
func (e *evidence) follow() {
	for _, s := range e.top {
		if _, _, known := e.sums.known(s.tally); known || len(e.reports) < followedDays {
			continue
		}
		days := map[time.Time][2]float64{}
		for i, r := range e.numbered {
			day := r.Metadata.BeginAt.Truncate(24 * time.Hour)
			if _, judged := e.given[i]; judged && !day.IsZero() {
				sum := days[day]
				days[day] = [2]float64{sum[0] + float64(e.sums.passed[i]), sum[1] + float64(s.byReport[i])}
			}
		}
		if len(days) >= followedDays && correlation(slices.Collect(maps.Values(days))) >= followedBy {
			s.seen |= sawFollowing
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

var severalRules = diag.Rules[*evidence]{{
	Code: "dmarc.report.domains.mixed", Severity: diag.Warning, Ref: "RFC 9990 section 3.1.1.5",
	Title: "Reports about several domains: only one domain is judged", Requirement: "All reports are about one domain",
	Advice: "Analyze the reports of each domain in a file of their own.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.otherDomains.total > 0, "%s about %s. Left out, with the number of reports: %s.",
			diag.Count(int64(len(e.reports)), "report"), e.domain(), listed(&e.otherDomains))
	},
}, {
	Code: "dmarc.report.files.unread", Severity: diag.Warning, Ref: "RFC 9990 section 3.5.2",
	Title: "Files that cannot be opened: there may be reports in them", Requirement: "All files can be opened",
	Advice: "Save these files again, unpack them if they have a password, and analyze them together with the others.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.unread) > 0, "Besides %s the file holds %s, which could not be opened.",
			diag.Count(int64(len(e.reports)), "report"),
			diag.Quote(strings.Join(e.unread[:min(len(e.unread), maxInSentence)], ", ")))
	},
}}
