package registry

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
	"go4.org/netipx"
)

// kindOf determines by its contents which IANA bootstrap file a file is.
func kindOf(description string, l list) string {
	d := strings.ToLower(description)
	for word, kind := range map[string]string{
		"domain name": kindDNS, "ipv6": kindIPv6, "ipv4": kindIPv4, "autonomous": kindASN,
	} {
		if strings.Contains(d, word) && len(l.Services) > 0 {
			return kind
		}
	}
	return ""
}

// recent is since when blocks of numbers have hardly moved between registries.
const recent = "2023"

// TestConformanceBootstrap reads bootstrap files as IANA publishes them: every usable entry leads to the
// service that the file names. The built-in tables must have the same registry for addresses and autonomous systems.
func TestConformanceBootstrap(t *testing.T) {
	paths := diagtest.Vectors(t, "dns/bootstrap/*.json", "dns/bootstrap/*/*.json", "dns/rdap/*bootstrap*.json")
	right, total := 0, 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var l list
		if json.Unmarshal(data, &l) != nil {
			continue // object tags have another form (RFC 8521)
		}
		kind := kindOf(l.Description, l)
		b, err := ParseBootstrap(fmt.Appendf(nil, `{%q: %s}`, kind, data))
		require.NoError(t, err, path)
		for _, s := range l.Services {
			for _, entry := range s.entries {
				for what, got := range lookUp(b, kind, entry) {
					total++
					if slices.Equal(got, usableURLs(s.urls)) {
						right++
						continue
					}
					t.Errorf("%s: %s of %s: got %v; want %v", filepath.Base(path), what, entry, got, s.urls)
				}
				if kind == kindDNS || l.Publication < recent {
					continue
				}
				for what, got := range lookUp(DefaultBootstrap(), kind, entry) {
					total++
					if len(got) > 0 && sameHost(got[0], s.urls[0]) {
						right++
						continue
					}
					t.Errorf("built-in: %s of %s: got %v; want %v", what, entry, got, s.urls)
				}
			}
		}
	}
	require.NotZero(t, total)
	t.Logf("dns/bootstrap: %d files, %d/%d lookups", len(paths), right, total)
}

// lookUp looks up the ends of what an entry covers.
func lookUp(b *Bootstrap, kind, entry string) map[string][]string {
	switch kind {
	case kindDNS:
		if entry == "" {
			return map[string][]string{"name": b.forDomain("www.example.unlisted")}
		}
		return map[string][]string{"name": b.forDomain("www." + entry)}
	case kindASN:
		first, last, _ := parseRange(entry)
		return map[string][]string{"first": b.forSystem(first), "last": b.forSystem(last)}
	default:
		p := netip.MustParsePrefix(entry)
		return map[string][]string{"first": b.forAddress(p.Addr()), "last": b.forAddress(netipx.PrefixLastIP(p))}
	}
}

func sameHost(a, b string) bool {
	return diag.MustURL(a).Host() == diag.MustURL(b).Host()
}

// TestConformanceSpecial holds the table of addresses with a meaning of their own against the
// registries of IANA.
func TestConformanceSpecial(t *testing.T) {
	right, total := 0, 0
	for _, path := range diagtest.Vectors(t, "dns/bootstrap/*special-registry.xml") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var registry struct {
			Records []specialRecord `xml:"registry>record"`
		}
		require.NoError(t, xml.Unmarshal(data, &registry))
		for _, r := range registry.Records {
			for text := range strings.SplitSeq(r.Address, ",") {
				total++
				want := netip.MustParsePrefix(strings.TrimSpace(text))
				got, ok := special()[want]
				if !ok || got.GloballyReachable != (strings.EqualFold(strings.TrimSpace(r.Global), "true")) ||
					got.Name != strings.Trim(r.Name, `"`) || !r.has(got.RFC) {
					t.Errorf("%s: got %+v; want %+v", want, got, r)
					continue
				}
				right++
			}
		}
	}
	require.NotZero(t, total)
	t.Logf("dns/bootstrap special-purpose: %d/%d", right, total)
}

type specialRecord struct {
	Address string `xml:"address"`
	Name    string `xml:"name"`
	Global  string `xml:"global"`
	Specs   []struct {
		Data string `xml:"data,attr"`
	} `xml:"spec>xref"`
}

func (r specialRecord) has(rfc string) bool {
	return slices.ContainsFunc(r.Specs, func(s struct {
		Data string `xml:"data,attr"`
	}) bool {
		return s.Data == strings.ToLower(strings.ReplaceAll(rfc, " ", ""))
	})
}

// TestConformanceStatuses demands that all statuses of the RDAP registry are explained.
func TestConformanceStatuses(t *testing.T) {
	right, total := 0, 0
	for _, path := range diagtest.Vectors(t, "dns/bootstrap/rdap-json-values.xml") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var registry struct {
			Records []struct {
				Value string `xml:"value"`
				Type  string `xml:"type"`
			} `xml:"registry>record"`
		}
		require.NoError(t, xml.Unmarshal(data, &registry))
		for _, r := range registry.Records {
			if r.Type != "status" {
				continue
			}
			total++
			if explain(r.Value).Meaning == explain("no such status").Meaning {
				t.Errorf("%q is not explained", r.Value)
				continue
			}
			right++
		}
	}
	require.NotZero(t, total)
	t.Logf("dns/bootstrap statuses: %d/%d", right, total)
}
