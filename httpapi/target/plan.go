package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/miekg/dns"
)

// A Plan lists what to do about a domain, step by step, and its state after each step.
type Plan struct {
	Domain string     `json:"domain"`
	Before Standing   `json:"before"`
	Steps  []PlanStep `json:"steps"`
	Result Standing   `json:"result" doc:"after all steps whose effect was computed"`
	ByHand []int      `json:"by_hand,omitempty" doc:"numbers of the steps whose effect was not computed"`

	view *view.View
}

// View returns the result of the checks before the first step.
func (p *Plan) View() *view.View { return p.view }

// A Standing is the state of a domain: State and Score are those of its mail.
type Standing struct {
	State    diag.State     `json:"state,omitempty"`
	Score    *int           `json:"score,omitempty"`
	Headline string         `json:"headline"`
	Counts   map[string]int `json:"findings" doc:"how many findings there are of each severity, warnings and worse"`

	findings []diag.Finding
	parts    []diag.Finding // of each part for itself, also those that follow from another part's
}

// A PlanStep is a step of the whole, with its changes in the DNS.
type PlanStep struct {
	Number int `json:"number"`
	view.Step
	Changes []Change  `json:"changes,omitempty" doc:"what changes in the DNS"`
	ByHand  string    `json:"by_hand,omitempty" doc:"why the effect was not computed"`
	Result  *Standing `json:"result,omitempty" doc:"how the domain stands after the step"`
	Worse   []string  `json:"worse,omitempty" doc:"what the step makes worse: it must not be done"`
	Check   string    `json:"check,omitempty" doc:"command that shows whether the step is done"`
	Visible int64     `json:"visible_seconds,omitempty" doc:"how long resolvers may still have what was there before"`
}

// A Change gives a name a new set of records of one type. Lines are all of the set, as in a zone file.
type Change struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Lines   []string `json:"lines" doc:"the whole set afterwards"`
	Added   []string `json:"added" doc:"lines of the set that are new"`
	Removed []string `json:"removed,omitempty" doc:"records that are no longer there: name, type and data"`
	All     bool     `json:"all,omitempty" doc:"whether none of the old records of the type stays"`

	records []dns.RR
	held    uint32 // how long resolvers may cache the old set, or its absence
}

// newTTL is the time to live of what a plan publishes, in seconds: a mistake expires from caches in an hour.
const newTTL = 3600

// MakePlan runs all checks of a domain once, overlays the changes of its steps on the DNS one after the other, and
// examines the domain after each. Name servers and mail servers are queried once. Their replies and those of web
// servers stay the same, so that steps of their operators are named and their effect is not computed.
func MakePlan(ctx context.Context, env *diag.Env, t Target, o Options) (*Plan, error) {
	if t.Kind != Domain {
		return nil, input.Invalid("target", "a plan is made for a domain: %.100q is not one", t.Text)
	}
	ctx, env = compose.WithMemory(ctx), env.Cached()
	w := Run(ctx, t, o, Local(env), nil)
	if err := w.Err(); err != nil {
		return nil, err
	}
	m := &planner{env: env, world: env.DNS(), checks: t.Checks(o), whole: w, now: standing(w)}
	m.sets, m.open = map[string]*Change{}, map[diag.Code]int{}
	p := &Plan{Domain: strings.TrimSuffix(diag.MustDomain(t.Text).FQDN(), "."), Before: m.now}
	p.view = w.View()
	for i, s := range p.view.Steps {
		step := PlanStep{Number: i + 1, Step: s}
		m.do(ctx, &step)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("planning for %s: %w", t.Text, err)
		}
		if step.ByHand != "" {
			m.open[s.Code] = cmp.Or(m.open[s.Code], step.Number)
			p.ByHand = append(p.ByHand, step.Number)
		}
		step.Check = checkOf(p.Domain, &step)
		p.Steps = append(p.Steps, step)
	}
	p.Result = m.now
	return p, nil
}

// A planner follows the steps.
type planner struct {
	env    *diag.Env
	world  diag.Resolver
	checks []Check
	whole  *Whole             // the results of the checks in the world
	sets   map[string]*Change // made so far, by name and type
	open   map[diag.Code]int  // steps that are done by hand, by their code
	now    Standing
}

// yours matches placeholders that must be replaced before a value is published.
var yours = kit.Regexp(`\bYOUR[A-Z0-9_-]*`)

// do computes the effect of a step, or returns why it cannot.
func (m *planner) do(ctx context.Context, s *PlanStep) {
	changes, reason := m.changes(ctx, &s.Step)
	s.Changes = changes
	for _, c := range changes {
		s.Visible = max(s.Visible, int64(c.held))
	}
	blanks := slices.Compact(slices.Sorted(slices.Values(yours().FindAllString(s.Value, -1))))
	switch first := cmp.Or(m.open[s.Code], m.open[s.After]); {
	case reason != "":
		s.ByHand = reason
	case len(blanks) > 0:
		s.ByHand = "fill in " + strings.Join(blanks, ", ") + " first"
	case first > 0:
		s.ByHand = fmt.Sprintf("only after step %d, on which the effect depends", first)
	}
	if s.ByHand != "" {
		return
	}
	sets := m.with(changes)
	after, err := m.examine(ctx, sets)
	if err != nil {
		s.ByHand = "the effect is not known: " + why(err)
		return
	}
	s.Result = &after
	if s.Worse = worse(m.now, after); s.Worse == nil {
		m.sets, m.now = sets, after
	}
}

// handed are the words for steps that are not a change in the DNS, by who does them.
var handed = map[view.Who]string{
	view.Zone: "in the zone; only its owner knows which records are right", view.NameServer: "at the name servers",
	view.MailServer: "at the mail servers", view.WebServer: "at the web server", view.Registrar: "at the registrar",
	view.Sender: "at the services that send mail", view.Network: "at the operator of the address",
}

// zoneLines matches a value that is lines of a zone file.
var zoneLines = kit.Regexp(`\A(?:\S+\.[ \t]+(?:\d+[ \t]+)?IN[ \t]+[A-Z0-9]+[ \t]+.+(?:\n|\z))+\z`)

// changes returns the DNS changes of a step, or the reason why none are known.
func (m *planner) changes(ctx context.Context, s *view.Step) (list []Change, reason string) {
	text := s.Value
	if strings.HasSuffix(s.Name, ".") && s.Type != "" && s.Value != "" {
		text = render.Published(*s)
	}
	if !zoneLines().MatchString(text) {
		return nil, cmp.Or(handed[s.Who], "by the operator of what it is about")
	}
	parser := dns.NewZoneParser(strings.NewReader(text), ".", "")
	parser.SetDefaultTTL(newTTL)
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		h := rr.Header()
		h.Name, h.Ttl = dns.CanonicalName(h.Name), newTTL
		kind := dns.TypeToString[h.Rrtype]
		i := slices.IndexFunc(list, func(c Change) bool { return c.Name == h.Name && c.Type == kind })
		if i < 0 {
			i, list = len(list), append(list, Change{Name: h.Name, Type: kind})
		}
		list[i].records = append(list[i].records, rr)
	}
	if parser.Err() != nil || len(list) == 0 {
		return nil, "the value is no record of the DNS"
	}
	for i := range list {
		if !m.replace(ctx, &list[i]) {
			return list, fmt.Sprintf("what %s %s holds now is not known", list[i].Name, list[i].Type)
		}
	}
	return list, ""
}

// replace completes a change by the current records: those that stay, and those that are removed. It returns false if
// they are not known.
func (m *planner) replace(ctx context.Context, c *Change) bool {
	written := func(rr dns.RR) string { return strings.ReplaceAll(rr.String(), "\t", " ") }
	c.Added = kit.Map(c.records, written)
	rrtype := dns.StringToType[c.Type]
	reply, err := m.resolver(m.sets).Exchange(ctx, dnsmsg.Question(c.Name, rrtype, false))
	known := err == nil && (reply.Rcode == dns.RcodeSuccess || reply.Rcode == dns.RcodeNameError) && !reply.Truncated
	if !known {
		c.Lines = c.Added
		return false
	}
	aliases, old := dnsmsg.FollowAliases(reply, c.Name, rrtype)
	if len(aliases) > 0 {
		old = []dns.RR{aliases[0]} // an alias excludes other records
	}
	var kept []dns.RR
	for _, rr := range old {
		if c.held = max(c.held, rr.Header().Ttl); c.keeps(rr) {
			stays := dns.Copy(rr)
			stays.Header().Name, stays.Header().Ttl = c.Name, newTTL
			kept = append(kept, stays)
			continue
		}
		if same := func(o dns.RR) bool { return dns.IsDuplicate(o, rr) }; !slices.ContainsFunc(c.records, same) {
			h := rr.Header()
			c.Removed = append(c.Removed, fmt.Sprintf("%s %s %s", c.Name, dns.TypeToString[h.Rrtype], data(rr)))
		}
	}
	if len(old) == 0 {
		c.held = denied(reply)
	}
	c.All, c.records = len(kept) == 0, append(kept, c.records...)
	c.Lines = kit.Map(c.records, written)
	return true
}

func data(rr dns.RR) string { return strings.TrimPrefix(rr.String(), rr.Header().String()) }

// keeps reports whether a record is kept next to those of the change. Names with an underscore have one purpose (RFC
// 8552); at others a text is one of many, and an SPF record replaces the one that was meant as such.
func (c *Change) keeps(rr dns.RR) bool {
	txt, ok := rr.(*dns.TXT)
	if !ok || strings.HasPrefix(c.Name, "_") || strings.Contains(c.Name, "._") {
		return false
	}
	return slices.ContainsFunc(c.records, func(o dns.RR) bool {
		added, ok := o.(*dns.TXT)
		return ok && !(spf.Meant(dnsmsg.TXT(added)) && spf.Meant(dnsmsg.TXT(txt))) && !dns.IsDuplicate(o, rr)
	})
}

// denied is for how long resolvers know that there is nothing (RFC 2308 section 5).
func denied(reply *dns.Msg) uint32 {
	for _, rr := range reply.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(soa.Hdr.Ttl, soa.Minttl)
		}
	}
	return 0
}

func (m *planner) with(changes []Change) map[string]*Change {
	sets := maps.Clone(m.sets)
	for i, c := range changes {
		sets[c.Name+" "+c.Type] = &changes[i]
	}
	return sets
}

// resolver answers as the DNS will after some changes.
func (m *planner) resolver(sets map[string]*Change) diag.Resolver {
	if len(sets) == 0 {
		return m.world
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		for _, line := range sets[key].Lines {
			text.WriteString(line + "\n")
		}
	}
	zone, err := overlay.Parse(text.String(), ".", "plan")
	if err != nil {
		return m.world // lines of parsed records: a test
	}
	return &planned{overlay.New(m.world, zone), m.world}
}

// planned returns the DNS with changes. Zones will be signed as they are now: queries for validation are answered by
// the world, and a changed set is as authentic as the one before.
type planned struct{ changed, world diag.Resolver }

// Exchange implements [diag.Resolver].
func (p *planned) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if q.CheckingDisabled {
		return p.world.Exchange(ctx, q)
	}
	reply, err := p.changed.Exchange(ctx, q)
	if err != nil || reply == nil || reply.AuthenticatedData {
		return reply, err
	}
	if now, err := p.world.Exchange(ctx, q); err == nil && now != nil {
		reply.AuthenticatedData = now.AuthenticatedData
	}
	return reply, nil
}

// examine runs the checks again whose answers depend on the records that a plan changes.
func (m *planner) examine(ctx context.Context, sets map[string]*Change) (Standing, error) {
	var again []Check
	for _, c := range m.checks {
		if c.Group == Mail {
			again = append(again, c)
		}
	}
	changed := RunChecks(ctx, m.whole.Target, again, Local(m.env.WithResolver(m.resolver(sets))), nil)
	w := *m.whole
	w.Parts = slices.Clone(m.whole.Parts)
	for _, p := range changed.Parts {
		if p.Err != nil && !errors.Is(p.Err, ErrNothing) {
			return Standing{}, p.Err
		}
		i := slices.IndexFunc(w.Parts, func(o Part) bool { return o.Name == p.Name })
		w.Parts[i] = p
	}
	return standing(&w), nil
}

func standing(w *Whole) Standing {
	v := w.View()
	s := Standing{Headline: v.Headline, Counts: map[string]int{}, findings: v.Findings}
	for _, f := range v.Findings {
		s.Counts[f.Severity.String()]++
	}
	for _, p := range w.Parts {
		if r, mail := p.Report.(*domaincheck.Report); mail {
			s.State, s.Score = p.View.State, p.View.Score
			rows, signed := mailRows(r)
			for _, part := range append(rows, signed) {
				s.parts = append(s.parts, part.findings...)
			}
			s.parts = append(s.parts, slices.DeleteFunc(slices.Clone(p.View.Findings), func(f diag.Finding) bool {
				return slices.ContainsFunc(s.parts, func(o diag.Finding) bool { return o.Code == f.Code })
			})...) // those of the whole, such as of what the name is
		} else if p.View != nil {
			s.parts = append(s.parts, p.View.Findings...)
		}
	}
	return s
}

// worse describes what is worse after a step than before: a grave finding that was not there and does not replace one
// as grave of its family, or a lower score.
func worse(before, after Standing) (list []string) {
	news := without(after.parts, before.parts)
	gone := without(before.parts, after.parts)
	for _, f := range news {
		replaced := func(o diag.Finding) bool { return family(o.Code) == family(f.Code) && o.Severity >= f.Severity }
		if i := slices.IndexFunc(gone, replaced); i >= 0 {
			gone = slices.Delete(gone, i, i+1)
		} else if f.Severity >= diag.Error {
			list = append(list, fmt.Sprintf("%s: %s", f.Severity, f.Title))
		}
	}
	if before.Score != nil && after.Score != nil && *after.Score < *before.Score {
		list = append(list, fmt.Sprintf("the score falls from %d to %d", *before.Score, *after.Score))
	}
	return list
}

// without are the findings of a list that are not in another, the gravest first as before.
func without(list, others []diag.Finding) []diag.Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f diag.Finding) bool {
		return slices.ContainsFunc(others, func(o diag.Finding) bool { return o.Code == f.Code && o.Target == f.Target })
	})
}

func family(code diag.Code) string {
	first, _, _ := strings.Cut(string(code), ".")
	return first
}

// checkedBy maps the beginning of a step's code to the operations that check its subject, with their arguments.
var checkedBy = map[string]string{
	"spf": "spf/lookup %s", "dmarc": "dmarc/lookup %s", "mtasts": "mta-sts/lookup %s", "tlsrpt": "tls-rpt/lookup %s",
	"dane": "dane/lookup %s", "bimi": "bimi/lookup %s", "smtp": "smtp/check %s", "dnssec": "dnssec/check %s",
	"zone": "domain/dns-check %s", "rdap": "rdap/lookup %s", "tls": "certificates/ssl/check %s",
	"hsts": "http/hsts-check %s", "headers": "http/headers-check https://%s/", "url": "url/check http://%s/",
}

// checkOf is the command that shows whether a step is done.
func checkOf(domain string, s *PlanStep) string {
	if len(s.Changes) > 0 {
		c := s.Changes[0]
		rr := c.records[len(c.records)-1]
		value := data(rr)
		if txt, ok := rr.(*dns.TXT); ok {
			value = dnsmsg.TXT(txt)
		}
		return fmt.Sprintf("diag wait %s %s %s", strings.TrimSuffix(c.Name, "."), c.Type, quoted(value))
	}
	return "diag " + fmt.Sprintf(cmp.Or(checkedBy[family(s.Code)], "%s"), domain)
}

// quoted is a word for a shell (POSIX.1, Shell Command Language, section 2.2.2).
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
