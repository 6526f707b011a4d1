package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
)

// A keyLineage is the keys that came from one by rotation. Profiles belong to it.
type keyLineage struct {
	name string       // of the newest key
	key  metering.Key // the newest that can resolve; the zero key where none can
}

// keyLineages returns the lineages of keys of an account that begin with some of its keys.
func (d *dashboard) keyLineages(
	ctx context.Context, account metering.AccountID, owners []hostedspf.Owner,
) (map[hostedspf.Owner]keyLineage, error) {
	lineages := map[hostedspf.Owner]keyLineage{}
	pending := map[metering.KeyID]hostedspf.Owner{} // the line of each key that is searched for
	for _, owner := range owners {
		pending[metering.KeyID(owner)] = owner
	}
	for len(pending) > 0 {
		next := map[metering.KeyID]hostedspf.Owner{}
		for ids := range slices.Chunk(slices.Collect(maps.Keys(pending)), metering.MaxKeyIDs) {
			for k, err := range d.Store.Keys(ctx, metering.KeyFilter{Account: account, IDs: ids}) {
				if err != nil {
					return nil, err
				}
				lineage := lineages[pending[k.ID]]
				lineage.name = k.Name
				if slices.Contains(workingStates, k.State(d.now())) && slices.Contains(k.Scopes, metering.MailWrite) {
					lineage.key = k
				}
				lineages[pending[k.ID]] = lineage
				if k.RotatedTo != "" {
					next[k.RotatedTo] = pending[k.ID]
				}
			}
		}
		pending = next
	}
	return lineages, nil
}

// A profileRow is a profile in the list.
type profileRow struct {
	hostedspf.Profile
	KeyName string
}

const (
	// maxProfiles bounds how many profiles of an account are shown, and profilesPageSize how many are read
	// concurrently.
	maxProfiles      = 10_000
	profilesPageSize = 1000
)

// accountProfiles returns the profiles of all keys of an account. It queries those of each key, or, if there are fewer,
// reads all profiles of the server for those of the account.
func (d *dashboard) accountProfiles(
	ctx context.Context, account metering.AccountID,
) (list []hostedspf.Profile, err error) {
	counts, err := d.Store.CountKeys(ctx, metering.KeyFilter{Account: account, At: d.now()})
	if err != nil {
		return nil, err
	}
	all, err := d.HostedSPF.Profiles(ctx, hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: 1})
	if err != nil {
		return nil, err
	}
	if all.Total < countKeys(counts, "") {
		return d.scanProfiles(ctx, account)
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

// scanProfiles reads all profiles of the server for those of an account.
func (d *dashboard) scanProfiles(
	ctx context.Context, account metering.AccountID,
) (list []hostedspf.Profile, err error) {
	q := hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: profilesPageSize}
	for len(list) < maxProfiles {
		found, err := d.HostedSPF.Profiles(ctx, q)
		if err != nil || len(found.Profiles) == 0 {
			return list, err
		}
		ids := kit.Map(found.Profiles, func(p hostedspf.Profile) metering.KeyID { return metering.KeyID(p.Owner) })
		own, err := d.keyNames(ctx, account, ids)
		if err != nil {
			return nil, err
		}
		for _, p := range found.Profiles {
			if _, isOwn := own[string(p.Owner)]; isOwn {
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
	account := sessionOf(r).Account.ID
	list, err := d.accountProfiles(r.Context(), account)
	if err != nil {
		return nil, err
	}
	statusOrder := []hostedspf.Status{hostedspf.Failed, hostedspf.Active, hostedspf.Paused}
	slices.SortStableFunc(list, func(a, b hostedspf.Profile) int {
		return cmp.Or(slices.Index(statusOrder, a.Status)-slices.Index(statusOrder, b.Status),
			cmp.Compare(a.Domain.String(), b.Domain.String()))
	})
	page := struct {
		pager
		Rows      []profileRow
		CanCreate bool
		Keys      []ui.Choice // those that a new profile can belong to
	}{CanCreate: !d.SPFZone.IsZero() && sessionOf(r).May(member.Developer)}
	if page.CanCreate {
		if page.Keys, err = d.profileKeys(r.Context(), account); err != nil {
			return nil, err
		}
	}
	page.pager, list = paginate(r, list)
	lineages, err := d.keyLineages(r.Context(), account,
		kit.Map(list, func(p hostedspf.Profile) hostedspf.Owner { return p.Owner }))
	for _, p := range list {
		page.Rows = append(page.Rows, profileRow{p, lineages[p.Owner].name})
	}
	return page, err
}

// profileKeys returns the newest keys that can resolve a profile.
func (d *dashboard) profileKeys(ctx context.Context, account metering.AccountID) (list []ui.Choice, err error) {
	f := metering.KeyFilter{Account: account, States: workingStates, At: d.now(), Newest: true, Limit: pageSize}
	for k, err := range d.Store.Keys(ctx, f) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(k.Scopes, metering.MailWrite) && k.RotatedTo == "" {
			list = append(list, ui.Choice{Value: k.ID, Title: render.Printable(k.Name) + " (" + k.DisplayPrefix + ")"})
		}
	}
	return list, nil
}

// createProfile makes a profile that belongs to a key of the account, and resolves it for the first time.
func (d *dashboard) createProfile(r *http.Request) (string, error) {
	account := sessionOf(r).Account.ID
	if d.SPFZone.IsZero() {
		return "", metering.ErrNotFound
	}
	domain, err := diag.ParseDomain(strings.TrimSpace(r.PostForm.Get("domain")))
	if err != nil {
		return "", profileError(err)
	}
	keys, err := d.profileKeys(r.Context(), account)
	if err != nil {
		return "", err
	}
	key := metering.KeyID(r.PostForm.Get("key"))
	if !slices.ContainsFunc(keys, func(c ui.Choice) bool { return c.Value == key }) {
		return "", &metering.FieldError{Field: "key", Reason: "must be an active key with the scope mail:write"}
	}
	profiles, err := d.accountProfiles(r.Context(), account)
	if err != nil {
		return "", err
	}
	if most := int(budget.Of(budget.Profiles).Account); len(profiles) >= most {
		return "", &metering.FieldError{Field: "domain", Reason: fmt.Sprintf(
			"cannot be added: the account has %d profiles, which is the most; contact your administrator", len(profiles))}
	}
	origin, err := d.admin().Origin(r.Context(), key)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxRunTime)
	defer cancel()
	env := *cmp.Or(d.Env, &diag.Env{})
	env.Clock = d.now
	access := d.SPFAccess
	access.Store, access.Owner = d.HostedSPF, hostedspf.Owner(origin)
	p, err := hostedspf.Create(ctx, &env, access, hostedspf.CreateRequest{Domain: domain, Zone: d.SPFZone,
		SourceRecord: strings.TrimSpace(r.PostForm.Get("source_record"))})
	if err != nil {
		return "", profileError(err)
	}
	return "/dashboard/spf/" + p.ID, nil
}

// profileError is an error of a profile as forms show it.
func profileError(err error) error {
	if e, ok := errors.AsType[*diag.InputError](err); ok {
		return &metering.FieldError{Field: e.Field, Reason: e.Reason}
	}
	if errors.Is(err, diag.ErrUnavailable) {
		return &metering.FieldError{Field: "source_record",
			Reason: "is missing, and the domain's name servers did not answer"}
	}
	return err
}

// removeProfile removes a profile. Its records are no longer published.
func (d *dashboard) removeProfile(r *http.Request) (string, error) {
	p, _, access, err := d.requestedProfile(r)
	if err == nil {
		access.Notify = d.SPFAccess.Notify
		err = hostedspf.Remove(r.Context(), access, p.ID)
	}
	if errors.Is(err, hostedspf.ErrNotFound) {
		err = metering.ErrNotFound
	}
	return "/dashboard/spf", err
}

// A profilePage is a profile with its past.
type profilePage struct {
	profileRow
	outcome
	InUse       bool // whether the domain's own record leads to it
	Unanswered  bool // the DNS did not answer
	Report      template.HTML
	StatsReport template.HTML
	History     *hostedspf.HistoryReport
	ChangesOnly bool   // the history shows changes alone
	Older       string // address of the next page of it
	CanResolve  bool   // a key of the line can resolve it
	Price       string
}

// requestedProfile is the profile that the path names, the lineage of keys that it belongs to and access to it, or
// [metering.ErrNotFound].
func (d *dashboard) requestedProfile(r *http.Request) (*hostedspf.Profile, keyLineage, hostedspf.Access, error) {
	a := hostedspf.Access{Store: d.HostedSPF, Owner: hostedspf.AnyOwner}
	p, err := a.Profile(r.Context(), r.PathValue("profile"))
	if errors.Is(err, hostedspf.ErrNotFound) {
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, keyLineage{}, a, err
	}
	lineages, err := d.keyLineages(r.Context(), sessionOf(r).Account.ID, []hostedspf.Owner{p.Owner})
	lineage, known := lineages[p.Owner]
	if err == nil && !known {
		err = metering.ErrNotFound
	}
	a.Owner = p.Owner
	return p, lineage, a, err
}

// showProfile shows a profile: what to publish, what is published, what has changed.
func (d *dashboard) showProfile(r *http.Request) (any, error) {
	p, lineage, access, err := d.requestedProfile(r)
	if err != nil {
		return nil, err
	}
	stateOf(r).title = "Hosted SPF of " + p.Domain.String()
	query := r.URL.Query()
	op, _ := d.operation("spf/hosted/{id}/resolve")
	page := &profilePage{profileRow: profileRow{*p, lineage.name}, ChangesOnly: query.Has("changes"),
		CanResolve: lineage.key.ID != "",
		Price:      op.Price()}
	request := hostedspf.HistoryRequest{ID: p.ID, Cursor: query.Get("cursor")}
	if page.ChangesOnly {
		request.Status = hostedspf.ResolutionChanged
	}
	env := *cmp.Or(d.Env, &diag.Env{})
	env.Clock = d.now
	err = runParallel(
		func() error {
			p.Use = p.LookupUse(r.Context(), d.Env)
			page.InUse, page.Unanswered = p.Use.State == hostedspf.Used, p.Use.State == hostedspf.UseUnknown
			var err error
			page.Report, err = viewAsHTML(p.View(), render.HTMLOptions{ID: "profile-"})
			return err
		},
		func() (err error) {
			page.History, err = hostedspf.History(r.Context(), &env, access, request)
			return err
		},
		func() error {
			stats, err := hostedspf.Stats(r.Context(), &env, access, hostedspf.StatsRequest{ID: p.ID})
			if err != nil {
				return err
			}
			v := stats.View()
			v.Subject = "Statistics"
			page.StatsReport, err = viewAsHTML(v, render.HTMLOptions{ID: "stats-"})
			return err
		},
		func() (err error) {
			belongs := func(k *run) bool { return k.Operation == op.Name() && k.Domain == p.ID }
			page.outcome, err = d.loadOutcome(r, op, belongs)
			return err
		},
	)
	if _, invalid := errors.AsType[*diag.InputError](err); invalid { // a cursor that no page has given out
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if next := page.History.NextCursor; next != nil {
		older := url.Values{"cursor": {*next}}
		if page.ChangesOnly {
			older.Set("changes", "")
		}
		page.Older = "?" + older.Encode() + "#resolutions"
	}
	return page, nil
}

// resolveProfile resolves a profile now, as a key of its lineage.
func (d *dashboard) resolveProfile(r *http.Request) (string, error) {
	p, lineage, _, err := d.requestedProfile(r)
	if err != nil {
		return "", err
	}
	if lineage.key.ID == "" {
		return "", &refusedError{"No active key of the profile has the scope mail:write."}
	}
	op, _ := d.operation("spf/hosted/{id}/resolve")
	fields, err := json.Marshal(hostedspf.ResolveRequest{ID: p.ID})
	if err != nil {
		return "", err
	}
	return d.runOnce(r, "/dashboard/spf/"+p.ID, func(ctx context.Context, _ metering.AccountID) *run {
		return d.call(ctx, lineage.key.ID, op, &run{Operation: op.Name(), Domain: p.ID, Fields: fields, At: d.now()})
	})
}
