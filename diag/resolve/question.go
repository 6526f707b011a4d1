package resolve

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A Class is a class of records (RFC 1035 section 3.2.4).
type Class string

// The classes that can be queried.
const (
	Internet Class = "IN"
	Chaos    Class = "CH" // in which servers identify themselves (RFC 4892)
)

// Values lists the classes.
func (Class) Values() []string { return kit.Values(Internet, Chaos) }

// check says what is wrong with a request, however it was made.
func (r *Request) check() error {
	if r.Name.IsZero() {
		return input.Invalid("qname", "is required")
	}
	if err := r.Type.check(); err != nil {
		return err
	}
	for _, number := range []struct {
		field     string
		n         int
		low, high int // as the tags of the fields say
	}{
		{"udp_payload_size", r.UDPPayloadSize, 512, 4096}, // RFC 6891 sections 6.2.3 and 6.2.5
		{"timeout_seconds", r.TimeoutSeconds, 1, 30}, {"tries", r.Tries, 1, 10},
	} {
		if number.n != 0 && (number.n < number.low || number.high < number.n) {
			return input.Invalid(number.field, "must be from %d to %d", number.low, number.high)
		}
	}
	switch {
	case r.Class != "" && !slices.Contains(r.Class.Values(), string(r.Class)):
		return input.Invalid("qclass", "%.40q is not one of %s", string(r.Class), strings.Join(r.Class.Values(), ", "))
	case r.IPVersion != 0 && r.IPVersion != 4 && r.IPVersion != 6:
		return input.Invalid("ip_version", "must be 4 or 6")
	}
	return r.checkServer()
}

// checkServer says what cannot be asked of the server that was chosen.
func (r *Request) checkServer() error {
	iterating := r.Resolver == Authoritative
	for _, option := range []struct {
		field string
		set   bool
	}{
		{"checking_disabled", r.CheckingDisabled}, {"nsid", r.NSID}, {"udp_payload_size", r.UDPPayloadSize != 0},
		{"timeout_seconds", r.TimeoutSeconds != 0}, {"tries", r.Tries != 0},
	} {
		if iterating && option.set {
			return input.Invalid(option.field, "is for a question to a resolver, not for iterating from the root servers")
		}
	}
	switch r.Transport {
	case "", resolver.UDP, resolver.TCP:
	case resolver.DoT, resolver.DoH:
		if iterating || cmp.Or(r.Resolver, Default) == Default {
			return input.Invalid("transport", "%s is spoken to the public resolvers alone", r.Transport)
		}
	default:
		return input.Invalid("transport", "%.40q is not one of udp, tcp, dot, doh", string(r.Transport))
	}
	if r.Class == Chaos && (iterating || r.Trace) {
		return input.Invalid("qclass", "CH is asked of one server, and not found by iterating from the root servers")
	}
	return nil
}

// recursive reports whether the server is to resolve the name.
func (r *Request) recursive() bool { return r.RecursionDesired == nil || *r.RecursionDesired }

// question is the message that is sent to a resolver.
func (r *Request) question() *dns.Msg {
	q := dnsmsg.Question(r.Name.FQDN(), uint16(r.Type), r.DNSSEC)
	q.RecursionDesired, q.CheckingDisabled = r.recursive(), r.CheckingDisabled
	if r.Class == Chaos {
		q.Question[0].Qclass = dns.ClassCHAOS
	}
	opt := q.IsEdns0()
	if r.UDPPayloadSize != 0 {
		opt.SetUDPSize(uint16(r.UDPPayloadSize))
	}
	if r.NSID {
		opt.Option = append(opt.Option, &dns.EDNS0_NSID{Code: dns.EDNS0NSID})
	}
	return q
}

// options say how that message is sent.
func (r *Request) options() resolver.Options {
	return resolver.Options{
		TCP: r.Transport == resolver.TCP, IPVersion: r.IPVersion,
		Timeout: time.Duration(r.TimeoutSeconds) * time.Second, Attempts: r.Tries,
	}
}

// upstream is a public resolver over the transport that was chosen.
func (r *Request) upstream(env *diag.Env, p resolver.PublicResolver) diag.Resolver {
	if r.Transport != resolver.DoT && r.Transport != resolver.DoH {
		return env.Upstream(p.ID, p.Servers(resolver.UDP)...)
	}
	servers := p.Servers(r.Transport)
	for i := range servers {
		servers[i].Addrs = slices.DeleteFunc(servers[i].Addrs, func(ip netip.Addr) bool {
			return r.IPVersion != 0 && ip.Is4() != (r.IPVersion == 4)
		})
	}
	return env.Upstream(fmt.Sprintf("%s/%s/%d", p.ID, r.Transport, r.IPVersion), servers...)
}

// identifier returns how the server names itself (RFC 5001): as text if that can be printed, else in hexadecimal
// digits, and nothing if it does not.
func identifier(m *dns.Msg) string {
	opt := m.IsEdns0()
	if opt == nil {
		return ""
	}
	for _, option := range opt.Option {
		nsid, ok := option.(*dns.EDNS0_NSID)
		if !ok {
			continue
		}
		text, err := hex.DecodeString(nsid.Nsid)
		if err != nil || strings.ContainsFunc(string(text), func(c rune) bool { return c < ' ' || '~' < c }) {
			return nsid.Nsid
		}
		return string(text)
	}
	return ""
}
