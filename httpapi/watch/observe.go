package watch

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

// The bounds of the stored state of a domain, whatever it publishes: together they fit into a record of the store.
const (
	maxFindings = 80
	maxFacts    = 50
	maxSets     = 32
	maxText     = 160 // bytes of a value of a fact, or of the target of a finding
	maxSet      = 900 // bytes of a set of records, which a key of RSA with 4096 bits has
)

// A part is the result of a part of the checks in a run.
type part struct {
	name         string
	check        string // that repeats it
	isKnown      bool   // it answered
	isComplete   bool   // complete: what it does not contain does not exist
	needsNothing bool   // the domain does not have what it examines
	asks         bool   // it queries records, and judges nothing
	findings     []Finding
	records      []Record
}

// An observation is the result of a run.
type observation struct {
	parts      []part
	facts      []Fact
	score      *int   // the lowest
	end        Reason // the end of the domain, as one of the parts reports
	ended      string // the check that found it
	expiries   []expiry
	registrar  string
	registered bool     // a registry has answered
	hasNoSite  bool     // there is no web site, as one of the parts reports
	idle       []string // the parts that had nothing to examine, and are not among parts
}

func observe(domain string, replies []target.Part, at time.Time) *observation {
	o := &observation{}
	for _, p := range replies {
		if p.Name == "site" { // replaces the checks of a web site that the domain does not have
			o.hasNoSite = true
			o.idle = append(o.idle, "hsts")
			continue
		}
		if p.View == nil {
			nothing := errors.Is(p.Err, target.ErrNothing)
			o.parts = append(
				o.parts,
				part{name: p.Name, check: p.Name, isKnown: nothing, isComplete: nothing, needsNothing: nothing},
			)
			continue
		}
		if r, ok := p.Report.(*domaincheck.Report); ok {
			o.parts = append(o.parts, partsOf(p, r)...)
		} else {
			n := partOf(p)
			_, site := p.Report.(*hsts.Report)
			o.hasNoSite = o.hasNoSite || n.needsNothing && site
			o.parts = append(o.parts, n)
		}
		if s := p.View.Score; s != nil && (o.score == nil || *s < *o.score) {
			o.score = s
		}
		o.addReport(domain, p)
	}
	for i := range o.parts {
		o.parts[i].normalize(at)
	}
	o.facts = o.facts[:min(len(o.facts), maxFacts)]
	return o
}

func partOf(p target.Part) part {
	records, answered := recordsOf(p.Report)
	known := answered && p.View.State != diag.Unknown
	n := part{name: p.Name, check: p.Name, isKnown: known, isComplete: known && !p.View.Partial, records: records}
	if _, n.asks = p.Report.(*resolve.Report); !n.asks { // which only queries records
		n.findings = findingsOf(p.View)
	}
	switch p.Report.(type) {
	case *hsts.Report, *smtpcheck.Report: // of a domain without web site, or that receives no mail
		n.needsNothing = p.View.Optional
	}
	return n
}

func findingsOf(v *view.View) []Finding {
	return kit.Map(slices.Concat(v.Findings, v.Better), func(f diag.Finding) Finding {
		return Finding{Code: f.Code, Severity: f.Severity, Target: f.Target}
	})
}

// partsOf splits the check of mail, which reports of each part whether it is known.
func partsOf(p target.Part, r *domaincheck.Report) (list []part) {
	s, in := r.Pillars.Sending, r.Pillars.Receiving
	rest := part{name: p.Name, check: p.Name, isKnown: true, isComplete: !r.Partial}
	parts := map[string]*part{}
	owner := map[diag.Code]string{}
	add := func(name string, sum *compose.Summary, report any) {
		records, answered := recordsOf(report)
		n := parts[name]
		if n == nil {
			n = &part{name: name, check: p.Name, isComplete: true}
			parts[name] = n
		}
		known := sum.State != diag.Unknown && answered
		n.isKnown, n.isComplete = n.isKnown || known, n.isComplete && known && !flagged(report, "Partial")
		n.records = append(n.records, records...)
		for _, f := range sum.Findings {
			owner[f.Code] = name
		}
	}
	if in.MX != nil && in.MX.Part != nil {
		add("mx", &in.MX.Summary, in.MX.Result)
	}
	for _, k := range s.DKIM {
		add("dkim", &k.Summary, k.Result)
	}
	addPart(add, "spf", s.SPF)
	addPart(add, "dmarc", s.DMARC)
	addPart(add, "bimi", s.BIMI)
	addPart(add, "mta-sts", in.MTASTS)
	addPart(add, "tls-rpt", in.TLSRPT)
	addPart(add, "dane", in.DANE)
	addPart(add, "dnssec", r.Pillars.Integrity.DNSSEC)
	if in.SMTP.State != "" {
		add("smtp", &in.SMTP.Summary, in.SMTP.Result)
	}
	for _, f := range findingsOf(p.View) {
		n := cmp.Or(parts[owner[f.Code]], &rest)
		n.findings = append(n.findings, f)
	}
	for _, name := range mailParts {
		if n := parts[name]; n != nil {
			list = append(list, *n)
		}
	}
	return append(list, rest)
}

func addPart[R any](add func(string, *compose.Summary, any), name string, p *compose.Part[R]) {
	if p != nil {
		add(name, &p.Summary, p.Result)
	}
}

// addReport takes from a reply what findings and records do not contain.
func (o *observation) addReport(domain string, p target.Part) {
	if _, ok := p.Report.(*resolve.Report); !ok {
		for _, f := range p.View.Facts {
			again := func(g Fact) bool { return g.Part == p.Name && g.Label == f.Label }
			for slices.ContainsFunc(o.facts, again) {
				f.Label += " too"
			}
			o.facts = append(o.facts, Fact{p.Name, f.Label, clip(f.Value), f.Code, f.Mark})
		}
	}
	for _, f := range p.View.Findings {
		if end := ends(f.Code); end != "" && o.end == "" {
			o.end, o.ended = end, p.Name
		}
	}
	if r, ok := p.Report.(*resolve.Report); ok && r.Rcode == nxdomain && r.Name.String() == domain && o.end == "" {
		o.end = NoDomain
	}
	switch r := p.Report.(type) {
	case *registry.DomainReport:
		o.registered, o.registrar = true, clip(r.Registrar.Name)
		if d := r.Dates; !d.ExpiresAt.IsZero() {
			from := d.CreatedAt
			if from.IsZero() {
				from = d.ExpiresAt.AddDate(-1, 0, 0) // the shortest that is sold
			}
			o.expiries = append(o.expiries, expiry{What: registration, At: d.ExpiresAt.UTC(), From: from.UTC()})
		}
	case *tlscert.Report:
		if c := r.Certificate; !c.NotAfter.IsZero() {
			o.expiries = append(o.expiries, expiry{What: certificate, At: c.NotAfter.UTC(), From: c.NotBefore.UTC()})
		}
	}
}

// ends returns the reason of codes which mean that the domain itself is gone, or that no server answers for it.
func ends(code diag.Code) Reason {
	switch {
	case code == "rdap.expiry.passed":
		return Lapsed
	case code == "zone.parent.nxdomain" || strings.HasSuffix(string(code), ".domain.nxdomain"):
		return NoDomain
	case code == "zone.delegation.unreachable" || code == "zone.delegation.lame" || code == "check.domain.unavailable":
		return Unreachable
	}
	return ""
}

// Codes end with a property. Those of ignorance only mean that something is unknown; those of expiring announce an
// expiry, which has events of its own.
var (
	ignorance = []string{"unknown", "unanswered", "unavailable", "timeout", "silent"}
	expiring  = []string{"expiring", "expires_now", "urgent", "soon"}
)

func property(code diag.Code) string {
	return string(code[strings.LastIndexByte(string(code), '.')+1:])
}

// normalize brings the findings of a part into their stored form: of each code the gravest.
func (p *part) normalize(at time.Time) {
	slices.SortStableFunc(p.findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	seen := map[diag.Code]bool{}
	p.findings = slices.DeleteFunc(p.findings, func(f Finding) bool {
		again := seen[f.Code] || slices.Contains(ignorance, property(f.Code)) || len(seen) >= maxFindings
		seen[f.Code] = true
		return again
	})
	for i := range p.findings {
		f := &p.findings[i]
		f.Part, f.Target, f.Since = p.name, clip(f.Target), at
	}
	for i := range p.records {
		p.records[i].Part, p.records[i].Since = p.name, at
	}
}

// clip shortens third-party text, and removes characters that move a cursor.
func clip(text string) string {
	return phrase.Clip(strings.Join(strings.FieldsFunc(text, unicode.IsControl), " "), maxText)
}

// bounded keeps the values of records small enough for all of a domain to fit into a record of the store: those that
// are larger are kept as their beginning and their digest, by which they can still be compared.
func bounded(values []string) []string {
	text, _ := json.Marshal(values) // texts
	if len(text) <= maxSet {
		return values
	}
	count := phrase.Count(len(values), "value")
	return []string{fmt.Sprintf("%s (%s, sha256:%x)", clip(values[0]), count, sha256.Sum256(text))}
}

func (o *observation) fault(code string) *Finding {
	for _, p := range o.parts {
		if f := find(p.findings, code); f != nil {
			return f
		}
	}
	return nil
}

// all reports whether a condition holds for all parts of a check, which was run.
func (o *observation) all(check string, holds func(part) bool) (all bool) {
	for _, p := range o.parts {
		if p.check == check {
			if all = holds(p); !all {
				return false
			}
		}
	}
	return all
}

// answered lists the parts that answered, and counts how many of them had nothing to examine.
func (o *observation) answered() (parts []string, idle int) {
	parts, idle = slices.Clone(o.idle), len(o.idle)
	for _, p := range o.parts {
		if !p.isKnown || p.asks {
			continue
		}
		if parts = append(parts, p.name); p.needsNothing {
			idle++
		}
	}
	return parts, idle
}

func (o *observation) unknown() (names []string) {
	for _, p := range o.parts {
		if !p.isKnown && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}
