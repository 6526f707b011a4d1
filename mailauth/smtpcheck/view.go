package smtpcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	subject := cmp.Or(r.DomainUnicode, r.Domain)
	if subject == "" && len(r.Servers) > 0 {
		subject = r.Servers[0].Host
	}
	v := view.Of(subject, r.Verdict)
	v.Partial = r.Partial
	v.Optional = r.NullMX
	switch {
	case r.NullMX:
		v.Fact("mail", "not accepted: null MX", "smtp.mx.null_beside")
	case r.ImplicitMX:
		v.Fact("mail", "to the address of the domain, for want of MX records", "smtp.mx.implicit")
	}
	if len(r.Servers) == 0 {
		return v
	}
	s := r.Summary
	v.Fact("answer", fmt.Sprintf("%d of %s", s.Reachable, diag.Count(s.Servers, "server")), "smtp.servers",
		"smtp.connection", "smtp.address", "smtp.backup", "smtp.session", "smtp.banner.refused")
	v.Fact("encrypted", fmt.Sprintf("%d of %d", s.TLS, s.Reachable), "smtp.starttls", "smtp.tls")
	if leaf := r.soonest(); leaf != nil {
		v.Fact("certificate", view.Join(leaf.Remaining(), leaf.Issuer.Maker()), "smtp.certificate")
	}
	v.Fact("open relay", r.relays(), "smtp.relay")
	v.Fact("login", r.login(), "smtp.auth", "smtp.submission")
	if r.State == diag.Valid {
		v.Brief = view.Join(diag.Count(s.Servers, "server"), fmt.Sprintf("%d with TLS", s.TLS), "no open relay")
	}
	d := view.Drawing{Kind: view.Table, Title: "Servers", Columns: []string{"server", "address", "tls", "cert", "banner"}}
	for _, one := range r.Servers {
		mark, note := one.stands()
		host, version, days := one.Host, "none", ""
		if one.Port != mailPort {
			host += fmt.Sprintf(":%d", one.Port)
		}
		if one.TLS.Version != "" {
			version = strings.TrimPrefix(one.TLS.Version, "TLS ")
			if leaf := one.TLS.Leaf(); leaf != nil {
				if days = diag.Count(leaf.DaysRemaining, "day"); leaf.Expired {
					days = "expired"
				}
			}
		}
		if !one.Reachable {
			version = ""
		}
		banner := strings.TrimPrefix(strings.TrimPrefix(one.Banner, "220 "), one.Host+" ")
		d.Marked(mark, note, host, one.Address, version, days, diag.Clip(banner, maxBanner))
	}
	v.Draw(d)
	return v
}

// maxBanner bounds what is shown of a banner, in bytes.
const maxBanner = 60

// stands is how a server stands: its gravest finding, or why it did not answer.
func (s *Server) stands() (view.Mark, string) {
	for _, f := range s.Findings {
		if f.Severity > diag.Info {
			return view.MarkOf(f.Severity), f.Title
		}
	}
	if !s.Reachable {
		return view.Unknown, cmp.Or(s.Error, "no answer")
	}
	return view.Good, ""
}

// soonest is the certificate that expires first.
func (r *Report) soonest() *pki.Certificate {
	var first *pki.Certificate
	for _, s := range r.Servers {
		if leaf := s.TLS.Leaf(); leaf != nil && (first == nil || leaf.NotAfter.Before(first.NotAfter)) {
			first = leaf
		}
	}
	return first
}

// relays says which servers relay for strangers, and how many were tested.
func (r *Report) relays() string {
	var open []string
	tested, closed := 0, 0
	for _, s := range r.Servers {
		switch {
		case !s.Relay.Tested:
			continue
		case s.Relay.Status == RelayOpen:
			open = append(open, s.Host+" "+s.Address)
		case s.Relay.Status == RelayClosed:
			closed++
		}
		tested++
	}
	switch {
	case len(open) > 0:
		return "yes: " + diag.Series(open, 3)
	case tested == 0:
		return ""
	case closed < tested:
		return fmt.Sprintf("not known: %d of %d refused", closed, tested)
	}
	return "no: " + diag.Count(closed, "server") + " refused"
}

// login says whether clients may authenticate, and how.
func (r *Report) login() string {
	var mechanisms []string
	before := false
	for _, s := range r.Servers {
		before = before || s.Auth.PlaintextBeforeTLS
		for _, m := range s.Auth.Mechanisms {
			if !slices.Contains(mechanisms, m) {
				mechanisms = append(mechanisms, m)
			}
		}
	}
	text := diag.Series(mechanisms, 4)
	if before {
		text += ", some before encryption"
	}
	return text
}
