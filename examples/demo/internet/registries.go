package internet

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/webcheck/hsts"
)

const rdapServer = "rdap.nic.example"

// addressServer is the registry of all addresses. Those of the hosts here are for documentation: it is not asked of
// them.
const addressServer = "rdap.addresses.example"

// bootstrap leads to both (RFC 9224).
const bootstrap = `{"dns": {"services": [[["example", "com"], ["https://` + rdapServer + `/"]]]},
	"ipv4": {"services": [[["0.0.0.0/0"], ["https://` + addressServer + `/"]]]},
	"ipv6": {"services": [[["::/0"], ["https://` + addressServer + `/"]]]}}`

// Free is the one domain that nobody has registered.
const Free = "free.example"

// shops are the domains that have a web site, and no records in the zone but its address.
var shops = []string{
	"alone", "basket", "beginner", "careless", "circle", "eager", "half", "hasty", "hidden", "inside", "listed", "loose",
	"moved", "museum", "secret", "sho", "stale",
}

// serveRegistries opens the registry and sets the lists that lead to it. All domains of this Internet are registered,
// in good standing but for lapsing.example and harbour.example, all but one for years, and each address has a holder.
func serveRegistries(world *diagtest.World) error {
	now := world.Now().UTC()
	date := func(days int) string { // with some hours more, so that whole days stay so while the demonstration runs
		return now.AddDate(0, 0, days).Add(time.Duration(max(0, min(days, 1))) * 6 * time.Hour).Format(time.RFC3339)
	}
	answers := map[string]string{}
	for _, domain := range registered() {
		answers["/domain/"+domain] = registration(domain, date(-3000), date(400), "client transfer prohibited")
	}
	answers["/domain/lapsing.example"] = registration("lapsing.example", date(-360), date(5), "active")
	answers["/domain/harbour.example"] = registration(
		"harbour.example", date(-3640), date(12), "client transfer prohibited")
	answers["/domain/"+phishingSite] = registration(phishingSite, date(-9), date(356), "client transfer prohibited")
	world.RDAP(rdapServer, answers)
	world.HTTPS(addressServer, http.HandlerFunc(holder))
	// The lists that an operator replaces by files of the same names in the folder of --data.
	vantages, err := json.Marshal(slices.DeleteFunc(propagation.Vantages(), func(v propagation.Vantage) bool {
		return !slices.ContainsFunc(resolver.Public(), func(p resolver.PublicResolver) bool { return p.ID == v.ID })
	}))
	lists := fstest.MapFS{
		"rdap-bootstrap.json": {Data: []byte(bootstrap)},
		"vantages.json":       {Data: vantages},
		hsts.File:             {Data: []byte(preloadList)},
	}
	maps.Copy(lists, authority.Files())
	world.Env().Data = lists
	return err
}

// registered lists the domains that are: those of the zone, those of its hosts, and the shops.
func registered() []string {
	list := Domains()
	for line := range strings.Lines(zone) {
		owner, _, _ := strings.Cut(line, " ")
		labels := strings.Split(strings.TrimSuffix(owner, "."), ".")
		if n := len(labels); n > 2 && (labels[n-1] == "example" || labels[n-1] == "com") {
			list = append(list, strings.Join(labels[n-2:], "."))
		}
	}
	for _, s := range shops {
		list = append(list, s+".example")
	}
	return list
}

// holder answers for each address with the block around it (RFC 9083 section 5.4).
func holder(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/rdap+json")
	addr, err := netip.ParseAddr(path.Base(r.URL.Path))
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errorCode": 404, "title": "Not Found"}`)
		return
	}
	bits, version := 24, "v4"
	if addr.Is6() {
		bits, version = 48, "v6"
	}
	block, _ := addr.Prefix(bits) // of an address that is one
	last := block.Addr().AsSlice()
	for i := bits / 8; i < len(last); i++ {
		last[i] = 0xff
	}
	end, _ := netip.AddrFromSlice(last)
	fmt.Fprintf(w, `{"objectClassName": "ip network", "handle": "NET-EXAMPLE", "name": "EXAMPLE-NET", "type": "ASSIGNED PA",
	"ipVersion": "%s", "startAddress": "%s", "endAddress": "%s", "country": "NL", "status": ["active"],
	"entities": [{"objectClassName": "entity", "roles": ["registrant"], "handle": "ORG-EXAMPLE",
	              "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Example Hosting"]]]},
	             {"objectClassName": "entity", "roles": ["abuse"], "handle": "ABUSE-EXAMPLE",
	              "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Abuse desk"],
	                ["email", {}, "text", "abuse@hosting.example"]]]}]}`, version, block.Addr(), end)
}

// registration is what a registry says of a domain (RFC 9083 section 5.3).
func registration(domain, created, expires, status string) string {
	return `{"objectClassName": "domain", "ldhName": "` + domain + `", "status": ["` + status + `"],
	"events": [{"eventAction": "registration", "eventDate": "` + created + `"},
	           {"eventAction": "expiration", "eventDate": "` + expires + `"}],
	"secureDNS": {"delegationSigned": ` + strconv.FormatBool(slices.Contains(signed, domain)) + `},
	"entities": [{"objectClassName": "entity", "roles": ["registrar"],
	              "publicIds": [{"type": "IANA Registrar ID", "identifier": "9999"}],
	              "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Example Registrar"]]],
	              "entities": [{"objectClassName": "entity", "roles": ["abuse"], "vcardArray": ["vcard",
	                [["version", {}, "text", "4.0"], ["email", {}, "text", "abuse@registrar.example"]]]}]}],
	"nameservers": [{"objectClassName": "nameserver", "ldhName": "ns1.good.example"},
	                {"objectClassName": "nameserver", "ldhName": "ns2.good.example"}]}`
}
