package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// DefaultOverlap is how long both secrets sign deliveries after a rotation.
	DefaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
	// versionTries is how often a change is retried after a version conflict.
	versionTries = 8
)

// maxChannels bounds the channels of an account.
var maxChannels = int(budget.Of(budget.Channels).Account)

// Channels administers channels and their deliveries. It has no state. Only Store is required. Errors are
// *[metering.FieldError] for bad input, [metering.ErrNotFound], or the store's.
type Channels struct {
	Store metering.Store
	Plans metering.Prices  // nil means metering.DefaultPlans
	Clock func() time.Time // nil means time.Now
	// AllowHTTP allows http:// URLs, for laboratories: anyone on the path can then read and alter deliveries.
	AllowHTTP bool
	// Ports are those that a URL may name. Nil means 80, 443, 8080 and 8443, as for all of the web.
	Ports []uint16
}

// A ChannelRequest asks for a new channel.
type ChannelRequest struct {
	Account metering.AccountID
	Name    string // 1 to metering.MaxNameLength characters
	Kind    Kind
	Target  string // URL, chat or mail address
	// Secret signs deliveries to a webhook. Zero means a new one, unless Unsigned is set.
	Secret   Secret
	Unsigned bool

	Token      string                   // of the bot; required for Telegram, and for nothing else
	Categories []metering.EventCategory // empty for all
}

// Create creates a channel; one of mail begins when its address has confirmed, see [Channels.Confirm]. The secret that
// signs its deliveries is returned too, and can never be shown again; it is zero without signatures.
func (c Channels) Create(ctx context.Context, r ChannelRequest) (Channel, Secret, error) {
	doc, err := c.newDoc(r)
	if err != nil {
		return Channel{}, Secret{}, err
	}
	account, err := c.Store.Account(ctx, r.Account)
	if err != nil {
		return Channel{}, Secret{}, fmt.Errorf("creating a channel: %w", err)
	}
	doc.record = metering.Record{
		Account: r.Account, Kind: channelKind, ID: newID(channelPrefix), At: doc.CreatedAt,
	}
	err = metering.Retry(func() error { // another channel, or another question to the same address, may be first
		extra, err := c.admit(ctx, account, doc)
		if err != nil {
			return err
		}
		return c.Store.PutRecords(ctx, append(extra, doc.put())...)
	})
	if refused, ok := errors.AsType[*metering.FieldError](err); ok {
		return Channel{}, Secret{}, refused
	}
	if err != nil {
		return Channel{}, Secret{}, fmt.Errorf("creating a channel: %w", err)
	}
	var secret Secret
	if doc.Kind == Webhook {
		secret, _ = ParseSecret(doc.Secret)
	}
	return doc.view(doc.CreatedAt), secret, nil
}

// admit checks that an account may have one more channel, and returns the records to store with it.
func (c Channels) admit(ctx context.Context, account metering.Account, doc *channelDoc) ([]metering.Record, error) {
	turn, err := metering.CountGuard(ctx, c.Store, account.ID, channelKind)
	if err != nil {
		return nil, err
	}
	existing, err := c.List(ctx, account.ID)
	switch {
	case err != nil:
		return nil, err
	case len(existing) >= maxChannels:
		return nil, &metering.FieldError{
			Field: "account", Reason: "has " + strconv.Itoa(len(existing)) + " channels, which is the most"}
	}
	if err := c.markReported(ctx, account, existing); err != nil || doc.Kind != Email {
		return []metering.Record{turn}, err
	}
	doc.State = ChannelDisabled
	beside, err := c.admitMail(ctx, doc)
	return append(beside, turn), err
}

// newDoc checks a request.
func (c Channels) newDoc(r ChannelRequest) (*channelDoc, error) {
	if n := utf8.RuneCountInString(r.Name); !utf8.ValidString(r.Name) || n < 1 || n > metering.MaxNameLength ||
		hasControl(r.Name) {
		return nil, &metering.FieldError{Field: "name", Reason: "must have 1 to " +
			strconv.Itoa(metering.MaxNameLength) + " characters, and none that cannot be printed"}
	}
	if err := c.checkTarget(r.Kind, r.Target); err != nil {
		return nil, err
	}
	for _, category := range r.Categories {
		if !slices.Contains(Categories(), category) {
			return nil, &metering.FieldError{Field: "categories", Reason: "must be of usage, api_key, billing, spf and domain"}
		}
	}
	doc := &channelDoc{
		Name: r.Name, Kind: r.Kind, Target: r.Target, State: ChannelActive, CreatedAt: metering.Now(c.Clock),
		Categories: slices.Compact(slices.Sorted(slices.Values(r.Categories))),
	}
	doc.Since = doc.CreatedAt
	switch {
	case r.Kind == Telegram && !telegramToken.MatchString(r.Token):
		return nil, &metering.FieldError{Field: "token", Reason: "must be that of a bot, as BotFather gives it"}
	case r.Kind != Telegram && r.Token != "":
		return nil, &metering.FieldError{Field: "token", Reason: "is for telegram only"}
	case r.Kind != Webhook && (r.Unsigned || !r.Secret.IsZero()):
		return nil, &metering.FieldError{Field: "secret", Reason: "is for webhooks only"}
	case r.Unsigned && !r.Secret.IsZero():
		return nil, &metering.FieldError{Field: "secret", Reason: "is given, and there is to be none"}
	case r.Kind == Telegram:
		doc.Secret = r.Token
	case r.Kind == Email:
		doc.Secret = NewSecret().Reveal() // of links in its mail
	case r.Kind == Webhook && !r.Unsigned:
		if r.Secret.IsZero() {
			r.Secret = NewSecret()
		}
		doc.Secret = r.Secret.Reveal()
	}
	return doc, nil
}

func hasControl(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return true
		}
	}
	return false
}

// Categories returns the categories that a channel can subscribe to.
func Categories() []metering.EventCategory {
	return []metering.EventCategory{metering.UsageEvents, metering.KeyEvents, metering.BillingEvents,
		metering.SPFEvents, metering.DomainEvents}
}

// List lists the channels of an account by creation time and id.
func (c Channels) List(ctx context.Context, account metering.AccountID) ([]Channel, error) {
	docs, err := channelsOf(ctx, c.Store, account)
	list := []Channel{}
	for _, d := range docs {
		list = append(list, d.view(metering.Now(c.Clock)))
	}
	return list, err
}

// Channel returns one channel.
func (c Channels) Channel(ctx context.Context, account metering.AccountID, id string) (Channel, error) {
	d, err := c.read(ctx, account, id)
	if err != nil {
		return Channel{}, err
	}
	return d.view(metering.Now(c.Clock)), nil
}

// RotateSecret replaces the secret of a webhook by a new one, or by the one given. Both sign for the overlap, 0 to 30
// days; a receiver that checks the old one keeps working until then.
func (c Channels) RotateSecret(
	ctx context.Context, account metering.AccountID, id string, secret Secret, overlap time.Duration,
) (Channel, Secret, error) {
	if overlap < 0 || overlap > maxOverlap {
		return Channel{}, Secret{}, &metering.FieldError{Field: "overlap", Reason: "must be 0 to 30 days"}
	}
	if secret.IsZero() {
		secret = NewSecret()
	}
	channel, err := c.change(ctx, account, id, func(d *channelDoc) error {
		if d.Kind != Webhook {
			return &metering.FieldError{Field: "id", Reason: "is a channel of " + string(d.Kind) + ", which signs nothing"}
		}
		d.Previous, d.PreviousUntil = "", time.Time{}
		if overlap > 0 && d.Secret != "" {
			d.Previous, d.PreviousUntil = d.Secret, metering.Now(c.Clock).Add(overlap)
		}
		d.Secret = secret.Reveal()
		return nil
	})
	return channel, secret, err
}

// Disable stops deliveries to a channel and notifies the other channels of the account. Queued deliveries fail.
func (c Channels) Disable(ctx context.Context, account metering.AccountID, id, reason string) (Channel, error) {
	return c.change(ctx, account, id, func(d *channelDoc) error {
		d.State, d.Reason, d.ConfirmUntil = ChannelDisabled, reason, time.Time{}
		return nil
	})
}

// Enable resumes deliveries to a channel, for events from then on. A mail channel first requests confirmation if its
// address has not confirmed or has opted out since.
func (c Channels) Enable(ctx context.Context, account metering.AccountID, id string) (Channel, error) {
	owner, err := c.Store.Account(ctx, account)
	if err != nil {
		return Channel{}, fmt.Errorf("enabling a channel: %w", err)
	}
	existing, err := c.List(ctx, account)
	if err == nil {
		err = c.markReported(ctx, owner, existing)
	}
	if err != nil {
		return Channel{}, err
	}
	return c.changeWithEvent(ctx, account, id, func(d *channelDoc) ([]metering.Record, error) {
		if d.Kind == Email && d.State != ChannelActive {
			return c.admitMail(ctx, d)
		}
		d.activate(metering.Now(c.Clock))
		return nil, nil
	})
}

// change modifies a channel, and retries after a version conflict.
func (c Channels) change(
	ctx context.Context, account metering.AccountID, id string, alter func(*channelDoc) error,
) (Channel, error) {
	return c.changeWithEvent(ctx, account, id, func(d *channelDoc) ([]metering.Record, error) { return nil, alter(d) })
}

// changeWithEvent is change where other records are stored with the channel.
func (c Channels) changeWithEvent(
	ctx context.Context, account metering.AccountID, id string, alter func(*channelDoc) ([]metering.Record, error),
) (Channel, error) {
	for range versionTries {
		d, err := c.read(ctx, account, id)
		if err != nil {
			return Channel{}, err
		}
		before := d.State
		extra, err := alter(d)
		if err != nil {
			return Channel{}, err
		}
		if err = c.store(ctx, d, before, extra); err == nil {
			return d.view(metering.Now(c.Clock)), nil
		}
		if !errors.Is(err, metering.ErrVersion) {
			return Channel{}, fmt.Errorf("changing channel %s: %w", id, err)
		}
	}
	return Channel{}, fmt.Errorf("changing channel %s: %w", id, metering.ErrVersion)
}

// store replaces the record that a channel was read from, and adds the event if it was disabled.
func (c Channels) store(ctx context.Context, d *channelDoc, before ChannelState, beside []metering.Record) error {
	records := append(beside, d.put())
	if before == ChannelActive && d.State == ChannelDisabled {
		if d.Kind == Email {
			m, err := c.mailbox(ctx, d.record.Account, d.Target) // that it has confirmed is known from now on
			if err != nil {
				return err
			}
			records = append(records, m.put())
		}
		event, err := d.disabledEvent(metering.Now(c.Clock))
		if err != nil {
			return err
		}
		records = append(records, event)
	}
	return c.Store.PutRecords(ctx, records...)
}

// Remove removes a channel. Its deliveries stay until they are tidied away; those that wait for an attempt fail.
func (c Channels) Remove(ctx context.Context, account metering.AccountID, id string) error {
	for range versionTries {
		d, err := c.read(ctx, account, id)
		if err != nil {
			return err
		}
		r := d.record
		r.Body = nil
		if err := c.Store.PutRecords(ctx, r); !errors.Is(err, metering.ErrVersion) {
			return err
		}
	}
	return fmt.Errorf("removing channel %s: %w", id, metering.ErrVersion)
}
