package notify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// facts is the data of an event: of all types in one, since most have few and share them. It is what receivers of
// webhooks read as data, and what the texts are written from. Events of billing have data of their own, with the
// same names as far as the texts need them.
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
	Amount      int64      `json:"amount_cents,omitempty"` // the total without what was credited
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

// domainFacts is what package watch tells of a domain.
type domainFacts struct {
	WatchID   string        `json:"watch_id,omitempty"`
	URL       string        `json:"url,omitempty"`
	Mend      string        `json:"mend,omitempty"` // who can
	Record    string        `json:"name,omitempty"`
	Type      string        `json:"type,omitempty"`
	Label     string        `json:"label,omitempty"`
	Old       []string      `json:"old,omitempty"`
	New       []string      `json:"new,omitempty"`
	FirstSeen *time.Time    `json:"first_seen_at,omitempty"`
	Flips     int           `json:"change_count,omitempty"` // of what comes and goes
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

// usageFacts is the data of events about use and budgets, of which 0 is told, too.
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
