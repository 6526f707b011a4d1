package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
)

// A line is the keys that came from one by rotation. Profiles belong to it.
type keyLine struct {
	owner hostedspf.Owner
	name  string       // of the newest key
	key   metering.Key // the newest that can resolve; the zero key where none can
}

// keyLines are the lines of keys of an account, the oldest first.
func (d *dashboard) keyLines(ctx context.Context, account metering.AccountID) ([]keyLine, error) {
	keys, err := d.Store.Keys(ctx, account)
	if err != nil {
		return nil, err
	}
	var lines []keyLine
	at := map[metering.KeyID]int{} // the line of each key; a key comes after that which it was rotated from
	for _, k := range keys {
		i, rotated := at[k.RotatedFrom]
		if !rotated {
			i, lines = len(lines), append(lines, keyLine{owner: hostedspf.Owner(k.ID)})
		}
		at[k.ID], lines[i].name = i, k.Name
		state := k.State(d.now())
		if (state == "active" || state == metering.KeyRotating) && slices.Contains(k.Scopes, metering.MailWrite) {
			lines[i].key = k
		}
	}
	return lines, nil
}

// A profileRow is a profile in the list.
type profileRow struct {
	hostedspf.Profile
	KeyName string
}

// maxProfiles bounds the profiles that are shown of each key.
const maxProfiles = 1000

// showProfiles lists the profiles of all keys of the account.
func (d *dashboard) showProfiles(r *http.Request) (any, error) {
	lines, err := d.keyLines(r.Context(), visitorOf(r).Account.ID)
	if err != nil {
		return nil, err
	}
	var list []profileRow
	for _, l := range lines {
		found, err := d.HostedSPF.Profiles(r.Context(), hostedspf.ProfileQuery{Owner: l.owner, Limit: maxProfiles})
		if err != nil {
			return nil, err
		}
		for _, p := range found.Profiles {
			list = append(list, profileRow{p, l.name})
		}
	}
	urgent := []hostedspf.Status{hostedspf.Failed, hostedspf.Active, hostedspf.Paused}
	slices.SortStableFunc(list, func(a, b profileRow) int {
		return cmp.Or(slices.Index(urgent, a.Status)-slices.Index(urgent, b.Status),
			cmp.Compare(a.Domain.String(), b.Domain.String()))
	})
	return list, nil
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
	lines, err := d.keyLines(r.Context(), visitorOf(r).Account.ID)
	if err != nil {
		return nil, keyLine{}, a, err
	}
	i := slices.IndexFunc(lines, func(l keyLine) bool { return l.owner == p.Owner })
	if i < 0 {
		return nil, keyLine{}, a, metering.ErrNotFound
	}
	a.Owner = p.Owner
	return p, lines[i], a, nil
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
