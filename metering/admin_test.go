package metering

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

func TestCreateKey(t *testing.T) {
	expiry := time.Now().Add(time.Hour)
	list := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	h := newHouse(t, "pack", func(r *KeyRequest) {
		*r = KeyRequest{Account: r.Account, Name: "naïve ✓", Environment: Test,
			Scopes:    []Scope{WebRead, DNSRead, WebRead},
			ExpiresAt: &expiry, IPAllowlist: list}
	})
	want := Key{
		ID: h.key.ID, Version: 1, Account: h.account.ID, Name: "naïve ✓", Environment: Test,
		Scopes: []Scope{DNSRead, WebRead}, Hash: h.secret.Hash(), DisplayPrefix: h.secret.DisplayPrefix(),
		IPAllowlist: list, CreatedAt: h.now, ExpiresAt: &expiry,
	}
	equal(t, want, h.key)
	equal(t, Test, h.secret.Environment())
	stored, err := h.Key(t.Context(), h.key.ID)
	noError(t, err)
	equal(t, want, stored, "what is returned is what is stored")
	list[0] = netip.Prefix{}
	equal(t, "192.0.2.0/24", stored.IPAllowlist[0].String(), "the caller's list is its own")
}

func TestCreateKeyRefuses(t *testing.T) {
	h := newHouse(t, "pack", nil)
	for name, c := range map[string]struct {
		field string
		spoil func(*KeyRequest)
	}{
		"no name":            {"name", func(r *KeyRequest) { r.Name = "" }},
		"long name":          {"name", func(r *KeyRequest) { r.Name = strings.Repeat("é", 65) }},
		"control character":  {"name", func(r *KeyRequest) { r.Name = "a\x1b[31m" }},
		"invalid UTF-8":      {"name", func(r *KeyRequest) { r.Name = "a\xff" }},
		"environment":        {"environment", func(r *KeyRequest) { r.Environment = "prod" }},
		"no scopes":          {"scopes", func(r *KeyRequest) { r.Scopes = nil }},
		"unknown scope":      {"scopes", func(r *KeyRequest) { r.Scopes = []Scope{DNSRead, "dns:write"} }},
		"expired":            {"expires_at", func(r *KeyRequest) { r.ExpiresAt = new(h.now) }},
		"zero prefix":        {"ip_allowlist", func(r *KeyRequest) { r.IPAllowlist = make([]netip.Prefix, 1) }},
		"too many addresses": {"ip_allowlist", func(r *KeyRequest) { r.IPAllowlist = make([]netip.Prefix, maxAllowlist+1) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := KeyRequest{Account: h.account.ID, Name: strings.Repeat("é", 64), Scopes: []Scope{DNSRead}}
			_, _, err := h.admin.CreateKey(t.Context(), r)
			noError(t, err)
			keys := len(h.keys)
			c.spoil(&r)
			key, secret, err := h.admin.CreateKey(t.Context(), r)
			badField(t, err, c.field)
			equal(t, Key{}, key)
			equal(t, "", secret.Reveal())
			equal(t, keys, len(h.keys), "nothing was stored")
		})
	}
	_, _, err := h.admin.CreateKey(t.Context(), KeyRequest{Account: "acc_x", Name: "x", Scopes: []Scope{DNSRead}})
	errorIs(t, err, ErrNotFound)
}

func TestCreateKeyWithoutEntropy(t *testing.T) {
	h := newHouse(t, "pack", nil)
	dry := errors.New("dry")
	h.admin.Random = iotest.ErrReader(dry)
	_, _, err := h.admin.CreateKey(t.Context(), KeyRequest{Account: h.account.ID, Name: "x", Scopes: []Scope{DNSRead}})
	errorIs(t, err, dry)
	_, _, _, err = h.admin.RotateKey(t.Context(), h.key.ID, 0)
	errorIs(t, err, dry)
}

func TestAccounts(t *testing.T) {
	h := newHouse(t, "pack", nil)
	equal(t, Account{ID: h.account.ID, Version: 1, Name: "example", Plan: "pack", CreatedAt: h.now}, h.account)
	for name, c := range map[string]struct{ field, account, plan string }{
		"no name": {"name", "", "pack"},
		"no plan": {"plan", "example", "gold"},
	} {
		_, err := h.admin.CreateAccount(t.Context(), c.account, PlanID(c.plan))
		badField(t, err, c.field, "%s", name)
	}

	changed, err := h.admin.SetAccount(t.Context(), h.account.ID, func(a *Account) {
		*a = Account{ID: "acc_other", Name: "new", Plan: "agency", OverageEnabled: true, OverageBudgetCents: new(int64(5))}
	})
	noError(t, err)
	want := Account{ID: h.account.ID, Version: 2, Name: "new", Plan: "agency", OverageEnabled: true,
		OverageBudgetCents: new(int64(5)), CreatedAt: h.now, Agreement: Agreement{PlanSince: PeriodOf(h.now)}}
	equal(t, want, changed, "id, version and creation are not for changing")
	stored, err := h.Account(t.Context(), h.account.ID)
	noError(t, err)
	equal(t, want, stored)

	_, err = h.admin.SetAccount(t.Context(), h.account.ID, func(a *Account) { a.OverageBudgetCents = new(int64(-1)) })
	badField(t, err, "overage_budget_cents")
	_, err = h.admin.SetAccount(t.Context(), "acc_none", func(*Account) {})
	errorIs(t, err, ErrNotFound)
}

func TestRotateKey(t *testing.T) {
	h := newHouse(t, "pack", func(r *KeyRequest) {
		r.ExpiresAt = new(time.Now().Add(90 * 24 * time.Hour))
		r.IPAllowlist = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	created := h.now
	h.now = h.now.Add(time.Hour)
	oldKey, newKey, secret, err := h.admin.RotateKey(t.Context(), h.key.ID, DefaultGrace)
	noError(t, err)

	wantOld := h.key
	wantOld.Version, wantOld.RotatedTo, wantOld.RevokedReason = 2, newKey.ID, RevokedRotation
	wantOld.GraceUntil = new(h.now.Add(24 * time.Hour))
	equal(t, wantOld, oldKey)
	equal(t, KeyRotating, oldKey.State(h.now.Add(24*time.Hour-1)))
	equal(t, KeyRevoked, oldKey.State(h.now.Add(24*time.Hour)))

	wantNew := h.key
	wantNew.ID, wantNew.RotatedFrom, wantNew.CreatedAt = newKey.ID, h.key.ID, h.now
	wantNew.Hash, wantNew.DisplayPrefix = secret.Hash(), secret.DisplayPrefix()
	equal(t, wantNew, newKey)
	isTrue(t, newKey.ID != oldKey.ID && newKey.Hash != oldKey.Hash && created.Before(newKey.CreatedAt))

	for _, want := range []Key{oldKey, newKey} {
		stored, err := h.Key(t.Context(), want.ID)
		noError(t, err)
		equal(t, want, stored)
	}
	_, _, _, err = h.admin.RotateKey(t.Context(), h.key.ID, DefaultGrace)
	badField(t, err, "id", "a key is rotated once")
	_, third, _, err := h.admin.RotateKey(t.Context(), newKey.ID, 0)
	noError(t, err)
	equal(t, newKey.ID, third.RotatedFrom)
	stored, err := h.Key(t.Context(), newKey.ID)
	noError(t, err)
	equal(t, KeyRevoked, stored.State(h.now), "without grace it ends at once")
}

func TestRotateKeyRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		field string
		grace time.Duration
		spoil func(*Key)
	}{
		"negative grace": {"grace", -1, func(*Key) {}},
		"endless grace":  {"grace", MaxGrace + 1, func(*Key) {}},
		"revoked":        {"id", MaxGrace, func(k *Key) { k.RevokedAt = new(time.Now().Add(-time.Hour)) }},
		"expired":        {"id", 0, func(k *Key) { k.ExpiresAt = new(time.Now().Add(-time.Hour)) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, "pack", nil)
			h.admin.Clock = time.Now
			h.changeElsewhere(c.spoil)
			_, _, _, err := h.admin.RotateKey(t.Context(), h.key.ID, c.grace)
			badField(t, err, c.field)
			equal(t, 1, len(h.keys))
		})
	}
	_, _, _, err := newHouse(t, "pack", nil).admin.RotateKey(t.Context(), "key_none", 0)
	errorIs(t, err, ErrNotFound)
}

func TestRevokeKey(t *testing.T) {
	h := newHouse(t, "pack", nil)
	_, err := h.admin.RevokeKey(t.Context(), h.key.ID, "boredom")
	badField(t, err, "reason")
	_, err = h.admin.RevokeKey(t.Context(), "key_none", "")
	errorIs(t, err, ErrNotFound)

	key, err := h.admin.RevokeKey(t.Context(), h.key.ID, RevokedLeak)
	noError(t, err)
	equal(t, KeyRevoked, key.State(h.now), "at once, not from the next instant on")
	equal(t, RevokedLeak, key.RevokedReason)
	revoked := h.now
	h.now = h.now.Add(time.Hour)
	again, err := h.admin.RevokeKey(t.Context(), h.key.ID, RevokedManual)
	noError(t, err)
	equal(t, key, again)
	equal(t, revoked, *again.RevokedAt, "the first revocation stands")
}

func TestRevokeKeyInGrace(t *testing.T) {
	h := newHouse(t, "pack", nil)
	_, _, _, err := h.admin.RotateKey(t.Context(), h.key.ID, time.Hour)
	noError(t, err)
	key, err := h.admin.RevokeKey(t.Context(), h.key.ID, "")
	noError(t, err)
	equal(t, KeyRevoked, key.State(h.now))
	equal(t, RevokedManual, key.RevokedReason)
}

// Another writer is first: the change is applied to the newer version, and not lost.
func TestAdminTriesAgain(t *testing.T) {
	h := newHouse(t, "pack", nil)
	h.raced = func(put func(Key) error, k Key) error {
		k = h.keys[k.ID]
		k.Name = "renamed"
		return put(k)
	}
	key, err := h.admin.RevokeKey(t.Context(), h.key.ID, "")
	noError(t, err)
	equal(t, "renamed", key.Name)
	equal(t, 3, key.Version)
}

func TestConcurrentRotationsMakeOneSuccessor(t *testing.T) {
	h := newHouse(t, "pack", nil)
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, _, _, err := h.admin.RotateKey(t.Context(), h.key.ID, time.Hour); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	equal(t, 1, won.Load())
	equal(t, 2, len(h.keys))
}

// Overage is not switched on where the plan sells none.
func TestOverageOfHardCap(t *testing.T) {
	h := newHouse(t, "pack", nil)
	h.admin.DowngradeNow = true
	for id, plan := range DefaultPlans() {
		_, err := h.admin.SetAccount(t.Context(), h.account.ID, func(a *Account) { a.Plan, a.OverageEnabled = id, false })
		noError(t, err)
		_, err = h.admin.SetAccount(t.Context(), h.account.ID, func(a *Account) { a.OverageEnabled = true })
		if plan.HasHardCap() {
			badField(t, err, "overage", "%s", id)
		} else {
			noError(t, err)
		}
	}
}
