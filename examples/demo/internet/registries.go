package internet

import (
	"encoding/json"
	"maps"
	"slices"
	"testing/fstest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/webcheck/hsts"
)

// rdapServer is the registry of all domains of this Internet.
const rdapServer = "rdap.nic.example"

// serveRegistries opens the registry and sets the lists that lead to it. good.example is registered,
// lapsing.example about to be lost, and all else is free.
func serveRegistries(world *diagtest.World) error {
	now := world.Now().UTC()
	date := func(days int) string { return now.AddDate(0, 0, days).Format(time.RFC3339) }
	world.RDAP(rdapServer, map[string]string{
		"/domain/good.example":    registration("good.example", date(-3000), date(400), "client transfer prohibited"),
		"/domain/example.com":     registration("example.com", date(-3000), date(400), "client transfer prohibited"),
		"/domain/lapsing.example": registration("lapsing.example", date(-360), date(5), "active"),
	})
	// The lists that an operator replaces by files of the same names in the folder of --data.
	vantages, err := json.Marshal(slices.DeleteFunc(propagation.Vantages(), func(v propagation.Vantage) bool {
		return !slices.ContainsFunc(resolver.Public(), func(p resolver.PublicResolver) bool { return p.ID == v.ID })
	}))
	lists := fstest.MapFS{
		"rdap-bootstrap.json": {Data: []byte(`{"dns": {"services": [[["example", "com"], ["https://` + rdapServer + `/"]]]}}`)},
		"vantages.json":       {Data: vantages},
		hsts.File:             {Data: []byte(preloadList)},
	}
	maps.Copy(lists, authority.Files())
	world.Env().Data = lists
	return err
}

// registration is what a registry says of a domain (RFC 9083 section 5.3).
func registration(domain, created, expires, status string) string {
	return `{"objectClassName": "domain", "ldhName": "` + domain + `", "status": ["` + status + `"],
	"events": [{"eventAction": "registration", "eventDate": "` + created + `"},
	           {"eventAction": "expiration", "eventDate": "` + expires + `"}],
	"secureDNS": {"delegationSigned": true},
	"entities": [{"objectClassName": "entity", "roles": ["registrar"],
	              "publicIds": [{"type": "IANA Registrar ID", "identifier": "9999"}],
	              "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Example Registrar"]]],
	              "entities": [{"objectClassName": "entity", "roles": ["abuse"], "vcardArray": ["vcard",
	                [["version", {}, "text", "4.0"], ["email", {}, "text", "abuse@registrar.example"]]]}]}],
	"nameservers": [{"objectClassName": "nameserver", "ldhName": "ns1.good.example"},
	                {"objectClassName": "nameserver", "ldhName": "ns2.good.example"}]}`
}
