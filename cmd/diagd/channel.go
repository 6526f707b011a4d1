package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/cobra"
)

type channelView struct {
	notify.Channel
	Secret string `json:"secret,omitempty"` // shown once
}

type channelCommands struct{ *app }

func (a *app) channelCommand() *cobra.Command {
	c := channelCommands{a}
	return a.newGroup("channel", "Administer notification channels", c.create(), c.list(), c.rotate(), c.remove(),
		c.deliveries(), c.stateCommand("disable ID", "Stop sending to a channel", disableChannel),
		c.stateCommand("enable ID", "Resume sending to a disabled channel", notify.Channels.Enable),
		c.test(), c.replay(), c.confirm())
}

func (c channelCommands) newCommand(
	use, short, takes string, run func(context.Context, notify.Channels, metering.AccountID, []string) error,
) *cobra.Command {
	const hint = "diagd channel list and diagd channel deliveries show the ids"
	return c.newAccountCommand(use, short, takes, hint,
		func(ctx context.Context, admin metering.Admin, account metering.AccountID, args []string) error {
			return run(ctx, notify.Channels{Store: admin.Store, Plans: admin.Plans}, account, args)
		})
}

func (c channelCommands) create() *cobra.Command {
	r := notify.ChannelRequest{Kind: notify.Webhook}
	var kind, secretFile, tokenFile string
	var categories []string
	var allowHTTP bool
	create := c.newCommand("create", "Create a channel and show its signing secret once", "",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, _ []string) (err error) {
			r.Account, r.Kind = account, notify.Kind(kind)
			r.Categories = kit.Map(categories, func(text string) metering.EventCategory { return metering.EventCategory(text) })
			if r.Target == "-" {
				if r.Target, err = readSecretLine("-"); err != nil {
					return usagef("--target: %w", err)
				}
			}
			if err := readSecrets(&r, secretFile, tokenFile); err != nil {
				return err
			}
			channels.AllowHTTP = allowHTTP
			channels.Ports = c.webPorts()
			return c.show(channels.Create(ctx, r))
		})
	create.Long = `Create a channel. Events that occur from then on are sent to it.

  --kind webhook   --target URL      signed JSON (Standard Webhooks)
  --kind slack     --target URL      a Slack incoming webhook
  --kind teams     --target URL      a Microsoft Teams workflow that receives webhooks
  --kind telegram  --target CHAT     chat ID or @channel; --token-file holds the token of the bot
  --kind email     --target ADDRESS  the server needs --mail-server

The URLs of Slack and Teams are secrets: use --target - to read one from standard input.`
	flags := create.Flags()
	flags.StringVar(&r.Name, "name", "", "name of the channel, 1 to 64 characters")
	flags.StringVar(&kind, "kind", string(notify.Webhook), "webhook, slack, teams, telegram or email")
	flags.StringVar(&r.Target, "target", "", "URL, chat or mail address; - reads it from standard input")
	flags.StringSliceVar(&categories, "categories", nil,
		"events to notify of: usage, api_key, billing, spf, domain (default: all)")
	flags.StringVar(&secretFile, "secret-file", "",
		"file with the secret to sign with, whsec_ and base64 of 24 to 64 bytes; - is standard input (default: a new one)")
	flags.StringVar(&tokenFile, "token-file", "", "file with the token of a Telegram bot; - is standard input")
	flags.BoolVar(&r.Unsigned, "unsigned", false, "sign nothing")
	flags.BoolVar(&allowHTTP, "allow-http", false, "allow URLs with http://, for tests")
	flags.UintSliceVar(&c.world.AllowPorts, "allow-ports", nil,
		"ports that the URL may name in addition to 80, 443, 8080 and 8443")
	return create
}

// webPorts are those that URLs of channels may name.
func (a *app) webPorts() []uint16 {
	return slices.Concat(diag.WebPorts, kit.Map(a.world.AllowPorts, func(p uint) uint16 { return uint16(min(p, 65535)) }))
}

// readSecrets reads the files with the secrets that must not be on a command line, which other users of the host see.
func readSecrets(r *notify.ChannelRequest, secretFile, tokenFile string) error {
	if secretFile != "" {
		text, err := readSecretLine(secretFile)
		if err == nil {
			r.Secret, err = notify.ParseSecret(text)
		}
		if err != nil {
			return usagef("--secret-file: %w", err)
		}
	}
	if tokenFile != "" {
		var err error
		if r.Token, err = readSecretLine(tokenFile); err != nil {
			return usagef("--token-file: %w", err)
		}
	}
	return nil
}

// maxSecretLine is more than the longest secret or URL has.
const maxSecretLine = 4 << 10

// readSecretLine reads the first line of a file, or of standard input.
func readSecretLine(path string) (string, error) {
	file := os.Stdin
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return "", err
		}
		defer file.Close()
	}
	line, err := bufio.NewReader(io.LimitReader(file, maxSecretLine)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// show prints one channel, with its secret where that is new.
func (c channelCommands) show(channel notify.Channel, secret notify.Secret, err error) error {
	if err != nil {
		return err
	}
	v := channelView{channel, secret.Reveal()}
	return c.print(v, func(t *table) {
		t.row("id", v.ID)
		t.row("name", v.Name)
		t.row("kind", v.Kind)
		t.row("target", v.Target)
		t.row("state", channelState(v.Channel))
		if !v.SignedTwiceUntil.IsZero() {
			t.row("old secret signs until", formatTime(&v.SignedTwiceUntil))
		}
		if v.Secret != "" {
			t.row("secret", v.Secret)
			t.row("", "The secret cannot be shown again.")
		}
	})
}

func channelState(v notify.Channel) string {
	if v.Reason != "" {
		return string(v.State) + " (" + v.Reason + ")"
	}
	return string(v.State)
}

func (c channelCommands) list() *cobra.Command {
	return c.newCommand("list", "List the channels of an account", "",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, _ []string) error {
			list, err := channels.List(ctx, account)
			return printList(c.app, list, err, "ID, NAME, KIND, TARGET, CATEGORIES, STATE, CREATED",
				func(v notify.Channel) []any {
					categories := cmp.Or(joinWords(v.Categories), "all")
					return []any{v.ID, v.Name, v.Kind, v.Target, categories, channelState(v), formatTime(&v.CreatedAt)}
				})
		})
}

func (c channelCommands) rotate() *cobra.Command {
	var overlap time.Duration
	var secretFile string
	rotate := c.newCommand("rotate ID", "Replace the secret of a webhook; the old one also signs for a while",
		"the id of a channel",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			var r notify.ChannelRequest
			if err := readSecrets(&r, secretFile, ""); err != nil {
				return err
			}
			return c.show(channels.RotateSecret(ctx, account, args[0], r.Secret, overlap))
		})
	rotate.Flags().DurationVar(&overlap, "overlap", notify.DefaultOverlap, "how long the old secret also signs, 0 to 720h")
	rotate.Flags().StringVar(&secretFile, "secret-file", "",
		"file with the new secret; - is standard input (default: a new one)")
	return rotate
}

func disableChannel(
	c notify.Channels, ctx context.Context, account metering.AccountID, id string,
) (notify.Channel, error) {
	return c.Disable(ctx, account, id, "disabled by the operator")
}

func (c channelCommands) stateCommand(
	use, short string,
	alter func(notify.Channels, context.Context, metering.AccountID, string) (notify.Channel, error),
) *cobra.Command {
	return c.newCommand(use, short, "the id of a channel",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			channel, err := alter(channels, ctx, account, args[0])
			return c.show(channel, notify.Secret{}, err)
		})
}

// confirm confirms an address by the code that was sent to it.
func (c channelCommands) confirm() *cobra.Command {
	cmd := c.newCommand("confirm ID CODE", "Confirm an e-mail channel by the code sent to its address",
		"the id of a channel, and a code",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			channel, err := channels.Confirm(ctx, account, args[0], args[1])
			return c.show(channel, notify.Secret{}, err)
		})
	cmd.Long = `Confirm an e-mail channel by the code sent to its address.

An address receives nothing until its owner has confirmed within seven days: by the link in the confirmation message, or
by a code if the server has no --public-url. diagd channel enable sends another message.`
	return cmd
}

// replay sends the event of one delivery again, or with --since all that did not arrive at a channel.
func (c channelCommands) replay() *cobra.Command {
	var since string
	var wait time.Duration
	cmd := c.newCommand("replay ID", "Resend the event of a delivery, or all events that a channel missed since a time",
		"the id of a delivery, or with --since that of a channel",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			if since == "" {
				d, err := channels.Replay(ctx, account, args[0])
				return c.showOutcome(ctx, channels, d, err, wait)
			}
			from, err := time.Parse(time.RFC3339, since)
			if err != nil {
				return usagef("--since: %q is not a time such as 2026-11-26T09:00:00Z", since)
			}
			list, err := channels.ReplaySince(ctx, account, args[0], from)
			return printList(c.app, kit.Map(list, viewDelivery), err, deliveryColumns, deliveryView.row)
		})
	addWait(cmd, &wait)
	cmd.Flags().StringVar(&since, "since", "", "resend to the channel ID what has not arrived since then, such as "+
		"2026-11-26T09:00:00Z; events are kept for 30 days")
	return cmd
}

func (c channelCommands) remove() *cobra.Command {
	return c.newCommand("remove ID", "Remove a channel permanently", "the id of a channel",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			return c.showRemoved(args[0], channels.Remove(ctx, account, args[0]))
		})
}

type deliveryView struct {
	ID        string               `json:"id"`
	Account   metering.AccountID   `json:"account"`
	Channel   string               `json:"channel"`
	Event     string               `json:"event_id"`
	Type      metering.EventType   `json:"event_type"`
	State     notify.DeliveryState `json:"state"`
	Attempts  []attemptView        `json:"attempts"`
	Next      time.Time            `json:"next_attempt_at,omitzero"`
	OpenUntil time.Time            `json:"replayable_until,omitzero"` // of what did not arrive
	ReplayOf  string               `json:"replay_of,omitempty"`
	CreatedAt time.Time            `json:"created_at"`
}

type attemptView struct {
	At         time.Time `json:"at"`
	Status     int       `json:"status,omitempty"`
	Error      string    `json:"error,omitempty"`
	Response   string    `json:"response,omitempty"`
	DurationMS int64     `json:"duration_ms"`
}

func viewDelivery(d notify.Delivery) deliveryView {
	v := deliveryView{
		d.ID, d.Account, d.Channel, d.Event, d.Type, d.State, []attemptView{}, d.Next, time.Time{}, d.ReplayOf, d.CreatedAt,
	}
	for _, a := range d.Attempts {
		v.Attempts = append(v.Attempts, attemptView{a.At, a.Status, a.Error, a.Response, a.Millis})
	}
	v.Next, v.OpenUntil = d.NextAttempt(), d.ReplayableUntil()
	return v
}

const deliveryColumns = "ID, CREATED, EVENT, CHANNEL, STATE, ATTEMPTS, NEXT, LAST ERROR"

func (v deliveryView) row() []any {
	fault := "-"
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].Error != "" {
		fault = v.Attempts[n-1].Error
	}
	return []any{v.ID, formatTime(&v.CreatedAt), v.Type, v.Channel, v.State,
		fmt.Sprintf("%d/%d", len(v.Attempts), notify.MaxAttempts), formatTime(&v.Next), fault}
}

func (c channelCommands) deliveries() *cobra.Command {
	var limit int
	var before string
	list := c.newCommand("deliveries", "List the deliveries to a channel or to all, newest first", "",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			channel := strings.Join(args, "")
			if limit < 0 {
				return usagef("--limit: must be 0 or more")
			}
			end, err := parseBefore(before)
			if err != nil {
				return err
			}
			found, err := channels.DeliveriesBefore(ctx, account, channel, end, limit)
			if err == nil && len(found) == 0 && channel != "" { // of a channel that was removed there may be some
				_, err = channels.Channel(ctx, account, channel)
			}
			return printList(c.app, kit.Map(found, viewDelivery), err, deliveryColumns, deliveryView.row)
		})
	list.Use = "deliveries [ID]"
	list.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s takes the id of one channel, or none", cmd.CommandPath())
		}
		return nil
	}
	list.Flags().StringVar(&before, "before", "", "only what was created before this time, such as 2026-11-26T09:00:00Z")
	list.Flags().IntVar(&limit, "limit", 50, "maximum number to list; 0 for all")
	return list
}

// test makes the command that sends a test event.
func (c channelCommands) test() *cobra.Command {
	var wait time.Duration
	cmd := c.newCommand("test ID", "Send a test event to a channel", "the id of a channel",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			d, err := channels.Test(ctx, account, args[0])
			return c.showOutcome(ctx, channels, d, err, wait)
		})
	addWait(cmd, &wait)
	return cmd
}

func addWait(cmd *cobra.Command, wait *time.Duration) {
	cmd.Flags().DurationVar(wait, "wait", 15*time.Second,
		"how long to wait for the first attempt, which a running server makes; 0 does not wait")
}

// showOutcome waits for the outcome of a delivery that was just made.
func (c channelCommands) showOutcome(
	ctx context.Context, channels notify.Channels, d notify.Delivery, err error, wait time.Duration,
) error {
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	d, err = awaitAttempt(ctx, channels, d)
	switch err = printOne(c.app, viewDelivery(d), err, deliveryColumns, deliveryView.row); {
	case err != nil:
		return err
	case d.State == notify.Pending && wait > 0:
		return fmt.Errorf("no server tried to deliver %s within %v", d.ID, wait)
	case d.State != notify.Pending && d.State != notify.Delivered:
		return fmt.Errorf("%s was not delivered: %s", d.ID, d.Attempts[len(d.Attempts)-1].Error)
	}
	return nil
}

// attemptPoll is how often the wait for an attempt checks whether it was made.
const attemptPoll = 200 * time.Millisecond

// awaitAttempt returns a delivery once it was tried, or as it is when the context ends.
func awaitAttempt(ctx context.Context, channels notify.Channels, d notify.Delivery) (notify.Delivery, error) {
	for d.State == notify.Pending && sleep(ctx, attemptPoll) {
		latest, err := channels.Delivery(context.WithoutCancel(ctx), d.Account, d.ID)
		if err != nil {
			return d, err
		}
		d = latest
	}
	return d, nil
}
