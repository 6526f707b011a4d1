package tlscert

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// A Client is a family of clients, and whether its handshakes succeed. Whether it trusts the certificate does
// not count, except for roots that the family is known to lack.
type Client struct {
	Name        string         `json:"name" doc:"family, with the version that was examined" example:"Chrome 137"`
	Current     bool           `json:"current" doc:"whether it is supported and in wide use, not an old one"`
	Connects    *bool          `json:"connects,omitempty" doc:"whether it connects; absent if not known"`
	Version     string         `json:"version,omitempty" doc:"protocol version of the connection" example:"TLS 1.3"`
	CipherSuite string         `json:"cipher_suite,omitempty" doc:"cipher suite" example:"TLS_AES_128_GCM_SHA256"`
	Group       string         `json:"group,omitempty" doc:"group of the key exchange, if any" example:"X25519"`
	Reason      clients.Reason `json:"reason,omitempty" doc:"why it does not connect"`
}

// IfDisabled lists the families of clients that connect today but would not if something were disabled. A
// list is absent if the server does not have that, or has nothing else.
type IfDisabled struct {
	TLS12     []string `json:"tls12,omitzero" doc:"if TLS 1.2 and older versions were disabled"`
	RSA       []string `json:"rsa,omitzero" doc:"if certificates with RSA keys were removed"`
	Classical []string `json:"classical_groups,omitzero" doc:"if only post-quantum groups were left, and TLS 1.3"`
}

// clientResults holds the results of families of clients at an address.
type clientResults struct {
	target   clients.Server // as they see it
	outcomes []clients.Outcome
	resumes  probe.Answer // whether the server resumes a session
}

// evaluateClients connects as the families of clients do, at one of the addresses that have the same scan.
func (e *evidence) evaluateClients(ctx context.Context, env *diag.Env) {
	asked := *e.req.CheckVersions || e.failure != nil // in which case the families show why
	if e.scan == nil || !e.scan.Any() || !asked || e.demandsClient() {
		return
	}
	e.clientResults = e.whole.clients.get(e.scan, func() clientResults { return e.evaluateFamilies(ctx, env) })
}

func (e *evidence) evaluateFamilies(ctx context.Context, env *diag.Env) clientResults {
	p := clientResults{target: clients.Server{
		ServerName: e.name, Scan: e.scan, Keys: e.publicKeys(), Web: e.req.Port == 443 || e.req.Port == 8443,
	}}
	var g diag.Group
	g.Go(func() {
		p.outcomes = clients.Examine(ctx, p.target, func(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
			conn, release, err := e.open(ctx, env)
			if err != nil {
				return nil, err
			}
			defer release()
			return probe.Ask(ctx, conn, h)
		})
	})
	g.Go(func() { p.resumes = e.resume(ctx, env) })
	g.Wait()
	return p
}

// open makes a connection to the address when its turn has come. It is closed by release.
func (e *evidence) open(ctx context.Context, env *diag.Env) (conn net.Conn, release func(), err error) {
	free, err := e.limits().Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, err = e.dialer(env)(ctx)
	if err != nil {
		free()
		return nil, nil, err
	}
	return conn, func() { conn.Close(); free() }, nil
}

// publicKeys are those of the certificates that were presented.
func (e *evidence) publicKeys() (keys []crypto.PublicKey) {
	for _, part := range append([]*evidence{e}, e.others...) {
		if len(part.served) == 0 {
			continue
		}
		if leaf, err := x509.ParseCertificate(part.served[0]); err == nil {
			keys = append(keys, leaf.PublicKey)
		}
	}
	return keys
}

// clients are the outcomes with what is known beside them: the roots of the chain, and whether handshakes end well.
// Where crypto/tls agreed with the server and failed after that, all may fail.
func (e *evidence) clients() []clients.Outcome {
	if e.failure != nil && (e.native() == nil || e.native().Connects != probe.No) {
		return kit.Map(e.outcomes, func(o clients.Outcome) clients.Outcome {
			if o.Connects == probe.Yes {
				return clients.Outcome{Family: o.Family}
			}
			return o
		})
	}
	if len(e.verified) == 0 {
		return e.outcomes
	}
	sum := func(path []*x509.Certificate) string {
		hash := sha256.Sum256(path[len(path)-1].Raw)
		return hex.EncodeToString(hash[:])
	}
	return clients.Distrust(e.outcomes, kit.Map(e.paths, sum))
}

// native is the outcome of the family that is crypto/tls; nil if families were not tried.
func (e *evidence) native() *clients.Outcome {
	i := slices.IndexFunc(e.outcomes, func(o clients.Outcome) bool { return o.Family.Native })
	if i < 0 {
		return nil
	}
	return &e.outcomes[i]
}

// failing returns the outcomes of families that do not connect, current ones or old ones.
func (e *evidence) failing(current bool) (list []clients.Outcome) {
	for _, o := range e.clients() {
		if o.Connects == probe.No && o.Family.Current == current {
			list = append(list, o)
		}
	}
	return list
}

// unsupportedKey reports whether current clients fail because of the type of the key.
func (e *evidence) unsupportedKey() bool {
	return slices.ContainsFunc(e.outcomes, func(o clients.Outcome) bool {
		return o.Family.Current && o.Reason == clients.KeyType
	})
}

// describeClients writes down how connections of clients end.
func (e *evidence) describeClients(r *Report) {
	if e.outcomes == nil || !*e.req.CheckVersions {
		return
	}
	outcomes := e.clients()
	r.Clients = kit.Map(outcomes, func(o clients.Outcome) Client {
		c := Client{Name: o.Family.Name, Current: o.Family.Current, Connects: boolOf(o.Connects), Reason: o.Reason}
		if o.Connects == probe.Yes {
			c.Version, c.CipherSuite = o.Version.String(), probe.SuiteOf(o.Suite).Name
			if o.Group != 0 {
				c.Group = o.Group.String()
			}
		}
		return c
	})
	r.IfDisabled = IfDisabled(clients.IfDisabled(e.target, outcomes))
}

// intolerant returns what is known of a property that the server does not take; nil if it does, or if that is not
// known.
func (e *evidence) intolerant(p probe.Property) *probe.Intolerance {
	if e.scan == nil {
		return nil
	}
	for i := range e.scan.Intolerances {
		if e.scan.Intolerances[i].Property == p {
			return &e.scan.Intolerances[i]
		}
	}
	return nil
}

// hasIntolerances reports whether there is a property of a ClientHello that the server does not take.
func (e *evidence) hasIntolerances() bool { return e.scan != nil && len(e.scan.Intolerances) > 0 }

// avoidIntolerances leaves out of the handshake what the server is known not to take.
func (e *evidence) avoidIntolerances(c *tls.Config) {
	if e.intolerant(probe.Large) != nil || e.intolerant(probe.KeyShare) != nil {
		c.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
	}
	if e.intolerant(probe.NewVersion) != nil {
		c.MaxVersion = tls.VersionTLS12
	}
	if e.intolerant(probe.Protocols) != nil {
		c.NextProtos = nil
	}
}

// names lists the families of outcomes.
func names(list []clients.Outcome) []string {
	return kit.Map(list, func(o clients.Outcome) string { return o.Family.Name })
}

// because returns the outcomes with one of some reasons.
func because(list []clients.Outcome, reasons ...clients.Reason) []clients.Outcome {
	other := func(o clients.Outcome) bool { return !slices.Contains(reasons, o.Reason) }
	return slices.DeleteFunc(slices.Clone(list), other)
}

// locksOut names the families that fail for a reason, in a sentence of its own.
func (e *evidence) locksOut(why clients.Reason) string {
	list := names(because(e.clients(), why))
	if len(list) == 0 {
		return ""
	}
	return " " + phrase.Series(list, maxNamedClients) + " cannot connect."
}
