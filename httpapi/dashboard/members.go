package dashboard

import (
	"context"
	"net/http"
	"slices"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) memberPages() []*page {
	const all, one = "/dashboard/members", "/dashboard/members/{id}"
	return []*page{
		{method: "GET", pattern: all, role: member.Viewer, title: "Members", nav: "Members", handle: d.showMembers},
		{method: "POST", pattern: all, role: member.Owner, title: "Members", handle: d.addMember, again: d.showMembers,
			act: "member add", fields: []string{"email", "role"}},
		{method: "GET", pattern: one, role: member.Owner, title: "Member", handle: d.showMember},
		{method: "POST", pattern: one + "/role", role: member.Owner, title: "Member", handle: d.setRole,
			again: d.showMember, act: "member role", fields: []string{"role"}},
		{method: "POST", pattern: one + "/link", role: member.Owner, title: "Member", handle: d.makeLink,
			again: d.showMember, act: "member link"},
		{method: "POST", pattern: one + "/remove", role: member.Owner, title: "Member", handle: d.removeMember,
			again: d.showMember, act: "member remove", quiet: []string{"sure"}},
	}
}

// roleInfo is a role, and what who has it may do.
type roleInfo struct {
	Role  member.Role
	About string
}

var roles = []roleInfo{
	{member.Viewer, "reads"}, {member.Developer, "all but members, billing and the account"}, {member.Owner, "everything"},
}

// memberList is what the page of all members shows.
type memberList struct {
	Members []member.Member
	Roles   []roleInfo
}

func (d *dashboard) showMembers(w http.ResponseWriter, r *http.Request) error {
	list, err := d.people().List(r.Context(), visitorOf(r).Account.ID)
	if err != nil {
		return err
	}
	return d.render(w, r, "members", memberList{list, roles})
}

func (d *dashboard) addMember(w http.ResponseWriter, r *http.Request) error {
	added, err := d.people().Add(r.Context(), visitorOf(r).Account.ID, r.PostForm.Get("email"),
		member.Role(r.PostForm.Get("role")))
	if err != nil {
		return err
	}
	d.see(w, r, "/dashboard/members/"+added.ID(), "member-added")
	return nil
}

// memberPage is what the page of one member shows.
type memberPage struct {
	member.Member
	Roles []roleInfo
	Link  string // shown once
}

// Title implements titled.
func (p memberPage) Title() string { return "Member " + p.Email }

func (d *dashboard) ownMember(r *http.Request) (member.Member, error) {
	return d.people().ByID(r.Context(), visitorOf(r).Account.ID, r.PathValue("id"))
}

func (d *dashboard) showMember(w http.ResponseWriter, r *http.Request) error {
	one, err := d.ownMember(r)
	if err != nil {
		return err
	}
	link, err := d.left(r)
	if err != nil {
		return err
	}
	return d.render(w, r, "member", memberPage{one, roles, link})
}

func (d *dashboard) setRole(w http.ResponseWriter, r *http.Request) error {
	one, err := d.ownMember(r)
	if err != nil {
		return err
	}
	_, err = d.people().SetRole(r.Context(), one.Account, one.Email, member.Role(r.PostForm.Get("role")))
	if err != nil {
		return err
	}
	d.see(w, r, "/dashboard/members", "member-set")
	return nil
}

// makeLink makes a link into this account, and into no other that the address is a member of: only the mail of the
// address itself gets one into all.
func (d *dashboard) makeLink(w http.ResponseWriter, r *http.Request) error {
	one, err := d.ownMember(r)
	if err != nil {
		return err
	}
	token, err := d.people().NewLinkInto(r.Context(), one)
	if err != nil {
		return err
	}
	at := "/dashboard/members/" + one.ID()
	if err := d.leave(r, at, EnterURL(d.PublicURL, token)); err != nil {
		return err
	}
	d.see(w, r, at, "member-link")
	return nil
}

func (d *dashboard) removeMember(w http.ResponseWriter, r *http.Request) error {
	one, err := d.ownMember(r)
	if err != nil {
		return err
	}
	if err := sure(r, "the member can enter no more"); err != nil {
		return err
	}
	if err := d.people().Remove(r.Context(), one.Account, one.Email); err != nil {
		return err
	}
	d.see(w, r, "/dashboard/members", "member-removed")
	return nil
}

func (d *dashboard) sessionPages() []*page {
	const all = "/dashboard/sessions"
	return []*page{
		{method: "GET", pattern: all, role: member.Viewer, title: "Sessions", nav: "Sessions", handle: d.showSessions},
		{method: "POST", pattern: all + "/{id}/end", role: member.Viewer, title: "Sessions", handle: d.endSession,
			act: "session end"},
		{method: "POST", pattern: all + "/end-others", role: member.Viewer, title: "Sessions", handle: d.endOthers,
			act: "session end"},
		{method: "POST", pattern: "/dashboard/leave", role: member.Viewer, title: "Sign out", handle: d.leaveAll,
			act: "leave"},
		{method: "POST", pattern: "/dashboard/account", role: member.Viewer, title: "Account", handle: d.switchAccount,
			act: "enter another account", fields: []string{"account"}},
	}
}

// sessionList is what the page of sessions shows.
type sessionList struct {
	Sessions []member.Session // of the visitor, and for owners of all members
	This     string
	Others   int                // of the visitor
	Accounts []metering.Account // that the visitor can change to
}

func (d *dashboard) showSessions(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	data := sessionList{This: v.Session.ID}
	err := together(
		func() (err error) { data.Sessions, err = d.sessionsOf(r.Context(), v); return err },
		func() (err error) { data.Accounts, err = d.otherAccounts(r.Context(), v); return err },
	)
	if err != nil {
		return err
	}
	for _, s := range data.Sessions {
		if s.Email == v.Email && s.ID != data.This {
			data.Others++
		}
	}
	return d.render(w, r, "sessions", data)
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

func (d *dashboard) endSession(w http.ResponseWriter, r *http.Request) error {
	v, id := visitorOf(r), r.PathValue("id")
	list, err := d.sessionsOf(r.Context(), v)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(s member.Session) bool { return s.ID == id }) {
		return metering.ErrNotFound
	}
	if err := d.people().End(r.Context(), v.Account.ID, id); err != nil {
		return err
	}
	d.see(w, r, "/dashboard/sessions", "session-ended")
	return nil
}

// endOthers ends all sessions of the visitor but this one.
func (d *dashboard) endOthers(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	list, err := d.sessionsOf(r.Context(), v)
	for _, s := range list {
		if err == nil && s.Email == v.Email && s.ID != v.Session.ID {
			err = d.people().End(r.Context(), v.Account.ID, s.ID)
		}
	}
	if err != nil {
		return err
	}
	d.see(w, r, "/dashboard/sessions", "session-ended")
	return nil
}

func (d *dashboard) leaveAll(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	if err := d.people().End(r.Context(), v.Account.ID, v.Session.ID); err != nil {
		return err
	}
	d.setCookie(w, "")
	d.see(w, r, "/dashboard/enter", "signed-out")
	return nil
}

// switchAccount goes on in another account of the same address, in a new session.
func (d *dashboard) switchAccount(w http.ResponseWriter, r *http.Request) error {
	account := metering.AccountID(r.PostForm.Get("account"))
	_, secret, err := d.people().Switch(r.Context(), visitorOf(r).Session, account, sceneOf(r).from.String())
	if err != nil {
		return err
	}
	d.setCookie(w, secret)
	d.see(w, r, "/dashboard", "account-switched")
	return nil
}
