package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/diagkit/diagkit/mailauth/hostedspf/postgres"
	"github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/spf13/pflag"
)

type hostedFlags struct {
	listen, zone, contact, tsig string
	rate                        int
	nameservers, secondaries    []string
	keys                        []string // files that sign the zone
}

func (f *hostedFlags) add(fs *pflag.FlagSet) {
	f.addZone(fs)
	fs.StringVar(&f.listen, "spf-dns-listen", "",
		"address to serve DNS for hosted SPF on, by UDP and TCP (default: off)")
	fs.StringSliceVar(&f.nameservers, "spf-dns-ns", nil,
		"name servers of the zone, as delegated: NAME, or NAME=ADDR/ADDR for names in the zone")
	fs.StringVar(&f.contact, "spf-dns-contact", "",
		"e-mail address of the zone's contact (default: hostmaster at the registered domain)")
	fs.IntVar(&f.rate, "spf-dns-rate", nameserver.DefaultRate,
		"UDP responses per second, name and client network without a DNS cookie; -1 for no limit")
	f.addKeys(fs)
	fs.StringVar(&f.tsig, "spf-dns-tsig", "",
		"TSIG key for transfers of the zone, as [ALGORITHM:]NAME:SECRET with the secret in base64; prefer "+
			"DIAG_SPF_DNS_TSIG, which other users of the host cannot read")
}

func (f *hostedFlags) addKeys(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.keys, "spf-dns-key", nil,
		"DNSSEC key of the zone, as made by diagd spf key or dnssec-keygen -f KSK: the file that ends in "+
			".private; further keys are published but do not sign (default: the zone is not signed)")
}

func (f *hostedFlags) addZone(fs *pflag.FlagSet) {
	fs.StringVar(&f.zone, "spf-dns-zone", "", "zone for hosted SPF records, such as spf.example.net")
	fs.StringSliceVar(&f.secondaries, "spf-dns-secondaries", nil,
		"addresses of secondary name servers, which transfer the zone and are notified of changes: ADDR or ADDR:PORT")
}

// answeredZone is the zone in which sets of addresses can be answered for: secondaries cannot.
func (f *hostedFlags) answeredZone() (diag.Name, error) {
	if len(f.secondaries) > 0 {
		return diag.Name{}, nil
	}
	return f.zoneName()
}

// transfers returns the clients that may transfer the zone, and their key.
func (f *hostedFlags) transfers(c *nameserver.Config) error {
	for _, text := range f.secondaries {
		ip, err := netip.ParseAddr(text)
		to := netip.AddrPortFrom(ip, 53)
		if err != nil {
			to, err = netip.ParseAddrPort(text)
		}
		if err != nil {
			return usagef("--spf-dns-secondaries: %.60q is not ADDR or ADDR:PORT", text)
		}
		c.Secondaries = append(c.Secondaries, to)
	}
	if f.tsig != "" {
		key, err := nameserver.ParseKey(f.tsig)
		if err != nil {
			return usagef("--spf-dns-tsig: %w", err)
		}
		c.Key = &key
	}
	return nil
}

func (f *hostedFlags) signing() (keys []nameserver.SigningKey, err error) {
	for _, file := range f.keys {
		key, err := nameserver.ReadSigningKey(file)
		if err != nil {
			return nil, usagef("--spf-dns-key: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// serveZone returns the configuration of the name server; nil without one.
func (f *hostedFlags) serveZone() (c *nameserver.Config, err error) {
	if f.listen == "" {
		return nil, nil
	}
	c = &nameserver.Config{Zone: nameserver.Zone{Contact: f.contact}, Rate: f.rate}
	zone := &c.Zone
	if zone.Name, err = f.zoneName(); err != nil {
		return nil, err
	}
	if zone.Name.IsZero() || len(f.nameservers) == 0 {
		return nil, usagef("--spf-dns-listen needs --spf-dns-zone and --spf-dns-ns")
	}
	for _, text := range f.nameservers {
		ns, err := nameserver.ParseNameserver(text)
		if err != nil {
			return nil, usagef("--spf-dns-ns: %w", err)
		}
		zone.Nameservers = append(zone.Nameservers, ns)
	}
	if err := zone.Validate(); err != nil {
		return nil, usageError{err}
	}
	if err := f.transfers(c); err != nil {
		return nil, err
	}
	c.Signing, err = f.signing()
	return c, err
}

func (f *hostedFlags) zoneName() (diag.Name, error) {
	if f.zone == "" {
		return diag.Name{}, nil
	}
	name, err := diag.ParseName(f.zone)
	if err != nil {
		err = usagef("--spf-dns-zone: %w", err)
	}
	return name, err
}

// openHosted opens the profiles, which are stored with the accounts.
func (a *app) openHosted(ctx context.Context) (hostedspf.Store, error) {
	kind, place, err := a.parseStore()
	if err != nil {
		return nil, err
	}
	var store hostedspf.Store
	switch kind {
	case "memory":
		return memory.New(memory.Config{}), nil
	case "postgres":
		store, err = postgres.Open(ctx, place, postgres.Config{})
	default:
		store, err = sqlite.Open(ctx, place, sqlite.Config{})
	}
	if err != nil {
		return nil, fmt.Errorf("--store: opening the profiles: %w", err)
	}
	return store, nil
}

// hosted is a server's background work for hosted SPF.
type hosted struct {
	store   hostedspf.Store
	dns     *nameserver.Server // nil without one
	zone    diag.Name          // as in [hostedspf.Access]
	log     *slog.Logger
	notify  func(hostedspf.Event) // hears of what happened to profiles
	drained sync.Once
	background
}

// countingStore is a store that counts all resolutions.
type countingStore struct {
	hostedspf.Store
	counters *metrics.Metrics
}

// Finish implements [hostedspf.Store].
func (c countingStore) Finish(
	ctx context.Context,
	claim hostedspf.Claim,
	o hostedspf.Outcome,
) (hostedspf.Profile, error) {
	p, err := c.Store.Finish(ctx, claim, o)
	if err == nil {
		c.counters.ObserveResolution(string(o.Resolution.Status))
	}
	return p, err
}

// startHosted opens the profiles, and serves them until drain if there is a zone.
func (a *app) startHosted(
	ctx context.Context, zone *nameserver.Config, bounds *budget.Budget, counters *metrics.Metrics, log *slog.Logger,
) (*hosted, error) {
	store, err := a.openHosted(ctx)
	if err != nil {
		return nil, err
	}
	h := &hosted{store: countingStore{store, counters}, log: log}
	if zone == nil {
		return h, nil
	}
	h.zone, _ = a.serving.hosted.answeredZone() // parsed before
	zone.Store, zone.Log, zone.Observe = store, log, counters.ObserveQuestion
	zone.Admit = bounds.DNSConnections.Take
	if h.dns, err = nameserver.Listen(ctx, a.serving.hosted.listen, *zone); err != nil {
		return nil, errors.Join(fmt.Errorf("--spf-dns-listen: %w", err), store.Close())
	}
	log.Info("serving DNS", "address", h.dns.Addr(), "zone", zone.Zone.Name.String(), "records", h.dns.Records())
	for _, k := range zone.Signing {
		log.Info("the zone is signed; publish this record in the parent zone", "ds", k.DS())
	}
	return h, nil
}

// schedule resolves profiles when they are due, until the context ends.
func (h *hosted) schedule(ctx context.Context, env *diag.Env) {
	scheduler := &hostedspf.Scheduler{Store: h.store, Env: env, Zone: h.zone, Notify: h.notify, Log: h.log}
	h.start(ctx, h.log, func(ctx context.Context) { _ = scheduler.Run(ctx) }) // which returns the reason of its end
}

// failed returns a channel with the failure of the name server. Without one it blocks forever.
func (h *hosted) failed() <-chan error {
	if h.dns == nil {
		return nil
	}
	return h.dns.Err()
}

func (h *hosted) health(w io.Writer) {
	if h.dns != nil {
		fmt.Fprintf(w, "dns %s: hosted SPF, records: %d, as of %s\n",
			h.dns.Addr(), h.dns.Records(), h.dns.Updated().UTC().Format(time.RFC3339))
	}
}

// drain accepts no more queries, and waits for resolutions to finish until the context ends. One that does not finish
// leaves the profile unchanged; its claim lapses. Further calls do nothing.
func (h *hosted) drain(ctx context.Context) {
	h.drained.Do(func() {
		if h.dns != nil {
			if err := h.dns.Shutdown(ctx); err != nil {
				h.log.Warn("the name server did not shut down in time", "error", err)
			}
		}
		if !h.shutdown(ctx) {
			h.log.Warn("a resolution of hosted SPF did not finish and was canceled; nothing has changed")
		}
	})
}

// close ends what was not drained, and closes the profiles.
func (h *hosted) close() {
	runWithin(closeTime, h.drain)
	if err := h.store.Close(); err != nil {
		h.log.Warn("closing the store of hosted SPF", "error", err)
	}
}
