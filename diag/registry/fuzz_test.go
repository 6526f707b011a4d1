package registry

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

// For any response of a server, the report is bounded, valid and printable.
func FuzzParseObject(f *testing.F) {
	f.Add(good)
	f.Add(detailed)
	f.Add(network)
	f.Add(`{"entities": [{"entities": [{"entities": [{"entities": [{"entities": []}]}]}]}], "events": {}, "status": "x"}`)
	f.Add(`{"startAddress": "::", "endAddress": "ffff::", "cidr0_cidrs": [{"v6prefix": "::", "length": -5}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parseObject([]byte(text))
		if err != nil {
			if o != nil {
				t.Error("both an object and an error")
			}
			return
		}
		if len(o.entities) > maxEntities || len(o.nameservers) > maxList || len(o.cidrs) > maxList {
			t.Error("there is more than the limits allow")
		}
		for _, e := range o.entities {
			if e.depth >= maxDepth {
				t.Error("entities are too deep")
			}
		}
		e := &domainEvidence{outcome: found, protocol: RDAP, now: time.Unix(0, 0), facts: factsOfObject(o)}
		e.domain = diag.MustDomain("example.com")
		printable(t, e.report(false, e.now))
		ip := &ipEvidence{outcome: found, source: FromRDAP, facts: factsOfNetwork(o, o), ip: diag.MustIP("192.0.2.1")}
		printable(t, ip.report(false, e.now))
	})
}

// printable fails the test if a report cannot be written as JSON.
func printable(t *testing.T, report any) {
	t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(text) || strings.Contains(string(text), ":null") {
		t.Errorf("%s", text)
	}
}

// A property more never takes anything away, and a broken one only counts as a fault.
func FuzzParseCard(f *testing.F) {
	f.Add(`["email", {}, "text", "a@example.com"]`)
	f.Add(`["adr", {"label": "x\ny"}, "text", ["", "", "", "", "", "", ["a", "b"]]]`)
	f.Add(`["tel", {"type": ["voice"]}, "uri", "tel:+1.5555550100;ext=7"]`)
	f.Add(`[1, 2]`)
	f.Fuzz(func(t *testing.T, property string) {
		var v any
		if json.Unmarshal([]byte(property), &v) != nil {
			return
		}
		fn := []any{"fn", map[string]any{}, "text", "Example"}
		c := parseCard(node{[]any{"vcard", []any{fn, v}}})
		if c.name != "Example" || c.faults > 1 {
			t.Errorf("%+v", c)
		}
		for _, s := range append(append(c.emails, c.phones...), c.country, c.organization, c.url) {
			if !utf8.ValidString(s) || len([]rune(s)) > maxText+maxList || strings.ContainsAny(s, "\n\r") {
				t.Errorf("%q", s)
			}
		}
	})
}

// A notice of a rate limit is never read as "not registered", regardless of the text after it.
func FuzzWHOIS(f *testing.F) {
	f.Add(whoisGood)
	f.Add(whoisNetwork)
	f.Add(rpsl)
	f.Add("No match for EXAMPLE.COM\r\n")
	f.Add("Name Servers\n\n\tns.example.com 192.0.2.1\n[Created on] 2026/01/02\nRecord expires on 2026-01-02")
	f.Add("Registrant:\n\xe4\x1b$B\n\nnetrange: 0.0.0.0 - 255.255.255.255")
	f.Fuzz(func(t *testing.T, data string) {
		text := decode([]byte(data))
		if !utf8.ValidString(text) {
			t.Fatal("the text is not UTF-8")
		}
		r := readRecord(text, "example.com")
		if o := r.judge(text); o == found && r.domain != "" && !r.mine {
			t.Errorf("%s with %+v", o, r)
		}
		e := &domainEvidence{outcome: found, protocol: WHOIS, now: time.Unix(0, 0), facts: factsOfRecord(r)}
		e.domain, e.whois = diag.MustDomain("example.com"), []whoisAnswer{{"whois.example.com", text, nil}}
		printable(t, e.report(true, e.now))

		ip := netip.MustParseAddr("8.8.8.8")
		n := readNetwork(text, ip)
		if n.found && !n.size.Contains(ip) {
			t.Errorf("%v does not have %v", n.size, ip)
		}
		i := &ipEvidence{outcome: found, source: FromWHOIS, facts: n.facts, ip: diag.IP{Addr: ip}}
		printable(t, i.report(true, e.now))

		if o := judgeText("query quota exceeded\n" + text); o != limited {
			t.Errorf("a limit is taken for %s", o)
		}
	})
}

// A date is within the years that a report can have, and read the same when written again.
func FuzzParseDate(f *testing.F) {
	f.Add("2026-01-02T03:04:05.678+02:00")
	f.Add("before 30th April 2003 at 00:00:00 (JST)")
	f.Add("9999-12-31 23:59:59 (GMT-12)")
	f.Fuzz(func(t *testing.T, text string) {
		when, ok := datesOf(text).parse(text)
		if !ok {
			return
		}
		if _, err := when.MarshalText(); err != nil || when.Year() < 1900 {
			t.Errorf("%v, %v", when, err)
		}
		if again, ok := datesOf().parse(when.Format(time.RFC3339Nano)); !ok || !again.Equal(when) {
			t.Errorf("%v is read as %v", when, again)
		}
	})
}

// Printed tables parse to the same tables.
func FuzzParseBootstrap(f *testing.F) {
	f.Add(`{"dns": {"services": [[["com", "uk.com"], ["http://example.com", "https://example.com/"]]]}}`)
	f.Add(`{"ipv4": {"services": [[["8.0.0.0/8"], ["https://example.com/"]]]},
		"asn": {"services": [[["1-2", "3"], ["x:"]]]}}`)
	f.Add(`{"services": [[["8.0.0.0/8", "com", "1-2"], ["https://example.com/"]]]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBootstrap([]byte(text))
		if err != nil {
			return
		}
		printed, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBootstrap(printed)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(again)
		if err != nil || string(twice) != string(printed) {
			t.Errorf("%s is read as %s, %v", printed, twice, err)
		}
		ip := netip.MustParseAddr("8.8.8.8")
		for _, urls := range [][]string{b.forDomain("a.example.com"), b.forAddress(ip), b.forSystem(2)} {
			for _, u := range urls {
				if _, err := diag.ParseURL(u); err != nil || !strings.HasSuffix(u, "/") {
					t.Errorf("%q", u)
				}
			}
		}
	})
}
