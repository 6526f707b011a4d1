package dnsbl

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/registry"
)

// Status is the outcome of querying a list for an address: listed, clean, timeout, refused or error.
type Status string

// The statuses.
const (
	Listed   Status = "listed"
	Clean    Status = "clean"
	TimedOut Status = "timeout" // no response in time
	Refused  Status = "refused" // the list refuses queries from this client
	Failed   Status = "error"   // the answer is invalid, or unreliable
)

// Values lists the statuses.
func (Status) Values() []string { return kit.Values(Listed, Clean, TimedOut, Refused, Failed) }

// SelfTest is the outcome of querying a list for the test addresses (RFC 5782 section 5): passed, empty, wildcard,
// parked, none or unknown.
type SelfTest string

// The outcomes of the self-test.
const (
	Passed   SelfTest = "passed"   // the list has the one and not the other
	Empty    SelfTest = "empty"    // it has neither: the list is not maintained
	Wildcard SelfTest = "wildcard" // it has both: it lists every address
	Parked   SelfTest = "parked"   // it answers with addresses that no list answers with
	NotAsked SelfTest = "none"     // the list has no test addresses
	Open     SelfTest = "unknown"  // the list did not answer
)

// Values lists the outcomes of the self-test.
func (SelfTest) Values() []string {
	return kit.Values(Passed, Empty, Wildcard, Parked, NotAsked, Open)
}

type outcome struct {
	status  Status
	test    SelfTest
	reading reading // of the answer about the address
	why     string  // why it is neither listed nor clean, as the end of a sentence
}

func (o *outcome) measured() bool { return o.status == Listed || o.status == Clean }

// isDefunct reports whether the list is no longer maintained, so that its answers mean nothing.
func (o *outcome) isDefunct() bool { return o.test == Empty || o.test == Wildcard }

// conclude draws the conclusion from the answers of a list. A listing counts only if the list is known not to list
// everything, and its absence only if the list is known to list something.
func (p *probe) conclude() outcome {
	if p.limited {
		return outcome{status: Failed, test: Open, why: "it is asked too often, so that it was left out"}
	}
	test, fault := p.selfTest()
	r := p.list.read(p.address.addrs)
	o := outcome{test: test, reading: r}
	fail := func(s Status, why string) outcome { o.status, o.why = s, why; return o }
	switch {
	case p.address.fault != "":
		return fail(p.address.fault, p.address.why)
	case r.kind == denied:
		return fail(Refused, r.refusal())
	case r.kind == outOfRange:
		return fail(Failed, fmt.Sprintf("it answered %s, which is not a return code of a list", r.decisive))
	case test == Wildcard:
		return fail(Failed, "it lists every address, even 127.0.0.1, which no list may have")
	case test == Parked:
		return fail(Failed, "it answered for its test address with an address that is not a return code of a list")
	case fault.fault == Refused:
		return fail(Refused, fault.why)
	case r.kind == present && (test != Open || p.passesNegativeTest()):
		o.status = Listed
	case r.kind != present && (test == Passed || test == NotAsked):
		o.status = Clean
	case test == Empty:
		return fail(Failed, "it does not list its test address 127.0.0.2, so that the list is not in operation")
	default:
		return fail(fault.fault, "its test addresses could not be looked up: "+fault.why)
	}
	return o
}

// selfTest returns the result of the test addresses, and if it is unknown, why.
func (p *probe) selfTest() (SelfTest, reply) {
	if !p.list.Test {
		return NotAsked, reply{}
	}
	listed, unlisted := p.list.survey(p.listed), p.list.survey(p.unlisted)
	fault := worse(listed.fault, unlisted.fault)
	switch {
	case unlisted.present:
		return Wildcard, reply{}
	case fault.fault == Refused:
		return Open, fault
	case listed.outOfRange || unlisted.outOfRange:
		return Parked, reply{}
	case (listed.present || listed.informational) && p.passesNegativeTest():
		return Passed, reply{}
	case fault.fault != "":
		return Open, fault
	default:
		return Empty, reply{}
	}
}

type survey struct {
	absent, informational, present, outOfRange bool  // of any of them
	fault                                      reply // the worst one
}

func (l *List) survey(replies []reply) (s survey) {
	for _, one := range replies {
		r := l.read(one.addrs)
		switch {
		case one.fault != "":
			s.fault = worse(s.fault, one)
		case r.kind == denied:
			s.fault = worse(s.fault, reply{fault: Refused, why: r.refusal()})
		}
		s.absent = s.absent || one.fault == "" && r.kind == absent
		s.informational = s.informational || r.kind == informational
		s.present = s.present || r.kind == present
		s.outOfRange = s.outOfRange || r.kind == outOfRange
	}
	return s
}

// passesNegativeTest reports whether the list is known to leave out an address that it must leave out.
func (p *probe) passesNegativeTest() bool {
	s := p.list.survey(p.unlisted)
	return (s.absent || s.informational) && !s.present
}

// worse returns the more informative fault: a refusal before an error, an error before silence.
func worse(a, b reply) reply {
	rank := map[Status]int{"": 0, TimedOut: 1, Failed: 2, Refused: 3}
	if rank[b.fault] > rank[a.fault] {
		return b
	}
	return a
}

// A purpose is the reserved use of an address; zero for ordinary ones.
type purpose struct {
	text    string // such as "Private-Use (RFC 1918)"
	example bool   // it is reserved for documentation (RFC 5737, RFC 3849, RFC 9637)
	hidden  bool   // no receiver on the Internet sees mail come from it
}

func purposeOf(ip netip.Addr) purpose {
	_, found, ok := registry.PurposeOf(ip)
	if !ok {
		return purpose{}
	}
	p := purpose{text: found.Name + " (" + found.RFC + ")", example: strings.HasPrefix(found.Name, "Documentation")}
	p.hidden = !p.example && !found.GloballyReachable
	return p
}
