package dnsbl

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuiltInLists(t *testing.T) {
	lists := Lists()
	zones, untestable := 0, 0
	for _, l := range lists {
		t.Run(l.ID, func(t *testing.T) {
			require.Equal(t, l.Category == Allow, l.Delist == "" && l.Category == Allow, "only blocklists have an address for removal")
			if l.Untestable {
				untestable++
			}
			if l.Zone != "" {
				zones++
			}
			for _, c := range l.Codes {
				require.False(t, strings.HasSuffix(c.Meaning, "."), c.Meaning)
				require.True(t, l.Category == Allow || c.Kind != refused)
			}
		})
	}
	require.GreaterOrEqual(t, zones, 60)
	require.Zero(t, untestable, "a list without test addresses cannot be told from a dead one")
	byID := func(id string) *List {
		i := slices.IndexFunc(lists, func(l *List) bool { return l.ID == id })
		require.GreaterOrEqual(t, i, 0, id)
		return lists[i]
	}
	for _, id := range []string{"spamhaus-zen", "spamcop", "barracuda", "psbl"} {
		require.NotEqual(t, Allow, byID(id).Category)
	}
	require.Equal(t, Allow, byID("dnswl").Category)
	for _, dead := range []string{"sorbs", "njabl", "ahbl", "manitu", "wpbl", "abuse.ch", "unsubscore", "mail-abuse.org", "inps.de", "madavi"} {
		for _, l := range lists {
			require.NotContains(t, l.Zone, dead)
		}
	}
}

func TestDecode(t *testing.T) {
	list := func(id string) *List {
		return Lists()[slices.IndexFunc(Lists(), func(l *List) bool { return l.ID == id })]
	}
	for _, tt := range []struct {
		list     string
		codes    string
		kind     readingKind
		category Category
		meaning  string // of the first code
	}{
		{"spamhaus-zen", "", absent, "", ""},
		{"spamhaus-zen", "127.0.0.2", present, Spam, "SBL"},
		{"spamhaus-zen", "127.0.0.3", present, Spam, "CSS"},
		{"spamhaus-zen", "127.0.0.4", present, Exploit, "XBL"},
		{"spamhaus-zen", "127.0.0.7", present, Exploit, "XBL"},
		{"spamhaus-zen", "127.0.0.9", present, Spam, "DROP"},
		{"spamhaus-zen", "127.0.0.10", present, Policy, "PBL"},
		{"spamhaus-zen", "127.0.0.10 127.0.0.4", present, Exploit, "XBL"},
		{"spamhaus-zen", "127.0.0.99", present, Spam, ""},
		{"spamhaus-zen", "127.255.255.252", denied, "", "misspelled"},
		{"spamhaus-zen", "127.255.255.254", denied, "", "public or shared resolvers"},
		{"spamhaus-zen", "127.255.255.255", denied, "", "too many queries"},
		{"spamhaus-zen", "127.255.255.1", denied, "", ""},
		{"spamhaus-zen", "127.0.0.2 127.255.255.254", denied, "", "public or shared resolvers"},
		{"spamhaus-zen", "127.0.0.1", denied, "", ""},
		{"spamhaus-zen", "127.0.0.2 203.0.113.1", foreign, "", ""},
		{"spamhaus-zen", "128.0.0.2", foreign, "", ""},
		{"hostkarma", "127.0.0.1", noted, "", "White"},
		{"hostkarma", "127.0.0.1 127.0.0.2", present, Spam, "White"},
		{"hostkarma", "127.0.0.3 127.0.1.1", noted, "", "Yellow"},
		{"efnet", "127.0.0.1", present, Proxy, "Open proxy"},
		{"mailspike", "127.0.0.19", noted, "", "good"},
		{"uceprotect-3", "127.0.0.2", present, Reputation, "Provider"},
		{"dnswl", "127.0.5.2", present, Allow, "Service or network provider"},
		{"dnswl", "127.0.10.0", present, Allow, "Special case"},
		{"dnswl", "127.0.0.255", denied, "", "too many queries"},
		{"mailspike-allow", "127.0.0.20", present, Allow, "excellent"},
	} {
		t.Run(tt.list+" "+tt.codes, func(t *testing.T) {
			var addrs []netip.Addr
			for _, word := range strings.Fields(tt.codes) {
				addrs = append(addrs, netip.MustParseAddr(word))
			}
			r := list(tt.list).read(addrs)
			require.Equal(t, tt.kind, r.kind)
			require.Equal(t, tt.category, r.category)
			require.Contains(t, strings.Join(append(r.meanings, ""), "; "), tt.meaning)
		})
	}
}

const sample = "own\nname Own\noperator We\nzone bl.example.net\ncategory spam\nfamilies ipv4\n"

func TestParseLists(t *testing.T) {
	for text, want := range map[string]string{
		"":                                          "there is no list",
		"# nothing\n":                               "there is no list",
		"Own list\n":                                `line 1: "Own list" is no id`,
		sample + "colour red\n":                     `line 7: "colour" is no key`,
		sample + "name Other\n":                     `line 7: the key "name" stands twice`,
		sample + "\n" + sample:                      `line 8: the id "own" stands twice`,
		sample + "\n" + "b" + sample:                `line 9: the name "Own" stands twice`,
		sample + "decisive perhaps\n":               `line 7: "perhaps" is none of: yes, no`,
		sample + "rate often\n":                     `line 7: "often" is no rate`,
		sample + "rate 0/s\n":                       `line 7: "0/s" is no rate`,
		sample + "severity dire\n":                  `line 7: "dire" is none of: high, medium, low`,
		sample + "code 10.0.0.2 spam x\n":           `line 7: "10.0.0.2" is no return code`,
		sample + "code 127.0.0.9-3 spam x\n":        `the octet "9-3" is none`,
		sample + "code 127.0.0 spam x\n":            "is no return code",
		sample + "code 127.0.0.2 evil x\n":          `"evil" is none of`,
		sample + "code 127.0.0.2 spam\n":            "a code has no meaning",
		sample + "delist javascript:alert(1)\n":     "the address is no URL",
		sample + "keyed key.example.net\n":          "the keyed zone does not begin with {key}",
		sample + "keyed {key}.example.net\n":        "without the name of its key",
		"own\nname Own\n":                           "own has no name, operator or category",
		"own\nzone http://x/\n":                     `is no zone`,
		"own\nname " + strings.Repeat("x", 29):      "the name has more than 28 bytes",
		"own\nname \x01\n":                          "control characters",
		strings.Repeat("x", maxFile+1):              "more than 1048576 bytes",
		strings.Replace(sample, "ipv4", "4", 1):     `"4" is none of: ipv4, ipv6`,
		strings.Replace(sample, "\nzone", "\n#", 1): "own has no zone",
	} {
		_, err := ParseLists([]byte(text))
		require.ErrorContains(t, err, want, "%.200q", text)
	}
	lists, err := ParseLists([]byte(strings.ReplaceAll(sample, "\n", "\r\n") + "rate 10/s\ntest no\nscope network\ndecisive yes\n" +
		"expires after a week.\n"))
	require.NoError(t, err)
	require.Len(t, lists, 1)
	require.Equal(t, "bl.example.net", lists[0].Zone)
	require.Equal(t, "after a week", lists[0].Expires)
	require.True(t, lists[0].Decisive && lists[0].Untestable && lists[0].Network && lists[0].IPv4 && !lists[0].IPv6)
}

// What is read can be asked: every list has an id, a name that a headline has room for, and a zone in front of
// which a key and an IPv6 address fit.
func FuzzParseLists(f *testing.F) {
	f.Add(sample)
	f.Add(listsText)
	f.Add(sample + "code 127.0.*.2-9 neutral x\nkeyed {key}.k.example.net\nkey own\nrate 1/d\n")
	f.Fuzz(func(t *testing.T, text string) {
		lists, err := ParseLists([]byte(text))
		if err != nil {
			require.Nil(t, lists)
			return
		}
		require.NotEmpty(t, lists)
		require.LessOrEqual(t, len(lists), maxLists)
		longest := netip.MustParseAddr("2001:db8::1")
		for _, l := range lists {
			require.True(t, isID(l.ID) && l.Name != "" && len(l.Name) <= maxName)
			require.True(t, l.IPv4 || l.IPv6)
			secrets := keys{l.Key: secret{strings.Repeat("k", maxKey-1)}}
			zone, _ := secrets.place(l)
			require.NotEmpty(t, zone)
			require.LessOrEqual(t, len(reversed(longest))+1+len(zone), 254)
			require.NotContains(t, l.public(true)+l.public(false), keyMark)
		}
	})
}

// No answer that lists must not give for a listing is ever one.
func FuzzRead(f *testing.F) {
	f.Add([]byte{127, 0, 0, 2})
	f.Add([]byte{127, 255, 255, 254, 127, 0, 0, 4})
	f.Fuzz(func(t *testing.T, octets []byte) {
		var addrs []netip.Addr
		strange := false
		for chunk := range slices.Chunk(octets, 4) {
			if a, ok := netip.AddrFromSlice(chunk); ok && a.Is4() && len(addrs) < maxAddrs {
				addrs = append(addrs, a)
				strange = strange || !codes.Contains(a) || errorCodes.Contains(a)
			}
		}
		for _, l := range Lists() {
			r := l.read(addrs)
			require.Equal(t, len(addrs) == 0, r.kind == absent)
			require.True(t, !strange || r.kind == denied || r.kind == foreign)
			require.Equal(t, r.kind == present, r.category != "" && r.kind == present)
			require.True(t, r.kind != present || slices.Contains(l.Category.Values(), string(r.category)))
		}
	})
}
