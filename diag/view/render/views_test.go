package render_test

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// views has a view for each kind of drawing, and one whose every text is hostile.
func views() map[string]*view.View {
	return map[string]*view.View{"tree": tree(), "chain": chain(), "table": table(), "bars": bars(), "hostile": hostile(evil)}
}

func tree() *view.View {
	score := 62
	v := &view.View{Subject: "example.com", State: "invalid", Score: &score, Headline: "SPF needs 12 DNS lookups, 2 more than allowed",
		Sub: "Receivers return permerror, and mail fails SPF.", Record: "v=spf1 include:_spf.mail.example include:old.example.net ~all"}
	v.Judged([]diag.Finding{
		{Code: "spf.lookups.exceeded", Severity: diag.Error, Title: "More than 10 DNS lookups", Detail: "The record and what it includes need 12 lookups.",
			Advice: "Remove an include.", Reference: "RFC 7208 section 4.6.4", Location: &diag.Location{Offset: 33, Length: 23}},
		{Code: "spf.all.softfail", Severity: diag.Info, Title: "Ends in ~all", Detail: "~all marks mail and does not refuse it.", Advice: "Publish -all.", Reference: "RFC 7208 section 5.1"},
	})
	v.Steps = []view.Step{{Code: "spf.lookups.exceeded", Severity: diag.Error, Text: "Remove what is not used.", Name: "example.com.", Type: "TXT",
		Value: "v=spf1 include:_spf.mail.example -all"}, {Text: "Ask 1. the owner (of example.net) & wait."}}
	v.Passed = []diag.Check{{Code: "spf.record.single", Label: "There is one SPF record"}}
	v.Fact("record", v.Record)
	v.Fact("lookups", "12 of 10", "spf.lookups")
	v.Fact("hosts", "1024 IPv4 hosts, 2 IPv6 networks")
	v.Fact("all others", "~all: softfail", "spf.all")
	d := v.Rows(view.Tree, "Records and their lookups", "record", "lookups", "addresses")
	d.Node(0, view.Error, "", "example.com", "12", "1024 IPv4 hosts")
	d.Node(1, view.None, "", "_spf.mail.example", "3", "512 IPv4 hosts")
	d.Node(2, view.None, "", "_netblocks.mail.example", "0", "256 IPv4 hosts")
	d.Node(2, view.Info, "adds nothing to _netblocks.mail.example", "_netblocks2.mail.example", "0", "256 IPv4 hosts")
	d.Node(1, view.Warning, "no answer: the name server of the zone was asked three times and did not reply within five seconds each time",
		"old.example.net", "7", "512 IPv4 hosts")
	d.Node(2, view.Error, "leads back to a record above", "redirect to example.com", "1", "")
	return v
}

func chain() *view.View {
	v := view.Answer("www.example.com", "The chain of trust holds from the root to www.example.com")
	v.State = "valid"
	v.Fact("signed with", "ECDSAP256SHA256")
	v.Fact("signatures end", "in 12 days (2026-12-08)")
	d := v.Rows(view.Chain, "Chain of trust")
	d.Marked(view.Good, "", ".", "DNSKEY 20326, 38696")
	d.Marked(view.Good, "", "com.", "DS 19718 · DNSKEY 19718")
	d.Marked(view.Warning, "SHA-1 digest beside SHA-256", "example.com.", "DS 370 · DNSKEY 370")
	d.Row("www.example.com.", "A signed by 370")
	return v
}

func table() *view.View {
	v := view.Answer("日本語.example", "2 of 3 mail servers answer with TLS")
	v.State, v.Partial = "warning", true
	v.Judged([]diag.Finding{{Code: "smtp.tls.missing", Severity: diag.Warning, Title: "No STARTTLS", Detail: "Mail is sent in the clear.", Target: "mx3.example.com",
		Advice: "Offer STARTTLS.", Reference: "RFC 3207"}, {Code: "smtp.tls.missing", Severity: diag.Warning, Title: "No STARTTLS", Detail: "As above.", Target: "mx4.example.com"}})
	v.Advise()
	v.Fact("hosts", "3", "smtp.tls")
	d := v.Rows(view.Table, "Mail servers", "host", "TLS", "banner")
	d.Marked(view.Good, "", "mx1.example.com", "1.3", "220 mx1 ESMTP | ready")
	d.Marked(view.Unknown, "did not answer", "メール.日本語.example", "", "")
	d.Marked(view.Warning, "no STARTTLS", "mx3.example.com", "none", "220 `mx3` <ready>")
	return v
}

func bars() *view.View {
	v := view.Answer("Report of google.com", "9,812 messages, 97 % pass DMARC")
	v.Fact("from", "2026-11-01 to 2026-11-02")
	d := v.Rows(view.Bars, "Sources", "address", "messages")
	d.Bar(9500, view.Good, "192.0.2.1", "9,500")
	d.Bar(300, view.Critical, "198.51.100.77", "300")
	d.Bar(12, view.None, "2001:db8::25", "12")
	return v
}

// evil has what terminals, browsers and trackers obey.
const evil = "\x1b]0;x\a\x1b[31m\x1b[0m</title><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x\n\n# h\r\n- [x](javascript:a) ![i](//e.example/i.png)" +
	" @team #12 GH-7 deadbeef1 www.evil.example https://evil.example a@evil.example /close ```` ``` ~~~ <!-- --> ]]> &lt; | \u202e \x9b \ufffe"

// hostile has a text in each of its places.
func hostile(s string) *view.View {
	v := view.Answer(s, s)
	v.State, v.Sub, v.Brief, v.Record = diag.State(s), s, s, s
	f := diag.Finding{Code: diag.Code(s), Severity: diag.Error, Title: s, Detail: s, Target: s, Advice: s, Reference: s, Location: &diag.Location{Offset: len(s) / 3, Length: len(s) / 3}}
	better := f
	better.Severity = diag.Info
	v.Judged([]diag.Finding{f, better})
	v.Steps = []view.Step{{Code: diag.Code(s), Text: s, Value: s}, {Text: s, Name: s, Type: "TXT", Value: s}}
	v.Passed = []diag.Check{{Code: diag.Code(s), Label: s}}
	v.Facts = []view.Fact{{Label: s, Value: s, Code: diag.Code(s), Mark: view.Mark(s)}}
	v.Drawing = &view.Drawing{Kind: view.Table, Title: s, Columns: []string{s, s}, Rows: []view.Row{{Cells: []string{s, s, s}, Mark: view.Error, Note: s}, {Cells: nil, Mark: view.Mark(s)}}}
	return v
}
