package phishing

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/diagkit/diagkit/webcheck/internal/page"
)

// A Request asks for the examination of one URL.
type Request struct {
	URL string `json:"url" minlen:"1" maxlen:"8192" doc:"URL, bare domain or IP address" example:"https://example.com/"`
	// Fetch decides whether the page is fetched. Nil means true. If false, only URL and registration are
	// examined, and no request is sent to the site.
	Fetch   *bool    `json:"fetch,omitempty" default:"true" doc:"whether to fetch the page; if false, URL and registration alone are examined, which shows no site to be clean"`
	Sources []string `json:"sources,omitempty" maxitems:"20" doc:"ids of the reputation sources to ask; all that are configured by default"`
}

// A Report has the verdict on a URL, and the signals that led to it.
type Report struct {
	Input         string      `json:"input" doc:"the URL as it was given"`
	NormalizedURL string      `json:"normalized_url" doc:"the URL as browsers read it, without user name and password"`
	Host          string      `json:"host" doc:"domain or IP address, in lower case"`
	Registered    diag.Domain `json:"registered_domain,omitzero" doc:"the registrable part of the host"`
	Verdict       Verdict     `json:"verdict" doc:"the outcome in a word; clean: no signal that weighs, and address, page and registration were examined; inconclusive: one of them was not"`
	diag.Text
	RiskScore int              `json:"risk_score" min:"0" max:"100" doc:"the weights of all groups of signals together"`
	Signals   []Signal         `json:"signals" doc:"signals that were triggered, the heaviest first"`
	Sources   []SourceResult   `json:"sources" doc:"what reputation sources say"`
	Coverage  Coverage         `json:"coverage" doc:"how much was examined"`
	Examined  []diag.ScopePart `json:"examined,omitempty" maxitems:"32" doc:"what the verdict rests on, and what was not examined, which comes first"`
	AgeDays   *int             `json:"domain_age_days,omitempty" min:"0" doc:"whole days since the domain was registered"`
	Lookalike Lookalike        `json:"lookalike,omitzero" doc:"the brand that the host, or the one that it leads to, imitates"`
	Redirects []fetch.Hop      `json:"redirects" doc:"answers that led on, in order"`
	TLS       TLS              `json:"tls,omitzero" doc:"certificate of the site at the end of the redirects"`
	Forms     []Form           `json:"forms" doc:"forms of the page that ask for something"`
	Partial   bool             `json:"partial" doc:"whether something could not be examined that should have been"`
	diag.Timing

	Findings []diag.Finding `json:"findings" doc:"what is remarkable, the worst first"`
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules().Describe() }

// A Verdict is the outcome in a word: clean, suspicious, malicious or inconclusive.
type Verdict string

// The verdicts.
const (
	Clean        Verdict = "clean"
	Suspicious   Verdict = "suspicious"
	Malicious    Verdict = "malicious"
	Inconclusive Verdict = "inconclusive"
)

// Values lists the verdicts.
func (Verdict) Values() []string { return kit.Values(Clean, Suspicious, Malicious, Inconclusive) }

// A Category is the subject of a signal.
type Category string

// Values lists the categories.
func (Category) Values() []string {
	return []string{ofURL.Code, ofHost.Code, ofTLS.Code, ofContent.Code, ofRegistration.Code, ofReputation.Code}
}

// A Signal is a reason to suspect phishing.
type Signal struct {
	Code      diag.Code     `json:"code" doc:"permanent name of the rule" example:"phishing.lookalike.homoglyph"`
	Category  Category      `json:"category" doc:"what it is about"`
	Group     Group         `json:"group,omitempty" doc:"its cause; of the signals of one cause the heaviest counts alone"`
	Severity  diag.Severity `json:"severity" doc:"how much it matters"`
	Weight    int           `json:"weight" min:"0" max:"100" doc:"the risk of it alone"`
	Triggered bool          `json:"triggered" doc:"true: signals that were not triggered are not listed"`
	Detail    string        `json:"detail" doc:"what was seen"`
}

// SourceStatus is the outcome of querying a reputation source.
type SourceStatus string

// Values lists the statuses.
func (SourceStatus) Values() []string {
	return []string{"match", "no_match", "timeout", "error", "disabled"}
}

// A SourceResult is the answer of one reputation source. No source is built in, so reports have none.
type SourceResult struct {
	ID          string       `json:"id" doc:"id of the source"`
	Name        string       `json:"name" doc:"its name"`
	Status      SourceStatus `json:"status" doc:"whether it lists the URL"`
	ThreatTypes []string     `json:"threat_types" doc:"for what it lists it"`
	LatencyMS   int64        `json:"latency_ms" min:"0" doc:"how long the answer took"`
}

// Coverage counts what was examined.
type Coverage struct {
	SourcesQueried  int `json:"sources_queried" min:"0" doc:"reputation sources that were asked"`
	SourcesAnswered int `json:"sources_answered" min:"0" doc:"those of them that answered"`
	HeuristicsRun   int `json:"heuristics_run" min:"0" doc:"rules that could be applied"`
}

// A Technique is the way in which a name imitates a brand: homoglyph, typo, combo or subdomain.
type Technique = lookalike.Technique

// TargetsFile is the name of the file that replaces the table of brands; see [diag.List].
const TargetsFile = lookalike.File

// BuiltInTargets returns the built-in table of brands as a file.
func BuiltInTargets() []byte { return lookalike.BuiltInFile() }

// CheckTargets returns an error if a table of brands is invalid.
func CheckTargets(data []byte) error {
	_, err := lookalike.Parse(data)
	return err
}

// A Lookalike describes the brand that a host imitates.
type Lookalike struct {
	Brand     string    `json:"brand" doc:"name of the brand" example:"PayPal"`
	Technique Technique `json:"technique" doc:"by what means it is imitated"`
	Distance  int       `json:"distance" min:"0" doc:"characters that differ; 0 if the name of the brand is there unchanged"`
}

// TLS summarizes a certificate.
type TLS struct {
	Valid   bool   `json:"valid" doc:"whether the certificate is trusted and for this host"`
	Issuer  string `json:"issuer" doc:"who issued it"`
	AgeDays int    `json:"age_days" doc:"whole days since the beginning of its validity; negative before"`
}

// A Form is a form of the page.
type Form struct {
	ActionHost  string `json:"action_host" doc:"host to which it sends; empty if it sends to none"`
	HasPassword bool   `json:"has_password" doc:"whether it asks for a password"`
	CrossOrigin bool   `json:"cross_origin" doc:"whether that is another origin than the page's"`
	Insecure    bool   `json:"insecure" doc:"whether it sends without encryption"`
}

// Check examines a URL. The error is that of the context if it ended, or a *[diag.InputError] if browsers
// would not fetch the URL, or if the request names a reputation source, because there are none. A site that
// does not answer is not an error.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	e, err := examine(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return e.report(env.Now()), nil
}

// examine takes the URL apart and asks whom it may ask.
func examine(ctx context.Context, env *diag.Env, req Request) (*evidence, error) {
	if len(req.Sources) > 0 {
		return nil, input.Invalid("sources[0]", "%.60q is not configured as a reputation source here", req.Sources[0])
	}
	targets, err := lookalike.Of(env)
	if err != nil {
		return nil, err
	}
	start, err := dissect(req.URL, targets)
	if err != nil {
		return nil, err
	}
	e := &evidence{anatomy: start, targets: targets, now: env.Now()}
	e.asked, e.visited = true, req.Fetch == nil || *req.Fetch
	return e, e.gather(ctx, env)
}

type evidence struct {
	*anatomy          // of the URL that was given
	end      *anatomy // of the URL to which redirects lead, if that is another site; else nil
	framed   *anatomy // of the URL whose page fills the page in a frame, if that is another site; else nil
	targets  *lookalike.Targets
	now      time.Time
	asked    bool // whether any source was asked
	visited  bool // whether the site may be visited

	site         *fetch.Result // nil if it was not fetched
	page         *page.Page    // nil without an answer or without HTML
	body         []byte
	ages         []age    // of the registrable domains of both ends
	survey       *survey  // what the page shows and asks for; nil without a page
	identity     identity // whose it says it is
	hiddenFrames []string
}

// An age is how long a domain has been registered.
type age struct {
	domain diag.Domain
	report *registry.DomainReport // nil if nothing could be learned
}

// What is asked beside the URL itself.
const (
	sourcePage         rule.Source = "page"
	sourceRegistration rule.Source = "registration"
)

// Unanswered lists what was asked and not answered.
func (e *evidence) Unanswered() (open []rule.Source) {
	if !e.asked {
		return nil
	}
	if e.visited && (e.site == nil || e.site.Err != nil && e.site.Err.Unanswered) {
		open = append(open, sourcePage)
	}
	if slices.ContainsFunc(e.ages, func(a age) bool { return a.report == nil }) {
		open = append(open, sourceRegistration)
	}
	return open
}

// last is the anatomy of the site whose page was read.
func (e *evidence) last() *anatomy {
	if e.end != nil {
		return e.end
	}
	return e.anatomy
}

// places returns the sites that the URL rules examine: the one that was given, the one whose URL it wraps, the one
// to which it leads, and the one that fills its page.
func (e *evidence) places() []*anatomy {
	list := []*anatomy{e.anatomy}
	for _, a := range []*anatomy{e.wrapped, e.end, e.framed} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// answered reports whether the end of the redirects was reached, and answered with whatever status.
func (e *evidence) answered() bool {
	return e.site != nil && e.site.Final() != nil && (e.site.Err == nil || e.site.Final().RedirectType == "")
}

// served reports whether the server served the page, all of it, as opposed to an error.
func (e *evidence) served() bool {
	return e.answered() && e.site.Err == nil && e.site.Final().StatusCode < http.StatusBadRequest
}

// The risks from which a verdict is given. What an honest URL may have as well, such as a code in its path or free
// hosting, has such weights that three or four of them together are below the first.
const (
	suspicious = 40
	malicious  = 75
)

// risk adds up the weights of groups as independent reasons: what the first leaves of 100 is lowered by the second in
// its proportion, and so on. So no number of weak signals is as good as a proof, and the order does not matter. Signals
// of one group have one cause, and only the heaviest of them counts.
func risk(signals []Signal) int {
	left := 1.0
	for _, s := range counted(signals) {
		left *= 1 - float64(s.Weight)/100
	}
	return int(math.Round(100 * (1 - left)))
}

func (e *evidence) report(ended time.Time) *Report {
	judged := rules().Judge(e, nil)
	r := &Report{
		Input: e.input, NormalizedURL: e.url.String(), Host: e.url.Host().Name(), Signals: signals(judged.Findings),
		Sources: []SourceResult{}, Coverage: Coverage{HeuristicsRun: heuristics(judged)},
		Redirects: e.redirects(), TLS: e.certificate(), Forms: e.forms(), Lookalike: e.lookalike(),
		Partial: len(e.Unanswered()) > 0, Timing: diag.NewTiming(e.now, ended), Findings: judged.Findings,
	}
	if d, err := diag.ParseDomain(e.registered); err == nil {
		r.Registered = d
	}
	for _, a := range e.ages {
		if n, ok := a.days(); ok && a.domain == r.Registered {
			r.AgeDays = new(n)
		}
	}
	var scope diag.Verdict
	scope.Examine(e.scope())
	r.Examined = scope.Examined
	r.RiskScore = risk(r.Signals)
	r.Verdict = e.verdict(r)
	r.Text = e.text(r)
	return r
}

var describe = sync.OnceValue(func() map[diag.Code]rule.Description {
	m := map[diag.Code]rule.Description{}
	for _, info := range rules().Describe() {
		m[info.Code] = info
	}
	return m
})

// signals lists the rules with a weight that failed, each with its first finding, the heaviest first.
func signals(findings []diag.Finding) []Signal {
	list, known, seen := []Signal{}, describe(), map[diag.Code]bool{}
	for _, f := range findings {
		info := known[f.Code]
		if info.Weight == 0 || seen[f.Code] {
			continue
		}
		seen[f.Code] = true
		list = append(list, Signal{f.Code, Category(info.Category.Code), groupsByCode()[f.Code], f.Severity, info.Weight,
			true, f.Detail})
	}
	slices.SortStableFunc(list, func(a, b Signal) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Code, b.Code))
	})
	return list
}

// heuristics counts the rules that could be applied.
func heuristics(judged diag.Verdict) int {
	n, seen := len(judged.Passed), map[diag.Code]bool{}
	known := describe()
	for _, f := range judged.Findings {
		if !seen[f.Code] && known[f.Code].State != diag.Unknown {
			n++
		}
		seen[f.Code] = true
	}
	return n
}

// verdict returns the verdict on the risk. It is inconclusive where the page was not examined, where no source vouches
// for the domain by a registration or by knowing its owner, where the page asks for a secret and does not say for whom
// or is made by what was not examined, and where an answer that did not come could have raised the risk so far that the
// verdict would be another one.
func (e *evidence) verdict(r *Report) Verdict {
	worst := r.RiskScore
	if slices.Contains(e.Unanswered(), sourceRegistration) {
		worst = risk(append(slices.Clone(r.Signals), Signal{Group: GroupNewness,
			Weight: describe()["phishing.registration.new"].Weight}))
	}
	switch {
	case r.RiskScore >= malicious:
		return Malicious
	case r.RiskScore >= suspicious:
		return Suspicious
	case !e.served(), worst >= suspicious, !e.hasKnownOwners(), e.ambiguous(r), e.unseen(r):
		return Inconclusive
	default:
		return Clean
	}
}

// ambiguous reports whether the page asks for a secret without saying in whose name.
func (e *evidence) ambiguous(r *Report) bool {
	return r.has("phishing.page.brand_mixed", "phishing.page.nameless", "phishing.page.unmatched_name")
}

// unseen reports whether what visitors see of the page comes from what was not examined: a script or a frame.
func (e *evidence) unseen(r *Report) bool {
	return e.scripted() || r.has("phishing.page.obfuscated", "phishing.page.frame")
}

// has reports whether one of these signals was triggered.
func (r *Report) has(codes ...diag.Code) bool {
	return slices.ContainsFunc(r.Signals, func(s Signal) bool { return slices.Contains(codes, s.Code) })
}

// redirects lists the answers that led on.
func (e *evidence) redirects() []fetch.Hop {
	list := []fetch.Hop{}
	if e.site != nil {
		list = append(list, e.site.Hops...)
	}
	return slices.DeleteFunc(list, func(h fetch.Hop) bool { return h.RedirectType == "" })
}

func (e *evidence) certificate() (t TLS) {
	if !certified(e) {
		return t
	}
	leaf := e.site.TLS.Leaf()
	issuer := cmp.Or(leaf.Issuer.CommonName, leaf.Issuer.Raw)
	if len(leaf.Issuer.Organization) > 0 {
		issuer = leaf.Issuer.Organization[0]
	}
	return TLS{Valid: e.site.TLS.Err() == nil, Issuer: issuer, AgeDays: days(e.now.Sub(leaf.NotBefore))}
}

// lookalike is the brand that is imitated: by the host that was given, or else by that to which it leads.
func (e *evidence) lookalike() Lookalike {
	m := e.imitation()
	if m == nil {
		return Lookalike{}
	}
	return Lookalike{Brand: m.Target.Name, Technique: m.Technique, Distance: m.Distance}
}

// imitation is the strongest likeness to a brand.
func (e *evidence) imitation() (best *lookalike.Match) {
	for _, a := range e.places() {
		if a.match != nil && (best == nil || a.match.Strength > best.Strength) {
			best = a.match
		}
	}
	return best
}

// days returns the whole days of a duration, rounded down.
func days(d time.Duration) int { return int(math.Floor(d.Hours() / 24)) }
