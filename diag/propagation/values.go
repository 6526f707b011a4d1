package propagation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// maxExpected bounds what a request may expect (CONTRACT 3.1).
const (
	maxExpected      = 20
	maxExpectedBytes = 4096
)

// expectedValues brings the data that a request expects into their normal form.
func expectedValues(qtype resolve.Type, texts []string) ([]string, error) {
	if len(texts) > maxExpected {
		return nil, diag.Invalid("expected", "there may be at most %d", maxExpected)
	}
	values := []string{}
	for i, text := range texts {
		v, err := parseValue(qtype, text)
		if err != nil {
			return nil, diag.Invalid(fmt.Sprintf("expected[%d]", i), "%.100q is not the data of a record of type %s: %v",
				text, qtype, err)
		}
		values = append(values, v)
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// parseValue reads the data of a record as in a zone file. Those of TXT may be the mere text.
func parseValue(qtype resolve.Type, text string) (string, error) {
	if len(text) > maxExpectedBytes {
		return "", fmt.Errorf("it is longer than %d bytes", maxExpectedBytes)
	}
	isText := qtype == resolve.Type(dns.TypeTXT)
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("it is not valid UTF-8")
	case isText && !strings.HasPrefix(text, `"`):
		return printable(text), nil
	case strings.ContainsFunc(text, unicode.IsControl): // zone files have directives on lines of their own
		return "", errors.New("it holds control characters")
	case !isText && strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }):
		return "", errors.New("it is not ASCII; write names as A-labels")
	}
	parser := dns.NewZoneParser(strings.NewReader(fmt.Sprintf(". 0 IN %s %s\n", qtype, text)), ".", "")
	rr, ok := parser.Next()
	if err := parser.Err(); err != nil {
		return "", errors.New("it cannot be read as such")
	}
	if !ok || rr.Header().Rrtype != uint16(qtype) {
		return "", errors.New("there is nothing")
	}
	return valueOf(rr), nil
}

// valuesOf returns the data of records as a sorted set in normal form.
func valuesOf(rrs []dns.RR) []string {
	values := diag.Map(rrs, valueOf)
	slices.Sort(values)
	return slices.Compact(values)
}

// valueOf returns the data of a record in normal form: as in a zone file, names in lower case (RFC 4034
// section 6.2). The strings of TXT are joined, as all who use them do.
func valueOf(rr dns.RR) string {
	rr = lowered(rr)
	if txt, ok := rr.(*dns.TXT); ok {
		if text := diag.TXT(txt); utf8.ValidString(text) {
			return printable(text)
		}
	}
	// The time only matters for the times of signatures taken apart, which are not used here.
	return resolve.NewDNSRecord(rr, time.Unix(0, 0)).Data
}

// printable writes control characters, which would change what a terminal shows, as zone files do
// (RFC 1035 section 5.1).
func printable(text string) string {
	var b strings.Builder
	for i, r := range text {
		if !unicode.IsControl(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(text[i : i+utf8.RuneLen(r)]) {
			fmt.Fprintf(&b, `\%03d`, c)
		}
	}
	return b.String()
}

// lowered returns a record whose data have their names in lower case.
func lowered(rr dns.RR) dns.RR {
	rr = dns.Copy(rr)
	switch r := rr.(type) {
	case *dns.CNAME:
		r.Target = dns.CanonicalName(r.Target)
	case *dns.HTTPS:
		r.Target = dns.CanonicalName(r.Target)
	case *dns.MX:
		r.Mx = dns.CanonicalName(r.Mx)
	case *dns.NAPTR:
		r.Replacement = dns.CanonicalName(r.Replacement)
	case *dns.NS:
		r.Ns = dns.CanonicalName(r.Ns)
	case *dns.NSEC:
		r.NextDomain = dns.CanonicalName(r.NextDomain)
	case *dns.PTR:
		r.Ptr = dns.CanonicalName(r.Ptr)
	case *dns.RRSIG:
		r.SignerName = dns.CanonicalName(r.SignerName)
	case *dns.SOA:
		r.Ns, r.Mbox = dns.CanonicalName(r.Ns), dns.CanonicalName(r.Mbox)
	case *dns.SRV:
		r.Target = dns.CanonicalName(r.Target)
	case *dns.SVCB:
		r.Target = dns.CanonicalName(r.Target)
	}
	return rr
}

// An observation is what a server says of the records: that there are some, or none, or no such name.
type observation struct {
	told   bool // that is, the code is NOERROR or NXDOMAIN
	rcode  int
	values []string // never nil
	ttl    uint32   // how long it may be kept, in seconds
	timed  bool     // whether ttl is known
}

// key identifies what is said, whatever the TTL.
func (s observation) key() string { return fmt.Sprint(s.rcode, "\x00", strings.Join(s.values, "\x00")) }

func (s observation) same(other observation) bool { return s.key() == other.key() }

func observe(m *dns.Msg, name string, qtype resolve.Type) observation {
	s := observation{told: m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError, rcode: m.Rcode, values: []string{}}
	chain, rrs := diag.FollowAliases(m, name, uint16(qtype))
	if m.Rcode == dns.RcodeSuccess {
		s.values = valuesOf(rrs)
	}
	timed := slices.Clone(rrs)
	for _, alias := range chain {
		timed = append(timed, alias)
	}
	if len(s.values) == 0 {
		for _, rr := range m.Ns {
			if soa, ok := rr.(*dns.SOA); ok { // RFC 2308 section 5
				soa = dns.Copy(soa).(*dns.SOA)
				soa.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
				timed = append(timed, soa)
			}
		}
	}
	for i, rr := range timed {
		if ttl := rr.Header().Ttl; i == 0 || ttl < s.ttl {
			s.ttl = ttl
		}
		s.timed = true
	}
	return s
}
