package diag

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// An Answer is what the DNS said about one name and one record type.
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
}

// Exists reports whether there is at least one record.
func (a Answer[R]) Exists() bool { return len(a.Records) > 0 }

// NXDomain reports whether the name does not exist at all.
func (a Answer[R]) NXDomain() bool { return a.silence == nil && a.Rcode == dns.RcodeNameError }

// Err returns why the servers could not say, such as SERVFAIL or silence, or nil. With no Records and
// no Err, the absence of the records is a fact.
func (a Answer[R]) Err() error {
	if a.silence != nil {
		return a.silence
	}
	if a.Rcode == dns.RcodeSuccess || a.Rcode == dns.RcodeNameError {
		return nil
	}
	return fmt.Errorf("the name servers answered %s%s", RcodeName(a.Rcode), extendedText(a.Extended))
}

// Silent reports whether no reply came at all.
func (a Answer[R]) Silent() bool { return a.silence != nil }

func extendedText(list []dns.EDNS0_EDE) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, " (%s", dns.ExtendedErrorCodeToString[e.InfoCode])
		if e.ExtraText != "" {
			fmt.Fprintf(&b, ": %.200q", e.ExtraText)
		}
		b.WriteByte(')')
	}
	return b.String()
}

// RcodeName returns the standard name of an rcode, or RCODEnnn (RFC 6895 section 2.3).
func RcodeName(rcode int) string {
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

// Question makes a query with EDNS and recursion desired. With dnssec it asks for the records of
// DNSSEC too (DO); in either case it asks whether the resolver vouches for the answer (AD).
func Question(name string, qtype uint16, dnssec bool) *dns.Msg {
	q := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
	q.SetEdns0(ednsSize, dnssec)
	q.AuthenticatedData = true // RFC 6840 section 5.7
	return q
}

// Lookup asks for the records of one type, following CNAMEs:
//
//	mx := diag.Lookup[*dns.MX](ctx, env, "example.com.")
//
// Only records at the end of the chain of aliases count; whatever else a server puts in its answer
// is left out.
func Lookup[R dns.RR](ctx context.Context, e *Env, name string) Answer[R] {
	name = dns.Fqdn(name)
	a := Answer[R]{Name: name}
	qtype := dns.StringToType[reflect.TypeFor[R]().Elem().Name()]
	m, err := e.DNS().Exchange(ctx, Question(name, qtype, false))
	if err != nil {
		a.silence = fmt.Errorf("looking up %s %s: %w", dns.TypeToString[qtype], name, err)
		return a
	}
	a.Rcode, a.Authentic = m.Rcode, m.AuthenticatedData
	a.Extended = ExtendedErrors(m)
	chain, rrs := Resolve(m, name, qtype)
	for i, rr := range slices.Concat(asRR(chain), rrs) {
		if ttl := rr.Header().Ttl; i == 0 || ttl < a.TTL {
			a.TTL = ttl
		}
	}
	for _, c := range chain {
		a.Aliases = append(a.Aliases, dns.CanonicalName(c.Target))
	}
	for _, rr := range rrs {
		if r, ok := rr.(R); ok {
			a.Records = append(a.Records, r)
		}
	}
	return a
}

func asRR(chain []*dns.CNAME) []dns.RR {
	rrs := make([]dns.RR, len(chain))
	for i, c := range chain {
		rrs[i] = c
	}
	return rrs
}

// maxAliases bounds a chain of CNAMEs; resolvers follow between 8 and 16.
const maxAliases = 16

// Resolve picks the records of a type out of an answer section by following the aliases from the
// name that was asked for (RFC 1034 section 3.6.2). It ends at a loop.
func Resolve(m *dns.Msg, name string, qtype uint16) (chain []*dns.CNAME, rrs []dns.RR) {
	owner := dns.CanonicalName(name)
	for {
		var alias *dns.CNAME
		for _, rr := range m.Answer {
			if dns.CanonicalName(rr.Header().Name) != owner {
				continue
			}
			if rr.Header().Rrtype == qtype {
				rrs = append(rrs, rr)
			} else if c, ok := rr.(*dns.CNAME); ok && alias == nil {
				alias = c
			}
		}
		if len(rrs) > 0 || alias == nil || len(chain) == maxAliases {
			return chain, rrs
		}
		chain = append(chain, alias)
		owner = dns.CanonicalName(alias.Target)
	}
}

// ExtendedErrors returns the extended errors of a message (RFC 8914).
func ExtendedErrors(m *dns.Msg) []dns.EDNS0_EDE {
	opt := m.IsEdns0()
	if opt == nil {
		return nil
	}
	var list []dns.EDNS0_EDE
	for _, o := range opt.Option {
		if e, ok := o.(*dns.EDNS0_EDE); ok {
			list = append(list, *e)
		}
	}
	return list
}

// Addresses are the addresses of a host.
type Addresses struct {
	V4 Answer[*dns.A]
	V6 Answer[*dns.AAAA]
}

// LookupAddresses asks for the IPv4 and IPv6 addresses of a host at once.
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
	list := []netip.Addr{}
	for _, r := range a.V6.Records {
		if ip, ok := netip.AddrFromSlice(r.AAAA); ok {
			list = append(list, ip)
		}
	}
	for _, r := range a.V4.Records {
		if ip, ok := netip.AddrFromSlice(r.A.To4()); ok {
			list = append(list, ip)
		}
	}
	slices.SortStableFunc(list, func(x, y netip.Addr) int { return y.BitLen() - x.BitLen() })
	return slices.Compact(list)
}

// Err returns why it is not known whether the host has addresses: it has none of either kind as far
// as was learned, and for at least one kind the servers could not say.
func (a Addresses) Err() error {
	if a.V4.Exists() || a.V6.Exists() {
		return nil
	}
	return errors.Join(a.V4.Err(), a.V6.Err())
}

// TXT returns the text of a TXT record: its character strings joined without a separator, as bytes
// (RFC 7208 section 3.3).
func TXT(r *dns.TXT) string {
	var b strings.Builder
	for _, s := range r.Txt {
		unescape(&b, s)
	}
	return b.String()
}

// unescape undoes the presentation format of the DNS library (RFC 1035 section 5.1).
func unescape(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if d := s[i+1:]; len(d) >= 3 && isDigit(d[0]) && isDigit(d[1]) && isDigit(d[2]) {
			b.WriteByte((d[0]-'0')*100 + (d[1]-'0')*10 + d[2] - '0')
			i += 3
			continue
		}
		i++
		b.WriteByte(s[i])
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// DNSSECStatus is what is known of the authenticity of an answer (RFC 4035 section 4.3).
type DNSSECStatus string

// The statuses.
const (
	Secure        DNSSECStatus = "secure"
	Insecure      DNSSECStatus = "insecure"
	Bogus         DNSSECStatus = "bogus"
	Indeterminate DNSSECStatus = "indeterminate"
)

// Values lists the statuses.
func (DNSSECStatus) Values() []string {
	return []string{string(Secure), string(Insecure), string(Bogus), string(Indeterminate)}
}

// DNSSEC returns what the resolver let know of the authenticity of the answer: secure if it vouched
// for it, bogus if it said so, else indeterminate, for a resolver that does not validate looks the
// same as an unsigned zone.
func (a Answer[R]) DNSSEC() DNSSECStatus { return dnssecStatus(a.Authentic, a.Rcode, a.Extended) }

// MessageDNSSEC is [Answer.DNSSEC] for a whole message.
func MessageDNSSEC(m *dns.Msg) DNSSECStatus {
	return dnssecStatus(m.AuthenticatedData, m.Rcode, ExtendedErrors(m))
}

func dnssecStatus(authentic bool, rcode int, extended []dns.EDNS0_EDE) DNSSECStatus {
	if authentic {
		return Secure
	}
	for _, e := range extended {
		// DNSSEC Bogus, Signature Expired to NSEC Missing (RFC 8914 sections 4.7 to 4.13).
		if rcode == dns.RcodeServerFailure && dns.ExtendedErrorCodeDNSBogus <= e.InfoCode &&
			e.InfoCode <= dns.ExtendedErrorCodeNSECMissing {
			return Bogus
		}
	}
	return Indeterminate
}

// RecordLookup is the part that all reports on one record in the DNS share.
type RecordLookup struct {
	Domain        Domain       `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string       `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	RecordName    string       `json:"record_name" doc:"where the record was looked for"`
	Found         bool         `json:"found" doc:"whether there is such a record"`
	Record        string       `json:"record,omitempty" doc:"the record, if there is exactly one"`
	Records       []string     `json:"records" doc:"all records of the kind at that name"`
	Rcode         string       `json:"rcode" doc:"reply code of the DNS, empty if no reply came"`
	TTL           *uint32      `json:"ttl,omitempty" doc:"time to live in seconds"`
	CNAMEChain    []string     `json:"cname_chain" doc:"aliases that were followed"`
	DNSSEC        DNSSECStatus `json:"dnssec_status" doc:"what is known of the authenticity of the answer"`
	CheckedAt     time.Time    `json:"checked_at" doc:"when the look-up began"`
	DurationMS    int64        `json:"duration_ms" min:"0" doc:"how long it took"`
}

// NewRecordLookup fills the shared part of a report from the answer to the question for the record
// and from those of its texts that are of the kind looked for.
func NewRecordLookup[R dns.RR](d Domain, a Answer[R], records []string, began, ended time.Time) RecordLookup {
	l := RecordLookup{
		Domain:        d,
		DomainUnicode: d.UnicodeIfDifferent(),
		RecordName:    strings.TrimSuffix(dns.CanonicalName(a.Name), "."),
		Found:         len(records) > 0,
		Records:       []string{},
		Rcode:         a.RcodeName(),
		CNAMEChain:    []string{},
		DNSSEC:        a.DNSSEC(),
		CheckedAt:     began.UTC(),
		DurationMS:    max(0, ended.Sub(began).Milliseconds()),
	}
	for _, r := range records {
		l.Records = append(l.Records, strings.ToValidUTF8(r, "\uFFFD"))
	}
	if len(records) == 1 {
		l.Record = l.Records[0]
	}
	if a.Exists() {
		l.TTL = new(a.TTL)
	}
	for _, alias := range a.Aliases {
		l.CNAMEChain = append(l.CNAMEChain, strings.TrimSuffix(alias, "."))
	}
	return l
}
