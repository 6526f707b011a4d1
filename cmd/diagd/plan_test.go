package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// plansIn writes plans.json into a folder of its own: the built-in plans, as edit leaves them.
func plansIn(t testing.TB, edit func(metering.Plans)) (folder, file string) {
	t.Helper()
	plans := metering.DefaultPlans()
	edit(plans)
	folder = t.TempDir()
	file = filepath.Join(folder, plansFile)
	require.NoError(t, os.WriteFile(file, formatPlans(plans), 0o600))
	return folder, file
}

// dearer makes the plan pack dearer; added is a new plan.
func dearer(p metering.Plans) {
	pack := p["pack"]
	pack.PriceCents = new(int64(3900))
	p["pack"] = pack
}

func added(p metering.Plans) {
	plan := p["pack"]
	plan.ID, plan.Name = "mini", "Mini"
	p["mini"] = plan
}

func TestPlans(t *testing.T) {
	month := thisMonth()
	store, _ := newStore(t)
	list := parsed[[]planView](t, "plan", "list", store)
	require.Len(t, list, 5)
	assert.Equal(t, metering.Period{}, list[0].From)
	assert.Len(t, parsed[[]planView](t, "plan", "list", "--limit=2", "--cursor", list[1].name(), store), 2)
	assert.Regexp(t, `(?m)^pack@0000-00 +Pack +29.00 EUR +50000 +60 +0.1 cents a credit `,
		command(t, "plan", "list", store))

	refused := func(want string, args ...string) {
		t.Helper()
		log := newWatched()
		assert.Equal(t, exitUsage, run(t.Context(), append(args, store), log, log))
		assert.Contains(t, log.String(), want)
	}
	_, file := plansIn(t, dearer)
	refused(`the plan "pack" is in force: a new version holds from `+month.Next().String(),
		"plan", "import", file, "--from", month.String())
	made := parsed[[]planView](t, "plan", "import", file, store)
	require.Len(t, made, 1)
	assert.Equal(t, month.Next(), made[0].From)
	assert.Empty(t, parsed[[]planView](t, "plan", "import", file, store), "nothing is new")
	assert.Len(t, parsed[[]planView](t, "plan", "list", store), 6)

	_, file = plansIn(t, added)
	refused("can hold from", "plan", "import", file, "--from", month.Previous().String())
	refused(`there is no plan "mini"`, "account", "create", "--name=a", "--plan=mini")
	made = parsed[[]planView](t, "plan", "import", file, "--from", month.String(), store)
	require.Len(t, made, 1)
	assert.Equal(t, metering.PlanID("mini"), made[0].ID)
	parsed[accountView](t, "account", "create", "--name=a", "--plan=mini", store)
	refused("is not in the list", "plan", "list", "--cursor=x")
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
}

// A new version leaves the accounts that have the plan their allowance, and with --existing it does not.
func TestPlanForExistingAccounts(t *testing.T) {
	next := thisMonth().Next()
	store, _ := newStore(t)
	id := parsed[accountView](t, "account", "create", "--name=Ada", "--plan=pack", store).ID
	parsed[accountView](t, "account", "create", "--name=Eve", "--plan=agency", store)
	_, smaller := plansIn(t, func(p metering.Plans) {
		pack := p["pack"]
		pack.Credits = 40_000
		p["pack"] = pack
	})
	made := parsed[[]importView](t, "plan", "import", smaller, store)
	require.Len(t, made, 1)
	assert.Equal(t, []holderView{{id, 50_000, 50_000}}, made[0].Accounts)
	assert.False(t, made[0].Existing)
	assert.Empty(t, parsed[[]importView](t, "plan", "import", smaller, store), "nothing is new")

	log := newWatched()
	existing := []string{"plan", "import", smaller, "--existing", store}
	assert.Equal(t, exitUsage, run(t.Context(), existing, log, log))
	assert.Contains(t, log.String(), `the plan "pack" has a version that holds from `+next.String()+
		` on, which never changes: another holds from `+next.Next().String())
	existing = append(existing, "--from="+next.Next().String())
	text := command(t, existing...)
	assert.Contains(t, text, string(id)+" has 40000 credits a month with pack@"+next.Next().String()+", 50000 before\n")
	assert.Empty(t, parsed[[]importView](t, existing...), "nothing is new")
	list := parsed[[]planView](t, "plan", "list", store)
	require.Len(t, list, 7)
	assert.Equal(t, []bool{false, true}, []bool{list[5].Existing, list[6].Existing})

	_, larger := plansIn(t, func(p metering.Plans) {
		agency := p["agency"]
		agency.Credits++
		p["agency"] = agency
	})
	text = command(t, "plan", "import", larger, "--from="+next.Next().Next().String(), store)
	assert.Contains(t, text, "agency@")
	assert.Contains(t, text, "pack@")
	assert.NotContains(t, text, "keeps", "a larger allowance is that of all")
	_, smaller = plansIn(t, func(p metering.Plans) {
		agency := p["agency"]
		agency.Credits = 0
		p["agency"] = agency
	})
	text = command(t, "plan", "import", smaller, "--from=9000-01", store)
	assert.Contains(t, text, " keeps its 1000001 credits a month with agency@9000-01\n")
	assert.EqualValues(t, 50_000, parsed[accountView](t, "account", "show", string(id), store).Limit)
	assert.EqualValues(t, 50_000, parsed[usageView](t, "usage", "--account="+string(id), store).Limit)
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
}

// What an account agreed to: a cheaper plan waits for the next month, and lists have pages.
func TestAgreement(t *testing.T) {
	month := thisMonth()
	store, _ := newStore(t)
	id := string(parsed[accountView](t, "account", "create", "--name=Ada", "--plan=pack", store).ID)
	set := func(args ...string) accountView {
		t.Helper()
		return parsed[accountView](t, append([]string{"account", "set", id, store}, args...)...)
	}
	v := set("--plan=agency")
	assert.Equal(t, metering.PlanID("agency"), v.Plan)
	assert.Nil(t, v.Scheduled)
	v = set("--plan=pack")
	assert.Equal(t, metering.PlanID("agency"), v.Plan)
	assert.Equal(t, &metering.PlanChange{Plan: "pack", From: month.Next()}, v.Scheduled)
	assert.Contains(t, command(t, "account", "show", id, store), "agency (pack from ")
	assert.NotNil(t, set("--name=Eve").Scheduled)
	assert.Nil(t, set("--plan=agency").Scheduled, "what was scheduled is taken back")
	assert.Equal(t, metering.PlanID("free"), set("--plan=free", "--now").Plan)

	v = set("--plan=enterprise", "--agreed-price=99900", "--tax=7.7", "--tax-note=MWST")
	assert.EqualValues(t, 99900, *v.AgreedPriceCents)
	assert.Equal(t, metering.Tax{BasisPoints: 770, Note: "MWST"}, v.Tax)
	assert.Equal(t, v, parsed[accountView](t, "account", "show", id, store))
	v = set("--agreed-price=none", "--tax=0", "--tax-note=")
	assert.Nil(t, v.AgreedPriceCents)
	assert.Zero(t, v.Tax)
	for flag, want := range map[string]string{
		"--tax=a": `--tax: "a" is not a percentage`, "--tax=1.234": "--tax: ", "--tax=-1": "--tax: ",
		"--tax=101":         "tax: must be",
		"--agreed-price=-5": `--agreed-price: "-5" is not a number`, "--agreed-price=x": "--agreed-price: ",
	} {
		log := newWatched()
		assert.Equal(t, exitUsage, run(t.Context(), []string{"account", "set", id, flag, store}, log, log), flag)
		assert.Contains(t, log.String(), want)
	}

	all := parsed[[]accountView](t, "account", "list", store)
	require.Len(t, all, 2)
	assert.Equal(t, all[:1], parsed[[]accountView](t, "account", "list", "--limit=1", store))
	behind := parsed[[]accountView](t, "account", "list", "--limit=1", "--cursor", string(all[0].ID), store)
	assert.Equal(t, all[1:], behind)
}

// The first start imports plans.json into the store. A later one reports differences, and sells the store's plans.
func TestPlansOfTheFirstStart(t *testing.T) {
	folder, _ := plansIn(t, added)
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "diag.db")
	s := start(t, store, "--data="+folder)
	s.wait()
	assert.NotContains(t, s.log.String(), "differs")
	assert.Len(t, parsed[[]planView](t, "plan", "list", store), 6)
	other, _ := plansIn(t, dearer)
	s = start(t, store, "--data="+other)
	s.wait()
	assert.Equal(t, 1, strings.Count(s.log.String(), "differs from the plans in the store, which are in force; diagd plan import"))
	assert.Contains(t, s.log.String(), "plans=[pack]")
	assert.Len(t, parsed[[]planView](t, "plan", "list", store), 6)
}

// An older store gets the plans by migrate, which reports what is unknown. Without it nothing is imported.
func TestPlansOfAnOlderStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "diag.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	store := "--store=sqlite:" + path
	_, file := plansIn(t, dearer)
	log := newWatched()
	assert.Equal(t, exitFailed, run(t.Context(), []string{"plan", "import", file, store}, log, log))
	assert.Contains(t, log.String(), "diagd migrate")
	assert.Empty(t, parsed[[]planView](t, "plan", "list", store))
	v := parsed[migrateView](t, "migrate", store)
	assert.Equal(t, []string{"The plans of this program are used for all earlier months, whose plans are not known."}, v.Unknown)
	assert.Len(t, parsed[[]planView](t, "plan", "list", store), 5)
	assert.Empty(t, parsed[migrateView](t, "migrate", store).Unknown)
}

// A server rereads what other processes import.
func TestPlansAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		prices := metering.NewPriceList()
		a := &app{}
		stop, err := a.followPlans(t.Context(), store, prices, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer stop()
		month := metering.PeriodOf(time.Now())
		plans := metering.DefaultPlans()
		require.Equal(t, plans, prices.In(month))
		added(plans)
		_, err = metering.Admin{Store: store}.ImportPlans(t.Context(), plans, month)
		require.NoError(t, err)
		require.NotContains(t, prices.In(month), metering.PlanID("mini"))
		time.Sleep(plansEvery)
		synctest.Wait()
		require.Contains(t, prices.In(month), metering.PlanID("mini"))
	})
}

// A head that is kept elsewhere proves the charges before it, even if all that depends on them was changed.
func TestAuditHead(t *testing.T) {
	month := thisMonth()
	store, secret := newStore(t)
	spend := func() {
		t.Helper()
		s := start(t, store)
		s.secret = secret
		s.post("/text/upper", upper)
		s.post("/http/qr", `{"data":"x"}`)
		s.wait()
	}
	spend()
	file := filepath.Join(t.TempDir(), "head.json")
	text := command(t, "audit", "--head", store)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var head map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &head))
	assert.Equal(t, "1", head["schema_version"])
	assert.EqualValues(t, 2, head["seq"])
	spend()
	v := parsed[auditView](t, "audit", "--against", file, store)
	assert.Empty(t, v.Faults)
	assert.Equal(t, []metering.Period{month}, v.Against.Same)

	conn, err := sqlite.OpenConn(strings.TrimPrefix(store, "--store=sqlite:"), sqlite.OpenReadWrite)
	require.NoError(t, err)
	// A thorough intruder leaves a ledger without chains, as if it were of an earlier version.
	for _, sql := range []string{
		"UPDATE ledger SET credits = 1, chain = NULL", "UPDATE balances SET used = charges, chain = NULL",
		"UPDATE heads SET count = 100 WHERE name = 'unchained'",
	} {
		require.NoError(t, sqlitedb.Exec(conn, sql, nil))
	}
	require.NoError(t, conn.Close())
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
	assert.Contains(t, command(t, "audit", store), "4 charges are not proven by a chain")
	log := newWatched()
	assert.Equal(t, exitFaults, run(t.Context(), []string{"audit", "--against", file, store}, log, log))
	assert.Contains(t, log.String(), "the charges up to number 2 differ from the head")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	assert.Equal(t, exitUsage, run(t.Context(), []string{"audit", "--against", file, store}, log, log))
}
