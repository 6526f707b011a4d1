package diag

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// An Answer is the DNS's answer for one name and one record type.
type Answer[R dns.RR] struct {
	Name    string   // the name that was asked for, with the final dot
	Records []R      // the records at the end of the chain of aliases
	Aliases []string // targets of the CNAMEs that were followed, in order, with the final dot
	Rcode   int      // rcode of the reply; 0 (NOERROR) too if no reply came, see Silent
	TTL     uint32   // smallest time to live of aliases and records, in seconds; 0 if there are none
	// Authentic reports whether the resolver validated the answer with DNSSEC: the AD bit (RFC 4035 section
	// 3.2.3).
	Authentic bool
	// Extended are the extended DNS errors of the reply (RFC 8914).
	Extended []dns.EDNS0_EDE

	silence error // why there was no reply at all
	walked  bool  // the name servers were asked themselves, without a resolver
}

// Exists reports whether there is at least one record.
func (a Answer[R]) Exists() bool { return len(a.Records) > 0 }

// NXDomain reports whether the name does not exist at all; if aliases were followed, it is the last name that
// does not exist (RFC 6604 section 3).
func (a Answer[R]) NXDomain() bool {
	return a.silence == nil && a.Rcode == dns.RcodeNameError && dnsmsg.FilterReason(a.Extended) == ""
}

// Err returns why it is unknown whether the records exist: a SERVFAIL, a timeout, or a resolver that filters
// the name. It returns nil if that is known: without Records they do not exist.
func (a Answer[R]) Err() error {
	if a.silence != nil {
		return a.silence
	}
	if a.Rcode == dns.RcodeSuccess || a.Rcode == dns.RcodeNameError {
		if policy := dnsmsg.FilterReason(a.Extended); policy != "" && !a.Exists() {
			return fmt.Errorf("the resolver filters the name by a policy of its own (%s)", policy)
		}
		return nil
	}
	who := "the resolver"
	if a.walked {
		who = "the name servers"
	}
	err := fmt.Errorf("%s answered %s%s", who, dnsmsg.RcodeName(a.Rcode), dnsmsg.ExtendedTexts(a.Extended))
	if a.DNSSEC() == Bogus {
		return bogusError{err}
	}
	return err
}

// A bogusError says that the resolver found the DNSSEC signatures of an answer not valid.
type bogusError struct{ error }

// Advice returns what to do about the error, for [rule.Failures.Because].
func (bogusError) Advice() string { return AdviceRepairDNSSEC }

// AdviceRepairDNSSEC is the advice for an answer that resolvers refuse because its DNSSEC signatures are
// invalid.
const AdviceRepairDNSSEC = "Repair the DNSSEC signatures or the DS records of the domain: resolvers that " +
	"validate refuse its " +
	"answers. dnssec/check shows where the chain breaks."

// Silent reports whether no reply came at all.
func (a Answer[R]) Silent() bool { return a.silence != nil }

// RcodeName returns the name of the answer's rcode, or the empty string if no reply came.
func (a Answer[R]) RcodeName() string {
	if a.silence != nil {
		return ""
	}
	return dnsmsg.RcodeName(a.Rcode)
}

// Why an exchange without an error still is no answer.
var (
	errCutOff  = errors.New("the answer was cut off") // RFC 2181 section 9
	errAliases = fmt.Errorf("more than %d aliases in a row", dnsmsg.MaxAliases)
)

// Lookup asks for the records of one type, following CNAMEs:
//
//	mx := diag.Lookup[*dns.MX](ctx, env, "example.com.")
//
// The answer has only the records at the end of the chain of aliases, and only if the rcode is NOERROR;
// anything else in the reply is ignored. A truncated reply counts as no reply, because what is missing is
// unknown.
func Lookup[R dns.RR](ctx context.Context, e *Env, name string) Answer[R] {
	name = dns.Fqdn(name)
	a := Answer[R]{Name: name}
	qtype := dns.StringToType[reflect.TypeFor[R]().Elem().Name()]
	m, err := exchange(ctx, e, dnsmsg.Question(name, qtype, false))
	if err != nil {
		a.silence = fmt.Errorf("looking up %s %s: %w", dns.TypeToString[qtype], name, err)
		return a
	}
	a.Rcode, a.Authentic = m.Rcode, m.AuthenticatedData
	_, a.walked = e.source().resolver().(*resolver.Iterator)
	a.Extended = dnsmsg.ExtendedErrors(m)
	chain, records, ttl := dnsmsg.Follow[R](m, name, qtype)
	if len(chain) == dnsmsg.MaxAliases && records == nil {
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

// Unwrap returns the cause.
func (e *resolverError) Unwrap() error { return e.Err }

// exchange asks the resolver of the environment, unless the context has ended.
func exchange(ctx context.Context, e *Env, q *dns.Msg) (*dns.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := resolver.Ask(ctx, e.resolver(), q)
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

// DNSSECStatus is the result of DNSSEC validation (RFC 4035 section 4.3).
type DNSSECStatus string

// The statuses.
const (
	Secure        DNSSECStatus = "secure"        // validated
	Insecure      DNSSECStatus = "insecure"      // proved not to be signed
	Bogus         DNSSECStatus = "bogus"         // validation failed
	Indeterminate DNSSECStatus = "indeterminate" // not known
)

// Values lists the statuses.
func (DNSSECStatus) Values() []string { return kit.Values(Secure, Insecure, Bogus, Indeterminate) }

// DNSSEC returns the status that the resolver's reply implies: secure if the AD bit is set, bogus if a
// SERVFAIL has an extended error that says so. Otherwise it is indeterminate, because the reply of a resolver
// that does not validate looks like one for an unsigned zone.
func (a Answer[R]) DNSSEC() DNSSECStatus { return dnssecStatus(a.Authentic, a.Rcode, a.Extended) }

// MessageDNSSEC is [Answer.DNSSEC] for a whole message.
func MessageDNSSEC(m *dns.Msg) DNSSECStatus {
	return dnssecStatus(m.AuthenticatedData, m.Rcode, dnsmsg.ExtendedErrors(m))
}

func dnssecStatus(authentic bool, rcode int, extended []dns.EDNS0_EDE) DNSSECStatus {
	if authentic && (rcode == dns.RcodeSuccess || rcode == dns.RcodeNameError) {
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
