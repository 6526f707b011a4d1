package overlay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const bind = `; zone of BIND
$TTL 1d
@	IN	SOA	ns1.example.net. hostmaster (
			2026010101 ; serial
			4h 1h 2w
			1h )

	IN	NS	ns1.example.net.
; mail
@	IN	MX	10 mail
	300	IN	TXT	( "v=spf1 mx"
		" -all; really" )
mail	A 192.0.2.25
$ORIGIN sub
host	A 192.0.2.26
$GENERATE 1-2 h$ 600 A 192.0.2.$
`

func TestParse(t *testing.T) {
	z, err := Parse(bind, "", "zones/db.example.com")
	require.NoError(t, err)
	assert.Equal(t, "example.com.", z.Name)
	assert.False(t, z.Partial)
	var got []string
	for _, r := range z.Records {
		h := r.RR.Header()
		got = append(got, fmt.Sprintf("%d %s %d %s", r.Line, h.Name, h.Ttl, dns.TypeToString[h.Rrtype]))
	}
	assert.Equal(t, []string{
		"3 example.com. 86400 SOA", "8 example.com. 86400 NS", "10 example.com. 86400 MX", "11 example.com. 300 TXT",
		"13 mail.example.com. 86400 A", "15 host.sub.example.com. 86400 A", "16 h1.sub.example.com. 600 A",
		"16 h2.sub.example.com. 600 A",
	}, got)
	assert.Equal(t, 11, z.Line("Example.com.", dns.TypeTXT))
	assert.Equal(t, 3, z.Line("example.com.", 0))
	assert.Zero(t, z.Line("www.example.com.", dns.TypeA))
}

func TestNames(t *testing.T) {
	for file, want := range map[string]string{
		"example.com.zone": "example.com.", "a/db.example.com": "example.com.", "example.com.": "example.com.",
		`c:\dns\Example.COM.db`: "example.com.", "pri.example.com": "example.com.", "example.com.zone.": "example.com.",
		"2.0.192.in-addr.arpa.zone": "2.0.192.in-addr.arpa.", "bad.zone": "", "-": "", "": "", "zones/all.txt": "",
		"a b.com.zone": "",
	} {
		assert.Equal(t, want, nameOf(file), file)
	}
}

func TestOrigins(t *testing.T) {
	tests := []struct{ name, text, origin, file, want string }{
		{"SOA", "example.com. SOA a. b. 1 1 1 1 1", "", "x", "example.com."},
		{"directive", "$ORIGIN example.com.\nwww A 192.0.2.1", "", "x", "example.com."},
		{"file", "www A 192.0.2.1", "example.org", "example.com.zone", "example.com."},
		{"argument", "www A 192.0.2.1", "example.org", "-", "example.org."},
		{"directive below that", "$ORIGIN sub.example.com.\nwww A 192.0.2.1", "", "example.com.zone", "example.com."},
		{"directive of another name", "$ORIGIN example.net.\nwww A 192.0.2.1", "", "old.example.com.zone", "example.net."},
	}
	for _, tt := range tests {
		z, err := Parse(tt.text, tt.origin, tt.file)
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.want, z.Name, tt.name)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"include", "a A 192.0.2.1\n$INCLUDE /etc/passwd\n", "x.example.zone:2: $INCLUDE"},
		{"address", "\n\na A 192.0.2.256\n", "x.example.zone:3: bad A A: \"192.0.2.256\""},
		{"last line", "a A 192.0.2.1\nb A x", "x.example.zone:2: bad A A"},
		{"type", "a FOO 1\n", "x.example.zone:1: "},
		{"within an entry", "a A 192.0.2.1\n@ SOA a b (\n 1\n x\n 1 1 1 )\n", "x.example.zone:2: bad SOA zone parameter"},
		{"no data", "a A 192.0.2.1\n\nb A \n", "x.example.zone:3: bad A A"},
		{"quotation mark", "a A 192.0.2.1\nb TXT \"abc\n", "x.example.zone:2: "},
		{"bracket", "a A 192.0.2.1\nb TXT ( abc\n", "x.example.zone:2: "},
		{"long string", "\na TXT " + strings.Repeat("x", 70000), "x.example.zone:2: the record does not fit into a message"},
		{"alias and more", "a A 192.0.2.1\na CNAME b\n",
			"x.example.zone:2: a.x.example has a CNAME record and other records"},
		{"two aliases", "a CNAME b\na CNAME c\n", "x.example.zone:2: a.x.example has more than one CNAME record"},
		{"two SOA records", "@ SOA a b 1 1 1 1 1\n@ SOA a b 2 1 1 1 1\n",
			"x.example.zone:2: the zone has more than one SOA record"},
		{"SOA record elsewhere", "@ SOA a b 1 1 1 1 1\nc SOA a b 2 1 1 1 1\n",
			"x.example.zone:2: c.x.example has an SOA record"},
		{"large", strings.Repeat("\n", MaxSize+1), "x.example.zone: the file has more than 4194304 bytes"},
		{"much", "$GENERATE 1-50000 a$ TXT " + strings.Repeat("x ", 1000),
			"x.example.zone:1: there are more than 8388608 bytes"},
		{"many", "$GENERATE 1-60000 a$ A 192.0.2.1\n", "x.example.zone:1: there are more than 50000 records"},
	}
	for _, tt := range tests {
		z, err := Parse(tt.text, "", "x.example.zone")
		assert.Nil(t, z, tt.name)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax, tt.name)
		assert.Contains(t, err.Error(), tt.want, tt.name)
	}
	_, err := Parse("a. A 192.0.2.1", "", "-")
	assert.ErrorContains(t, err, "the name of the zone is not known")
}

// As many records as there may be at one name take no more than a moment.
func TestLarge(t *testing.T) {
	z := parsed(t, "$ORIGIN example.com.\n"+strings.Repeat("a TXT x\n", 10)+"$GENERATE 1-40000 a TXT t$\n")
	assert.Len(t, z.nodes["a.example.com."][dns.TypeTXT], 40001)
}

// Contents that are not a fault, and not served either.
func TestWarnings(t *testing.T) {
	const text = "@ SOA a b 1 1 1 1 1\nwww.example.net. A 192.0.2.1\n@ CH TXT x\n@ DNSKEY 257 3 13 aaaa\n"
	z, err := Parse(text, "", "x.example.zone")
	require.NoError(t, err)
	assert.Len(t, z.Records, 1)
	assert.Equal(t, []Warning{{3, "the record is not of class IN"},
		{2, "www.example.net is outside the zone x.example and will not be served"}}, z.Warnings)
}

// A parsed zone can be written and parsed again; an error names an existing line.
func FuzzParse(f *testing.F) {
	for _, text := range []string{bind, whole, partial, "a A 192.0.2.1\n$INCLUDE x", "a TXT \"\\\"", "a TXT ( ; )\n )",
		"\\\n a A 192.0.2.1",
		"$ORIGIN .\n@ SOA . . 1 1 1 1 1", "$TTL x", "$GENERATE 1-3/0 a$ A 192.0.2.1", "*.* CNAME *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		z, err := Parse(text, "", "example.com.zone")
		if err != nil {
			require.Nil(t, z)
			line := err.(*SyntaxError).Line
			require.True(t, line >= 0 && line <= strings.Count(text, "\n")+2, "%v", err)
			return
		}
		last := 0
		var b strings.Builder
		for _, r := range z.Records {
			require.True(t, r.Line >= max(last, 1) && r.Line <= strings.Count(text, "\n")+1, "line %d", r.Line)
			last = r.Line
			fmt.Fprintln(&b, r.RR)
		}
		again, err := Parse("$ORIGIN "+z.Name+"\n"+b.String(), "", "example.com.zone")
		require.NoError(t, err, b.String())
		same := func(a, b Record) bool { return a.RR.String() == b.RR.String() }
		require.True(t, slices.EqualFunc(z.Records, again.Records, same))
		New(nil, z).zone("www.example.com.", dns.TypeA)
	})
}
