package diagtest

import (
	"reflect"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// A Fault is what goes wrong when a name is asked for, or reached through an alias.
type Fault struct {
	Rcode    int           // the reply has this code and no records; 0 means that it is not changed
	Delay    time.Duration // the reply comes later
	Silent   bool          // no reply comes
	Truncate bool          // over UDP the reply is cut off
	Secure   bool          // the resolver vouches for the answer (AD)
	Explain  uint16        // code of an extended error (RFC 8914), if Rcode is set or Text is not empty
	Text     string        // text of the extended error
	// Answers are other contents for the name, each in master file format, given in turn. An empty
	// one is a name that does not exist.
	Answers []string
	// Times ends the fault after so many questions; 0 means never.
	Times int
}

type faultKey struct {
	name  string // canonical
	qtype uint16 // 0 for all
}

type activeFault struct {
	Fault
	zones []*zone // of Answers
	asked int
}

// A faultTable is what goes wrong at one server, by name and type.
type faultTable struct {
	mu     sync.Mutex
	faults map[faultKey]*activeFault
}

func (t *faultTable) set(name string, qtype uint16, f Fault) error {
	a := &activeFault{Fault: f}
	for _, text := range f.Answers {
		records, err := parseZone(text, ".")
		if err != nil {
			return err
		}
		z := newZone(".")
		for _, rr := range records {
			z.add(rr)
		}
		a.zones = append(a.zones, z)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if reflect.ValueOf(f).IsZero() {
		delete(t.faults, faultKey{dns.CanonicalName(name), qtype})
		return nil
	}
	if t.faults == nil {
		t.faults = map[faultKey]*activeFault{}
	}
	t.faults[faultKey{dns.CanonicalName(name), qtype}] = a
	return nil
}

// hit returns the fault for a question, counting it, and the content that replaces that of the name.
// A fault for a name with "*" as its first label holds for all names below.
func (t *faultTable) hit(name string, qtype uint16) (f Fault, instead *zone) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.faults) == 0 {
		return Fault{}, nil
	}
	name = dns.CanonicalName(name)
	a := t.find(name, qtype)
	for up := name; a == nil && up != "."; {
		if up = parent(up); up == "." {
			a = t.find("*.", qtype)
			break
		}
		a = t.find("*."+up, qtype)
	}
	if a == nil || a.Times > 0 && a.asked >= a.Times {
		return Fault{}, nil
	}
	if len(a.zones) > 0 {
		instead = a.zones[a.asked%len(a.zones)]
	}
	a.asked++
	return a.Fault, instead
}

func (t *faultTable) find(name string, qtype uint16) *activeFault {
	if a := t.faults[faultKey{name, qtype}]; a != nil {
		return a
	}
	return t.faults[faultKey{name, 0}]
}

// add joins what goes wrong along a chain of aliases.
func (f *Fault) add(g Fault) {
	f.Delay += g.Delay
	f.Silent = f.Silent || g.Silent
	f.Truncate = f.Truncate || g.Truncate
	f.Secure = f.Secure || g.Secure
	if g.Rcode != 0 {
		f.Rcode = g.Rcode
	}
	if g.Rcode != 0 || g.Text != "" {
		f.Explain, f.Text = g.Explain, g.Text
	}
}

// Fault makes something go wrong, in the resolver that is the world and in all public resolvers, when a name and type
// is asked for or reached through an alias. Type 0 means all types, and a name such as "*.example.com" all below
// example.com. Each replaces an earlier one of the same name and type, and the zero Fault ends it.
func (w *World) Fault(name string, qtype uint16, f Fault) { w.check(w.dns.faults.set(name, qtype, f)) }

// FaultEverywhere makes something go wrong as [World.Fault] does, and at the name servers of the zones too: the question
// has no answer in this world, whoever is asked.
func (w *World) FaultEverywhere(name string, qtype uint16, f Fault) {
	w.check(w.dns.everywhere.set(name, qtype, f))
}

// Break makes every question about a name fail with an rcode, such as [dns.RcodeServerFailure].
func (w *World) Break(name string, rcode int) { w.Fault(name, 0, Fault{Rcode: rcode}) }

// Silence lets every question about a name go unanswered. Outside a bubble of testing/synctest the
// resolver that is the world reports that at once.
func (w *World) Silence(name string) { w.Fault(name, 0, Fault{Silent: true}) }

// Delay lets the answers about a name come late.
func (w *World) Delay(name string, d time.Duration) { w.Fault(name, 0, Fault{Delay: d}) }

// Secure makes the resolver vouch for its answers about a name, as if a signed zone had been
// validated. A zone that is really signed needs no such word, see [World.Sign].
func (w *World) Secure(name string) { w.Fault(name, 0, Fault{Secure: true}) }

// Flap gives a name another content with every question, each in master file format, in turn.
func (w *World) Flap(name string, answers ...string) { w.Fault(name, 0, Fault{Answers: answers}) }
