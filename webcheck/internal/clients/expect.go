package clients

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"slices"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// Expect reports how a connection of the family ends as far as the scan says, without asking the server. That it
// fails is proved; that it connects is what should happen. If the outcome is not known, the reason is that of a
// failure.
func (f Family) Expect(s Server) Outcome {
	newest, older, known := f.common(s.Scan)
	switch {
	case !known:
		return Outcome{Family: f}
	case newest == 0:
		return f.fails(NoVersion)
	}
	why := NoSuite
	for _, r := range s.Scan.Suites {
		if r.Version != newest || !slices.Contains(f.Suites, r.ID) {
			continue
		}
		obstacle := f.obstacle(s, r)
		if obstacle == "" {
			return Outcome{Family: f, Connects: probe.Yes, Version: newest}
		}
		why = further(why, obstacle)
	}
	// A server may fall back to an older version, though few do, and may have keys that were not seen.
	if !s.supposed && (s.Scan.Partial || older || why == KeyType) {
		return Outcome{Family: f, Reason: why}
	}
	return f.fails(why)
}

// common returns the newest version that client and server have in common, 0 without one, and whether there is an
// older one as well. It is not known if that of a version is not.
func (f Family) common(scan *probe.Report) (newest probe.Version, older, known bool) {
	for _, v := range f.Versions {
		switch supported := scan.Supported(v); {
		case supported == probe.Unknown && newest == 0:
			return 0, false, false
		case supported == probe.Yes && newest == 0:
			newest = v
		case supported != probe.No:
			older = true
		}
	}
	return newest, older, true
}

// further returns the obstacle of two that is met later in a handshake.
func further(a, b Reason) Reason {
	order := []Reason{NoSuite, NoGroup, SmallPrime, KeyType}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// obstacle says why a suite that both have cannot be used; empty if it can.
func (f Family) obstacle(s Server, r probe.SuiteResult) Reason {
	asked, common := false, false
	for _, g := range s.Scan.Groups {
		if g.Version == r.Version {
			asked, common = true, common || slices.Contains(f.Groups, g.Group)
		}
	}
	switch {
	case (r.TLS13() || r.EllipticCurve()) && asked && !common:
		return NoGroup
	case r.DHBits > 0 && r.DHBits < f.DHBits:
		return SmallPrime
	case !s.fits(f, r.Version, r.Suite):
		return KeyType
	default:
		return ""
	}
}

// fits reports whether the server has a key that goes with a suite, and a signature of which the client understands. It
// has, if its keys are not known.
func (s Server) fits(f Family, v probe.Version, suite probe.Suite) bool {
	return len(s.Keys) == 0 || suite.Anonymous() || slices.ContainsFunc(s.Keys, func(key crypto.PublicKey) bool {
		return fits(f, v, suite, key)
	})
}

// The curves of ECDSA keys: their group, and the only signature scheme of TLS 1.3 for them (RFC 8446 section 4.2.3).
var curves = map[string]struct {
	group  probe.Group
	scheme uint16
}{"P-256": {probe.P256, 0x0403}, "P-384": {probe.P384, 0x0503}, "P-521": {25, 0x0603}}

// The signature schemes for keys of RSA: RSASSA-PSS, and below TLS 1.3 also PKCS #1 v1.5; and those of ECDSA with any
// curve below TLS 1.3, and of Ed25519.
var (
	pss     = []uint16{0x0804, 0x0805, 0x0806}
	pkcs1   = []uint16{0x0401, 0x0501, 0x0601, 0x0301, 0x0201}
	ecdsa12 = []uint16{0x0403, 0x0503, 0x0603, 0x0303, 0x0203}
	edDSA   = []uint16{0x0807}
)

func fits(f Family, v probe.Version, suite probe.Suite, key crypto.PublicKey) bool {
	understands := func(schemes []uint16) bool {
		known := func(s uint16) bool { return slices.Contains(f.Signatures, s) }
		return v < probe.TLS12 || slices.ContainsFunc(schemes, known)
	}
	kind := suite.KeyType() // empty in TLS 1.3
	switch key := key.(type) {
	case *rsa.PublicKey:
		switch {
		case kind == "RSA" && !suite.ForwardSecret():
			return true // nothing is signed
		case v == probe.TLS13:
			return understands(pss)
		default:
			return kind == "RSA" && understands(slices.Concat(pss, pkcs1))
		}
	case *ecdsa.PublicKey:
		curve, known := curves[key.Curve.Params().Name]
		switch {
		case !known:
			return true // nothing is known of it
		case v == probe.TLS13:
			return understands([]uint16{curve.scheme})
		default: // RFC 8422 section 5.1: the groups are those of certificates as well
			return kind == "ECDSA" && understands(ecdsa12) && slices.Contains(f.Groups, curve.group)
		}
	case ed25519.PublicKey:
		return (v == probe.TLS13 || kind == "ECDSA") && understands(edDSA)
	default:
		return true
	}
}

// Dependents are the families that connect today, and would not if something were disabled. A nil list says that the
// server does not have it, or has nothing else.
type Dependents struct {
	TLS12     []string // TLS 1.2 and older
	RSA       []string // certificates with RSA keys
	Classical []string // groups that quantum computers break, and with them TLS 1.2
}

// IfDisabled reports who depends on what, of the families that connect.
func IfDisabled(s Server, outcomes []Outcome) (d Dependents) {
	only13 := func(v probe.Version) bool { return v == probe.TLS13 }
	newer := s.suppose(only13, keep[probe.SuiteResult], keep[probe.GroupResult])
	if s.Scan.Supported(probe.TLS13) == probe.Yes && s.Scan.Old != nil {
		d.TLS12 = newer.dependents(outcomes)
	}
	notRSA := s.suppose(keep[probe.Version], func(r probe.SuiteResult) bool { return r.KeyType() != "RSA" },
		keep[probe.GroupResult])
	notRSA.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(key crypto.PublicKey) bool {
		_, yes := key.(*rsa.PublicKey)
		return yes
	})
	if n := len(notRSA.Keys); n > 0 && n < len(s.Keys) {
		d.RSA = notRSA.dependents(outcomes)
	}
	hybrid := s.suppose(only13, keep[probe.SuiteResult], func(g probe.GroupResult) bool { return g.Group.PostQuantum() })
	if len(hybrid.Scan.Groups) > 0 {
		d.Classical = hybrid.dependents(outcomes)
	}
	return d
}

func keep[T any](T) bool { return true }

// suppose returns the server as it would be without some versions, suites and groups.
func (s Server) suppose(version func(probe.Version) bool, suite func(probe.SuiteResult) bool,
	group func(probe.GroupResult) bool) Server {
	scan := *s.Scan
	scan.Versions, scan.Suites, scan.Groups = slices.Clone(scan.Versions), nil, nil
	for i, v := range scan.Versions {
		if !version(v.Version) {
			scan.Versions[i].Supported = probe.No
		}
	}
	for _, r := range s.Scan.Suites {
		if version(r.Version) && suite(r) {
			scan.Suites = append(scan.Suites, r)
		}
	}
	for _, g := range s.Scan.Groups {
		if version(g.Version) && group(g) {
			scan.Groups = append(scan.Groups, g)
		}
	}
	s.Scan, s.supposed = &scan, true
	return s
}

// dependents lists the families that connect, and would not to this server.
func (s Server) dependents(outcomes []Outcome) []string {
	list := []string{}
	for _, o := range outcomes {
		if o.Connects == probe.Yes && o.Family.Expect(s).Connects == probe.No {
			list = append(list, o.Family.Name)
		}
	}
	return list
}
