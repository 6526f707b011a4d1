package policy

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/stretchr/testify/require"
)

const rua = "; rua=mailto:dmarc@example.com"

func TestReading(t *testing.T) {
	all := func(p Policy) Policies { return Policies{p, p, p} }
	tests := []struct {
		name, text string
		both       bool // the standards agree
		new        Policies
		old        Policies
	}{
		{"plain", "v=DMARC1; p=reject", true, all(Reject), all(Reject)},
		{"letter case of names and values", "V=DMARC1; P=Reject", true, all(Reject), all(Reject)},
		{"white space", "v = DMARC1 ;\tp =\treject ; ", true, all(Reject), all(Reject)},
		{"sp", "v=DMARC1; p=reject; sp=none", true, Policies{Reject, None, None}, Policies{Reject, None, None}},
		{"np", "v=DMARC1; p=none; np=reject", false, Policies{None, None, Reject}, all(None)},
		{"np falls back to sp", "v=DMARC1; p=none; sp=quarantine", true, Policies{None, Quarantine, Quarantine},
			Policies{None, Quarantine, Quarantine}},
		{"testing", "v=DMARC1; p=reject; sp=quarantine; t=y", false, Policies{Quarantine, None, None},
			Policies{Reject, Quarantine, Quarantine}},
		{"pct=0", "v=DMARC1; p=reject; pct=0", false, all(Reject), all(Quarantine)},
		{"p is not second", "v=DMARC1; rua=mailto:d@example.com; p=reject", false, all(Reject), all(None)},
		{"p is not second, no rua", "v=DMARC1; adkim=s; p=reject", false, all(Reject), Policies{}},
		{"no p", "v=DMARC1" + rua, true, all(None), all(None)},
		{"no p, no rua", "v=DMARC1;", true, Policies{}, Policies{}},
		{"bad p", "v=DMARC1; p=rejct" + rua, true, all(None), all(None)},
		{"bad p, bad rua", "v=DMARC1; p=rejct; rua=d@example.com", true, Policies{}, Policies{}},
		{"bad sp", "v=DMARC1; p=reject; sp=x" + rua, true, all(None), all(None)},
		{"bad np", "v=DMARC1; p=reject; np=x" + rua, false, all(None), all(Reject)},
		{"empty p", "v=DMARC1; p=" + rua, true, all(None), all(None)},
		{"repeated", "v=DMARC1; p=none; P=none" + rua, true, Policies{}, Policies{}},
		{"lower case", "v=dmarc1; p=none" + rua, true, Policies{}, Policies{}},
		{"leading blank", " v=DMARC1; p=none" + rua, true, Policies{}, Policies{}},
		{"no first semicolon", "v=DMARC1 p=none" + rua, true, Policies{}, Policies{}},
		{"faults elsewhere", "v=DMARC1; p=reject; adkim=x;; foo; aspf=; fo=7; t=maybe; psd=1; x=y", true, all(Reject),
			all(Reject)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Parse(tt.text)
			young, old := r.Reading(RFC9989), r.Reading(RFC7489)
			require.Equal(t, tt.new, young.Applied, "%+v", young)
			require.Equal(t, tt.old, old.Applied, "%+v", old)
			require.Equal(t, tt.both, young.Applied == old.Applied)
			require.Equal(t, young.Applied != Policies{}, young.Usable)
			require.Equal(t, !young.Usable || young.Assumed, young.Reason != "")
		})
	}
	r := Parse("v=DMARC1; p=reject; pct=30")
	require.Equal(t, 30, r.Reading(RFC7489).Percentage)
	require.Equal(t, 100, r.Reading(RFC9989).Percentage)
}

func TestParseValues(t *testing.T) {
	r := Parse("v=DMARC1; p=none; psd=Y; t=Y; adkim=S; aspf=r; fo=1 : d:D; pct=7; rf=afrf:iodef; ri=3600; np=quarantine")
	require.Equal(t, IsPSD, r.PSD)
	require.True(t, r.Testing)
	require.Equal(t, Strict, r.DKIMAlignment)
	require.Equal(t, Relaxed, r.SPFAlignment)
	require.Equal(t, []string{"1", "d"}, r.FailureOptions)
	require.Equal(t, 7, r.Percentage)
	require.Equal(t, []string{"afrf", "iodef"}, r.ReportFormats)
	require.Equal(t, uint32(3600), r.ReportInterval)
	require.Equal(t, Quarantine, r.NonexistentSubdomainPolicy)
	require.Empty(t, r.List.Faults)

	bare := Parse("v=DMARC1; p=none")
	bad := Parse("v=DMARC1; p=none; psd=z; t=yes; adkim=strict; aspf=; fo=0:x; pct=101; rf=-; ri=4294967296")
	bare.List, bad.List = taglist.List{}, taglist.List{}
	require.Equal(t, bare, bad, "what is not valid counts as absent")
}

func TestFaults(t *testing.T) {
	tests := []struct{ tags, fault string }{
		{"p=rejct", `policy: the value "rejct" of p is not none, quarantine or reject; "reject" is probably meant`},
		{"p=block", `policy: the value "block" of p is not none, quarantine or reject`},
		{"p=none; t=yes", `flag: the value "yes" of t is not y or n; "y" is probably meant`},
		{"p=none; fo=0:1", `0 and 1: the options 0 and 1 of fo exclude each other`},
		{"p=none; pct=+5", `removed: the value "+5" of pct is not a number from 0 to 100`},
		{"p=none; rua=d@example.com", `uri: "d@example.com" in rua has no mailto: in front of the address`},
		{"p=none; rua=mailto:a@example.com mailto:b@example.com",
			`uri: "mailto:a@example.com mailto:b@example.com" in rua has white space in it; two URIs are separated by a comma`},
		{"p=none; rua=mailto:a@example.com!10m", `size: "mailto:a@example.com!10m" in rua has a size limit`},
		{"p=none; rua=mailto:a@example.com,", `empty uri: there is nothing between two commas of rua, or after the last one`},
		{"p=none; rua=", "uri: rua has no address"},
		{"p=none; adkm=s", `unknown: adkm is not a tag of DMARC; "adkim" may be meant`},
		{"p=none rua=mailto:a@example.com", `semicolon: there is no semicolon between p and rua`},
	}
	for _, tt := range tests {
		r := Parse("v=DMARC1; " + tt.tags)
		var list []string
		for _, f := range r.List.Faults {
			list = append(list, string(f.Kind)+": "+f.Text)
		}
		require.Contains(t, list, tt.fault)
	}
}

func TestParseURI(t *testing.T) {
	tests := []struct {
		text                    string
		scheme, address, domain string
		problem                 string // a part of it
	}{
		{"mailto:d@example.com", "mailto", "d@example.com", "example.com", ""},
		{"MAILTO:d@EXAMPLE.com", "mailto", "d@EXAMPLE.com", "example.com", ""},
		{"mailto:a%2Cb%21@example.com?subject=x", "mailto", "a,b!@example.com", "example.com", ""},
		{"mailto:d@example.com!10m", "mailto", "d@example.com", "example.com", ""},
		{"https://example.com:8443/in", "https", "example.com", "example.com", ""},
		{"urn:example:x", "urn", "", "", ""},
		{"mailto:d@example.com!10p", "mailto", "", "example.com", "exclamation mark"},
		{"mailto:d@example.com!99999999999999999999", "mailto", "", "example.com", "exclamation mark"},
		{"mailto:d@example.com!18446744073709551615t", "mailto", "", "example.com", "exclamation mark"},
		{"mailto:a!b@example.com", "mailto", "a!b@example.com", "example.com", "exclamation mark"},
		{"d@example.com", "", "", "", "no mailto:"},
		{"bogus", "", "", "", "no scheme"},
		{"mailto:", "mailto", "", "", "no address"},
		{"mailto:@example.com", "mailto", "@example.com", "", "no address"},
		{"mailto://d@example.com", "mailto", "//d@example.com", "", "slashes"},
		{"mailto:d@@example.com", "mailto", "d@@example.com", "", "local part"},
		{"mailto:d@192.0.2.1", "mailto", "d@192.0.2.1", "", "valid domain"},
		{"mailto:d%2@example.com", "mailto", "", "", "percent sign"},
		{"mailto:d@müller.example", "mailto", "", "", "character"},
		{"<mailto:d@example.com>", "", "", "", "character"},
		{"https://", "https", "", "", "no valid host"},
	}
	for _, tt := range tests {
		u := ParseURI(tt.text)
		require.Equal(t, tt.scheme, u.Scheme, tt.text)
		require.Contains(t, u.Problem(), tt.problem, tt.text)
		require.Equal(t, tt.problem == "", u.Valid(), "%q %s", tt.text, u.Problem())
		if u.Valid() {
			require.Equal(t, tt.address, u.Address, tt.text)
			require.Equal(t, tt.domain, u.Domain, tt.text)
		}
	}
	u := ParseURI("mailto:d@example.com!10M")
	require.True(t, u.HasSizeLimit)
	require.EqualValues(t, 10<<20, u.SizeLimit)
	require.Equal(t, "mailto:d@example.com", u.URI)
}

func TestDraft(t *testing.T) {
	r := Parse("v=DMARC1; P=none; pct=100; p=reject; rua=mailto:a@example.com")
	d := DraftOf(&r.List)
	d.Set("p", "quarantine")
	d.Set("sp", "none")
	d.Remove("pct")
	d.Remove("ri")
	d.SetFirst(2, "np", "reject")
	require.Equal(t, "v=DMARC1; P=quarantine; np=reject; rua=mailto:a@example.com; sp=none", d.String())
	value, ok := d.Get("SP")
	require.True(t, ok)
	require.Equal(t, "none", value)
	require.Equal(t, "v=DMARC1; p=none", NewDraft(None).String())
}

// The records of the vectors hold to RFC 7489: what is invalid there has no effect on its receivers.
func TestConformanceRecords(t *testing.T) {
	type vector struct {
		Text  string
		Valid bool
	}
	cases := diagtest.Cases[vector](t, diagtest.Suite(t, "mail/records-mox/dmarc.json"))
	stricter := 0
	for _, c := range cases {
		r := Parse(c.Text)
		got := r.Reading(RFC7489).Usable
		// The parser of the vectors refuses the whole record for any fault. RFC 7489 section 6.3 lets receivers
		// discard faulty tags other than v, p and sp, and so do we.
		if discarded := len(r.List.Errors()) > 0 || has(&r, BadRemoved); got && !c.Valid && discarded {
			stricter++
			continue
		}
		require.Equal(t, c.Valid, got, "%q", c.Text)
	}
	t.Logf("%d of %d records agree; %d are refused by the vectors for a tag that receivers may discard",
		len(cases)-stricter, len(cases), stricter)
}

func has(r *Record, k taglist.Kind) bool {
	for _, f := range r.List.Faults {
		if f.Kind == k {
			return true
		}
	}
	return false
}

// Whatever the text, positions lie within it, and what is printed again reads the same.
func FuzzParse(f *testing.F) {
	f.Add("v=DMARC1; p=reject; sp=none; np=quarantine; t=y; psd=n; fo=0:1:d; adkim=s; " +
		"rua=mailto:a@example.com!10m,https://x.example/")
	f.Add("v = DMARC1 ; p=rejct; rua = mailto:a@example.com mailto:b ;; pct=0; ri=-1; rf=x:; P=none")
	f.Add("v=dmarc1 p=none")
	f.Fuzz(func(t *testing.T, text string) {
		r := Parse(text)
		for _, fault := range r.List.Faults {
			_ = text[fault.Offset : fault.Offset+fault.Length]
		}
		for _, u := range append(r.AggregateURIs, r.FailureURIs...) {
			require.Equal(t, u.Text, text[u.Offset:u.Offset+u.Length])
			require.True(t, !u.Valid() || strings.Contains(u.Text, ":"))
		}
		for _, s := range []Standard{RFC7489, RFC9989} {
			v := r.Reading(s)
			require.Equal(t, v.Usable, v.Requested != Policies{})
			require.LessOrEqual(t, v.Applied.Domain.Level(), v.Requested.Domain.Level())
			require.True(t, v.Usable || v.Reason != "")
		}
		if !r.Is() || len(r.Repeated()) > 0 || strings.ContainsAny(text, "\r\n") {
			return
		}
		again := Parse(DraftOf(&r.List).String())
		require.Equal(t, r.Reading(RFC9989), again.Reading(RFC9989))
		require.Equal(t, r.FailureOptions, again.FailureOptions)
		require.Equal(t, len(r.AggregateURIs), len(again.AggregateURIs))
	})
}
