package metering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultGrace is how long a rotated key keeps working by default.
	DefaultGrace = 24 * time.Hour
	// MaxGrace is the longest that a rotated key may go on working.
	MaxGrace = 30 * 24 * time.Hour
	// MaxNameLength bounds the name of an account or a key, in characters.
	MaxNameLength = 64
	// maxAllowlist bounds the address list of a key, because each request walks it.
	maxAllowlist = 100
	// maxTaxBasisPoints is 100 percent in basis points, and maxTaxNote what fits into a line of an invoice.
	maxTaxBasisPoints, maxTaxNote = 10_000, 200
	// versionTries is how often a change is retried after a version conflict.
	versionTries = 8
)

// Scopes returns all scopes, in the order in which a key keeps them.
func Scopes() []Scope { return []Scope{DNSRead, MailRead, MailWrite, WebRead} }

// A FieldError refuses bad administrative input. Nothing was changed.
type FieldError struct {
	Field  string // in the spelling of the wire, such as "ip_allowlist"
	Reason string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// A KeyRequest asks for a new key.
type KeyRequest struct {
	Account     AccountID
	Name        string      // 1 to MaxNameLength characters
	Environment Environment // "" means Live
	Scopes      []Scope     // at least one
	ExpiresAt   *time.Time  // nil: never; else after now
	IPAllowlist []netip.Prefix
	// Announce, if set, receives the secret before the key is stored; if it fails, there is no key.
	Announce func(Secret) error
}

// Admin creates and changes accounts and keys in a store. It keeps nothing itself: a gate on the same store sees each
// change with its next request, gates of other processes within two seconds. Only Store is required. Errors are
// *FieldError for bad input, [ErrNotFound] for an account or key that does not exist, or the store's.
type Admin struct {
	Store        Store
	Plans        Prices           // nil means DefaultPlans
	Clock        func() time.Time // nil means time.Now
	Random       io.Reader        // nil means crypto/rand
	DowngradeNow bool             // a downgrade takes effect immediately, not from the next month on
	// ReplaceAllowances lets imported plans lower the allowance of accounts that have them; see
	// [PlanVersion.ReplacesAllowances].
	ReplaceAllowances bool
}

// Now returns the time of a clock, or of time.Now if that is nil, in UTC and cut to the microsecond, which every store
// can keep: what is stored is then never later than the instant at which it was done.
func Now(clock func() time.Time) time.Time {
	if clock == nil {
		clock = time.Now
	}
	return clock().UTC().Truncate(time.Microsecond)
}

// store returns the store, without which nothing can be administered.
func (a Admin) store() Store {
	if a.Store == nil {
		panic("metering: Admin.Store is nil")
	}
	return a.Store
}

// Time returns the current time of the admin.
func (a Admin) Time() time.Time { return Now(a.Clock) }

// CreateAccount creates an account on a plan, without overage; SetAccount changes that.
func (a Admin) CreateAccount(ctx context.Context, name string, plan PlanID) (Account, error) {
	account := Account{ID: AccountID(newID("acc_", a.Random)), Name: name, Plan: plan, CreatedAt: a.Time()}
	if err := a.checkAccount(account); err != nil {
		return Account{}, err
	}
	if err := a.store().PutAccount(ctx, account); err != nil {
		return Account{}, fmt.Errorf("creating account %s: %w", account.ID, err)
	}
	account.Version++
	return account, nil
}

// SetAccount calls change on an account and its agreements, and stores the result. After a version conflict, change is
// called again on the newer version. A more expensive plan takes effect immediately, a cheaper one from the next month
// on unless DowngradeNow is set, and one in another currency in any case, since a month has one invoice; a plan that is
// set while another is scheduled takes the place of that. ID and CreatedAt stay, and PlanSince follows from the plan.
func (a Admin) SetAccount(ctx context.Context, id AccountID, change func(*Account)) (Account, error) {
	var account Account
	err := Retry(func() error {
		stored, err := a.store().Account(ctx, id)
		if err != nil {
			return err
		}
		now := a.Time()
		old, notes := stored.applyScheduled(now)
		account = old.Clone()
		change(&account)
		account.ID, account.Version, account.CreatedAt = old.ID, old.Version, old.CreatedAt
		account.PlanSince = old.PlanSince
		if err := a.checkAccount(account); err != nil {
			return err
		}
		plans := a.plans().In(PeriodOf(now))
		if account.OverageEnabled && !old.OverageEnabled && plans[account.Plan].HasHardCap() {
			return &FieldError{Field: "overage", Reason: fmt.Sprintf("the plan %q sells no overage", account.Plan)}
		}
		if account.Plan != old.Plan {
			account.Scheduled = nil
			from, to := plans[old.Plan], plans[account.Plan]
			from.Credits = from.Allowance(old)
			changesCurrency := from.Currency != to.Currency && !from.isFree() && !to.isFree()
			if changesCurrency && a.DowngradeNow {
				return &FieldError{Field: "plan", Reason: fmt.Sprintf(
					"the plan %q is billed in %s and this month in %s: it can hold from the next month on",
					to.ID, to.Currency, from.Currency)}
			}
			if changesCurrency || !a.DowngradeNow && comparePlans(to, from, account.AgreedPriceCents) < 0 {
				account.Scheduled = &PlanChange{account.Plan, PeriodOf(now).Next()}
				account.Plan = old.Plan
			} else {
				account.PlanSince = PeriodOf(now)
			}
		}
		if former := old.terms(PeriodOf(now)); !account.terms(PeriodOf(now)).equal(former) {
			notes = append(notes, old.termsRecord("", former, now))
		}
		if err := putTerms(ctx, a.store(), notes); err != nil {
			return err
		}
		return a.store().PutAccount(ctx, account)
	})
	if err != nil {
		return Account{}, wrap(err, "changing account %s", id)
	}
	account.Version++
	return account, nil
}

// CreateKey creates a key and returns it with its secret, which can never be shown again.
func (a Admin) CreateKey(ctx context.Context, r KeyRequest) (Key, Secret, error) {
	if r.Environment == "" {
		r.Environment = Live
	}
	key := Key{
		Account: r.Account, Name: r.Name, Environment: r.Environment, Scopes: normalScopes(r.Scopes),
		ExpiresAt: r.ExpiresAt, IPAllowlist: slices.Clone(r.IPAllowlist),
	}
	if err := a.checkKey(r.Scopes, key); err != nil {
		return Key{}, Secret{}, err
	}
	key, secret, err := a.mint(key)
	if err != nil {
		return Key{}, Secret{}, err
	}
	if r.Announce != nil {
		if err := r.Announce(secret); err != nil {
			return Key{}, Secret{}, fmt.Errorf("announcing a key of account %s: %w", r.Account, err)
		}
	}
	if err := a.store().PutKeys(ctx, key); err != nil {
		return Key{}, Secret{}, fmt.Errorf("creating a key for account %s: %w", r.Account, err)
	}
	key.Version++
	return key, secret, nil
}

// serviceKeyKind is the kind of a [Record] that names the key by which a part of the server acts for an account.
const serviceKeyKind = "acting"

// ServiceKey returns the key by which a part of the server, such as "watches", acts for an account: an ordinary key
// with all scopes, whose secret is discarded. It is made at the first call. A revoked key stays revoked, and is
// returned with a *RefusedError until [Admin.RenewServiceKey] makes another.
func (a Admin) ServiceKey(ctx context.Context, account AccountID, part string) (Key, error) {
	record, err := a.serviceKeyRecord(ctx, account, part)
	if err != nil {
		return Key{}, err
	}
	if len(record.Body) == 0 {
		return a.storeServiceKey(ctx, record)
	}
	key, err := a.store().Key(ctx, KeyID(record.Body))
	if err == nil && key.State(a.Time()) == KeyRevoked {
		err = &RefusedError{Reason: RevokedKey}
	}
	return key, err
}

// RenewServiceKey makes a new key by which a part of the server acts. Of several concurrent calls one wins, and the
// others return its key.
func (a Admin) RenewServiceKey(ctx context.Context, account AccountID, part string) (Key, error) {
	record, err := a.serviceKeyRecord(ctx, account, part)
	if err != nil {
		return Key{}, err
	}
	return a.storeServiceKey(ctx, record)
}

// serviceKeyRecord returns the record that names the key of a part, or a new one.
func (a Admin) serviceKeyRecord(ctx context.Context, account AccountID, part string) (Record, error) {
	record, err := a.store().Record(ctx, account, serviceKeyKind, part)
	if errors.Is(err, ErrNotFound) {
		record, err = Record{Account: account, Kind: serviceKeyKind, ID: part}, nil
	}
	return record, err
}

// storeServiceKey makes a key and stores its id in the record, unless another was stored since the record was read.
func (a Admin) storeServiceKey(ctx context.Context, record Record) (Key, error) {
	key, _, err := a.CreateKey(ctx, KeyRequest{Account: record.Account, Name: record.ID, Scopes: Scopes()})
	if err != nil {
		return Key{}, err
	}
	record.At, record.Body = a.Time(), []byte(key.ID)
	if err = a.store().PutRecords(ctx, record); !errors.Is(err, ErrVersion) {
		return key, err
	}
	if _, err = a.RevokeKey(ctx, key.ID, ""); err != nil {
		return Key{}, err
	}
	return a.ServiceKey(ctx, record.Account, record.ID)
}

// RotateKey replaces a key by a new one with the same account, name, environment, scopes, expiry and
// address list, in one step of the store. The old key works for the grace, 0 to MaxGrace, and answers
// as revoked from then on. A key that is revoked, expired or was rotated before cannot be rotated.
func (a Admin) RotateKey(ctx context.Context, id KeyID, grace time.Duration) (
	oldKey, newKey Key, secret Secret, err error) {
	if grace < 0 || grace > MaxGrace {
		return Key{}, Key{}, Secret{}, &FieldError{Field: "grace", Reason: "must be 0 to 30 days"}
	}
	err = Retry(func() (err error) {
		if oldKey, err = a.store().Key(ctx, id); err != nil {
			return err
		}
		now := a.Time()
		if oldKey.RotatedTo != "" {
			return &FieldError{Field: "id", Reason: "the key was rotated to " + string(oldKey.RotatedTo)}
		}
		if state := oldKey.State(now); state != KeyActive {
			return &FieldError{Field: "id", Reason: "the key is " + string(state)}
		}
		newKey = Key{
			Account: oldKey.Account, Name: oldKey.Name, Environment: oldKey.Environment,
			Scopes: slices.Clone(oldKey.Scopes), ExpiresAt: oldKey.ExpiresAt,
			IPAllowlist: slices.Clone(oldKey.IPAllowlist), RotatedFrom: oldKey.ID,
		}
		if newKey, secret, err = a.mint(newKey); err != nil {
			return err
		}
		until := now.Add(grace)
		oldKey.RotatedTo, oldKey.GraceUntil, oldKey.RevokedReason = newKey.ID, &until, RevokedRotation
		return a.store().PutKeys(ctx, oldKey, newKey)
	})
	if err != nil {
		return Key{}, Key{}, Secret{}, wrap(err, "rotating key %s", id)
	}
	oldKey.Version++
	newKey.Version++
	return oldKey, newKey, secret, nil
}

// RevokeKey revokes a key immediately. Without a reason it is RevokedManual. A key that is revoked already stays as it
// is and is returned without error.
func (a Admin) RevokeKey(ctx context.Context, id KeyID, reason RevokedReason) (Key, error) {
	switch reason {
	case "":
		reason = RevokedManual
	case RevokedManual, RevokedRotation, RevokedLeak:
	default:
		return Key{}, &FieldError{Field: "reason", Reason: "must be manual, rotation or leak"}
	}
	var key Key
	err := Retry(func() (err error) {
		if key, err = a.store().Key(ctx, id); err != nil {
			return err
		}
		now := a.Time()
		if key.State(now) == KeyRevoked {
			return nil
		}
		key.RevokedAt, key.RevokedReason = &now, reason
		if err = a.store().PutKeys(ctx, key); err == nil {
			key.Version++
		}
		return err
	})
	if err != nil {
		return Key{}, wrap(err, "revoking key %s", id)
	}
	return key, nil
}

// mint gives a key an id, a secret and a time of creation.
func (a Admin) mint(key Key) (Key, Secret, error) {
	secret, err := NewSecret(key.Environment, a.Random)
	if err != nil {
		return Key{}, Secret{}, err
	}
	key.ID, key.CreatedAt = KeyID(newID("key_", a.Random)), a.Time()
	key.Hash, key.DisplayPrefix = secret.Hash(), secret.DisplayPrefix()
	return key, secret, nil
}

// Retry repeats a change for as long as another writer was first, within reason.
func Retry(change func() error) (err error) {
	for range versionTries {
		if err = change(); !errors.Is(err, ErrVersion) {
			return err
		}
	}
	return err
}

// wrap adds the operation to an error, except to one that is self-explanatory.
func wrap(err error, format string, args ...any) error {
	if _, ok := errors.AsType[*FieldError](err); ok {
		return err
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func (a Admin) plans() Prices {
	if a.Plans == nil {
		return DefaultPlans()
	}
	return a.Plans
}

func (a Admin) checkAccount(account Account) error {
	if err := checkName(account.Name); err != nil {
		return err
	}
	if _, ok := a.plans().In(PeriodOf(a.Time()))[account.Plan]; !ok {
		return &FieldError{Field: "plan", Reason: fmt.Sprintf("there is no plan %q", account.Plan)}
	}
	switch budget, price := account.OverageBudgetCents, account.AgreedPriceCents; {
	case budget != nil && *budget < 0:
		return &FieldError{Field: "overage_budget_cents", Reason: "must not be negative"}
	case price != nil && *price < 0:
		return &FieldError{Field: "agreed_price_cents", Reason: "must not be negative"}
	case account.Tax.BasisPoints < 0 || account.Tax.BasisPoints > maxTaxBasisPoints:
		return &FieldError{Field: "tax", Reason: "must be 0 to 100 percent"}
	case utf8.RuneCountInString(account.Tax.Note) > maxTaxNote || !utf8.ValidString(account.Tax.Note):
		return &FieldError{Field: "tax_note", Reason: fmt.Sprintf("must have at most %d characters", maxTaxNote)}
	}
	return nil
}

func (a Admin) checkKey(requested []Scope, key Key) error {
	if err := checkName(key.Name); err != nil {
		return err
	}
	if len(requested) == 0 {
		return &FieldError{Field: "scopes", Reason: "must name at least one scope"}
	}
	for _, s := range requested {
		if !slices.Contains(Scopes(), s) {
			return &FieldError{Field: "scopes", Reason: fmt.Sprintf("there is no scope %q", s)}
		}
	}
	if key.ExpiresAt != nil && !key.ExpiresAt.After(a.Time()) {
		return &FieldError{Field: "expires_at", Reason: "must lie in the future"}
	}
	if len(key.IPAllowlist) > maxAllowlist {
		return &FieldError{Field: "ip_allowlist", Reason: fmt.Sprintf("must have at most %d entries", maxAllowlist)}
	}
	for _, p := range key.IPAllowlist {
		if !p.IsValid() {
			return &FieldError{Field: "ip_allowlist", Reason: "must hold addresses and networks"}
		}
	}
	return nil
}

// normalScopes returns the scopes without duplicates, in the order of Scopes.
func normalScopes(requested []Scope) []Scope {
	var list []Scope
	for _, s := range Scopes() {
		if slices.Contains(requested, s) {
			list = append(list, s)
		}
	}
	return list
}

func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > MaxNameLength {
		return &FieldError{Field: "name", Reason: fmt.Sprintf("must have 1 to %d characters", MaxNameLength)}
	}
	if !utf8.ValidString(name) {
		return &FieldError{Field: "name", Reason: "must be valid UTF-8"}
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return &FieldError{Field: "name", Reason: "must not hold control characters"}
		}
	}
	return nil
}
