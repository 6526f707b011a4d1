package mtasts

import (
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// version is the only version of both the record and the policy (RFC 8461 sections 3.1 and 3.2).
const version = "STSv1"

// maxIDLength bounds an id, in characters (RFC 8461 section 3.1).
const maxIDLength = 32

const (
	badID taglist.Kind = "bad id"
	noID  taglist.Kind = "no id"
)

// A Record is the TXT record that announces a policy (RFC 8461 section 3.1).
type Record struct {
	ID         string      // 1 to 32 letters and digits; changes with the policy
	Extensions []Extension // further fields, in order
}

// An Extension is a field that RFC 8461 does not define and that senders ignore.
type Extension struct {
	Name  string
	Value string
}

// String returns the text of the record, such as "v=STSv1; id=1;".
func (r Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "v=%s; id=%s;", version, r.ID)
	for _, x := range r.Extensions {
		fmt.Fprintf(&b, " %s=%s;", x.Name, x.Value)
	}
	return b.String()
}

// ParseRecord reads the text of a record. The error is a *[SyntaxError]: senders treat a domain whose
// record is not valid as one without MTA-STS.
func ParseRecord(text string) (Record, error) {
	list := format.Parse(text)
	record := readRecord(&list)
	if faults := list.Errors(); len(faults) > 0 {
		return Record{}, &SyntaxError{"record", faults}
	}
	return record, nil
}

// format is that of the record (RFC 8461 section 3.1).
var format = taglist.Format{
	Protocol: "MTA-STS", Version: version, Readers: "Senders", Fields: true,
	Tags: []taglist.Definition{
		{Name: "v", Description: "Version of the record"},
		{Name: "id", Description: "Changes with the policy"},
	},
}

func readRecord(l *taglist.List) Record {
	var r Record
	for _, t := range l.Extensions() {
		r.Extensions = append(r.Extensions, Extension{t.Name, t.Value})
	}
	switch id, ok := l.Tag("id"); {
	case !ok:
		l.Add(taglist.Fault{Kind: noID, Text: "the record has no id", Length: len(l.Text)})
	case !validID(id.Value):
		l.Add(taglist.Fault{
			Kind: badID, Offset: id.ValueOffset, Length: len(id.Value),
			Text: fmt.Sprintf("the id %.100q is not 1 to %d letters and digits", id.Value, maxIDLength),
		})
	default:
		r.ID = id.Value
	}
	return r
}

func validID(s string) bool {
	return s != "" && len(s) <= maxIDLength && strings.IndexFunc(s, notAlphanumeric) < 0
}

// A SyntaxError says why a record or a policy is not valid.
type SyntaxError struct {
	What   string   // record or policy
	Faults []string // at least one, in order
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parsing the MTA-STS %s: %s", e.What, strings.Join(e.Faults, "; "))
}

// idLayout is the form of the ids in RFC 8461: the time of the last change.
const idLayout = "20060102T150405"

// newRecord returns a record for a policy that changed at a time.
func newRecord(changed time.Time) Record { return Record{ID: changed.UTC().Format(idLayout)} }
