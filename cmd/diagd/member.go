package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
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

func (v memberView) cells() []any { return []any{v.Email, v.Role, formatTime(&v.AddedAt), v.Account} }

const memberColumns = "EMAIL, ROLE, ADDED, ACCOUNT"

func (a *app) memberCommand() *cobra.Command {
	var role string
	newCommand := func(
		use, short string, run func(context.Context, member.Members, metering.AccountID, string) error,
	) *cobra.Command {
		return a.newAccountCommand(use, short, "an e-mail address", "",
			func(ctx context.Context, admin metering.Admin, account metering.AccountID, args []string) error {
				email := strings.Join(args, "")
				err := run(ctx, member.Members{Store: admin.Store, Clock: admin.Clock}, account, email)
				if errors.Is(err, metering.ErrNotFound) {
					return usagef("%q is not a member of %s; diagd member list shows all", email, account)
				}
				return err
			})
	}
	show := func(m member.Member, err error) error {
		return printOne(a, viewMember(m), err, memberColumns, memberView.cells)
	}
	add := newCommand("add EMAIL", "Add a member to an account",
		func(ctx context.Context, m member.Members, account metering.AccountID, email string) error {
			return show(m.Add(ctx, account, email, member.Role(role)))
		})
	set := newCommand("role EMAIL", "Change the role of a member",
		func(ctx context.Context, m member.Members, account metering.AccountID, email string) error {
			return show(m.SetRole(ctx, account, email, member.Role(role)))
		})
	for _, cmd := range []*cobra.Command{add, set} {
		cmd.Flags().StringVar(&role, "role", "",
			"owner (everything), developer (everything except members, billing and account settings) or viewer (read-only)")
	}
	list := newCommand("list", "List the members of an account",
		func(ctx context.Context, m member.Members, account metering.AccountID, _ string) error {
			list, err := m.List(ctx, account)
			return printList(a, kit.Map(list, viewMember), err, memberColumns, memberView.cells)
		})
	remove := newCommand("remove EMAIL", "Remove a member and end all sessions",
		func(ctx context.Context, m member.Members, account metering.AccountID, email string) error {
			return a.showRemoved(email, m.Remove(ctx, account, email))
		})
	var at string
	link := newCommand("link EMAIL", "Create a one-time sign-in link, valid for 15 minutes",
		func(ctx context.Context, m member.Members, account metering.AccountID, email string) error {
			if _, err := m.Member(ctx, account, email); err != nil {
				return err
			}
			token, err := m.NewLink(ctx, email)
			if err != nil {
				return err
			}
			v := linkView{dashboard.SignInURL(at, token), time.Now().Add(member.LinkTime).UTC().Truncate(time.Second)}
			return a.print(v, func(t *table) {
				t.row(v.URL)
				t.row("The link signs in as " + email + " once, within 15 minutes.")
			})
		})
	link.Flags().StringVar(&at, "public-url", "http://127.0.0.1:8080",
		"public URL of the server, as for diagd serve")
	return a.newGroup("member", "Manage the members of an account", add, list, set, remove, link)
}

type linkView struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// pruneMembers removes sessions and links that have ended, and rows of the log that are too old.
func pruneMembers(ctx context.Context, store metering.Store, clock func() time.Time) error {
	_, err := member.Members{Store: store, Clock: clock}.Tidy(ctx)
	return errors.Join(err, metering.PruneActs(ctx, store, clock()))
}

func (a *app) publicURL(at string) string { return cmp.Or(a.serving.dashboard.publicURL, at) }
