package dnssec

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxReasons bounds the extended errors that are put into words; servers give one or two.
const maxReasons = 4

// A setKey names a set of records.
type setKey struct {
	owner  name
	rrtype uint16
}

// An rrset is a set of records of one name and type, with the signatures over it.
type rrset struct {
	setKey
	rrs  []dns.RR
	sigs []*dns.RRSIG

	proof *dns.RRSIG // that vouches for the records, once it was found

	data [][]byte // of the records in canonical form and order, once it was needed
}

// A message is a reply, taken apart into sets of records.
type message struct {
	rcode     int
	answer    map[setKey]*rrset
	authority map[setKey]*rrset
	records   []dns.RR // of the answer section, in its order
	reasons   []dns.EDNS0_EDE
}

// newMessage takes a reply apart. Signatures count wherever they stand, for servers that lack room
// put them into another section than the records; they are matched by owner and type.
func newMessage(m *dns.Msg, reasons []dns.EDNS0_EDE) *message {
	b := builder{names: map[string]name{}, sigs: map[setKey][]*dns.RRSIG{}}
	msg := &message{rcode: m.Rcode, reasons: reasons}
	msg.answer, msg.records = b.section(m.Answer)
	msg.authority, _ = b.section(m.Ns)
	b.section(m.Extra)
	for _, sets := range []map[setKey]*rrset{msg.answer, msg.authority} {
		for key, set := range sets {
			set.sigs = b.sigs[key]
			slices.SortStableFunc(set.sigs, func(a, b *dns.RRSIG) int { // servers give them in any order
				return cmp.Or(cmp.Compare(a.KeyTag, b.KeyTag), cmp.Compare(b.Expiration, a.Expiration),
					cmp.Compare(a.Signature, b.Signature))
			})
		}
	}
	return msg
}

// A builder collects the sets of a message.
type builder struct {
	names map[string]name
	sigs  map[setKey][]*dns.RRSIG
}

func (b *builder) section(records []dns.RR) (map[setKey]*rrset, []dns.RR) {
	sets, kept := map[setKey]*rrset{}, []dns.RR{}
	for _, rr := range records {
		if !genuine(rr) || rr.Header().Class != dns.ClassINET {
			continue
		}
		owner := b.name(rr.Header().Name)
		if owner == "" {
			continue
		}
		if sig, ok := rr.(*dns.RRSIG); ok {
			covered := setKey{owner, sig.TypeCovered}
			b.sigs[covered] = append(b.sigs[covered], sig)
		}
		key := setKey{owner, rr.Header().Rrtype}
		if sets[key] == nil {
			sets[key] = &rrset{setKey: key}
		}
		sets[key].rrs = append(sets[key].rrs, rr)
		kept = append(kept, rr)
	}
	return sets, kept
}

// name reads an owner, once for all records that have it.
func (b *builder) name(text string) name {
	n, ok := b.names[text]
	if !ok {
		n, _ = parseName(text)
		b.names[text] = n
	}
	return n
}

// genuine reports whether a record is what its header says. No server can cause anything else, but a
// resolver of the user's own may.
func genuine(rr dns.RR) bool {
	if rr == nil {
		return false
	}
	v := reflect.ValueOf(rr)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return false
	}
	made, known := dns.TypeToRR[rr.Header().Rrtype]
	if _, unknown := rr.(*dns.RFC3597); unknown || !known {
		return !known
	}
	return reflect.TypeOf(made()) == v.Type()
}

// first returns the first record of a set as what it is; it is the zero value for another type.
func first[R dns.RR](set *rrset) (r R, ok bool) {
	if set == nil || len(set.rrs) == 0 {
		return r, false
	}
	r, ok = set.rrs[0].(R)
	return r, ok
}

// signed reports whether there is a signature over any of the records.
func (m *message) signed() bool {
	for _, sets := range []map[setKey]*rrset{m.answer, m.authority} {
		for _, set := range sets {
			if len(set.sigs) > 0 {
				return true
			}
		}
	}
	return false
}

// rcodeText names the rcode, with the reasons that the server gave beside it.
func (m *message) rcodeText() string {
	text := diag.RcodeName(m.rcode)
	for _, e := range m.reasons[:min(len(m.reasons), maxReasons)] {
		if known, ok := dns.ExtendedErrorCodeToString[e.InfoCode]; ok {
			text += " (" + known + ")"
		}
	}
	return text
}
