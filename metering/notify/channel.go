package notify

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Kind says what a channel speaks.
type Kind string

// The kinds.
const (
	Webhook  Kind = "webhook"  // the signed JSON of CONTRACT 7
	slack    Kind = "slack"    // an incoming webhook of Slack, or of what takes its messages
	teams    Kind = "teams"    // a workflow of Microsoft Teams that posts what a webhook receives
	telegram Kind = "telegram" // a bot's message to a chat
	email    Kind = "email"    // a message over the operator's submission server
)

// kinds returns all kinds.
func kinds() []Kind { return []Kind{Webhook, slack, teams, telegram, email} }

// ChannelState says whether a channel receives anything.
type ChannelState string

// The states of a channel.
const (
	channelActive   ChannelState = "active"
	ChannelDisabled ChannelState = "disabled"
)

// A Channel is where an account wants to be told of events, as it may be shown: it holds no secret.
type Channel struct {
	ID      string
	Account metering.AccountID
	Name    string
	Kind    Kind
	// Target is the URL of a webhook without the values of its query, the host of a Slack or Teams webhook, whose
	// path is a secret, the chat of Telegram or the mail address.
	Target string

	Categories []metering.EventCategory // empty for all
	State      ChannelState
	Reason     string // why it is disabled
	Signed     bool   // whether deliveries are signed
	// SignedTwiceUntil is when the secret before the last rotation ends to sign; zero where there is none.
	SignedTwiceUntil time.Time

	CreatedAt time.Time
}

// wants reports whether a channel is to be told of an event. Channels are told of what comes after them, and all
// are told of channels.
func (d *channelDoc) wants(e metering.Event) bool {
	return d.State == channelActive && !e.At.Before(d.Since) &&
		(len(d.Categories) == 0 || e.Type.Category() == metering.ChannelEvents ||
			slices.Contains(d.Categories, e.Type.Category()))
}

// channelKind is the kind of records that hold channels.
const channelKind = "channel"

// A channelDoc is a channel as it is stored, with its secrets. It is never printed or returned.
type channelDoc struct {
	Name          string                   `json:"name"`
	Kind          Kind                     `json:"kind"`
	Target        string                   `json:"target"`           // URL, chat or mail address
	Secret        string                   `json:"secret,omitempty"` // for signing, or the token of a bot
	Previous      string                   `json:"previous,omitempty"`
	PreviousUntil time.Time                `json:"previous_until,omitzero"`
	Categories    []metering.EventCategory `json:"categories,omitempty"`
	State         ChannelState             `json:"state"`
	Reason        string                   `json:"reason,omitempty"`
	CreatedAt     time.Time                `json:"created_at"`
	Since         time.Time                `json:"since"` // when it was last enabled: what is older is not told

	record metering.Record // from which it was read
}

func readChannel(r metering.Record) (*channelDoc, error) {
	d := &channelDoc{record: r}
	if err := json.Unmarshal(r.Body, d); err != nil {
		return nil, fmt.Errorf("reading channel %s: %w", r.ID, err)
	}
	return d, nil
}

// put is the record that replaces the one that the channel was read from.
func (d *channelDoc) put() (metering.Record, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return metering.Record{}, fmt.Errorf("writing channel %s: %w", d.record.ID, err)
	}
	r := d.record
	r.Body = body
	return r, nil
}

// disabledEvent tells the other channels of the account that this one ends.
func (d *channelDoc) disabledEvent(at time.Time) (metering.Record, error) {
	subject := fmt.Sprintf("%s/%d", d.record.ID, d.record.Version)
	return metering.Event{
		ID:   metering.EventID(metering.EventChannelDisabled, subject),
		Type: metering.EventChannelDisabled, Account: d.record.Account, At: at,
		Data: facts{Account: d.record.Account, ChannelID: d.record.ID, ChannelName: d.Name, Kind: d.Kind, Reason: d.Reason},
	}.Record()
}

// view is what may be shown at an instant.
func (d *channelDoc) view(now time.Time) Channel {
	c := Channel{
		ID: d.record.ID, Account: d.record.Account, Name: d.Name, Kind: d.Kind, Target: d.Target,
		Categories: slices.Clone(d.Categories), State: d.State, Reason: d.Reason,
		Signed: d.Kind == Webhook && d.Secret != "", CreatedAt: d.CreatedAt,
	}
	if d.Previous != "" && now.Before(d.PreviousUntil) {
		c.SignedTwiceUntil = d.PreviousUntil
	}
	if u, err := url.Parse(d.Target); err == nil && u.Host != "" {
		c.Target = shownURL(d.Kind, u)
	}
	return c
}

// shownURL leaves out of a URL what may be a secret.
func shownURL(k Kind, u *url.URL) string {
	if k != Webhook {
		return u.Scheme + "://" + u.Host + "/…"
	}
	shown := u.Scheme + "://" + u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		shown += "?…"
	}
	return shown
}

// secrets are those that sign at an instant, the newest first.
func (d *channelDoc) secrets(now time.Time) []Secret {
	var list []Secret
	texts := []string{d.Secret}
	if now.Before(d.PreviousUntil) {
		texts = append(texts, d.Previous)
	}
	for _, text := range texts {
		if s, err := ParseSecret(text); err == nil {
			list = append(list, s)
		}
	}
	return list
}

// clean takes secrets out of a text that a receiver or the network has written.
func (d *channelDoc) clean(text string) string {
	hidden := []string{d.Secret, d.Previous, strings.TrimPrefix(d.Secret, secretPrefix)}
	if d.Kind != email && d.Kind != telegram {
		hidden = append(hidden, d.Target)
		if u, err := url.Parse(d.Target); err == nil {
			hidden = append(hidden, u.RequestURI(), u.RawQuery)
		}
	}
	for _, secret := range hidden {
		if len(secret) > 1 { // "/" is none
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}
