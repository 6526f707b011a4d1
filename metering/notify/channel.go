package notify

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Kind is the protocol of a channel.
type Kind string

// The kinds.
const (
	Webhook  Kind = "webhook"  // the signed JSON of CONTRACT 7
	Slack    Kind = "slack"    // a Slack incoming webhook, or a compatible one
	Teams    Kind = "teams"    // a workflow of Microsoft Teams that posts the requests of a webhook
	Telegram Kind = "telegram" // a bot's message to a chat
	Email    Kind = "email"    // a message over the operator's submission server
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Webhook, Slack, Teams, Telegram, Email} }

// ChannelState is the state of a channel.
type ChannelState string

// The states of a channel.
const (
	ChannelActive      ChannelState = "active"
	ChannelUnconfirmed ChannelState = "unconfirmed" // of mail: its address has not confirmed yet
	ChannelDisabled    ChannelState = "disabled"
)

// A Channel is a destination for the events of an account, in its public form: it holds no secret.
type Channel struct {
	ID      string             `json:"id"`
	Account metering.AccountID `json:"account"`
	Name    string             `json:"name"`
	Kind    Kind               `json:"kind"`
	// Target is the URL of a webhook without the values of its query, the host of a Slack or Teams webhook, whose
	// path is a secret, the chat of Telegram or the mail address.
	Target string `json:"target"`

	Categories []metering.EventCategory `json:"categories"` // empty for all
	State      ChannelState             `json:"state"`
	Reason     string                   `json:"reason,omitempty"` // why it is disabled
	Signed     bool                     `json:"signed"`           // whether deliveries are signed
	// SignedTwiceUntil is when the secret before the last rotation stops signing; zero if only one secret signs.
	SignedTwiceUntil time.Time `json:"signed_twice_until,omitzero"`

	CreatedAt time.Time `json:"created_at"`
	// ConfirmUntil is the deadline for an address to confirm; zero if no confirmation is pending.
	ConfirmUntil time.Time `json:"confirm_until,omitzero"`
}

// receives reports whether an event is delivered to a channel. A channel receives events that occur after it was
// enabled, and all events about channels.
func (d *channelDoc) receives(e metering.Event) bool {
	if d.State != ChannelActive || e.At.Before(d.Since) {
		return false
	}
	if len(e.Channels) > 0 {
		return slices.Contains(e.Channels, d.record.ID)
	}
	return len(d.Categories) == 0 || e.Type.Category() == metering.ChannelEvents ||
		slices.Contains(d.Categories, e.Type.Category())
}

// channelKind is the kind of records that hold channels.
const channelKind = "channel"

// A channelDoc is the stored form of a channel, with its secrets. It is never printed or returned.
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
	Since         time.Time                `json:"since"` // when it was last enabled; older events are not delivered
	ConfirmUntil  time.Time                `json:"confirm_until,omitzero"`

	record metering.Record // from which it was read
}

func readChannel(r metering.Record) (*channelDoc, error) {
	d := &channelDoc{record: r}
	if err := json.Unmarshal(r.Body, d); err != nil {
		return nil, fmt.Errorf("reading channel %s: %w", r.ID, err)
	}
	return d, nil
}

// put returns the record that replaces the one that the channel was read from.
func (d *channelDoc) put() metering.Record {
	r := d.record
	r.Body = metering.RecordBody(d)
	return r
}

// disabledEvent notifies the other channels of the account that this one is disabled.
func (d *channelDoc) disabledEvent(at time.Time) (metering.Record, error) {
	subject := fmt.Sprintf("%s/%d", d.record.ID, d.record.Version)
	return metering.Event{
		ID:   metering.EventID(metering.EventChannelDisabled, subject),
		Type: metering.EventChannelDisabled, Account: d.record.Account, At: at,
		Data: facts{Account: d.record.Account, ChannelID: d.record.ID, ChannelName: d.Name, Kind: d.Kind, Reason: d.Reason},
	}.Record()
}

// view returns the public form of the channel at an instant.
func (d *channelDoc) view(now time.Time) Channel {
	c := Channel{
		ID: d.record.ID, Account: d.record.Account, Name: d.Name, Kind: d.Kind, Target: d.Target,
		Categories: append([]metering.EventCategory{}, d.Categories...), State: d.State, Reason: d.Reason,
		Signed: d.Kind == Webhook && d.Secret != "", CreatedAt: d.CreatedAt, ConfirmUntil: d.ConfirmUntil,
	}
	if d.Previous != "" && now.Before(d.PreviousUntil) {
		c.SignedTwiceUntil = d.PreviousUntil
	}
	if u, err := url.Parse(d.Target); err == nil && u.Host != "" {
		c.Target = displayURL(d.Kind, u)
	}
	return c
}

// displayURL returns a URL without the parts that may be secret.
func displayURL(k Kind, u *url.URL) string {
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

// redact removes secrets from a text of a receiver or the network.
func (d *channelDoc) redact(text string) string {
	hidden := []string{d.Secret, d.Previous, strings.TrimPrefix(d.Secret, secretPrefix)}
	if d.Kind != Email && d.Kind != Telegram {
		hidden = append(hidden, d.Target)
		if u, err := url.Parse(d.Target); err == nil {
			hidden = append(hidden, u.RequestURI(), u.RawQuery)
		}
	}
	for _, secret := range hidden {
		if len(secret) > 1 { // "/" is not a secret
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// maxTarget bounds the URL of a channel, in bytes. RFC 9110 section 4.1 recommends support of 8000, and many support
// 2048.
const maxTarget = 2048

// maxAddress bounds a mail address (RFC 5321 section 4.5.3.1.3, less the angle brackets).
const maxAddress = 254

// The forms of Telegram: a chat by number or by the name of a channel, and the token of a bot.
var (
	telegramChat  = regexp.MustCompile(`^(-?[0-9]{1,19}|@[A-Za-z][A-Za-z0-9_]{3,31})$`)
	telegramToken = regexp.MustCompile(`^[0-9]{5,20}:[A-Za-z0-9_-]{30,64}$`)
)

// checkTarget refuses a target that a kind cannot reach. No error repeats it: it may hold a secret.
func (c Channels) checkTarget(k Kind, target string) error {
	switch k {
	case Webhook, Slack, Teams:
		return c.checkURL(target)
	case Telegram:
		if !telegramChat.MatchString(target) {
			return &metering.FieldError{Field: "target", Reason: "must be the number of a chat, or @ and the name of a channel"}
		}
	case Email:
		if !isMailAddress(target) {
			return &metering.FieldError{Field: "target", Reason: "must be a mail address, without a name"}
		}
	default:
		return &metering.FieldError{Field: "kind", Reason: "must be webhook, slack, teams, telegram or email"}
	}
	return nil
}

func (c Channels) checkURL(target string) error {
	fault := func(reason string) error { return &metering.FieldError{Field: "target", Reason: reason} }
	u, err := url.Parse(target)
	switch {
	case err != nil || len(target) > maxTarget || !ascii(target):
		return fault("must be a URL in ASCII of at most " + strconv.Itoa(maxTarget) + " bytes")
	case u.Scheme != "https" && (u.Scheme != "http" || !c.AllowHTTP):
		return fault("must begin with https://")
	case u.User != nil:
		return fault("must not hold a user or password")
	case u.Hostname() == "" || u.Opaque != "":
		return fault("must name a host")
	case u.Fragment != "" || strings.HasSuffix(target, "#"):
		return fault("must not have a fragment")
	}
	port := map[string]uint16{"https": 443, "http": 80}[u.Scheme]
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return fault("must have a port of 1 to 65535")
		}
		port = uint16(n)
	}
	ports := c.Ports
	if ports == nil {
		ports = []uint16{80, 443, 8080, 8443}
	}
	if !slices.Contains(ports, port) {
		return fault("must not have port " + strconv.Itoa(int(port)) + ", which is not allowed (--allow-ports)")
	}
	return nil
}

// ascii reports whether a text is printable ASCII without blanks.
func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// The prefixes of ids. Each is followed by 26 characters of lower-case base32: 130 bits.
const (
	channelPrefix  = "chn_"
	deliveryPrefix = "dlv_"
	idLength       = 26
)

// newID returns a new unique id.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// derivedID returns the same id for the same parts, so that a duplicate is detected.
func derivedID(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return prefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:idLength]
}

// isMailAddress reports whether the text is a bare address that is safe in a header and in an SMTP command.
func isMailAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text && len(text) <= maxAddress && ascii(text)
}

// channelsOf returns the channels of an account, or of all accounts.
func channelsOf(ctx context.Context, store metering.Records, account metering.AccountID) ([]*channelDoc, error) {
	f := metering.RecordFilter{Kind: channelKind, Account: account}
	return metering.Collect(metering.ParseRecords(store.Records(ctx, f), readChannel))
}

func (c Channels) read(ctx context.Context, account metering.AccountID, id string) (*channelDoc, error) {
	r, err := c.Store.Record(ctx, account, channelKind, id)
	if err != nil {
		return nil, err
	}
	return readChannel(r)
}
