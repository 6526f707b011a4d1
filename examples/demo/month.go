package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/letterbox"
	"github.com/diagkit/diagkit/httpapi/publiccheck"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
)

// history is the number of days before the first screen: the longest month, so that one always ends in it and there is
// an invoice.
const history = 31

// untilNow is how long before the start the last day of the month ends: all that happens in it is in the past.
const untilNow = time.Hour

// watched are the domains of the account: checks that are quick, so that a month of them runs quickly.
var watched = []struct{ domain, checks string }{
	{"harbour.example", "spf/lookup dmarc/lookup smtp/check domain/dns-check rdap/lookup"},
	{"good.example", "spf/lookup dmarc/lookup mta-sts/lookup dnssec/check"},
	{"hopeless.example", "spf/lookup dmarc/lookup"},
	{"slip.example", "spf/lookup dmarc/lookup"},
	{"held.example", "dmarc/lookup"},
	{"watch.example", "dmarc/lookup"},
	{"moving.example", "domain/dns-check"},
	{"bogus.example", "dnssec/check"},
	{"renewed.example", "http/hsts-check"},
	{"silent.example", "spf/lookup"},
}

// A change is an edit of a record on a day before today.
type change struct {
	day  int // before today
	name string
	kind uint16
	line string // of the new record; empty removes the record
}

// changes happen to the records of the month.
var changes = []change{
	{history, "_dmarc.slip.example.", dns.TypeTXT,
		`_dmarc.slip.example. TXT "v=DMARC1; p=quarantine; rua=mailto:dmarc@slip.example"`},
	{history, "_dmarc.held.example.", dns.TypeTXT,
		`_dmarc.held.example. TXT "v=DMARC1; p=none; rua=mailto:dmarc@held.example"`},
	{history, "harbour.example.", dns.TypeTXT, `harbour.example. TXT "v=spf1 mx include:_spf.shop.example ~all"`},
	{21, "harbour.example.", dns.TypeTXT,
		`harbour.example. TXT "v=spf1 mx include:_spf.shop.example include:_spf.gone.example ~all"`},
	{12, "_dmarc.slip.example.", dns.TypeTXT,
		`_dmarc.slip.example. TXT "v=DMARC1; p=rejct; rua=mailto:dmarc@slip.example"`},
	{6, "_dmarc.held.example.", dns.TypeTXT,
		`_dmarc.held.example. TXT "v=DMARC1; p=quarantine; pct=20; rua=mailto:dmarc@held.example!10m"`},
}

func (c change) apply(world *diagtest.World) {
	world.Remove(func(rr dns.RR) bool { return rr.Header().Name == c.name && rr.Header().Rrtype == c.kind })
	world.Zone(c.line)
}

// changeHandler answers POST /change: it toggles one record, and triggers a check by the watch, so that a visitor
// sees it react.
func (h *environment) changeHandler() http.Handler {
	var mu sync.Mutex
	strict := false
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/change" {
			http.Error(w, "POST /change changes a record of watch.example", http.StatusNotFound)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		strict = !strict
		policy := map[bool]string{true: "quarantine", false: "none"}[strict]
		c := change{name: "_dmarc.watch.example.", kind: dns.TypeTXT,
			line: `_dmarc.watch.example. TXT "v=DMARC1; p=` + policy + `; rua=mailto:watch@reports.example"`}
		c.apply(h.world)
		if _, err := h.watches.RunNow(r.Context(), h.account.ID, watch.ID(diag.MustDomain("watch.example"))); err != nil {
			http.Error(w, "the record was changed, but the check did not start: "+err.Error(), http.StatusConflict)
			return
		}
		fmt.Fprintln(w, c.line)
	})
}

// userHeader names the signed-in member, which any client on this machine is: the owner.
const userHeader = "X-Demo-User"

// environment holds the parts of the server besides the API.
type environment struct {
	*movableClock
	days    int // in the past
	store   metering.Store
	admin   metering.Admin
	account metering.Account
	api     *httpapi.API
	world   *diagtest.World
	watches *watch.Watches
	worker  *notify.Worker
	billing billing.Billing
	log     *slog.Logger
}

// mountParts makes the parts besides the API, and simulates a month with them.
func (d *demo) mountParts(ctx context.Context, h *environment, c dashboard.Config) (http.Handler, error) {
	h.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	h.worker = &notify.Worker{Store: h.store, Client: h.client(), Clock: h.Now, Log: h.log}
	h.watches = watch.New(watch.Config{
		Store: h.store, Ask: h.api.Ask, Clock: h.Now, PublicURL: d.url, Wake: h.worker.Wake, Log: h.log,
	})
	h.billing = billing.Billing{Store: h.store, Biller: bank{}, Clock: h.Now, Log: h.log}
	c.Store, c.API, c.Env, c.Watches, c.Clock, c.Log = h.store, h.api, h.world.Env(), h.watches, h.Now, h.log
	c.PublicURL, c.TrustedUserHeader, c.OwnersEditInvoices = d.url, userHeader, d.operator
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	pages := withUser(dashboard.New(c))
	if err := h.simulateMonth(ctx, pages); err != nil {
		return nil, fmt.Errorf("simulating the last %d days: %w", h.days, err)
	}
	d.startBackground(func(ctx context.Context) error { h.billing.Run(ctx); return nil })
	d.startBackground(h.watches.Run)
	d.startBackground(h.worker.Run)
	box, err := letterbox.New(letterbox.Config{
		Env: h.world.Env(), Domain: diag.MustDomain("localhost.localdomain"), Log: h.log,
	})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go box.Serve(l) // it ends with the box
	d.closers = append(d.closers, func() { box.Close() })
	d.mail = l.Addr().String()
	checks := publiccheck.New(publiccheck.Config{API: h.api, Clock: h.Now, Log: h.log})
	d.closers = append(d.closers, checks.Close)
	return httpapi.Front{API: h.api, Parts: map[string]http.Handler{
		"check":     checks,
		"dashboard": pages, "r": pages, "badge": pages, "mcp": agent.New(agent.Config{API: h.api}),
		"letterbox": box, "change": h.changeHandler(),
	}}, nil
}

// withUser names the owner to the dashboard, as a proxy would that has asked for a password. The dashboard believes it
// on this machine alone.
func withUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(userHeader, owner)
		next.ServeHTTP(w, r)
	})
}

// client reaches the receivers of notifications in the small Internet.
func (h *environment) client() *http.Client {
	env := h.world.Env()
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: env.TLSConfig(""),
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return env.DialHost(ctx, host, 443, diag.WebPorts)
		},
	}}
}

type bank struct{}

func (bank) Charge(_ context.Context, v billing.Invoice) (billing.Payment, error) {
	return billing.Payment{Status: billing.PaymentPaid, Reference: billing.PaymentRef("card " + v.ID)}, nil
}

// simulateMonth simulates the days before today.
func (h *environment) simulateMonth(ctx context.Context, pages http.Handler) error {
	if h.days == 0 {
		return nil
	}
	latencies := h.world.Latencies()
	h.world.Latency(0)
	today := time.Now()
	defer func() { h.behind.Store(0); h.world.SetTime(today); h.world.SetLatencies(latencies) }()
	c := &customer{environment: h, pages: pages, keys: map[string]metering.Key{}, secrets: map[string]string{}}
	if _, err := h.admin.ServiceKey(ctx, h.account.ID, "watches"); err != nil { // which the first checks share
		return err
	}
	for day := h.days; day >= 0; day-- {
		if err := c.simulateDay(ctx, today.Add(-untilNow).AddDate(0, 0, -day), day); err != nil {
			return err
		}
	}
	return nil
}

// simulateDay calls the API before the end of a day, applies the changes of the day, and does what its members and the
// parts of the server do: watches check what is due, and check again to confirm changes.
func (c *customer) simulateDay(ctx context.Context, end time.Time, day int) error {
	if err := c.callAPI(ctx, end, day); err != nil {
		return err
	}
	c.setTime(end)
	for _, change := range changes {
		if change.day == day {
			change.apply(c.world)
		}
	}
	if err := c.act(ctx, day); err != nil {
		return err
	}
	for range 3 {
		if err := c.watches.Flush(ctx); err != nil {
			return err
		}
		c.setTime(c.Now().Add(6 * time.Minute))
	}
	deriver := notify.Deriver{Store: c.store, Clock: c.Now, Log: c.log}
	if err := errors.Join(deriver.CheckAll(ctx), c.worker.Flush(ctx)); err != nil {
		return err
	}
	if _, err := c.billing.Close(ctx, metering.PeriodOf(c.Now().Add(-billing.Grace)).Previous()); err != nil {
		return err
	}
	_, err := c.billing.Pay(ctx)
	return err
}
