package tlscert

import (
	"cmp"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	subject := r.Host
	if r.Port != httpsPort {
		subject = net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
	}
	v := view.Of(subject, r.Verdict)
	v.Partial = r.Partial
	if c := &r.Certificate; !c.NotAfter.IsZero() {
		v.Fact("expires", c.Remaining(), "tls.certificate.expired", "tls.certificate.early", "tls.certificate.expiring",
			"tls.certificate.expires_now", "tls.certificate.validity")
		v.Fact("issuer", c.Issuer.Maker(), "tls.chain", "tls.caa")
		v.Fact("names", c.SAN.Short(4), "tls.certificate.name")
		v.Fact("key", view.Join(c.PublicKey.Short(), c.SignatureAlgorithm), "tls.key")
	}
	v.Fact("versions", r.versions(), "tls.version")
	v.Fact("agreed on", view.Join(r.TLS.Version, r.TLS.CipherSuite, r.TLS.ALPN), "tls.cipher")
	v.Fact("caa", r.CAA.text(), "tls.caa")
	v.Fact("address", r.Address)
	v.Draw(r.chain())
	if v.Mark() == view.Good {
		v.Brief = view.Join(r.Certificate.Remaining(), r.Certificate.Issuer.Short(), r.versions())
	}
	return v
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

// text says who may issue certificates for the name.
func (c CAA) text() string {
	switch {
	case c.Records == nil:
		return ""
	case !c.Found:
		return "any authority may issue (no record)"
	case c.Allowed == nil:
		return c.Domain + " restricts who may issue; whether it allows this authority is not known"
	case !*c.Allowed:
		return c.Domain + " does not allow this authority"
	}
	return c.Domain + " allows this authority"
}

// chain draws the path to a trusted authority, or without one what the server sends.
func (r *Report) chain() view.Drawing {
	d := view.Drawing{Kind: view.Chain, Title: "Chain of certificates", Columns: []string{"certificate", "expires"}}
	for i, l := range r.VerifiedChain {
		note := ""
		switch {
		case !l.Served && i == len(r.VerifiedChain)-1:
			note = "trusted root"
		case !l.Served:
			note = "not sent by the server"
		}
		mark := view.Good
		if i == 0 && r.HostnameMatch != nil && !*r.HostnameMatch {
			mark, note = view.Critical, "of another name"
		}
		d.Marked(mark, note, l.Subject, l.NotAfter.UTC().Format(time.DateOnly))
	}
	if len(d.Rows) > 0 {
		return d
	}
	why := diag.Clip(r.TLS.TrustError, 120)
	for i := range r.TLS.Chain {
		c := &r.TLS.Chain[i]
		mark, note := view.None, ""
		switch {
		case c.Expired:
			mark, note = view.Critical, "expired"
		case c.NotYetValid:
			mark, note = view.Critical, "not yet valid"
		case c.SelfSigned && i == 0:
			mark, note = view.Error, "signed by itself"
		}
		if mark != view.None {
			why = ""
		}
		d.Marked(mark, note, label(c), c.NotAfter.UTC().Format(time.DateOnly))
	}
	if n := len(r.TLS.Chain); n > 0 && !r.TLS.Chain[n-1].SelfSigned {
		mark := view.None
		if why != "" {
			mark = view.Error
		}
		d.Marked(mark, why, r.TLS.Chain[n-1].Issuer.Short(), "")
	}
	return d
}

// label names a certificate. Those of servers often have no subject.
func label(c *pki.Certificate) string {
	if name := c.Subject.Short(); name != "" || len(c.SAN.DNS) == 0 {
		return name
	}
	return diag.Quote(c.SAN.DNS[0])
}
