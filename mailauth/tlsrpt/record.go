package tlsrpt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

// format is that of the record (RFC 8460 section 3).
var format = taglist.Format{
	Protocol: "TLSRPT", Version: "TLSRPTv1", Readers: "Senders", Fields: true,
	Tags: []taglist.Definition{
		{Name: "v", Description: "Version of the record"},
		{Name: "rua", Description: "Addresses to which reports go"},
	},
}

// A Record asks for reports.
type Record struct {
	RUA        []string      // URIs of mailto or https, at least one
	Extensions []taglist.Tag // fields that RFC 8460 does not define, and that senders ignore
}

// ErrNoRecord means that no text could be a record.
var ErrNoRecord = errors.New("there is no TLSRPT record")

// Find returns the record that senders use of those at a name. The error says why there is none: of several records
// they use none (RFC 8460 section 3).
func Find(answer []*dns.TXT) (Record, error) {
	switch found := format.Find(answer); {
	case len(found.Records) == 1:
		return read(&found.List)
	case len(found.Records) > 1:
		return Record{}, fmt.Errorf("there are %d TLSRPT records, and senders use none of them", len(found.Records))
	case len(found.Strays) > 0:
		return Record{}, errors.New("senders ignore what looks like a TLSRPT record: " + found.Strays[0].Why)
	default:
		return Record{}, ErrNoRecord
	}
}

// ParseRecord reads the text of a record.
func ParseRecord(text string) (Record, error) {
	l := format.Parse(text)
	return read(&l)
}

// The faults of the addresses.
const (
	noRUA  taglist.Kind = "no rua"
	badRUA taglist.Kind = "rua"
)

func read(l *taglist.List) (Record, error) {
	r := Record{RUA: kit.Map(addresses(l), func(a address) string { return a.Text }), Extensions: l.Extensions()}
	if faults := l.Errors(); len(faults) > 0 {
		return Record{}, errors.New("the TLSRPT record is not valid: " + strings.Join(faults, "; "))
	}
	return r, nil
}

type address struct {
	policy.URI
	problem string // a clause about it; empty if senders can use it
}

func (a *address) valid() bool { return a.problem == "" }

// addresses splits rua at its commas: those within a URI are written %2C (RFC 8460 section 3). It records their
// faults.
func addresses(l *taglist.List) []address {
	rua, ok := l.Tag("rua")
	switch {
	case !ok:
		l.Add(taglist.Fault{Kind: noRUA, Text: "the record has no rua", Length: len(l.Text)})
		return nil
	case rua.Value == "":
		l.Add(taglist.Fault{Kind: noRUA, Text: "rua has no value", Offset: rua.Offset, Length: rua.Length})
		return nil
	}
	var list []address
	at := rua.ValueOffset
	for part := range strings.SplitSeq(rua.Value, ",") {
		a := readAddress(strings.Trim(part, " \t"))
		a.Offset, a.Length = at+strings.Index(part, a.Text), len(a.Text)
		at += len(part) + 1
		f := taglist.Fault{Kind: badRUA, Offset: a.Offset, Length: a.Length}
		switch {
		case a.Text == "":
			f.Text = "there is a comma in rua without an address beside it"
			l.Add(f)
			continue
		case !a.valid():
			f.Text = fmt.Sprintf("%q in rua %s", phrase.Quote(a.Text), a.problem)
			l.Add(f)
		}
		list = append(list, a)
	}
	return list
}

// readAddress reads one URI. It has the characters of RFC 3986, a comma and an exclamation mark encoded (RFC 8460
// section 3).
func readAddress(text string) address {
	a := address{URI: policy.ParseURI(text)}
	switch {
	case strings.Contains(text, "!"):
		a.problem = "has an exclamation mark: TLSRPT knows no size limit, and in a URI the character is written %21"
	case !a.Valid():
		a.problem = a.Problem()
	case a.Scheme != "mailto" && a.Scheme != "https":
		a.problem = fmt.Sprintf("has the scheme %q: senders report by mailto or https only", phrase.Quote(a.Scheme))
	}
	return a
}

// The forms in which the parts of broken records are written.
var (
	versionLike = kit.Regexp(`(?i)^\s*(?:v(?:ersion)?\s*[=:]*\s*)?tls[\s_-]*rpt[\s_-]*v?1?(?:[\s,.:]+|$|\b)`)
	ruaInside   = kit.Regexp(`(?i)[\s,]+rua\s*=`)
)

// correct returns the corrected record, with every published destination. It is empty if a destination is unknown, or
// if no correction is needed.
func (e *evidence) correct() string {
	texts := e.found.Sources(&e.elsewhere)
	d := policy.Draft{{Tag: "v", Value: format.Version}, {Tag: "rua"}}
	for _, text := range texts {
		if !meant(&d, text) {
			return ""
		}
	}
	s := d.String()
	if len(texts) == 0 || d[1].Value == "" || e.valid() && same(s, texts[0]) {
		return ""
	}
	if _, err := ParseRecord(s); err != nil || len(s) > dnsmsg.MaxTXTString || !keepsDestinations(d[1].Value, texts) {
		return ""
	}
	return s
}

// asPublished returns a valid record in the form in which it should be published at another name; empty if it is not
// valid.
func asPublished(record string) string {
	if _, err := ParseRecord(record); err != nil {
		return ""
	}
	e := evidence{found: format.Read(record)}
	e.addresses = addresses(&e.found.List)
	return cmp.Or(e.correct(), record)
}

// keepsDestinations reports whether no destination of the texts is missing in rua.
func keepsDestinations(rua string, texts []string) bool {
	for _, text := range texts {
		l := format.Parse(text)
		for _, a := range addresses(&l) {
			kept := func(uri string) bool { return strings.EqualFold(uri, a.Text) }
			if a.valid() && !slices.ContainsFunc(strings.Split(rua, ","), kept) {
				return false
			}
		}
	}
	return true
}

// same reports whether two records differ only in parts that senders ignore.
func same(a, b string) bool {
	squeeze := func(s string) string { return strings.TrimSuffix(strings.Join(strings.Fields(s), ""), ";") }
	return squeeze(a) == squeeze(b) && !blankVersion(a) && !blankVersion(b)
}

// blankVersion reports whether white space follows the version, which some senders do not expect.
func blankVersion(record string) bool { return !strings.HasPrefix(record, "v="+format.Version+";") }

// meant adds the intended contents of a text, which may be broken, to a draft. It reports false if something would be
// lost: an unreadable destination, or a text that is not a field.
func meant(d *policy.Draft, text string) bool {
	last := ""
	for _, piece := range taglist.Pieces(policy.RestoreColons(text), versionLike(), ruaInside()) {
		piece = strings.TrimRight(piece, " \t,")
		name, value, ok := strings.Cut(piece, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch meant := phrase.Nearest(name, "rua", "v"); {
		case strings.EqualFold(name, "v") && ok:
			return false // a second version
		case last == "rua" && strings.Contains(piece, "@") && !(ok && format.ValidName(name)):
			name, value = "rua", piece // a semicolon instead of a comma
		case !ok:
			return false
		case meant == "rua" && !strings.EqualFold(name, "ruf"): // which DMARC defines
			name = meant
		}
		if last = name; !assign(d, name, value) {
			return false
		}
	}
	return true
}

func assign(d *policy.Draft, name, value string) bool {
	before, repeated := d.Get(name)
	if name != "rua" {
		if !repeated {
			d.Set(name, value)
		}
		return format.ValidName(name) && value != ""
	}
	list, ok := policy.RestoreURIs(strings.ReplaceAll(value, "\t", " "))
	if !ok || slices.ContainsFunc(list, func(uri string) bool { return readAddress(uri).problem != "" }) {
		return false
	}
	if before != "" {
		list = append(strings.Split(before, ","), list...)
	}
	d.Set("rua", strings.Join(policy.UniqueURIs(list), ","))
	return true
}
