package dnsbl

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBuiltInLists(t *testing.T) {
	lists := Lists()
	zones, untestable := 0, 0
	for _, l := range lists {
		t.Run(l.ID, func(t *testing.T) {
			require.Equal(t, l.Category == Allow, l.Delist == "" && l.Category == Allow, "only blocklists have an address for removal")
			if !l.Test {
				untestable++
			}
			if l.Zone != "" {
				zones++
			}
			for _, c := range l.Codes {
				require.False(t, strings.HasSuffix(c.Meaning, "."), c.Meaning)
				require.True(t, l.Category == Allow || c.Kind != CategoryRefused)
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
		{"spamhaus-zen", "127.0.0.2 203.0.113.1", outOfRange, "", ""},
		{"spamhaus-zen", "128.0.0.2", outOfRange, "", ""},
		{"hostkarma", "127.0.0.1", informational, "", "White"},
		{"hostkarma", "127.0.0.1 127.0.0.2", present, Spam, "White"},
		{"hostkarma", "127.0.0.3 127.0.1.1", informational, "", "Yellow"},
		{"efnet", "127.0.0.1", present, Proxy, "Open proxy"},
		{"mailspike", "127.0.0.19", informational, "", "good"},
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

// listsOf is a file of lists.
func listsOf(lists ...string) string { return `{"lists": [` + strings.Join(lists, ", ") + "]}" }

// own is a list with more members, or others in the place of some.
func own(more ...string) string {
	members := []string{`"id": "own"`, `"name": "Own"`, `"operator": "We"`, `"zone": "bl.example.net"`, `"category": "spam"`,
		`"families": ["ipv4"]`}
	for _, m := range more {
		name, _, _ := strings.Cut(m, ":")
		members = slices.DeleteFunc(members, func(s string) bool { return strings.HasPrefix(s, name+":") })
		if !strings.HasSuffix(m, ":") {
			members = append(members, m)
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func sample(more ...string) string { return listsOf(own(more...)) }

func TestParseLists(t *testing.T) {
	code := func(codes, kind, meaning string) string {
		return sample(fmt.Sprintf(`"codes": [{"codes": %q, "kind": %q, "meaning": %q}]`, codes, kind, meaning))
	}
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "EOF"},
		{"no JSON", "{\n\n\"lists\": x", "invalid character 'x'"},
		{"the old form", "own\nname Own\n", "invalid character 'o'"},
		{"two values", sample() + sample(), "something follows the JSON value"},
		{"no UTF-8", strings.Replace(sample(), "Own", "\xff", 1), "it is not valid UTF-8"},
		{"too long", strings.Repeat(" ", maxFile+1), "more than 1048576 bytes"},
		{"array", "[" + own() + "]", "cannot unmarshal array"},
		{"null", "null", "lists: there must be 1 to 200, not 0"},
		{"no lists", "{}", "lists: there must be 1 to 200, not 0"},
		{"empty", listsOf(), "lists: there must be 1 to 200, not 0"},
		{"too many", listsOf(slices.Repeat([]string{"{}"}, maxLists+1)...), "lists: there must be 1 to 200, not 201"},
		{"lists of no array", `{"lists": {}}`, "cannot unmarshal object into Go struct field listsFile.lists"},
		{"lists twice", `{"lists": [], "lists": []}`, `the member "lists" appears twice`},
		{"unknown beside lists", `{"version": 1}`, `unknown field "version"`},
		{"date", `{"date": "yesterday"}`, `date: "yesterday" is no date`},
		{"source", `{"source": "\u0007"}`, "source: has more than 1000 bytes or a control character"},
		{"null list", listsOf("null"), `list 1 (""): id: must be 1 to 40`},
		{"no list", listsOf(`"own"`), `list 1 (""): json: cannot unmarshal string`},
		{"unknown member", sample(`"colour": "red"`), `list 1 ("own"): json: unknown field "colour"`},
		{"other case", sample(`"Zone": "x.example"`), `the member "Zone" appears twice`},
		{"member twice", strings.Replace(sample(), "{\"id", `{"name": "x", "id`, 1), `the member "name" appears twice`},
		{"id twice", listsOf(own(), own()), `list 2 ("own"): id: another list has "own"`},
		{"name twice", listsOf(own(), own(`"id": "b"`)), `list 2 ("b"): name: another list has "Own"`},
		{"zone twice", listsOf(own(), own(`"id": "b"`, `"name": "B"`, `"zone": "BL.example.net."`)),
			`list 2 ("b"): zone: another list has "bl.example.net"`},
		{"id", sample(`"id": "Own list"`), `list 1 ("Own list"): id: must be 1 to 40`},
		{"no id", sample(`"id":`), `list 1 (""): id: must be`},
		{"number", sample(`"id": 7`), `cannot unmarshal number into Go struct field List.id`},
		{"decisive", sample(`"decisive": "yes"`), "cannot unmarshal string into Go struct field List.decisive"},
		{"rate", sample(`"rate": "often"`), `"often" is no rate`},
		{"no rate", sample(`"rate": "0/s"`), `"0/s" is no rate`},
		{"numeric rate", sample(`"rate": 10`), "cannot unmarshal number into Go struct field List.rate"},
		{"rate of an object", sample(`"rate": {}`), "cannot unmarshal object into Go struct field List.rate"},
		{"severity", sample(`"severity": "dire"`), `severity: "dire" is not one of: high, medium, low`},
		{"scope", sample(`"scope": "world"`), `scope: "world" is not one of: address, network`},
		{"category", sample(`"category":`), `category: "" is not one of: spam`},
		{"operator", sample(`"operator": ""`), "operator: must be there"},
		{"no name", sample(`"name":`), "name: must be there"},
		{"long name", sample(`"name": "` + strings.Repeat("x", 29) + `"`), "name: has more than 28 bytes"},
		{"control character", sample(`"expires": "\u0001"`), "expires: has more than 200 bytes or a control character"},
		{"delist", sample(`"delist": "javascript:alert(1)"`), "delist: must be a URL"},
		{"zone", sample(`"zone": "http://x/"`), `zone: "http://x/" is no zone`},
		{"no zone", sample(`"zone":`), "zone: must be there if there is no keyed_zone"},
		{"keyed", sample(`"keyed_zone": "key.example.net"`, `"key_name": "own"`), "keyed_zone: does not begin with {key}."},
		{"bad keyed", sample(`"keyed_zone": "{key}.", "key_name": "own"`), `keyed_zone: "" is no zone`},
		{"no key name", sample(`"keyed_zone": "{key}.example.net"`), "key_name: must be there if"},
		{"key name alone", sample(`"key_name": "own"`), "key_name: must be there if there is a keyed_zone, and only then"},
		{"key name", sample(`"keyed_zone": "{key}.example.net"`, `"key_name": "Own"`), "key_name: must be 1 to 40"},
		{"no families", sample(`"families": []`), "families: must be there"},
		{"families", sample(`"families": ["4"]`), `families: "4" is not one of: ipv4, ipv6`},
		{"families twice", sample(`"families": ["ipv6", "ipv6"]`), `families: ipv6 appears twice`},
		{"families of no array", sample(`"families": "ipv4"`), "cannot unmarshal string into Go struct field List.families"},
		{"code", code("10.0.0.2", "spam", "x"), `"10.0.0.2" is no return code`},
		{"range", code("127.0.0.9-3", "spam", "x"), `the octet "9-3" is not one`},
		{"short", code("127.0.0", "spam", "x"), `"127.0.0" is no return code`},
		{"kind", code("127.0.0.2", "evil", "x"), `kind: "evil" is not one of`},
		{"meaning", code("127.0.0.2", "spam", ""), "meaning: must be there"},
		{"no codes", sample(`"codes": [{"kind": "spam", "meaning": "x"}]`), "codes: must be there"},
		{"numeric codes", sample(`"codes": [{"codes": 2}]`), "cannot unmarshal number into Go struct field Code.codes"},
		{"null code", sample(`"codes": [null]`), "codes: must be there"},
		{"unknown member of a code", sample(`"codes": [{"code": "127.0.0.2"}]`), `unknown field "code"`},
		{"too many codes", sample(`"codes": [` + strings.Repeat(`{"codes":"127.0.0.2","kind":"spam","meaning":"x"},`, maxCodes) +
			`{"codes":"127.0.0.2","kind":"spam","meaning":"x"}]`), "codes: there may be at most 64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lists, err := ParseLists([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, lists)
		})
	}
	lists, err := ParseLists([]byte(sample(`"rate": "10/s"`, `"test": false`, `"scope": "network"`, `"decisive": true`,
		`"expires": "after a week."`)))
	require.NoError(t, err)
	require.Equal(t, []*List{{
		ID: "own", Name: "Own", Operator: "We", Zone: "bl.example.net", Category: Spam, Severity: Low, Decisive: true,
		Scope: OfNetworks, Families: []Family{IPv4}, Expires: "after a week", Rate: Rate{10, time.Second},
	}}, lists)
	lists, err = ParseLists([]byte(sample()))
	require.NoError(t, err)
	require.True(t, lists[0].Test && lists[0].Scope == OfAddresses)
}

// The built-in file states its source.
func TestBuiltInFile(t *testing.T) {
	var file listsFile
	require.NoError(t, json.Unmarshal(BuiltIn(), &file))
	require.Contains(t, file.Source, "docs.spamhaus.com")
	require.NotEmpty(t, file.Date)
}

// Every parsed list can be queried: it has an id, a name that a headline has room for, and a zone in front of which a
// key and an IPv6 address fit.
func FuzzParseLists(f *testing.F) {
	f.Add(sample())
	f.Add(listsText)
	f.Add(sample(`"codes": [{"codes": "127.0.*.2-9", "kind": "neutral", "meaning": "x"}]`,
		`"keyed_zone": "{key}.k.example.net"`, `"key_name": "own"`, `"rate": "1/d"`, `"test": false`))
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
			require.NotEmpty(t, l.Families)
			secrets := keys{l.KeyName: secret{strings.Repeat("k", maxKey-1)}}
			zone, _ := secrets.queryZone(l)
			require.NotEmpty(t, zone)
			require.LessOrEqual(t, len(reversed(longest))+1+len(zone), 254)
			require.NotContains(t, l.public(true)+l.public(false), keyMark)
		}
	})
}

// Answers that lists must not use for listings never count as one.
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
			require.True(t, !strange || r.kind == denied || r.kind == outOfRange)
			require.Equal(t, r.kind == present, r.category != "" && r.kind == present)
			require.True(t, r.kind != present || slices.Contains(l.Category.Values(), string(r.category)))
		}
	})
}
