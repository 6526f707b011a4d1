package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/pflag"
)

type mailFlags struct {
	server, from string
	dkim         dkimFlags
}

func (f *mailFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.server, "mail-server", "",
		"mail submission server: submissions://USER:PASSWORD@HOST (TLS) or submission://… (STARTTLS); "+
			"prefer DIAG_MAIL_SERVER, which other users of the host cannot read (default: no mail)")
	fs.StringVar(&f.from, "mail-from", "", "sender address of mail")
	f.dkim.add(fs, "", "")
}

// parse returns nil without a server.
func (f *mailFlags) parse() (*notify.MailServer, error) {
	if f.server == "" {
		if f.from != "" {
			return nil, usagef("--mail-from: needs --mail-server, the server to submit mail to")
		}
		return nil, nil
	}
	s, err := notify.ParseMailServer(f.server, f.from)
	if err != nil {
		return nil, usagef("--mail-server, --mail-from: %w", err)
	}
	s.DKIM, err = f.dkim.signer(f.from)
	return s, err
}

// The bounds of connections to receivers of notifications.
const (
	receiverIdle      = 30 * time.Second
	receiverIdleConns = 64
	receiverHeaders   = 32 << 10
	// pruneNotificationsEvery is how often expired events and deliveries are removed.
	pruneNotificationsEvery = time.Hour
	// maxCounted bounds what reading the metrics costs.
	maxCounted = 10_000
)

// notifications notifies accounts of events.
type notifications struct {
	deriver *notify.Deriver
	worker  *notify.Worker
	store   metering.Store
	keeper  *metering.Timekeeper
	log     *slog.Logger
	background
}

// newNotifications prepares the parts, which hear of events from then on and do nothing before begin.
func newNotifications(
	store metering.Store, plans metering.Prices, mail *notify.MailServer, env *diag.Env,
	keeper *metering.Timekeeper, log *slog.Logger,
) *notifications {
	connectThrough(mail, env)
	worker := &notify.Worker{Store: store, Client: guardedClient(env), Mail: mail, Clock: keeper.Now, Log: log}
	return &notifications{
		store: store, keeper: keeper, log: log, worker: worker,
		deriver: &notify.Deriver{Store: store, Plans: plans, Clock: keeper.Now, Log: log, Wake: worker.Wake},
	}
}

// connectThrough makes a mail server reachable in the world, if there is one.
func connectThrough(mail *notify.MailServer, env *diag.Env) {
	if mail != nil {
		mail.TLS, mail.Dial = env.TLSConfig(""), guardedDial(env, diag.SMTPPorts)
	}
}

// guardedDial connects if the guard allows it: it checks each address that a name has at that moment.
func guardedDial(env *diag.Env, ports diag.Ports) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		host, text, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, err
		}
		var conn net.Conn // a transport dials in a goroutine of its own, where a panic would end the process
		if p := diag.Catch(func() { conn, err = env.DialHost(ctx, host, uint16(port), ports) }); p != nil {
			return nil, p
		}
		if blocked, ok := errors.AsType[*diag.BlockedError](err); ok {
			return nil, &notify.ReasonError{Reason: blocked.Reason, Err: err}
		}
		if err != nil {
			return nil, &notify.ReasonError{Reason: fetch.DialError(ctx, host, uint16(port), err).Message, Err: err}
		}
		return conn, nil
	}
}

// guardedClient sends to the receivers of notifications, whose URLs may come from anyone. It uses no proxy: a proxy
// would dial in place of the guard.
func guardedClient(env *diag.Env) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: guardedDial(env, diag.WebPorts), TLSClientConfig: env.TLSConfig(""), ForceAttemptHTTP2: true,
		MaxIdleConns: receiverIdleConns, IdleConnTimeout: receiverIdle, MaxResponseHeaderBytes: receiverHeaders,
		DisableCompression: true,
	}}
}

// startDelivery derives and delivers until drain.
func (n *notifications) startDelivery(ctx context.Context, hosted *hosted, counters *metrics.Metrics) {
	ctx = context.WithoutCancel(ctx)
	n.deriver.SPF = spfProfiles{hosted.store}
	n.worker.Observe = func(k notify.Kind, s notify.DeliveryState) { counters.ObserveDelivery(string(k), string(s)) }
	counters.GaugeFunc(metrics.DeliveriesWaiting, func() float64 { return gaugeValue(n.worker.Waiting(ctx, maxCounted)) })
	n.start(ctx, n.log,
		func(ctx context.Context) { _ = n.deriver.Run(ctx) }, // these return the reason of their end
		func(ctx context.Context) { _ = n.worker.Run(ctx) },
		func(ctx context.Context) { repeat(ctx, pruneNotificationsEvery, func() { n.prune(ctx) }) })
}

func (n *notifications) prune(ctx context.Context) {
	if n.keeper.Doubt() != nil {
		return
	}
	_, err := notify.Tidy(ctx, n.store, n.keeper.Now())
	err = errors.Join(err, pruneMembers(ctx, n.store, n.keeper.Now))
	if err != nil && !errors.Is(err, context.Canceled) {
		n.log.Warn("removing expired notifications, sessions and log entries", "error", err)
	}
}

// profileEvent triggers a check of the account of a hosted SPF profile: events are derived from what was stored.
func (n *notifications) profileEvent(e hostedspf.Event) {
	n.deriver.RequestCheckOfKey(context.Background(), metering.KeyID(e.Profile.Owner))
}

// drain begins no further delivery, and waits for those under way to finish until the context ends. One that does not
// finish is repeated at the end of its lease.
func (n *notifications) drain(ctx context.Context) {
	if !n.shutdown(ctx) {
		n.log.Warn("a notification did not finish and was canceled; it will be retried")
	}
}

// spfProfiles is hosted SPF as notifications see it.
type spfProfiles struct{ store hostedspf.Store }

// maxResolutions bounds how many resolutions are examined together: more than one profile has in the horizon.
const maxResolutions = 4096

// Profiles implements [notify.SPF].
func (p spfProfiles) Profiles(ctx context.Context, key metering.KeyID) ([]notify.SPFProfile, error) {
	list, err := metering.Collect(allProfiles(ctx, p.store, hostedspf.ProfileQuery{Owner: hostedspf.Owner(key)}))
	return kit.Map(list, func(one hostedspf.Profile) notify.SPFProfile {
		return notify.SPFProfile{
			ID: one.ID, Domain: one.Domain.String(), Name: one.Name, IncludeHost: one.IncludeHost.String(),
			CreatedAt: one.CreatedAt, UpdatedAt: one.UpdatedAt,
		}
	}), err
}

// Resolutions implements [notify.SPF].
func (p spfProfiles) Resolutions(ctx context.Context, id string, since time.Time) ([]notify.SPFResolution, error) {
	found, err := p.store.Resolutions(ctx, hostedspf.HistoryQuery{ProfileID: id, Since: since, Limit: maxResolutions})
	if err != nil {
		return nil, err
	}
	before, err := p.store.Resolutions(ctx, hostedspf.HistoryQuery{ProfileID: id, Until: since, Limit: 1})
	if err != nil {
		return nil, err
	}
	found = append(found, before...) // the newest first
	slices.Reverse(found)
	return kit.Map(found, func(r hostedspf.Resolution) notify.SPFResolution {
		return notify.SPFResolution{
			ID: r.ID, At: r.ResolvedAt, Failed: r.Status == hostedspf.ResolutionFailed,
			Changed: r.Status == hostedspf.ResolutionChanged, Added: len(r.Added), Removed: len(r.Removed), Error: r.Error,
		}
	}), nil
}
