package resolve

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

// now is the time at which records are described in tests.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestNewDNSRecord describes each record of testdata/records.zone as it comes from the wire, and
// compares with testdata/records.golden.
func TestNewDNSRecord(t *testing.T) {
	zone, err := os.ReadFile("testdata/records.zone")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	seen := []uint16{}
	parser := dns.NewZoneParser(strings.NewReader(string(zone)), ".", "records.zone")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		seen = append(seen, rr.Header().Rrtype)
		text, err := json.MarshalIndent(NewDNSRecord(wire(t, rr), now), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	if err := parser.Err(); err != nil {
		t.Fatal(err)
	}
	for _, known := range common {
		if !slices.Contains(seen, known) {
			t.Errorf("no record of type %s is described", Type(known))
		}
	}
	diagtest.Golden(t, "testdata/records.golden", []byte(out.String()))
}

// Data of bytes never reach a terminal as they are.
func TestNullData(t *testing.T) {
	null := &dns.NULL{Hdr: dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeNULL, Class: dns.ClassINET}, Data: "a\x1b[2J\n"}
	if got := NewDNSRecord(null, now); got.Type != "NULL" || got.Data != `\# 6 611b5b324a0a` {
		t.Errorf("got %+v", got)
	}
}

// wire packs and unpacks a record.
func wire(t testing.TB, rr dns.RR) dns.RR {
	t.Helper()
	buf := make([]byte, dns.Len(rr)+256)
	n, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		t.Fatalf("%s: %v", rr, err)
	}
	got, _, err := dns.UnpackRR(buf[:n], 0)
	if err != nil {
		t.Fatalf("%s: %v", rr, err)
	}
	return got
}

func TestNewDNSRecordsLeavesOut(t *testing.T) {
	opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
	a, err := dns.NewRR("example.com. A 192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := dns.NewRR("example.com. A 192.0.2.2")
	if err != nil {
		t.Fatal(err)
	}
	if got := NewDNSRecords([]dns.RR{opt, a, a, b, b}, 2, now); len(got) != 2 || got[0].Data == got[1].Data {
		t.Errorf("got %+v", got)
	}
	if got := NewDNSRecords([]dns.RR{a, b}, 1, now); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := NewDNSRecords(nil, 2, now); got == nil || len(got) != 0 {
		t.Errorf("got %#v", got)
	}
}

func TestSerialTime(t *testing.T) {
	cases := []struct {
		name    string
		seconds uint32
		now     time.Time
		want    string
	}{
		{"now", uint32(now.Unix()), now, "2026-11-20T12:00:00Z"},
		{"before the overflow, seen before", 1<<32 - 1, time.Unix(1<<32-100, 0), "2106-02-07T06:28:15Z"},
		{"after the overflow, seen before", 0, time.Unix(1<<32-100, 0), "2106-02-07T06:28:16Z"},
		{"before the overflow, seen after", 1<<32 - 1, time.Unix(1<<32+100, 0), "2106-02-07T06:28:15Z"},
		{"long ago", 0, now, "1970-01-01T00:00:00Z"},
	}
	for _, c := range cases {
		if got := SerialTime(c.seconds, c.now).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: got %s; want %s", c.name, got, c.want)
		}
	}
}

// FuzzNewDNSRecord describes whatever a hostile server sends: all texts are UTF-8, and JSON can
// express them.
func FuzzNewDNSRecord(f *testing.F) {
	zone, err := os.ReadFile("testdata/records.zone")
	if err != nil {
		f.Fatal(err)
	}
	parser := dns.NewZoneParser(strings.NewReader(string(zone)), ".", "records.zone")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		buf := make([]byte, dns.Len(rr)+256)
		if n, err := dns.PackRR(rr, buf, 0, nil, false); err == nil {
			f.Add(buf[:n])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rr, _, err := dns.UnpackRR(data, 0)
		if err != nil || rr == nil {
			return
		}
		r := NewDNSRecord(rr, now)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		// For what is no UTF-8 the encoder writes an escape that it writes for nothing else.
		escapes := strings.ReplaceAll(string(text), `\\`, "")
		if strings.Contains(escapes, `\ufffd`) {
			t.Fatalf("%s", text)
		}
	})
}
