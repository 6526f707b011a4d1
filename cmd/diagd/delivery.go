package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/cobra"
)

type deliveryView struct {
	ID        string               `json:"id"`
	Account   metering.AccountID   `json:"account"`
	Channel   string               `json:"channel"`
	Event     string               `json:"event_id"`
	Type      metering.EventType   `json:"event_type"`
	State     notify.DeliveryState `json:"state"`
	Attempts  []attemptView        `json:"attempts"`
	Next      time.Time            `json:"next_attempt_at,omitzero"`
	OpenUntil time.Time            `json:"replayable_until,omitzero"` // after the last attempt
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
	if len(d.Attempts) == notify.MaxAttempts && d.State == notify.RetryScheduled {
		v.Next, v.OpenUntil = time.Time{}, d.Next
	}
	return v
}

const deliveryColumns = "ID, CREATED, EVENT, CHANNEL, STATE, ATTEMPTS, NEXT, LAST ERROR"

func (v deliveryView) row() []any {
	fault := "-"
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].Error != "" {
		fault = v.Attempts[n-1].Error
	}
	return []any{v.ID, when(&v.CreatedAt), v.Type, v.Channel, v.State,
		fmt.Sprintf("%d/%d", len(v.Attempts), notify.MaxAttempts), when(&v.Next), fault}
}

func (c channelCommands) deliveries() *cobra.Command {
	var limit int
	list := c.leaf("deliveries", "List the deliveries to a channel or to all, newest first", "",
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			channel := strings.Join(args, "")
			if limit < 0 {
				return usagef("--limit: must be 0 or more")
			}
			found, err := channels.Deliveries(ctx, account, channel, limit)
			if err != nil {
				return err
			}
			if len(found) == 0 && channel != "" { // of a channel that was removed there may be some
				if _, err := channels.Channel(ctx, account, channel); err != nil {
					return err
				}
			}
			return printList(c.app, diag.Map(found, viewDelivery), deliveryColumns, deliveryView.row)
		})
	list.Use = "deliveries [ID]"
	list.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s takes the id of one channel, or none", cmd.CommandPath())
		}
		return nil
	}
	list.Flags().IntVar(&limit, "limit", 50, "how many to list at most; 0 for all")
	return list
}

// send makes a command that makes a delivery and waits for what comes of it.
func (c channelCommands) send(
	use, short, takes string,
	begin func(notify.Channels, context.Context, metering.AccountID, string) (notify.Delivery, error),
) *cobra.Command {
	var wait time.Duration
	cmd := c.leaf(use, short, takes,
		func(ctx context.Context, channels notify.Channels, account metering.AccountID, args []string) error {
			d, err := begin(channels, ctx, account, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			if d, err = awaitAttempt(ctx, channels, d); err != nil {
				return err
			}
			v := viewDelivery(d)
			err = c.print(v, rows(deliveryColumns, []deliveryView{v}, deliveryView.row))
			switch {
			case err != nil:
				return err
			case d.State == notify.Pending && wait > 0:
				return fmt.Errorf("no server has tried to deliver %s within %v", d.ID, wait)
			case d.State != notify.Pending && d.State != notify.Delivered:
				return fmt.Errorf("%s was not delivered: %s", d.ID, v.Attempts[len(v.Attempts)-1].Error)
			}
			return nil
		})
	cmd.Flags().DurationVar(&wait, "wait", 15*time.Second,
		"how long to wait for the first attempt, which a running server makes; 0 does not wait")
	return cmd
}

// attemptPoll is how often who waits for an attempt looks whether it was made.
const attemptPoll = 200 * time.Millisecond

// awaitAttempt returns a delivery once it was tried, or as it is when the context ends.
func awaitAttempt(ctx context.Context, channels notify.Channels, d notify.Delivery) (notify.Delivery, error) {
	ticker := time.NewTicker(attemptPoll)
	defer ticker.Stop()
	for d.State == notify.Pending {
		select {
		case <-ctx.Done():
			return d, nil
		case <-ticker.C:
		}
		latest, err := channels.Delivery(context.WithoutCancel(ctx), d.Account, d.ID)
		if err != nil {
			return d, err
		}
		d = latest
	}
	return d, nil
}
