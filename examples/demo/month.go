package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/letterbox"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
)

// history is the number of days before the first screen: the longest month, so that one always ends in it and there is
// an invoice.
const history = 31

// A movableClock is a clock that is set to the days before, and follows that of the machine once they are over.
type movableClock struct{ at atomic.Pointer[time.Time] }

func (p *movableClock) Now() time.Time {
	if at := p.at.Load(); at != nil {
		return *at
	}
	return time.Now()
}

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

// owner is the signed-in member: any client on this machine.
const owner, userHeader = "you@harbour.example", "X-Demo-User"

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
	h.billing = billing.Billing{Store: h.store, Biller: bank{}, Clock: h.Now}
	if err := h.simulateMonth(ctx); err != nil {
		return nil, fmt.Errorf("simulating the last %d days: %w", h.days, err)
	}
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
	c.Store, c.API, c.Env, c.Watches, c.Log = h.store, h.api, h.world.Env(), h.watches, h.log
	c.PublicURL, c.TrustedUserHeader, c.OwnersEditInvoices = d.url, userHeader, true
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	pages := withUser(dashboard.New(c))
	return httpapi.Front{API: h.api, Parts: map[string]http.Handler{
		"dashboard": pages, "r": pages, "mcp": agent.New(agent.Config{API: h.api}), "letterbox": box, "change": h.changeHandler(),
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
func (h *environment) simulateMonth(ctx context.Context) error {
	if h.days == 0 {
		return nil
	}
	latencies := h.world.Latencies()
	h.world.Latency(0)
	today := time.Now()
	defer func() { h.world.SetTime(today); h.world.SetLatencies(latencies); h.at.Store(nil) }()
	people := member.Members{Store: h.store, Clock: h.Now}
	for _, m := range []struct {
		email string
		role  member.Role
	}{{owner, member.Owner}, {"dev@agency.example", member.Developer}} {
		if _, err := people.Add(ctx, h.account.ID, m.email, m.role); err != nil {
			return err
		}
	}
	h.world.HTTPS("hooks.harbour.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
	}))
	_, _, err := notify.Channels{Store: h.store, Clock: h.Now}.Create(ctx, notify.ChannelRequest{
		Account: h.account.ID, Name: "Operations", Kind: notify.Webhook, Target: "https://hooks.harbour.example/domains",
	})
	if err != nil {
		return err
	}
	for day := h.days; day >= 0; day-- {
		if err := h.simulateDay(ctx, today.AddDate(0, 0, -day), day); err != nil {
			return err
		}
	}
	return nil
}

// simulateDay applies the changes of a day, checks what is due, and checks again to confirm changes.
func (h *environment) simulateDay(ctx context.Context, at time.Time, day int) error {
	h.setTime(at)
	for _, c := range changes {
		if c.day == day {
			c.apply(h.world)
		}
	}
	if day == h.days {
		for _, w := range watched {
			_, err := h.watches.Create(ctx, watch.Request{
				Account: h.account.ID, Domain: w.domain, Settings: watch.Settings{Checks: strings.Fields(w.checks)},
			})
			if err != nil {
				return err
			}
		}
	}
	for range 3 {
		if err := h.watches.Flush(ctx); err != nil {
			return err
		}
		h.setTime(h.Now().Add(6 * time.Minute))
	}
	deriver := notify.Deriver{Store: h.store, Clock: h.Now, Log: h.log}
	if err := errors.Join(deriver.CheckAll(ctx), h.worker.Flush(ctx)); err != nil {
		return err
	}
	if month := metering.PeriodOf(at.AddDate(0, 0, -1)); month != metering.PeriodOf(at) {
		_, err := h.billing.Close(ctx, month)
		return err
	}
	return nil
}

func (h *environment) setTime(at time.Time) {
	at = at.UTC()
	h.at.Store(&at)
	h.world.SetTime(at)
}
