package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/cobra"
)

type channelView struct {
	ID               string                   `json:"id"`
	Account          metering.AccountID       `json:"account"`
	Name             string                   `json:"name"`
	Kind             notify.Kind              `json:"kind"`
	Target           string                   `json:"target"`
	Categories       []metering.EventCategory `json:"categories"` // empty for all
	State            notify.ChannelState      `json:"state"`
	Reason           string                   `json:"reason,omitempty"`
	Signed           bool                     `json:"signed"`
	SignedTwiceUntil time.Time                `json:"signed_twice_until,omitzero"`
	CreatedAt        time.Time                `json:"created_at"`
	Secret           string                   `json:"secret,omitempty"` // shown once
}

func viewChannel(c notify.Channel, secret notify.Secret) channelView {
	return channelView{c.ID, c.Account, c.Name, c.Kind, c.Target, append([]metering.EventCategory{}, c.Categories...),
		c.State, c.Reason, c.Signed, c.SignedTwiceUntil, c.CreatedAt, secret.Reveal()}
}

func (a *app) channelCommand() *cobra.Command {
	var account string
	c := channelCommands{app: a, account: &account}
	cmd := group("channel", "Administer notification channels", c.create(), c.list(), c.test(), c.rotate(),
		c.change("disable ID", "Send nothing more to a channel", disableChannel),
		c.change("enable ID", "Send to a disabled channel again", notify.Channels.Enable), c.remove(), c.deliveries(),
		c.replay())
	cmd.PersistentFlags().StringVar(&account, "account", "", "id of the account (default: the only one)")
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

// channelCommands are the commands of "diagd channel".
type channelCommands struct {
	*app
	account *string
}

// run opens the channels of the account that --account names.
func (c channelCommands) run(
	ctx context.Context, f func(notify.Channels, metering.AccountID) error,
) error {
	return c.administer(ctx, func(admin metering.Admin) error {
		owner, err := onlyAccount(ctx, admin, *c.account)
		if errors.Is(err, metering.ErrNotFound) {
			return usagef("--account: %w; diagd account list shows the ids", err)
		}
		if err != nil {
			return err
		}
		err = f(notify.Channels{Store: admin.Store, Plans: admin.Plans}, owner.ID)
		if errors.Is(err, metering.ErrNotFound) {
			return usagef("%w; diagd channel list and diagd channel deliveries show the ids", err)
		}
		return err
	})
}

func (c channelCommands) create() *cobra.Command {
	r := notify.ChannelRequest{Kind: notify.Webhook}
	var kind, secretFile, tokenFile string
	var categories []string
	var allowHTTP bool
	create := &cobra.Command{
		Use: "create", Short: "Create a channel and show the secret that signs its deliveries, once", Args: noArgs,
		Long: `Create a channel. Events that occur from then on are sent to it.

  --kind webhook   --target URL      signed JSON, as any library of Standard Webhooks verifies it
  --kind slack     --target URL      an incoming webhook of Slack
  --kind teams     --target URL      a workflow of Microsoft Teams for what a webhook receives
  --kind telegram  --target CHAT     number of a chat or @channel; --token-file holds the token of the bot
  --kind email     --target ADDRESS  the server needs --mail-server

The URLs of Slack and Teams are secrets: use --target - to have one read from standard input.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			r.Kind = notify.Kind(kind)
			for _, category := range categories {
				r.Categories = append(r.Categories, metering.EventCategory(category))
			}
			if r.Target == "-" {
				if r.Target, err = secretFrom("-"); err != nil {
					return usagef("--target: %w", err)
				}
			}
			if err := readSecrets(&r, secretFile, tokenFile); err != nil {
				return err
			}
			return c.run(cmd.Context(), func(channels notify.Channels, account metering.AccountID) error {
				r.Account = account
				channels.AllowHTTP = allowHTTP
				channels.Ports = append(append([]uint16{}, diag.WebPorts...), ports(c.world.AllowPorts)...)
				channel, secret, err := channels.Create(cmd.Context(), r)
				if err != nil {
					return err
				}
				return c.show(viewChannel(channel, secret))
			})
		},
	}
	flags := create.Flags()
	flags.StringVar(&r.Name, "name", "", "name of the channel, 1 to 64 characters")
	flags.StringVar(&kind, "kind", string(notify.Webhook), "webhook, slack, teams, telegram or email")
	flags.StringVar(&r.Target, "target", "", "URL, chat or mail address; - reads it from standard input")
	flags.StringSliceVar(&categories, "categories", nil, "what to be told of: usage, api_key, billing, spf (default: all)")
	flags.StringVar(&secretFile, "secret-file", "",
		"file with the secret to sign with, whsec_ and base64 of 24 to 64 bytes; - is standard input (default: a new one)")
	flags.StringVar(&tokenFile, "token-file", "", "file with the token of a Telegram bot; - is standard input")
	flags.BoolVar(&r.Unsigned, "unsigned", false, "sign nothing")
	flags.BoolVar(&allowHTTP, "allow-http", false, "let the URL begin with http://, for laboratories")
	flags.UintSliceVar(&c.world.AllowPorts, "allow-ports", nil,
		"ports that the URL may name beside 80, 443, 8080 and 8443")
	return create
}

func ports(list []uint) (ports []uint16) {
	for _, p := range list {
		ports = append(ports, uint16(min(p, 65535)))
	}
	return ports
}

// readSecrets reads the files with what must not stand on a command line, which other users of the host see.
func readSecrets(r *notify.ChannelRequest, secretFile, tokenFile string) error {
	if secretFile != "" {
		text, err := secretFrom(secretFile)
		if err == nil {
			r.Secret, err = notify.ParseSecret(text)
		}
		if err != nil {
			return usagef("--secret-file: %w", err)
		}
	}
	if tokenFile != "" {
		var err error
		if r.Token, err = secretFrom(tokenFile); err != nil {
			return usagef("--token-file: %w", err)
		}
	}
	return nil
}

// maxSecretLine is more than the longest secret or URL has.
const maxSecretLine = 4 << 10

// secretFrom reads the first line of a file, or of standard input.
func secretFrom(path string) (string, error) {
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
func (c channelCommands) show(v channelView) error {
	return c.print(v, func(t *table) {
		t.row("id", v.ID)
		t.row("name", v.Name)
		t.row("kind", v.Kind)
		t.row("target", v.Target)
		t.row("state", v.state())
		if !v.SignedTwiceUntil.IsZero() {
			t.row("old secret signs until", when(&v.SignedTwiceUntil))
		}
		if v.Secret != "" {
			t.row("secret", v.Secret)
			t.row("", "The secret cannot be shown again.")
		}
	})
}

func (v channelView) state() string {
	if v.Reason != "" {
		return string(v.State) + " (" + v.Reason + ")"
	}
	return string(v.State)
}

func (c channelCommands) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the channels of an account", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), func(channels notify.Channels, account metering.AccountID) error {
				list, err := channels.List(cmd.Context(), account)
				if err != nil {
					return err
				}
				views := []channelView{}
				for _, channel := range list {
					views = append(views, viewChannel(channel, notify.Secret{}))
				}
				return c.print(views, func(t *table) {
					t.row("ID", "NAME", "KIND", "TARGET", "CATEGORIES", "STATE", "CREATED")
					for _, v := range views {
						t.row(v.ID, v.Name, v.Kind, v.Target, categoryList(v.Categories), v.state(), when(&v.CreatedAt))
					}
				})
			})
		},
	}
}

func categoryList(list []metering.EventCategory) string {
	if len(list) == 0 {
		return "all"
	}
	var names []string
	for _, c := range list {
		names = append(names, string(c))
	}
	return strings.Join(names, ",")
}

func (c channelCommands) rotate() *cobra.Command {
	var overlap time.Duration
	var secretFile string
	rotate := &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of a webhook; the old one signs too for a while",
		Args: exactly(1, "the id of a channel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var r notify.ChannelRequest
			if err := readSecrets(&r, secretFile, ""); err != nil {
				return err
			}
			return c.run(cmd.Context(), func(channels notify.Channels, account metering.AccountID) error {
				channel, secret, err := channels.RotateSecret(cmd.Context(), account, args[0], r.Secret, overlap)
				if err != nil {
					return err
				}
				return c.show(viewChannel(channel, secret))
			})
		},
	}
	rotate.Flags().DurationVar(&overlap, "overlap", notify.DefaultOverlap, "how long the old secret signs too, 0 to 720h")
	rotate.Flags().StringVar(&secretFile, "secret-file", "",
		"file with the new secret; - is standard input (default: a new one)")
	return rotate
}

func disableChannel(
	c notify.Channels, ctx context.Context, account metering.AccountID, id string,
) (notify.Channel, error) {
	return c.Disable(ctx, account, id, "disabled by the operator")
}

func (c channelCommands) change(
	use, short string,
	alter func(notify.Channels, context.Context, metering.AccountID, string) (notify.Channel, error),
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly(1, "the id of a channel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), func(channels notify.Channels, account metering.AccountID) error {
				channel, err := alter(channels, cmd.Context(), account, args[0])
				if err != nil {
					return err
				}
				return c.show(viewChannel(channel, notify.Secret{}))
			})
		},
	}
}

func (c channelCommands) remove() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a channel for good", Args: exactly(1, "the id of a channel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), func(channels notify.Channels, account metering.AccountID) error {
				if err := channels.Remove(cmd.Context(), account, args[0]); err != nil {
					return err
				}
				return c.print(removedView{args[0], true}, func(t *table) { t.row(fmt.Sprintf("%s is removed.", args[0])) })
			})
		},
	}
}
