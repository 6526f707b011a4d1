package clients

import (
	"context"
	"crypto"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// A Family is a kind of client: what its ClientHello offers, each list in the order of its preference.
type Family struct {
	Name    string // with the version that was examined
	Source  string // where the numbers are from, with a date
	Current bool   // it is supported by its maker and in wide use; the others are kept to say who is locked out
	Browser bool   // it speaks with web servers only
	Native  bool   // it is crypto/tls as it comes

	Versions   []probe.Version
	Suites     []uint16
	Groups     []probe.Group
	Shares     []probe.Group // for which it sends key shares in TLS 1.3
	Signatures []uint16
	ALPN       []string
	GREASE     bool     // it sends reserved values that servers must ignore (RFC 8701)
	Extensions []uint16 // of [probe.BrowserExtensions]
	Octets     int      // size of the ClientHello on the wire, with a short name of a server

	DHBits int      // the smallest Diffie-Hellman prime that it accepts; 0 where it offers no such suite
	Lacks  []string // well-known roots that it does not trust, as the SHA-256 of the certificate in hex
}

// Families lists all families, browsers first. The caller owns the list.
func Families() []Family { return slices.Clone(table) }

// Hello is the ClientHello that a family sends to a server.
func (f Family) Hello(s Server) probe.Hello {
	h := probe.Hello{
		Version: f.Versions[0], Suites: f.Suites, Groups: f.Groups, Shares: f.Shares, Signatures: f.Signatures,
		ServerName: s.ServerName, GREASE: f.GREASE, Extensions: f.Extensions, Octets: f.Octets,
	}
	if h.Version == probe.TLS13 {
		h.Older = f.Versions[1:]
	}
	if s.Web {
		h.ALPN = f.ALPN
	}
	return h
}

// A Server holds what is known about a server.
type Server struct {
	ServerName string
	Scan       *probe.Report      // must be there
	Keys       []crypto.PublicKey // of the certificates that it was seen to have; nil for one that is not understood
	Web        bool               // it speaks HTTP

	supposed bool // as it would be if something were disabled: it has nothing else
}

// A Reason says why a client fails.
type Reason string

// The reasons, in the order of a handshake. The first five follow from what client and server have in common.
const (
	NoVersion   Reason = "no_common_version"
	NoSuite     Reason = "no_common_cipher_suite"
	NoGroup     Reason = "no_common_group"
	SmallPrime  Reason = "small_dh_prime"
	KeyType     Reason = "certificate_key"               // of a kind or on a curve that the client does not know
	NoSignature Reason = "no_common_signature_algorithm" // the key apart
	LargeHello  Reason = "large_hello"
	TLS13Hello  Reason = "tls13_in_hello"
	ALPNHello   Reason = "alpn_in_hello"
	OddHello    Reason = "unknown_values_in_hello" // GREASE, new extensions or key shares
	Refused     Reason = "refused"                 // for no reason that is known
	NoRoot      Reason = "untrusted_root"          // the client does not have the root of the chain
)

// Values lists the reasons.
func (Reason) Values() []string {
	return kit.Values(NoVersion, NoSuite, NoGroup, SmallPrime, KeyType, NoSignature, LargeHello, TLS13Hello, ALPNHello,
		OddHello, Refused, NoRoot)
}

// An Outcome is how a connection of a family ends.
type Outcome struct {
	Family   Family
	Connects probe.Answer
	// Version, Suite and Group are those of the connection. Group is 0 if keys are agreed on without one.
	Version probe.Version
	Suite   uint16
	Group   probe.Group
	Reason  Reason // why it does not connect; empty if it does, or if that is not known
}

// concurrency is how many connections are open at the same time.
const concurrency = 5

// An Asker sends a ClientHello to the server over a new connection, as [probe.Ask] does.
type Asker func(ctx context.Context, h probe.Hello) (*probe.Reply, error)

// Examine reports which families connect, with at most five connections for each and one more.
func Examine(ctx context.Context, s Server, ask Asker) []Outcome {
	var list []Outcome
	for _, f := range table {
		if s.Web || !f.Browser {
			list = append(list, Outcome{Family: f})
		}
	}
	slots := make(chan struct{}, concurrency)
	var g diag.Group
	for i := range list {
		g.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			list[i] = list[i].Family.examine(ctx, s, ask)
		})
	}
	g.Wait()
	s.confirm(ctx, list, ask)
	return list
}

// examine reports how a connection of the family ends: from the scan if that proves that it fails, else by trying.
func (f Family) examine(ctx context.Context, s Server, ask Asker) Outcome {
	o := f.Expect(s)
	if o.Connects == probe.No {
		return o
	}
	if why := f.stumble(s); why != "" {
		return f.fails(why)
	}
	h := f.Hello(s)
	reply, err := ask.negotiate(ctx, h)
	if err != nil && probe.Refused(err) && o.Reason == "" { // a connection may break off by chance
		reply, err = ask.negotiate(ctx, h)
	}
	switch {
	case err == nil:
		return f.takes(reply, s)
	case !probe.Refused(err):
		return Outcome{Family: f}
	case o.Reason != "":
		return f.fails(o.Reason)
	}
	if why := f.suspect(s); why != "" {
		return f.fails(why)
	}
	h.Signatures = nil
	if _, err := ask(ctx, h); err == nil {
		return f.fails(NoSignature)
	}
	return f.fails(Refused)
}

// negotiate asks, and sends a key share for the group that the server wants if there was none, so that it chooses its
// certificate as well.
func (ask Asker) negotiate(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
	reply, err := ask(ctx, h)
	if err == nil && reply.Retry {
		h.Shares = []probe.Group{reply.Group}
		reply, err = ask(ctx, h)
	}
	return reply, err
}

func (f Family) fails(why Reason) Outcome { return Outcome{Family: f, Connects: probe.No, Reason: why} }

// Distrust returns the outcomes with those corrected that lead to a certificate which the client does not trust. The
// roots are all to which its chains lead, as the SHA-256 of the certificate in hex.
func Distrust(list []Outcome, roots []string) []Outcome {
	list = slices.Clone(list)
	for i, o := range list {
		lacks := func(root string) bool { return slices.Contains(o.Family.Lacks, root) }
		if o.Connects == probe.Yes && len(roots) > 0 &&
			!slices.ContainsFunc(roots, func(r string) bool { return !lacks(r) }) {
			list[i] = o.Family.fails(NoRoot)
		}
	}
	return list
}

// takes returns the outcome of the server's answer at the client.
func (f Family) takes(r *probe.Reply, s Server) Outcome {
	o := Outcome{Family: f, Connects: probe.Yes, Version: r.Version, Suite: r.Suite, Group: r.Group}
	switch {
	case !slices.Contains(f.Versions, r.Version):
		return f.fails(NoVersion)
	case !slices.Contains(f.Suites, r.Suite):
		return f.fails(NoSuite)
	case r.Group != 0 && !slices.Contains(f.Groups, r.Group):
		return f.fails(NoGroup)
	case r.DHBits > 0 && r.DHBits < f.DHBits:
		return f.fails(SmallPrime)
	case r.Retry && (len(s.Keys) == 0 || !s.fits(f, r.Version, probe.SuiteOf(r.Suite))):
		return Outcome{Family: f} // the server has not chosen a certificate yet
	}
	return o
}

// confirm asks once more what the server has answered before. If it is not answered now, refusals prove nothing.
func (s Server) confirm(ctx context.Context, list []Outcome, ask Asker) {
	refused := func(o Outcome) bool { return slices.Contains([]Reason{Refused, NoSignature, KeyType}, o.Reason) }
	if !slices.ContainsFunc(list, refused) {
		return
	}
	plain, ok := s.Scan.Plain(probe.Config{ServerName: s.ServerName})
	if ok {
		if _, err := ask(ctx, plain); err == nil {
			return
		}
	}
	for i, o := range list {
		if refused(o) {
			list[i] = Outcome{Family: o.Family}
		}
	}
}

// suspect is why the ClientHello of the family was refused, if the server does not take others that are like it: larger
// than those that it answers, or with other extensions that are new.
func (f Family) suspect(s Server) Reason {
	for _, i := range s.Scan.Intolerances {
		switch {
		case i.Property == probe.Large && f.Octets > i.Answered:
			return LargeHello
		case i.Property == probe.Extensions && len(f.Extensions) > 0:
			return OddHello
		}
	}
	return ""
}

// stumble returns the property of the family's ClientHello that the server is known to reject; empty without one.
func (f Family) stumble(s Server) Reason {
	for _, i := range s.Scan.Intolerances {
		switch i.Property {
		case probe.Large:
			if f.Octets >= i.Failed {
				return LargeHello
			}
		case probe.NewVersion:
			if f.Versions[0] == probe.TLS13 {
				return TLS13Hello
			}
		case probe.Protocols:
			if s.Web && len(f.ALPN) > 0 {
				return ALPNHello
			}
		case probe.Reserved:
			if f.GREASE {
				return OddHello
			}
		case probe.KeyShare:
			if slices.Contains(f.Shares, probe.X25519MLKEM768) {
				return OddHello
			}
		}
	}
	return ""
}
