package metering_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An act is a row of the log before it is done, and with its error afterwards.
func TestAudited(t *testing.T) {
	ctx := t.Context()
	store := memory.New(memory.Config{})
	defer store.Close()
	now := time.Date(2026, time.November, 16, 10, 30, 0, 0, time.UTC)
	act := metering.Act{At: now, Who: "root@host", From: "diagd", What: "account create", Subject: "x"}
	done := 0
	do := func(context.Context) error { done++; return nil }
	require.NoError(t, metering.Audited(ctx, store, act, do), "there is no account yet to write it down with")
	require.Equal(t, 1, done)

	first, err := metering.Admin{Store: store}.CreateAccount(ctx, "first", "free")
	require.NoError(t, err)
	second, err := metering.Admin{Store: store}.CreateAccount(ctx, "second", "free")
	require.NoError(t, err)
	acts := func(account metering.AccountID) (list []metering.Act) {
		list, err := metering.Acts(ctx, store, metering.ActFilter{Account: account})
		require.NoError(t, err)
		return list
	}
	require.NoError(t, metering.Audited(ctx, store, act, func(context.Context) error {
		require.Len(t, acts(""), 1, "it is written before it is done")
		return nil
	}))
	assert.Empty(t, acts(first.ID), "what is done to the server is nobody's business")

	act.Account, act.At, act.What = second.ID, now.Add(time.Minute), "key revoke"
	act.Detail = "a\r\nb\x1b[31m" + strings.Repeat("x", 1000)
	boom := &metering.ReasonError{Reason: "it\ndid not work"}
	require.ErrorIs(t, metering.Audited(ctx, store, act, func(context.Context) error { return boom }), boom)
	list := acts(second.ID)
	require.Len(t, list, 1)
	assert.Equal(t, "it did not work", list[0].Error)
	assert.NotContains(t, list[0].Detail, "\n")
	assert.NotContains(t, list[0].Detail, "\x1b")
	assert.Less(t, len(list[0].Detail), 500)
	all := acts("")
	require.Len(t, all, 2)
	assert.Equal(t, "key revoke", all[0].What, "the newest first")
	before, err := metering.Acts(ctx, store, metering.ActFilter{Before: act.At, Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, all[1:], before)

	act.Account = "acc_none"
	err = metering.Audited(ctx, store, act, do)
	assert.ErrorIs(t, err, metering.ErrNotFound)
	assert.Equal(t, 1, done, "what cannot be written down is not done")

	require.NoError(t, metering.PruneActs(ctx, store, now.Add(metering.ActTime)))
	assert.Len(t, acts(""), 2)
	require.NoError(t, metering.PruneActs(ctx, store, now.Add(metering.ActTime+time.Second)))
	assert.Len(t, acts(""), 1)
}

// The log shows members why an act failed, without server internals.
func TestWhyNothingCameOfAnAct(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "a", "free")
	require.NoError(t, err)
	field := &metering.FieldError{Field: "name", Reason: "must have 1 to 64 characters"}
	driver := errors.New(`ERROR: relation "ledger" does not exist (SQLSTATE 42P01)`)
	_, number := strconv.Atoi("x")
	for _, test := range []struct {
		fault error
		want  string
	}{
		{fmt.Errorf("creating a key: %w", field), "creating a key: name: must have 1 to 64 characters"},
		{fmt.Errorf("key key_1: %w", metering.ErrNotFound), "key key_1: not found"},
		{&metering.RefusedError{Reason: metering.RateLimited}, "refused: rate_limited"},
		{fmt.Errorf("paying: %w", &metering.ReasonError{Reason: "the invoice is paid", Err: driver}), "the invoice is paid"},
		{driver, "it could not be carried out"},
		{fmt.Errorf("reading: %w", number), "it could not be carried out"},
		{json.Unmarshal([]byte("<"), new(int)), "it could not be carried out"},
		{fmt.Errorf("%w: %w", metering.ErrUnavailable, driver), "the server could not read or write what it keeps"},
		{fmt.Errorf("looking: %w", context.DeadlineExceeded), "no answer in time"},
		{&os.PathError{Op: "open", Path: "/srv/private", Err: os.ErrPermission}, "a file could not be read or written"},
		{errors.Join(field, driver, io.EOF), "name: must have 1 to 64 characters; " +
			"the connection ended before the answer was complete"},
	} {
		act := metering.Act{Account: account.ID, At: time.Now(), What: "key create"}
		require.ErrorIs(t, metering.Audited(t.Context(), store, act, func(context.Context) error { return test.fault }), test.fault)
		list, err := metering.Acts(t.Context(), store, metering.ActFilter{Account: account.ID, Limit: 1})
		require.NoError(t, err)
		assert.Equal(t, test.want, list[0].Error)
		assert.Empty(t, diagtest.Leaks(list[0].Error))
	}
}

// What a member writes into a name cannot be taken for another field of the log.
func TestActField(t *testing.T) {
	for value, want := range map[string]string{
		"probe":                "name=probe",
		"":                     `name=""`,
		"Zoë":                  "name=Zoë",
		"two words":            `name="two words"`,
		"x scopes=web:read":    `name="x scopes=web:read"`,
		"scopes=web:read":      `name="scopes=web:read"`,
		`x"`:                   `name="x\""`,
		"a\r\nb":               `name="a\r\nb"`,
		"a\u2028b":             `name="a\u2028b"`,
		"dns:read,web:read":    "name=dns:read,web:read",
		"someone@example.com":  "name=someone@example.com",
		"https://a.example/b?": "name=https://a.example/b?",
	} {
		require.Equal(t, want, metering.ActField("name", value))
	}
}
