package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// scenarioAnswer is the answer to one question, in place of the zone's data.
type scenarioAnswer struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Answer  string   `json:"answer"`
	Servers []string `json:"servers"` // all of the zone, and hence resolvers, if empty
}

// scenarioNS is the behaviour of a name server.
type scenarioNS struct {
	LowerCase bool `json:"lower_case"`
}

// scenarioKeys are the keys of a zone that its servers sign each for itself.
type scenarioKeys struct {
	DS      []string         `json:"ds"`
	Signers []scenarioSigner `json:"signers"`
}

type scenarioSigner struct {
	Servers   []string            `json:"servers"`
	DNSKEY    []string            `json:"dnskey"`
	SignsBy   []string            `json:"signs_by"`
	NSECLacks map[string][]string `json:"nsec_lacks"`
}

// scenarioNames are the name servers of a world.
type scenarioNames struct {
	t        testing.TB
	world    *diagtest.World
	scenario *scenarioWorld
	zone     string
	servers  map[string]*diagtest.Server // those that are named, by their names
}

// open opens the servers that the file mentions, before all others.
func (n *scenarioNames) open() {
	for name, server := range n.scenario.Servers {
		n.server(name).Configure(diagtest.ServerConfig{LowerCase: server.LowerCase})
	}
	for i := range n.scenario.Answers {
		a := &n.scenario.Answers[i]
		for _, name := range n.authorities(a) {
			n.server(name)
		}
	}
	for _, keys := range n.scenario.SignedBy {
		for _, signer := range keys.Signers {
			for _, name := range signer.Servers {
				n.server(name)
			}
		}
	}
}

func (n *scenarioNames) server(name string) *diagtest.Server {
	name = dns.CanonicalName(name)
	if n.servers[name] == nil {
		n.servers[name] = n.world.Server(name, "")
	}
	return n.servers[name]
}

// apex returns the zone that answers a question, and its name servers.
func (n *scenarioNames) apex(name, qtype string) (apex string, servers []string) {
	owners := map[string][]string{}
	parser := dns.NewZoneParser(strings.NewReader(n.zone), ".", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		owner := dns.CanonicalName(rr.Header().Name)
		above := dns.IsSubDomain(owner, name) && (qtype != "DS" || owner != dns.CanonicalName(name))
		if _, isApex := rr.(*dns.SOA); isApex && above && len(owner) > len(apex) {
			apex = owner
		}
		if ns, ok := rr.(*dns.NS); ok {
			owners[owner] = append(owners[owner], ns.Ns)
		}
	}
	require.NotEmpty(n.t, owners[apex], "answers: no zone of the scenario with name servers holds %s %s", name, qtype)
	return apex, owners[apex]
}

// authorities are the servers that give an answer.
func (n *scenarioNames) authorities(a *scenarioAnswer) []string {
	if len(a.Servers) > 0 {
		return a.Servers
	}
	_, servers := n.apex(a.Name, a.Type)
	return servers
}

// sign signs the zones. A resolver sees one of several signers as the first.
func (n *scenarioNames) sign() {
	w, s := n.world, n.scenario
	w.Sign(".", diagtest.Signing{})
	for _, zone := range s.Signed {
		w.Sign(zone, diagtest.Signing{})
	}
	for _, zone := range s.Bogus {
		w.Sign(zone, diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.SigCorrupt}}})
	}
	for _, zone := range sortedKeys(s.SignedBy) {
		keys := s.SignedBy[zone]
		require.NotEmpty(n.t, keys.Signers, "signed_by: %s has no signers", zone)
		for i, signer := range keys.Signers {
			how := diagtest.Signing{
				Keys: &diagtest.Keys{Published: signer.DNSKEY, Signing: signer.SignsBy, DS: keys.DS},
				Omit: map[string][]uint16{},
			}
			for name, types := range signer.NSECLacks {
				how.Omit[name] = kit.Map(types, n.qtype)
			}
			if i == 0 {
				w.Sign(zone, how)
			}
			for _, server := range signer.Servers {
				n.server(server).Sign(zone, how)
			}
		}
	}
}

func (n *scenarioNames) qtype(name string) uint16 {
	qtype, known := dns.StringToType[name]
	require.True(n.t, known, "there is no type %q", name)
	return qtype
}

// trouble breaks and silences names, at resolvers and at the name servers of the zones alike, and then single answers.
func (n *scenarioNames) trouble() {
	faults := map[string]diagtest.Fault{}
	for _, name := range n.scenario.ServFail {
		faults[name] = diagtest.Fault{Rcode: dns.RcodeServerFailure}
	}
	for _, name := range n.scenario.Silent {
		faults[name] = diagtest.Fault{Silent: true}
	}
	for name, fault := range faults {
		n.world.FaultEverywhere(name, 0, fault)
	}
	for i := range n.scenario.Answers {
		n.answer(&n.scenario.Answers[i])
	}
}

// answer makes servers give one answer, and resolvers accordingly.
func (n *scenarioNames) answer(a *scenarioAnswer) {
	qtype := n.qtype(a.Type)
	fault, known := map[string]diagtest.Fault{
		"NXDOMAIN": {Answers: []string{""}},
		"NODATA":   {Answers: []string{dns.Fqdn(a.Name) + " TYPE65280 \\# 0"}}, // a type for private use
		"SERVFAIL": {Rcode: dns.RcodeServerFailure},
		"REFUSED":  {Rcode: dns.RcodeRefused},
		"NOTIMP":   {Rcode: dns.RcodeNotImplemented},
		"silent":   {Silent: true},
	}[a.Answer]
	require.True(n.t, known, "answers: %q is none", a.Answer)
	for _, server := range n.authorities(a) {
		n.server(server).Fault(a.Name, qtype, fault)
	}
	if len(a.Servers) > 0 {
		return
	}
	apex, _ := n.apex(a.Name, a.Type)
	failure := diagtest.Fault{Rcode: dns.RcodeServerFailure}
	denied := len(fault.Answers) > 0
	if denied && !n.signed(apex) {
		n.world.Fault(a.Name, qtype, fault)
		return
	}
	if denied { // without a proof, which a resolver that validates demands
		failure.Explain = dns.ExtendedErrorCodeNSECMissing
	}
	n.world.Fault(a.Name, qtype, failure)
	if a.Type == "DS" {
		n.world.Fault(a.Name, 0, failure)
		n.world.Fault("*."+a.Name, 0, failure)
	}
}

// signed reports whether a zone is signed, for itself or because it is above one.
func (n *scenarioNames) signed(apex string) bool {
	zones := slices.Concat(n.scenario.Signed, n.scenario.Bogus, sortedKeys(n.scenario.SignedBy))
	return apex == "." || slices.ContainsFunc(zones, func(zone string) bool { return dns.IsSubDomain(apex, zone) })
}
