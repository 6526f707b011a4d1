package watch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	ep, _ := httpapi.Endpoints().Named("resolve")
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

// rows are what watches count as checks: the check of mail and its parts, and those beside it. Operations that a watch
// has by name are the check that a group has of them, if one has.
var rows = sync.OnceValue(func() (list []string) {
	for _, c := range (target.Target{Kind: target.Domain, Text: "example.com"}).Checks(target.Options{}) {
		list = append(list, c.Name)
	}
	return append(list, mailParts...)
})

var rowOfOperation = map[string]string{
	"mail/domain-check": "mail", "domain/dns-check": "servers", "rdap/lookup": "registration", "http/hsts-check": "hsts",
	"spf/lookup": "spf", "dmarc/lookup": "dmarc", "smtp/check": "smtp", "mta-sts/lookup": "mta-sts",
	"tls-rpt/lookup": "tls-rpt", "dane/lookup": "dane", "bimi/lookup": "bimi", "dnssec/check": "dnssec",
}

// covered counts the checks that parts are, and all that there are, those of operations that no group has included.
func covered(parts []string) (examined, all int) {
	seen := map[string]bool{}
	all = len(rows())
	for _, part := range parts {
		row := cmp.Or(rowOfOperation[part], part)
		if seen[row] {
			continue
		}
		seen[row] = true
		examined++
		if !slices.Contains(rows(), row) {
			all++
		}
	}
	return examined, all
}

// rulesNow tells the rules of this build from those of others: by their codes and severities.
var rulesNow = sync.OnceValue(func() string {
	hash := sha256.New()
	for _, ep := range httpapi.Endpoints() {
		for _, r := range ep.Rules() {
			fmt.Fprintln(hash, r.Code, r.Severity)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
})

// checkOf is the check of which something is a part.
func checkOf(part string) string {
	if slices.Contains(mailParts, part) {
		return "mail"
	}
	return part
}
