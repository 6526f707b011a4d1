package smtpcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
)

// View returns the report as shown to people.
func (r *Report) View() *view.View {
	subject := cmp.Or(r.DomainUnicode, r.Domain)
	if subject == "" && len(r.Servers) > 0 {
		subject = r.Servers[0].Host
	}
	v := view.Of(subject, r.Verdict, r.Partial)
	v.Optional = r.NullMX
	switch {
	case r.NullMX:
		v.Fact("mail", "not accepted: null MX", "smtp.mx.null_beside")
	case r.ImplicitMX && r.Summary.Reachable == 0:
		v.Fact("mail", "no MX record, and no answer from the address of the domain", "smtp.mx.unused", "smtp.mx.implicit")
	case r.ImplicitMX:
		v.Fact("mail", "to the domain's own address, as there are no MX records", "smtp.mx.implicit")
	}
	if len(r.Servers) == 0 {
		return v
	}
	s := r.Summary
	v.Fact("answer", fmt.Sprintf("%d of %s", s.Reachable, phrase.Count(s.Servers, "server")), "smtp.servers", "smtp.hosts",
		"smtp.connection", "smtp.address", "smtp.backup", "smtp.session", "smtp.banner.refused")
	v.Fact("encrypted", fmt.Sprintf("%d of %d", s.TLS, s.Reachable), "smtp.starttls", "smtp.tls")
	if leaf := r.firstExpiring(); leaf != nil {
		v.Fact("certificate", view.Join(leaf.Remaining(), leaf.Issuer.Maker()), "smtp.certificate")
	}
	v.Fact("open relay", r.relays(), "smtp.relay")
	v.Fact("login", r.login(), "smtp.auth", "smtp.submission")
	v.BriefIf(r.State == diag.Valid,
		phrase.Count(s.Servers, "server"), fmt.Sprintf("%d with TLS", s.TLS),
		view.TextIf(strings.HasPrefix(r.relays(), "no:"), "no open relay"))
	d := v.Rows(view.Table, "Servers", "server", "address", "tls", "cert", "banner")
	for _, one := range r.Servers {
		host, days := one.Host+view.TextIf(one.Port != mailPort, fmt.Sprintf(":%d", one.Port)), ""
		version := view.TextIf(one.Reachable, strings.TrimPrefix(cmp.Or(one.TLS.Version, "none"), "TLS "))
		if leaf := one.TLS.Leaf(); leaf != nil && one.TLS.Version != "" {
			days = cmp.Or(view.TextIf(leaf.Expired, "expired"), phrase.Count(leaf.DaysRemaining, "day"))
		}
		banner := strings.TrimPrefix(strings.TrimPrefix(one.Banner, "220 "), one.Host+" ")
		d.StatusRow(one.status(), host, one.Address, version, days, phrase.Clip(banner, maxBanner))
	}
	return v
}

const maxBanner = 60

func (s *Server) status() view.Standing {
	for _, f := range s.Findings {
		if f.Severity > diag.Info {
			return view.Standing{Mark: view.MarkOf(f.Severity), Note: f.Title}
		}
	}
	return cmp.Or(view.MarkIf(!s.Reachable, view.Unknown, cmp.Or(s.Error, "no answer")), view.Standing{Mark: view.Good})
}

func (r *Report) firstExpiring() *pki.Certificate {
	var first *pki.Certificate
	for _, s := range r.Servers {
		if leaf := s.TLS.Leaf(); leaf != nil && (first == nil || leaf.NotAfter.Before(first.NotAfter)) {
			first = leaf
		}
	}
	return first
}

func (r *Report) relays() string {
	tested := view.CountIf(r.Servers, func(s Server) bool { return s.Relay.Tested })
	closed := view.CountIf(r.Servers, func(s Server) bool { return s.Relay.Tested && s.Relay.Status == RelayClosed })
	open := view.Each(r.Servers, func(s Server) string {
		return view.TextIf(s.Relay.Tested && s.Relay.Status == RelayOpen, s.Host+" "+s.Address)
	})
	switch {
	case len(open) > 0:
		return "yes: " + phrase.Series(open, 3)
	case tested == 0:
		return ""
	case closed < tested:
		return fmt.Sprintf("not known: %d of %d refused", closed, tested)
	}
	return "no: " + phrase.Count(closed, "server") + " refused"
}

func (r *Report) login() string {
	mechanisms := slices.Concat(kit.Map(r.Servers, func(s Server) []string { return s.Auth.Mechanisms })...)
	before := slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Auth.PlaintextBeforeTLS })
	return phrase.Series(view.Unique(mechanisms), 4) + view.TextIf(before, ", some before encryption")
}
