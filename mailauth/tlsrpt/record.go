package tlsrpt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/mailauth/taglist"
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

// ErrNoRecord says that there is nothing that could be a record.
var ErrNoRecord = errors.New("there is no TLSRPT record")

// Find returns the record that senders use of those at a name. The error says why there is none: of several
// they use none, either (RFC 8460 section 3).
func Find(answer []*dns.TXT) (Record, error) {
	switch found := format.Find(answer); {
	case len(found.Records) == 1:
		return read(&found.List)
	case len(found.Records) > 1:
		return Record{}, fmt.Errorf("there are %d TLSRPT records, of which senders use none", len(found.Records))
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
	r := Record{Extensions: l.Extensions()}
	for _, a := range addresses(l) {
		r.RUA = append(r.RUA, a.Text)
	}
	if faults := l.Errors(); len(faults) > 0 {
		return Record{}, errors.New("the TLSRPT record is not valid: " + strings.Join(faults, "; "))
	}
	return r, nil
}
