package decode

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report: what the codes say.
func (r *Report) View() *view.View {
	i := r.Image
	subject := "image"
	if i.Width > 0 {
		subject = fmt.Sprintf("%s %d x %d", strings.ToUpper(string(i.Format)), i.Width, i.Height)
	}
	v := view.OfText(strings.TrimSpace(subject), r.Text, r.Findings)
	v.Partial = r.Partial
	if len(r.Codes) == 1 {
		c := &r.Codes[0]
		v.Fact("text", diag.Clip(c.Text, maxShown), "qr.content")
		v.Fact("kind", string(c.ContentType))
		v.Fact("meaning", c.Parsed.text(), "qr.url", "qr.wifi", "qr.otp")
		v.Fact("code", fmt.Sprintf("version %d (%d modules a side), correction %s",
			c.Version, 17+4*c.Version, c.ErrorCorrection))
		v.Fact("damage", c.damage(), "qr.code")
		v.Brief = view.Join(string(c.ContentType), diag.Clip(c.Text, 60))
		return v
	}
	d := view.Drawing{Kind: view.Table, Title: "Codes", Columns: []string{"kind", "text", "damage"}}
	for n := range r.Codes {
		c := &r.Codes[n]
		d.Marked(marked(r.Findings, target(n)), "", string(c.ContentType), diag.Clip(c.Text, maxShown), c.damage())
	}
	v.Draw(d)
	return v
}

// maxShown bounds the texts of codes that a view shows, in bytes.
const maxShown = 500

// marked is the mark of the first finding about a code.
func marked(findings []diag.Finding, about string) view.Mark {
	for _, f := range findings {
		if f.Target == about {
			return view.MarkOf(f.Severity)
		}
	}
	return view.Good
}

func (c *Code) damage() string {
	if c.ErrorsCorrected == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d codewords that can be restored", c.ErrorsCorrected, c.ErrorsCorrigible)
}

// text is what a phone does with the code.
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
		return "writes to " + diag.Series(p.Emails, 3)
	case len(p.Numbers) > 0:
		return "calls or writes to " + diag.Series(p.Numbers, 3)
	case p.Latitude != nil && p.Longitude != nil:
		return fmt.Sprintf("shows %v, %v on a map", *p.Latitude, *p.Longitude)
	}
	return ""
}
