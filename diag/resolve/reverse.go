package resolve

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// maxForward bounds the host names whose addresses are looked up, so that an address with thousands
// of PTR records costs no more than others. Receivers of mail stop at 10 (RFC 7208 section 4.6.4).
const maxForward = 20

// A ReverseRequest asks for the host names of an address.
type ReverseRequest struct {
	IP     diag.IP `json:"ip" doc:"the address, IPv4 or IPv6" example:"192.0.2.1"`
	Verify *bool   `json:"verify,omitempty" default:"true" doc:"whether to look up the addresses of the host names too"`
}

// A ReverseReport lists the host names of an address.
type ReverseReport struct {
	diag.Text
	IP               diag.IP        `json:"ip" doc:"the address"`
	Version          int            `json:"version" enum:"4 6" doc:"version of the Internet Protocol: 4 or 6"`
	PTRName          string         `json:"ptr_name" doc:"name in the DNS under which the host names are kept"`
	Rcode            string         `json:"rcode" doc:"reply code for that name"`
	Hostnames        []string       `json:"hostnames" doc:"the host names, in lower case and without duplicates; at most 500"`
	TTL              *uint32        `json:"ttl,omitempty" doc:"how long they may be kept, in seconds"`
	ForwardConfirmed bool           `json:"forward_confirmed" doc:"whether at least one host name has the address; false if not verified"`
	Forward          []Forward      `json:"forward" doc:"addresses of the host names, of the same version; at most 20, none if not verified"`
	LatencyMS        int64          `json:"latency_ms" min:"0" doc:"time for all questions"`
	CheckedAt        time.Time      `json:"checked_at" doc:"when the first question was put"`
	Findings         []diag.Finding `json:"findings" doc:"what is remarkable, the worst first"`
}

// Rules describes the rules behind the findings.
func (*ReverseReport) Rules() []rule.Description { return reverseRules.Describe() }

// Forward reports whether a host name resolves back to the address.
type Forward struct {
	Hostname  string   `json:"hostname" doc:"the host name"`
	Addresses []string `json:"addresses" doc:"its addresses, of the same version as the address asked about; at most 500"`
	Matches   bool     `json:"matches" doc:"whether the address asked about is among them"`
	Rcode     string   `json:"rcode,omitempty" doc:"reply code, if a reply came and the name is one of a host"`
}

// reverseEvidence holds the observations.
type reverseEvidence struct {
	ip           diag.IP
	verify       bool
	began, ended time.Time
	ptr          diag.Answer[*dns.PTR]
	hosts        []string // absolute, in lower case, without duplicates
	forwards     []forwardAnswer
}

type forwardAnswer struct {
	host      string // absolute
	invalid   bool   // no name of a host, so it was not asked about
	rcode     string
	err       error
	addresses []string
	matches   bool
}

// Reverse looks up the host names of an address and, unless Verify is false, their addresses. The error is a
// *[diag.InputError], the error of the context, or wraps [diag.ErrUnavailable] if nothing was learned about
// the address.
//
// Only addresses of the same version are looked up, because the others cannot match. Addresses that are not public
// are looked up too: the resolver may know their names (RFC 6303).
func Reverse(ctx context.Context, env *diag.Env, req ReverseRequest) (*ReverseReport, error) {
	e, err := fetchReverse(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return reverseReport(e), nil
}

func fetchReverse(ctx context.Context, env *diag.Env, req ReverseRequest) (*reverseEvidence, error) {
	if req.IP.IsZero() {
		return nil, input.Invalid("ip", "is required")
	}
	e := &reverseEvidence{ip: req.IP, verify: req.Verify == nil || *req.Verify, began: env.Now()}
	e.ptr = diag.Lookup[*dns.PTR](ctx, env, req.IP.Reverse())
	if e.ptr.Silent() {
		return nil, unanswered(ctx, diag.DefaultResolver, e.ptr.Err())
	}
	for _, r := range e.ptr.Records {
		if host := dns.CanonicalName(r.Ptr); !slices.Contains(e.hosts, host) && len(e.hosts) < maxRecords {
			e.hosts = append(e.hosts, host)
		}
	}
	if e.verify {
		e.forwards = lookupForward(ctx, env, e.ip, e.hosts[:min(len(e.hosts), maxForward)])
	}
	e.ended = env.Now()
	return e, ctx.Err()
}

// lookupForward looks up the addresses of all hosts concurrently.
func lookupForward(ctx context.Context, env *diag.Env, ip diag.IP, hosts []string) []forwardAnswer {
	list := make([]forwardAnswer, len(hosts))
	var wg diag.Group
	for i, host := range hosts {
		wg.Go(func() { list[i] = lookupHost(ctx, env, ip, host) })
	}
	wg.Wait()
	return list
}

func lookupHost(ctx context.Context, env *diag.Env, ip diag.IP, host string) forwardAnswer {
	f := forwardAnswer{host: host, addresses: []string{}}
	if _, err := diag.ParseDomain(host); err != nil {
		f.invalid = true
		return f
	}
	if ip.Is4() {
		take(&f, diag.Lookup[*dns.A](ctx, env, host), ip)
	} else {
		take(&f, diag.Lookup[*dns.AAAA](ctx, env, host), ip)
	}
	return f
}

func (f forwardAnswer) report() Forward {
	return Forward{nameText(f.host), f.addresses, f.matches, f.rcode}
}

func take[R dns.RR](f *forwardAnswer, a diag.Answer[R], ip diag.IP) {
	f.rcode, f.err = a.RcodeName(), a.Err()
	for _, r := range a.Records {
		address := resolver.AddressIn(r)
		f.matches = f.matches || address == ip.Addr
		if address.IsValid() && len(f.addresses) < maxRecords {
			f.addresses = append(f.addresses, address.String())
		}
	}
}

func reverseReport(e *reverseEvidence) *ReverseReport {
	verdict := reverseRules.Judge(e, reverseTexts)
	r := &ReverseReport{
		Text: verdict.Text(), IP: e.ip, Version: e.ip.Version(), PTRName: nameText(e.ip.Reverse()),
		Rcode: e.ptr.RcodeName(), Hostnames: kit.Map(e.hosts, nameText), ForwardConfirmed: e.confirmed(),
		Forward:   kit.Map(e.forwards, forwardAnswer.report),
		LatencyMS: max(0, e.ended.Sub(e.began).Milliseconds()),
		CheckedAt: e.began.UTC().Truncate(time.Second), Findings: verdict.Findings,
	}
	if e.ptr.Exists() {
		r.TTL = new(e.ptr.TTL)
	}
	return r
}

// confirmed reports whether a host name has the address.
func (e *reverseEvidence) confirmed() bool {
	return slices.ContainsFunc(e.forwards, func(f forwardAnswer) bool { return f.matches })
}

// unsure reports whether a host name may have the address although none of those that are known has.
func (e *reverseEvidence) unsure() bool {
	return !e.confirmed() && slices.ContainsFunc(e.forwards, func(f forwardAnswer) bool { return f.err != nil })
}

// manyNames is the number of host names beyond which mail receivers ignore the rest (RFC 7208 section 4.6.4).
const manyNames = 10

func ptrKnown(e *reverseEvidence) bool { return e.ptr.Err() == nil }
func named(e *reverseEvidence) bool    { return len(e.hosts) > 0 }
func verified(e *reverseEvidence) bool { return named(e) && e.verify }

var reverseRules = rule.Rules[*reverseEvidence]{{
	Code: "reverse.ptr.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 1912 section 2.8",
	Title: "Reverse zone did not answer", Requirement: "The name servers answer for the address",
	Advice: "Ask the holder of the address block to fix the reverse zone.",
	Fails: func(e *reverseEvidence) rule.Failures {
		if ptrKnown(e) {
			return nil
		}
		return rule.Fail("The lookup of the PTR records of %s failed: %v.", nameText(e.ptr.Name), e.ptr.Err())
	},
}, {
	Code: "reverse.ptr.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Ref: "RFC 1912 section 2.1",
	Title: "No PTR record", Requirement: "The address has a PTR record",
	Advice: "Ask your provider to set a PTR record: many receivers reject mail from addresses without one.",
	When:   ptrKnown,
	Fails: func(e *reverseEvidence) rule.Failures {
		if e.ptr.NXDomain() {
			return rule.Fail("%s does not exist (NXDOMAIN).", nameText(e.ptr.Name))
		}
		return rule.FailIf(!named(e), "%s exists, but has no PTR record.", nameText(e.ptr.Name))
	},
}, {
	Code: "reverse.ptr.many", Severity: diag.Warning, Ref: "RFC 7208 section 4.6.4",
	Title: "Too many PTR records", Requirement: "The address has few PTR records",
	Advice: "Keep one PTR record, for the name that the host uses in HELO.", When: named,
	Fails: func(e *reverseEvidence) rule.Failures {
		return rule.FailIf(
			len(e.hosts) > manyNames,
			"The address has %d PTR records. Many receivers read the first %d only.",
			len(e.hosts),
			manyNames,
		)
	},
}, {
	Code: "reverse.hostname.invalid", Severity: diag.Warning, Ref: "RFC 1123 section 2.1",
	Title: "PTR record holds an invalid host name", Requirement: "The PTR records hold valid host names",
	Advice: "Correct the PTR record: the labels of a host name hold letters, digits and hyphens.", When: named,
	Fails: eachHost(func(_ *reverseEvidence, host string) (string, bool) {
		_, err := diag.ParseDomain(host)
		return "is not a valid host name", err != nil
	}),
}, {
	Code: "reverse.hostname.generic", Severity: diag.Info, Ref: "RFC 9499 section 7",
	Title: "Generic host name", Requirement: "The host names are not generic",
	Advice: "Ask your provider for a PTR record with a name of your own if the host sends mail: this one looks dynamic.",
	When:   named, Fails: eachHost(func(e *reverseEvidence, host string) (string, bool) { return generic(host, e.ip) }),
}, {
	Code: "reverse.forward.unanswered", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1912 section 2.1",
	Title: "Addresses of a host name unknown", Requirement: "The name servers answer for the host names",
	Advice: "Fix the zone of the host name: until it answers, the name cannot be confirmed.", When: verified,
	Fails: func(e *reverseEvidence) rule.Failures {
		return rule.FailEach(e.forwards, func(f forwardAnswer) rule.Failures {
			host := nameText(f.host)
			return rule.FailIf(f.err != nil, "The lookup of the addresses of %s failed: %v.", host, f.err).About(host)
		}).Joined()
	},
}, {
	Code: "reverse.forward.unconfirmed", Severity: diag.Warning, Ref: "RFC 1912 section 2.1, RFC 9499 section 7",
	Title: "Reverse DNS not forward-confirmed", Requirement: "A host name resolves to the address",
	Advice: "Add an A or AAAA record with this address to the host name, or correct the PTR record.",
	When:   func(e *reverseEvidence) bool { return verified(e) && !e.unsure() },
	Fails: func(e *reverseEvidence) rule.Failures {
		return rule.FailIf(!e.confirmed(), "None of the host names resolves to %s.", e.ip)
	},
}, {
	Code: "reverse.forward.partial", Severity: diag.Info, Ref: "RFC 1912 section 2.1",
	Title: "A host name does not resolve to the address", Requirement: "Every host name resolves to the address",
	Advice: "Remove the PTR records of the names that do not resolve to the address.",
	When:   func(e *reverseEvidence) bool { return verified(e) && e.confirmed() },
	Fails: func(e *reverseEvidence) rule.Failures {
		return rule.FailEach(e.forwards, func(f forwardAnswer) rule.Failures {
			unmatched, host := !f.matches && !f.invalid && f.err == nil, nameText(f.host)
			return rule.FailIf(unmatched, "%s does not resolve to the address.", host).About(host)
		}).Joined()
	},
}, {
	Code: "reverse.address.special", Severity: diag.Info, Ref: "RFC 6303 section 4, RFC 6890 section 2.2",
	Title: "Address is not public", Requirement: "The address is public",
	Fails: func(e *reverseEvidence) rule.Failures {
		purpose := purposeOf(e.ip.Addr)
		return rule.FailIf(purpose != "", "%s is %s: its host names depend on the resolver.", e.ip, purpose)
	},
}}

// eachHost makes the test of a rule that returns a failure for each host name that passes a test.
func eachHost(test func(e *reverseEvidence, host string) (what string, is bool)) func(*reverseEvidence) rule.Failures {
	return func(e *reverseEvidence) rule.Failures {
		return rule.FailEach(e.hosts, func(host string) rule.Failures {
			what, is := test(e, host)
			return rule.FailIf(is, "%s %s.", nameText(host), what).About(nameText(host))
		}).Joined()
	}
}

// forDocumentation is the purpose of the addresses in examples. They are distinguished from other reserved addresses
// because they are never in use.
const forDocumentation = "reserved for documentation"

// purposes lists blocks of addresses that do not reach hosts on the Internet (RFC 6890 section 2.2),
// beside those that the standard library knows.
var purposes = []struct {
	prefix  netip.Prefix
	purpose string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "reserved for \"this network\""},                 // RFC 791 section 3.2
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space (carrier-grade NAT)"},  // RFC 6598
	{netip.MustParsePrefix("192.0.2.0/24"), forDocumentation},                             // RFC 5737
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved for benchmarks"},                   // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), forDocumentation},                          // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), forDocumentation},                           // RFC 5737
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},                          // RFC 1112 section 4
	{netip.MustParsePrefix("2001:db8::/32"), forDocumentation},                            // RFC 3849
	{netip.MustParsePrefix("3fff::/20"), forDocumentation},                                // RFC 9637
	{netip.MustParsePrefix("64:ff9b:1::/48"), "reserved for local IPv4/IPv6 translation"}, // RFC 8215
	{netip.MustParsePrefix("100::/64"), "a discard-only address"},                         // RFC 6666
}

// purposeOf returns what an address is for if it does not reach a host on the Internet, or nothing.
func purposeOf(ip netip.Addr) string {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid():
		return ""
	case ip.IsUnspecified():
		return "the unspecified address"
	case ip.IsLoopback():
		return "a loopback address"
	case ip.IsPrivate():
		return "a private address"
	case ip.IsLinkLocalUnicast():
		return "a link-local address"
	case ip.IsMulticast():
		return "a multicast address"
	}
	for _, p := range purposes {
		if p.prefix.Contains(ip) {
			return p.purpose
		}
	}
	return ""
}
