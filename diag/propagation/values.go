package propagation

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/resolver"
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
		return nil, input.Invalid("expected", "there may be at most %d", maxExpected)
	}
	values := []string{}
	for i, text := range texts {
		v, err := parseValue(qtype, text)
		if err != nil {
			return nil, input.Invalid(fmt.Sprintf("expected[%d]", i), "%.100q is not the data of a record of type %s: %v",
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
	if _, err := onWire(rr); err != nil {
		return "", errors.New("it cannot be written in the form that servers send")
	}
	return valueOf(rr), nil
}

// valuesOf returns the data of records as a sorted set in normal form.
func valuesOf(rrs []dns.RR) []string {
	values := kit.Map(rrs, valueOf)
	slices.Sort(values)
	return slices.Compact(values)
}

// valueOf returns the data of a record in normal form: as in a zone file, with one spelling for what is the same on the
// wire, such as hexadecimal digits in either case, and for values that its type does not distinguish. The strings of
// TXT are joined, as by all users of them; the case of their letters counts.
func valueOf(rr dns.RR) string {
	if sent, err := onWire(rr); err == nil {
		rr = sent
	}
	rr = resolve.Lowered(rr) // RFC 4343 section 2
	switch r := rr.(type) {
	case *dns.TXT:
		if text := dnsmsg.TXT(r); utf8.ValidString(text) {
			return printable(text)
		}
	case *dns.CAA:
		r.Tag = strings.ToLower(r.Tag) // RFC 8659 section 4.1
		r.Value = propertyValue(r.Tag, r.Value)
	case *dns.NAPTR:
		// The case of flags means nothing (RFC 3403 section 4.1), nor that of services, which are defined by the
		// strings of ABNF (RFC 5234 section 2.3).
		r.Flags, r.Service = strings.ToLower(r.Flags), strings.ToLower(r.Service)
	}
	// The time only matters for the times of signatures taken apart, which are not used here.
	return resolve.NewDNSRecord(rr, time.Unix(0, 0)).Data
}

// onWire returns a record as it is read when a server sends it.
func onWire(rr dns.RR) (dns.RR, error) {
	rr = dns.Copy(rr)
	if data := reflect.ValueOf(rr).Elem().FieldByName("TypeBitMap"); data.IsValid() {
		slices.Sort(data.Interface().([]uint16)) // RFC 4034 section 4.1.2
	}
	wire := make([]byte, dns.Len(rr)+1) // the library wants a byte more, see [dns.Msg.Pack]
	n, err := dns.PackRR(rr, wire, 0, nil, false)
	if err != nil {
		return nil, err
	}
	sent, _, err := dns.UnpackRR(wire[:n], 0)
	return sent, err
}

// propertyValue returns the value of a CAA property in one spelling where it names an issuer: its domain in lower case,
// its parameters without space around them (RFC 8659 section 4.2, RFC 9495 section 3).
func propertyValue(tag, value string) string {
	if !slices.Contains([]string{"issue", "issuewild", "issuemail"}, tag) {
		return value
	}
	parts := kit.Map(strings.Split(value, ";"), strings.TrimSpace)
	parts[0] = strings.ToLower(parts[0])
	return strings.TrimSpace(strings.Join(parts, "; "))
}

// printable writes characters that are not seen, or would change what a terminal shows, as zone files do
// (RFC 1035 section 5.1): two values that differ look different.
func printable(text string) string {
	var b strings.Builder
	for i, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(text[i : i+utf8.RuneLen(r)]) {
			fmt.Fprintf(&b, `\%03d`, c)
		}
	}
	return b.String()
}

// An observation is a server's answer for the records: some, none, or no such name.
type observation struct {
	answered bool // that is, the code is NOERROR or NXDOMAIN
	rcode    int
	values   []string // never nil
	ttl      uint32   // how long it may be kept, in seconds
	timed    bool     // whether ttl is known
}

// key identifies the contents of an answer, regardless of the TTL.
func (s observation) key() string { return fmt.Sprint(s.rcode, "\x00", strings.Join(s.values, "\x00")) }

func (s observation) same(other observation) bool { return s.key() == other.key() }

func observe(m *dns.Msg, name string, qtype resolve.Type) observation {
	s := observation{
		answered: m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError,
		rcode:    m.Rcode,
		values:   []string{},
	}
	chain, rrs := dnsmsg.FollowAliases(m, name, uint16(qtype))
	if m.Rcode == dns.RcodeSuccess {
		s.values = valuesOf(rrs)
	}
	last := func(ttl uint32) {
		if !s.timed || ttl < s.ttl {
			s.ttl, s.timed = ttl, true
		}
	}
	for _, rr := range rrs {
		last(rr.Header().Ttl)
	}
	for _, alias := range chain {
		last(alias.Hdr.Ttl)
	}
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok && len(s.values) == 0 { // RFC 2308 section 5
			last(min(soa.Hdr.Ttl, soa.Minttl))
		}
	}
	return s
}

// compare finds out what is right, and holds the resolvers against it.
func (e *evidence) compare() {
	e.weighAuthority()
	for _, s := range e.probes {
		if s.reply != nil {
			s.observation = observe(s.reply, e.name.FQDN(), e.qtype)
		} else {
			s.observation.values = []string{}
		}
	}
	switch {
	case len(e.expected) > 0:
		e.reference, e.known = observation{answered: true, values: e.expected}, true
	case e.truth.answered:
		e.reference, e.known = e.truth, true
	default:
		e.reference = e.majority()
	}
	for _, s := range e.probes {
		s.status = s.compare(e.reference)
		if s.status != Match && s.reply != nil {
			s.filtered = filteredBy(s.reply, s.observation, e.reference)
		}
	}
}

// weighAuthority finds out what the authoritative servers say: where they disagree, the newest version
// of the zone counts, then what more of them say.
func (e *evidence) weighAuthority() {
	type version struct {
		observation observation
		serial      *uint32
		count       int
	}
	var versions []*version
	serials := map[uint32]bool{}
	for _, s := range e.authority.servers {
		if s.err != nil {
			e.sortOut(s)
			continue
		}
		if s.serial != nil {
			serials[*s.serial] = true
		}
		i := slices.IndexFunc(versions, func(v *version) bool { return v.observation.same(s.observation) })
		if i < 0 {
			versions = append(versions, &version{s.observation, s.serial, 1})
			continue
		}
		v := versions[i]
		v.count++
		if newer(s.serial, v.serial) > 0 {
			v.serial = s.serial
		}
		v.observation.ttl = max(v.observation.ttl, s.observation.ttl) // clients of another server get the longer TTL
	}
	e.versions, e.serials = len(versions), len(serials)
	if len(versions) > 0 {
		e.truth = slices.MaxFunc(versions, func(a, b *version) int {
			return cmp.Or(
				newer(a.serial, b.serial),
				cmp.Compare(a.count, b.count),
				strings.Compare(a.observation.key(), b.observation.key()),
			)
		}).observation
	}
}

// sortOut notes why a server does not count.
func (e *evidence) sortOut(s *authServer) {
	switch {
	case errors.Is(s.err, resolver.ErrNoIPv6):
	case errors.Is(s.err, errNotFollowed):
		e.notFollowed = true
	case s.hop.Reply != nil && s.hop.Reply.Rcode != dns.RcodeServerFailure:
		e.notServing = append(e.notServing, s)
	default:
		e.silent = append(e.silent, s)
	}
}

// newer compares serial numbers (RFC 1982 section 3.2); one that is not known is older than any.
func newer(a, b *uint32) int {
	switch {
	case a != nil && b != nil:
		return cmp.Compare(int32(*a-*b), 0)
	case a != nil:
		return 1
	case b != nil:
		return -1
	}
	return 0
}

// majority returns the answer of most resolvers.
func (e *evidence) majority() observation {
	counts, best := map[string]int{}, observation{}
	for _, s := range e.probes {
		if s.reply == nil || !s.observation.answered {
			continue
		}
		k := s.observation.key()
		if counts[k]++; !best.answered || counts[k] > counts[best.key()] {
			best = s.observation
		}
	}
	return best
}

// compare returns how an answer compares with what is right.
func (s *probe) compare(right observation) Status {
	switch {
	case errors.Is(s.err, resolver.ErrTimeout):
		return TimedOut
	case s.err != nil:
		return Failed
	case s.reply.Rcode == dns.RcodeServerFailure:
		return ServFail
	case s.reply.Rcode == dns.RcodeRefused:
		return Refused
	case !s.observation.answered:
		return Failed
	case s.observation.same(right):
		return Match
	case s.reply.Rcode == dns.RcodeNameError:
		return NXDomain
	case len(s.observation.values) == 0:
		return NoData
	default:
		return Mismatch
	}
}

// answered reports whether a resolver gave a usable answer.
func (s *probe) answered() bool {
	return s.filtered == "" && slices.Contains([]Status{Match, Mismatch, NXDomain, NoData}, s.status)
}

// filteredBy describes how a resolver filters the answer on purpose: by an extended error (RFC 8914 sections 4.16 to
// 4.18), or by the unspecified address.
func filteredBy(m *dns.Msg, got, right observation) string {
	if why := dnsmsg.Filtered(m); why != "" {
		return why
	}
	for _, null := range []string{"0.0.0.0", "::"} {
		if slices.Equal(got.values, []string{null}) && !slices.Contains(right.values, null) {
			return "the address " + null
		}
	}
	return ""
}

// remark returns a resolver's note on its answer, or why it gave no answer.
func (s *probe) remark() string {
	if s.status == TimedOut {
		return "no response"
	}
	if s.err != nil {
		return diag.Reason(s.err)
	}
	if s.filtered != "" {
		return s.filtered
	}
	var texts []string
	if s.status == Failed {
		texts = append(texts, "the reply is "+dnsmsg.RcodeName(s.reply.Rcode))
	}
	for _, x := range dnsmsg.ExtendedErrors(s.reply) {
		if len(texts) < 4 {
			texts = append(texts, dnsmsg.ExtendedText(x))
		}
	}
	return strings.Join(texts, "; ")
}
