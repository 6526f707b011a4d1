package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// debtor adds an account to a store that was there in the last month, and used credits in it.
func debtor(t *testing.T, store string) metering.AccountID {
	t.Helper()
	then := lastClosableMonth().Start().Add(time.Hour)
	s, err := sqlite.Open(t.Context(), strings.TrimPrefix(store, "--store=sqlite:"),
		sqlite.Config{Clock: func() time.Time { return then }})
	require.NoError(t, err)
	defer s.Close()
	admin := metering.Admin{Store: s, Clock: func() time.Time { return then }}
	account, err := admin.CreateAccount(t.Context(), "=Debtor", "pack")
	require.NoError(t, err)
	key, _, err := admin.CreateKey(t.Context(), metering.KeyRequest{
		Account: account.ID, Name: "k", Scopes: metering.Scopes(),
	})
	require.NoError(t, err)
	begun, err := s.Begin(t.Context(), metering.Op{
		RequestID: "req_a", Account: account.ID, Key: key.ID, Endpoint: "POST /x", Credits: 30,
		Now: then, Lease: then.Add(time.Minute),
	})
	require.NoError(t, err)
	_, err = s.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: then})
	require.NoError(t, err)
	return account.ID
}

func TestBilling(t *testing.T) {
	store, _ := newStore(t)
	id := debtor(t, store)
	month := lastClosableMonth()
	closed := parsed[billing.Closed](t, "billing", "close", store)
	assert.Equal(t, billing.Closed{Period: month, Created: 1, WithoutInvoice: 1}, closed)
	closed = parsed[billing.Closed](t, "billing", "close", "--month", month.String(), store)
	assert.Equal(t, billing.Closed{Period: month, Existed: 1, WithoutInvoice: 1}, closed)
	assert.Contains(t, command(t, "billing", "close", store), "made before")

	list := parsed[[]billing.Invoice](t, "billing", "invoices", store)
	require.Len(t, list, 1)
	assert.Equal(t, id, list[0].Account)
	assert.EqualValues(t, 2900, list[0].TotalCents)
	assert.EqualValues(t, 30, list[0].UsedCredits)
	assert.Empty(t, parsed[[]billing.Invoice](t, "billing", "invoices", "--state", "paid", store))
	assert.Empty(t, parsed[[]billing.Invoice](t, "billing", "invoices", "--month", "2001-01", store))
	assert.Regexp(t, `(?m)^INV-\S+ +`+month.String()+` +acc_\S+ +pack +30 +0 +2900 +2900 +EUR +draft `,
		command(t, "billing", "invoices", store))
	for _, args := range [][]string{
		{"billing", "invoices", "--csv", store}, {"billing", "close", "--csv", store},
		{"billing", "finalize", string(id), month.String(), "--csv", store},
		{"billing", "retry", string(id), month.String(), "--csv", store},
	} {
		rows, err := csv.NewReader(strings.NewReader(command(t, args...))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Equal(t, "'=Debtor", rows[1][3])
	}
	charges := parsed[[]billing.Usage](t, "billing", "charges", store)
	require.Len(t, charges, 1)
	assert.Equal(t, "POST /x", charges[0].Endpoint)
	assert.Contains(t, command(t, "billing", "charges", "--csv", store), ",POST /x,30,1\r\n")
	assert.Contains(t, command(t, "billing", "charges", store), "POST /x")
	assert.Equal(t, "[]\n", command(t, "billing", "retry", "--failed", "--json", store))

	for want, args := range map[string][]string{
		"can be closed from":           {"billing", "close", "--month", thisMonth().String(), store},
		"--month":                      {"billing", "close", "--month", "october", store},
		"diagd billing invoices lists": {"billing", "retry", "acc_none", month.String(), store},
		"INVOICE: ":                    {"billing", "retry", string(id), "2026-13", store},
		"--account: account acc_a":     {"billing", "invoices", "--account", "acc_a", store},
		"--account: account acc_b":     {"billing", "charges", "--account", "acc_b", store},
		"takes the id":                 {"billing", "retry", string(id), store},
		"not one of draft, open":       {"billing", "invoices", "--state", "late", store},
		"--limit":                      {"billing", "invoices", "--limit", "-1", store},
		"--cursor":                     {"billing", "notes", "--cursor", "x", store},
		"--reason: is required":        {"billing", "void", string(id), month.String(), store},
		"leaves 1 to 2900 cents":       {"billing", "credit", string(id), month.String(), "--reason", "x", store},
		"invoice 2001-01 of acc_":      {"billing", "paid", string(id), "2001-01", "--reason", "x", store},
		"takes the id of an account":   {"billing", "suspend", "--reason", "x", store},
	} {
		log := newWatched()
		code := exitUsage
		if want == "can be closed from" {
			code = exitFailed
		}
		assert.Equal(t, code, run(t.Context(), args, log, log), want)
		assert.Contains(t, log.String(), want)
	}
}

// The life of an invoice, by hand.
func TestBillingByHand(t *testing.T) {
	store, _ := newStore(t)
	id := string(debtor(t, store))
	month := lastClosableMonth().String()
	preview := parsed[[]billing.Invoice](t, "billing", "preview", id, "--month", month, store)
	require.Len(t, preview, 1)
	assert.EqualValues(t, 2900, preview[0].TotalCents)
	assert.Empty(t, parsed[[]billing.Invoice](t, "billing", "invoices", store))
	command(t, "billing", "close", store)
	why := func(args ...string) []string { return append(args, "--reason", "because", "--by", "ann", store) }
	list := parsed[[]billing.Invoice](t, why("billing", "void", id, month, "--reissue")...)
	require.Len(t, list, 2)
	second := list[1].ID
	assert.Equal(t, month+".2", second)
	assert.Equal(t, billing.Open, parsed[[]billing.Invoice](t, "billing", "finalize", id, second, store)[0].State)
	notes := parsed[[]billing.Note](t, why("billing", "credit", id, second, "--cents", "900")...)
	require.Len(t, notes, 1)
	assert.Equal(t, [4]string{"credited", "ann", "because", second},
		[4]string{string(notes[0].Action), notes[0].By, notes[0].Reason, notes[0].Invoice})
	assert.Regexp(t, "^CN-", notes[0].Number)
	assert.Contains(t, command(t, why("billing", "uncollectible", id, second)...), "uncollectible")
	assert.Contains(t, command(t, why("billing", "suspend", id)...), id)
	assert.Contains(t, command(t, why("billing", "paid", id, second, "--reference", "bank 1")...), "bank 1")
	assert.Contains(t, command(t, why("billing", "resume", id)...), id)

	all := parsed[[]billing.Note](t, "billing", "notes", "--account", id, store)
	var actions []billing.Action
	for _, n := range all {
		actions = append(actions, n.Action)
	}
	assert.Equal(t, []billing.Action{billing.Created, billing.Voided, billing.Created, billing.Finalized, billing.Credited,
		billing.WrittenOff, billing.AccountSuspended, billing.MarkedPaid, billing.AccountResumed}, actions)
	pages := parsed[[]billing.Note](t, "billing", "notes", "--limit", "2", "--cursor", id+"/"+all[2].ID, store)
	assert.Equal(t, all[3:5], pages)
	first := parsed[[]billing.Invoice](t, "billing", "invoices", "--limit", "1", store)
	next := parsed[[]billing.Invoice](t, "billing", "invoices", "--limit", "1", "--cursor", first[0].Number, store)
	assert.Equal(t, []string{month, second}, []string{first[0].ID, next[0].ID})
	assert.Regexp(t, `(?m)^`+id+`/00000005 .* credited +open +900 +0 +CN-\S+ +ann +because`,
		command(t, "billing", "notes", store))
	assert.Contains(t, command(t, "billing", "notes", "--csv", store), ",EUR,900,0,900,,ann,because\r\n")
	log := newWatched()
	assert.Equal(t, exitUsage, run(t.Context(), why("billing", "void", id, first[0].Number), log, log))
	assert.Contains(t, log.String(), "invoice "+month+" of "+id+" is void", "found by its number")
	audit := parsed[auditView](t, "audit", store)
	assert.Empty(t, audit.Faults)
	assert.Equal(t, &auditedInvoices{Count: 2}, audit.Invoices)
	assert.Contains(t, command(t, "audit", store), "credits")

	var head headView
	require.NoError(t, json.Unmarshal([]byte(command(t, "audit", "--head", store)), &head))
	file := filepath.Join(t.TempDir(), "head.json")
	for want, count := range map[int]int64{exitOK: 0, exitFaults: 1} { // the notes are too young to be in it
		head.Invoices.Count = count
		text, err := json.Marshal(head)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		log := newWatched()
		assert.Equal(t, want, run(t.Context(), []string{"audit", "--against", file, store}, log, log))
		assert.Equal(t, count > 0, strings.Contains(log.String(), "differ from the head"))
	}
}

func TestBillerFlags(t *testing.T) {
	secret := "whsec_" + strings.Repeat("MfKQ", 10) + "MfI="
	for _, f := range []maintenanceFlags{
		{}, {biller: "file:x"}, {biller: "https://billing.example"}, {biller: "https://billing.example", secret: secret},
	} {
		c, err := f.parse()
		require.NoError(t, err, f)
		assert.Equal(t, f.biller != "", c.biller != nil)
	}
	for _, f := range []maintenanceFlags{
		{biller: "file:"}, {biller: "http://billing.example"}, {biller: "http://:s3cret@a"}, {secret: "s3cret"},
		{ledgerMonths: -1}, {changes: -1}, {draft: -1},
	} {
		_, err := f.parse()
		require.Error(t, err, f)
		assert.NotContains(t, err.Error(), "s3cret")
	}
}

// The server's background work, without the waiting: it charges by the biller of its flags, through the guard, and
// forgets expired data except unbilled charges.
func TestChores(t *testing.T) {
	flag, _ := newStore(t)
	id := debtor(t, flag)
	store, err := sqlite.Open(t.Context(), strings.TrimPrefix(flag, "--store=sqlite:"), sqlite.Config{})
	require.NoError(t, err)
	defer store.Close()
	dir := t.TempDir()
	log := newWatched()
	began := func(f maintenanceFlags) *maintenance {
		c, err := f.parse()
		require.NoError(t, err)
		n := startMaintenance(t.Context(), c, store, metering.DefaultPlans(), guardedClient(&diag.Env{}), metrics.New(),
			new(metering.Timekeeper), slog.New(slog.NewTextHandler(log, nil)))
		t.Cleanup(n.close)
		return n
	}
	entries := func() int {
		audit, err := store.Audit(t.Context())
		require.NoError(t, err)
		require.Empty(t, audit.Faults)
		return int(audit.Entries)
	}
	n := began(maintenanceFlags{biller: "https://127.0.0.1/", ledgerMonths: 1, changes: 1})
	require.NoError(t, n.prune(t.Context()))
	require.Equal(t, 1, entries())
	_, err = n.billing.Close(t.Context(), lastClosableMonth())
	require.NoError(t, err)
	paid, err := n.billing.Pay(t.Context())
	require.NoError(t, err)
	require.Equal(t, billing.Paying{Failed: 1}, paid, "the guard refuses the address")
	_, err = n.billing.Retry(t.Context(), id, lastClosableMonth().String())
	require.NoError(t, err)

	paid, err = began(maintenanceFlags{biller: "file:" + dir}).billing.Pay(t.Context())
	require.NoError(t, err)
	require.Equal(t, billing.Paying{Paid: 1}, paid)
	text, err := os.ReadFile(filepath.Join(dir, lastClosableMonth().String(), string(id)+".jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"total_cents":2900`)
}

// Requests to a biller are signed as notifications are: the same library verifies both.
func TestBillerIsSigned(t *testing.T) {
	secret := notify.NewSecret()
	f := maintenanceFlags{biller: "https://billing.example", secret: secret.Reveal()}
	c, err := f.parse()
	require.NoError(t, err)
	calls := 0
	biller := c.biller(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		calls++
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, notify.Verify(r.Header, body, time.Now(), secret))
		answer := strings.NewReader(`{"schema_version":"1","status":"paid"}`)
		return &http.Response{StatusCode: 200, Body: io.NopCloser(answer)}, nil
	})})
	_, err = biller.Charge(t.Context(), billing.Invoice{ID: "2026-10", Account: "acc_a"})
	require.NoError(t, err)
	require.Equal(t, 1, calls)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Two servers on one store forget what is too old, day by day, and nothing else.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "a", "self")
		require.NoError(t, err)
		var nodes []*maintenance
		for range 2 {
			c, err := (&maintenanceFlags{ledgerMonths: 3}).parse()
			require.NoError(t, err)
			nodes = append(nodes, startMaintenance(t.Context(), c, store, metering.DefaultPlans(), nil,
				metrics.New(), new(metering.Timekeeper), slog.New(slog.DiscardHandler)))
		}
		kept := []int{}
		for range 8 {
			now := time.Now()
			begun, err := store.Begin(t.Context(), metering.Op{
				Account: account.ID, Key: "key_a", Credits: 1, Now: now, Lease: now.Add(time.Minute),
			})
			require.NoError(t, err)
			_, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: now})
			require.NoError(t, err)
			time.Sleep(time.Until(metering.PeriodOf(now).End().Add(26 * time.Hour)))
			audit, err := store.Audit(t.Context())
			require.NoError(t, err)
			kept = append(kept, int(audit.Entries))
		}
		for _, n := range nodes {
			n.close()
		}
		require.Equal(t, []int{1, 2, 3, 3, 3, 3, 3, 3}, kept)
	})
}
