package dnssec

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// The bounds of what is asked.
const (
	// maxQueries bounds the questions of one validation. A name of three zones takes six to eight; a
	// name under ip6.arpa in a zone without signatures about forty.
	maxQueries = 64
	// timeout is how long anything is waited for, unless the caller has less time: what has not come
	// by then is reported as unknown, before the time for the whole diagnostic is up (CONTRACT 1.9).
	timeout = 10 * time.Second
	// grace is how long something is waited for that the verdict does not depend on.
	grace = time.Second
)

// A fetcher asks questions, each once, as many at the same time as are wanted.
type fetcher struct {
	from  diag.Resolver
	ctx   context.Context
	group diag.Group
	asked map[setKey]*question
}

// A question is one that was asked. The reply may be read when done is closed.
type question struct {
	done chan struct{}
	msg  *message
	err  error
}

var (
	errTooMany = errors.New("too many questions would be needed")
	errCutOff  = errors.New("the answer was cut off") // RFC 2181 section 9
)

// newFetcher returns a fetcher that has so much time, and a function that ends all that is under way and waits for it.
func newFetcher(ctx context.Context, from diag.Resolver, limit time.Duration) (*fetcher, func()) {
	ctx, cancel := diag.Within(ctx, limit)
	f := &fetcher{from: from, ctx: ctx, asked: map[setKey]*question{}}
	return f, func() {
		cancel()
		f.group.Wait()
	}
}

// want asks a question if it has not been asked, and does not wait for the reply. Only one goroutine may call it.
func (f *fetcher) want(n name, rrtype uint16) *question {
	key := setKey{n, rrtype}
	if q := f.asked[key]; q != nil {
		return q
	}
	q := &question{done: make(chan struct{})}
	if len(f.asked) == maxQueries {
		q.err = errTooMany
		close(q.done)
		return q
	}
	f.asked[key] = q
	f.group.Go(func() {
		defer close(q.done)
		q.msg, q.err = exchange(f.ctx, f.from, n, rrtype)
	})
	return q
}

// get asks a question and waits for the reply. A question that could not be asked, or a reply that
// cannot be used, is an error; every rcode is a reply.
func (f *fetcher) get(n name, rrtype uint16) (*message, error) {
	q := f.want(n, rrtype)
	select {
	case <-q.done:
		return q.msg, q.err
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
}

// glance asks a question and waits for the reply for a short time only. It is nil if none came.
func (f *fetcher) glance(n name, rrtype uint16) *message {
	q := f.want(n, rrtype)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-q.done:
		return q.msg
	case <-timer.C:
	case <-f.ctx.Done():
	}
	return nil
}

// replies counts the questions that were answered so far.
func (f *fetcher) replies() int {
	n := 0
	for _, q := range f.asked {
		select {
		case <-q.done:
			if q.err == nil {
				n++
			}
		default:
		}
	}
	return n
}

// exchange asks for a name and type with all that belongs to DNSSEC (DO, RFC 4035 section 3.2.1), and
// for the answer even if the resolver itself would refuse it (CD, section 3.2.2).
func exchange(ctx context.Context, from diag.Resolver, n name, rrtype uint16) (*message, error) {
	q := dnsmsg.Question(n.fqdn(), rrtype, true)
	q.CheckingDisabled, q.AuthenticatedData = true, false
	m, err := resolver.Ask(ctx, from, q)
	switch {
	case err != nil:
		return nil, err
	case m.Truncated:
		return nil, errCutOff
	default:
		return newMessage(m, dnsmsg.ExtendedErrors(m)), nil
	}
}

// maxGuesses bounds the questions that are put before it is known that they are needed, so that enough
// of [maxQueries] is left for those that are.
const maxGuesses = maxQueries / 2

// guess asks a question that will probably be needed.
func (f *fetcher) guess(n name, rrtype uint16) {
	if len(f.asked) < maxGuesses {
		f.want(n, rrtype)
	}
}

// The depths to which zones are guessed, in labels below the trust anchor: most zones have a name of
// one to three labels. Keys are asked for deeper once an answer names the zone that signed it.
const (
	guessedDepth = 3
	knownDepth   = 5
)

// prefetch asks for what will most likely be needed to validate a name: the keys of the trust anchor, and the DS and
// DNSKEY records of the zones above the name that can be guessed. All of it is on its way together with the question
// itself, so that a chain that has nothing unusual takes the time of one answer.
func (v *validation) prefetch(n name, rrtype uint16) {
	v.fetch.guess(n, rrtype)
	anchor, ok := v.anchors.closest(n)
	if !ok {
		return
	}
	v.fetch.guess(anchor, dns.TypeDNSKEY)
	base, depth := anchor.labels(), n.labels()
	for labels := base + 1; labels <= min(depth, max(base+2, min(depth-1, base+guessedDepth))); labels++ {
		zone := n.ancestor(labels)
		v.fetch.guess(zone, dns.TypeDS)
		if zone != n || rrtype != dns.TypeDS { // a DS record lies in the parent zone
			v.fetch.guess(zone, dns.TypeDNSKEY)
		}
	}
}

// follow asks for what an answer shows to be needed for each name in its chain of aliases: the zones
// down to the one that signed, or if none did, all places where the delegation to a zone without
// signatures may be; and the end of the chain if the answer does not reach it.
func (v *validation) follow(msg *message, n name, rrtype uint16) {
	for range maxAliases {
		set, cname := msg.answer[setKey{n, rrtype}], msg.answer[setKey{n, dns.TypeCNAME}]
		switch dname := msg.dname(n); {
		case set != nil:
			v.followTo(set.signer(), n)
			return
		case dname != nil:
			v.followTo(dname.signer(), dname.owner)
		case cname != nil:
			v.followTo(cname.signer(), n)
		default:
			signer, about := msg.denier(n, rrtype)
			v.followTo(signer, n)
			if !about {
				v.fetch.guess(n, rrtype)
			}
			return
		}
		record, ok := first[*dns.CNAME](cname)
		if !ok {
			return
		}
		if n, ok = parseName(record.Target); !ok {
			return
		}
	}
}

// followTo queries the zones from the closest trust anchor down to the signer of a name, or to the name if it is
// unsigned.
func (v *validation) followTo(signer, n name) {
	target := n
	if signer != "" {
		target = signer
	}
	anchor, ok := v.anchors.closest(target)
	if !ok {
		return
	}
	base, depth := anchor.labels(), target.labels()
	for labels := base + 1; labels <= min(depth, base+maxQueries/4); labels++ {
		zone := target.ancestor(labels)
		v.fetch.guess(zone, dns.TypeDS)
		if signer != "" && (labels <= base+knownDepth || zone == signer) {
			v.fetch.guess(zone, dns.TypeDNSKEY)
		}
	}
}

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

// newMessage parses a reply. Signatures count in any section, because servers that lack room put them into another
// section than the records; they are matched by owner and type.
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

// genuine reports whether a record has the type in its header. No server can violate that, but a caller's own
// resolver may.
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
	text := dnsmsg.RcodeName(m.rcode)
	for _, e := range m.reasons[:min(len(m.reasons), maxReasons)] {
		if known, ok := dns.ExtendedErrorCodeToString[e.InfoCode]; ok {
			text += " (" + known + ")"
		}
	}
	return text
}
