package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
)

// A keyLine is the keys that came from one by rotation. Profiles belong to it.
type keyLine struct {
	name string       // of the newest key
	key  metering.Key // the newest that can resolve; the zero key where none can
}

// keyLines are the lines of keys of an account that begin with some of its keys.
func (d *dashboard) keyLines(
	ctx context.Context, account metering.AccountID, owners []hostedspf.Owner,
) (map[hostedspf.Owner]keyLine, error) {
	lines := map[hostedspf.Owner]keyLine{}
	of := map[metering.KeyID]hostedspf.Owner{} // the line of each key that is searched for
	for _, owner := range owners {
		of[metering.KeyID(owner)] = owner
	}
	for len(of) > 0 {
		next := map[metering.KeyID]hostedspf.Owner{}
		for ids := range slices.Chunk(slices.Collect(maps.Keys(of)), metering.MaxKeyIDs) {
			for k, err := range d.Store.Keys(ctx, metering.KeyFilter{Account: account, IDs: ids}) {
				if err != nil {
					return nil, err
				}
				line := lines[of[k.ID]]
				line.name = k.Name
				if slices.Contains(workingStates, k.State(d.now())) && slices.Contains(k.Scopes, metering.MailWrite) {
					line.key = k
				}
				lines[of[k.ID]] = line
				if k.RotatedTo != "" {
					next[k.RotatedTo] = of[k.ID]
				}
			}
		}
		of = next
	}
	return lines, nil
}

// A profileRow is a profile in the list.
type profileRow struct {
	hostedspf.Profile
	KeyName string
}

const (
	// maxProfiles bounds how many profiles of an account are shown, and profilesAtOnce how many are read
	// concurrently.
	maxProfiles    = 10_000
	profilesAtOnce = 1000
)

// profilesOf returns the profiles of all keys of an account. It queries those of each key, or, if there are fewer,
// reads all profiles of the server for those of the account.
func (d *dashboard) profilesOf(ctx context.Context, account metering.AccountID) (list []hostedspf.Profile, err error) {
	counts, err := d.Store.CountKeys(ctx, metering.KeyFilter{Account: account, At: d.now()})
	if err != nil {
		return nil, err
	}
	all, err := d.HostedSPF.Profiles(ctx, hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: 1})
	if err != nil {
		return nil, err
	}
	if all.Total < countIn(counts, "") {
		return d.profilesAmong(ctx, account)
	}
	for k, err := range d.Store.Keys(ctx, metering.KeyFilter{Account: account}) {
		if err != nil {
			return nil, err
		}
		q := hostedspf.ProfileQuery{Owner: hostedspf.Owner(k.ID), Limit: maxProfiles}
		if k.RotatedFrom == "" && len(list) < maxProfiles {
			found, err := d.HostedSPF.Profiles(ctx, q)
			if list = append(list, found.Profiles...); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// profilesAmong reads all profiles of the server for those of an account.
func (d *dashboard) profilesAmong(
	ctx context.Context, account metering.AccountID,
) (list []hostedspf.Profile, err error) {
	q := hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: profilesAtOnce}
	for len(list) < maxProfiles {
		found, err := d.HostedSPF.Profiles(ctx, q)
		if err != nil || len(found.Profiles) == 0 {
			return list, err
		}
		ids := diag.Map(found.Profiles, func(p hostedspf.Profile) metering.KeyID { return metering.KeyID(p.Owner) })
		own, err := d.namesOf(ctx, account, ids)
		if err != nil {
			return nil, err
		}
		for _, p := range found.Profiles {
			if _, of := own[string(p.Owner)]; of {
				list = append(list, p)
			}
		}
		last := found.Profiles[len(found.Profiles)-1]
		q.After = hostedspf.Position{Time: last.CreatedAt, ID: last.ID}
	}
	return list, nil
}

// showProfiles lists the profiles of all keys of the account.
func (d *dashboard) showProfiles(r *http.Request) (any, error) {
	account := visitorOf(r).Account.ID
	list, err := d.profilesOf(r.Context(), account)
	if err != nil {
		return nil, err
	}
	urgent := []hostedspf.Status{hostedspf.Failed, hostedspf.Active, hostedspf.Paused}
	slices.SortStableFunc(list, func(a, b hostedspf.Profile) int {
		return cmp.Or(slices.Index(urgent, a.Status)-slices.Index(urgent, b.Status),
			cmp.Compare(a.Domain.String(), b.Domain.String()))
	})
	shown := struct {
		pager
		Rows []profileRow
	}{}
	shown.pager, list = paged(r, list)
	lines, err := d.keyLines(r.Context(), account,
		diag.Map(list, func(p hostedspf.Profile) hostedspf.Owner { return p.Owner }))
	for _, p := range list {
		shown.Rows = append(shown.Rows, profileRow{p, lines[p.Owner].name})
	}
	return shown, err
}

// A profilePage is a profile with its past.
type profilePage struct {
	profileRow
	outcome
	Used    bool // whether the domain's own record leads to it
	Silent  bool // the DNS did not answer
	Viewed  template.HTML
	Stats   template.HTML
	History *hostedspf.HistoryReport
	Changes bool   // the history shows changes alone
	Older   string // address of the next page of it
	May     bool   // a key of the line can resolve it
	Price   string
}

// profile is the profile that the path names, the line of keys that it belongs to and access to it, or
// [metering.ErrNotFound].
func (d *dashboard) profile(r *http.Request) (*hostedspf.Profile, keyLine, hostedspf.Access, error) {
	a := hostedspf.Access{Store: d.HostedSPF, Owner: hostedspf.AnyOwner}
	p, err := a.Profile(r.Context(), r.PathValue("profile"))
	if errors.Is(err, hostedspf.ErrNotFound) {
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, keyLine{}, a, err
	}
	lines, err := d.keyLines(r.Context(), visitorOf(r).Account.ID, []hostedspf.Owner{p.Owner})
	line, known := lines[p.Owner]
	if err == nil && !known {
		err = metering.ErrNotFound
	}
	a.Owner = p.Owner
	return p, line, a, err
}

// showProfile shows a profile: what to publish, what is published, what has changed.
func (d *dashboard) showProfile(r *http.Request) (any, error) {
	p, line, access, err := d.profile(r)
	if err != nil {
		return nil, err
	}
	sceneOf(r).title = "Hosted SPF of " + p.Domain.String()
	query := r.URL.Query()
	op, _ := d.operation("spf/hosted/{id}/resolve")
	shown := &profilePage{profileRow: profileRow{*p, line.name}, Changes: query.Has("changes"), May: line.key.ID != "",
		Price: op.Price()}
	asked := hostedspf.HistoryRequest{ID: p.ID, Cursor: query.Get("cursor")}
	if shown.Changes {
		asked.Status = hostedspf.ResolutionChanged
	}
	env := *cmp.Or(d.Env, &diag.Env{})
	env.Clock = d.now
	err = together(
		func() error {
			p.Use = p.LookupUse(r.Context(), d.Env)
			shown.Used, shown.Silent = p.Use.State == hostedspf.Used, p.Use.State == hostedspf.UseUnknown
			var err error
			shown.Viewed, err = viewHTML(p.View(), render.HTMLOptions{ID: "profile-"})
			return err
		},
		func() (err error) {
			shown.History, err = hostedspf.History(r.Context(), &env, access, asked)
			return err
		},
		func() error {
			stats, err := hostedspf.Stats(r.Context(), &env, access, hostedspf.StatsRequest{ID: p.ID})
			if err != nil {
				return err
			}
			v := stats.View()
			v.Subject = "Statistics"
			shown.Stats, err = viewHTML(v, render.HTMLOptions{ID: "stats-"})
			return err
		},
		func() (err error) {
			belongs := func(k *run) bool { return k.Operation == op.Name() && k.Domain == p.ID }
			shown.outcome, err = d.outcomeOf(r, op, belongs)
			return err
		},
	)
	if _, wrong := errors.AsType[*diag.InputError](err); wrong { // a cursor that no page has given out
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if next := shown.History.NextCursor; next != nil {
		older := url.Values{"cursor": {*next}}
		if shown.Changes {
			older.Set("changes", "")
		}
		shown.Older = "?" + older.Encode() + "#resolutions"
	}
	return shown, nil
}

// resolveProfile resolves a profile now, as a key of its line.
func (d *dashboard) resolveProfile(r *http.Request) (string, error) {
	p, line, _, err := d.profile(r)
	if err != nil {
		return "", err
	}
	if line.key.ID == "" {
		return "", &refusal{"No key of the profile works and has the scope mail:write."}
	}
	op, _ := d.operation("spf/hosted/{id}/resolve")
	fields, err := json.Marshal(hostedspf.ResolveRequest{ID: p.ID})
	if err != nil {
		return "", err
	}
	return d.once(r, "/dashboard/spf/"+p.ID, func(ctx context.Context, _ metering.AccountID) *run {
		return d.ask(ctx, line.key.ID, op, &run{Operation: op.Name(), Domain: p.ID, Fields: fields, At: d.now()})
	})
}
