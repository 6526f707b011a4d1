package exporter

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// metrics are all that there are: name, type, and what it says.
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

// write writes what is known of a domain, or of all, and reports whether there is such a domain.
func (e *Exporter) write(p page, only string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := []string{only}
	if only == "" {
		names = slices.Sorted(maps.Keys(e.sites))
		p.add("diag_exporter_targets", float64(len(e.sites)))
		p.add("diag_exporter_running", float64(len(e.slots)))
		p.add("diag_exporter_interval_seconds", e.Interval.Seconds())
		p.add("diag_exporter_list_valid", flag(!e.broken))
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
	add("diag_run_success", flag(!r.failed))
	for _, k := range r.checks {
		k.write(func(metric string, value float64, labels ...string) {
			add(metric, value, append([]string{"check", k.check}, labels...)...)
		})
		for _, e := range k.ends {
			add("diag_expiry_timestamp_seconds", unix(e.to), "kind", e.kind, "subject", e.subject)
			add("diag_expiry_learned_timestamp_seconds", unix(e.learned), "kind", e.kind, "subject", e.subject)
			if !e.from.IsZero() {
				add("diag_expiry_start_timestamp_seconds", unix(e.from), "kind", e.kind, "subject", e.subject)
			}
		}
	}
}

func (k *kept) write(add func(metric string, value float64, labels ...string)) {
	add("diag_check_known", flag(k.known))
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

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
