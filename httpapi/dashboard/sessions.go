package dashboard

import (
	"context"
	"net/http"
	"slices"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) showSessions(r *http.Request) (any, error) {
	v := visitorOf(r)
	data := struct {
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

// switchAccount goes on in another account of the same address, in a new session.
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
