package overlay

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// Limits of a zone file.
const (
	MaxSize    = 4 << 20 // bytes; twice as many for the records written in full, after $GENERATE
	MaxRecords = 50_000
)

// defaultTTL holds for records before the first $TTL or explicit TTL, as that of most providers.
const defaultTTL = 3600

// A SyntaxError is an error in a zone file.
type SyntaxError struct {
	File string
	Line int // 0 means the file as a whole
	Text string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// A Warning is about a record that name servers ignore.
type Warning struct {
	Line int
	Text string
}

// signing are the types of records that signers make when a zone is published. Those in a file are left out: they
// belong to the version that was signed last, and what the keys will be is not known.
var signing = []uint16{dns.TypeDNSKEY, dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM}

// Parse parses a zone file (RFC 1035 section 5) as used by BIND and written by DNSControl and octoDNS,
// without $INCLUDE. Its lines are relative to the name in the file name (example.com for example.com.zone,
// db.example.com and example.com.db), or else to origin, until the first $ORIGIN. The name of the zone is
// that of its SOA record or, without one, the first of these that exists: an $ORIGIN that is not below the
// name in the file name, that name, and origin. The error is a *[SyntaxError].
func Parse(text, origin, filename string) (*Zone, error) {
	z := &Zone{File: cmp.Or(filename, "zone")}
	wrong := func(line int, format string, args ...any) (*Zone, error) {
		return nil, &SyntaxError{z.File, line, fmt.Sprintf(format, args...)}
	}
	if len(text) > MaxSize {
		return wrong(0, "the file has more than %d bytes", MaxSize)
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n") + "\n"
	base := cmp.Or(nameOf(filename), origin)
	if base != "" {
		base = dns.CanonicalName(base)
	}
	in := &lines{Reader: strings.NewReader(text), line: 1}
	p := dns.NewZoneParser(in, base, "")
	p.SetDefaultTTL(defaultTTL)
	size := 0
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		written := rr.String()
		size += len(written)
		// The parser takes records without data, as of updates, and leaves names as they are escaped.
		again, err := dns.NewRR(written)
		switch {
		case in.Len() == 0 && in.start > 0:
			return wrong(in.start, "a parenthesis or quotation mark is not closed")
		case len(z.Records) == MaxRecords:
			return wrong(in.done, "there are more than %d records", MaxRecords)
		case dns.Len(rr) > math.MaxUint16:
			return wrong(in.done, "the record does not fit into a message")
		case size > 2*MaxSize: // names are written in full
			return wrong(in.done, "there are more than %d bytes of records", 2*MaxSize)
		case err != nil || again == nil || again.String() != written:
			return wrong(in.done, "the data of the record is not valid")
		}
		h := again.Header()
		h.Name = dns.CanonicalName(h.Name)
		if h.Class != dns.ClassINET {
			z.warn(in.done, "the record is not of class IN")
			continue
		}
		z.Records = append(z.Records, Record{again, in.done})
	}
	if err := p.Err(); err != nil {
		what, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "dns: "), " at line: ")
		return wrong(cmp.Or(in.start, in.done, 1), "%s", strings.ToValidUTF8(what, "\uFFFD"))
	}
	if z.Name = z.named(text, base); z.Name == "" {
		return wrong(0, "the name of the zone is not known: begin the file with $ORIGIN, or name it as in example.com.zone")
	}
	if err := z.settle(); err != nil {
		return nil, err
	}
	z.build()
	return z, nil
}

func (z *Zone) warn(line int, format string, args ...any) {
	z.Warnings = append(z.Warnings, Warning{line, fmt.Sprintf(format, args...)})
}

// firstOrigin finds the first $ORIGIN with an absolute name.
var firstOrigin = regexp.MustCompile(`(?mi)^\$ORIGIN[ \t]+(\S+\.)[ \t]*(?:;.*)?$`)

func (z *Zone) named(text, base string) string {
	for _, r := range z.Records {
		if r.RR.Header().Rrtype == dns.TypeSOA {
			return r.RR.Header().Name
		}
	}
	m := firstOrigin.FindStringSubmatch(text)
	if m != nil && (base == "" || !dns.IsSubDomain(base, dns.CanonicalName(m[1]))) {
		return dns.CanonicalName(m[1])
	}
	return base
}

// settle leaves out what no name server serves, and refuses what none loads.
func (z *Zone) settle() error {
	types := map[string]map[uint16]int{}
	var err error
	refuse := func(r Record, format string, args ...any) {
		err = cmp.Or(err, error(&SyntaxError{z.File, r.Line, fmt.Sprintf(format, args...)}))
	}
	z.Records = slices.DeleteFunc(z.Records, func(r Record) bool {
		h := r.RR.Header()
		name := strings.TrimSuffix(h.Name, ".")
		if !dns.IsSubDomain(z.Name, h.Name) {
			z.warn(r.Line, "%s is outside the zone %s and will not be served", name, strings.TrimSuffix(z.Name, "."))
			return true
		}
		if slices.Contains(signing, h.Rrtype) {
			return true
		}
		if types[h.Name] == nil {
			types[h.Name] = map[uint16]int{}
		}
		at := types[h.Name]
		at[h.Rrtype]++
		switch {
		case h.Rrtype == dns.TypeSOA && h.Name != z.Name:
			refuse(r, "%s has an SOA record, and the zone is %s", name, strings.TrimSuffix(z.Name, "."))
		case h.Rrtype == dns.TypeSOA && at[dns.TypeSOA] > 1:
			refuse(r, "the zone has more than one SOA record")
		case at[dns.TypeCNAME] > 1: // RFC 2181 section 10.1
			refuse(r, "%s has more than one CNAME record", name)
		case at[dns.TypeCNAME] > 0 && len(at) > 1: // RFC 1034 section 3.6.2
			refuse(r, "%s has a CNAME record and other records", name)
		}
		return false
	})
	return err
}

// affixes are the usual prefixes and suffixes of a zone's name in a file name.
var affixes = regexp.MustCompile(`(?i)^(?:db|named|pri|master)\.|\.(?:zone|db|hosts|dns|txt|bind)\.?$`)

// nameOf returns the name of the zone in a file name, or the empty string.
func nameOf(filename string) string {
	name := affixes.ReplaceAllString(path.Base(strings.ReplaceAll(filename, `\`, "/")), "")
	name = strings.TrimSuffix(name, ".")
	n, err := diag.ParseName(name)
	if err != nil || !strings.Contains(name, ".") || strings.HasPrefix(name, ".") {
		return ""
	}
	return dns.CanonicalName(n.FQDN())
}

// lines hands a text to the parser byte by byte, and notes at which lines entries begin: the parser reads no further
// than to the end of the entry that it returns.
type lines struct {
	*strings.Reader
	line        int
	start, done int // the lines where this entry and the last complete one begin; start is 0 between entries
	depth       int // of parentheses

	quoted, escaped, comment bool
}

// ReadByte implements [io.ByteReader], which the parser prefers to Read.
func (l *lines) ReadByte() (byte, error) {
	c, err := l.Reader.ReadByte()
	switch {
	case err != nil:
		return 0, err
	case c == '\n':
		if l.depth <= 0 && !l.quoted && l.start > 0 {
			l.done, l.start, l.depth = l.start, 0, 0
		}
		l.comment, l.escaped = false, false
		l.line++
		return c, nil
	case l.comment, c == ' ' || c == '\t':
		l.escaped = false
		return c, nil
	case l.escaped:
		l.escaped = false
	case c == '\\':
		l.escaped = true
	case c == '"':
		l.quoted = !l.quoted
	case l.quoted:
	case c == ';':
		l.comment = true
		return c, nil
	case c == '(':
		l.depth++
	case c == ')':
		l.depth--
	}
	if l.start == 0 {
		l.start = l.line
	}
	return c, nil
}
