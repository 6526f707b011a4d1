package diag

import (
	"strings"
	"time"

	"github.com/miekg/dns"
)

// RecordLookup is the part shared by all reports on a single DNS record, such as SPF or DMARC.
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

// Held returns how long resolvers cache the record, in seconds; 0 without a record.
func (l RecordLookup) Held() int64 {
	if l.TTL == nil {
		return 0
	}
	return int64(*l.TTL)
}

// Subject returns the domain that was asked about.
func (l RecordLookup) Subject() string { return l.Domain.String() }

// Owner returns the name at which the record was looked up, and the records of that kind found there.
func (l RecordLookup) Owner() (name string, records []string) { return l.RecordName, l.Records }

// Published returns the record if there is exactly one, otherwise the empty string.
func (l RecordLookup) Published() string { return l.Record }

// NewRecordLookup returns the shared part of a report. Records are those texts of the answer that are of the
// kind looked for.
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
