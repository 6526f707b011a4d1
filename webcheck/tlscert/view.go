package tlscert

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/pki/revocation"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report.
func (r *Report) View() *view.View {
	subject := r.Host
	if r.Port != httpsPort {
		subject = net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
	}
	v := view.Of(subject, r.Verdict, r.Partial)
	if c := &r.Certificate; !c.NotAfter.IsZero() {
		v.Fact("expires", c.Remaining(), "tls.certificate.expired", "tls.certificate.early", "tls.certificate.expiring",
			"tls.certificate.expires_now", "tls.certificate.validity")
		r.factAddresses(v)
		v.Fact("issuer", c.Issuer.Maker(), "tls.chain", "tls.caa", "tls.product")
		v.Fact("names", c.SAN.Short(4), "tls.certificate.name")
		v.Fact("key", cmp.Or(r.kinds(), view.Join(c.PublicKey.Short(), c.SignatureAlgorithm)), "tls.key")
	}
	v.Fact("revocation", r.Revocation.short(&r.Certificate), "tls.revocation", "tls.ocsp")
	v.Fact("versions", view.Join(r.versions(), r.clients()), "tls.version", "tls.client", "tls.handshake", "tls.group")
	v.Fact("agreed on", view.Join(r.TLS.Version, r.TLS.CipherSuite, r.TLS.ALPN), "tls.cipher")
	a := r.CAA
	v.Fact("caa", view.TextIf(a.Records != nil, cmp.Or(view.TextIf(!a.Found, "any authority may issue (no record)"),
		a.Domain+view.Known(a.Allowed, " allows this authority", " does not allow this authority",
			" restricts who may issue; whether it allows this authority is not known"))), "tls.caa")
	if len(r.Addresses) < 2 {
		v.Fact("address", r.Address)
	}
	if r.addressesDiffer() {
		r.drawAddresses(v)
	} else {
		r.draw(v)
	}
	v.BriefIf(v.Mark() == view.Good, r.Certificate.Remaining(), r.Certificate.Issuer.Short(), r.versions())
	return v
}

// short summarizes what is known of the certificate of the server; empty if nothing is known.
func (r Revocation) short(c *pki.Certificate) (text string) {
	switch r.Status {
	case "": // there is no certificate
		return ""
	case revocation.NotOffered:
		return view.TextIf(!c.SelfSigned,
			cmp.Or(view.TextIf(shortLived(c.NotBefore, c.NotAfter), "not needed: the certificate is short-lived"),
				"cannot be checked: the certificate names no service"))
	case revocation.Unanswered, revocation.Unusable:
		return "not known: no service gave a usable answer"
	case revocation.LeftOut:
		for _, c := range r.Checked[:min(len(r.Checked), 1)] {
			text = ": " + c.Error
		}
		return view.TextIf(!c.Expired, "not checked"+text)
	}
	text = map[revocation.Status]string{revocation.Good: "not revoked", revocation.Revoked: "revoked",
		revocation.Unknown: "unknown to the authority"}[r.Status]
	for _, c := range r.Checked {
		if c.Certificate == "" && c.Status == r.Status && c.Method == r.Method {
			return view.Join(text+view.TextIf(!c.RevokedAt.IsZero(), " on "+view.Date(c.RevokedAt)), string(c.Reason),
				methodNames[c.Method]+" of "+view.Date(c.ThisUpdate))
		}
	}
	return text
}

// versions are those that the server speaks, or the one that was agreed on.
func (r *Report) versions() string {
	var list []string
	for _, v := range r.Versions {
		if v.Supported == nil || !*v.Supported {
			continue
		}
		if n := len(list); n > 0 && !strings.HasPrefix(list[n-1], "SSL") {
			v.Version = strings.TrimPrefix(v.Version, "TLS ")
		}
		list = append(list, v.Version)
	}
	return cmp.Or(strings.Join(list, ", "), r.TLS.Version)
}

// clients says how many families of clients connect, and which of the current ones do not.
func (r *Report) clients() string {
	connect := 0
	var failing []string
	for _, c := range r.Clients {
		switch {
		case c.Connects == nil:
		case *c.Connects:
			connect++
		case c.Current:
			failing = append(failing, c.Name)
		}
	}
	if len(r.Clients) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d clients connect", connect, len(r.Clients)) +
		view.TextIf(len(failing) > 0, "; not "+phrase.Series(failing, 3))
}

// draw draws the path to a trusted authority, or without one what the server sends.
func (r *Report) draw(v *view.View) {
	d := v.Rows(view.Chain, "Chain of certificates", "certificate", "expires")
	for i, l := range r.VerifiedChain {
		last := i == len(r.VerifiedChain)-1
		misnamed := i == 0 && r.HostnameMatch != nil && !*r.HostnameMatch
		revoked := i == 0 && r.Revocation.Status == revocation.Revoked
		d.StatusRow(
			cmp.Or(view.MarkIf(revoked, view.Critical, "revoked"), view.MarkIf(misnamed, view.Critical, "of another name"),
				view.MarkIf(!l.Served && last, view.Good, "trusted root"),
				view.MarkIf(!l.Served, view.Good, "not sent by the server"), view.Standing{Mark: view.Good}),
			l.Subject,
			view.Date(l.NotAfter),
		)
	}
	if len(r.VerifiedChain) > 0 {
		return
	}
	why := phrase.Clip(r.TLS.TrustError, 120)
	for i, c := range r.TLS.Chain {
		status := cmp.Or(view.MarkIf(c.Expired, view.Critical, "expired"),
			view.MarkIf(c.NotYetValid, view.Critical, "not yet valid"),
			view.MarkIf(c.SelfSigned && i == 0, view.Error, "signed by itself"))
		why = view.TextIf(status.Mark == view.None, why)
		name := c.Subject.Short()
		if name == "" && len(c.SAN.DNS) > 0 { // those of servers often have no subject
			name = phrase.Quote(c.SAN.DNS[0])
		}
		d.StatusRow(status, name, view.Date(c.NotAfter))
	}
	if n := len(r.TLS.Chain); n > 0 && !r.TLS.Chain[n-1].SelfSigned {
		d.StatusRow(view.MarkIf(why != "", view.Error, why), r.TLS.Chain[n-1].Issuer.Short(), "")
	}
}

// kinds lists the certificates by the types of their keys, if there are several types.
func (r *Report) kinds() string {
	types := view.Unique(kit.Map(r.Certificates, func(c PresentedCertificate) string { return c.KeyType }))
	if len(types) < 2 {
		return ""
	}
	return phrase.Series(view.Unique(kit.Map(r.Certificates, func(c PresentedCertificate) string {
		return c.KeyType + " until " + view.Date(c.NotAfter)
	})), maxNamed)
}

// factAddresses says which addresses the host has, if there are several.
func (r *Report) factAddresses(v *view.View) {
	if len(r.Addresses) < 2 {
		return
	}
	list := kit.Map(r.Addresses, func(a AddressReport) string { return a.Address })
	v.Fact("addresses", phrase.Series(list, maxNamed), "tls.address")
}

// addressesDiffer reports whether one of several addresses has another result than the rest.
func (r *Report) addressesDiffer() bool {
	marks := view.Unique(kit.Map(r.Addresses, func(a AddressReport) string { return string(r.standing(a).Mark) }))
	return len(marks) > 1
}

// drawAddresses shows the result of each address.
func (r *Report) drawAddresses(v *view.View) {
	d := v.Rows(view.Table, "Addresses", "address", "expires", "versions")
	for _, a := range r.Addresses {
		expires := ""
		if !a.ExpiresAt.IsZero() {
			expires = view.Date(a.ExpiresAt)
		}
		d.StatusRow(r.standing(a), a.Address, expires, strings.Join(a.Versions, ", "))
	}
}

// standing returns the result of an address: the worst that is said of it and not of all, or how far the check came.
func (r *Report) standing(a AddressReport) view.Standing {
	here := func(p diag.Place) bool { return p.Target == a.Address }
	for _, f := range r.Findings { // the worst first
		if f.Severity > diag.Info && (f.Target == a.Address || slices.ContainsFunc(f.Places, here)) {
			return view.Standing{Mark: view.MarkOf(f.Severity), Note: f.Title}
		}
	}
	switch a.Outcome {
	case AddressSpeaks:
		return view.Standing{Mark: view.Good}
	case AddressFailed:
		return view.Standing{Mark: view.Error, Note: "no certificate"}
	default:
		return view.Standing{Mark: view.Unknown, Note: strings.ReplaceAll(string(a.Outcome), "_", " ")}
	}
}
