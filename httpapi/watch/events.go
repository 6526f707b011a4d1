package watch

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering"
)

// data is the content of an event (CONTRACT 9). Fields that do not belong to its type are absent.
type data struct {
	Account metering.AccountID `json:"account"`
	Watch   string             `json:"watch_id"`
	Domain  string             `json:"domain"`
	URL     string             `json:"url,omitempty"`  // of the domain's page
	FixedBy string             `json:"mend,omitempty"` // who can fix it
	Mark    view.Mark          `json:"mark"`           // of the domain now

	*Change            // of records
	Label    string    `json:"label,omitempty"`    // what people call them
	Findings []fault   `json:"findings,omitempty"` // the gravest first
	Seen     time.Time `json:"first_seen_at,omitzero"`
	Flips    int       `json:"change_count,omitempty"` // if it flapped: changes since the last report

	Expiring  string    `json:"expiring,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Days      int       `json:"days_left,omitempty"`

	Reason Reason `json:"reason,omitempty"`
}

// A fault is a finding in an event.
type fault struct {
	Finding
	Title   string `json:"title"`
	FixedBy string `json:"mend"`
}

// A notice is an event of a run. The key distinguishes it from others of its type.
type notice struct {
	event metering.EventType
	key   string
	data  data
}

func (c *comparison) addEvent(t metering.EventType, key string, d data) {
	c.notices = append(c.notices, notice{t, key, d})
}

// addChangeEvent reports a change of records, and remembers the report.
func (c *comparison) addChangeEvent(p *suspicion, ch Change, first time.Time, flips int) {
	who := fixedByDNS
	if ch.Type == "DS" {
		who = fixedByRegistrar
	}
	p.Change = &ch
	c.addEvent(metering.EventDomainRecordChanged, ch.key(), data{Change: &ch, Label: ch.Label(), Seen: first, Flips: flips,
		FixedBy: c.fixedBy(who, "")})
}

// addFaultEvent reports a fault that is there or gone, together with the others of the run.
func (c *comparison) addFaultEvent(t metering.EventType, f Finding, flips int) {
	i := slices.IndexFunc(c.notices, func(n notice) bool { return n.event == t && len(n.data.Findings) > 0 })
	if i < 0 {
		i = len(c.notices)
		c.addEvent(t, "", data{Seen: f.Since})
	}
	d := &c.notices[i].data
	d.Flips = max(d.Flips, flips)
	d.Findings = append(d.Findings, fault{f, c.catalogue.title(f.Code), c.faultFixedBy(f)})
	slices.SortStableFunc(d.Findings, func(a, b fault) int { return cmp.Compare(b.Severity, a.Severity) })
	if t == metering.EventDomainWorsened {
		d.FixedBy = d.Findings[0].FixedBy
	}
}

// events returns the records of the notices of a run.
func (s *session) events(c *comparison) (list []metering.Record, err error) {
	page := ""
	if s.PublicURL != "" {
		page = strings.TrimSuffix(s.PublicURL, "/") + "/dashboard/domains/" + url.PathEscape(c.domain)
	}
	account, id := s.record.Account, s.record.ID
	for _, n := range c.notices {
		d := n.data
		d.Account, d.Watch, d.Domain, d.URL, d.Mark = account, id, c.domain, page, c.Mark
		r, err := metering.Event{
			ID:   metering.EventID(n.event, fmt.Sprintf("%s/%s/%d/%s", account, id, s.at.UnixMicro(), n.key)),
			Type: n.event, Account: account, At: s.at, Channels: s.doc.Channels, Data: d,
		}.Record()
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

const maxChange = 120 // characters

// text describes in a few words what has changed, the gravest of several; empty if nothing has.
func (c *comparison) text() string {
	for _, t := range []metering.EventType{
		metering.EventDomainUnreachable, metering.EventDomainWorsened, metering.EventDomainRecordChanged,
		metering.EventDomainRecovered, metering.EventDomainExpiresSoon,
	} {
		first, more := "", -1
		for _, n := range c.notices {
			if n.event == t {
				first = cmp.Or(first, c.abbreviate(n))
				more += max(1, len(n.data.Findings))
			}
		}
		if more < 0 {
			continue
		}
		rest := view.TextIf(more > 0, fmt.Sprintf(" and %d more", more))
		if runes := []rune(first); len(runes) > maxChange-len(rest) {
			first = string(runes[:maxChange-len(rest)-1]) + "…"
		}
		return first + rest
	}
	return ""
}

// abbreviate is an event in a few words.
func (c *comparison) abbreviate(n notice) string {
	d := n.data
	switch {
	case n.event == metering.EventDomainUnreachable:
		return map[Reason]string{NoDomain: "does not exist any more", Lapsed: "registration expired",
			Unreachable: "no name server answers"}[d.Reason]
	case n.event == metering.EventDomainWorsened:
		return "worse: " + d.Findings[0].Title
	case n.event == metering.EventDomainRecordChanged:
		return d.Label + view.TextIf(d.Name != c.domain && d.Begins == "", " of "+d.Name) + " changed"
	case n.event == metering.EventDomainExpiresSoon:
		return d.Expiring + " expires soon"
	case d.Reason != "":
		return "answers again"
	}
	return "fixed: " + d.Findings[0].Title
}
