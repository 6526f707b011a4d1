package diag

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// An Answer is the DNS's answer for one name and one record type.
type Answer[R dns.RR] struct {
	Name    string   // the name asked for, absolute
	Records []R      // those at the end of the chain of aliases
	Aliases []string // targets of the CNAMEs that were followed, absolute, in order
	Rcode   int      // NOERROR with no Records means that the name exists without them
	TTL     uint32   // smallest time to live of aliases and records, in seconds
	// Authentic says that the resolver vouches for the answer with DNSSEC (RFC 4035 section 3.2.3).
	Authentic bool
	// Extended are the reasons that the server gave beside the rcode (RFC 8914).
	Extended []dns.EDNS0_EDE

	silence error // why there was no reply at all
	walked  bool  // the name servers were asked themselves, without a resolver
}

// Exists reports whether there is at least one record.
func (a Answer[R]) Exists() bool { return len(a.Records) > 0 }

// NXDomain reports whether the name does not exist at all; behind aliases it is the last name that
// does not (RFC 6604 section 3).
func (a Answer[R]) NXDomain() bool {
	return a.silence == nil && a.Rcode == dns.RcodeNameError && filtered(a.Extended) == ""
}

// Err returns why the servers could not say, such as SERVFAIL or silence, or nil. With no Records and
// no Err, the absence of the records is a fact.
func (a Answer[R]) Err() error {
	if a.silence != nil {
		return a.silence
	}
	if a.Rcode == dns.RcodeSuccess || a.Rcode == dns.RcodeNameError {
		if policy := filtered(a.Extended); policy != "" && !a.Exists() {
			return fmt.Errorf("the resolver filters the name by a policy of its own (%s)", policy)
		}
		return nil
	}
	who := "the resolver"
	if a.walked {
		who = "the name servers"
	}
	err := fmt.Errorf("%s answered %s%s", who, RcodeName(a.Rcode), extendedText(a.Extended))
	if a.DNSSEC() == Bogus {
		return bogusError{err}
	}
	return err
}

// A bogusError says that the resolver found the DNSSEC signatures of an answer not valid.
type bogusError struct{ error }

// Advice returns what to do about the error, for [rule.Failures.Because].
func (bogusError) Advice() string { return AdviceRepairDNSSEC }

// AdviceRepairDNSSEC is the advice where an answer is refused because its DNSSEC signatures are not valid.
const AdviceRepairDNSSEC = "Repair the DNSSEC signatures or the DS records of the domain: resolvers that validate refuse its " +
	"answers. dnssec/check shows where the chain breaks."

// Silent reports whether no reply came at all.
func (a Answer[R]) Silent() bool { return a.silence != nil }

// maxReasons bounds the extended errors that are put into words; servers give one or two.
const maxReasons = 4

func extendedText(list []dns.EDNS0_EDE) string {
	var b strings.Builder
	for _, e := range list[:min(len(list), maxReasons)] {
		b.WriteString(" (" + ExtendedText(e) + ")")
	}
	return b.String()
}

// ExtendedText is an extended error in words: its name in the registry, and what the server adds.
func ExtendedText(e dns.EDNS0_EDE) string {
	name, ok := dns.ExtendedErrorCodeToString[e.InfoCode]
	if !ok {
		name = fmt.Sprintf("extended error %d", e.InfoCode)
	}
	if e.ExtraText == "" {
		return name
	}
	return fmt.Sprintf("%s: %.200q", name, strings.ToValidUTF8(e.ExtraText, "\uFFFD"))
}

// Filtered returns the resolver's explanation if its own policy changed the answer, else the empty string (RFC 8914
// sections 4.16 to 4.18). Such an answer says nothing about the name.
func Filtered(m *dns.Msg) string { return filtered(ExtendedErrors(m)) }

func filtered(list []dns.EDNS0_EDE) string {
	for _, x := range list {
		switch x.InfoCode {
		case dns.ExtendedErrorCodeBlocked, dns.ExtendedErrorCodeCensored, dns.ExtendedErrorCodeFiltered:
			return ExtendedText(x)
		}
	}
	return ""
}

// RcodeName returns the standard name of an rcode, or RCODEnnn (RFC 6895 section 2.3).
func RcodeName(rcode int) string {
	if rcode == dns.RcodeBadVers {
		return "BADVERS" // 16 is BADSIG in TSIG alone (RFC 6891 section 9, RFC 8945 section 3)
	}
	if name, ok := dns.RcodeToString[rcode]; ok {
		return name
	}
	return fmt.Sprintf("RCODE%d", rcode)
}

// RcodeName names the rcode of the answer; it is empty if no reply came.
func (a Answer[R]) RcodeName() string {
	if a.silence != nil {
		return ""
	}
	return RcodeName(a.Rcode)
}

// ednsSize is the UDP payload that avoids fragmentation on the Internet (RFC 9715 section 3).
const ednsSize = 1232

// A query is a message with one question and EDNS, in one piece of memory.
type query struct {
	msg      dns.Msg
	question [1]dns.Question
	opt      dns.OPT
	extra    [1]dns.RR
}

// Question makes a query with EDNS and recursion desired. With dnssec it asks for the records of
// DNSSEC too (DO); in either case it asks whether the resolver vouches for the answer (AD).
func Question(name string, qtype uint16, dnssec bool) *dns.Msg {
	q := &query{question: [1]dns.Question{{Name: dns.Fqdn(name), Qtype: qtype, Qclass: dns.ClassINET}}}
	var id [2]byte // unpredictable (RFC 5452 section 9.2); dns.Id takes three times as long
	_, _ = rand.Read(id[:])
	q.msg.Id = binary.BigEndian.Uint16(id[:])
	q.msg.RecursionDesired, q.msg.AuthenticatedData = true, true // RFC 6840 section 5.7
	q.opt.Hdr.Name, q.opt.Hdr.Rrtype = ".", dns.TypeOPT
	q.opt.SetUDPSize(ednsSize)
	if dnssec {
		q.opt.SetDo()
	}
	q.extra[0] = &q.opt
	q.msg.Question, q.msg.Extra = q.question[:], q.extra[:]
	return &q.msg
}

// Why an exchange without an error still is no answer.
var (
	errCutOff  = errors.New("the answer was cut off") // RFC 2181 section 9
	errAliases = fmt.Errorf("more than %d aliases in a row", MaxAliases)
)

// Lookup asks for the records of one type, following CNAMEs:
//
//	mx := diag.Lookup[*dns.MX](ctx, env, "example.com.")
//
// Only records at the end of the chain of aliases count; whatever else a server puts in its answer
// is left out, as are records beside an rcode other than NOERROR. A truncated answer counts as no answer, because it
// is unknown what is missing.
func Lookup[R dns.RR](ctx context.Context, e *Env, name string) Answer[R] {
	name = dns.Fqdn(name)
	a := Answer[R]{Name: name}
	qtype := dns.StringToType[reflect.TypeFor[R]().Elem().Name()]
	m, err := exchange(ctx, e, Question(name, qtype, false))
	if err != nil {
		a.silence = fmt.Errorf("looking up %s %s: %w", dns.TypeToString[qtype], name, err)
		return a
	}
	a.Rcode, a.Authentic = m.Rcode, m.AuthenticatedData
	_, a.walked = e.source().DNS().(*resolver.Iterator)
	a.Extended = ExtendedErrors(m)
	chain, records, ttl := follow[R](m, name, qtype)
	if len(chain) == MaxAliases && records == nil {
		a.silence = fmt.Errorf("looking up %s %s: %w", dns.TypeToString[qtype], name, errAliases)
		return a
	}
	if a.Rcode == dns.RcodeSuccess {
		a.Records = records
	}
	for _, c := range chain {
		a.Aliases, ttl = append(a.Aliases, dns.CanonicalName(c.Target)), min(ttl, c.Hdr.Ttl)
	}
	if len(chain) > 0 || records != nil {
		a.TTL = ttl
	}
	return a
}

// A resolverError is a query that the resolver of the environment failed to answer. Its text is for reports, and
// holds no address or socket of ours (CONTRACT 1.5); it wraps the network error, for a log.
type resolverError struct{ Err error }

func (e *resolverError) Error() string {
	if known := reason(e.Err); known != "" {
		return known
	}
	return "no usable answer"
}

// Unwrap returns what happened.
func (e *resolverError) Unwrap() error { return e.Err }

// exchange asks the resolver of the environment, unless the context has ended.
func exchange(ctx context.Context, e *Env, q *dns.Msg) (*dns.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := e.DNS().Exchange(ctx, q)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, &resolverError{err}
	case err != nil:
		return nil, err
	case m.Truncated:
		return nil, errCutOff
	default:
		return m, nil
	}
}

// MaxAliases bounds a chain of CNAMEs: resolvers follow between 8 and 16.
const MaxAliases = 16

// FollowAliases picks the records of a type out of an answer section by following the aliases from the name that was
// asked for (RFC 1034 section 3.6.2). The CNAMEs that a server makes from a DNAME (RFC 6672 section 3.1) are followed
// like any other. The chain ends before an alias that leads back into it.
func FollowAliases(m *dns.Msg, name string, qtype uint16) (chain []*dns.CNAME, rrs []dns.RR) {
	chain, rrs, _ = follow[dns.RR](m, name, qtype)
	return chain, rrs
}

// follow is [FollowAliases] for records of one Go type. It also returns their smallest time to live. Where there are
// records of the type, the list is not nil.
func follow[R dns.RR](m *dns.Msg, name string, qtype uint16) (chain []*dns.CNAME, records []R, ttl uint32) {
	owner := dns.CanonicalName(name)
	owns := func(rr dns.RR) bool {
		h := rr.Header()
		return h.Class == dns.ClassINET && (h.Name == owner || dns.CanonicalName(h.Name) == owner)
	}
	for ttl = math.MaxUint32; ; {
		var alias *dns.CNAME
		for _, rr := range m.Answer {
			if absent(rr) || !owns(rr) {
				continue
			}
			if h := rr.Header(); h.Rrtype == qtype {
				ttl = min(ttl, h.Ttl)
				if records == nil {
					records = make([]R, 0, len(m.Answer))
				}
				if r, ok := rr.(R); ok {
					records = append(records, r)
				}
			} else if c, ok := rr.(*dns.CNAME); ok && alias == nil {
				alias = c
			}
		}
		if records != nil || alias == nil || len(chain) == MaxAliases {
			return chain, records, ttl
		}
		owner = dns.CanonicalName(alias.Target)
		seen := func(c *dns.CNAME) bool { return dns.CanonicalName(c.Target) == owner }
		if owner == dns.CanonicalName(name) || slices.ContainsFunc(chain, seen) {
			return chain, nil, ttl
		}
		chain = append(chain, alias)
	}
}

// absent reports whether there is no record behind the interface. No server can cause that, but a
// resolver of the user's own may.
func absent(rr dns.RR) bool {
	if rr == nil {
		return true
	}
	v := reflect.ValueOf(rr)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// ExtendedErrors returns the extended errors of a message (RFC 8914).
func ExtendedErrors(m *dns.Msg) []dns.EDNS0_EDE {
	var list []dns.EDNS0_EDE
	for _, rr := range m.Extra {
		opt, ok := rr.(*dns.OPT)
		if !ok || opt == nil {
			continue
		}
		for _, o := range opt.Option {
			if e, ok := o.(*dns.EDNS0_EDE); ok && e != nil {
				list = append(list, *e)
			}
		}
	}
	return list
}

// Addresses are the addresses of a host.
type Addresses struct {
	V4 Answer[*dns.A]
	V6 Answer[*dns.AAAA]
}

// LookupAddresses looks up the IPv4 and IPv6 addresses of a host concurrently.
func LookupAddresses(ctx context.Context, e *Env, name string) Addresses {
	var a Addresses
	var wg Group
	wg.Go(func() { a.V4 = Lookup[*dns.A](ctx, e, name) })
	wg.Go(func() { a.V6 = Lookup[*dns.AAAA](ctx, e, name) })
	wg.Wait()
	return a
}

// All lists the addresses, IPv6 first, without duplicates.
func (a Addresses) All() []netip.Addr {
	list := make([]netip.Addr, 0, len(a.V6.Records)+len(a.V4.Records))
	seen := map[netip.Addr]bool{}
	add := func(rr dns.RR) {
		if ip := resolver.AddressIn(rr); ip.IsValid() && !seen[ip] {
			seen[ip] = true
			list = append(list, ip)
		}
	}
	for _, r := range a.V6.Records {
		add(r)
	}
	for _, r := range a.V4.Records {
		add(r)
	}
	return list
}

// Err returns why it is unknown whether the host has addresses: no lookup found one, and at least one of the lookups
// failed.
func (a Addresses) Err() error {
	if a.V4.Exists() || a.V6.Exists() {
		return nil
	}
	return errors.Join(a.V4.Err(), a.V6.Err())
}

// AddressRecord returns the A or AAAA record that gives a name an address.
func AddressRecord(name string, ip netip.Addr, ttl uint32) dns.RR {
	header := dns.RR_Header{Name: dns.Fqdn(name), Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
	if ip.Is4() {
		return &dns.A{Hdr: header, A: ip.AsSlice()}
	}
	header.Rrtype = dns.TypeAAAA
	return &dns.AAAA{Hdr: header, AAAA: ip.AsSlice()}
}
