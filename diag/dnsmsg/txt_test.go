package dnsmsg

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestTXT(t *testing.T) {
	tests := map[string]string{
		`a.test. TXT "v=spf1 " "-all"`:       "v=spf1 -all",
		`a.test. TXT ""`:                     "",
		`a.test. TXT "a\"b\\c\;d"`:           `a"b\c;d`,
		`a.test. TXT "\000\255\195\188"`:     "\x00\xff\u00FC",
		`a.test. TXT "bücher"`:               "bücher",
		`a.test. TXT "a" "" "b" "c\032" "d"`: "abc d",
	}
	for line, want := range tests {
		rr, err := dns.NewRR(line)
		require.NoError(t, err)
		// Through the wire, as answers come.
		m := &dns.Msg{Answer: []dns.RR{rr}}
		wire, err := m.Pack()
		require.NoError(t, err)
		heard := new(dns.Msg)
		require.NoError(t, heard.Unpack(wire))
		require.Equal(t, want, TXT(heard.Answer[0].(*dns.TXT)), line)
	}
	require.Equal(t, `a\`, TXT(&dns.TXT{Txt: []string{`a\`}}), "a backslash at the end stands for itself")
}

// TXT returns exactly the bytes that a server sends as text.
func FuzzTXT(f *testing.F) {
	f.Add([]byte(`a"b\c`), []byte{0, 255})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) > 255 || len(b) > 255 {
			return
		}
		rdata := append([]byte{byte(len(a))}, a...)
		rdata = append(append(rdata, byte(len(b))), b...)
		head := dns.RR_Header{Name: "a.test.", Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60}
		head.Rdlength = uint16(len(rdata))
		rr, _, err := dns.UnpackRRWithHeader(head, rdata, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := TXT(rr.(*dns.TXT)); got != string(a)+string(b) {
			t.Fatalf("got %q", got)
		}
	})
}

func TestPastedTXT(t *testing.T) {
	const want = "v=DMARC1; p=none"
	for text, line := range map[string]bool{
		want:                    false,
		`"v=DMARC1;" " p=none"`: false,
		`_dmarc.example.com. 3600 IN TXT "v=DMARC1; p=none"`:            true,
		`_dmarc IN 1h TXT "v=DMARC1;" " p=none"`:                        true,
		` _dmarc in txt ( "v=DMARC1;"` + "\n" + `" p=none" ) ; comment`: true,
		`@ TXT "v=DMARC1; p=none"`:                                      true,
	} {
		parts, is := PastedTXT(text)
		require.Equal(t, want, strings.Join(parts, ""), text)
		require.Equal(t, line, is, text)
	}
	for _, text := range []string{"", "a TXT b", `a TXT "b`, `$INCLUDE /etc/passwd TXT "b"`, `a A TXT "b"`} {
		parts, is := PastedTXT(text)
		require.Equal(t, SplitTXT(text), parts)
		require.False(t, is, text)
	}
}

func TestSplitTXT(t *testing.T) {
	long := strings.Repeat("a", 300)
	for text, want := range map[string][]string{
		"":                      {""},
		"v=spf1 -all":           {"v=spf1 -all"},
		` "v=spf1 " "-all" `:    {"v=spf1 ", "-all"},
		`"a\"b" "\195\188"`:     {`a"b`, "\u00fc"},
		`""`:                    {""},
		`"`:                     {`"`},
		`"v=spf1`:               {`"v=spf1`},
		`"v=spf1 \"`:            {`"v=spf1 \"`},
		`"v=spf1" -all`:         {`"v=spf1" -all`},
		long:                    {long[:255], long[255:]},
		`"` + long + `" "-all"`: {long, "-all"}, // too long a string, as it was written
	} {
		require.Equal(t, want, SplitTXT(text), text)
	}
}
