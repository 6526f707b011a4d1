package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

type spfView struct {
	hostedspf.Profile
	Key hostedspf.Owner `json:"key"`
}

func viewSPF(p hostedspf.Profile) spfView {
	if p.Records == nil {
		p.Records = []hostedspf.Record{}
	}
	return spfView{p, p.Owner}
}

func (a *app) spfCommand() *cobra.Command {
	return a.newGroup("spf", "Administer hosted SPF profiles",
		a.spfCreateCommand(), a.spfListCommand(), a.spfShowCommand(), a.spfResolveCommand(),
		a.spfSwitchCommand("pause", "Stop resolving a profile on schedule; its records stay published", hostedspf.Pause),
		a.spfSwitchCommand("resume", "Resume resolving a paused profile on schedule", hostedspf.Resume),
		a.spfRemoveCommand(), a.spfKeyCommand(), a.spfDSCommand())
}

func (a *app) newProfileCommand(
	use, short string, run func(context.Context, hostedspf.Access, string) error,
) *cobra.Command {
	return newCommand(use+" ID", short, "the id of a profile", func(ctx context.Context, args []string) error {
		err := a.administerSPF(ctx, func(access hostedspf.Access) error { return run(ctx, access, args[0]) })
		if errors.Is(err, hostedspf.ErrNotFound) {
			return fmt.Errorf("%.60q: %w", args[0], hostedspf.ErrNotFound)
		}
		return err
	})
}

func (a *app) administerSPF(ctx context.Context, f func(hostedspf.Access) error) (err error) {
	if err := a.checkAdministrable(); err != nil {
		return err
	}
	store, err := a.openHosted(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, store.Close()) }()
	return f(hostedspf.Access{Store: store, Owner: hostedspf.AnyOwner})
}

func (a *app) withEnv(f func(*diag.Env) error) error {
	env, release, err := a.world.Env()
	if err != nil {
		return usageError{err}
	}
	defer release()
	return f(env)
}

func (a *app) spfCreateCommand() *cobra.Command {
	var key, domain, host string
	var interval time.Duration
	var req hostedspf.CreateRequest
	create := newCommand(
		"create",
		"Create a profile and resolve it",
		"",
		func(ctx context.Context, _ []string) (err error) {
			if key == "" || domain == "" {
				return usagef("--key and --domain are required")
			}
			if req.Domain, err = diag.ParseDomain(domain); err != nil {
				return usagef("--domain: %w", err)
			}
			if interval%time.Second != 0 {
				return usagef("--interval: must be whole seconds")
			}
			req.IntervalSeconds = int(interval / time.Second)
			if req.IncludeHost, req.Zone, err = a.includeHost(host); err != nil {
				return err
			}
			return a.createSPF(ctx, metering.KeyID(key), req)
		},
	)
	flags := create.Flags()
	flags.StringVar(&key, "key", "", "id of the key that owns the profile; ownership follows rotations of the key")
	flags.StringVar(&domain, "domain", "", "domain whose senders the record lists")
	flags.StringVar(&req.Name, "name", "", "name of the profile (default: the domain)")
	flags.StringVar(&req.SourceRecord, "record", "", "record to resolve (default: the domain's current record)")
	flags.StringVar(&host, "include-host", "",
		"name of the record, if another server publishes it (default: a new name in --spf-dns-zone)")
	flags.DurationVar(&interval, "interval", hostedspf.DefaultInterval*time.Second, "how often to resolve, 5m to 24h")
	a.serving.hosted.addZone(flags)
	a.world.Add(flags)
	return create
}

// includeHost returns where a new profile is published: at a name, or at any in a zone.
func (a *app) includeHost(host string) (name, zone diag.Name, err error) {
	if host != "" {
		if name, err = diag.ParseName(host); err != nil {
			err = usagef("--include-host: %w", err)
		}
		return name, zone, err
	}
	zone, err = a.serving.hosted.zoneName()
	if err == nil && zone.IsZero() {
		err = usagef("--include-host or --spf-dns-zone is required")
	}
	return name, zone, err
}

// ownerOf returns the owner of the profiles of a key: the first of its line of rotations.
func (a *app) ownerOf(ctx context.Context, key metering.KeyID) (owner hostedspf.Owner, err error) {
	err = a.administer(ctx, func(admin metering.Admin) error {
		first, err := admin.Origin(ctx, key)
		owner = hostedspf.Owner(first)
		return err
	})
	return owner, err
}

func (a *app) createSPF(ctx context.Context, key metering.KeyID, req hostedspf.CreateRequest) error {
	owner, err := a.ownerOf(ctx, key)
	if err != nil {
		return err
	}
	return a.withEnv(func(env *diag.Env) error {
		return a.administerSPF(ctx, func(access hostedspf.Access) error {
			access.Owner = owner
			access.Zone, _ = a.serving.hosted.answeredZone() // parsed before
			p, err := hostedspf.Create(ctx, env, access, req)
			err = a.showSPF(p, err)
			if err == nil && p.LastError != "" {
				return fmt.Errorf("%s was created, but not resolved yet: %s", p.ID, p.LastError)
			}
			return err
		})
	})
}

func (a *app) showSPF(p *hostedspf.Profile, err error) error {
	if err != nil {
		return err
	}
	v := viewSPF(*p)
	return a.print(v, func(t *table) {
		t.row("id", v.ID)
		t.row("key", v.Key)
		t.row("domain", v.Domain)
		t.row("name", v.Name)
		t.row("status", v.Status)
		t.row("DNS lookups", fmt.Sprintf("%d before, %d after", v.LookupsBefore, v.LookupsAfter))
		t.row("networks", fmt.Sprintf("%d of IPv4, %d of IPv6", v.IP4Count, v.IP6Count))
		t.row("records", fmt.Sprintf("%d at %s", len(v.Records), v.IncludeHost))
		t.row("resolved", formatTime(&v.LastResolvedAt))
		t.row("next", formatTime(&v.NextResolveAt))
		if v.LastError != "" {
			t.row("last error", v.LastError)
		}
		if len(v.Records) > 0 { // a domain must not refer to a name without a record
			t.row("to use it", fmt.Sprintf(`%s. TXT "v=spf1 redirect=%s"`, v.Domain, v.IncludeHost))
		}
	})
}

func (a *app) spfListCommand() *cobra.Command {
	var key, domain string
	var pages pageFlags
	list := newCommand("list", "List profiles", "", func(ctx context.Context, _ []string) (err error) {
		q := hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner}
		if domain != "" {
			if q.Domain, err = diag.ParseDomain(domain); err != nil {
				return usagef("--domain: %w", err)
			}
		}
		if key != "" {
			if q.Owner, err = a.ownerOf(ctx, metering.KeyID(key)); err != nil {
				return err
			}
		}
		return a.administerSPF(ctx, func(access hostedspf.Access) error {
			list := paginate(pages, allProfiles(ctx, access.Store, q), func(p hostedspf.Profile) string { return p.ID })
			return printEach(a, mapSequence(list, viewSPF), "ID, DOMAIN, NAME, STATUS, INCLUDE HOST, RECORDS, RESOLVED, KEY",
				func(v spfView) []any {
					return []any{v.ID, v.Domain, v.Name, v.Status, v.IncludeHost, len(v.Records), formatTime(&v.LastResolvedAt), v.Key}
				})
		})
	})
	list.Flags().StringVar(&key, "key", "", "only profiles of this key and its predecessors")
	list.Flags().StringVar(&domain, "domain", "", "only profiles of this domain")
	pages.add(list.Flags())
	return list
}

// pageSPF is how many profiles are read at a time.
const pageSPF = 500

// allProfiles yields the results of a query, and reads them page by page.
func allProfiles(
	ctx context.Context, store hostedspf.Store, q hostedspf.ProfileQuery,
) iter.Seq2[hostedspf.Profile, error] {
	return metering.Pages(0, pageSPF, func(last *hostedspf.Profile, size int) ([]hostedspf.Profile, error) {
		if q.Limit = size; last != nil {
			q.After = hostedspf.Position{Time: last.CreatedAt, ID: last.ID}
		}
		found, err := store.Profiles(ctx, q)
		return found.Profiles, err
	})
}

func (a *app) spfShowCommand() *cobra.Command {
	return a.newProfileCommand("show", "Print the records of a profile as lines of a zone file",
		func(ctx context.Context, access hostedspf.Access, id string) error {
			p, err := access.Profile(ctx, id)
			if err != nil || a.json {
				return a.showSPF(p, err)
			}
			_, err = fmt.Fprint(a.stdout, zoneFile(*p))
			return err
		})
}

// zoneFile returns what an operator pastes into a zone; remarks are in comments.
func zoneFile(p hostedspf.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "; %s for %s, %s, resolved %s\n", p.ID, p.Domain, p.Status, formatTime(&p.LastResolvedAt))
	if p.LastError != "" {
		fmt.Fprintf(&b, "; last error: %s\n", strings.Join(strings.Fields(p.LastError), " "))
	}
	if len(p.Records) > 0 { // a domain must not refer to a name without a record
		fmt.Fprintf(&b, "; %s itself publishes: v=spf1 redirect=%s\n", p.Domain, p.IncludeHost)
	}
	ttl := min(nameserver.DefaultTTL, time.Duration(p.IntervalSeconds)*time.Second)
	b.WriteString(nameserver.MasterFile(p.Records, ttl))
	for _, part := range p.Parts {
		switch {
		case part.Networks != nil && part.Until.IsZero():
			fmt.Fprintf(&b, "; only the bundled name server can answer below %s\n", part.Name)
		case part.Value != "" && part.Name != p.IncludeHost.String() && time.Now().Before(part.Until):
			fmt.Fprintf(&b, "; until %s, for resolvers that have an earlier record:\n", formatTime(&part.Until))
			b.WriteString(nameserver.MasterFile([]hostedspf.Record{{Name: part.Name, Value: part.Value}}, ttl))
		}
	}
	return b.String()
}

func (a *app) spfResolveCommand() *cobra.Command {
	cmd := a.newProfileCommand("resolve", "Resolve a profile now",
		func(ctx context.Context, access hostedspf.Access, id string) (err error) {
			if access.Zone, err = a.serving.hosted.answeredZone(); err != nil {
				return err
			}
			return a.withEnv(func(env *diag.Env) error {
				return a.showResolution(hostedspf.Resolve(ctx, env, access, hostedspf.ResolveRequest{ID: id}))
			})
		})
	a.serving.hosted.addZone(cmd.Flags())
	a.world.Add(cmd.Flags())
	return cmd
}

func (a *app) showResolution(report *hostedspf.ResolveReport, err error) error {
	if err != nil {
		return err
	}
	r := report.Resolution
	err = a.print(report, func(t *table) {
		t.row("resolution", r.ID)
		t.row("status", r.Status)
		t.row("DNS lookups", r.DNSLookups)
		t.row("networks", fmt.Sprintf("%d of IPv4, %d of IPv6", r.IP4Count, r.IP6Count))
		for _, n := range r.Added {
			t.row("added", n)
		}
		for _, n := range r.Removed {
			t.row("removed", n)
		}
	})
	if err == nil && r.Status == hostedspf.ResolutionFailed {
		return fmt.Errorf("the resolution failed: %s", r.Error)
	}
	return err
}

func (a *app) spfSwitchCommand(
	use, short string, f func(context.Context, *diag.Env, hostedspf.Access, string) (*hostedspf.Profile, error),
) *cobra.Command {
	return a.newProfileCommand(use, short, func(ctx context.Context, access hostedspf.Access, id string) error {
		return a.showSPF(f(ctx, nil, access, id))
	})
}

type removedView struct {
	ID      string `json:"id"`
	Removed bool   `json:"removed"`
}

func (a *app) showRemoved(id string, err error) error {
	if err != nil {
		return err
	}
	return a.print(removedView{id, true}, func(t *table) { t.row(id + " was removed.") })
}

func (a *app) spfRemoveCommand() *cobra.Command {
	cmd := a.newProfileCommand("remove", "Remove a profile with its history permanently",
		func(ctx context.Context, access hostedspf.Access, id string) error {
			p, err := access.Profile(ctx, id)
			if err == nil {
				err = hostedspf.Remove(ctx, access, id)
			}
			if err != nil {
				return err
			}
			return a.print(removedView{p.ID, true}, func(t *table) {
				t.row(fmt.Sprintf("%s was removed; %s is no longer served.", p.ID, p.IncludeHost))
				t.row(fmt.Sprintf("If %s still refers to it, its SPF breaks within minutes.", p.Domain))
			})
		})
	cmd.Long = `Remove a profile with its history permanently. The name server stops serving its records within a second, and they
expire from resolvers within minutes: a domain that still refers to them then has a permanent error in its SPF. Change
its record first.`
	return cmd
}

func (a *app) spfKeyCommand() *cobra.Command {
	var dir string
	cmd := newCommand("key", "Create a DNSSEC key for the zone and print its DS record", "",
		func(context.Context, []string) error {
			zone, err := a.serving.hosted.zoneName()
			if err == nil && zone.IsZero() {
				err = usagef("--spf-dns-zone is required")
			}
			if err != nil {
				return err
			}
			key, err := nameserver.NewSigningKey(zone)
			if err != nil {
				return err
			}
			file, err := key.Write(dir)
			if err != nil {
				return err
			}
			return a.print(map[string]string{"file": file, "ds": key.DS()}, func(t *table) {
				t.row("file", file)
				t.row("to sign with it", "diagd serve --spf-dns-key "+file)
				t.row("then, in the parent zone", key.DS())
			})
		})
	a.serving.hosted.addZone(cmd.Flags())
	cmd.Flags().StringVar(&dir, "dir", ".", "folder for the two files of the key")
	return cmd
}

func (a *app) spfDSCommand() *cobra.Command {
	cmd := newCommand("ds", "Print the DS records of the zone's keys", "",
		func(context.Context, []string) error {
			keys, err := a.serving.hosted.signing()
			if err == nil && len(keys) == 0 {
				err = usagef("--spf-dns-key is required")
			}
			for _, k := range keys {
				fmt.Fprintln(a.stdout, k.DS())
			}
			return err
		})
	a.serving.hosted.addKeys(cmd.Flags())
	return cmd
}
