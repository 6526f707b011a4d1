package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// Role is the set of permissions of a member.
type Role string

// The roles. Each includes the permissions of those after it.
const (
	Owner     Role = "owner"     // everything
	Developer Role = "developer" // all but members, acts of billing, and the account itself
	Viewer    Role = "viewer"    // read
)

// Roles returns all roles.
func Roles() []Role { return []Role{Owner, Developer, Viewer} }

// May reports whether the role includes the permissions of another.
func (r Role) May(needed Role) bool {
	mine := slices.Index(Roles(), r)
	return mine >= 0 && mine <= slices.Index(Roles(), needed)
}

const (
	// kind is that of the records that hold members.
	kind = "member"
	// maxEmail is the longest address that SMTP transports (RFC 5321 section 4.5.3.1.3).
	maxEmail = 254
)

// maxMembers bounds the members of an account.
var maxMembers = int(budget.Of(budget.Members).Account)

// A Member is an e-mail address that may administer an account.
type Member struct {
	Account metering.AccountID `json:"-"`
	Email   string             `json:"email"`
	Role    Role               `json:"role"`
	AddedAt time.Time          `json:"-"`

	record metering.Record // from which it was read
}

// Members administers members, links and sessions. It has no state. Only Store is required. Errors are
// *[metering.FieldError] for bad input, [metering.ErrNotFound], or the store's.
type Members struct {
	Store metering.Records
	Clock func() time.Time // nil means time.Now
}

func (m Members) now() time.Time { return metering.Now(m.Clock) }

// ParseEmail returns an address in the form by which members are known: in lower case, without a display name. An
// address with characters outside ASCII is refused, since letters that look alike would be different members. The
// error is a *metering.FieldError.
func ParseEmail(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > maxEmail ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\`, r) }) {
		return "", &metering.FieldError{Field: "email", Reason: "must be a mail address such as ada@example.com"}
	}
	return text, nil
}

// ID names the record of an address in each of its accounts.
func id(email string) string {
	hash := sha256.Sum256([]byte(email))
	return "mem_" + hex.EncodeToString(hash[:16])
}

// ID returns the name of a member in URLs of pages.
func (m Member) ID() string { return m.record.ID }

func parseMember(r metering.Record) (m Member, err error) {
	err = read(r, &m)
	m.Account, m.AddedAt, m.record = r.Account, r.At, r
	return m, err
}

// Add makes an address a member.
func (m Members) Add(ctx context.Context, account metering.AccountID, email string, role Role) (Member, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return Member{}, err
	}
	if err := checkRole(role); err != nil {
		return Member{}, err
	}
	added := Member{account, email, role, m.now(), metering.Record{Account: account, Kind: kind, ID: id(email)}}
	added.record.At = added.AddedAt
	added.record.Body = metering.RecordBody(added)
	err = metering.Retry(func() error {
		turn, err := metering.CountGuard(ctx, m.Store, account, kind)
		if err != nil {
			return err
		}
		list, err := m.List(ctx, account)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(list, func(o Member) bool { return o.Email == email }):
			return &metering.FieldError{Field: "email", Reason: "is a member already"}
		case len(list) >= maxMembers:
			return &metering.FieldError{Field: "email", Reason: fmt.Sprintf(
				"cannot be added: the account has %d members, which is the most", len(list))}
		}
		return m.Store.PutRecords(ctx, added.record, turn)
	})
	if err != nil {
		return Member{}, err
	}
	added.record.Version++
	return added, nil
}

func checkRole(role Role) error {
	if !slices.Contains(Roles(), role) {
		return &metering.FieldError{Field: "role", Reason: "must be owner, developer or viewer"}
	}
	return nil
}

// List lists the members of an account in the order in which they were added.
func (m Members) List(ctx context.Context, account metering.AccountID) ([]Member, error) {
	return m.list(ctx, metering.RecordFilter{Kind: kind, Account: account})
}

// Of lists the accounts that an address is a member of.
func (m Members) Of(ctx context.Context, email string) ([]Member, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return nil, err
	}
	return m.list(ctx, metering.RecordFilter{Kind: kind, ID: id(email)})
}

func (m Members) list(ctx context.Context, f metering.RecordFilter) ([]Member, error) {
	return metering.Collect(metering.ParseRecords(m.Store.Records(ctx, f), parseMember))
}

// ByID returns a member by the name that its record has.
func (m Members) ByID(ctx context.Context, account metering.AccountID, id string) (Member, error) {
	r, err := m.Store.Record(ctx, account, kind, id)
	if err != nil {
		return Member{}, err
	}
	return parseMember(r)
}

// Member returns the member with an address.
func (m Members) Member(ctx context.Context, account metering.AccountID, email string) (Member, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return Member{}, err
	}
	return m.ByID(ctx, account, id(email))
}

// SetRole gives a member another role. The last owner stays one.
func (m Members) SetRole(ctx context.Context, account metering.AccountID, email string, role Role) (Member, error) {
	if err := checkRole(role); err != nil {
		return Member{}, err
	}
	return m.change(ctx, account, email, role)
}

// change gives a member another role, or removes the member if the role is empty. To demote or remove an owner, it
// rewrites another owner unchanged in the same transaction: of two calls that together would leave the account without
// an owner, one gets ErrVersion and retries.
func (m Members) change(
	ctx context.Context, account metering.AccountID, email string, to Role,
) (changed Member, err error) {
	err = metering.Retry(func() error {
		if changed, err = m.Member(ctx, account, email); err != nil {
			return err
		}
		var records []metering.Record
		if changed.Role == Owner && to != Owner {
			all, err := m.List(ctx, account)
			if err != nil {
				return err
			}
			other := slices.IndexFunc(all, func(o Member) bool { return o.Role == Owner && o.Email != changed.Email })
			if other < 0 {
				return &metering.FieldError{Field: "email", Reason: "is the last owner, and an account keeps one"}
			}
			records = append(records, all[other].record)
		}
		changed.Role, changed.record.Body = to, nil
		if to != "" {
			changed.record.Body = metering.RecordBody(changed)
		}
		return m.Store.PutRecords(ctx, append(records, changed.record)...)
	})
	return changed, err
}

// put stores a session, or a link, with further records, in one transaction.
func (m Members) put(ctx context.Context, s *Session, with ...metering.Record) (err error) {
	s.record.Body = metering.RecordBody(s)
	if err = m.Store.PutRecords(ctx, append(with, s.record)...); err == nil {
		s.record.Version++
	}
	return err
}

func read(r metering.Record, into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return fmt.Errorf("reading %s %s: %w", r.Kind, r.ID, err)
	}
	return nil
}
