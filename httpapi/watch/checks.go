package watch

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
)

// groups are the checks that most want, in the order of a reader.
var groups = []string{target.Mail, target.DNS, target.Web}

// records are what is asked of the DNS beside the checks of a group, so that each change of it is told.
var records = map[string][]string{target.DNS: {"NS", "DS"}, target.Web: {"A", "AAAA", "CAA"}}

// operations are those that say something of a domain and need nothing else, by name.
var operations = sync.OnceValue(func() map[string]httpapi.Endpoint {
	list := map[string]httpapi.Endpoint{}
	for _, ep := range httpapi.Endpoints() {
		takes, needs := false, false
		for _, p := range ep.Params() {
			if p.Name == "domain" {
				takes = p.Required || p.OneOf != ""
			} else {
				needs = needs || p.Required
			}
		}
		if takes && !needs && ep.Headlined() {
			list[ep.Name()] = ep
		}
	}
	return list
})

// Checks lists what can be watched: the groups, and the operations that take a domain.
func Checks() []string {
	return append(slices.Clone(groups), slices.Sorted(maps.Keys(operations()))...)
}

// checksOf are the checks of a run. Those that only ask for records are named by their type.
func checksOf(domain string, names []string) []target.Check {
	var list []target.Check
	for _, name := range names {
		if ep, ok := operations()[name]; ok {
			list = append(list, target.Check{Name: name, Endpoint: ep, Body: fields(map[string]string{"domain": domain})})
			continue
		}
		t := target.Target{Kind: target.Domain, Text: domain}
		list = append(list, t.Checks(target.Options{Only: []string{name}})...)
		for _, kind := range records[name] {
			list = append(list, question(domain, kind, ""))
		}
	}
	return list
}

// question asks for records. It belongs to no group, which is left out where a domain has no web site.
func question(name, kind, resolver string) target.Check {
	ep, _ := httpapi.Operation("resolve")
	body := map[string]string{"qname": name, "qtype": kind}
	if resolver != "" {
		body["resolver"] = resolver
	}
	return target.Check{Name: kind, Endpoint: ep, Body: fields(body)}
}

func fields(m map[string]string) []byte {
	body, _ := json.Marshal(m) // texts
	return body
}

func priceOf(names []string) (sum int64) {
	for _, c := range checksOf("example.com", names) {
		_, most := c.Price()
		sum += most
	}
	return sum
}

// mailParts are the parts of the check of mail that are known each for itself.
var mailParts = []string{"mx", "spf", "dkim", "dmarc", "smtp", "mta-sts", "tls-rpt", "dane", "bimi", "dnssec"}

// checkOf is the check of which something is a part.
func checkOf(part string) string {
	if slices.Contains(mailParts, part) {
		return "mail"
	}
	return part
}
