package eval

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A suite is one scenario of the OpenSPF test suite: a zone and the expected decisions.
type suite struct {
	Suite       string
	Description string
	Zone        map[string][][2]any // name to pairs of type and data
	Tests       []struct {
		Name, HELO, Host, MailFrom string
		Result                     []string
		Explanation                *string
	}
}

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
		list, ok := z[strings.ToLower(Unescape(owner))]
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
	name := func(v any) string { return absolute(strings.TrimSuffix(v.(string), ".")) }
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

// beyond reports whether a case of another suite differs from or exceeds RFC 7208:
//   - a modifier default=, which drafts had;
//   - results that depend on local policy of the receiver;
//   - domains of one label, which have no record (section 4.3).
func beyond(s suite, sender string, results []string) bool {
	if slices.Contains(results, "ambiguous") {
		return true
	}
	domain := strings.ToLower(sender[strings.LastIndexByte(sender, '@')+1:])
	single := !strings.Contains(domain, ".")
	for _, entry := range s.Zone[domain] {
		texts, ok := entry[1].([]any)
		if !ok || entry[0] != "TXT" {
			continue
		}
		record, faults := Parse(textOf(texts))
		single = single || slices.ContainsFunc(faults, func(f SyntaxError) bool {
			return strings.Contains(f.Text, "no dot before")
		})
		if slices.ContainsFunc(record.Terms, func(t Term) bool { return t.Unknown == "default" }) {
			return true
		}
	}
	return single
}

func textOf(texts []any) string {
	var b strings.Builder
	for _, s := range texts {
		b.WriteString(s.(string))
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	for _, path := range diagtest.Suite(t, "mail/spf/*.json") {
		file := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(file, func(t *testing.T) {
			suites := diagtest.Cases[suite](t, []string{path})
			passed, total, explained, explanations, skipped := 0, 0, 0, 0, 0
			for _, s := range suites {
				zone := records{}
				for name, list := range s.Zone {
					zone[strings.ToLower(name)] = list
				}
				for _, c := range s.Tests {
					if s.Suite != "rfc7208" && beyond(s, c.MailFrom, c.Result) {
						skipped++
						continue
					}
					r, err := Check(t.Context(), &diag.Env{Resolver: zone}, Request{
						IP: netip.MustParseAddr(c.Host), Sender: c.MailFrom, HELO: c.HELO,
					})
					require.NoError(t, err)
					total++
					if !slices.Contains(c.Result, string(r.Outcome)) {
						t.Errorf("%s: %s: %+v, not %v", s.Description, c.Name, r, c.Result)
						continue
					}
					passed++
					if c.Explanation == nil {
						continue
					}
					explanations++
					want := *c.Explanation
					if want == "DEFAULT" { // the receiver's own
						want = ""
					}
					if r.Explanation != want {
						t.Errorf("%s: %s: explanation %q, not %q", s.Description, c.Name, r.Explanation, want)
						continue
					}
					explained++
				}
			}
			t.Logf("%s: %d/%d, explanations %d/%d, beyond RFC 7208: %d", file, passed, total, explained,
				explanations, skipped)
		})
	}
}
