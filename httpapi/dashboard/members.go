package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// roleInfo is a role, and its permissions.
type roleInfo struct {
	Role  member.Role
	About string
}

var roles = []roleInfo{
	{member.Viewer, "read only"},
	{member.Developer, "everything except members, billing and account settings"},
	{member.Owner, "everything"},
}

// A memberRow is a member in the list.
type memberRow struct {
	member.Member
	LastSeen time.Time // in any of the sessions that have not ended; zero without one
}

func (d *dashboard) showMembers(r *http.Request) (any, error) {
	stateOf(r).form.SetDefaults(url.Values{"role": {string(member.Viewer)}})
	account := sessionOf(r).Account.ID
	page := struct {
		pager
		Members []memberRow
		Roles   []roleInfo
		CanMail bool
	}{Roles: roles, CanMail: d.Mail != nil}
	var list []member.Member
	lastSeen := map[string]time.Time{}
	err := runParallel(
		func() (err error) { list, err = d.members().List(r.Context(), account); return err },
		func() error {
			sessions, err := d.members().Sessions(r.Context(), account)
			for _, s := range sessions {
				if s.LastSeen.After(lastSeen[s.Email]) {
					lastSeen[s.Email] = s.LastSeen
				}
			}
			return err
		},
	)
	page.pager, list = paginate(r, list)
	for _, m := range list {
		page.Members = append(page.Members, memberRow{m, lastSeen[m.Email]})
	}
	return page, err
}

// addMember adds a member and invites it.
func (d *dashboard) addMember(r *http.Request) (string, error) {
	added, err := d.members().Add(r.Context(), sessionOf(r).Account.ID, r.PostForm.Get("email"),
		member.Role(r.PostForm.Get("role")))
	if err != nil {
		return "", err
	}
	return d.invite(r, added)
}

// What has become of the mail of an invitation, as the address of a member's page says it.
const (
	invitationMailed = "mailed"
	invitationUnsent = "unsent" // the page shows the link instead
)

// invite makes a link into this account, and into no other that the address is a member of: only the mail that the
// address itself requests gets one into all. The link is mailed where the server sends mail. Elsewhere, and if that
// fails, the page of the member shows it.
func (d *dashboard) invite(r *http.Request, m member.Member) (string, error) {
	page := "/dashboard/members/" + m.ID()
	token, err := d.members().NewLinkInto(r.Context(), m)
	if err != nil {
		return page, err
	}
	link := SignInURL(d.PublicURL, token)
	if d.Mail == nil || r.PostForm.Get("show") == "yes" {
		return d.keepSecret(r, page, link, nil)
	}
	if err = d.mailInvitation(r, m, link); err == nil {
		return page + "?invitation=" + invitationMailed, nil
	}
	d.Log.Warn("mailing an invitation to a member", "error", err)
	_, err = d.keepSecret(r, page, link, nil)
	return page + "?invitation=" + invitationUnsent, err
}

// invitationTime bounds the sending of an invitation, for which the page waits.
const invitationTime = 10 * time.Second

var errTooManyInvitations = errors.New("the account or the address had too many mails within an hour")

func (d *dashboard) mailInvitation(r *http.Request, m member.Member, link string) error {
	now := d.now()
	if !d.Budget.Invitations.Take(string(m.Account), now).Allowed || !d.Budget.SignInMailsTo.Take(m.Email, now).Allowed {
		return errTooManyInvitations
	}
	ctx, cancel := context.WithTimeout(r.Context(), invitationTime)
	defer cancel()
	by, account := sessionOf(r).Email, render.Printable(sessionOf(r).Account.Name)
	return d.Mail(ctx, m.Email, "Invitation to "+account, fmt.Sprintf(
		"%s invites you to the account %s, with the role %s.\n\n"+
			"Open this link to sign in. It works once, within 15 minutes:\n\n%s\n\n"+
			"Later, request a new link at %s/dashboard/enter.\n\n"+
			"If you do not expect this invitation, you can ignore this message.\n",
		by, account, m.Role, link, d.PublicURL))
}

func (d *dashboard) requestedMember(r *http.Request) (member.Member, error) {
	return d.members().ByID(r.Context(), sessionOf(r).Account.ID, r.PathValue("id"))
}

func (d *dashboard) showMember(r *http.Request) (any, error) {
	m, err := d.requestedMember(r)
	if err != nil {
		return nil, err
	}
	link, err := d.keptSecret(r)
	stateOf(r).title = "Member " + m.Email
	stateOf(r).form.SetDefaults(url.Values{"role": {string(m.Role)}})
	page := struct {
		member.Member
		Roles      []roleInfo
		Link       *secret // until it is sent
		CanMail    bool
		Invitation string // what has become of its mail
	}{Member: m, Roles: roles, CanMail: d.Mail != nil, Invitation: r.URL.Query().Get("invitation")}
	if link != "" {
		page.Link = &secret{link, r.URL.Path, "Send this link to " + m.Email + ". Anyone who has it can sign in as this " +
			"member, once, within 15 minutes. It is not shown again.", "", "I have sent it"}
	}
	return page, err
}

func (d *dashboard) setRole(r *http.Request) (string, error) {
	m, err := d.requestedMember(r)
	if err == nil {
		_, err = d.members().SetRole(r.Context(), m.Account, m.Email, member.Role(r.PostForm.Get("role")))
	}
	return "/dashboard/members", err
}

// createLink invites a member again.
func (d *dashboard) createLink(r *http.Request) (string, error) {
	m, err := d.requestedMember(r)
	if err != nil {
		return "", err
	}
	return d.invite(r, m)
}

func (d *dashboard) removeMember(r *http.Request) (string, error) {
	m, err := d.requestedMember(r)
	if err == nil {
		err = d.members().Remove(r.Context(), m.Account, m.Email)
	}
	return "/dashboard/members", err
}

func (d *dashboard) showSessions(r *http.Request) (any, error) {
	viewer := sessionOf(r)
	data := struct {
		pager
		Sessions  []member.Session // of the visitor, and for owners of all members
		CurrentID string
		HasOthers bool               // whether the visitor has others
		Accounts  []metering.Account // that the visitor can change to
	}{CurrentID: viewer.Record.ID}
	err := runParallel(
		func() (err error) { data.Sessions, err = d.visibleSessions(r.Context(), viewer); return err },
		func() (err error) { data.Accounts, err = d.otherAccounts(r.Context(), viewer); return err },
	)
	data.HasOthers = slices.ContainsFunc(data.Sessions, viewer.isOther)
	data.pager, data.Sessions = paginateBy(r, data.Sessions, longRowsPageSize)
	return data, err
}

// isOther reports whether a session is one more of the visitor.
func (v *session) isOther(s member.Session) bool {
	return s.Email == v.Email && s.ID != v.Record.ID
}

// visibleSessions returns those that a member may see and end, the one seen last first.
func (d *dashboard) visibleSessions(ctx context.Context, viewer *session) ([]member.Session, error) {
	list, err := d.members().Sessions(ctx, viewer.Account.ID)
	list = slices.DeleteFunc(list, func(s member.Session) bool {
		return s.Email != viewer.Email && !viewer.May(member.Owner)
	})
	slices.SortFunc(list, func(a, b member.Session) int { return b.LastSeen.Compare(a.LastSeen) })
	return list, err
}

// otherAccounts returns those of the same address, unless the session is bound to this one.
func (d *dashboard) otherAccounts(ctx context.Context, viewer *session) (list []metering.Account, err error) {
	if viewer.Record.Bound {
		return nil, nil
	}
	all, err := d.members().Of(ctx, viewer.Email)
	for _, m := range all {
		if m.Account == viewer.Account.ID || err != nil {
			continue
		}
		var account metering.Account
		account, err = d.Store.Account(ctx, m.Account)
		list = append(list, account)
	}
	return list, err
}

// endSessions ends the session that the path names, of those that the visitor may end, or all others of the visitor.
func (d *dashboard) endSessions(r *http.Request) (string, error) {
	viewer, id, ended := sessionOf(r), r.PathValue("id"), 0
	list, err := d.visibleSessions(r.Context(), viewer)
	for _, s := range list {
		if err == nil && (s.ID == id || id == "" && viewer.isOther(s)) {
			ended++
			err = d.members().End(r.Context(), viewer.Account.ID, s.ID)
		}
	}
	if err == nil && id != "" && ended == 0 {
		err = metering.ErrNotFound
	}
	return "/dashboard/sessions", err
}

func (d *dashboard) signOut(r *http.Request) (string, error) {
	current := sessionOf(r)
	err := d.members().End(r.Context(), current.Account.ID, current.Record.ID)
	if err == nil {
		d.setCookie(r, "")
	}
	return "/dashboard/enter", err
}

// switchAccount continues in another account of the same address, in a new session.
func (d *dashboard) switchAccount(r *http.Request) (string, error) {
	current, to := sessionOf(r), metering.AccountID(r.PostForm.Get("account"))
	if current.Record.Bound {
		return "", metering.ErrNotFound
	}
	_, secret, err := d.members().Begin(r.Context(), to, current.Email, stateOf(r).clientIP.String())
	if err == nil {
		err = d.members().End(r.Context(), current.Account.ID, current.Record.ID)
	}
	if err == nil {
		d.setCookie(r, secret)
	}
	return "/dashboard", err
}
