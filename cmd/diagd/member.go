package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/spf13/cobra"
)

type memberView struct {
	Account metering.AccountID `json:"account"`
	Email   string             `json:"email"`
	Role    member.Role        `json:"role"`
	AddedAt time.Time          `json:"added_at"`
}

func viewMember(m member.Member) memberView { return memberView{m.Account, m.Email, m.Role, m.AddedAt} }

func (v memberView) cells() []any { return []any{v.Email, v.Role, when(&v.AddedAt), v.Account} }

const memberColumns = "EMAIL, ROLE, ADDED, ACCOUNT"

// memberCommand is the group of commands about who may look after an account in the dashboard.
func (a *app) memberCommand() *cobra.Command {
	var account, role string
	leaf := func(
		use, short string, run func(context.Context, member.Members, metering.AccountID, []string) error,
	) *cobra.Command {
		const takes = "an e-mail address"
		return a.onStore(use, short, takes, func(ctx context.Context, admin metering.Admin, args []string) error {
			owner, err := onlyAccount(ctx, admin, account)
			if err != nil {
				return err
			}
			err = run(ctx, member.Members{Store: admin.Store, Clock: admin.Clock}, owner.ID, args)
			if errors.Is(err, metering.ErrNotFound) {
				return usagef("%q is no member of %s; diagd member list shows them", args[0], owner.ID)
			}
			return err
		})
	}
	show := func(m member.Member, err error) error {
		if err != nil {
			return err
		}
		v := viewMember(m)
		return a.print(v, rows(memberColumns, []memberView{v}, memberView.cells))
	}
	add := leaf("add EMAIL", "Let somebody look after an account in the dashboard",
		func(ctx context.Context, m member.Members, account metering.AccountID, args []string) error {
			return show(m.Add(ctx, account, args[0], member.Role(role)))
		})
	set := leaf("role EMAIL", "Give a member another role",
		func(ctx context.Context, m member.Members, account metering.AccountID, args []string) error {
			return show(m.SetRole(ctx, account, args[0], member.Role(role)))
		})
	for _, cmd := range []*cobra.Command{add, set} {
		cmd.Flags().StringVar(&role, "role", "",
			"owner (everything), developer (all but members, billing and the account) or viewer (reads)")
	}
	list := leaf("list", "List the members of an account",
		func(ctx context.Context, m member.Members, account metering.AccountID, _ []string) error {
			list, err := m.List(ctx, account)
			if err != nil {
				return err
			}
			views := []memberView{}
			for _, one := range list {
				views = append(views, viewMember(one))
			}
			return printList(a, views, memberColumns, memberView.cells)
		})
	remove := leaf("remove EMAIL", "End a membership and its sessions",
		func(ctx context.Context, m member.Members, account metering.AccountID, args []string) error {
			if err := m.Remove(ctx, account, args[0]); err != nil {
				return err
			}
			return a.print(removedView{args[0], true}, func(t *table) { t.row(fmt.Sprintf("%s is removed.", args[0])) })
		})
	var at string
	link := leaf("link EMAIL", "Make a link by which a member enters once, within 15 minutes",
		func(ctx context.Context, m member.Members, account metering.AccountID, args []string) error {
			if _, err := m.Member(ctx, account, args[0]); err != nil {
				return err
			}
			token, err := m.NewLink(ctx, args[0])
			if err != nil {
				return err
			}
			v := linkView{dashboard.EnterURL(at, token), time.Now().Add(member.LinkTime).UTC().Truncate(time.Second)}
			return a.print(v, func(t *table) {
				t.row(v.URL)
				t.row("Whoever has the link enters as " + args[0] + ", once, within 15 minutes.")
			})
		})
	link.Flags().StringVar(&at, "public-url", "http://127.0.0.1:8080",
		"where browsers reach the server, as for diagd serve")
	cmd := a.group("member", "Say who may look after an account in the dashboard", add, list, set, remove, link)
	cmd.PersistentFlags().StringVar(&account, "account", "", "id of the account (default: the only one)")
	return cmd
}

type linkView struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// firstMember lets who starts a server for the first time enter its dashboard, and returns the link.
func firstMember(ctx context.Context, admin metering.Admin, account metering.AccountID, url string) (string, error) {
	people := member.Members{Store: admin.Store, Clock: admin.Clock}
	owner, err := people.Add(ctx, account, "owner@localhost", member.Owner)
	if err != nil {
		return "", fmt.Errorf("adding the first member: %w", err)
	}
	token, err := people.NewLink(ctx, owner.Email)
	if err != nil {
		return "", fmt.Errorf("making the first link: %w", err)
	}
	return dashboard.EnterURL(url, token), nil
}

// forgetPeople removes sessions and links that have ended, and rows of the log that are too old.
func forgetPeople(ctx context.Context, store metering.Store, clock func() time.Time) error {
	_, err := member.Members{Store: store, Clock: clock}.Tidy(ctx)
	return errors.Join(err, metering.ForgetActs(ctx, store, clock()))
}

// publicURL is where browsers reach the server.
func (a *app) publicURL(at string) string { return cmp.Or(a.serving.dashboard.publicURL, at) }
