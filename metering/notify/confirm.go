package notify

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// Mail may reach people who have never heard of this server: an address receives only a single confirmation request
// until its reader confirms, and an opt-out holds until the reader confirms again (CONTRACT 7).
const (
	// confirmTime is how long a confirmation request is valid.
	confirmTime = 7 * 24 * time.Hour
	// mailboxKind is the kind of records that hold the state of addresses.
	mailboxKind = "mailbox"
)

// The limits of confirmation requests and tests within mailWindow, per account and, over all accounts, per address.
// They are counted in the store, so that neither a restart nor a second server raises them.
var (
	mailsOfAccount = int(budget.Of(budget.ChannelMails).Account)
	mailsToAddress = int(budget.Of(budget.ChannelMails).Person)
	mailWindow     = budget.Of(budget.ChannelMails).Window
)

// A mailbox is the state of an address within an account.
type mailbox struct {
	ConfirmedAt time.Time   `json:"confirmed_at,omitzero"`
	OptedOutAt  time.Time   `json:"opted_out_at,omitzero"` // a later confirmation clears it
	Sent        []time.Time `json:"sent,omitempty"`        // questions and tests within the last hour

	record metering.Record
}

// isConfirmed reports whether notifications may be sent.
func (m *mailbox) isConfirmed() bool { return !m.ConfirmedAt.IsZero() && m.OptedOutAt.IsZero() }

func (m *mailbox) put() metering.Record {
	r := m.record
	r.Body = metering.RecordBody(m)
	return r
}

// mailboxID is the same for an address in all accounts.
func mailboxID(address string) string { return derivedID("mbx_", strings.ToLower(address)) }

func readMailbox(r metering.Record) (*mailbox, error) {
	m := &mailbox{record: r}
	if err := json.Unmarshal(r.Body, m); err != nil {
		return nil, fmt.Errorf("reading mailbox %s: %w", r.ID, err)
	}
	return m, nil
}

// mailbox reads the state of an address within an account. An address without a state counts as confirmed if a channel
// that an earlier version created is active with it, or if a member has signed in by it.
func (c Channels) mailbox(ctx context.Context, account metering.AccountID, address string) (*mailbox, error) {
	r, err := c.Store.Record(ctx, account, mailboxKind, mailboxID(address))
	if err == nil {
		return readMailbox(r)
	}
	if !errors.Is(err, metering.ErrNotFound) {
		return nil, err
	}
	now := metering.Now(c.Clock)
	m := &mailbox{record: metering.Record{Account: account, Kind: mailboxKind, ID: mailboxID(address), At: now}}
	docs, err := channelsOf(ctx, c.Store, account)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if d.sendsMailTo(address) && d.State == ChannelActive {
			m.ConfirmedAt = now
		}
		if d.sendsMailTo(address) && d.Reason == unsubscribed {
			m.OptedOutAt = now
		}
	}
	signedIn, err := c.signedIn(ctx, account, address)
	if signedIn {
		m.ConfirmedAt = now
	}
	return m, err
}

// signedIn reports whether a member has signed in by an address, as far as the log goes back.
func (c Channels) signedIn(ctx context.Context, account metering.AccountID, address string) (bool, error) {
	acts, err := metering.Acts(ctx, c.Store, metering.ActFilter{Account: account})
	if err != nil {
		return false, err
	}
	for _, act := range acts {
		if act.What == "enter" && act.Error == "" && strings.EqualFold(act.Who, address) {
			return true, nil
		}
	}
	return false, nil
}

// sendsMailTo reports whether a channel sends mail to an address.
func (d *channelDoc) sendsMailTo(address string) bool {
	return d.Kind == Email && strings.EqualFold(d.Target, address)
}

// countMail notes one more question or test to an address, unless the account or the address has had enough.
func (c Channels) countMail(ctx context.Context, m *mailbox) error {
	now := metering.Now(c.Clock)
	var ofAccount, toAddress []time.Time
	for _, f := range []metering.RecordFilter{
		{Kind: mailboxKind, Account: m.record.Account}, {Kind: mailboxKind, ID: m.record.ID},
	} {
		for r, err := range c.Store.Records(ctx, f) {
			if err != nil {
				return err
			}
			other, err := readMailbox(r)
			if err != nil {
				return err
			}
			if f.ID == "" {
				ofAccount = append(ofAccount, recent(other.Sent, now)...)
			} else {
				toAddress = append(toAddress, recent(other.Sent, now)...)
			}
		}
	}
	if len(ofAccount) >= mailsOfAccount || len(toAddress) >= mailsToAddress {
		return &metering.FieldError{Field: "target", Reason: fmt.Sprintf("has had %d messages of this kind within an "+
			"hour, or the account has sent %d; wait an hour", mailsToAddress, mailsOfAccount)}
	}
	m.Sent = append(recent(m.Sent, now), now)
	return nil
}

// recent are the instants within the last hour.
func recent(list []time.Time, now time.Time) (kept []time.Time) {
	for _, at := range list {
		if now.Sub(at) < mailWindow {
			kept = append(kept, at)
		}
	}
	return kept
}

// admitMail activates a mail channel: immediately if its address has confirmed, otherwise after a confirmation
// request. It returns the records to store with the channel.
func (c Channels) admitMail(ctx context.Context, d *channelDoc) ([]metering.Record, error) {
	m, err := c.mailbox(ctx, d.record.Account, d.Target)
	if err != nil {
		return nil, err
	}
	at := metering.Now(c.Clock)
	if m.isConfirmed() {
		d.activate(at)
		return []metering.Record{m.put()}, nil
	}
	if err := c.countMail(ctx, m); err != nil {
		return nil, err
	}
	d.State, d.Reason, d.ConfirmUntil = ChannelUnconfirmed, "", at.Add(confirmTime)
	event, delivery, err := d.channelEvent(metering.EventChannelConfirm, at)
	return []metering.Record{m.put(), event, delivery.record(0)}, err
}

// activate enables a channel for events from an instant on.
func (d *channelDoc) activate(at time.Time) {
	if d.State != ChannelActive {
		d.State, d.Reason, d.Since, d.ConfirmUntil = ChannelActive, "", at, time.Time{}
	}
}

// channelEvent is an event for one channel alone, with its delivery.
func (d *channelDoc) channelEvent(t metering.EventType, at time.Time) (metering.Record, *Delivery, error) {
	id := d.record.ID
	event := metering.Event{
		ID: metering.EventID(t, newID(id+"/")), Type: t, Account: d.record.Account, At: at,
		Data: facts{Account: d.record.Account, ChannelID: id, ChannelName: d.Name, Kind: d.Kind},
	}
	record, err := event.Record()
	record.Due = time.Time{} // the delivery is made here
	return record, newDelivery(event, id, at), err
}

// confirmCode returns the code that confirms an address; empty unless the channel is unconfirmed.
func (d *channelDoc) confirmCode() string {
	if d.Secret == "" || d.State != ChannelUnconfirmed {
		return ""
	}
	return derivedID("", d.Secret, "confirm", d.ConfirmUntil.UTC().Format(time.RFC3339Nano))
}

// Confirm activates a mail channel by the code sent to its address, once and within seven days.
func (c Channels) Confirm(ctx context.Context, account metering.AccountID, id, code string) (Channel, error) {
	for range versionTries {
		d, err := c.read(ctx, account, id)
		if err != nil {
			return Channel{}, err
		}
		now, want := metering.Now(c.Clock), d.confirmCode()
		given := strings.ToLower(strings.TrimSpace(code))
		switch {
		case d.State != ChannelUnconfirmed:
			return Channel{}, &metering.FieldError{Field: "id", Reason: "is a channel that waits for no confirmation"}
		case !now.Before(d.ConfirmUntil):
			return Channel{}, &metering.FieldError{Field: "code", Reason: "is too old: enable the channel to have another sent"}
		case subtle.ConstantTimeCompare([]byte(want), []byte(given)) != 1:
			return Channel{}, &metering.FieldError{Field: "code", Reason: "is not the one that was sent last"}
		}
		m, err := c.mailbox(ctx, account, d.Target)
		if err != nil {
			return Channel{}, err
		}
		m.ConfirmedAt, m.OptedOutAt = now, time.Time{}
		d.activate(now)
		if err = c.Store.PutRecords(ctx, d.put(), m.put()); err == nil {
			return d.view(now), nil
		}
		if !errors.Is(err, metering.ErrVersion) {
			return Channel{}, fmt.Errorf("confirming channel %s: %w", id, err)
		}
	}
	return Channel{}, fmt.Errorf("confirming channel %s: %w", id, metering.ErrVersion)
}

// optOut disables all channels of an account that send mail to the address of one, until it confirms again.
func (c Channels) optOut(ctx context.Context, d *channelDoc) error {
	account := d.record.Account
	err := metering.Retry(func() error {
		m, err := c.mailbox(ctx, account, d.Target)
		if err != nil {
			return err
		}
		m.ConfirmedAt, m.OptedOutAt = time.Time{}, metering.Now(c.Clock)
		return c.Store.PutRecords(ctx, m.put())
	})
	if err != nil {
		return err
	}
	docs, err := channelsOf(ctx, c.Store, account)
	if err != nil {
		return err
	}
	for _, other := range docs {
		if other.sendsMailTo(d.Target) && other.State != ChannelDisabled {
			if _, err := c.Disable(ctx, account, other.record.ID, unsubscribed); err != nil {
				return err
			}
		}
	}
	return nil
}
