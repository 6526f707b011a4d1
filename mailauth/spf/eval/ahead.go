package eval

import (
	"strings"
	"sync/atomic"

	"github.com/miekg/dns"
)

// maxAhead bounds the questions that an evaluation asks before it knows that it needs the answers.
const maxAhead = 60

// foresight asks at once for what the rest of an evaluation will probably need.
type foresight struct {
	*mail
	terms     atomic.Int32 // that may still be followed
	questions atomic.Int32 // that may still be asked
}

// follow asks for what the record of a domain needs. What depends on the host names of the client is left out.
func (f *foresight) follow(record *Record, domain string) {
	final := record.Find(All) != nil
	for i := range record.Terms {
		t := &record.Terms[i]
		switch {
		case t.Name == All:
			return
		case t.Name == Redirect && final: // which is ignored
			continue
		case !t.Name.Counted() || t.Name == PTR || t.Uses("p") || !f.asciiLocal && t.Uses("sl"):
			continue
		}
		if f.terms.Add(-1) < 0 {
			return
		}
		if name := f.target(t, domain); NameFault(name) == "" && f.questions.Add(-1) >= 0 {
			f.ahead.Go(func() { f.ask(t.Name, name) })
		}
	}
}

// ask asks what a mechanism or redirect needs to know of a name, and goes on from there.
func (f *foresight) ask(mechanism Name, name string) {
	switch mechanism {
	case A:
		_, _, _ = f.addresses(name, &Term{})
	case Exists:
		Ask[*dns.A](f.Lookups, name)
	case MX:
		hosts := MXHosts(Ask[*dns.MX](f.Lookups, name))
		for _, host := range hosts[:min(len(hosts), MaxMX)] {
			if f.questions.Add(-1) >= 0 {
				f.ahead.Go(func() { _, _, _ = f.addresses(host, &Term{}) })
			}
		}
	default:
		if text, count, err := f.record(name); err == nil && count == 1 {
			if record, faults := Parse(text); len(faults) == 0 {
				f.follow(record, strings.TrimSuffix(name, "."))
			}
		}
	}
}
