package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

// spfView is a profile with the key that it belongs to.
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
	cmd := group("spf", "Administer hosted SPF profiles",
		a.spfCreateCommand(), a.spfListCommand(), a.spfShowCommand(), a.spfResolveCommand(),
		a.spfSwitchCommand("pause ID", "Resolve a profile no more by itself; what is published stays", hostedspf.Pause),
		a.spfSwitchCommand("resume ID", "Resolve a paused profile by itself again", hostedspf.Resume),
		a.spfRemoveCommand(), a.spfKeyCommand(), a.spfDSCommand())
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

// administerSPF runs a function on the profiles of all owners.
func (a *app) administerSPF(ctx context.Context, f func(hostedspf.Access) error) (err error) {
	if err := a.administrable(); err != nil {
		return err
	}
	store, err := a.openHosted(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := store.Close(); err == nil {
			err = e
		}
	}()
	return f(hostedspf.Access{Store: store, Owner: hostedspf.AnyOwner})
}

// withWorld runs a function on the world that the flags describe.
func (a *app) withWorld(f func(*diag.Env) error) error {
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
	create := &cobra.Command{
		Use: "create", Short: "Create a profile and resolve it", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if key == "" || domain == "" {
				return usagef("--key and --domain are needed")
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
			return a.createSPF(cmd.Context(), metering.KeyID(key), req)
		},
	}
	flags := create.Flags()
	flags.StringVar(&key, "key", "", "id of the key that the profile belongs to; it stays with the key's successors")
	flags.StringVar(&domain, "domain", "", "domain whose senders the record lists")
	flags.StringVar(&req.Name, "name", "", "name of the profile (default: the domain)")
	flags.StringVar(&req.SourceRecord, "record", "", "record to resolve (default: the one that the domain publishes now)")
	flags.StringVar(&host, "include-host", "",
		"name to publish at, for who publishes elsewhere (default: a new name in --spf-dns-zone)")
	flags.DurationVar(&interval, "interval", hostedspf.DefaultInterval*time.Second, "how often to resolve, 5m to 24h")
	a.serving.hosted.addZone(flags)
	a.world.Add(flags)
	return create
}

// includeHost says where a new profile is published: at a name, or at any in a zone.
func (a *app) includeHost(host string) (name, zone diag.Name, err error) {
	if host != "" {
		if name, err = diag.ParseName(host); err != nil {
			return name, zone, usagef("--include-host: %w", err)
		}
		return name, zone, nil
	}
	zone, err = a.serving.hosted.zoneName()
	if err == nil && zone.IsZero() {
		err = usagef("--include-host or --spf-dns-zone must say where the records are to be published")
	}
	return name, zone, err
}

func (a *app) createSPF(ctx context.Context, key metering.KeyID, req hostedspf.CreateRequest) error {
	var owner metering.KeyID
	err := a.administer(ctx, func(admin metering.Admin) (err error) {
		owner, err = admin.Origin(ctx, key)
		return err
	})
	if err != nil {
		return err
	}
	return a.withWorld(func(env *diag.Env) error {
		return a.administerSPF(ctx, func(access hostedspf.Access) error {
			access.Owner = hostedspf.Owner(owner)
			access.Zone, _ = a.serving.hosted.answeredZone() // parsed before
			p, err := hostedspf.Create(ctx, env, access, req)
			if err != nil {
				return err
			}
			err = a.showSPF(*p)
			if err == nil && p.LastError != "" {
				return fmt.Errorf("%s was created, but not resolved yet: %s", p.ID, p.LastError)
			}
			return err
		})
	})
}

// showSPF prints one profile.
func (a *app) showSPF(p hostedspf.Profile) error {
	v := viewSPF(p)
	return a.print(v, func(t *table) {
		t.row("id", v.ID)
		t.row("key", v.Key)
		t.row("domain", v.Domain)
		t.row("name", v.Name)
		t.row("status", v.Status)
		t.row("DNS lookups", fmt.Sprintf("%d before, %d after", v.LookupsBefore, v.LookupsAfter))
		t.row("networks", fmt.Sprintf("%d of IPv4, %d of IPv6", v.IP4Count, v.IP6Count))
		t.row("records", fmt.Sprintf("%d at %s", len(v.Records), v.IncludeHost))
		t.row("resolved", moment(v.LastResolvedAt))
		t.row("next", moment(v.NextResolveAt))
		if v.LastError != "" {
			t.row("last error", v.LastError)
		}
		if len(v.Records) > 0 { // a domain must not lead to where there is nothing yet
			t.row("to use it", fmt.Sprintf(`%s. TXT "v=spf1 redirect=%s"`, v.Domain, v.IncludeHost))
		}
	})
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return when(&t)
}

func (a *app) spfListCommand() *cobra.Command {
	var key, domain string
	list := &cobra.Command{
		Use: "list", Short: "List profiles", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			q := hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner}
			if domain != "" {
				if q.Domain, err = diag.ParseDomain(domain); err != nil {
					return usagef("--domain: %w", err)
				}
			}
			if key != "" {
				err := a.administer(cmd.Context(), func(admin metering.Admin) error {
					first, err := admin.Origin(cmd.Context(), metering.KeyID(key))
					q.Owner = hostedspf.Owner(first)
					return err
				})
				if err != nil {
					return err
				}
			}
			return a.administerSPF(cmd.Context(), func(access hostedspf.Access) error {
				return a.listSPF(cmd.Context(), access.Store, q)
			})
		},
	}
	list.Flags().StringVar(&key, "key", "", "only profiles of this key, and of those that it succeeded")
	list.Flags().StringVar(&domain, "domain", "", "only profiles of this domain")
	return list
}

// pageSPF is how many profiles are read at once.
const pageSPF = 500

func (a *app) listSPF(ctx context.Context, store hostedspf.Store, q hostedspf.ProfileQuery) error {
	views := []spfView{}
	for q.Limit = pageSPF; ; {
		page, err := store.Profiles(ctx, q)
		if err != nil {
			return err
		}
		for _, p := range page.Profiles {
			views = append(views, viewSPF(p))
			q.After = hostedspf.Position{Time: p.CreatedAt, ID: p.ID}
		}
		if len(page.Profiles) < pageSPF {
			break
		}
	}
	return a.print(views, func(t *table) {
		t.row("ID", "DOMAIN", "NAME", "STATUS", "INCLUDE HOST", "RECORDS", "RESOLVED", "KEY")
		for _, v := range views {
			t.row(v.ID, v.Domain, v.Name, v.Status, v.IncludeHost, len(v.Records), moment(v.LastResolvedAt), v.Key)
		}
	})
}

func (a *app) spfShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Print the records of a profile as lines of a zone file",
		Args: exactly(1, "the id of a profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.administerSPF(cmd.Context(), func(access hostedspf.Access) error {
				p, err := hostedspf.Show(cmd.Context(), nil, access, hostedspf.ShowRequest{ID: args[0]})
				if err != nil {
					return notFound(err, args[0])
				}
				if a.json {
					return a.showSPF(*p)
				}
				_, err = fmt.Fprint(a.stdout, zoneFile(*p))
				return err
			})
		},
	}
}

// zoneFile is what an operator pastes into a zone; what else there is to say stands in comments.
func zoneFile(p hostedspf.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "; %s for %s, %s, resolved %s\n", p.ID, p.Domain, p.Status, moment(p.LastResolvedAt))
	if p.LastError != "" {
		fmt.Fprintf(&b, "; last error: %s\n", strings.Join(strings.Fields(p.LastError), " "))
	}
	if len(p.Records) > 0 { // a domain must not lead to where there is nothing yet
		fmt.Fprintf(&b, "; %s itself publishes: v=spf1 redirect=%s\n", p.Domain, p.IncludeHost)
	}
	ttl := min(nameserver.DefaultTTL, time.Duration(p.IntervalSeconds)*time.Second)
	b.WriteString(nameserver.MasterFile(p.Records, ttl))
	for _, part := range p.Parts {
		switch {
		case part.Networks != nil && part.Until.IsZero():
			fmt.Fprintf(&b, "; only the bundled name server can answer below %s\n", part.Name)
		case part.Value != "" && part.Name != p.IncludeHost.String() && time.Now().Before(part.Until):
			fmt.Fprintf(&b, "; until %s, for resolvers that have an earlier record:\n", moment(part.Until))
			b.WriteString(nameserver.MasterFile([]hostedspf.Record{{Name: part.Name, Value: part.Value}}, ttl))
		}
	}
	return b.String()
}

// notFound says which profile there is not.
func notFound(err error, id string) error {
	if errors.Is(err, hostedspf.ErrNotFound) {
		return fmt.Errorf("%.60q: %w", id, hostedspf.ErrNotFound)
	}
	return err
}

func (a *app) spfResolveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "resolve ID", Short: "Resolve a profile now", Args: exactly(1, "the id of a profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			zone, err := a.serving.hosted.answeredZone()
			if err != nil {
				return err
			}
			return a.withWorld(func(env *diag.Env) error {
				return a.administerSPF(cmd.Context(), func(access hostedspf.Access) error {
					access.Zone = zone
					r, err := hostedspf.Resolve(cmd.Context(), env, access, hostedspf.ResolveRequest{ID: args[0]})
					if err != nil {
						return notFound(err, args[0])
					}
					return a.showResolution(r)
				})
			})
		},
	}
	a.serving.hosted.addZone(cmd.Flags())
	a.world.Add(cmd.Flags())
	return cmd
}

// showResolution prints what a resolution found. One that failed is loud.
func (a *app) showResolution(report *hostedspf.ResolveReport) error {
	r := report.Resolution
	err := a.print(report, func(t *table) {
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
	return &cobra.Command{
		Use: use, Short: short, Args: exactly(1, "the id of a profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.administerSPF(cmd.Context(), func(access hostedspf.Access) error {
				p, err := f(cmd.Context(), nil, access, args[0])
				if err != nil {
					return notFound(err, args[0])
				}
				return a.showSPF(*p)
			})
		},
	}
}

// removedView names a profile that is gone.
type removedView struct {
	ID      string `json:"id"`
	Removed bool   `json:"removed"`
}

func (a *app) spfRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a profile with its history, for good", Args: exactly(1, "the id of a profile"),
		Long: "Remove a profile with its history, for good. The name server stops serving its records within a\n" +
			"second, and resolvers forget them within minutes: a domain that still refers to them then has a\n" +
			"permanent error in its SPF. Change its record first.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.administerSPF(cmd.Context(), func(access hostedspf.Access) error {
				p, err := hostedspf.Show(cmd.Context(), nil, access, hostedspf.ShowRequest{ID: args[0]})
				if err == nil {
					err = hostedspf.Remove(cmd.Context(), access, args[0])
				}
				if err != nil {
					return notFound(err, args[0])
				}
				return a.print(removedView{p.ID, true}, func(t *table) {
					t.row(fmt.Sprintf("%s is removed, and %s is no longer served.", p.ID, p.IncludeHost))
					t.row(fmt.Sprintf("If %s still refers to it, its SPF is broken within minutes.", p.Domain))
				})
			})
		},
	}
}
