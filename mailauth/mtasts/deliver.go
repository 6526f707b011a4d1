package mtasts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/smtp"
)

// The bounds of what is connected to.
const (
	// maxServers is how many mail servers are asked for their certificates, the most preferred first.
	maxServers = 10
	// deliverTimeout is when connections to them end, counted from the beginning. Some servers delay the banner by six
	// seconds on purpose.
	deliverTimeout = 13 * time.Second
	portMail       = 25
)

// A delivery is what a sender that enforces the policy meets at a mail server: one address of it, for behind all there
// is one certificate.
type delivery struct {
	addr    netip.Addr  // zero if it was not connected to
	tls     *pki.TLS    // nil without
	refusal *smtp.Error // why there is no TLS, which is not the fault of anything in between
	unknown string      // why nothing is known, as a clause; empty if something is
}

// deliver connects to the mail servers that the policy lists, if it is in force, all at once.
func (e *evidence) deliver(ctx context.Context, env *diag.Env) {
	if !e.enforced() {
		return
	}
	var g diag.Group
	count := 0
	for i := range e.hosts {
		h := &e.hosts[i]
		switch addresses := h.Addresses.All(); {
		case !h.covered || len(addresses) == 0 && h.Err() == nil:
		case len(addresses) == 0:
			h.met.unknown = "its address could not be looked up"
		case count == maxServers:
			h.met.unknown = "it is not one of the most preferred mail servers"
		default:
			count++
			h.met.addr = addresses[len(addresses)-1] // IPv6 is first, and not every network has it
			g.Go(func() { h.met.connect(ctx, env, h.Name) })
		}
	}
	g.Wait()
}

func (d *delivery) connect(ctx context.Context, env *diag.Env, name string) {
	session, err := smtp.Secure(ctx, env, smtp.Config{Addr: netip.AddrPortFrom(d.addr, portMail), ServerName: name})
	defer func() { session.Close() }() // there is one after an error too
	if d.tls = session.TLS(); d.tls != nil {
		return
	}
	known, ok := errors.AsType[*smtp.Error](err)
	switch {
	case !ok:
		d.unknown = "no connection could be established"
	case known.Kind == smtp.NotOffered, known.Kind == smtp.NoHandshake,
		known.Step == smtp.StepStartTLS && known.Kind == smtp.Rejected:
		d.refusal = known
	default:
		d.unknown = known.Error()
	}
}

func (e *evidence) untested() diag.Failures {
	return diag.FailEach(e.hosts, func(h host) diag.Failures {
		return diag.FailIf(h.met.unknown != "", "Whether senders can deliver to %s as the policy asks was not tested from here: %s.",
			h.Name, h.met.unknown).About(h.Name)
	})
}

var deliverRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.mx.tls.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
		DependsOn: []diag.Code{"mtasts.mx.unknown"}, Ref: "RFC 8461 section 4.2",
		Title:       "Certificates of mail servers were not tested",
		Requirement: "The mail servers can be reached on port 25 from here",
		Advice:      "Test STARTTLS on port 25 from another network: many networks block outgoing connections to mail servers.",
		When:        (*evidence).enforced, Fails: func(e *evidence) diag.Failures { return e.untested().Joined() },
	},
	strict(rule{
		Code: "mtasts.mx.starttls", Weight: 3,
		Title:       "Mail server offers no STARTTLS, which the policy enforces",
		Requirement: "Every mail server offers STARTTLS",
		Advice:      "enable STARTTLS on the mail server",
	}, func(_ *evidence, h *host) string { return h.met.refused(smtp.NotOffered, smtp.Rejected) }),
	strict(rule{
		Code: "mtasts.mx.handshake", Weight: 1, Fact: ground.Handshake,
		Title: "TLS handshake with a mail server failed", Requirement: "Every mail server completes a TLS handshake",
		Advice: "configure a certificate for the mail server, and TLS 1.2 or 1.3",
	}, func(_ *evidence, h *host) string { return h.met.refused(smtp.NoHandshake) }),
	strict(rule{
		Code: "mtasts.mx.certificate.expired", Weight: 1, Fact: ground.Expired,
		Title: "Certificate of a mail server has expired", Requirement: "The certificate of no mail server has expired",
		Advice: "renew the certificate and automate renewal",
	}, certified(func(_ *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return leaf.Expired, "its certificate expired on " + leaf.NotAfter.Format(time.DateOnly)
	})),
	strict(rule{
		Code: "mtasts.mx.certificate.early", Weight: 1, Fact: ground.NotYetValid,
		Title:       "Certificate of a mail server is not yet valid",
		Requirement: "The validity of the certificate of every mail server has begun",
		Advice:      "install a certificate that is valid now",
	}, certified(func(_ *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return leaf.NotYetValid, "its certificate is valid only from " + leaf.NotBefore.Format(time.DateOnly)
	})),
	strict(rule{
		Code: "mtasts.mx.certificate.untrusted", Weight: 1, Fact: ground.Untrusted,
		Title:       "Certificate of a mail server is not trusted",
		Requirement: "The certificate of every mail server is trusted",
		Advice:      "install a certificate from a public authority, together with its intermediate certificates",
	}, certified(func(_ *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return t.Trust != nil && !leaf.Expired && !leaf.NotYetValid, t.TrustError
	})),
	strict(rule{
		Code: "mtasts.mx.certificate.name", Weight: 1, Fact: ground.OtherName,
		Title:       "Certificate does not cover the name of a mail server",
		Requirement: "The certificate of every mail server covers its name",
		Advice:      "get a certificate that lists the name of the MX host",
	}, certified(func(_ *evidence, t *pki.TLS, _ *pki.Certificate) (bool, string) {
		return t.Name != nil, fmt.Sprint(t.Name)
	})),
	strict(rule{
		Code: "mtasts.mx.certificate.expires_now", Severity: diag.Error, Fact: ground.ExpiresNow,
		Title:       "Certificate of a mail server is about to expire",
		Requirement: "The certificate of no mail server is about to expire",
		Advice:      "Renew the certificate now and automate renewal: senders refuse to deliver once it has expired.",
	}, ending(diag.Error)),
	strict(rule{
		Code: "mtasts.mx.certificate.expiring", Severity: diag.Warning, Fact: ground.Expiring,
		Title:       "Certificate of a mail server expires soon",
		Requirement: "The certificate of every mail server is renewed in time",
		Advice:      "Renew the certificate and automate renewal: senders refuse to deliver once it has expired.",
	}, ending(diag.Warning)),
}

// strict completes a rule about what senders meet at each mail server. Unless it says otherwise, they refuse to deliver
// if it fails (RFC 8461 section 4.2). It applies if it is known to fail, or all mail servers were tested.
func strict(r rule, why func(*evidence, *host) string) rule {
	r.Ref, r.Category, r.Reads = "RFC 8461 section 4.2", factorMX, []diag.Source{fromRecord, fromPolicy, fromMail}
	consequence := "senders will not deliver to it then"
	if r.Severity == diag.Info {
		r.Severity, consequence = diag.Critical, "senders that follow the policy do not deliver to it"
		r.Advice = "Set the mode of the policy to testing today, with a new id of the record, if this cannot be corrected at " +
			"once: senders refuse to deliver. Then " + r.Advice + ", and enforce the policy again."
	}
	list := func(e *evidence) (all diag.Failures) {
		for i := range e.hosts {
			h := &e.hosts[i]
			if text := why(e, h); text != "" {
				all = append(all, diag.Fail("The mail server %s (%s): %s; %s.", h.Name, h.met.addr, text, consequence).
					About(h.Name)...)
			}
		}
		return all
	}
	r.When = func(e *evidence) bool {
		met := func(h host) bool { return h.met.tls != nil || h.met.refusal != nil }
		return e.enforced() && (len(list(e)) > 0 || len(e.untested()) == 0 && slices.ContainsFunc(e.hosts, met))
	}
	r.Fails = func(e *evidence) diag.Failures { return list(e).Joined() }
	return r
}

// refused says why there is no TLS if the reason is one of these; else it is empty.
func (d *delivery) refused(kinds ...smtp.Kind) string {
	if d.refusal == nil || !slices.Contains(kinds, d.refusal.Kind) {
		return ""
	}
	return d.refusal.Error()
}

// certified makes a test of a host of one of its certificate.
func certified(test func(*evidence, *pki.TLS, *pki.Certificate) (bool, string)) func(*evidence, *host) string {
	return func(e *evidence, h *host) string {
		if h.met.tls == nil || h.met.tls.Leaf() == nil {
			return ""
		}
		if holds, text := test(e, h.met.tls, h.met.tls.Leaf()); holds {
			return text
		}
		return ""
	}
}

func ending(grade diag.Severity) func(*evidence, *host) string {
	return certified(func(e *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return t.Err() == nil && ground.Ends(leaf.NotBefore, leaf.NotAfter, e.now) == grade,
			"its certificate expires on " + leaf.NotAfter.Format(time.DateOnly)
	})
}
