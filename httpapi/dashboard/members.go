package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// roleInfo is a role, and its permissions.
type roleInfo struct {
	Role  member.Role
	About string
}

var roles = []roleInfo{
	{member.Viewer, "reads"}, {member.Developer, "all but members, billing and the account"}, {member.Owner, "everything"},
}

func (d *dashboard) showMembers(r *http.Request) (any, error) {
	sceneOf(r).form.begin(url.Values{"role": {string(member.Viewer)}})
	list, err := d.people().List(r.Context(), visitorOf(r).Account.ID)
	shown, list := paged(r, list)
	return struct {
		pager
		Members []member.Member
		Roles   []roleInfo
	}{shown, list, roles}, err
}

func (d *dashboard) addMember(r *http.Request) (string, error) {
	added, err := d.people().Add(r.Context(), visitorOf(r).Account.ID, r.PostForm.Get("email"),
		member.Role(r.PostForm.Get("role")))
	return "/dashboard/members/" + added.ID(), err
}

func (d *dashboard) ownMember(r *http.Request) (member.Member, error) {
	return d.people().ByID(r.Context(), visitorOf(r).Account.ID, r.PathValue("id"))
}

func (d *dashboard) showMember(r *http.Request) (any, error) {
	one, err := d.ownMember(r)
	if err != nil {
		return nil, err
	}
	link, err := d.left(r)
	sceneOf(r).title = "Member " + one.Email
	sceneOf(r).form.begin(url.Values{"role": {string(one.Role)}})
	return struct {
		member.Member
		Roles []roleInfo
		Link  string // shown once
	}{one, roles, link}, err
}

func (d *dashboard) setRole(r *http.Request) (string, error) {
	one, err := d.ownMember(r)
	if err == nil {
		_, err = d.people().SetRole(r.Context(), one.Account, one.Email, member.Role(r.PostForm.Get("role")))
	}
	return "/dashboard/members", err
}

// makeLink makes a link into this account, and into no other that the address is a member of: only the mail of the
// address itself gets one into all.
func (d *dashboard) makeLink(r *http.Request) (string, error) {
	one, err := d.ownMember(r)
	if err != nil {
		return "", err
	}
	token, err := d.people().NewLinkInto(r.Context(), one)
	return d.leave(r, "/dashboard/members/"+one.ID(), EnterURL(d.PublicURL, token), err)
}

func (d *dashboard) removeMember(r *http.Request) (string, error) {
	one, err := d.ownMember(r)
	if err == nil {
		err = d.people().Remove(r.Context(), one.Account, one.Email)
	}
	return "/dashboard/members", err
}

func (d *dashboard) showSessions(r *http.Request) (any, error) {
	v := visitorOf(r)
	data := struct {
		pager
		Sessions []member.Session // of the visitor, and for owners of all members
		This     string
		Others   bool               // whether the visitor has others
		Accounts []metering.Account // that the visitor can change to
	}{This: v.Session.ID}
	err := together(
		func() (err error) { data.Sessions, err = d.sessionsOf(r.Context(), v); return err },
		func() (err error) { data.Accounts, err = d.otherAccounts(r.Context(), v); return err },
	)
	data.Others = slices.ContainsFunc(data.Sessions, v.otherSession)
	data.pager, data.Sessions = paged(r, data.Sessions)
	return data, err
}

// otherSession reports whether a session is one more of the visitor.
func (v *visitor) otherSession(s member.Session) bool {
	return s.Email == v.Email && s.ID != v.Session.ID
}

// sessionsOf are those that a visitor may see and end, the one seen last first.
func (d *dashboard) sessionsOf(ctx context.Context, v *visitor) ([]member.Session, error) {
	list, err := d.people().Sessions(ctx, v.Account.ID)
	list = slices.DeleteFunc(list, func(s member.Session) bool { return s.Email != v.Email && !v.May(member.Owner) })
	slices.SortFunc(list, func(a, b member.Session) int { return b.LastSeen.Compare(a.LastSeen) })
	return list, err
}

// otherAccounts are those of the same address, unless the session is bound to this one.
func (d *dashboard) otherAccounts(ctx context.Context, v *visitor) (list []metering.Account, err error) {
	if v.Session.Bound {
		return nil, nil
	}
	all, err := d.people().Of(ctx, v.Email)
	for _, one := range all {
		if one.Account == v.Account.ID || err != nil {
			continue
		}
		var account metering.Account
		account, err = d.Store.Account(ctx, one.Account)
		list = append(list, account)
	}
	return list, err
}

// endSessions ends the session that the path names, of those that the visitor may end, or all others of the visitor.
func (d *dashboard) endSessions(r *http.Request) (string, error) {
	v, id, ended := visitorOf(r), r.PathValue("id"), 0
	list, err := d.sessionsOf(r.Context(), v)
	for _, s := range list {
		if err == nil && (s.ID == id || id == "" && v.otherSession(s)) {
			ended++
			err = d.people().End(r.Context(), v.Account.ID, s.ID)
		}
	}
	if err == nil && id != "" && ended == 0 {
		err = metering.ErrNotFound
	}
	return "/dashboard/sessions", err
}

func (d *dashboard) signOut(r *http.Request) (string, error) {
	v := visitorOf(r)
	err := d.people().End(r.Context(), v.Account.ID, v.Session.ID)
	if err == nil {
		d.setCookie(r, "")
	}
	return "/dashboard/enter", err
}

// switchAccount continues in another account of the same address, in a new session.
func (d *dashboard) switchAccount(r *http.Request) (string, error) {
	v, to := visitorOf(r), metering.AccountID(r.PostForm.Get("account"))
	if v.Session.Bound {
		return "", metering.ErrNotFound
	}
	_, secret, err := d.people().Begin(r.Context(), to, v.Email, sceneOf(r).from.String())
	if err == nil {
		err = d.people().End(r.Context(), v.Account.ID, v.Session.ID)
	}
	if err == nil {
		d.setCookie(r, secret)
	}
	return "/dashboard", err
}

// shownActs is how many rows of the log a page has.
const shownActs = 100

func (d *dashboard) showLog(r *http.Request) (any, error) {
	end, err := olderOf(r, "before")
	if err != nil {
		return nil, err
	}
	shown := struct {
		Acts          []metering.Act
		Newest, Older string // addresses of pages
		Days          int    // for which rows are kept
	}{Days: int(metering.ActTime / (24 * time.Hour))}
	f := metering.ActFilter{Account: visitorOf(r).Account.ID, Before: end, Limit: shownActs + 1}
	acts, err := metering.Acts(r.Context(), d.Store, f)
	n, last := cutAt(len(acts), shownActs, func(i int) time.Time { return acts[i].At })
	shown.Acts = acts[:n]
	shown.Newest, shown.Older = around(r, "before", last)
	return shown, err
}
