package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The lists of a bootstrap: those of IANA, and seeds for domains that IANA does not list.
const (
	kindDNS   = "dns"
	kindIPv4  = "ipv4"
	kindIPv6  = "ipv6"
	kindASN   = "asn"
	kindSeeds = "seeds"
)

var kinds = []string{kindDNS, kindIPv4, kindIPv6, kindASN, kindSeeds}

// A Bootstrap maps domains, addresses and autonomous systems to the responsible RDAP services (RFC 9224). It
// is immutable.
type Bootstrap struct {
	lists map[string]list

	names, seeds map[string][]string // URLs by domain, in lower case without a final dot; "" is the root
	networks     map[netip.Prefix][]string
	systems      []systems // in order
}

// systems is a range of autonomous systems.
type systems struct {
	first, last uint32
	urls        []string
}

// DefaultBootstrap returns the built-in tables.
func DefaultBootstrap() *Bootstrap { return builtinBootstrap() }

// ParseBootstrap parses tables that replace the built-in ones: a JSON object with the optional members "dns",
// "ipv4", "ipv6" and "asn", each a bootstrap file as IANA publishes it (RFC 9224 section 3), and "seeds",
// which has the form of "dns" and lists services for domains missing there. A single bootstrap file is
// accepted too. The built-in table is used for each missing member. Services with unusable URLs are ignored.
func ParseBootstrap(data []byte) (*Bootstrap, error) {
	lists, err := parseLists(data)
	if err != nil {
		return nil, fmt.Errorf("reading the RDAP bootstrap: %w", err)
	}
	b := &Bootstrap{lists: lists}
	for _, kind := range kinds {
		if _, ok := b.lists[kind]; !ok {
			b.lists[kind] = builtinBootstrap().lists[kind]
		}
	}
	if err := b.compile(); err != nil {
		return nil, fmt.Errorf("reading the RDAP bootstrap: %w", err)
	}
	return b, nil
}

func parseLists(data []byte) (map[string]list, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	lists := map[string]list{}
	if members["services"] != nil {
		var l list
		if err := json.Unmarshal(data, &l); err != nil {
			return nil, err
		}
		return l.sorted(), nil
	}
	for kind, text := range members {
		if !slices.Contains(kinds, kind) {
			return nil, fmt.Errorf("%.40q is not one of %s", kind, strings.Join(kinds, ", "))
		}
		var l list
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		lists[kind] = l
	}
	return lists, nil
}

func (l list) sorted() map[string]list {
	lists := map[string]list{}
	for _, s := range l.Services {
		for _, entry := range s.entries {
			kind := kindOfEntry(entry)
			one, ok := lists[kind]
			if !ok {
				one = list{Description: l.Description, Publication: l.Publication, Version: l.Version}
			}
			one.Services = append(one.Services, service{[]string{entry}, s.urls})
			lists[kind] = one
		}
	}
	return lists
}

func kindOfEntry(entry string) string {
	if p, err := netip.ParsePrefix(entry); err == nil && p.Addr().Is4() {
		return kindIPv4
	} else if err == nil {
		return kindIPv6
	}
	if _, _, err := parseRange(entry); err == nil {
		return kindASN
	}
	return kindDNS
}

// MarshalJSON implements [json.Marshaler]: it writes what [ParseBootstrap] reads.
func (b *Bootstrap) MarshalJSON() ([]byte, error) { return json.Marshal(b.lists) }

// compile makes the lists ready to be searched.
func (b *Bootstrap) compile() error {
	b.names, b.seeds, b.networks = map[string][]string{}, map[string][]string{}, map[netip.Prefix][]string{}
	adders := map[string]func(entry string, urls []string) bool{
		kindDNS:   func(e string, urls []string) bool { return addName(b.names, e, urls) },
		kindSeeds: func(e string, urls []string) bool { return addName(b.seeds, e, urls) },
		kindIPv4:  b.addNetwork, kindIPv6: b.addNetwork, kindASN: b.addSystems,
	}
	for _, kind := range kinds {
		usable := 0
		for _, s := range b.lists[kind].Services {
			urls := usableURLs(s.urls)
			for _, e := range s.entries {
				if len(urls) > 0 && adders[kind](e, urls) {
					usable++
				}
			}
		}
		if usable == 0 && len(b.lists[kind].Services) > 0 {
			return fmt.Errorf("no service of the list %s can be used", kind)
		}
	}
	slices.SortFunc(b.systems, func(x, y systems) int { return cmp.Compare(x.first, y.first) })
	return nil
}

// usableURLs returns those of the URLs that can be asked, the encrypted ones first (RFC 9224 section
// 3). Each ends with a slash.
func usableURLs(urls []string) []string {
	var usable []string
	for _, s := range urls {
		u, err := diag.ParseURL(s)
		if err != nil || strings.ContainsAny(s, "?#") || !strings.Contains(s, "://") {
			continue
		}
		usable = append(usable, strings.TrimSuffix(u.String(), "/")+"/")
	}
	slices.SortStableFunc(usable, func(x, y string) int { return cmp.Compare(rank(x), rank(y)) })
	return usable
}

// rank orders URLs: the encrypted ones come first.
func rank(url string) int {
	if strings.HasPrefix(url, "https:") {
		return 0
	}
	return 1
}

func addName(names map[string][]string, entry string, urls []string) bool {
	name := strings.TrimSuffix(entry, ".")
	if name != "" {
		d, err := diag.ParseDomain(name)
		if err != nil {
			return false
		}
		name = d.String()
	}
	names[name] = urls
	return true
}

func (b *Bootstrap) addNetwork(entry string, urls []string) bool {
	p, err := netip.ParsePrefix(entry)
	if err != nil {
		return false
	}
	b.networks[p.Masked()] = urls
	return true
}

func (b *Bootstrap) addSystems(entry string, urls []string) bool {
	first, last, err := parseRange(entry)
	if err != nil {
		return false
	}
	b.systems = append(b.systems, systems{first, last, urls})
	return true
}

// parseRange reads a number or a range such as "36864-37887" (RFC 9224 section 5.3).
func parseRange(s string) (first, last uint32, err error) {
	a, z, found := strings.Cut(s, "-")
	if !found {
		z = a
	}
	x, err1 := strconv.ParseUint(a, 10, 32)
	y, err2 := strconv.ParseUint(z, 10, 32)
	if err := errors.Join(err1, err2); err != nil || x > y {
		return 0, 0, errors.New("it is no range of numbers")
	}
	return uint32(x), uint32(y), nil
}

// forDomain returns the services for a domain in ASCII form: of IANA's list, of the longest entry that covers it (RFC
// 9224 section 4), or else of the seeds. Top-level domains are themselves registered in the root.
func (b *Bootstrap) forDomain(name string) []string {
	if root := b.seeds[""]; root != nil && !strings.Contains(name, ".") {
		return root
	}
	for _, names := range []map[string][]string{b.names, b.seeds} {
		if suffix, ok := longest(names, name); ok && (suffix != "" || b.names[""] != nil) {
			return names[suffix]
		}
	}
	return nil
}

// longest returns the longest suffix of a name, label by label, that the table has.
func longest[V any](table map[string]V, name string) (string, bool) {
	for {
		if _, ok := table[name]; ok || name == "" {
			return name, ok
		}
		_, name, _ = strings.Cut(name, ".")
	}
}

// forAddress returns the services for an address (RFC 9224 sections 5.1 and 5.2).
func (b *Bootstrap) forAddress(ip netip.Addr) []string {
	for bits := ip.BitLen(); bits >= 0; bits-- {
		if p, err := ip.Prefix(bits); err == nil && b.networks[p] != nil {
			return b.networks[p]
		}
	}
	return nil
}

// forSystem returns the services for an autonomous system (RFC 9224 section 5.3).
func (b *Bootstrap) forSystem(asn uint32) []string {
	i, found := slices.BinarySearchFunc(b.systems, asn, func(s systems, asn uint32) int {
		return cmp.Compare(s.first, asn)
	})
	if !found {
		i--
	}
	if i < 0 || b.systems[i].last < asn {
		return nil
	}
	return b.systems[i].urls
}
