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

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
)

// groups are the checks that most want, in the order of a reader.
var groups = []string{target.Mail, target.DNS, target.Web}

// records are the DNS lookups of a group in addition to its checks, so that each change of them is reported.
var records = map[string][]string{target.DNS: {"NS", "DS"}, target.Web: {"A", "AAAA", "CAA"}}

// A catalogue is what watches know of the operations.
type catalogue struct {
	operations map[string]httpapi.Endpoint // those that take a domain and need nothing else, by name
	titles     map[diag.Code]string        // of all rules
	facts      map[diag.Code]rule.Fact     // of those that several operations meet
	rules      string                      // identifies the rules of a build: a digest of their codes and severities
}

// commonCatalogue is that of the public API.
var commonCatalogue = sync.OnceValue(func() *catalogue { return catalogueOf(httpapi.Endpoints()) })

func catalogueOf(table httpapi.Table) *catalogue {
	c := &catalogue{operations: map[string]httpapi.Endpoint{}, titles: map[diag.Code]string{},
		facts: map[diag.Code]rule.Fact{}}
	hash := sha256.New()
	for _, ep := range table {
		takes, needs := false, false
		for _, p := range ep.Params() {
			if p.Name == "domain" {
				takes = p.Required || p.OneOf != ""
			} else {
				needs = needs || p.Required
			}
		}
		if takes && !needs && ep.HasVerdict() {
			c.operations[ep.Name()] = ep
		}
		for _, r := range ep.Rules() {
			c.titles[r.Code] = r.Title
			if r.Fact != "" {
				c.facts[r.Code] = r.Fact
			}
			fmt.Fprintln(hash, r.Code, r.Severity)
		}
	}
	c.rules = hex.EncodeToString(hash.Sum(nil)[:8])
	return c
}

// title returns the meaning of a finding's code: the fault in a few words.
func (c *catalogue) title(code diag.Code) string { return cmp.Or(c.titles[code], string(code)) }

// Title returns the meaning of a finding's code in the public API: the fault in a few words.
func Title(code diag.Code) string { return commonCatalogue().title(code) }

// Title returns the meaning of a finding's code, also for operations of one's own.
func (w *Watches) Title(code diag.Code) string { return w.catalogue().title(code) }

// Fact returns what findings of several operations have in common; empty for most codes.
func (w *Watches) Fact(code diag.Code) rule.Fact { return w.catalogue().facts[code] }

// Checks lists what can be watched: the groups, and the operations that take a domain.
func (w *Watches) Checks() []string {
	return append(slices.Clone(groups), slices.Sorted(maps.Keys(w.catalogue().operations))...)
}

// checks returns those of a run. Those that only query records are named by their type.
func (c *catalogue) checks(domain string, names []string) []target.Check {
	var list []target.Check
	for _, name := range names {
		if ep, ok := c.operations[name]; ok {
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

// question queries records. It belongs to no group, which is omitted if a domain has no web site.
func question(name, kind, resolver string) target.Check {
	ep, _ := httpapi.Endpoints().ByName("resolve")
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

func (c *catalogue) price(names []string) (sum int64) {
	for _, check := range c.checks("example.com", names) {
		_, most := check.Price()
		sum += most
	}
	return sum
}

// mailParts are the parts of the check of mail that are known each for itself.
var mailParts = []string{"mx", "spf", "dkim", "dmarc", "smtp", "mta-sts", "tls-rpt", "dane", "bimi", "dnssec"}

// rows are what watches count as checks: the check of mail and its parts, and the others. Operations that a watch
// lists by name are counted as the check that a group has of them, if one has.
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

// An Area is a part of the set-up of a domain.
type Area string

// The areas.
const (
	MailArea         Area = target.Mail
	DNSArea          Area = target.DNS
	WebArea          Area = target.Web
	TLSArea          Area = "tls" // of the website: its certificate and connections
	RegistrationArea Area = "registration"
)

// Areas lists the areas in the order of a reader.
func Areas() []Area { return []Area{MailArea, DNSArea, WebArea, TLSArea, RegistrationArea} }

// areaOfRow returns the area of each of the rows.
var areaOfRow = sync.OnceValue(func() map[string]Area {
	areas := map[string]Area{}
	for _, part := range mailParts {
		areas[part] = MailArea
	}
	for _, c := range (target.Target{Kind: target.Domain, Text: "example.com"}).Checks(target.Options{}) {
		areas[c.Name] = Area(c.Group)
	}
	areas["dnssec"], areas["registration"], areas["tls"] = DNSArea, RegistrationArea, TLSArea
	return areas
})

// area returns the area of a part. That of an operation beyond the rows follows from its scope.
func (c *catalogue) area(part string) Area {
	if area, ok := areaOfRow()[cmp.Or(rowOfOperation[part], part)]; ok {
		return area
	}
	switch c.operations[part].Scope {
	case metering.MailRead:
		return MailArea
	case metering.WebRead:
		return WebArea
	}
	return DNSArea
}

// areasOf returns the areas with a finding that is a warning or worse.
func (c *catalogue) areasOf(findings []Finding) []Area {
	found := map[Area]bool{}
	for _, f := range findings {
		found[c.area(f.Part)] = found[c.area(f.Part)] || f.Severity > diag.Info
	}
	return slices.DeleteFunc(Areas(), func(a Area) bool { return !found[a] })
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

// Unwatched returns the checks that a watch does not make.
func (w *Watch) Unwatched() (names []string) {
	var made []string
	for _, c := range commonCatalogue().checks(w.Domain, w.Checks) {
		made = append(made, cmp.Or(rowOfOperation[c.Name], c.Name))
	}
	return slices.DeleteFunc(slices.Clone(rows()), func(row string) bool {
		return row == "mail" || slices.Contains(made, row) || slices.Contains(made, checkOf(row))
	})
}

// checkOf returns the check to which a part belongs.
func checkOf(part string) string {
	if slices.Contains(mailParts, part) {
		return "mail"
	}
	return part
}
