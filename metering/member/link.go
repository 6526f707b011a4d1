package member

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// LinkTime is how long a link is valid.
	LinkTime = 15 * time.Minute

	linkKind = "member_link"
)

// A Link signs one member in once.
type Link struct {
	Email    string
	Accounts []Member // current ones of the address to which the link gives access
	entry    Session
}

// NewLink makes a link into all accounts of an address, for the operator and for mail to the address itself. It is
// [metering.ErrNotFound] if the address is not a member of any account.
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

// NewLinkInto makes a link into one account only, for those who manage its members.
func (m Members) NewLinkInto(ctx context.Context, one Member) (token string, err error) {
	return m.newLink(ctx, one, true)
}

func (m Members) newLink(ctx context.Context, one Member, bound bool) (string, error) {
	token := NewToken()
	return token, m.put(ctx, &Session{Email: one.Email, Bound: bound, record: metering.Record{
		Account: one.Account, Kind: linkKind, ID: tokenID(token), At: m.now(),
	}})
}

// Link returns the purpose of a link without spending it. It is [metering.ErrNotFound] once the link was used or has
// expired, or its address is no longer a member.
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

// Enter spends a link and begins a session in one of the accounts of its address. Only the caller gets the secret of
// the session. Of concurrent uses of one link, one succeeds; the others get [metering.ErrNotFound].
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
