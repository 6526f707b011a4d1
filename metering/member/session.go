package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// IdleTime is the lifetime of a session without requests, and SessionTime its maximum lifetime.
	IdleTime, SessionTime = 12 * time.Hour, 30 * 24 * time.Hour
	// seenEvery is the minimum interval between writes of a session's last request.
	seenEvery   = time.Minute
	sessionKind = "member_session"
	maxFrom     = 64 // characters of an address
)

// maxSessions bounds the sessions of a member in an account: a client without cookies begins one with each request
// that a proxy lets through. The least recently used session is ended to make room.
var maxSessions = int(budget.Of(budget.Sessions).Person)

// A Session is a browser in which a member is signed in to an account.
type Session struct {
	ID       string             `json:"-"` // SHA-256 of its secret
	Account  metering.AccountID `json:"-"`
	Began    time.Time          `json:"-"`
	Email    string             `json:"email"`
	From     string             `json:"from,omitempty"` // where it was begun
	LastSeen time.Time          `json:"last_seen,omitzero"`
	// Bound says that the link was made by an owner of this account, so that it does not prove access to the mail of
	// the address. The session then gives access to no other account of the address.
	Bound bool `json:"bound,omitempty"`

	record metering.Record
}

// Ends returns when a session ends at the latest.
func (s Session) Ends() time.Time { return s.Began.Add(SessionTime) }

func (s Session) ended(now time.Time) bool {
	return !now.Before(s.LastSeen.Add(IdleTime)) || !now.Before(s.Ends())
}

// Begin begins a session of a member whose identity was verified elsewhere, such as by a proxy. It is
// [metering.ErrNotFound] if the address is not a member of the account.
func (m Members) Begin(
	ctx context.Context, account metering.AccountID, email, from string,
) (Session, string, error) {
	one, err := m.Member(ctx, account, email)
	if err != nil {
		return Session{}, "", err
	}
	return m.begin(ctx, Session{Account: account, Email: one.Email, From: from})
}

func (m Members) begin(ctx context.Context, s Session, with ...metering.Record) (Session, string, error) {
	if err := m.makeRoom(ctx, s.Account, s.Email); err != nil {
		return Session{}, "", err
	}
	secret := NewToken()
	s.ID, s.From, s.Began = tokenID(secret), s.From[:min(len(s.From), maxFrom)], m.now()
	s.LastSeen = s.Began
	s.record = metering.Record{Account: s.Account, Kind: sessionKind, ID: s.ID, At: s.Began}
	err := m.put(ctx, &s, with...)
	if errors.Is(err, metering.ErrVersion) {
		err = fmt.Errorf("the link was used: %w", metering.ErrNotFound)
	}
	return s, secret, err
}

func (m Members) makeRoom(ctx context.Context, account metering.AccountID, email string) error {
	all, err := m.Sessions(ctx, account)
	mine := slices.DeleteFunc(all, func(s Session) bool { return s.Email != email })
	slices.SortFunc(mine, func(a, b Session) int { return a.LastSeen.Compare(b.LastSeen) })
	for _, old := range mine[:max(0, len(mine)-maxSessions+1)] {
		if e := m.End(ctx, account, old.ID); !errors.Is(e, metering.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Session returns the session with a secret, and its member, and updates its last use. It is [metering.ErrNotFound] if
// the session or the member no longer exists.
func (m Members) Session(ctx context.Context, secret string) (Session, Member, error) {
	now := m.now()
	s, err := m.byToken(ctx, sessionKind, secret)
	if err == nil && s.ended(now) {
		err = fmt.Errorf("the session has ended: %w", metering.ErrNotFound)
	}
	if err != nil {
		return Session{}, Member{}, err
	}
	one, err := m.Member(ctx, s.Account, s.Email)
	if err != nil || now.Sub(s.LastSeen) < seenEvery {
		return s, one, err
	}
	s.LastSeen = now
	if err = m.put(ctx, &s); errors.Is(err, metering.ErrVersion) { // another request of the session was first
		err = nil
	}
	return s, one, err
}

// Sessions lists the sessions of an account that have not ended, the oldest first.
func (m Members) Sessions(ctx context.Context, account metering.AccountID) ([]Session, error) {
	f := metering.RecordFilter{Kind: sessionKind, Account: account}
	all, err := metering.Collect(metering.ParseRecords(m.Store.Records(ctx, f), parseSession))
	now := m.now()
	return slices.DeleteFunc(all, func(s Session) bool { return s.ended(now) }), err
}

// End ends a session of an account.
func (m Members) End(ctx context.Context, account metering.AccountID, id string) error {
	return metering.Retry(func() error {
		r, err := m.Store.Record(ctx, account, sessionKind, id)
		if err != nil {
			return err
		}
		r.Body = nil
		return m.Store.PutRecords(ctx, r)
	})
}

// Tidy removes links and sessions that have ended for certain, and returns how many.
func (m Members) Tidy(ctx context.Context) (removed int, err error) {
	for kind, lasts := range map[string]time.Duration{linkKind: LinkTime, sessionKind: SessionTime} {
		n, e := metering.RemoveRecords(ctx, m.Store, metering.RecordFilter{Kind: kind, Before: m.now().Add(-lasts)})
		removed, err = removed+n, errors.Join(err, e)
	}
	return removed, err
}

// Remove ends a membership, and with it the sessions of the member. The last owner cannot be removed.
func (m Members) Remove(ctx context.Context, account metering.AccountID, email string) error {
	removed, err := m.change(ctx, account, email, "")
	if err != nil {
		return err
	}
	sessions, err := m.Sessions(ctx, account)
	for _, s := range sessions {
		if s.Email == removed.Email {
			err = errors.Join(err, m.End(ctx, account, s.ID))
		}
	}
	return err
}
