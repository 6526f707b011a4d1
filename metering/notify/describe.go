package notify

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A summary describes an event in words; each kind of channel formats it as a message.
type summary struct {
	Title  string // of the event, without a full stop
	Text   string // one or two sentences
	Facts  []fact // at most 9
	Action string // recommended action; empty if none is needed
}

type fact struct{ Name, Value string }

// The limits of texts from elsewhere, in characters. Titles are short enough for every service.
const (
	maxName   = 64
	maxDomain = 100
	maxError  = 300
)

// textsFile has a block for each type of event: the type with the facts that are shown, and a line each for title,
// text and action, which are templates.
//
//go:embed texts.txt
var textsFile string

// A wording is a block of texts.txt.
type wording struct {
	facts []string
	parts []*template.Template
}

var wordings = sync.OnceValue(func() map[metering.EventType]wording {
	all := map[metering.EventType]wording{}
	for block := range strings.SplitSeq(strings.TrimSpace(textsFile), "\n\n") {
		lines := strings.Split(block, "\n")
		event, names, _ := strings.Cut(lines[0], ": ")
		w := wording{facts: strings.Split(names, ", ")}
		for _, line := range lines[1:] {
			w.parts = append(w.parts, template.Must(template.New(event).Funcs(wordFuncs).Parse(line)))
		}
		all[metering.EventType(event)] = w
	}
	return all
})

// describe returns the summary of an event.
func describe(e metering.Event) (s summary, err error) {
	w, ok := wordings()[e.Type]
	if !ok {
		return s, fmt.Errorf("there is no text for events of type %q", e.Type)
	}
	f, err := factsOf(e)
	if err != nil {
		return s, err
	}
	texts := [3]strings.Builder{}
	for i, part := range w.parts {
		if err := part.Execute(&texts[i], f); err != nil {
			return s, err
		}
	}
	s = summary{Title: cut(texts[0].String(), maxSlackHeader), Text: texts[1].String(), Action: texts[2].String()}
	values := f.values()
	for _, name := range w.facts {
		if values[name] != "" {
			s.Facts = append(s.Facts, fact{name, values[name]})
		}
	}
	s.Facts = append(s.Facts, fact{"Account", string(e.Account)})
	return s, nil
}

// wordFuncs are the functions of the templates.
var wordFuncs = template.FuncMap{
	"moment": moment, "count": count, "number": number, "money": facts.money,
	"line":    func(text string) string { return line(text, maxError) },
	"key":     func(f facts) string { return cmp.Or(quoted(f.KeyName), string(f.KeyID), unknown) },
	"channel": func(f facts) string { return cmp.Or(quoted(f.ChannelName), f.ChannelID, unknown) },
	"domain": func(f facts) string {
		return line(cmp.Or(f.Domain, f.ProfileName, f.ProfileID, unknown), maxDomain)
	},
	"fault": func(f facts) string { // the first of a domain
		if len(f.Findings) == 0 {
			return unknown
		}
		return line(cmp.Or(f.Findings[0].Title, unknown), maxName)
	},
	"record": func(f facts) string {
		return line(cmp.Or(f.Label, f.Type), maxName) + " record of " + line(cmp.Or(f.Record, f.Domain, unknown), maxDomain)
	},
	"flips": func(f facts) string {
		if f.Flips == 0 {
			return ""
		}
		return " Since the last message, it has changed back and forth " + count(f.Flips, "time") + "."
	},
	"month": func(f facts) string { // of billing, such as "January 2026"
		if f.Period == nil {
			return "the month"
		}
		return f.Period.Start().Format("January 2006")
	},
}

// unknown replaces a name that the data lack.
const unknown = "unknown"

// values returns the facts by their displayed names. Empty ones are omitted.
func (f facts) values() map[string]string {
	values := map[string]string{
		"Key": string(f.KeyID), "Prefix": f.KeyPrefix, "Environment": string(f.Environment), "New key": string(f.NewKeyID),
		"New prefix": f.NewPrefix, "Reason": string(f.Revoked), "Plan": string(f.Plan),
		"Used":    number(f.Used) + " of " + number(f.Limit) + " credits",
		"Invoice": f.Invoice, "Total": f.money(f.Total), "Error": line(f.Error, maxError),
		"Profile": f.ProfileID, "Include host": f.IncludeHost, "Channel": f.ChannelID,
	}
	if f.WatchID != "" {
		f.aboutDomain(values)
	}
	if f.ExpiresAt != nil {
		values["Expires"] = moment(f.ExpiresAt)
	}
	if f.NextAttempt != nil {
		values["Next attempt"] = moment(f.NextAttempt)
	}
	if f.Overage > 0 {
		values["Overage"] = count(f.Overage, "credit") + ", " + f.money(f.Cost)
	}
	sums := map[string]int64{"Budget": f.Budget, "Tax": f.Tax, "Credited": f.Total - cmp.Or(f.Amount, f.Total)}
	for name, cents := range sums {
		if cents > 0 {
			values[name] = f.money(cents)
		}
	}
	return values
}

// aboutDomain adds the facts from package watch.
func (f facts) aboutDomain(values map[string]string) {
	const most, long = 5, 200 // values, and characters of each
	listed := func(list []string) string {
		var lines []string
		for _, v := range list[:min(len(list), most)] {
			lines = append(lines, line(v, long))
		}
		if more := len(list) - most; more > 0 {
			lines = append(lines, fmt.Sprintf("and %d more", more))
		}
		return strings.Join(lines, " | ")
	}
	var faults []string
	for _, one := range f.Findings {
		faults = append(faults, line(one.Title, maxName))
	}
	values["Who can fix it"], values["Details"] = line(f.FixedBy, maxError), line(f.URL, maxError)
	values["Faults"] = listed(faults)
	if f.FirstSeen != nil && f.Record != "" {
		values["Old"], values["New"] = cmp.Or(listed(f.Old), "none"), cmp.Or(listed(f.New), "none")
		values["First seen"] = moment(f.FirstSeen)
	}
}

// money formats an amount with two decimals. No plan has a currency with other minor units.
func (f facts) money(cents int64) string {
	return fmt.Sprintf("%s %s.%02d", cmp.Or(f.Currency, "EUR"), number(cents/100), cents%100)
}

// quoted returns a name chosen by a member in quotation marks, without any of its own; empty for an empty name.
func quoted(name string) string {
	if name = line(strings.ReplaceAll(name, `"`, "'"), maxName); name == "" {
		return ""
	}
	return `"` + name + `"`
}

// line returns a text from elsewhere as one line of at most so many characters.
func line(text string, most int) string { return cut(strings.Join(strings.Fields(text), " "), most) }

func moment(t *time.Time) string {
	if t == nil {
		return "an unknown date"
	}
	return t.UTC().Format("2 January 2006 at 15:04 UTC")
}

func count(n any, what string) string {
	if text := number(n); text != "1" {
		return text + " " + what + "s"
	}
	return "1 " + what
}

// number writes 1234567 as 1,234,567.
func number(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// facts is the data of an event, shared by all types since most have few fields. Webhooks receive it as data, and the
// texts are rendered from it. Billing events have their own data, with the same names as far as the texts need them.
type facts struct {
	Account metering.AccountID `json:"account"`

	KeyID       metering.KeyID         `json:"key_id,omitempty"`
	KeyName     string                 `json:"key_name,omitempty"`
	KeyPrefix   string                 `json:"key_prefix,omitempty"` // by which a person recognizes it
	Environment metering.Environment   `json:"environment,omitempty"`
	NewKeyID    metering.KeyID         `json:"new_key_id,omitempty"`
	NewPrefix   string                 `json:"new_key_prefix,omitempty"`
	GraceUntil  *time.Time             `json:"grace_until,omitempty"`
	ExpiresAt   *time.Time             `json:"expires_at,omitempty"`
	Revoked     metering.RevokedReason `json:"revoked_reason,omitempty"`
	PerMinute   int                    `json:"requests_per_minute,omitempty"`
	Endpoint    string                 `json:"endpoint,omitempty"`
	Deprecated  string                 `json:"deprecated,omitempty"` // a scope, or "operation"

	Period    *metering.Period `json:"period,omitempty"`
	Plan      metering.PlanID  `json:"plan,omitempty"`
	Percent   int              `json:"threshold_percent,omitempty"`
	Used      int64            `json:"used_credits,omitempty"`
	Limit     int64            `json:"limit_credits,omitempty"`
	Requested int64            `json:"requested_credits,omitempty"`
	Overage   int64            `json:"overage_credits,omitempty"`
	Cost      int64            `json:"overage_cents,omitempty"` // rounded half up, as on the invoice
	Budget    int64            `json:"budget_cents,omitempty"`
	Currency  string           `json:"currency,omitempty"`

	Invoice     string     `json:"invoice_number,omitempty"`
	Tax         int64      `json:"tax_cents,omitempty"`
	Total       int64      `json:"total_cents,omitempty"`  // with tax
	Amount      int64      `json:"amount_cents,omitempty"` // the total less credits
	Attempt     int        `json:"attempt,omitempty"`      // to charge the invoice
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`

	ProfileID   string `json:"profile_id,omitempty"`
	ProfileName string `json:"profile_name,omitempty"`
	Domain      string `json:"domain,omitempty"`
	IncludeHost string `json:"include_host,omitempty"`
	Resolution  string `json:"resolution_id,omitempty"`
	Added       int    `json:"added_networks,omitempty"` // of a change also where it is 0, see changeFacts
	Removed     int    `json:"removed_networks,omitempty"`
	Error       string `json:"error,omitempty"`

	ChannelID   string `json:"channel_id,omitempty"`
	ChannelName string `json:"channel_name,omitempty"`
	Kind        Kind   `json:"channel_kind,omitempty"`
	Reason      string `json:"reason,omitempty"`

	domainFacts
}

// domainFacts are the facts from package watch about a domain.
type domainFacts struct {
	WatchID   string        `json:"watch_id,omitempty"`
	URL       string        `json:"url,omitempty"`
	FixedBy   string        `json:"mend,omitempty"` // who can fix it
	Record    string        `json:"name,omitempty"`
	Type      string        `json:"type,omitempty"`
	Label     string        `json:"label,omitempty"`
	Old       []string      `json:"old,omitempty"`
	New       []string      `json:"new,omitempty"`
	FirstSeen *time.Time    `json:"first_seen_at,omitempty"`
	Flips     int           `json:"change_count,omitempty"` // of a flapping finding
	Findings  []domainFault `json:"findings,omitempty"`
	Expiring  string        `json:"expiring,omitempty"`
	DaysLeft  int           `json:"days_left,omitempty"`
}

// A domainFault is a finding of a domain.
type domainFault struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
}

// usageFacts is the data of events about use and budgets, in which 0 is not omitted.
type usageFacts struct {
	Account   metering.AccountID `json:"account"`
	Period    metering.Period    `json:"period"`
	Plan      metering.PlanID    `json:"plan"`
	Percent   int                `json:"threshold_percent,omitempty"`
	Used      int64              `json:"used_credits"`
	Limit     int64              `json:"limit_credits"`
	Requested int64              `json:"requested_credits,omitempty"`
	Overage   int64              `json:"overage_credits"`
	Cost      int64              `json:"overage_cents"`
	Budget    *int64             `json:"budget_cents,omitempty"`
	Currency  string             `json:"currency"`
}

// changeFacts is the data of a change of published records.
type changeFacts struct {
	facts
	Added   int `json:"added_networks"`
	Removed int `json:"removed_networks"`
}

// factsOf reads the data of an event that was stored.
func factsOf(e metering.Event) (f facts, err error) {
	raw, ok := e.Data.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(e.Data); err != nil {
			return f, fmt.Errorf("event %s: %w", e.ID, err)
		}
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return f, nil
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
