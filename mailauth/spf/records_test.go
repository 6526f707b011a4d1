package spf

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// records is a resolver with the records of a suite.
type records map[string][][2]any

// counting is such a resolver that counts queries.
type counting struct {
	records
	asked atomic.Int64
}

// Exchange answers from the suite.
func (c *counting) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	c.asked.Add(1)
	return c.records.Exchange(ctx, q)
}

var errTimeout = errors.New("timeout")

// Exchange answers from the suite. A name with TIMEOUT answers only for types of which it has records.
func (z records) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	m := new(dns.Msg).SetReply(q)
	owner, qtype := q.Question[0].Name, q.Question[0].Qtype
	for range 20 {
		list, ok := z[strings.ToLower(eval.Unescape(owner))]
		if !ok {
			m.Rcode = dns.RcodeNameError
			return m, nil
		}
		alias, fault := "", ""
		for _, entry := range list {
			kind := entry[0].(string)
			if kind == "TIMEOUT" || kind == "SERVFAIL" {
				fault = kind
				continue
			}
			h := dns.RR_Header{Name: owner, Rrtype: dns.StringToType[kind], Class: dns.ClassINET, Ttl: 1}
			if h.Rrtype != qtype && h.Rrtype != dns.TypeCNAME {
				continue
			}
			rr := recordOf(h, entry[1])
			if c, ok := rr.(*dns.CNAME); ok {
				alias = c.Target
			}
			m.Answer = append(m.Answer, rr)
		}
		switch {
		case alias != "":
			owner = alias
			continue
		case fault == "SERVFAIL" && len(m.Answer) == 0:
			m.Rcode = dns.RcodeServerFailure
		case fault == "TIMEOUT" && (len(m.Answer) == 0 || m.Answer[len(m.Answer)-1].Header().Rrtype != qtype):
			return nil, errTimeout
		}
		return m, nil
	}
	m.Rcode = dns.RcodeServerFailure
	return m, nil
}

func recordOf(h dns.RR_Header, data any) dns.RR {
	name := func(v any) string { return dns.Fqdn(v.(string)) }
	switch h.Rrtype {
	case dns.TypeA:
		return &dns.A{Hdr: h, A: netip.MustParseAddr(data.(string)).AsSlice()}
	case dns.TypeAAAA:
		return &dns.AAAA{Hdr: h, AAAA: netip.MustParseAddr(data.(string)).AsSlice()}
	case dns.TypeMX:
		pair := data.([]any)
		return &dns.MX{Hdr: h, Preference: uint16(pair[0].(float64)), Mx: name(pair[1])}
	case dns.TypePTR:
		return &dns.PTR{Hdr: h, Ptr: name(data)}
	case dns.TypeCNAME:
		return &dns.CNAME{Hdr: h, Target: name(data)}
	}
	var texts []string
	for _, s := range data.([]any) {
		var b strings.Builder // each character of the suite is one byte
		for _, c := range s.(string) {
			if c < ' ' || c > '~' || c == '\\' {
				b.WriteString("\\" + string([]byte{'0' + byte(c)/100, '0' + byte(c)/10%10, '0' + byte(c)%10}))
				continue
			}
			b.WriteByte(byte(c))
		}
		texts = append(texts, b.String())
	}
	if h.Rrtype == dns.TypeSPF {
		return &dns.SPF{Hdr: h, Txt: texts}
	}
	return &dns.TXT{Hdr: h, Txt: texts}
}
