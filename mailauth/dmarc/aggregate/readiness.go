package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// Requirements for calling a domain ready: reports from too few days or receivers miss senders.
const (
	// readyDays is the month for which RFC 9989 section 7.4 asks a domain to monitor before it enforces a policy. A
	// sender that writes once a month is in it.
	readyDays = 30
	// readyReceivers is the minimum number of receivers that report: no receiver gets mail from all senders of a
	// domain.
	readyReceivers = 2
	// maxGapDays is the longest permitted gap without a report, as over a holiday: receivers send none about days
	// without mail. A longer gap may hide a sender.
	maxGapDays = 4
	// longestReport is the longest time that a report is believed to be about.
	longestReport = 366 * day

	day = 24 * time.Hour
)

// Readiness summarizes the reports about the domain's senders, and what prevents calling the domain ready: it is ready
// once they cover 30 consecutive days, and as many as the longest interval of a sender, are from two receivers, and
// show enough mail and hardly any that would be lost.
type Readiness struct {
	BeginAt    time.Time `json:"begin_at,omitzero" doc:"start of the newest time that the reports cover without a gap of more than 4 days"`
	EndAt      time.Time `json:"end_at,omitzero" doc:"end of that time"`
	Days       int       `json:"days" min:"0" doc:"its days"`
	DaysNeeded int       `json:"days_needed" min:"30" doc:"how many it should have: 30, or the longest interval of a sender"`
	Receivers  []string  `json:"receivers" maxitems:"20" doc:"the receivers that report about it; there should be two"`
	Senders    []Rhythm  `json:"senders" maxitems:"20" doc:"how often the legitimate senders write, the least frequent first"`
	NotBefore  time.Time `json:"not_before,omitzero" doc:"when reports can cover enough days at the earliest; absent where they do, or where newer reports are needed"`
	Because    []Blocker `json:"because" maxitems:"10" doc:"what keeps the reports from saying that the domain is ready"`
}

// A Rhythm is the frequency at which a sender writes.
type Rhythm struct {
	Sender       string `json:"sender" doc:"sending service, address or network"`
	Days         int    `json:"days" min:"1" doc:"days on which it wrote"`
	IntervalDays int    `json:"interval_days,omitempty" min:"1" doc:"its longest interval, in days; absent if it wrote on one day only"`
}

// A Blocker is a reason that a domain is not called ready.
type Blocker struct {
	Code BlockerCode `json:"code" doc:"permanent name of the reason"`
	Text string      `json:"text" doc:"the reason in a sentence"`
}

// A BlockerCode is the kind of a Blocker: mail_at_risk, senders_failing, days, receivers, outdated, messages,
// reverse_names, incomplete or lone_source.
type BlockerCode string

// The reasons. The first two concern mail that would be lost, so the domain is not ready; with the others that is
// unknown.
const (
	BlockedByRisk      BlockerCode = "mail_at_risk"
	BlockedBySenders   BlockerCode = "senders_failing"
	BlockedByDays      BlockerCode = "days"
	BlockedByReceivers BlockerCode = "receivers"
	BlockedByAge       BlockerCode = "outdated"
	BlockedByMessages  BlockerCode = "messages"
	BlockedByNames     BlockerCode = "reverse_names"
	BlockedByParts     BlockerCode = "incomplete"
	BlockedByLone      BlockerCode = "lone_source"
)

// Values lists the reasons.
func (BlockerCode) Values() []string {
	return kit.Values(BlockedByRisk, BlockedBySenders, BlockedByDays, BlockedByReceivers, BlockedByAge,
		BlockedByMessages, BlockedByNames, BlockedByParts, BlockedByLone)
}

// examineReadiness reports whether a domain is ready to enforce its policy, and why not; nil if the reports show too
// little.
func (e *evidence) examineReadiness(f *Enforcement) (ready *bool, r Readiness) {
	r = Readiness{Receivers: []string{}, Senders: e.rhythms(), Because: []Blocker{}, DaysNeeded: readyDays}
	e.findPeriod(&r)
	others := int64(0)
	for class, s := range e.classes {
		if class != Spoofing {
			others += s.messages
		}
	}
	small := f.MessageCountAtRisk*100 <= others*maxLostPercent && len(e.atRisk) <= maxBlocking &&
		(f.UnlistedCount+f.UnknownCount)*1000 <= others*maxUnknownPerMille
	block := func(is bool, code BlockerCode, format string, args ...any) {
		if is {
			r.Because = append(r.Because, Blocker{code, fmt.Sprintf(format, args...)})
		}
	}
	block(!small, BlockedByRisk, "%s not proven to be forged would be lost.",
		phrase.Capitalize(countMessages(f.MessageCountAtRisk)))
	block(len(e.failingServices) > 0 || e.ownFailed > 0, BlockedBySenders, "Mail of your own senders fails.")
	lost := len(r.Because) > 0
	block(r.Days < r.DaysNeeded, BlockedByDays, "%s", e.daysText(&r))
	block(len(r.Receivers) < readyReceivers, BlockedByReceivers,
		"%s: each receiver gets mail of some of your senders only.",
		cmp.Or(strings.Join(kit.Map(r.Receivers,
			func(name string) string { return "The only receiver that reports is " + name }), ""),
			"No report names its receiver"))
	block(!r.EndAt.IsZero() && e.began.Sub(r.EndAt) > maxAge, BlockedByAge, "The newest report ends on %s: senders may "+
		"have been added since.", formatDate(r.EndAt))
	passed := e.classes[Legitimate].pass
	block(passed < readyMessages, BlockedByMessages, "Only %s of legitimate senders passed, of %d that are needed to see "+
		"those that rarely write.", countMessages(passed), readyMessages)
	block(e.namesMatter, BlockedByNames, "Names of sources in reverse DNS could not be looked up.")
	block(e.incomplete(), BlockedByParts, "Parts of the reports could not be read.")
	block(e.loneSource() != "", BlockedByLone, "All mail that looks forged is from one source, %s, which may be your own.",
		e.loneSource())
	if again := r.BeginAt.Add(time.Duration(r.DaysNeeded) * day); r.Days < r.DaysNeeded && r.Days > 0 &&
		again.After(e.began) {
		r.NotBefore = again
	}
	switch {
	case lost:
		ready = new(false)
	case len(r.Because) == 0:
		ready = new(true)
	}
	return ready, r
}

// findPeriod finds the newest time that the reports cover without a gap, and who reports about it.
func (e *evidence) findPeriod(r *Readiness) {
	var about []*Report
	for _, report := range e.reports { // the oldest first
		begin, end := report.Metadata.BeginAt, report.Metadata.EndAt
		switch {
		case !e.hasCrediblePeriod(report):
			continue
		case begin.Sub(r.EndAt) > (maxGapDays+1)*day:
			r.BeginAt, r.EndAt, about = begin, end, nil
		case end.After(r.EndAt):
			r.EndAt = end
		}
		about = append(about, report)
	}
	r.Days = int((r.EndAt.Sub(r.BeginAt) + day/2) / day)
	if len(about) > 0 {
		r.Days = max(1, r.Days)
	}
	for _, report := range about {
		name := phrase.Quote(report.Metadata.Organization)
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if name != "" && report.Messages > 0 && len(r.Receivers) < maxListed && !slices.ContainsFunc(r.Receivers, same) {
			r.Receivers = append(r.Receivers, name)
		}
	}
	for _, s := range r.Senders {
		r.DaysNeeded = max(r.DaysNeeded, s.IntervalDays)
	}
	r.Senders = r.Senders[:min(len(r.Senders), maxListed)]
}

// hasCrediblePeriod reports whether the period of a report is credible.
func (e *evidence) hasCrediblePeriod(r *Report) bool {
	begin, end := r.Metadata.BeginAt, r.Metadata.EndAt
	return !begin.IsZero() && begin.Before(end) && end.Sub(begin) <= longestReport && !end.After(e.began.Add(clockSkew))
}

// rhythms returns how often the legitimate senders write, the least frequent first.
func (e *evidence) rhythms() []Rhythm {
	on := map[string]map[time.Time]bool{}
	for _, s := range e.topSources {
		if s.class != Legitimate || s.pass == 0 {
			continue
		}
		name := s.senderName()
		if on[name] == nil {
			on[name] = map[time.Time]bool{}
		}
		for i, n := range s.byReport {
			if r := e.allReports[i]; n > 0 && e.hasCrediblePeriod(r) { // most receivers count from midnight, wherever they are
				on[name][r.Metadata.BeginAt.Add(day/2).Truncate(day)] = true
			}
		}
	}
	list := []Rhythm{}
	for name, days := range on {
		r := Rhythm{Sender: name, Days: len(days)}
		sorted := slices.SortedFunc(maps.Keys(days), time.Time.Compare)
		for i := 1; i < len(sorted); i++ {
			r.IntervalDays = max(r.IntervalDays, int(sorted[i].Sub(sorted[i-1])/day))
		}
		if r.Days > 0 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Rhythm) int {
		return cmp.Or(cmp.Compare(a.Days, b.Days), cmp.Compare(b.IntervalDays, a.IntervalDays),
			strings.Compare(a.Sender, b.Sender))
	})
	return list
}

// senderName names the service that a source belongs to, or its network: a sender has several addresses.
func (s *source) senderName() string {
	switch {
	case s.service != nil:
		return s.service.Name
	case s.ip.IsValid():
		bits := 64
		if s.ip.Is4() {
			bits = 24
		}
		return netip.PrefixFrom(s.ip, bits).Masked().String()
	}
	return s.tally.name()
}

func (e *evidence) daysText(r *Readiness) string {
	if r.Days == 0 {
		return "No report says which days it is about."
	}
	text := fmt.Sprintf("The reports cover %s without a gap", phrase.Count(int64(r.Days), "day"))
	if r.DaysNeeded > readyDays {
		return text + fmt.Sprintf(", and there are senders that write every %d days only.", r.DaysNeeded)
	}
	text += fmt.Sprintf(" of %d that are needed: a sender that writes once a month may be missing.", r.DaysNeeded)
	once := slices.DeleteFunc(slices.Clone(r.Senders), func(s Rhythm) bool { return s.Days > 1 })
	if len(once) > 0 && len(once) < len(r.Senders) {
		names := phrase.Series(kit.Map(once, func(s Rhythm) string { return s.Sender }), 3)
		text += fmt.Sprintf(" On one day only wrote: %s.", names)
	}
	return text
}

func (r *Readiness) text() string {
	return strings.Join(kit.Map(r.Because, func(b Blocker) string { return b.Text }), " ")
}

// notBefore returns the earliest time at which reports can show enough; empty if that does not depend on time.
func (r *Readiness) notBefore() string {
	if r.NotBefore.IsZero() {
		return ""
	}
	return fmt.Sprintf(" Not before %s.", formatDate(r.NotBefore))
}

func formatDate(t time.Time) string { return t.UTC().Format(time.DateOnly) }
