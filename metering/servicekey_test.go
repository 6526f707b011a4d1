package metering_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first caller makes the key, all others find it, and a revoked key is not recreated automatically.
func TestServiceKey(t *testing.T) {
	admin := metering.Admin{Store: memory.New(memory.Config{})}
	account, err := admin.CreateAccount(t.Context(), "test", "free")
	require.NoError(t, err)
	keys := make([]metering.Key, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			keys[i], err = admin.ServiceKey(t.Context(), account.ID, "watches")
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, key := range keys {
		assert.Equal(t, keys[0].ID, key.ID)
	}
	assert.Equal(t, metering.Scopes(), keys[0].Scopes)

	_, err = admin.RevokeKey(t.Context(), keys[0].ID, "")
	require.NoError(t, err)
	_, err = admin.ServiceKey(t.Context(), account.ID, "watches")
	_, refused := errors.AsType[*metering.RefusedError](err)
	require.True(t, refused, err)
	renewed, err := admin.RenewServiceKey(t.Context(), account.ID, "watches")
	require.NoError(t, err)
	key, err := admin.ServiceKey(t.Context(), account.ID, "watches")
	require.NoError(t, err)
	assert.Equal(t, renewed.ID, key.ID)
	_, err = admin.ServiceKey(t.Context(), "acc_none", "watches")
	assert.Error(t, err)
}

// A slowStore calls a hook right after a record was read.
type slowStore struct {
	metering.Store
	meanwhile func()
}

func (s *slowStore) Record(ctx context.Context, account metering.AccountID, kind, id string) (metering.Record, error) {
	r, err := s.Store.Record(ctx, account, kind, id)
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return r, err
}

// The slower of two callers takes the key of the faster one, and leaves no working key of its own.
func TestServiceKeyOfAnother(t *testing.T) {
	slow := &slowStore{Store: memory.New(memory.Config{})}
	admin := metering.Admin{Store: slow}
	account, err := admin.CreateAccount(t.Context(), "test", "free")
	require.NoError(t, err)
	var first metering.Key
	slow.meanwhile = func() {
		first, err = metering.Admin{Store: slow.Store}.ServiceKey(t.Context(), account.ID, "watches")
		require.NoError(t, err)
	}
	second, err := admin.ServiceKey(t.Context(), account.ID, "watches")
	require.NoError(t, err)
	assert.Equal(t, first.ID, second.ID)
	keys, err := metering.Collect(slow.Keys(t.Context(), metering.KeyFilter{Account: account.ID}))
	require.NoError(t, err)
	for _, k := range keys {
		assert.Equal(t, k.ID == first.ID, k.RevokedAt == nil, k.ID)
	}
}
