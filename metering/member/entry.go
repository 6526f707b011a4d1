package member

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// LinkTime is how long a link can be used.
	LinkTime = 15 * time.Minute
	// IdleTime is how long a session lasts without a request, and SessionTime how long with any.
	IdleTime, SessionTime = 12 * time.Hour, 30 * 24 * time.Hour
	// seenEvery is how often the last request of a session is written down at most.
	seenEvery = time.Minute

	linkKind, sessionKind = "member_link", "member_session"
	tokenBytes            = 32
	// maxSessions bounds the sessions of a member in an account: whoever keeps no cookies begins one with each request
	// that a proxy lets through. The one that was not used for the longest time ends for another.
	maxSessions = 50
	maxFrom     = 64 // characters of an address
)

// A Link lets one member enter once.
type Link struct {
	Email    string
	Accounts []Member // of the address, as it is now, in which the link lets enter
	bound    bool     // to one account
	record   metering.Record
}

// A Session is a browser in which a member looks after an account.
type Session struct {
	ID       string // SHA-256 of its secret
	Account  metering.AccountID
	Email    string
	From     string // where it was begun
	Began    time.Time
	LastSeen time.Time
	// Bound says that nobody has shown to read the mail of the address: an owner of this account has made the link. The
	// session then leads to no other account of the address.
	Bound  bool
	record metering.Record
}

// entryBody is a link or a session as it is stored.
type entryBody struct {
	Email    string    `json:"email"`
	From     string    `json:"from,omitempty"`
	LastSeen time.Time `json:"last_seen,omitzero"`
	Bound    bool      `json:"bound,omitempty"`
	Left     []byte    `json:"left,omitempty"` // see [Members.Leave]
}

// newToken draws a token, and names its record.
func (m Members) newToken() (token, id string, err error) {
	random := m.Random
	if random == nil {
		random = rand.Reader
	}
	bits := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, bits); err != nil {
		return "", "", fmt.Errorf("drawing a token: %w", err)
	}
	token = base64.RawURLEncoding.EncodeToString(bits)
	return token, tokenID(token), nil
}

func tokenID(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
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

func (m Members) newLink(ctx context.Context, one Member, bound bool) (token string, err error) {
	token, id, err := m.newToken()
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(entryBody{Email: one.Email, Bound: bound})
	if err != nil {
		return "", err
	}
	return token, m.Store.PutRecords(ctx,
		metering.Record{Account: one.Account, Kind: linkKind, ID: id, At: m.now(), Body: body})
}

// Link tells what a link is for, and leaves it as it is. It is [metering.ErrNotFound] once it was used, is too old, or
// its member is none any more.
func (m Members) Link(ctx context.Context, token string) (Link, error) {
	r, err := m.byToken(ctx, linkKind, token)
	if err != nil {
		return Link{}, err
	}
	var b entryBody
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return Link{}, fmt.Errorf("reading a link: %w", err)
	}
	if !m.now().Before(r.At.Add(LinkTime)) {
		return Link{}, fmt.Errorf("the link has ended: %w", metering.ErrNotFound)
	}
	accounts, err := m.Of(ctx, b.Email)
	if b.Bound {
		accounts = slices.DeleteFunc(accounts, func(one Member) bool { return one.Account != r.Account })
	}
	if err == nil && len(accounts) == 0 {
		err = metering.ErrNotFound
	}
	return Link{b.Email, accounts, b.Bound, r}, err
}

// byToken finds the record of a token, whatever its account.
func (m Members) byToken(ctx context.Context, kind, token string) (metering.Record, error) {
	f := metering.RecordFilter{Kind: kind, ID: tokenID(token), Limit: 1}
	for r, err := range m.Store.Records(ctx, f) {
		return r, err
	}
	return metering.Record{}, metering.ErrNotFound
}

// Enter spends a link and begins a session in one of the accounts of its address. The secret of the session is known to
// who enters alone. Of several who use one link at once, one enters; the others are told [metering.ErrNotFound].
func (m Members) Enter(
	ctx context.Context, token string, account metering.AccountID, from string,
) (Session, string, error) {
	link, err := m.Link(ctx, token)
	if err != nil {
		return Session{}, "", err
	}
	if !slices.ContainsFunc(link.Accounts, func(o Member) bool { return o.Account == account }) {
		return Session{}, "", metering.ErrNotFound
	}
	spent := link.record
	spent.Body = nil
	return m.begin(ctx, Session{Account: account, Email: link.Email, From: from, Bound: link.bound}, spent)
}

// Begin begins a session of a member whose identity somebody else has proved, such as a proxy. It is
// [metering.ErrNotFound] if the address is no member of the account.
func (m Members) Begin(
	ctx context.Context, account metering.AccountID, email, from string,
) (Session, string, error) {
	one, err := m.Member(ctx, account, email)
	if err != nil {
		return Session{}, "", err
	}
	return m.begin(ctx, Session{Account: account, Email: one.Email, From: from})
}

// begin writes a new session, and what comes with it, in one step.
func (m Members) begin(ctx context.Context, s Session, with ...metering.Record) (Session, string, error) {
	if err := m.makeRoom(ctx, s.Account, s.Email); err != nil {
		return Session{}, "", err
	}
	secret, id, err := m.newToken()
	if err != nil {
		return Session{}, "", err
	}
	s.ID, s.From, s.Began = id, s.From[:min(len(s.From), maxFrom)], m.now()
	s.LastSeen = s.Began
	body, err := json.Marshal(entryBody{Email: s.Email, From: s.From, LastSeen: s.LastSeen, Bound: s.Bound})
	if err != nil {
		return Session{}, "", err
	}
	s.record = metering.Record{Account: s.Account, Kind: sessionKind, ID: id, At: s.Began, Body: body}
	err = m.Store.PutRecords(ctx, append(with, s.record)...)
	if errors.Is(err, metering.ErrVersion) {
		return Session{}, "", fmt.Errorf("the link was used: %w", metering.ErrNotFound)
	}
	s.record.Version++
	return s, secret, err
}

// makeRoom ends the sessions of a member that are too many.
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

func parseSession(r metering.Record) (Session, error) {
	s := Session{ID: r.ID, Account: r.Account, Began: r.At, record: r}
	b, err := s.body()
	s.Email, s.From, s.LastSeen, s.Bound = b.Email, b.From, b.LastSeen, b.Bound
	return s, err
}

func (s Session) body() (b entryBody, err error) {
	if err = json.Unmarshal(s.record.Body, &b); err != nil {
		err = fmt.Errorf("reading a session: %w", err)
	}
	return b, err
}

// ended reports whether a session is over.
func (s Session) ended(now time.Time) bool {
	return !now.Before(s.LastSeen.Add(IdleTime)) || !now.Before(s.Began.Add(SessionTime))
}

// Session returns the session with a secret, and its member, and notes that it was seen. It is [metering.ErrNotFound]
// if there is none any more.
func (m Members) Session(ctx context.Context, secret string) (Session, Member, error) {
	r, err := m.byToken(ctx, sessionKind, secret)
	if err != nil {
		return Session{}, Member{}, err
	}
	s, err := parseSession(r)
	if err != nil {
		return Session{}, Member{}, err
	}
	now := m.now()
	if s.ended(now) {
		return Session{}, Member{}, fmt.Errorf("the session has ended: %w", metering.ErrNotFound)
	}
	one, err := m.Member(ctx, s.Account, s.Email)
	if err != nil || now.Sub(s.LastSeen) < seenEvery {
		return s, one, err
	}
	err = m.note(ctx, &s, func(b *entryBody) { b.LastSeen = now })
	if errors.Is(err, metering.ErrVersion) { // another request of the session was first
		err = nil
	}
	return s, one, err
}

// note edits what is stored of a session.
func (m Members) note(ctx context.Context, s *Session, edit func(*entryBody)) error {
	b, err := s.body()
	if err != nil {
		return err
	}
	edit(&b)
	changed := s.record
	if changed.Body, err = json.Marshal(b); err != nil {
		return err
	}
	if err = m.Store.PutRecords(ctx, changed); err == nil {
		changed.Version++
		s.record, s.LastSeen = changed, b.LastSeen
	}
	return err
}

// Sessions lists the sessions of an account that have not ended, the oldest first.
func (m Members) Sessions(ctx context.Context, account metering.AccountID) ([]Session, error) {
	all, err := list(m.Store.Records(ctx, metering.RecordFilter{Kind: sessionKind, Account: account}), parseSession)
	now := m.now()
	return slices.DeleteFunc(all, func(s Session) bool { return s.ended(now) }), err
}

// End ends a session of an account.
func (m Members) End(ctx context.Context, account metering.AccountID, id string) error {
	for range versionTries {
		r, err := m.Store.Record(ctx, account, sessionKind, id)
		if err != nil {
			return err
		}
		r.Body = nil
		if err := m.Store.PutRecords(ctx, r); !errors.Is(err, metering.ErrVersion) {
			return err
		}
	}
	return fmt.Errorf("ending a session: %w", metering.ErrVersion)
}

// Tidy removes links and sessions that have ended for certain, and returns how many.
func (m Members) Tidy(ctx context.Context) (removed int, err error) {
	now := m.now()
	for kind, age := range map[string]time.Duration{linkKind: LinkTime, sessionKind: SessionTime} {
		n, err := metering.Forget(ctx, m.Store, metering.RecordFilter{Kind: kind, Before: now.Add(-age)})
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// list reads records one by one, up to the first error.
func list[T any](records iter.Seq2[metering.Record, error], parse func(metering.Record) (T, error)) ([]T, error) {
	found := []T{}
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		one, err := parse(r)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// Ends is when a session ends at the latest.
func (s Session) Ends() time.Time { return s.Began.Add(SessionTime) }
