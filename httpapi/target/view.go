package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/webcheck/headers"
)

// View joins the parts: the consequence in a sentence, a line for each part, what to do first, and all findings.
func (w *Whole) View() *view.View {
	v := &view.View{Subject: w.Target.Text}
	seen := map[string]bool{}
	var steps []view.Step
	for _, p := range w.Parts {
		if p.View == nil {
			v.Partial = v.Partial || !errors.Is(p.Err, ErrNothing)
			continue
		}
		v.Partial = v.Partial || p.View.Partial
		for _, f := range p.View.Findings {
			key := string(f.Code) + f.Target
			if strings.HasSuffix(string(f.Code), nonexistent) {
				key = nonexistent
			}
			if !seen[key] {
				seen[key] = true
				v.Findings = append(v.Findings, f)
			}
		}
		for _, s := range p.View.Steps {
			steps = append(steps, p.step(s))
		}
	}
	gravest := func(a, b diag.Severity) int { return int(b) - int(a) }
	slices.SortStableFunc(v.Findings, func(a, b diag.Finding) int { return gravest(a.Severity, b.Severity) })
	slices.SortStableFunc(steps, func(a, b view.Step) int { return gravest(a.Severity, b.Severity) })
	v.Steps = view.Order(distinct(steps), w.checked())
	v.Headline = w.headline(v)
	v.Brief, v.Counts = v.Headline, counts(v.Findings)
	if n := w.name(); n != nil {
		v.Sub = w.describe(n)
	}
	d := v.Rows(view.Sections, "")
	for _, r := range w.rows() {
		d.Marked(r.mark, "", strings.ToUpper(r.group), r.name, r.brief)
	}
	known, all := w.Coverage()
	v.Foot = fmt.Sprintf("%d of %s in %.1f s · %s at the API",
		known, phrase.Count(all, "check"), w.Took.Seconds(), phrase.Count(w.Credits, "credit"))
	return v
}

// Coverage returns how many of the checks have a result.
func (w *Whole) Coverage() (known, all int) {
	for _, r := range w.rows() {
		if all += r.checks; r.mark != view.Unknown && !r.idle {
			known += r.checks
		}
	}
	return known, all
}

// name returns the kind and use of a domain; nil if mail was not examined, or the name does not exist.
func (w *Whole) name() *nameuse.Name {
	for _, p := range w.Parts {
		if r, ok := p.Report.(*domaincheck.Report); ok && r.Name.Kind != "" {
			name := r.Name
			if web := w.web(); web.Answer != "" {
				name.Web = web
			}
			return &name
		}
	}
	return nil
}

// web states whether there is a website, and nothing if no web server was contacted.
func (w *Whole) web() (c nameuse.Claim) {
	for _, p := range w.Parts {
		r, ok := p.Report.(*headers.Report)
		switch {
		case p.Name == siteless:
			return nameuse.Claim{Answer: nameuse.No, Because: "It has no address."}
		case ok && r.StatusCode > 0:
			return nameuse.Claim{Answer: nameuse.Yes, Because: "Its web server answers."}
		case ok:
			c = nameuse.Claim{Answer: nameuse.Unknown, Because: "Its web server did not answer."}
		}
	}
	return c
}

// describe describes a name that is not an organizational domain, and what protects it.
func (w *Whole) describe(n *nameuse.Name) string {
	switch {
	case n.Kind == nameuse.Organization:
		return ""
	case n.Protected():
		return fmt.Sprintf("%s, protected by the policy p=%s of %s.", phrase.Capitalize(n.Describe()), n.InForce.DMARC,
			n.InForce.DMARCFrom)
	}
	return phrase.Capitalize(n.Describe()) + "."
}

// checked returns when the checks began, by the clock of the machine that ran them.
func (w *Whole) checked() (last time.Time) {
	for _, p := range w.Parts {
		if r, ok := p.Report.(interface{ Began() time.Time }); ok && r.Began().After(last) {
			last = r.Began()
		}
	}
	return last
}

// doers are those who can do what a check advises, if nothing needs to be published.
var doers = map[string]view.Who{
	"reputation": view.Sender, "servers": view.NameServer, "registration": view.Registrar, "name": view.Network,
	"tls": view.WebServer, "hsts": view.WebServer, "headers": view.WebServer, "redirects": view.WebServer,
}

// step returns the step of the part within the whole: who can do it, and which check advises it.
func (p *Part) step(s view.Step) view.Step {
	s = named(s)
	if s.Who == "" {
		s.Who = cmp.Or(doers[p.Name], doers[common()[p.Endpoint.Name()].Name])
	}
	if len(s.Places) == 0 {
		s.Places = []string{p.Name}
	}
	s.Loses = s.Loses || p.Group != Mail && s.Severity == diag.Critical
	return s
}

// nonexistent is the suffix of the codes of findings about a name that does not exist, in all checks.
const nonexistent = ".nxdomain"

func counts(findings []diag.Finding) string {
	n := map[diag.Severity]int{}
	for _, f := range findings {
		n[f.Severity]++
	}
	var parts []string
	for s := diag.Critical; s >= diag.Warning; s-- {
		switch {
		case n[s] == 0:
		case s == diag.Critical:
			parts = append(parts, fmt.Sprintf("%d critical", n[s]))
		default:
			parts = append(parts, phrase.Count(n[s], s.String()))
		}
	}
	return strings.Join(parts, "  ")
}

// holders have the certificates that steps speak of, by how codes begin.
var holders = map[string]string{
	"tls": "website", "hsts": "website", "headers": "website", "url": "website",
	"smtp": "mail server", "mtasts": "policy host",
}

// named adds whose certificate to renew, since a domain has several.
func named(s view.Step) view.Step {
	family, _, _ := strings.Cut(string(s.Code), ".")
	const renew = "Renew the certificate"
	if rest, ok := strings.CutPrefix(s.Text, renew); ok && holders[family] != "" && !strings.HasPrefix(rest, " of") {
		s.Text = renew + " of the " + holders[family] + rest
	}
	return s
}

// siteFact matches codes of facts that several checks find out about one website; the suffix names the fact.
var siteFact = kit.Regexp(`^(?:tls|hsts|headers|url)\.(?:.+\.)?(certificate\.\w+|untrusted|connection|handshake)$`)

// distinct leaves out steps that publish the same as one before them, begin with the same sentence or are about the
// same fact, and all but the first about a name that does not exist.
func distinct(steps []view.Step) []view.Step {
	numberOf := map[string]int{} // the number of the step with that text, from 1
	var list []view.Step
	for _, s := range steps {
		keys := []string{s.Text, string(s.Code) + s.Name + s.Type}
		if s.Value != "" {
			keys = append(keys, s.Name+s.Type+s.Value)
		} else {
			first, _, _ := strings.Cut(s.Text, ". ")
			keys = append(keys, strings.TrimSuffix(first, ".")+".")
		}
		if fact := siteFact().FindStringSubmatch(string(s.Code)); fact != nil {
			keys = append(keys, strings.TrimPrefix(fact[1], "certificate."))
		}
		if strings.HasSuffix(string(s.Code), nonexistent) {
			keys = []string{nonexistent}
		}
		first := 0
		for _, k := range keys {
			first = cmp.Or(first, numberOf[k])
		}
		if first == 0 {
			list = append(list, s)
			first = len(list)
		} else {
			list[first-1] = list[first-1].With(s)
		}
		for _, k := range keys {
			numberOf[k] = cmp.Or(numberOf[k], first)
		}
	}
	return list
}

// A clause is an effect, and how grave that is.
type clause struct {
	effect
	worst diag.Severity
}

// headline describes the gravest findings, at most two of them.
func (w *Whole) headline(v *view.View) string {
	name := w.name()
	effectsFound := mailEffects(name, v.Findings)
	for _, e := range effects {
		again := slices.ContainsFunc(effectsFound, func(o clause) bool { return o.topic == e.topic })
		i := slices.IndexFunc(v.Findings, func(f diag.Finding) bool { return slices.Contains(e.codes, f.Code) })
		unsent := e.topic == "send" && name != nil && name.WithoutMail()
		if i >= 0 && !again && !unsent { // the gravest come first
			effectsFound = append(effectsFound, clause{e, v.Findings[i].Severity})
		}
	}
	slices.SortStableFunc(effectsFound, func(a, b clause) int {
		return cmp.Or(int(b.worst)-int(a.worst), topicRank(a.topic)-topicRank(b.topic))
	})
	switch {
	case len(effectsFound) == 0:
		return w.quiet(v)
	case effectsFound[0].topic == "exists" || len(effectsFound) == 1 || effectsFound[1].worst < diag.Error:
		return effectText(effectsFound[0].text, w.noun()) + "."
	}
	return effectText(effectsFound[0].text, w.noun()) + ", and " +
		strings.ReplaceAll(genitive().ReplaceAllString(effectsFound[1].text, "its $1"), "{it}", "it") + "."
}

// topics are ordered by their impact on a user.
var topics = []string{"exists", "reach", "receive", "forge", "send", "relay", "listed", "web", "ends", "dns", "private",
	"name"}

func topicRank(topic string) int { return slices.Index(topics, topic) }

var genitive = kit.Regexp(`\bthe ([a-z ]+) of \{it\}`)

func effectText(text, noun string) string {
	return phrase.Capitalize(strings.ReplaceAll(text, "{it}", noun))
}

// noun returns the word for what was examined.
func (w *Whole) noun() string {
	switch w.Target.Kind {
	case URL:
		return "this page"
	case Address:
		return "this address"
	}
	return "this domain"
}

// quiet is the headline where no finding has a consequence that is felt.
func (w *Whole) quiet(v *view.View) string {
	switch {
	case !slices.ContainsFunc(w.Parts, func(p Part) bool { return p.View != nil }):
		return "Nothing could be learned."
	case !slices.ContainsFunc(w.Parts, func(p Part) bool { return p.View != nil && !p.View.Optional }):
		v.Optional = true
		return "There was nothing to examine."
	case len(v.Findings) > 0 && v.Findings[0].Severity >= diag.Error:
		return v.Findings[0].Title + "."
	case v.Partial:
		return "Nothing wrong was found, but not everything answered."
	case len(v.Findings) > 0:
		return "Nothing is broken; " + phrase.Count(len(v.Findings), "thing") + " could be safer."
	}
	return "Everything that was checked is in order."
}

func grave(v *view.View) (worst diag.Severity) {
	for _, f := range v.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}
