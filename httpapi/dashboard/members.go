package dashboard

import (
	"net/http"
	"net/url"

	"github.com/diagkit/diagkit/metering/member"
)

// roleInfo is a role, and what who has it may do.
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
	return struct {
		Members []member.Member
		Roles   []roleInfo
	}{list, roles}, err
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
