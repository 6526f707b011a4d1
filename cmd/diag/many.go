package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/phrase"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/spf13/pflag"
)

// batch holds the flags of runs over many targets.
type batch struct {
	file     string
	parallel int
	resume   bool
}

func (b *batch) add(flags *pflag.FlagSet) {
	flags.StringVarP(&b.file, "file", "f", "", "check each line of this file, or of standard input (-)")
	flags.IntVar(&b.parallel, "parallel", 16, "for -f: how many targets to check concurrently, 1 to 256")
	flags.BoolVar(&b.resume, "resume", false, "for -f with --jsonl and --output: continue where the file ends")
}

func (b *batch) check(a *app) error {
	switch {
	case b.parallel < 1 || b.parallel > 256:
		return usagef("--parallel: must be from 1 to 256")
	case b.resume && (a.output == "" || !a.formats.jsonl):
		return usagef("--resume needs --jsonl and --output FILE")
	case a.formats.count() > 0 && !a.formats.jsonl && !a.formats.junit:
		return usagef("-f can be combined with --jsonl, --csv and --junit only")
	}
	return nil
}

// minParallel targets are examined concurrently, however busy the name servers and this machine are. Another one
// begins when the name servers have been sent the earlier queries and a processor is free: earlier, it would take
// memory, and use up its time waiting.
const minParallel = 4

const (
	startInterval = time.Millisecond  // from one start to the next, in which a target has sent its first questions
	busyAfter     = 4 * startInterval // if the interval takes longer than this, others wait for the processor
)

// waitForRoom waits until there is room for one target more.
func (r *batchRun) waitForRoom(ctx context.Context) {
	if r.waitReady == nil {
		return
	}
	r.starting.Lock()
	defer r.starting.Unlock()
	for r.waitReady(ctx) == nil {
		began := time.Now()
		select {
		case <-time.After(startInterval):
		case <-ctx.Done():
		}
		runtime.Gosched() // behind all that wait for a processor
		if time.Since(began) < busyAfter {
			return
		}
	}
}

// maxLine bounds a line of a list of targets.
const maxLine = 64 << 10

// runBatch examines each line of the file, several concurrently. An outcome is written when it is known, so that a run
// that is killed has lost only what was under way.
func (a *app) runBatch(ctx context.Context, examine func(ctx context.Context, line string) (outcome, error)) error {
	if err := a.checkSharedFlags(); err != nil {
		return err
	}
	if err := a.batch.check(a); err != nil {
		return err
	}
	in, err := a.openList()
	if err != nil {
		return err
	}
	defer in.Close()
	out, done, err := a.openOutput()
	if err != nil {
		return err
	}
	r := &batchRun{app: a, out: out, alreadyDone: len(done)}
	if a.formats.csv {
		if _, err := out.Write(csvLine(csvColumns)); err != nil {
			return err
		}
	}
	lines := make(chan string)
	var group diag.Group
	for i := range a.batch.parallel {
		group.Go(func() {
			for {
				if i >= minParallel {
					r.waitForRoom(ctx)
				}
				line, ok := <-lines
				if !ok {
					return
				}
				r.examineOne(ctx, line, examine)
			}
		})
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for ctx.Err() == nil && scanner.Scan() {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' || done[line] {
			continue
		}
		done[line] = true
		lines <- line
	}
	close(lines)
	group.Wait()
	return r.end(errors.Join(scanner.Err(), ctx.Err()))
}

func (a *app) openList() (io.ReadCloser, error) {
	if a.batch.file == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(a.batch.file)
	if err != nil {
		return nil, usageError{err}
	}
	return f, nil
}

// openOutput opens the output, and returns which targets it holds already. A line that a killed run has left unfinished
// is removed.
func (a *app) openOutput() (io.Writer, map[string]bool, error) {
	done := map[string]bool{}
	if a.output == "" || a.formats.junit { // which is written at the end
		return a.stdout, done, nil
	}
	flags := os.O_RDWR | os.O_CREATE
	if !a.batch.resume {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(a.output, flags, 0o644)
	if err != nil {
		return nil, nil, err
	}
	var size int64
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err != nil { // an unfinished line is not counted
			break
		}
		var entry struct {
			Target string `json:"target"`
		}
		if json.Unmarshal(line, &entry) == nil {
			done[entry.Target] = true
		}
		size += int64(len(line))
	}
	if err := f.Truncate(size); err != nil {
		return nil, nil, err
	}
	_, err = f.Seek(size, io.SeekStart)
	return f, done, err
}

type batchRun struct {
	*app
	out io.Writer

	starting                 sync.Mutex // held by the goroutine that may begin next
	mu                       sync.Mutex
	suites                   []junitSuite
	examined, failed, faulty int
	alreadyDone              int // targets that the run before has examined
	partial                  bool
	err                      error // of writing
}

func (r *batchRun) examineOne(
	ctx context.Context,
	line string,
	examine func(context.Context, string) (outcome, error),
) {
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	o, err := examine(limited, line)
	if ctx.Err() != nil {
		return // interrupted: the resumed run will examine it
	}
	text := r.write(line, o, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.examined++
	switch {
	case err != nil:
		r.failed++
	case r.exitCode(o.view) == exitFinding:
		r.faulty++
	default:
		r.partial = r.partial || o.view.Partial
	}
	if r.formats.junit {
		r.suites = append(r.suites, newJUnitSuite(line, o.view, err, r.threshold))
		return
	}
	_, err = r.out.Write(text)
	r.err = cmp.Or(r.err, err)
}

// write makes the line of a target: JSON, or the sign, the target and the outcome in short.
func (r *batchRun) write(line string, o outcome, err error) []byte {
	switch {
	case r.formats.jsonl:
		return jsonLine(line, o, err)
	case r.formats.csv:
		return csvLine(csvRow(line, o, err))
	}
	v := o.view
	if err != nil {
		v = &view.View{State: diag.Unknown, Partial: true, Brief: errorLines(err)[0]}
	}
	return []byte(render.Line(line, v, r.terminalOptions()))
}

func jsonLine(line string, o outcome, failure error) []byte {
	entry := struct {
		Target    string          `json:"target"`
		Operation string          `json:"operation,omitempty"`
		Headline  string          `json:"headline,omitempty"`
		Report    json.RawMessage `json:"report,omitempty"`
		Error     string          `json:"error,omitempty"`
	}{Target: line, Operation: o.title()}
	if failure == nil {
		entry.Headline = o.view.Headline
		entry.Report, failure = o.json()
	}
	if failure != nil {
		entry.Report, entry.Error = nil, strings.Join(errorLines(failure), "; ")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(entry); err != nil { // a reply that is not JSON
		return jsonLine(line, outcome{}, err)
	}
	return b.Bytes()
}

func (r *batchRun) end(err error) error {
	if r.formats.junit {
		text, err := junitReport(r.suites...)
		if err != nil {
			return err
		}
		r.err = errors.Join(r.err, r.writeOut(text))
	}
	before := ""
	if r.alreadyDone > 0 {
		before = fmt.Sprintf("; %d already in %s", r.alreadyDone, r.output)
	}
	fmt.Fprintf(r.stderr, "diag: %s checked, %d with findings, %d failed%s\n",
		phrase.Count(r.examined, "target"), r.faulty, r.failed, before)
	switch {
	case r.faulty > 0:
		r.code = exitFinding
	case r.failed == r.examined && r.failed > 0:
		r.code = exitIncomplete
	case r.failed > 0 || r.partial:
		r.code = exitPartial
	}
	return errors.Join(err, r.err)
}

// eachTarget examines the target in a line. The checks of one target share their lookups, those of several do not.
func (a *app) eachTarget(ask func() target.Ask, o target.Options) func(context.Context, string) (outcome, error) {
	return func(ctx context.Context, line string) (outcome, error) {
		t, err := target.Parse(line)
		if err != nil {
			return outcome{}, err
		}
		if v := t.Read(); v != nil {
			return outcome{view: v}, nil
		}
		w := target.Run(ctx, t, o, ask(), nil)
		if err := w.Err(); err != nil {
			return outcome{}, err
		}
		return outcome{view: w.View(), whole: w}, nil
	}
}

// eachCheck runs one check with the words of a line: its first arguments, before those of the command line.
func (a *app) eachCheck(ep httpapi.Endpoint, params []httpapi.Param, values map[string]*[]string, more []string,
	ask target.Ask) func(context.Context, string) (outcome, error) {
	return func(ctx context.Context, line string) (outcome, error) {
		own := map[string]*[]string{}
		for name, list := range values {
			own[name] = new(append([]string(nil), *list...))
		}
		body, err := a.requestBody(params, own, append(strings.Fields(line), more...))
		if err != nil {
			return outcome{}, err
		}
		result, err := ask(ctx, ep, body)
		if err != nil {
			return outcome{}, err
		}
		return newOutcome(ep, result)
	}
}
