package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report: the contents of the codes.
func (r *Report) View() *view.View {
	i := r.Image
	size := fmt.Sprintf("%s %d x %d", strings.ToUpper(string(i.Format)), i.Width, i.Height)
	subject := cmp.Or(view.TextIf(i.Width > 0, size), "image")
	v := view.OfText(strings.TrimSpace(subject), r.Text, r.Findings, r.Partial)
	if len(r.Codes) == 1 {
		c := &r.Codes[0]
		v.Fact("text", phrase.Clip(c.Text, maxShown), "qr.content")
		v.Fact("kind", string(c.ContentType))
		v.Fact("meaning", c.Parsed.text(), "qr.url", "qr.wifi", "qr.otp")
		v.Fact("code", fmt.Sprintf("version %d (%d modules a side), correction %s",
			c.Version, 17+4*c.Version, c.ErrorCorrection))
		v.Fact("damage", c.damage(), "qr.code")
		v.Brief = view.Join(string(c.ContentType), phrase.Clip(c.Text, 60))
		return v
	}
	d := v.Rows(view.Table, "Codes", "kind", "text", "damage")
	for n := range r.Codes {
		c, mark := &r.Codes[n], view.Good
		if i := slices.IndexFunc(r.Findings, func(f diag.Finding) bool { return f.Target == target(n) }); i >= 0 {
			mark = view.MarkOf(r.Findings[i].Severity)
		}
		d.Marked(mark, "", string(c.ContentType), phrase.Clip(c.Text, maxShown), c.damage())
	}
	return v
}

// maxShown bounds the texts of codes that a view shows, in bytes.
const maxShown = 500

func (c *Code) damage() string {
	return cmp.Or(view.TextIf(c.ErrorsCorrected == 0, "none"),
		fmt.Sprintf("%d of %d codewords that can be restored", c.ErrorsCorrected, c.ErrorsCorrigible))
}

// text says what a phone does with the code.
func (p *Parsed) text() string {
	switch {
	case p == nil:
		return ""
	case p.Host != "":
		return "opens " + cmp.Or(p.HostUnicode, p.Host)
	case p.SSID != "":
		return fmt.Sprintf("joins the network %s (%s)", p.SSID, p.Security)
	case p.OTPType != "":
		return "adds " + p.account() + " to an authenticator"
	case p.Name != "" || p.Organization != "":
		return "adds the contact " + view.Join(p.Name, p.Organization)
	case len(p.Emails) > 0:
		return "writes to " + phrase.Series(p.Emails, 3)
	case len(p.Numbers) > 0:
		return "calls or writes to " + phrase.Series(p.Numbers, 3)
	case p.Latitude != nil && p.Longitude != nil:
		return fmt.Sprintf("shows %v, %v on a map", *p.Latitude, *p.Longitude)
	}
	return ""
}
