package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

// Many accounts charge at once on three servers, whose statements travel together: no account is oversold, every
// charge is there once, and one that PostgreSQL refuses takes no other along.
func TestServersChargeTogether(t *testing.T) {
	list, op := servers(t, 3, meteringtest.Tiny)
	const accounts, each = 40, 10 // as many credits as the plan has
	for i := range accounts + 1 { // charges of the last one are refused
		op := accountOp(op, i)
		require.NoError(t, list[0].PutAccount(t.Context(), metering.Account{ID: op.Account, Plan: meteringtest.Tiny}))
		key := metering.Key{ID: op.Key, Account: op.Account, Hash: [32]byte{2, byte(i)}}
		require.NoError(t, list[0].PutKeys(t.Context(), key))
	}
	var charged, refused, broken atomic.Int64
	var wg sync.WaitGroup
	for g := range 48 {
		wg.Go(func() {
			s, dice := list[g%len(list)], rand.New(rand.NewPCG(1, uint64(g)))
			for i := range 25 {
				op := accountOp(op, dice.IntN(accounts))
				op.RequestID = fmt.Sprint("req_", g, "_", i)
				if dice.IntN(20) == 0 {
					op = accountOp(op, accounts)
					op.Endpoint = "no text \x00"
				}
				begun, err := s.begin(op, 0)
				if errors.As(err, new(*metering.QuotaError)) {
					refused.Add(1)
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				_, err = list[dice.IntN(len(list))].Settle(context.Background(), *begun.Ticket, metering.Outcome{At: s.clock.Now()})
				switch {
				case op.Endpoint != "POST /x":
					broken.Add(1)
					assert.ErrorContains(t, err, "invalid byte sequence")
					assert.NoError(t, s.Cancel(t.Context(), *begun.Ticket))
				case assert.NoError(t, err):
					charged.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Positive(t, broken.Load())
	require.Positive(t, refused.Load())
	require.LessOrEqual(t, charged.Load(), int64(accounts*each))
	audit, err := list[0].Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
	require.Equal(t, charged.Load(), audit.Entries)
	require.Zero(t, queryInt(t, list[0].url, "SELECT count(*) FROM holds"))
	require.Equal(t, charged.Load(), queryInt(t, list[0].url, "SELECT sum(credits)::bigint FROM taken"))
}

func accountOp(op metering.Op, i int) metering.Op {
	op.Account, op.Key = metering.AccountID(fmt.Sprintf("acc_%d", i)), metering.KeyID(fmt.Sprintf("key_%d", i))
	return op
}
