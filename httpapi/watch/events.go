package watch

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// data is what an event tells (CONTRACT 9). Fields that do not belong to its type are absent.
type data struct {
	Account metering.AccountID `json:"account"`
	Watch   string             `json:"watch_id"`
	Domain  string             `json:"domain"`
	URL     string             `json:"url,omitempty"`  // of the domain's page
	Mend    string             `json:"mend,omitempty"` // who can

	Name  string     `json:"name,omitempty"` // of records
	Type  string     `json:"type,omitempty"`
	Label string     `json:"label,omitempty"` // what people call them
	Old   []string   `json:"old,omitzero"`
	New   []string   `json:"new,omitzero"`
	Seen  *time.Time `json:"first_seen_at,omitempty"`
	Flips int        `json:"change_count,omitempty"` // of what has flapped: how often since it was told last

	Mark     view.Mark `json:"mark,omitempty"`
	Findings []fault   `json:"findings,omitempty"`

	Expiring  string     `json:"expiring,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Days      int        `json:"days_left,omitempty"`

	Reason Reason `json:"reason,omitempty"`
}

// A fault is a finding in an event.
type fault struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Title    string        `json:"title"`
	Target   string        `json:"target,omitempty"`
	Mend     string        `json:"mend"`
}

// The bounds of an event, and of the events of a run.
const (
	maxEvents    = 64
	maxEventList = 20
)

// events are the records of what a run has to tell.
func (s *session) events(n *news) (list []metering.Record, err error) {
	add := func(t metering.EventType, subject string, d data) {
		d.Account, d.Watch, d.Domain, d.URL = s.record.Account, s.record.ID, s.doc.Domain, s.page()
		e := metering.Event{
			ID:   metering.EventID(t, fmt.Sprintf("%s/%s/%d/%s", s.record.Account, s.record.ID, s.at.UnixMicro(), subject)),
			Type: t, Account: s.record.Account, At: s.at, Channels: s.doc.Channels, Data: d,
		}
		r, wrong := e.Record()
		if err == nil {
			err = wrong
		}
		if len(list) < maxEvents {
			list = append(list, r)
		}
	}
	who := func(is bool, one string) string { // or else the registrar
		if is {
			return one
		}
		return byRegistrar
	}
	k := s.state
	if n.end != "" {
		add(metering.EventDomainUnreachable, "", data{Reason: n.end, Mark: view.Critical,
			Mend: k.mend(who(n.end == Unreachable, byDNS), s.doc.Domain, "")})
	}
	if n.back != "" {
		add(metering.EventDomainRecovered, "back", data{Reason: n.back, Mark: k.Mark})
	}
	for _, c := range n.changes {
		add(metering.EventDomainRecordChanged, c.key(), data{Name: c.Name, Type: c.Type, Label: c.Label(), Old: listed(c.Old),
			New: listed(c.New), Seen: &c.seen, Flips: c.flips, Mend: k.mend(who(c.Type != "DS", byDNS), s.doc.Domain, "")})
	}
	if faults := s.faults(n.worse); len(faults) > 0 {
		add(metering.EventDomainWorsened, "", data{Mark: k.Mark, Findings: faults, Mend: faults[0].Mend,
			Seen: &n.worse[0].Since, Flips: n.most(n.worse)})
	}
	if faults := s.faults(n.better); len(faults) > 0 {
		add(metering.EventDomainRecovered, "", data{Mark: k.Mark, Findings: faults, Flips: n.most(n.better)})
	}
	for _, e := range n.expire {
		add(metering.EventDomainExpiresSoon, e.What, data{Expiring: e.What, ExpiresAt: &e.At, Days: e.Told,
			Mend: k.mend(who(e.What == certificate, byWebHost), s.doc.Domain, "")})
	}
	return list, err
}

// page is where people see the domain.
func (w *session) page() string {
	if w.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(w.PublicURL, "/") + "/dashboard/domains/" + url.PathEscape(w.doc.Domain)
}

func listed(values []string) []string {
	return append([]string{}, values[:min(len(values), maxEventList)]...)
}

// faults are findings as an event tells them, the gravest first.
func (s *session) faults(findings []Finding) []fault {
	slices.SortStableFunc(findings, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	findings = findings[:min(len(findings), maxEventList)]
	return diag.Map(findings, func(f Finding) fault {
		return fault{f.Code, f.Severity, Title(f.Code), f.Target, s.state.mendFault(s.doc.Domain, f)}
	})
}

// most is how often what has flapped did, at most.
func (n *news) most(findings []Finding) (flips int) {
	for _, f := range findings {
		flips = max(flips, n.counts[f.Code])
	}
	return flips
}

// text says in a few words what has changed; nothing if nothing has.
func (n *news) text(domain string) string {
	switch {
	case n.end != "":
		return map[Reason]string{NoDomain: "does not exist any more", Lapsed: "registration expired",
			Unreachable: "no name server answers"}[n.end]
	case n.back != "":
		return "answers again"
	case len(n.worse) > 0:
		return shortened("worse: "+Title(n.worse[0].Code), len(n.worse))
	case len(n.changes) > 0:
		c := n.changes[0]
		what := c.Label()
		if c.Name != domain && c.Begins == "" {
			what += " of " + c.Name
		}
		return shortened(what+" changed", len(n.changes))
	case len(n.better) > 0:
		return shortened("fixed: "+Title(n.better[0].Code), len(n.better))
	case len(n.expire) > 0:
		return n.expire[0].What + " expires soon"
	}
	return ""
}

func shortened(text string, count int) string {
	more := ""
	if count > 1 {
		more = fmt.Sprintf(" and %d more", count-1)
	}
	if runes := []rune(text); len(runes) > maxChange-len(more) {
		text = string(runes[:maxChange-len(more)-1]) + "…"
	}
	return text + more
}

// titles are those of all rules, by code.
var titles = sync.OnceValue(func() map[diag.Code]string {
	list := map[diag.Code]string{}
	for _, ep := range httpapi.Endpoints() {
		for _, r := range ep.Rules() {
			list[r.Code] = r.Title
		}
	}
	return list
})

// Title says what a code of a finding means: the fault in a few words.
func Title(code diag.Code) string {
	if title := titles()[code]; title != "" {
		return title
	}
	return string(code)
}
