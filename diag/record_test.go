package diag

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestRecordLookup(t *testing.T) {
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600))
	d := MustDomain("bücher.example")
	m := reply(t, "_dmarc.xn--bcher-kva.example. 60 CNAME d.example.", `d.example. 300 TXT "v=DMARC1"`)
	m.AuthenticatedData = true
	tests := []struct {
		name     string
		resolver Resolver
		records  []string
		want     string
	}{
		{"one record", scripted{msg: m}, []string{"v=DMARC1; \xff"}, `{
			"domain": "xn--bcher-kva.example", "domain_unicode": "bücher.example",
			"record_name": "_dmarc.xn--bcher-kva.example", "found": true, "record": "v=DMARC1; \ufffd",
			"records": ["v=DMARC1; \ufffd"], "rcode": "NOERROR", "ttl": 60, "cname_chain": ["d.example"],
			"dnssec_status": "secure", "checked_at": "2026-11-20T11:00:00Z", "duration_ms": 1500}`},
		{"two records", scripted{msg: m}, []string{"a", "b"}, `{
			"domain": "xn--bcher-kva.example", "domain_unicode": "bücher.example",
			"record_name": "_dmarc.xn--bcher-kva.example", "found": true, "records": ["a", "b"],
			"rcode": "NOERROR", "ttl": 60, "cname_chain": ["d.example"], "dnssec_status": "secure",
			"checked_at": "2026-11-20T11:00:00Z", "duration_ms": 1500}`},
		{"records of another kind", scripted{msg: m}, nil, `{
			"domain": "xn--bcher-kva.example", "domain_unicode": "bücher.example",
			"record_name": "_dmarc.xn--bcher-kva.example", "found": false, "records": [],
			"rcode": "NOERROR", "cname_chain": ["d.example"], "dnssec_status": "secure",
			"checked_at": "2026-11-20T11:00:00Z", "duration_ms": 1500}`},
		{"silence", scripted{err: errors.New("nobody there")}, nil, `{
			"domain": "xn--bcher-kva.example", "domain_unicode": "bücher.example",
			"record_name": "_dmarc.xn--bcher-kva.example", "found": false, "records": [],
			"cname_chain": [], "dnssec_status": "indeterminate",
			"checked_at": "2026-11-20T11:00:00Z", "duration_ms": 1500}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Lookup[*dns.TXT](t.Context(), &Env{Resolver: tt.resolver}, d.Sub("_DMARC"))
			text, err := json.Marshal(NewRecordLookup(d.Name(), a, tt.records, began, began.Add(1500*time.Millisecond)))
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text))
		})
	}
	backwards := NewRecordLookup(d.Name(), Answer[*dns.TXT]{}, nil, began, began.Add(-time.Second))
	require.Zero(t, backwards.DurationMS, "a clock that was set back")
}
