package lint

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/cryptobyte"
	cryptobyteasn1 "golang.org/x/crypto/cryptobyte/asn1"
	"golang.org/x/net/publicsuffix"
)

// The kinds of names in GeneralName, by their tags (RFC 5280 section 4.2.1.6).
const (
	emailName     = 1
	dnsName       = 2
	directoryName = 4
	uriName       = 6
	addressName   = 7
)

// A generalName is one name of a certificate, or the base of one constraint.
type generalName struct {
	kind  uint8
	value []byte // contents; of a directory name its DER
}

// A subtree is the name constraints of one certificate (RFC 5280 section 4.2.1.10).
type subtree struct {
	permitted, excluded []generalName
}

// maxComparisons bounds the work: as many names against as many constraints as anyone sends. It is the
// bound of crypto/x509.
const maxComparisons = 250_000

func constraintsForm(c *x509.Certificate, p Profile) []Fault {
	e := find(c, oidNameConstraints)
	if e == nil {
		return nil
	}
	const reference = "RFC 5280 section 4.2.1.10"
	t, ok := parseConstraints(e.Value)
	if !ok {
		return []Fault{{"constraints.form", "The name constraints cannot be read", reference, c}}
	}
	if !e.Critical && p == RFC5280 { // BR section 7.1.2.5.2 allows it
		return []Fault{{"constraints.noncritical", "The name constraints are not marked critical", reference, c}}
	}
	for _, base := range slices.Concat(t.permitted, t.excluded) {
		if base.kind == dnsName && len(base.value) > 0 && !hostName(string(base.value)) {
			why := fmt.Sprintf("The name constraint %.300q is not a host name", base.value)
			return []Fault{{"constraints.name", why, reference, c}}
		}
	}
	return nil
}

func constraints(path []*x509.Certificate) []Fault {
	var faults []Fault
	work := 0
	for i, c := range path {
		e := find(c, oidNameConstraints)
		if e == nil || i == 0 {
			continue
		}
		t, ok := parseConstraints(e.Value)
		if !ok {
			continue // reported already
		}
		for j, subject := range path[:i] {
			if j > 0 && selfIssued(subject) {
				continue // RFC 5280 section 6.1.4 (b)
			}
			list, ok := namesOf(subject)
			if work += len(list) * (len(t.permitted) + len(t.excluded)); work > maxComparisons {
				return append(faults, Fault{"constraints.many", "There are more names and name constraints than clients compare",
					"RFC 5280 section 4.2.1.10", c})
			}
			why := t.violated(pki.ParseName(c.RawSubject), list)
			if why == "" && !ok {
				why = "A name that cannot be read is under name constraints"
			}
			if why != "" {
				faults = append(faults, Fault{"constraints.violated", why, "RFC 5280 section 4.2.1.10", subject})
			}
		}
	}
	return faults
}

// violated says which name lies outside of the names that an authority permits, or inside of those that it excludes.
func (t subtree) violated(authority pki.Name, list []generalName) string {
	for _, n := range list {
		kin := func(base generalName) bool { return base.kind == n.kind }
		if !known(n.kind) && (slices.ContainsFunc(t.permitted, kin) || slices.ContainsFunc(t.excluded, kin)) {
			return "A name of a kind that clients do not know is under name constraints"
		}
		if i := slices.IndexFunc(t.excluded, func(base generalName) bool { return base.touches(n, true) }); i >= 0 {
			return fmt.Sprintf("The name constraints of %s exclude %s, and with it the name %s", phrase.Quote(authority.Short()),
				t.excluded[i], n)
		}
		if slices.ContainsFunc(t.permitted, kin) &&
			!slices.ContainsFunc(t.permitted, func(base generalName) bool { return base.touches(n, false) }) {
			permitted := slices.DeleteFunc(slices.Clone(t.permitted), func(base generalName) bool { return !kin(base) })
			return fmt.Sprintf("The name constraints of %s permit %s only, and not the name %s", phrase.Quote(authority.Short()),
				phrase.Series(kit.Map(permitted, generalName.String), maxShown), n)
		}
	}
	return ""
}

// maxShown bounds the subtrees in a sentence.
const maxShown = 3

func known(kind uint8) bool {
	return kind == emailName || kind == dnsName || kind == directoryName || kind == uriName || kind == addressName
}

// String is a name, or the base of a constraint, in a sentence.
func (n generalName) String() string {
	switch n.kind {
	case addressName:
		if a, ok := netip.AddrFromSlice(n.value); ok {
			return a.String()
		}
		half := len(n.value) / 2 // an address and its mask
		if a, ok := netip.AddrFromSlice(n.value[:half]); ok {
			ones, _ := net.IPMask(n.value[half:]).Size()
			return netip.PrefixFrom(a, ones).String()
		}
		return fmt.Sprintf("%x", n.value)
	case directoryName:
		name := pki.ParseName(n.value)
		return fmt.Sprintf("%.300q", name.Raw)
	default:
		return fmt.Sprintf("%.300q", n.value)
	}
}

// touches reports whether a name lies within a base. A wildcard matches many names: it is within an
// excluded base if one of them may be, and within a permitted one only if all are.
func (base generalName) touches(n generalName, oneSuffices bool) bool {
	if base.kind != n.kind {
		return false
	}
	switch n.kind {
	case dnsName:
		return withinDomain(string(n.value), string(base.value), oneSuffices)
	case emailName:
		return withinMailbox(string(n.value), string(base.value))
	case uriName:
		u, err := url.Parse(string(n.value))
		return err == nil && withinHost(u.Hostname(), string(base.value))
	case addressName:
		return withinNetwork(n.value, base.value)
	case directoryName:
		return withinDirectory(n.value, base.value)
	default:
		return false
	}
}

func withinDomain(name, base string, oneSuffices bool) bool {
	if base == "" {
		return true
	}
	if below, ok := strings.CutPrefix(base, "."); ok { // malformed, and clients treat it as all names below
		rest, _ := strings.CutPrefix(name, "*.")
		return withinHostOrBelow(rest, below) && !strings.EqualFold(name, below)
	}
	rest, wildcard := strings.CutPrefix(name, "*.")
	if withinHostOrBelow(rest, base) {
		return true // and so are all names below it
	}
	// *.example.com matches foo.example.com too.
	_, parent, _ := strings.Cut(base, ".")
	return wildcard && oneSuffices && strings.EqualFold(parent, rest)
}

func withinHostOrBelow(name, base string) bool {
	below := len(name) - len(base)
	return strings.EqualFold(name, base) || below > 0 && name[below-1] == '.' && strings.EqualFold(name[below:], base)
}

// withinHost: a base with a leading period means the names below, one without the host alone.
func withinHost(host, base string) bool {
	if below, ok := strings.CutPrefix(base, "."); ok {
		return withinHostOrBelow(host, below) && !strings.EqualFold(host, below)
	}
	return strings.EqualFold(host, base)
}

func withinMailbox(address, base string) bool {
	local, host, ok := strings.Cut(address, "@")
	if wanted, domain, whole := strings.Cut(base, "@"); whole {
		return ok && local == wanted && strings.EqualFold(host, domain)
	}
	return ok && withinHost(host, base)
}

// withinNetwork: the base is an address and a mask of the same length.
func withinNetwork(address, base []byte) bool {
	if len(base) != 2*len(address) {
		return false
	}
	for i, b := range address {
		if mask := base[len(address)+i]; b&mask != base[i]&mask {
			return false
		}
	}
	return true
}

// withinDirectory: the base's relative names are those that the name begins with. Neither capitals, nor spaces, nor the
// type of a string count (RFC 5280 section 7.1).
func withinDirectory(name, base []byte) bool {
	n, ok := relativeNames(name)
	b, fine := relativeNames(base)
	return ok && fine && len(n) >= len(b) && slices.Equal(n[:len(b)], b)
}

// relativeNames returns the parts of a distinguished name in a form that can be compared.
func relativeNames(der []byte) (list []string, ok bool) {
	in, name := cryptobyte.String(der), cryptobyte.String(nil)
	if !in.ReadASN1(&name, cryptobyteasn1.SEQUENCE) {
		return nil, false
	}
	for !name.Empty() {
		var set, attribute cryptobyte.String
		var parts []string
		if !name.ReadASN1(&set, cryptobyteasn1.SET) {
			return nil, false
		}
		for !set.Empty() {
			if !set.ReadASN1(&attribute, cryptobyteasn1.SEQUENCE) {
				return nil, false
			}
			parts = append(parts, spelling(attribute))
		}
		slices.Sort(parts)
		list = append(list, strings.Join(parts, "+"))
	}
	return list, true
}

// spelling returns an attribute of a name with its text, if that is what it holds, in one spelling.
func spelling(attribute cryptobyte.String) string {
	rest := attribute
	var id, value cryptobyte.String
	var tag cryptobyteasn1.Tag
	if !rest.ReadASN1(&id, cryptobyteasn1.OBJECT_IDENTIFIER) || !rest.ReadAnyASN1(&value, &tag) {
		return fmt.Sprintf("%x", attribute)
	}
	switch tag {
	case cryptobyteasn1.PrintableString, cryptobyteasn1.UTF8String, cryptobyteasn1.IA5String:
		return fmt.Sprintf("%x %q", id, strings.Join(strings.Fields(strings.ToLower(string(value))), " "))
	default:
		return fmt.Sprintf("%x", attribute)
	}
}

func names(c *x509.Certificate) []Fault {
	var faults []Fault
	add := func(id, reference, format string, args ...any) {
		faults = append(faults, Fault{id, fmt.Sprintf(format, args...), reference, c})
	}
	switch san := find(c, oidSAN); {
	case san == nil:
		add("san.missing", "BR section 7.1.2.7.12", "There are no subject alternative names")
	case san.Critical && !emptyName(c.RawSubject):
		add("san.critical", "BR section 7.1.2.7.12",
			"The subject alternative names are marked critical although there is a subject")
	case !san.Critical && emptyName(c.RawSubject):
		add("san.noncritical", "RFC 5280 section 4.2.1.6",
			"The subject alternative names are not marked critical although there is no subject")
	}
	for _, name := range c.DNSNames {
		if why := badName(name); why != "" {
			add("san.name", "RFC 5280 section 4.2.1.6", "The name %.300q %s", name, why)
			break // one such name is enough, and there may be thousands
		}
	}
	if i := slices.IndexFunc(c.DNSNames, coversSuffix); i >= 0 {
		add("san.suffix", "BR section 3.2.2.6", "The name %.300q covers all domains under a public suffix", c.DNSNames[i])
	}
	for _, cn := range commonNames(c) {
		if !slices.Contains(c.DNSNames, cn) && !addressAsText(cn, c.IPAddresses) {
			add("cn.foreign", "BR section 7.1.4.3", "The common name %.300q is not one of the subject alternative names", cn)
		}
	}
	return faults
}

// badName says why a name is not allowed in a certificate as a DNS name; empty if it is.
func badName(name string) string {
	rest := strings.TrimPrefix(name, "*.")
	switch _, err := netip.ParseAddr(name); {
	case err == nil:
		return "is an IP address, and is listed as a DNS name"
	case name == "*":
		return "covers every name there is"
	case strings.Contains(rest, "*"):
		return "has an asterisk that does not stand for the whole first label"
	case len(name) > 253 || !hostName(rest):
		return "is not a host name"
	default:
		return ""
	}
}

// hostName reports whether a name has the preferred syntax (RFC 5280 section 4.2.1.6, RFC 1034 section 3.5).
func hostName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		bad := func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
		}
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, bad) || strings.Trim(label, "-") != label {
			return false
		}
	}
	return true
}

// coversSuffix reports whether a wildcard is directly before a suffix under which anyone may register a
// domain. Those that companies run for their own customers do not count: the owner of one may have it certified.
func coversSuffix(name string) bool {
	name, wildcard := strings.CutPrefix(strings.ToLower(name), "*.")
	suffix, registry := publicsuffix.PublicSuffix(name)
	return wildcard && suffix == name && (registry || !strings.Contains(name, "."))
}

func commonNames(c *x509.Certificate) []string {
	var list []string
	for _, a := range pki.Attributes(c.RawSubject) {
		if a.Type == commonName {
			list = append(list, a.Value)
		}
	}
	return list
}

const commonName = "2.5.4.3"

// addressAsText reports whether a text is one of the addresses in its canonical form (RFC 5952 section 4).
func addressAsText(text string, list []net.IP) bool {
	return slices.ContainsFunc(list, func(ip net.IP) bool {
		a, ok := netip.AddrFromSlice(ip)
		return ok && a.String() == text
	})
}
