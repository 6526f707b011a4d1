package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi"
	hostedsqlite "github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAccounts(t *testing.T) {
	store, _ := newStore(t)
	made := parsed[accountView](t, "account", "create", "--name", "Ada", "--plan", "agency", store)
	assert.Equal(t, metering.PlanID("agency"), made.Plan)
	assert.False(t, made.OverageEnabled)
	id := string(made.ID)

	set := parsed[accountView](t, "account", "set", id,
		"--overage", "on", "--budget-cents", "1250", "--name", "Ada L.", store)
	assert.True(t, set.OverageEnabled)
	assert.EqualValues(t, 1250, *set.OverageBudgetCents)
	assert.Equal(t, "Ada L.", set.Name)
	assert.Equal(t, metering.PlanID("agency"), set.Plan, "what is not named stays")
	set = parsed[accountView](t, "account", "set", id,
		"--budget-cents", "none", "--overage", "off", "--plan", "free", store)
	assert.Nil(t, set.OverageBudgetCents)
	assert.False(t, set.OverageEnabled)
	assert.Equal(t, set, parsed[accountView](t, "account", "show", id, store))

	assert.Len(t, parsed[[]accountView](t, "account", "list", store), 2)
	assert.Regexp(t, `(?m)^ID +NAME +PLAN`, command(t, "account", "list", store))
	assert.Contains(t, command(t, "account", "show", id, store), "Ada L.")
}

// Keys are listed in pages, and searched by name and state.
func TestKeyList(t *testing.T) {
	store, _ := newStore(t)
	var ids []metering.KeyID
	for _, name := range []string{"web one", "web two", "mail"} {
		ids = append(ids, parsed[keyView](t, "key", "create", "--name", name, "--scopes", "dns:read", store).ID)
	}
	command(t, "key", "revoke", string(ids[1]), store)
	all := parsed[[]keyView](t, "key", "list", store)
	require.Len(t, all, 4, "the first is that of the store")
	for _, c := range []struct {
		args []string
		want []metering.KeyID
	}{
		{[]string{"--limit=2"}, []metering.KeyID{all[0].ID, ids[0]}},
		{[]string{"--cursor", string(ids[0])}, ids[1:]},
		{[]string{"--cursor", string(ids[0]), "--limit=1"}, ids[1:2]},
		{[]string{"--contains=WEB"}, ids[:2]},
		{[]string{"--contains=web", "--state=active"}, ids[:1]},
		{[]string{"--state=revoked"}, ids[1:2]},
		{[]string{"--contains", all[3].DisplayPrefix}, ids[2:]},
		{[]string{"--contains", string(ids[2])}, ids[2:]},
		{[]string{"--contains=nothing"}, []metering.KeyID{}},
	} {
		list := parsed[[]keyView](t, append([]string{"key", "list", store}, c.args...)...)
		assert.Equal(t, c.want, kit.Map(list, func(v keyView) metering.KeyID { return v.ID }), "%v", c.args)
	}
	assert.Equal(t, "[]\n", command(t, "key", "list", "--contains=nothing", "--json", store))
	assert.Regexp(t, `^ID +NAME +PREFIX[^\n]+\n$`, command(t, "key", "list", "--contains=nothing", store))
	for says, args := range map[string][]string{
		"--limit: must be 0 or more": {"--limit=-1"}, "is not in the list": {"--cursor=key_none"},
		"--state: \"odd\" is not one of": {"--state=odd"},
	} {
		_, err := fails(t, exitUsage, append([]string{"key", "list", store}, args...)...)
		assert.Contains(t, err, says)
	}
}

func TestKeys(t *testing.T) {
	store, _ := newStore(t)
	made := parsed[keyView](t, "key", "create", "--name", "ci", "--scopes", "mail:read,dns:read", "--environment", "test",
		"--ip", "192.0.2.0/24,2001:db8::1", "--expires-in", "24h", store)
	assert.Regexp(t, `^svc_test_[a-z2-7]{36}$`, made.Secret)
	assert.Equal(t, made.Secret[:len(made.DisplayPrefix)], made.DisplayPrefix)
	assert.Equal(t, []metering.Scope{metering.DNSRead, metering.MailRead}, made.Scopes)
	assert.Len(t, made.IPAllowlist, 2)
	assert.WithinDuration(t, time.Now().Add(24*time.Hour), *made.ExpiresAt, time.Minute)

	next := parsed[keyView](t, "key", "rotate", string(made.ID), "--grace", "1h", store)
	assert.Equal(t, made.ID, next.RotatedFrom)
	assert.NotEqual(t, made.Secret, next.Secret)
	list := parsed[[]keyView](t, "key", "list", store)
	require.Len(t, list, 3)
	assert.Equal(t, metering.KeyRotating, list[1].State)
	assert.Equal(t, next.ID, list[1].RotatedTo)

	gone := parsed[keyView](t, "key", "revoke", string(made.ID), store)
	assert.Equal(t, metering.KeyRevoked, gone.State)
	assert.Regexp(t, `(?m)^key_\S+ +ci +svc_test_\S{8} +revoked `, command(t, "key", "list", store))
	assert.Contains(t, command(t, "key", "list", store), "dns:read,mail:read ", "as --scopes reads them")
	assert.Contains(t, command(t, "key", "create", "--name", "b", "--scopes", "web:read", store), "cannot be shown again")

	exact := parsed[keyView](t, "key", "create", "--name=exact", "--scopes=dns:read", "--expires-at=2099-12-31T23:59:59Z", store)
	assert.Equal(t, "2099-12-31T23:59:59Z", exact.ExpiresAt.Format(time.RFC3339))
	for _, wrong := range [][]string{{"--expires-at=tomorrow"}, {"--expires-at=2099-12-31T23:59:59Z", "--expires-in=1h"},
		{"--expires-in=-1h"}} {
		log := newWatched()
		args := append([]string{"key", "create", "--name=x", "--scopes=dns:read", store}, wrong...)
		assert.Equal(t, exitUsage, run(t.Context(), args, log, log), wrong)
		assert.Contains(t, log.String(), "--expires-")
	}

	command(t, "account", "create", "--name", "other", store)
	log := newWatched()
	assert.Equal(t, exitUsage, run(t.Context(), []string{"key", "list", store}, log, log))
	assert.Equal(t, "diagd: there are 2 accounts: name one with --account\n", log.String())
}

func TestUsage(t *testing.T) {
	month := thisMonth()
	store, secret := newStore(t)
	s := start(t, store)
	s.secret = secret
	s.post("/text/upper", upper)
	s.post("/text/upper", upper)
	s.post("/http/qr", `{"data":"x"}`)
	s.post("/text/upper", `{"texts":"refused, and free"}`)
	s.wait()

	used := parsed[usageView](t, "usage", store)
	assert.EqualValues(t, 4, used.Used)
	assert.EqualValues(t, 3, used.Charges)
	assert.Equal(t, used.Limit-4, used.Remaining)
	assert.Equal(t, month, used.Period)
	assert.Equal(t, []billing.Sum{
		{Name: "POST /public/v1/http/qr", Credits: 2, Charges: 1}, {Name: "POST /public/v1/text/upper", Credits: 2, Charges: 2},
	}, used.ByEndpoint)
	require.Len(t, used.ByKey, 1)
	assert.Equal(t, used, parsed[usageView](t, "usage", "--account", string(used.Account), store))
	assert.Contains(t, command(t, "usage", store), "4 of 1000000000 credits in 3 charges")
	assert.Equal(t, used.ByKey[:1], parsed[usageView](t, "usage", "--limit=1", store).ByKey)
	_, wrong := fails(t, exitUsage, "usage", "--limit=-1", store)
	assert.Contains(t, wrong, "--limit: must be 0 or more")

	past := parsed[usageView](t, "usage", "--month", "2020-02", store)
	assert.Equal(t, metering.Period{Year: 2020, Month: time.February}, past.Period)
	assert.Zero(t, past.Used)
	assert.NotNil(t, past.ByEndpoint, "lists are never null")

	audit := parsed[auditView](t, "audit", store)
	assert.Equal(t, auditView{
		Accounts: 1, Entries: 3, Credits: 4, Invoices: &auditedInvoices{}, Faults: []metering.AuditFault{},
	}, audit)
}

// An audit with violations fails. Its JSON is in snake_case.
func TestAuditFaults(t *testing.T) {
	var out bytes.Buffer
	_ = (&app{stdout: &out, json: true}).showAudit(metering.Audit{Faults: []metering.AuditFault{
		{Account: "acc_1", Period: metering.Period{Year: 2026, Month: 1}, Detail: "it differs"},
	}})
	assert.JSONEq(t, `{"accounts_count":0,"entries_count":0,"credits":0,"unproven_count":0,
		"faults":[{"account":"acc_1","period":"2026-01","detail":"it differs"}]}`, out.String())
	log := newWatched()
	a := &app{stdout: log}
	err := a.showAudit(metering.Audit{Faults: []metering.AuditFault{
		{Account: "acc_1", Period: metering.Period{Year: 2026, Month: 1}, Detail: "the balance is 3, the ledger says 4"},
	}})
	assert.EqualError(t, err, "the audit found faults (1)")
	assert.Regexp(t, `(?m)^FAULT +acc_1 +2026-01 +the balance is 3, the ledger says 4$`, log.String())
}

func TestMigrate(t *testing.T) {
	store, _ := newStore(t)
	at := migrateView{
		sqlite.SchemaVersion, sqlite.SchemaVersion, hostedsqlite.SchemaVersion, hostedsqlite.SchemaVersion, []string{},
	}
	assert.Equal(t, at, parsed[migrateView](t, "migrate", store))
	assert.Equal(t, 2, strings.Count(command(t, "migrate", store), "the current one"))

	empty := filepath.Join(t.TempDir(), "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	assert.Equal(t, 2, strings.Count(command(t, "migrate", "--store=sqlite:"+empty), "was migrated from version 0 to "))

	log := newWatched()
	assert.Equal(t, exitUsage, run(t.Context(), []string{"migrate", "--store=memory:"}, log, log))
}

func TestOpenAPI(t *testing.T) {
	assert.JSONEq(t, string(httpapi.Endpoints().OpenAPI()), command(t, "openapi"))
}

func TestVersion(t *testing.T) {
	assert.Equal(t, httpapi.Version, parsed[buildinfo.Info](t, "version").Contract)
	assert.Contains(t, command(t, "version"), "\ncontract "+httpapi.Version+"\n")
	assert.Equal(t, command(t, "version"), command(t, "--version"))
}

// The JSON of every command has members in snake_case, and no null where a list is empty.
func TestJSONNames(t *testing.T) {
	store, _ := newStore(t)
	for _, args := range []string{
		"account list", "key list", "spf list", "usage", "audit", "migrate", "data list", "config check", "version",
		"key create --name a --scopes dns:read", "account create --name a",
	} {
		text := command(t, append(strings.Fields(args), "--json", store)...)
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v), args)
		eachName(v, func(name string) { assert.Regexp(t, `^[a-z][a-z0-9_]*$`, name, args) })
		assert.NotContains(t, text, "null", args)
	}
}

func eachName(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			f(name)
			eachName(member, f)
		}
	case []any:
		for _, item := range v {
			eachName(item, f)
		}
	}
}
