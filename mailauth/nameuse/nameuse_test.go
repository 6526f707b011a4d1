package nameuse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type edit func(*nameuse.Evidence)

// firm returns the evidence of an organizational domain whose mail works and is protected.
func firm() nameuse.Evidence {
	return nameuse.Evidence{
		Name: "example.com", Organization: "example.com", Cut: true, Route: reception.RouteHosts, Service: smtpcheck.ServiceOffered,
		SPF: spf.Some, SPFRecord: nameuse.Yes, Key: nameuse.Yes, DMARC: nameuse.PolicyReject, DMARCFrom: "example.com",
		MTASTS: nameuse.ModeEnforce, DANE: nameuse.No, Web: nameuse.Yes, WebBecause: "Its web server answers.",
	}
}

// below returns the evidence of a name below that organization without records of its own.
func below(label string) nameuse.Evidence {
	return nameuse.Evidence{
		Name: label + ".example.com", Organization: "example.com", Route: reception.RouteNone, SPF: spf.Nobody, SPFRecord: nameuse.No,
		Key: nameuse.No, DMARC: nameuse.PolicyReject, DMARCFrom: "example.com", MTASTS: nameuse.ModeNone, DANE: nameuse.No,
	}
}

func at(e nameuse.Evidence, edits ...edit) nameuse.Evidence {
	for _, f := range edits {
		f(&e)
	}
	return e
}

func route(r reception.Route, s smtpcheck.Service) edit {
	return func(e *nameuse.Evidence) { e.Route, e.Service = r, s }
}

func sender(a spf.Audience) edit {
	return func(e *nameuse.Evidence) { e.SPF, e.SPFRecord = a, nameuse.Yes }
}

func noSPF(e *nameuse.Evidence)     { e.SPF, e.SPFRecord = spf.Nobody, nameuse.No }
func openSPF(e *nameuse.Evidence)   { e.SPF, e.SPFRecord = spf.Unknown, nameuse.Unknown }
func brokenSPF(e *nameuse.Evidence) { e.SPF, e.SPFRecord, e.SPFBroken = spf.Unknown, nameuse.Yes, true }
func noDMARC(e *nameuse.Evidence)   { e.DMARC, e.DMARCFrom = nameuse.PolicyNone, "" }
func keys(a nameuse.Answer) edit    { return func(e *nameuse.Evidence) { e.Key = a } }
func policy(p nameuse.Policy) edit  { return func(e *nameuse.Evidence) { e.DMARC = p } }

// The classification of names, in worlds of every kind: kind, receives, sends, forgeable, and whether its own mail is
// refused.
func TestNames(t *testing.T) {
	const y, n, u = nameuse.Yes, nameuse.No, nameuse.Unknown
	hosts, null, implicit, none := reception.RouteHosts, reception.RouteNull, reception.RouteImplicit, reception.RouteNone
	offered, refused, silent := smtpcheck.ServiceOffered, smtpcheck.ServiceRefused, smtpcheck.ServiceUnknown
	org, host := nameuse.Organization, nameuse.Host
	tests := []struct {
		name     string
		evidence nameuse.Evidence
		kind     nameuse.Kind
		receives nameuse.Answer
		sends    nameuse.Answer
		forged   nameuse.Answer
		own      nameuse.Answer
	}{
		{"organization", firm(), org, y, y, n, n},
		{"organization, quarantine", at(firm(), policy(nameuse.PolicyQuarantine)), org, y, y, n, n},
		{"organization, p=none", at(firm(), policy(nameuse.PolicyNone)), org, y, y, y, n},
		{"organization without DMARC", at(firm(), noDMARC), org, y, y, y, n},
		{"organization whose DMARC is not known", at(firm(), policy(nameuse.PolicyUnknown)), org, y, y, u, n},
		{"organization whose MX is not known", at(firm(), route(reception.RouteUnknown, silent)), org, u, y, n, n},
		{"organization whose SPF is not known", at(firm(), openSPF), org, y, y, u, n},
		{"organization with +all", at(firm(), sender(spf.Everybody)), org, y, y, y, n},
		{"organization with +all and p=none", at(firm(), sender(spf.Everybody), policy(nameuse.PolicyNone)), org, y, y, y, n},
		{"organization with +all and DMARC unknown", at(firm(), sender(spf.Everybody), policy(nameuse.PolicyUnknown)), org, y, y, y, n},
		{"organization with a key that anybody has", at(firm(), func(e *nameuse.Evidence) { e.KeyOpen = true }), org, y, y, y, n},
		{"organization without DKIM", at(firm(), keys(n)), org, y, y, n, n},
		{"organization without SPF", at(firm(), noSPF), org, y, y, n, n},
		{"organization with neither", at(firm(), noSPF, keys(n)), org, y, u, n, y},
		{"organization with neither and p=none", at(firm(), noSPF, keys(n), policy(nameuse.PolicyNone)), org, y, u, y, n},
		{"organization without SPF, keys not known", at(firm(), noSPF, keys(u)), org, y, u, n, u},
		{"organization with a broken SPF record", at(firm(), brokenSPF, keys(n)), org, y, u, n, y},
		{"organization with a broken SPF record and a key", at(firm(), brokenSPF), org, y, y, n, n},
		{"organization with a broken SPF record and p=none", at(firm(), brokenSPF, policy(nameuse.PolicyNone)), org, y, y, y, n},
		{"organization whose mail servers refuse", at(firm(), route(hosts, refused)), org, y, y, n, n},
		{"organization that samples quarantine", at(firm(), policy(nameuse.PolicyQuarantine), func(e *nameuse.Evidence) { e.DMARCSample = 20 }), org, y, y, y, n},
		{"organization that samples reject", at(firm(), func(e *nameuse.Evidence) { e.DMARCSample = 20 }), org, y, y, n, n},
		{"mail at an implicit MX", at(firm(), route(implicit, offered)), org, y, y, n, n},
		{"implicit MX that is silent", at(firm(), route(implicit, silent)), org, u, y, n, n},
		{"receives, and SPF lets nobody send", at(firm(), sender(spf.Nobody), keys(n)), org, y, n, n, u},
		{"receives, SPF lets nobody send, with a key", at(firm(), sender(spf.Nobody)), org, y, y, n, n},
		{"nothing known but the name", nameuse.Evidence{Name: "example.com"}, org, u, u, u, n},

		{"www", at(below("www"), route(implicit, refused)), host, u, u, n, y},
		{"www, port 25 not asked", at(below("www"), route(implicit, silent)), host, u, u, n, y},
		{"www with v=spf1 -all", at(below("www"), route(implicit, refused), sender(spf.Nobody)), host, n, n, n, u},
		{"www with v=spf1 -all, silent", at(below("www"), route(implicit, silent), sender(spf.Nobody)), host, u, n, n, u},
		{"www with null MX", at(below("www"), route(null, silent), sender(spf.Nobody)), host, n, n, n, u},
		{"www below p=none", at(below("www"), route(implicit, refused), policy(nameuse.PolicyNone)), host, u, u, y, n},
		{"www, DMARC not known", at(below("www"), route(implicit, refused), policy(nameuse.PolicyUnknown)), host, u, u, u, n},
		{"www without DMARC", at(below("www"), route(implicit, refused), noDMARC), host, u, u, y, n},
		{"www where a mail server answers", at(below("www"), route(implicit, offered)), host, y, u, n, y},

		{"alias to a vendor", at(below("shop"), func(e *nameuse.Evidence) { e.AliasOf = "shops.vendor.example" }), nameuse.Alias, n, u, n, y},
		{"alias to a vendor with mail", at(below("shop"), route(hosts, offered), sender(spf.Some), func(e *nameuse.Evidence) { e.AliasOf = "shops.vendor.example" }),
			nameuse.Alias, y, y, n, n},
		{"alias at www of the apex", at(below("www"), route(hosts, offered), sender(spf.Some), func(e *nameuse.Evidence) { e.AliasOf = "example.com" }), nameuse.Alias, y, y, n, n},
		{"alias below no policy", at(below("shop"), noDMARC, func(e *nameuse.Evidence) { e.AliasOf = "shops.vendor.example" }), nameuse.Alias, n, u, y, n},

		{"sending only, with an address", at(below("news"), route(implicit, refused), sender(spf.Some), keys(y)), host, u, y, n, n},
		{"sending only, without an address", at(below("news"), sender(spf.Some), keys(y)), host, n, y, n, n},
		{"sending only, by a key alone", at(below("news"), keys(y)), host, n, y, n, n},
		{"sending only, null MX", at(below("news"), route(null, silent), sender(spf.Some), keys(y)), host, n, y, n, n},
		{"sending only, p=none above", at(below("news"), sender(spf.Some), policy(nameuse.PolicyNone)), host, n, y, y, n},
		{"receiving only", at(below("in"), route(hosts, offered), sender(spf.Nobody)), host, y, n, n, u},
		{"receiving only, without SPF", at(below("in"), route(hosts, offered)), host, y, u, n, y},
		{"receiving only, with an address", at(below("in"), route(implicit, offered), sender(spf.Nobody)), host, y, n, n, u},

		{"parked with null MX", at(firm(), route(null, silent), sender(spf.Nobody), keys(n)), org, n, n, n, u},
		{"parked with null MX, without DMARC", at(firm(), route(null, silent), sender(spf.Nobody), keys(n), noDMARC), org, n, n, y, n},
		{"parked without null MX and address", at(firm(), route(none, silent), sender(spf.Nobody), keys(n)), org, n, n, n, u},
		{"parked with nothing at all", at(firm(), route(none, silent), noSPF, keys(n), noDMARC), org, n, u, y, n},
		{"parked, keys not known", at(firm(), route(null, silent), sender(spf.Nobody), keys(u)), org, n, u, n, u},
		{"web only", at(firm(), route(implicit, refused), sender(spf.Nobody), keys(n), noDMARC), org, n, n, y, n},
		{"web only, silent", at(firm(), route(implicit, silent), sender(spf.Nobody), keys(n), noDMARC), org, u, n, y, n},
		{"web only without SPF", at(firm(), route(implicit, refused), noSPF, keys(n), noDMARC), org, u, u, y, n},
		{"web only, p=reject", at(firm(), route(implicit, refused), sender(spf.Nobody), keys(n)), org, n, n, n, u},

		{"answered by a wildcard", at(below("anything"), route(implicit, refused)), host, u, u, n, y},
		{"wildcard with MX", at(below("anything"), route(hosts, offered)), host, y, u, n, y},
		{"wildcard alias", at(below("anything"), func(e *nameuse.Evidence) { e.AliasOf = "example.com" }), nameuse.Alias, n, u, n, y},
		{"public suffix", nameuse.Evidence{Name: "co.example", Suffix: true, Organization: "co.example"}, nameuse.PublicSuffix, u, u, u, n},
		{"public suffix with mail", at(firm(), func(e *nameuse.Evidence) { e.Suffix = true }), nameuse.PublicSuffix, y, y, n, n},
		{"reserved", nameuse.Evidence{Name: "printer.local", Special: true}, nameuse.Reserved, u, u, u, n},
		{"reserved, with an alias", nameuse.Evidence{Name: "x.localhost", Special: true, AliasOf: "y"}, nameuse.Reserved, u, u, u, n},
		{"delegated subzone", at(below("lab"), func(e *nameuse.Evidence) { e.Cut = true }), nameuse.Delegated, n, u, n, y},
		{"delegated subzone with mail", at(below("lab"), route(hosts, offered), sender(spf.Some), keys(y), func(e *nameuse.Evidence) { e.Cut = true }), nameuse.Delegated, y, y, n, n},
		{"delegated subzone with its own policy", at(below("lab"), func(e *nameuse.Evidence) { e.Cut, e.DMARCFrom = true, "lab.example.com" }), nameuse.Delegated, n, u, n, y},
		{"other letters", at(firm(), func(e *nameuse.Evidence) { e.Organization = "EXAMPLE.com" }), org, y, y, n, n},
	}
	require.GreaterOrEqual(t, len(tests), 60)
	seen := map[string]bool{}
	for _, tt := range tests {
		got := nameuse.Of(tt.evidence)
		assert.Equal(t, []any{tt.kind, tt.receives, tt.sends, tt.forged, tt.own},
			[]any{got.Kind, got.Receives.Answer, got.Sends.Answer, got.Forgeable.Answer, got.OwnMailRefused().Answer}, tt.name)
		for _, c := range []nameuse.Claim{got.Receives, got.Sends, got.Web, got.Forgeable} {
			assert.True(t, strings.HasSuffix(c.Because, ".") && c.Because[0] >= 'A' && c.Because[0] <= 'Z', "%s: %q", tt.name, c.Because)
			seen[fmt.Sprint(c)] = true
		}
		assert.Equal(t, tt.receives == n && tt.sends == n, got.Unused(), tt.name)
		assert.False(t, got.Protected() && got.Kind == org, tt.name)
	}
	require.Greater(t, len(seen), 20, "reasons")
}

// Unknown evidence never becomes yes or no by itself.
func TestUnknown(t *testing.T) {
	for _, r := range []reception.Route{reception.RouteUnknown, ""} {
		require.Equal(t, nameuse.Unknown, nameuse.Of(nameuse.Evidence{Route: r}).Receives.Answer)
	}
	n := nameuse.Of(nameuse.Evidence{})
	require.Equal(t, nameuse.InForce{DMARC: nameuse.PolicyUnknown, SPF: spf.Unknown, MTASTS: nameuse.ModeUnknown, DANE: nameuse.Unknown}, n.InForce)
	require.Equal(t, nameuse.Unknown, n.Web.Answer)
	var decoded nameuse.Name
	require.Equal(t, nameuse.Unknown, decoded.OwnMailRefused().Answer)
}

func ExampleOf() {
	name := nameuse.Of(nameuse.Evidence{
		Name: "www.example.com", Organization: "example.com", Route: reception.RouteImplicit, Service: smtpcheck.ServiceRefused,
		DMARC: nameuse.PolicyReject, DMARCFrom: "example.com", SPF: spf.Nobody, SPFRecord: nameuse.No, Key: nameuse.No,
	})
	fmt.Println(name.Kind, name.Receives.Answer, name.Forgeable.Answer)
	fmt.Println(name.Forgeable.Because)
	// Output:
	// host unknown no
	// The DMARC policy p=reject of example.com applies to forged mail.
}
