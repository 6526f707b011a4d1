package diag

import (
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// MaxTXTString is the length of a character-string of the DNS, in bytes (RFC 1035 section 3.3).
const MaxTXTString = 255

// TXT returns the text of a TXT record: its character-strings joined without a separator, as bytes
// (RFC 7208 section 3.3).
func TXT(r *dns.TXT) string {
	if len(r.Txt) == 1 {
		return unescape(r.Txt[0])
	}
	return strings.Join(TXTStrings(r), "")
}

// TXTStrings returns the character-strings of a TXT record as bytes.
func TXTStrings(r *dns.TXT) []string {
	list := make([]string, len(r.Txt))
	for i, s := range r.Txt {
		list[i] = unescape(s)
	}
	return list
}

// SplitTXT returns the character-strings of a text as people paste it: those in quotes, if it is in the form of a zone
// file (RFC 1035 section 5.1), else the text itself, cut into strings that fit. There is at least one.
func SplitTXT(text string) []string {
	if quoted := unquote(strings.TrimSpace(text)); quoted != nil {
		return quoted
	}
	var list []string
	for len(text) > MaxTXTString {
		list, text = append(list, text[:MaxTXTString]), text[MaxTXTString:]
	}
	return append(list, text)
}

// zoneLine begins a TXT record in a zone file whose strings are in quotes: a name, perhaps a TTL and a class, the type.
var zoneLine = kit.Regexp(`(?i)^\s*[^\s"]+\s+(?:[0-9]+[smhdw]?\s+)?(?:IN\s+)?(?:[0-9]+[smhdw]?\s+)?TXT\s*[("]`)

// PastedTXT is [SplitTXT] for a text that may also be a whole TXT record of a zone file with its name, as key generators
// write it; line says that it is one.
func PastedTXT(text string) (parts []string, line bool) {
	if zoneLine().MatchString(text) {
		zone := dns.NewZoneParser(strings.NewReader(strings.TrimSpace(text)+"\n"), ".", "") // which includes no files
		zone.SetDefaultTTL(0)
		if rr, _ := zone.Next(); rr != nil {
			if r, ok := rr.(*dns.TXT); ok && zone.Err() == nil {
				return TXTStrings(r), true
			}
		}
	}
	return SplitTXT(text), false
}

// unquote returns the strings of a text that is nothing but strings in quotes, else nil.
func unquote(text string) []string {
	var list []string
	for text != "" {
		if text[0] != '"' {
			return nil
		}
		end := 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			return nil
		}
		list = append(list, unescape(text[1:end]))
		text = strings.TrimSpace(text[end+1:])
	}
	return list
}

// unescape undoes the presentation format of the DNS library (RFC 1035 section 5.1).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if d := s[i+1:]; len(d) >= 3 && areDigits(d[:3]) {
			b.WriteByte((d[0]-'0')*100 + (d[1]-'0')*10 + d[2] - '0')
			i += 3
			continue
		}
		i++
		b.WriteByte(s[i])
	}
	return b.String()
}

func areDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// RecordLookup is the part that all reports on one record in the DNS share.
type RecordLookup struct {
	Domain        Name         `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string       `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	RecordName    string       `json:"record_name" doc:"where the record was looked for"`
	Found         bool         `json:"found" doc:"whether there is such a record"`
	Record        string       `json:"record,omitempty" doc:"the record, if there is exactly one"`
	Records       []string     `json:"records" doc:"all records of the kind at that name"`
	Rcode         string       `json:"rcode,omitempty" doc:"reply code of the DNS, if a reply came"`
	TTL           *uint32      `json:"ttl,omitempty" doc:"time to live in seconds, if there is such a record"`
	CNAMEChain    []string     `json:"cname_chain" doc:"aliases that were followed"`
	DNSSEC        DNSSECStatus `json:"dnssec_status" doc:"what is known of the authenticity of the answer"`
	Timing
}

// Held is how long resolvers cache the record, in seconds; 0 without a record.
func (l RecordLookup) Held() int64 {
	if l.TTL == nil {
		return 0
	}
	return int64(*l.TTL)
}

// Subject is the domain that was asked about.
func (l RecordLookup) Subject() string { return l.Domain.String() }

// Owner is the name at which the record was looked for, and the records of the kind that are there.
func (l RecordLookup) Owner() (name string, records []string) { return l.RecordName, l.Records }

// Published is the record, if there is exactly one: what reports on a record have in common.
func (l RecordLookup) Published() string { return l.Record }

// NewRecordLookup fills the shared part of a report from the answer to the question for the record
// and from those of its texts that are of the kind looked for.
func NewRecordLookup[R dns.RR](d Name, a Answer[R], records []string, began, ended time.Time) RecordLookup {
	l := RecordLookup{
		Domain: d, DomainUnicode: d.UnicodeIfDifferent(),
		RecordName: strings.TrimSuffix(dns.CanonicalName(a.Name), "."), Found: len(records) > 0, Records: []string{},
		Rcode: a.RcodeName(), CNAMEChain: []string{}, DNSSEC: a.DNSSEC(), Timing: NewTiming(began, ended),
	}
	for _, r := range records {
		l.Records = append(l.Records, strings.ToValidUTF8(r, "\uFFFD"))
	}
	if len(records) == 1 {
		l.Record = l.Records[0]
	}
	if l.Found {
		l.TTL = new(a.TTL)
	}
	for _, alias := range a.Aliases {
		l.CNAMEChain = append(l.CNAMEChain, strings.TrimSuffix(alias, "."))
	}
	return l
}
