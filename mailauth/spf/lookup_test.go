package spf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

var testDomain = diag.MustDomain("example.com")

var request = LookupRequest{Domain: diag.MustDomain("example.com")}

// zoneWith makes a world of the zone in which example.com also has the record.
func zoneWith(t testing.TB, record, zone string) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	if record != "" {
		w.Zone("example.com. TXT " + quoted(record))
	}
	return w
}

// quoted formats a text as character-strings of a master file.
func quoted(text string) string {
	var b strings.Builder
	for i := 0; i == 0 || i < len(text); i += 255 {
		b.WriteString(" \"")
		for _, c := range []byte(text[i:min(i+255, len(text))]) {
			if c < ' ' || c > '~' || c == '"' || c == '\\' {
				fmt.Fprintf(&b, "\\%03d", c)
			} else {
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}

func lookup(t testing.TB, w *diagtest.World) *LookupReport {
	t.Helper()
	r, err := Lookup(t.Context(), w.Env(), request)
	require.NoError(t, err)
	return r
}

func join(codes []diag.Code) string {
	list := make([]string, len(codes))
	for i, c := range codes {
		list[i] = string(c)
	}
	return strings.Join(list, " ")
}

// hosts are names that records of the tests lead to.
const hosts = `
mx.example.com.        A    192.0.2.25
mx.example.com.        AAAA 2001:db8::25
a.example.com.         A    192.0.2.26
b.example.com.         A    192.0.2.27
c.example.com.         A    192.0.2.28
good.example.net.      TXT  "v=spf1 ip4:198.51.100.0/24 -all"
soft.example.net.      TXT  "v=spf1 ip4:198.51.100.0/25 ~all"
open.example.net.      TXT  "v=spf1 +all"
broken.example.net.    TXT  "v=spf1 ipv4:192.0.2.1 -all"
two.example.net.       TXT  "v=spf1 -all"
two.example.net.       TXT  "v=spf1 ~all"
bare.example.net.      TXT  "hello"
bare.example.net.      A    192.0.2.29
noall.example.net.     TXT  "v=spf1 a:mx.example.com"
loop.example.net.      TXT  "v=spf1 include:example.com -all"
round.example.net.     TXT  "v=spf1 redirect=example.com"
ptr.example.net.       TXT  "v=spf1 ptr -all"
dup.example.net.       TXT  "v=spf1 include:good.example.net -all"
why.example.net.       TXT  "%{i} is not one of %{d}'s hosts"
whys.example.net.      TXT  "one"
whys.example.net.      TXT  "two"
badwhy.example.net.    TXT  "%{x}"
null.example.net.      MX   0 .
eleven.example.net.    TXT  "v=spf1 a:a.example.com a:b.example.com a:c.example.com a:mx.example.com" (
	" a:a.example.com/31"
	" a:b.example.com/31 a:c.example.com/31 a:a.example.com/30 a:b.example.com/30 a:mx.example.com/30 -all" )
`

func manyMX(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "many.example.net. MX %d mx.example.com.\nmany.example.net. MX %d a.example.com.\n", i, i)
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	var seen diagtest.Seen
	tests := []struct {
		name, record, zone string
		want               string // state, score and codes of the findings
	}{
		{"exemplary", "v=spf1 mx -all", "example.com. MX 10 mx.example.com.", "valid 100"},
		{"networks", "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all", "", "valid 100"},
		{"include", "v=spf1 include:good.example.net -all", "", "valid 100"},
		{"redirect", "v=spf1 redirect=good.example.net", "", "valid 100"},
		{"macro of the domain", "v=spf1 a:a.%{d} -all", "", "valid 100"},
		{"explanation", "v=spf1 a:mx.example.com -all exp=why.example.net", "", "valid 100"},
		{"letter case and blanks", "V=SPF1  MX:Example.COM  -ALL ", "example.com. MX 10 mx.example.com.", "valid 100"},
		{"no mail", "v=spf1 -all", "", "valid 100"},
		{"no mail, and said so", "v=spf1 -all", "example.com. MX 0 .", "valid 100"},
		{"mail servers, and nobody sends", "v=spf1 -all", "example.com. MX 10 mx.example.com.", "valid 100 spf.senders.unlisted"},

		{"no domain", "", "", "missing none spf.domain.nxdomain"},
		{"no record", "", "example.com. A 192.0.2.1", "missing 0 spf.record.missing"},
		{"other TXT", "", `example.com. TXT "hello"`, "missing 0 spf.record.missing.no_mail"},
		{"wrong place", "", "example.com. A 192.0.2.1\n" + `_spf.example.com. TXT "v=spf1 -all"`,
			"missing 0 spf.record.location spf.record.missing"},
		{"leading blank", " v=spf1 -all", "", "invalid 39 spf.record.version"},
		{"quotes", `"v=spf1 -all"`, "", "invalid 39 spf.record.version"},
		{"byte order mark", "\ufeffv=spf1 -all", "", "invalid 39 spf.record.version"},
		{"version 10", "v=spf10 -all", "", "invalid 39 spf.record.version"},
		{"no blank", "v=spf1mx -all", "", "invalid 39 spf.record.version"},
		{"stray beside a record", "v=spf1 -all", `example.com. TXT "v=spf2 mx -all"`, "warning 89 spf.record.stray"},
		{"two records", "v=spf1 -all", `example.com. TXT "v=spf1 ip4:192.0.2.1 -all"`, "invalid 39 spf.record.multiple"},
		{"type SPF", "v=spf1 -all", `example.com. SPF "v=spf1 -all"`, "warning 89 spf.record.type99"},
		{"Sender ID", "v=spf1 -all", `example.com. TXT "spf2.0/pra -all"`, "warning 89 spf.record.sender_id"},
		{"too long", "v=spf1" + networks(30) + " -all", "", "warning 89 spf.record.oversized"},
		{"strings joined", "", `example.com. TXT "v=spf1 include:good.example.net" "a:mx.example.com -all"`,
			"invalid 39 spf.record.joined"},
		{"strings joined to a modifier", "", `example.com. TXT "v=spf1 a:mx.example.com id=1" "ip4:192.0.2.1 -all"`,
			"invalid 39 spf.record.joined"},
		{"terms run together", "v=spf1 include:good.example.neta:mx.example.com -all", "", "invalid 39 spf.term.glued"},
		{"includes run together", "v=spf1 include:good.example.netinclude:soft.example.net -all", "", "invalid 39 spf.term.glued"},
		{"records run together", "v=spf1 a:mx.example.com -allv=spf1 include:good.example.net -all", "",
			"invalid 69 spf.modifier.version"},

		{"rest in another record", "v=spf1 a:mx.example.com -all", `example.com. TXT "ip4:198.51.100.1 ~all"`,
			"invalid 69 spf.record.split"},
		{"wildcard alone", "", `*.example.com. TXT "v=spf1 -all"` + "\nexample.com. MX 10 mx.example.com.",
			"missing 0 spf.record.missing"},
		{"null MX, no record", "", "example.com. MX 0 .", "missing 0 spf.record.missing.no_mail"},
		{"spf=v1", "spf=v1 mx -all", "", "invalid 39 spf.record.version"},
		{"no version", "ip4:192.0.2.1 -all", "", "invalid 39 spf.record.version"},

		{"tab", "v=spf1 a:mx.example.com\t-all", "", "invalid 39 spf.syntax.character"},
		{"beyond ASCII", "v=spf1 a:mx.ex\u00e4mple.com -all", "", "invalid 39 spf.syntax.character"},
		{"two signs", "v=spf1 a:mx.example.com --all", "", "invalid 39 spf.syntax.qualifier"},
		{"sign alone", "v=spf1 a:mx.example.com - all", "", "invalid 39 spf.syntax.qualifier"},
		{"signed modifier", "v=spf1 -redirect=good.example.net", "", "invalid 39 spf.syntax.qualifier"},
		{"unknown mechanism", "v=spf1 ipv4:192.0.2.1 -all", "", "invalid 39 spf.syntax.mechanism"},
		{"bare address", "v=spf1 192.0.2.1 -all", "", "invalid 39 spf.syntax.mechanism"},
		{"bad modifier", "v=spf1 a:mx.example.com 1up=x -all", "", "invalid 39 spf.syntax.modifier"},
		{"colon", "v=spf1 redirect:good.example.net", "", "invalid 39 spf.syntax.modifier.colon"},
		{"glued", "v=spf1 ip4:192.0.2.1~all", "", "invalid 39 spf.syntax.glued"},
		{"glued, and valid", "v=spf1 include:good.example.net-all", "",
			"invalid 39 spf.syntax.glued spf.include.missing spf.all.missing"},
		{"no value", "v=spf1 include: -all", "", "invalid 39 spf.syntax.value.missing"},
		{"needless value", "v=spf1 a:mx.example.com -all:x", "", "invalid 39 spf.syntax.value.unexpected"},
		{"bad ip4", "v=spf1 ip4:192.0.2 -all", "", "invalid 39 spf.syntax.ip4"},
		{"bad ip6", "v=spf1 ip6:2001:db8 -all", "", "invalid 39 spf.syntax.ip6"},
		{"ip4 with IPv6", "v=spf1 ip4:2001:db8::1 -all", "", "invalid 39 spf.syntax.family"},
		{"ip6 with IPv4", "v=spf1 ip6:192.0.2.1 -all", "", "invalid 39 spf.syntax.family"},
		{"macro in ip4", "v=spf1 ip4:%{i} -all", "", "invalid 39 spf.syntax.network_macro"},
		{"bad prefix", "v=spf1 ip4:192.0.2.0/33 a:mx.example.com/024 -all", "",
			"invalid 39 spf.syntax.prefix spf.syntax.prefix"},
		{"bad domain", "v=spf1 a:museum -all", "", "invalid 39 spf.syntax.domain"},
		{"bad macro", "v=spf1 exists:%{x}.example.com -all", "", "invalid 39 spf.syntax.macro"},
		{"redirect twice", "v=spf1 redirect=good.example.net redirect=good.example.net", "",
			"invalid 39 spf.syntax.repeated"},
		{"endless", "v=spf1" + networks(700) + " -all", "", "invalid 39 spf.syntax.length spf.record.oversized"},

		{"mechanism as a modifier", "v=spf1 ip4=192.0.2.1 -all", "", "invalid 69 spf.modifier.mechanism spf.senders.none"},
		{"version twice", "v=spf1 a:mx.example.com v=spf1 -all", "", "invalid 69 spf.modifier.version"},
		{"unknown modifier", "v=spf1 a:mx.example.com xx=1 -all", "", "valid 100 spf.modifier.unknown"},
		{"reports of failures", "v=spf1 a:mx.example.com -all ra=postmaster rp=10 rr=all", "", "valid 100"},
		{"reports of some failures", "v=spf1 a:mx.example.com -all RA=spf.reports rp=0 rr=e:f:S", "", "valid 100"},
		{"reports to an address", "v=spf1 a:mx.example.com -all ra=postmaster@example.com", "", "valid 100 spf.modifier.report"},
		{"reports to nobody", "v=spf1 a:mx.example.com -all ra=", "", "valid 100 spf.modifier.report"},
		{"reports to two dots", "v=spf1 a:mx.example.com -all ra=a..b", "", "valid 100 spf.modifier.report"},
		{"reports by more than all", "v=spf1 a:mx.example.com -all rp=101", "", "valid 100 spf.modifier.report"},
		{"reports of what is not known", "v=spf1 a:mx.example.com -all rr=all:x", "", "valid 100 spf.modifier.report"},
		{"mechanism twice", "v=spf1 a:mx.example.com a:MX.example.com -all", "",
			"warning 89 spf.term.repeated"},
		{"name with a slash", "v=spf1 a:https://mx.example.com -all", "",
			"invalid 69 spf.term.target spf.senders.none spf.a.void"},
		{"behind all", "v=spf1 -all a:mx.example.com", "", "invalid 69 spf.senders.none spf.term.unreached"},
		{"all and redirect", "v=spf1 a:mx.example.com redirect=good.example.net -all", "",
			"warning 89 spf.redirect.ignored"},
		{"ptr", "v=spf1 ptr -all", "", "warning 89 spf.ptr"},
		{"ptr below", "v=spf1 include:ptr.example.net -all", "", "warning 89 spf.ptr"},
		{"macro p", "v=spf1 exists:%{p}.example.com -all", "", "warning 89 spf.macro.ptr"},

		{"shadowed", "v=spf1 a:mx.example.com -ip4:198.51.100.0/24 ip4:198.51.100.7 -all", "",
			"warning 89 spf.term.shadowed"},
		{"shadowed, and nobody else", "v=spf1 -ip4:198.51.100.0/24 ip4:198.51.100.7 -all", "",
			"invalid 69 spf.senders.none spf.term.shadowed"},
		{"softfail before include", "v=spf1 ~all include:good.example.net", "",
			"invalid 69 spf.senders.none spf.term.unreached"},
		{"behind all, with others", "v=spf1 a:mx.example.com -all include:good.example.net", "",
			"warning 89 spf.term.unreached"},
		{"include of nobody", "v=spf1 include:plain.example.net -all", `plain.example.net. TXT "v=spf1 -all"`,
			"invalid 69 spf.senders.none"},
		{"dangling", "v=spf1 include:_spf.gone-domain.net a:mx.example.com -all", "",
			"invalid 39 spf.term.dangling spf.include.missing"},
		{"dangling redirect", "v=spf1 redirect=gone-domain.net", "",
			"invalid 39 spf.term.dangling spf.redirect.missing"},
		{"dangling host", "v=spf1 a:mail.gone-domain.net a:mx.example.com -all", "",
			"invalid 39 spf.term.dangling spf.a.void"},
		{"modifiers named like mechanisms", "v=spf1 a:mx.example.com all=1 include=x.example a=1 mx=2 ptr=3 exists=4 -all", "",
			"invalid 69 spf.modifier.mechanism"},
		{"all as a modifier hides nothing", "v=spf1 all= +all", "",
			"invalid 39 spf.all.pass spf.modifier.mechanism"},

		{"no all", "v=spf1 a:mx.example.com", "", "warning 89 spf.all.missing"},
		{"no all behind redirect", "v=spf1 redirect=noall.example.net", "", "warning 89 spf.all.missing"},
		{"everybody", "v=spf1 +all", "", "invalid 39 spf.all.pass"},
		{"neutral", "v=spf1 a:mx.example.com ?all", "", "warning 89 spf.all.neutral"},

		{"include loop", "v=spf1 include:loop.example.net -all", "", "invalid 39 spf.include.loop"},
		{"loop below", "v=spf1 include:up.example.net -all",
			"up.example.net. TXT \"v=spf1 include:down.example.net -all\"\n" +
				"down.example.net. TXT \"v=spf1 include:up.example.net -all\"", "invalid 39 spf.include.loop"},
		{"self", "v=spf1 include:example.com -all", "", "invalid 39 spf.include.loop"},
		{"redirect loop", "v=spf1 redirect=round.example.net", "", "invalid 39 spf.redirect.loop"},
		{"include of nothing", "v=spf1 include:bare.example.net a:mx.example.com -all", "",
			"invalid 39 spf.include.missing"},
		{"include of no domain", "v=spf1 include:nowhere.example.net a:mx.example.com -all", "",
			"invalid 39 spf.include.missing"},
		{"redirect to nothing", "v=spf1 redirect=bare.example.net", "", "invalid 39 spf.redirect.missing"},
		{"include of two", "v=spf1 include:two.example.net a:mx.example.com -all", "",
			"invalid 39 spf.include.multiple"},
		{"include of a broken one", "v=spf1 include:broken.example.net a:mx.example.com -all", "",
			"invalid 39 spf.include.syntax"},
		{"included twice", "v=spf1 include:good.example.net include:dup.example.net -all", "",
			"warning 89 spf.include.repeated"},
		{"included twice with all below", "v=spf1 include:dup.example.net include:dup.example.net -all", "",
			"warning 89 spf.include.repeated"},
		{"include of an open one", "v=spf1 include:open.example.net -all", "", "invalid 39 spf.include.pass"},
		{"exists with a fixed name", "v=spf1 exists:mx.example.com -all", "", "invalid 39 spf.exists.everyone"},

		{"eleven", "v=spf1 include:eleven.example.net -all", "", "invalid 39 spf.lookups.exceeded spf.voids.family"},
		{"ten", "v=spf1 include:ten.example.net -all", "", "warning 89 spf.lookups.near"},
		{"three voids", "v=spf1 a:x.example.com a:y.example.com mx:y.example.com a:mx.example.com -all", "",
			"invalid 69 spf.voids.exceeded spf.a.void spf.a.void spf.mx.void"},
		{"void for IPv6", "v=spf1 a:a.example.com a:b.example.com a:c.example.com a:mx.example.com -all", "",
			"warning 89 spf.voids.family"},
		{"void for IPv6, which nobody uses", "v=spf1 a:a.example.com a:b.example.com a:c.example.com -all", "",
			"valid 100"},
		{"void for IPv4", "v=spf1 a:d.example.com a:e.example.com a:f.example.com a:mx.example.com -all",
			"d.example.com. AAAA 2001:db8::1\ne.example.com. AAAA 2001:db8::2\nf.example.com. AAAA 2001:db8::3",
			"warning 89 spf.voids.family"},
		{"a without address", "v=spf1 a a:mx.example.com -all", "", "warning 89 spf.a.void"},
		{"mx without MX", "v=spf1 mx a:mx.example.com -all", "", "warning 89 spf.mx.void"},
		{"null MX", "v=spf1 mx:null.example.net a:mx.example.com -all", "", "warning 89 spf.mx.null"},
		{"MX without address", "v=spf1 mx -all", "example.com. MX 10 mx.example.com.\nexample.com. MX 20 x.example.com.",
			"valid 100 spf.mx.address"},
		{"no MX with an address", "v=spf1 mx -all", "example.com. MX 10 x.example.com.",
			"invalid 69 spf.senders.none spf.mx.address"},
		{"exists never", "v=spf1 exists:x.example.com a:mx.example.com -all", "", "warning 89 spf.exists.void"},
		{"too many MX", "v=spf1 mx:many.example.net -all", manyMX(6), "invalid 39 spf.mx.exceeded"},

		{"everything", "v=spf1 ip4:192.0.2.1/0 -all", "", "invalid 39 spf.network.everyone spf.network.host_bits"},
		{"everything in halves", "v=spf1 ip4:0.0.0.0/1 ip4:128.0.0.0/1 -all", "",
			"invalid 39 spf.network.everyone spf.network.wide spf.network.wide"},
		{"wide", "v=spf1 ip4:20.0.0.0/8 -all", "", "warning 89 spf.network.wide"},
		{"private", "v=spf1 ip4:10.0.0.1 ip6:fd00::1 ip4:100.64.0.1 -all", "",
			"warning 89 spf.network.special spf.network.special spf.network.special"},
		{"reserved", "v=spf1 ip4:240.0.0.0/4 ip4:198.18.0.0/15 ip4:0.0.0.0/8 ip4:192.88.99.0/24 ip6:64:ff9b::/96 -all", "",
			"warning 89 spf.network.wide spf.network.wide spf.network.wide" + strings.Repeat(" spf.network.special", 5)},
		{"one kind of reserved", "v=spf1 ip4:10.0.0.1 ip4:10.0.0.2 ip4:10.0.0.3 ip4:192.168.0.0/24 ip4:127.0.0.1 -all", "",
			"warning 89 spf.network.special spf.network.special"},
		{"mapped", "v=spf1 ip6:::ffff:192.0.2.1 a:mx.example.com -all", "", "warning 89 spf.network.mapped"},
		{"bits of the host", "v=spf1 ip4:192.0.2.1/24 -all", "", "valid 100 spf.network.host_bits"},

		{"no explanation", "v=spf1 -all exp=bare2.example.net", "", "warning 89 spf.exp.missing spf.none.form"},
		{"two explanations", "v=spf1 a:mx.example.com -all exp=whys.example.net", "", "warning 89 spf.exp.multiple"},
		{"bad explanation", "v=spf1 a:mx.example.com -all exp=badwhy.example.net", "", "warning 89 spf.exp.syntax"},
	}
	ten := "ten.example.net. TXT \"v=spf1"
	for i := range 9 {
		ten += fmt.Sprintf(" a:h%d.example.com", i)
	}
	ten += " -all\"\n"
	for i := range 9 {
		ten += fmt.Sprintf("h%d.example.com. A 192.0.2.%d\nh%d.example.com. AAAA 2001:db8::%d\n", i, 100+i, i, 100+i)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			zone := hosts + ten + tt.zone
			if tt.name == "no domain" {
				zone = "example.net. A 192.0.2.1"
			}
			r := lookup(t, zoneWith(t, tt.record, zone))
			got := fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), join(seen.Add(r.Verdict)))
			require.Equal(t, tt.want, strings.TrimSpace(got), "%+v", r.Findings)
			require.False(t, r.Partial)
		})
	}
	seen = append(seen, unknownVerdicts(t)...)
	seen = append(seen, addressVerdicts(t)...)
	seen = append(seen, validated(t)...)
	seen = append(seen, lookup(t, zoneWith(t, wideTree(), hosts)).Verdict)
	large := diagtest.NewWorld(t)
	large.Zone(longRecords())
	seen = append(seen, lookup(t, large).Verdict)
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, verdicts, (*LookupReport)(nil).Rules(), seen)
}

// networks makes terms of 18 bytes or so.
func networks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " ip4:198.51.%d.%d", 100+i/128, 2*(i%128))
	}
	return b.String()
}
