package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a fault might break is seen, each by itself.
func TestBrokenInvariants(t *testing.T) {
	execute := func(t *testing.T, p *trial, sql string) {
		file, err := sqlitedb.Open(p.file)
		require.NoError(t, err)
		conn, err := file.Connect()
		require.NoError(t, err)
		require.NoError(t, sqlitedb.Exec(conn, sql, nil))
		require.NoError(t, conn.Close())
		require.NoError(t, file.Close())
	}
	for want, spoil := range map[string]func(t *testing.T, p *trial){
		"": func(*testing.T, *trial) {},
		"and is charged 0 times": func(_ *testing.T, p *trial) {
			p.c.ids["purchase-0"] = "req_none"
		},
		"purchases were charged 61 times": func(_ *testing.T, p *trial) {
			delete(p.c.bought, "purchase-000000001")
		},
		"1 replies were not given again": func(_ *testing.T, p *trial) {
			p.c.bought["purchase-000000001"] = [32]byte{1}
		},
		"the audit found": func(t *testing.T, p *trial) {
			execute(t, p, "UPDATE balances SET used = used + 1")
		},
		"replies were not given again as they had been, or not for free": func(t *testing.T, p *trial) {
			execute(t, p, "DELETE FROM replies")
		},
		"before its end": func(t *testing.T, p *trial) {
			store, err := p.open(t.Context(), nil)
			require.NoError(t, err)
			defer store.Close()
			month := metering.PeriodOf(p.begun)
			b := billing.Billing{Store: store, Plans: p.plans, Clock: func() time.Time { return billing.ClosesAt(month) }}
			_, err = b.Close(t.Context(), month)
			require.NoError(t, err)
		},
		"the charge 1 is of ": func(_ *testing.T, p *trial) {
			p.begun = p.begun.AddDate(0, 2, 0)
		},
	} {
		t.Run(want, func(t *testing.T) {
			p := &trial{c: newCustomers(4), begun: time.Now()}
			var err error
			p.tempStore, err = benchFlags{dir: t.TempDir()}.newTempStore(t.Context(), onSQLite)
			require.NoError(t, err)
			p.plans = faultsPlans()
			require.NoError(t, p.createAccounts(t.Context(), fault{name: "none"}))
			for n := range minCharges + 11 {
				p.c.open[fmt.Sprintf("purchase-%09d", n)] = true
			}
			store, err := p.c.settleOn(t.Context(), p.tempStore)
			require.NoError(t, err)
			require.NoError(t, store.Close())
			spoil(t, p)
			require.NoError(t, p.examine(t.Context(), fault{}))
			assert.Equal(t, want == "", len(p.violations) == 0, p.violations)
			assert.Contains(t, strings.Join(p.violations, "\n"), want)
		})
	}
}

func TestFaultsVerdict(t *testing.T) {
	assert.Equal(t, "hold", faultView{}.verdict())
	assert.Equal(t, "BROKEN: a; b", faultView{Broken: []string{"a", "b"}}.verdict())
	assert.Equal(t, "not played: no", faultView{NotPlayed: "no"}.verdict())
	for _, args := range [][]string{{"--only=flood"}, {"--store=sqlite:x"}, {"--store=memory:"},
		{"--store=postgres://a@b/c/d"}, {"now"}, {"--hold=x"}} {
		var log bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), append([]string{"faults"}, args...), &log, &log), "%s", &log)
	}
}
