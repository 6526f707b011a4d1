package pages

import (
	"cmp"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
)

// findings are all codes: by family, and each with what its page shows.
type findings struct {
	Families []family
	byCode   map[diag.Code]finding
	home     map[diag.Code]string // the first operation of the table that reports it
}

// A family is the codes that begin with the same word.
type family struct {
	Name, Title string
	Findings    []finding
}

// Page is the path of its page.
func (f family) Page() string { return findingsPath + f.Name }

// A finding is a rule and the operations that have it.
type finding struct {
	httpapi.RuleDoc
	Family string // the title
}

// Page is the path of its page.
func (f finding) Page() string { return findingsPath + string(f.Code) }

// FamilyPage is the path of the page of its family.
func (f finding) FamilyPage() string { return findingsPath + familyName(f.Code) }

// findingsPath is the folder of the pages of findings and of their families.
const findingsPath = "/docs/findings/"

// familyTitles are the titles of families. Those of operations of one's own have none, and are called by their word.
var familyTitles = map[string]string{
	"bimi": "BIMI", "cert": "BIMI certificate files", "check": "Mail of a domain", "crawl": "Crawling and indexing",
	"csr": "Certificate signing requests", "dane": "DANE", "dkim": "DKIM", "dmarc": "DMARC", "dmarcbis": "DMARCbis",
	"dnsbl": "Blocklists", "dnssec": "DNSSEC", "header": "Message headers", "headers": "HTTP security headers",
	"hsts": "HSTS", "idn": "Internationalized domain names", "ipwhois": "IP address registration",
	"markcert": "Mark certificates (VMC and CMC)", "mtasts": "MTA-STS", "mx": "MX records", "name": "Use of the name",
	"phishing": "Phishing", "propagation": "DNS propagation", "qr": "QR codes", "rdap": "Domain registration",
	"resolve": "DNS lookups", "reverse": "Reverse DNS", "score": "Deliverability score", "smtp": "SMTP servers",
	"spf": "SPF", "tls": "TLS and certificates", "tlsrpt": "TLS-RPT", "url": "URLs and redirects",
	"zone": "DNS zones and name servers",
}

// familyName is the word that a code begins with.
func familyName(code diag.Code) string {
	name, _, dotted := strings.Cut(string(code), ".")
	if !dotted { // codes of the first version
		name, _, _ = strings.Cut(string(code), "_")
	}
	return name
}

func newFindings(table httpapi.Table) *findings {
	all := &findings{byCode: map[diag.Code]finding{}, home: map[diag.Code]string{}}
	for _, r := range table.Rules() { // by code
		name := familyName(r.Code)
		at := slices.IndexFunc(all.Families, func(f family) bool { return f.Name == name })
		if at < 0 {
			at = len(all.Families)
			all.Families = append(all.Families, family{Name: name, Title: cmp.Or(familyTitles[name], name)})
		}
		f := finding{r, all.Families[at].Title}
		all.Families[at].Findings = append(all.Families[at].Findings, f)
		all.byCode[r.Code], all.home[r.Code] = f, r.Operations[0]
	}
	slices.SortFunc(all.Families, func(a, b family) int {
		return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
	})
	return all
}

// maxListed bounds the findings that the page of an operation lists.
const maxListed = 150

// Of returns the findings of an operation. Of one that runs other checks they are those that no other operation
// reports before it.
func (all *findings) Of(op operation) (list []finding) {
	rules := op.Rules()
	for _, r := range rules {
		if len(rules) <= maxListed || all.home[r.Code] == op.Name() {
			list = append(list, all.byCode[r.Code])
		}
	}
	return list
}

// Elsewhere returns the families of the findings that [findings.Of] leaves out, each with its number of them.
func (all *findings) Elsewhere(op operation) (list []familyCount) {
	rules := op.Rules()
	if len(rules) <= maxListed {
		return nil
	}
	counts := map[string]int{}
	for _, r := range rules {
		if all.home[r.Code] != op.Name() {
			counts[familyName(r.Code)]++
		}
	}
	for _, f := range all.Families {
		if n := counts[f.Name]; n > 0 {
			list = append(list, familyCount{f, n})
		}
	}
	return list
}

type familyCount struct {
	family
	Count int
}

// Related are other findings of the same part of the family.
func (all *findings) Related(f finding) (list []finding) {
	parts := strings.Split(string(f.Code), ".")
	if len(parts) < 3 {
		return nil
	}
	for _, other := range all.Families[all.familyAt(f)].Findings {
		if other.Code != f.Code && strings.HasPrefix(string(other.Code), parts[0]+"."+parts[1]+".") {
			list = append(list, other)
		}
	}
	return list[:min(len(list), maxRelated)]
}

// maxRelated bounds the related findings of a page.
const maxRelated = 12

func (all *findings) familyAt(f finding) int {
	return slices.IndexFunc(all.Families, func(other family) bool { return other.Name == familyName(f.Code) })
}

// usersOfFinding are the operations that report a finding.
func (s *site) usersOfFinding(f finding) (users []operation) {
	for _, op := range s.operations {
		if slices.Contains(f.Operations, op.Name()) {
			users = append(users, op)
		}
	}
	return users
}

// Caps is the score that no report with a finding of this severity exceeds; 100 for no bound.
func (f finding) Caps() int {
	switch f.Severity {
	case diag.Critical:
		return 39
	case diag.Error:
		return 69
	case diag.Warning:
		return 89
	}
	return 100
}

// standards are the documents to which references link.
var standards = regexp.MustCompile(
	`RFC (\d+)(?: section (\d+(?:\.\d+)*)| appendix ([A-Z](?:\.\d+)*))?|draft-[a-z0-9-]+-\d\d`)

// references is the reference of a finding with links to the RFCs and drafts that it names.
func references(text string) template.HTML {
	var b strings.Builder
	end := 0
	for _, at := range standards.FindAllStringSubmatchIndex(text, -1) {
		part := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		target := "https://datatracker.ietf.org/doc/html/" + part(0)
		if part(1) != "" {
			target = "https://www.rfc-editor.org/rfc/rfc" + part(1)
			if part(2) != "" {
				target += "#section-" + part(2)
			} else if part(3) != "" {
				target += "#appendix-" + part(3)
			}
		}
		b.WriteString(template.HTMLEscapeString(text[end:at[0]]))
		b.WriteString(`<a href="` + target + `">` + template.HTMLEscapeString(part(0)) + `</a>`)
		end = at[1]
	}
	b.WriteString(template.HTMLEscapeString(text[end:]))
	return template.HTML(b.String())
}
