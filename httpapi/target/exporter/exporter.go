// Package exporter exposes the state of domains to Prometheus. An [Exporter] examines each domain of a list on its
// own schedule, keeps the results, and serves them as metrics: all domains at /metrics, one at
// /probe?target=example.com. A scrape only reads what is kept, so that neither the interval of scrapes nor a stranger
// decides which servers are queried.
//
//	e := exporter.New(exporter.Config{List: list, Ask: func() target.Ask { return target.Local(env) }, …})
//	go http.Serve(listener, e)
//	err := e.Run(ctx)
//
// Silence is not a fault. What a run could not learn keeps the value that it had, and its age is a metric of its own.
// What was never learned is absent.
package exporter

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/target"
)

// Config sets what is examined, and how often. Only List and Ask are required.
type Config struct {
	List     func() (string, error) // a domain in each line, # begins a comment; called every half minute
	Reload   <-chan os.Signal       // triggers a reload; may be nil
	Ask      func() target.Ask      // of one run, such as target.Local: runs share no answers
	Options  target.Options         // choose the checks; zero: all
	Interval time.Duration          // from one run to the next; 0 means 6 hours
	Timeout  time.Duration          // of a run; 0 means a minute
	Parallel int                    // how many domains are examined concurrently; 0 means 4
	Clock    diag.Clock             // nil: the wall clock
	Log      *slog.Logger           // logs lists that cannot be read, and runs that learned nothing; nil: silence
}

const (
	// The defaults of a [Config].
	defaultInterval = 6 * time.Hour
	defaultTimeout  = time.Minute
	defaultParallel = 4

	maxTargets  = 10_000           // four concurrent runs then have 8 seconds for each in 6 hours
	reloadAfter = 30 * time.Second // how soon a changed list is noticed
	firstGap    = 2 * time.Second  // between two domains of the first round, which is not to take the whole interval
	jitter      = 0.05             // share of the interval by which a run moves, so as not to meet another's forever
)

// An Exporter examines domains, and is the handler that serves the results.
type Exporter struct {
	Config
	slots chan struct{} // one for each domain that is being examined
	runs  diag.Group

	mu          sync.Mutex
	text        string // the list in force
	sites       map[string]*site
	invalidList bool // the list cannot be read, and one before it is in force
}

// A site is a domain and its state.
type site struct {
	target target.Target
	result // its lists are replaced, never changed
	stop   context.CancelFunc
}

// New returns an exporter that has examined nothing yet. It panics without List or Ask.
func New(c Config) *Exporter {
	if c.List == nil || c.Ask == nil {
		panic("exporter: Config.List or Config.Ask is nil")
	}
	c.Interval, c.Timeout = cmp.Or(c.Interval, defaultInterval), cmp.Or(c.Timeout, defaultTimeout)
	c.Parallel, c.Log = cmp.Or(c.Parallel, defaultParallel), cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Exporter{Config: c, slots: make(chan struct{}, c.Parallel)}
}

// Check returns why the list cannot be used, or nil.
func (e *Exporter) Check() error {
	text, err := e.List()
	if err == nil {
		_, err = parse(text)
	}
	return err
}

// Run examines domains until the context ends. A list that cannot be read is an error at the start; later the one
// before stays in force.
func (e *Exporter) Run(ctx context.Context) error {
	if err := e.load(ctx); err != nil {
		return err
	}
	defer e.runs.Wait()
	tick := time.Tick(reloadAfter)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.Reload:
		case <-tick:
		}
		if err := e.load(ctx); err != nil {
			e.Log.Warn("the list of targets stays as it was", "error", err)
		}
	}
}

// load reads the list. Domains that stay keep their schedule and state; new ones are examined soon, one after
// another.
func (e *Exporter) load(ctx context.Context) error {
	text, err := e.List()
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []target.Target
	if err == nil && (text != e.text || e.sites == nil) {
		list, err = parse(text)
	}
	if e.invalidList = err != nil; e.invalidList || text == e.text && e.sites != nil {
		return err
	}
	old := e.sites
	e.text, e.sites = text, map[string]*site{}
	gap, wait := min(firstGap, e.Interval/time.Duration(len(list)+1)), time.Duration(0)
	for _, t := range list {
		if e.sites[t.Text] != nil {
			continue // named twice
		}
		s := old[t.Text]
		delete(old, t.Text)
		if s == nil {
			ctx, stop := context.WithCancel(ctx)
			s = &site{target: t, stop: stop}
			due := e.Clock().Add(wait + time.Duration(rand.Float64()*float64(gap)))
			e.runs.Go(func() { e.watch(ctx, s, due) })
			wait += gap
		}
		e.sites[t.Text] = s
	}
	for _, gone := range old {
		gone.stop()
	}
	return nil
}

func parse(text string) (list []target.Target, err error) {
	for n, line := range strings.Split("\n"+text, "\n") { // counted from 1
		line, _, _ = strings.Cut(line, "#")
		name := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(line), "."))
		if name == "" {
			continue
		}
		t, err := target.Parse(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case t.Kind != target.Domain || t.Text != name:
			return nil, fmt.Errorf("line %d: %q is not a domain name", n, name)
		case len(list) == maxTargets:
			return nil, fmt.Errorf("line %d: more than %d domains", n, maxTargets)
		}
		list = append(list, t)
	}
	return list, nil
}

// watch examines a domain again and again, until it leaves the list.
func (e *Exporter) watch(ctx context.Context, s *site, due time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(due.Sub(e.Clock())):
		}
		select {
		case <-ctx.Done():
			return
		case e.slots <- struct{}{}: // the longest waiting is first
		}
		e.examine(ctx, s)
		<-e.slots
		due = e.next(s.target.Text)
	}
}

// next is when a domain is examined after a run that ends now: at its own moment of the interval, which its name
// decides. So domains are spread over the interval however they came into the list, and stay so after a restart.
func (e *Exporter) next(name string) time.Time {
	h := fnv.New64a()
	h.Write([]byte(name))
	earliest := e.Clock().Add(e.Interval / 2)
	interval := uint64(e.Interval)
	wait := (h.Sum64()%interval + interval - uint64(earliest.UnixNano())%interval) % interval
	return earliest.Add(time.Duration(wait) + time.Duration((2*rand.Float64()-1)*jitter*float64(e.Interval)))
}

func (e *Exporter) examine(ctx context.Context, s *site) {
	r, err := e.run(ctx, s)
	switch {
	case ctx.Err() != nil:
		return // it was aborted, which means nothing for the domain
	case err != nil:
		e.Log.Warn("nothing could be learned", "target", s.target.Text, "error", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.result = r
}

// run runs the checks, and returns the new state. One that panics must not end the schedule.
func (e *Exporter) run(ctx context.Context, s *site) (r result, err error) {
	began := e.Clock()
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	var whole *target.Whole
	if p := diag.Catch(func() { whole = target.Run(ctx, s.target, e.Options, e.Ask(), nil) }); p != nil {
		err = fmt.Errorf("a check panicked: %w", p)
		return s.next(nil, err, began, e.Clock()), err
	}
	err = whole.Err()
	return s.next(whole, err, began, e.Clock()), err
}

// metrics are all metrics: name, type, and help text.
var metrics = [][3]string{
	{"diag_exporter_targets", "gauge", "Domains in the list."},
	{"diag_exporter_running", "gauge", "Domains that are being examined."},
	{"diag_exporter_interval_seconds", "gauge", "Time from one run to the next."},
	{"diag_exporter_list_valid", "gauge", "1 if the list can be read, 0 if one before it stays in force."},
	{"diag_runs_total", "counter", "Runs of all checks of a domain."},
	{"diag_runs_failed_total", "counter", "Runs that learned nothing."},
	{"diag_run_timestamp_seconds", "gauge", "When the last run ended."},
	{"diag_run_duration_seconds", "gauge", "How long the last run took."},
	{"diag_run_success", "gauge", "1 if the last run learned anything, 0 otherwise."},
	{"diag_check_known", "gauge", "1 if the last run learned how the check stands, 0 if what is shown is older."},
	{"diag_check_learned_timestamp_seconds", "gauge", "When what is shown of the check was learned."},
	{"diag_check_state", "gauge", "1 for the state that the check is in."},
	{"diag_check_score", "gauge", "Score in percent."},
	{"diag_findings", "gauge", "Kinds of findings by severity, from warnings on."},
	{"diag_finding", "gauge", "In how many places there is a finding."},
	{"diag_expiry_timestamp_seconds", "gauge", "When something expires."},
	{"diag_expiry_start_timestamp_seconds", "gauge", "When the validity of what expires began."},
	{"diag_expiry_learned_timestamp_seconds", "gauge", "When the date was learned."},
}

// ServeHTTP serves what is kept: /metrics of all domains, /probe?target=example.com of one.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := page{}
	name := strings.ToLower(strings.TrimSuffix(r.URL.Query().Get("target"), "."))
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is served", http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/metrics":
		e.write(p, "")
	case r.URL.Path == "/":
		io.WriteString(w, "/metrics is about all domains, /probe?target=DOMAIN about one.\n")
		return
	case r.URL.Path != "/probe":
		http.Error(w, "here are /metrics and /probe?target=DOMAIN", http.StatusNotFound)
		return
	case name == "" || !e.write(p, name):
		http.Error(w, "/probe?target=DOMAIN serves the domains of the list alone", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, m := range metrics {
		if b := p[m[0]]; b != nil {
			io.WriteString(w, "# HELP "+m[0]+" "+m[2]+"\n# TYPE "+m[0]+" "+m[1]+"\n")
			w.Write(b.Bytes())
		}
	}
}

// write writes the state of a domain, or of all, and reports whether there is such a domain.
func (e *Exporter) write(p page, only string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := []string{only}
	if only == "" {
		names = slices.Sorted(maps.Keys(e.sites))
		p.add("diag_exporter_targets", float64(len(e.sites)))
		p.add("diag_exporter_running", float64(len(e.slots)))
		p.add("diag_exporter_interval_seconds", e.Interval.Seconds())
		p.add("diag_exporter_list_valid", boolValue(!e.invalidList))
	}
	for _, name := range names {
		s := e.sites[name]
		if s == nil {
			return false
		}
		s.result.write(func(metric string, value float64, labels ...string) {
			p.add(metric, value, append([]string{"target", name}, labels...)...)
		})
	}
	return true
}

func (r *result) write(add func(metric string, value float64, labels ...string)) {
	add("diag_runs_total", float64(r.runs))
	add("diag_runs_failed_total", float64(r.failures))
	if r.runs == 0 {
		return
	}
	add("diag_run_timestamp_seconds", unix(r.ended))
	add("diag_run_duration_seconds", r.duration.Seconds())
	add("diag_run_success", boolValue(!r.failed))
	for _, k := range r.checks {
		k.write(func(metric string, value float64, labels ...string) {
			add(metric, value, append([]string{"check", k.check}, labels...)...)
		})
		for _, e := range k.expiries {
			add("diag_expiry_timestamp_seconds", unix(e.to), "kind", e.kind, "subject", e.subject)
			add("diag_expiry_learned_timestamp_seconds", unix(e.learned), "kind", e.kind, "subject", e.subject)
			if !e.from.IsZero() {
				add("diag_expiry_start_timestamp_seconds", unix(e.from), "kind", e.kind, "subject", e.subject)
			}
		}
	}
}

func (k *checkState) write(add func(metric string, value float64, labels ...string)) {
	add("diag_check_known", boolValue(k.isKnown))
	if k.learned.IsZero() {
		return
	}
	add("diag_check_learned_timestamp_seconds", unix(k.learned))
	if k.state != "" {
		add("diag_check_state", 1, "state", string(k.state))
	}
	if k.score != nil {
		add("diag_check_score", float64(*k.score))
	}
	var n [diag.Critical + 1]int
	for _, f := range k.findings {
		n[f.Severity]++
		add("diag_finding", float64(f.PlaceCount), "code", string(f.Code), "severity", f.Severity.String())
	}
	for s := diag.Warning; s <= diag.Critical; s++ {
		add("diag_findings", float64(n[s]), "severity", s.String())
	}
}

// A page is the text of each metric in the format of Prometheus, version 0.0.4.
type page map[string]*bytes.Buffer

func (p page) add(metric string, value float64, labels ...string) {
	if p[metric] == nil {
		p[metric] = new(bytes.Buffer)
	}
	line, mark := []byte(metric), byte('{')
	for i := 0; i+1 < len(labels); i += 2 {
		line = append(append(append(line, mark), labels[i]...), `="`...)
		line, mark = append(append(line, escape.Replace(labels[i+1])...), '"'), ','
	}
	if mark == ',' {
		line = append(line, '}')
	}
	line = strconv.AppendFloat(append(line, ' '), value, 'f', -1, 64)
	p[metric].Write(append(line, '\n'))
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
