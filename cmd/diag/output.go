package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
)

type outcome struct {
	ep     httpapi.Endpoint // zero for an overview, and for content that was read here
	reply  []byte           // JSON of the report
	report any
	view   *view.View
	whole  *target.Whole
}

// formats are the flags that choose how a report is written; of them at most one is set.
type formats struct{ json, jsonl, markdown, html, junit, svg, csv bool }

func (f *formats) count() (n int) {
	for _, on := range []bool{f.json, f.jsonl, f.markdown, f.html, f.junit, f.svg} {
		if on {
			n++
		}
	}
	return n
}

// exitCode returns the exit code of a result: a finding outweighs what could not be learned.
func (a *app) exitCode(v *view.View) int {
	isSevere := func(f diag.Finding) bool { return f.Severity >= a.threshold }
	switch {
	case slices.ContainsFunc(slices.Concat(v.Findings, v.Better), isSevere):
		return exitFinding
	case v.Partial:
		return exitPartial
	}
	return exitOK
}

func (a *app) show(o outcome) error {
	a.code = a.exitCode(o.view)
	a.addLocations(o.view)
	switch {
	case a.zone.annotate != "":
		return a.writeAnnotations(a.locate(o.view))
	case a.formats.json || a.formats.jsonl:
		text, err := o.json()
		if err != nil {
			return err
		}
		if a.formats.jsonl {
			text = append(bytes.TrimSpace(text), '\n')
		}
		if a.terminal && a.output == "" {
			text = printableJSON(text)
		}
		return a.writeOut(text)
	case a.formats.junit && a.multi != nil:
		a.multi.suites = append(a.multi.suites, newJUnitSuite(o.view.Subject, o.view, nil, a.threshold))
		return nil
	case a.formats.count() > 0:
		text, err := a.renderDocument(o)
		if err != nil {
			return err
		}
		return a.writeOut(append(a.separator(), text...))
	}
	if done, err := a.printUtility(o); done {
		return err
	}
	b := bytes.NewBuffer(a.separator())
	if err := a.writeText(b, o); err != nil {
		return err
	}
	return a.writeOut(b.Bytes())
}

// separator returns the separator between this answer and the one before.
func (a *app) separator() []byte {
	switch {
	case a.multi == nil:
		return nil
	case a.multi.started:
		return []byte("\n")
	}
	a.multi.started = true
	return nil
}

// json returns the report as the API answers it, or those of an overview by name.
func (o outcome) json() ([]byte, error) {
	if o.reply != nil {
		return o.reply, nil
	}
	if o.whole == nil {
		return json.Marshal(o.view)
	}
	return o.whole.JSON()
}

// terminalOptions returns the capabilities of the terminal.
func (a *app) terminalOptions() render.Options {
	return render.Options{Width: a.width(), Color: a.usesColor(), ASCII: a.usesASCII()}
}

func (a *app) writeText(b *bytes.Buffer, o outcome) error {
	options := a.terminalOptions()
	options.Verbose, options.Quiet, options.Title = a.verbose, a.quiet, o.title()
	if o.whole != nil {
		return o.whole.Text(b, o.view, a.showsAll(), options)
	}
	if a.verbose {
		options.Facts = target.Facts(o.reply)
	}
	return render.Text(b, o.view, options)
}

func (o outcome) title() string {
	if o.ep.Path == "" {
		return ""
	}
	return o.ep.Name()
}

// usesColor reports whether color is wanted (https://no-color.org).
func (a *app) usesColor() bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.terminal && a.output == "" && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// usesASCII reports whether the locale of the terminal is not UTF-8 (POSIX, section 8.2 of the base definitions).
func (a *app) usesASCII() bool {
	if !a.terminal || a.output != "" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(os.Getenv(name)); locale != "" {
			return !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
		}
	}
	return false
}

// printable makes a stranger's text safe for a terminal.
func printable(s string) string { return render.Printable(s) }

// printableJSON returns JSON with the same meaning, safe for a terminal. JSON itself permits the controls above 127
// and format characters unescaped.
func printableJSON(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		if r == '\n' || !render.Unsafe(r) { // a line's end is only between values
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, "\\u%04x", unit)
		}
	}
	return b
}

// renderDocument writes a view as a file of another kind.
func (a *app) renderDocument(o outcome) ([]byte, error) {
	var b bytes.Buffer
	var err error
	switch {
	case a.formats.junit:
		return junitReport(newJUnitSuite(o.view.Subject, o.view, nil, a.threshold))
	case a.formats.markdown:
		err = render.Markdown(&b, o.view, o.title())
	case a.formats.html:
		err = render.Page(&b, o.view, render.HTMLOptions{Title: o.title()})
	case o.view.Drawing == nil:
		err = usagef("--svg: the report on %s has no diagram", o.view.Subject)
	default:
		title := cmp.Or(o.view.Drawing.Title, o.view.Subject+": "+o.view.Headline)
		err = render.SVG(&b, o.view.Drawing, title)
	}
	return b.Bytes(), err
}

// The elements of JUnit's report that CI servers read: a suite for each target, a case for each rule.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Error   *junitMessage `xml:"error,omitempty"`
		Output  string        `xml:"system-out,omitempty"` // what CI servers show of a case that passed
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// newJUnitSuite returns a view as a suite: findings at or above the threshold are failures, and what could not be
// learned is an error.
func newJUnitSuite(subject string, v *view.View, err error, threshold diag.Severity) junitSuite {
	s := junitSuite{Name: subject}
	addError := func(what, kind, text string) {
		s.Errors++
		s.Cases = append(s.Cases, junitCase{Name: what, Class: subject, Error: &junitMessage{Message: text, Type: kind}})
	}
	if err != nil {
		v = &view.View{}
		addError("answer", "unavailable", err.Error())
	}
	for _, f := range slices.Concat(v.Findings, v.Better) {
		c := junitCase{Name: string(f.Code), Class: subject}
		if f.Severity >= threshold {
			c.Failure = &junitMessage{f.Title, f.Severity.String(), f.Detail + "\n" + f.Advice}
			s.Failures++
		} else {
			c.Output = f.Severity.String() + ": " + f.Title + "\n" + f.Detail + "\n" + f.Advice
		}
		s.Cases = append(s.Cases, c)
	}
	if v.Partial {
		addError("complete", "partial", "not everything answered")
	}
	for _, c := range v.Passed {
		s.Cases = append(s.Cases, junitCase{Name: string(c.Code), Class: subject})
	}
	s.Tests = len(s.Cases)
	return s
}

func junitReport(suites ...junitSuite) ([]byte, error) {
	text, err := xml.MarshalIndent(junitSuites{Suites: suites}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JUnit's report: %w", err)
	}
	return append(append([]byte(xml.Header), text...), '\n'), nil
}

// progressAfter is how long a check may run before progress is shown.
const progressAfter = time.Second

// progress shows what a command waits for, on standard error: in one line that is overwritten on a terminal.
type progress struct {
	a       *app
	mu      sync.Mutex
	names   []string
	began   time.Time
	written bool
	stop    chan struct{}
	ended   sync.WaitGroup
}

// startProgress begins to show progress under a name, until end is called.
func (a *app) startProgress(name string) *progress {
	p := &progress{a: a, names: []string{name}, began: time.Now(), stop: make(chan struct{})}
	if a.progress && !a.quiet {
		p.ended.Go(p.run)
	}
	return p
}

func (p *progress) run() {
	ticker := time.NewTicker(progressAfter)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.write()
		}
	}
}

// setPending describes the pending checks.
func (p *progress) setPending(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = names
}

func (p *progress) write() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = true
	fmt.Fprintf(p.a.stderr, "\r\x1b[K%s: %d s", printable(phrase.Series(p.names, 4)), int(time.Since(p.began).Seconds()))
}

// end removes the line.
func (p *progress) end() {
	close(p.stop)
	p.ended.Wait()
	if p.written {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
	}
}

func (a *app) writeOut(data []byte) error {
	switch {
	case a.output != "" && a.multi != nil:
		a.multi.file.Write(data)
		return nil
	case a.output != "":
		return os.WriteFile(a.output, data, 0o644)
	}
	_, err := a.stdout.Write(data)
	return err
}
