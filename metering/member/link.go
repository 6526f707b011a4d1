package member

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// LinkTime is how long a link can be used.
	LinkTime = 15 * time.Minute

	linkKind = "member_link"
)

// A Link lets one member enter once.
type Link struct {
	Email    string
	Accounts []Member // of the address, as it is now, in which the link lets enter
	entry    Session
}

// NewLink makes a link into all accounts of an address, for whoever runs the server and for the mail of the address
// itself. It is [metering.ErrNotFound] if that is no member of any account.
func (m Members) NewLink(ctx context.Context, email string) (token string, err error) {
	accounts, err := m.Of(ctx, email)
	if err != nil {
		return "", err
	}
	if len(accounts) == 0 {
		return "", fmt.Errorf("member %s: %w", email, metering.ErrNotFound)
	}
	return m.newLink(ctx, accounts[0], false)
}

// NewLinkInto makes a link into one account, for those who may say who looks after that one, and no other.
func (m Members) NewLinkInto(ctx context.Context, one Member) (token string, err error) {
	return m.newLink(ctx, one, true)
}

func (m Members) newLink(ctx context.Context, one Member, bound bool) (string, error) {
	token := NewToken()
	return token, m.put(ctx, &Session{Email: one.Email, Bound: bound, record: metering.Record{
		Account: one.Account, Kind: linkKind, ID: tokenID(token), At: m.now(),
	}})
}

// Link tells what a link is for, and leaves it as it is. It is [metering.ErrNotFound] once it was used, is too old, or
// its member is none any more.
func (m Members) Link(ctx context.Context, token string) (Link, error) {
	e, err := m.byToken(ctx, linkKind, token)
	if err != nil {
		return Link{}, err
	}
	if !m.now().Before(e.Began.Add(LinkTime)) {
		return Link{}, fmt.Errorf("the link has ended: %w", metering.ErrNotFound)
	}
	accounts, err := m.Of(ctx, e.Email)
	if e.Bound {
		accounts = slices.DeleteFunc(accounts, func(one Member) bool { return one.Account != e.Account })
	}
	if err == nil && len(accounts) == 0 {
		err = metering.ErrNotFound
	}
	return Link{e.Email, accounts, e}, err
}

// Enter spends a link and begins a session in one of the accounts of its address. The secret of the session is known to
// who enters alone. Of several who use one link at once, one enters; the others are told [metering.ErrNotFound].
func (m Members) Enter(
	ctx context.Context, token string, account metering.AccountID, from string,
) (Session, string, error) {
	link, err := m.Link(ctx, token)
	if err == nil && !slices.ContainsFunc(link.Accounts, func(o Member) bool { return o.Account == account }) {
		err = metering.ErrNotFound
	}
	if err != nil {
		return Session{}, "", err
	}
	spent := link.entry.record
	spent.Body = nil
	return m.begin(ctx, Session{Account: account, Email: link.Email, From: from, Bound: link.entry.Bound}, spent)
}
