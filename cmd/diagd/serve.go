package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/machine"
	"github.com/diagkit/diagkit/cmd/internal/worldflags"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/httpapi/pages"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/redis"
	"github.com/spf13/pflag"
)

// The bounds of a connection. No operation takes longer than a minute.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 75 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
	// drainTime is how long running calls may continue after a signal. Together with closing the store it stays below
	// the 20 seconds that a supervisor is promised (CONTRACT 8.1).
	drainTime = 15 * time.Second
	// lameDuckTime is how long the server continues to accept connections after a signal, while it reports that it is not
	// ready: balancers check every second or so.
	lameDuckTime = 2 * time.Second
	// slowOpenTime is after how long a server that is still opening its store reports that.
	slowOpenTime = 3 * time.Second
)

type serveFlags struct {
	listen, metricsListen         string
	ipRate                        int
	trustedProxies                []string
	tlsCert, tlsKey, acmeDomain   string
	logFormat, logLevel, acmeData string
	hosted                        hostedFlags
	mail                          mailFlags
	maintenance                   maintenanceFlags
	dashboard                     dashboardFlags
	letterbox                     letterboxFlags
	publicCheck                   bool
	redis                         string

	pair *keyPair // of --tls-cert, once it is loaded
}

func (f *serveFlags) add(fs *pflag.FlagSet) {
	f.addListeners(fs)
	fs.IntVar(&f.ipRate, "ip-rate", httpapi.DefaultIPRate,
		"requests per minute and address without a valid key; 0 is off")
	fs.StringSliceVar(&f.trustedProxies, "trusted-proxies", nil, "networks of proxies whose X-Forwarded-For is trusted")
	fs.StringVar(&f.acmeData, "acme-cache", "acme", "folder for ACME certificates")
	f.hosted.add(fs)
	f.mail.add(fs)
	f.maintenance.add(fs)
	f.dashboard.add(fs)
	f.letterbox.add(fs)
	fs.BoolVar(&f.publicCheck, "public-check", false,
		"let visitors check a domain without an account at /check, a few times per hour and network")
	fs.StringVar(&f.redis, "redis", "",
		"redis://USER:PASSWORD@HOST:6379, or rediss:// for TLS: shares rate limits between servers "+
			"(default: each server limits by itself); prefer DIAG_REDIS if there is a password")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug (every request), info, warn or error")
}

// addListeners adds the flags for the addresses of a server.
func (f *serveFlags) addListeners(fs *pflag.FlagSet) {
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to serve on")
	fs.StringVar(&f.metricsListen, "metrics-listen", "", "address for Prometheus, health and pprof (default: off)")
	fs.StringVar(&f.tlsCert, "tls-cert", "", "PEM file of the server's certificate chain")
	fs.StringVar(&f.tlsKey, "tls-key", "", "PEM file of the server's private key")
	fs.StringVar(&f.acmeDomain, "acme-domain", "", "obtain a certificate for this domain by ACME (Let's Encrypt)")
}

// checkedFlags holds the validated flags of a server.
type checkedFlags struct {
	log         *slog.Logger
	proxies     []netip.Prefix
	ipRate      int // as in httpapi
	security    *tls.Config
	zone        *nameserver.Config // nil without a name server
	mail        *notify.MailServer // nil without one
	maintenance maintenanceConfig

	letterbox diag.Domain // zero without one
}

// checkFlags checks the flags of a server before anything is opened. The error joins all faults.
func (a *app) checkFlags() (s checkedFlags, err error) {
	faults := make([]error, 9)
	fault := func(err error) { faults = append(faults, err) }
	s.log, faults[0] = a.logger()
	if s.proxies, err = worldflags.Networks("trusted-proxies", a.serving.trustedProxies); err != nil {
		fault(usageError{err})
	}
	for _, network := range s.proxies {
		if network.Bits() == 0 {
			fault(usagef("--trusted-proxies: %s includes all clients, which could then claim any address; "+
				"name your proxies", network))
		}
	}
	faults[1] = a.serving.dashboard.check(len(a.serving.trustedProxies))
	switch s.ipRate = a.serving.ipRate; {
	case s.ipRate < 0:
		fault(usagef("--ip-rate: must be 0 or more"))
	case s.ipRate == 0:
		s.ipRate = -1 // of httpapi: no limit
	}
	s.zone, faults[2] = a.serving.hosted.serveZone()
	s.mail, faults[3] = a.serving.mail.parse()
	s.maintenance, faults[4] = a.serving.maintenance.parse()
	s.letterbox, faults[5] = a.serving.letterbox.parse()
	s.security, faults[6] = a.serving.tlsConfig(s.log)
	faults[7], faults[8] = a.checkSecrets(), a.checkData()
	if a.serving.redis != "" {
		if err := redis.CheckURL(a.serving.redis); err != nil {
			fault(usagef("--redis: %w", err))
		}
	}
	return s, errors.Join(faults...)
}

// serve runs the server until the context ends, and then drains it.
func (a *app) serve(ctx context.Context) error {
	checked, err := a.checkFlags()
	if err != nil {
		return err
	}
	log := checked.log
	env, release, err := a.world.Env()
	if err != nil {
		return usageError{err}
	}
	defer release()
	env.HideResolver = true
	if a.data != "" {
		env.Data = os.DirFS(a.data)
	}
	keeper := &metering.Timekeeper{Clock: a.wall, Steady: a.monotonic, Log: log}
	a.doubt, a.clock, env.Clock = keeper.Doubt, keeper.Now, keeper.Now
	slowOpen := time.AfterFunc(a.slowOpen, func() { log.Info("opening the store", "store", a.redactedStore()) })
	store, plans, err := a.openStore(ctx, false)
	slowOpen.Stop()
	if err != nil {
		return err
	}
	defer store.Close()
	keeper.Follow(store)
	stopPlans, err := a.followPlans(ctx, store, plans, log)
	if err != nil {
		return err
	}
	defer stopPlans()
	notes := newNotifications(store, plans, checked.mail, env, keeper, log)
	gateConfig := metering.GateConfig{Store: store, Plans: plans, Clock: keeper.Now, Log: log, Observer: notes.deriver}
	counters := metrics.New()
	limiterHealth, closeLimiter, err := a.shareLimiter(ctx, &gateConfig, counters)
	if err != nil {
		return err
	}
	defer closeLimiter()
	gate, err := metering.NewGate(context.WithoutCancel(ctx), gateConfig)
	if err != nil {
		return err
	}
	defer gate.Close()
	bounds := budget.New(budget.Config{Memory: machine.WorkMemory(), Connections: maxConnections()})
	hosted, err := a.startHosted(ctx, checked.zone, bounds, counters, log)
	if err != nil {
		return err
	}
	defer hosted.close()
	hosted.notify = notes.profileEvent
	activity := &dashboard.Activity{}
	api := httpapi.New(httpapi.Config{
		Gate: gate, Env: env, Clock: keeper.Now, HostedSPF: hosted.store, SPFZone: hosted.zone,
		IPRate: checked.ipRate, TrustedProxies: checked.proxies,
		Budget: bounds, Log: log, NotifySPF: notes.profileEvent,
		Observe: func(o httpapi.Observation) {
			counters.Observe(o)
			activity.Observe(o)
			if o.Deprecated != "" && o.Key != "" {
				notes.deriver.Deprecated(o.Account, o.Key, o.Endpoint, o.Deprecated)
			}
		},
		Pages: pages.Handler(pages.Config{
			Plans: plans.In(metering.PeriodOf(keeper.Now())), Dashboard: "/dashboard", PublicCheck: a.serving.publicCheck,
			LetterBox: !checked.letterbox.IsZero(),
		}),
	})
	listener, err := listen(ctx, "--listen", a.serving.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	health := newHealth(counters.Handler(), gate.Health, func(w io.Writer) {
		hosted.health(w)
		limiterHealth(w)
		if err := keeper.Doubt(); err != nil {
			fmt.Fprintf(w, "clock: %v; until it is right no month is closed and no expired data is removed\n", err)
		}
	}, log)
	if err := health.listen(ctx, a.serving.metricsListen, log); err != nil {
		return err
	}
	defer health.Close()
	bounded := checked.boundListener(listener, bounds.Connections)
	counters.FlagFunc(metrics.StoreUp, func() bool { return gate.Health() == nil })
	a.exportTaskMetrics(counters)
	if s, ok := store.(*postgres.Store); ok {
		counters.GaugeFunc(metrics.PoolUsed, func() float64 { return float64(s.Pool().AcquiredConns()) })
		counters.GaugeFunc(metrics.PoolMax, func() float64 { return float64(s.Pool().MaxConns()) })
	}
	counters.GaugeFunc(metrics.Connections, func() float64 { return float64(bounded.Connections()) })
	url := a.url(bounded, checked.security != nil)
	if err := a.firstStart(ctx, metering.Admin{Store: store, Plans: plans, Clock: keeper.Now}, url, log); err != nil {
		return err
	}
	watches := a.newWatches(store, plans, api.Ask, notes, counters, log, url)
	spfZone, _ := a.serving.hosted.zoneName() // parsed before
	front := a.mount(checked, api, dashboard.Config{
		SPFZone: spfZone, SPFAccess: hostedspf.Access{Zone: hosted.zone, Notify: hosted.notify},
		Store: store, Plans: plans, Env: env, HostedSPF: hosted.store, Activity: activity, Clock: keeper.Now, Log: log,
		Watches: watches, Budget: bounds,
	}, url)
	defer a.servePublicCheck(checked, api, bounds, url, front.Parts)()
	stopLetterbox, err := a.serveLetterbox(ctx, checked, env, bounds, front.Parts)
	if err != nil {
		return err
	}
	defer stopLetterbox()
	server := newServer(checked, front)
	onHangup(ctx, log, func() { a.reload(env, log) })
	hosted.schedule(ctx, env)
	notes.startDelivery(ctx, hosted, counters)
	defer runWithin(closeTime, notes.drain)
	defer startWatches(ctx, watches, counters)()
	jobs := startMaintenance(ctx, checked.maintenance, store, plans, guardedClient(env), counters, keeper, log)
	defer jobs.close()
	stopCallbacks, err := a.serveCallbacks(ctx, checked, jobs.billing, bounds, log)
	if err != nil {
		return err
	}
	defer stopCallbacks()
	health.ready.Store(true) // before it is logged, so that a reader of the log finds the server ready
	log.Info("serving", "url", url, "store", a.redactedStore(), "operations", len(httpapi.Endpoints()))
	return a.run(ctx, server, bounded, hosted, notes, health, log)
}

// maxConnections leaves half of the files that may be open to the store and to the diagnostics, which
// have sockets of their own.
func maxConnections() int {
	most := int(budget.Of(budget.Connections).All) // each takes some 20 KiB, also an idle one
	if n := openFiles() / 2; n > 0 {
		return min(n, most)
	}
	return most
}

// loopback are the peers on the same machine: a proxy there need not be named, and no stranger is.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// sharedPeers returns the peers whose clients cannot be distinguished by their connections.
func (s *checkedFlags) sharedPeers() []netip.Prefix { return slices.Concat(s.proxies, loopback) }

// boundListener bounds the connections of a listener, in all and for each network.
func (s *checkedFlags) boundListener(l net.Listener, limit *metering.NetworkCount) *httpapi.Listener {
	return &httpapi.Listener{
		Listener: l, MaxConnections: limit.All, Networks: limit, Exempt: s.sharedPeers(),
		TLS: s.security, Log: s.log, ErrorLog: newErrorLog(s.log),
	}
}

// newServer makes the server of a listener for others than the operator. What it answers passes a [httpapi.Front], and
// what net/http answers by itself a [httpapi.Listener].
func newServer(s checkedFlags, front httpapi.Front) *http.Server {
	return &http.Server{
		Handler:           front,
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:                     newErrorLog(s.log),
		DisableGeneralOptionsHandler: true, // the API answers OPTIONS * as it answers whatever it cannot do
	}
}

func (a *app) url(l net.Listener, secure bool) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	if a.serving.acmeDomain != "" {
		return scheme + a.serving.acmeDomain
	}
	return scheme + l.Addr().String()
}

// run serves until the context ends. Then the server reports that it is not ready, accepts no new work a moment
// later, and waits for running calls to finish.
func (a *app) run(
	ctx context.Context, server *http.Server, l net.Listener, h *hosted, notes *notifications, health *healthServer,
	log *slog.Logger,
) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case err := <-h.failed():
		server.Close()
		return err
	case <-ctx.Done():
	}
	health.ready.Store(false)
	if a.lameDuck != nil {
		log.Info("no longer ready; the listener closes soon")
		select {
		case err := <-failed:
			return fmt.Errorf("serving: %w", err)
		case <-a.lameDuck():
		}
	}
	log.Info("draining")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.drain)
	defer cancel()
	var draining sync.WaitGroup
	draining.Go(func() { h.drain(drain) })
	draining.Go(func() { notes.drain(drain) })
	if err := server.Shutdown(drain); errors.Is(err, context.DeadlineExceeded) {
		log.Warn("some calls did not finish and were canceled; they are not charged")
		server.Close()
	}
	draining.Wait()
	log.Info("stopped")
	return nil
}

func (a *app) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.serving.logLevel)); err != nil {
		return nil, usagef("--log-level: %q is not debug, info, warn or error", a.serving.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch a.serving.logFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, options)), nil
	}
	return nil, usagef("--log-format: %q is not text or json", a.serving.logFormat)
}
