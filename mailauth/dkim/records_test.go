package dkim_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// records is a resolver: lines of a name and the text of its TXT record, as vectors have them. Instead of a text there
// may be NXDOMAIN, ~~SERVFAIL~~ or another fault between tildes, which gets no answer.
type records map[string]string

func readRecords(text string) records {
	r := records{}
	for line := range strings.Lines(text) {
		name, record, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if ok && !strings.HasPrefix(line, "#") {
			r[dns.CanonicalName(name)] = strings.TrimLeft(record, " ")
		}
	}
	return r
}

func (r records) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	m := new(dns.Msg).SetReply(q)
	name := q.Question[0].Name
	record, ok := r[dns.CanonicalName(name)]
	switch {
	case !ok || record == "NXDOMAIN":
		m.Rcode = dns.RcodeNameError
	case record == "~~SERVFAIL~~":
		m.Rcode = dns.RcodeServerFailure
	case strings.HasPrefix(record, "~~"):
		return nil, errors.New(strings.Trim(record, "~"))
	case record == `""`:
		m.Answer = append(m.Answer, text(name, ""))
	default:
		m.Answer = append(m.Answer, text(name, record))
	}
	return m, nil
}

// text is a TXT record with the strings that a text needs.
func text(name, s string) *dns.TXT {
	r := &dns.TXT{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 300}}
	s = strings.ReplaceAll(s, `\`, `\\`)
	for ; len(s) > 250; s = s[250:] {
		r.Txt = append(r.Txt, s[:250])
	}
	r.Txt = append(r.Txt, s)
	return r
}

// now is the time of the tests.
var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func (r records) env() *diag.Env {
	return &diag.Env{Resolver: r, Clock: func() time.Time { return now }}
}
