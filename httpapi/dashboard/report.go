package dashboard

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
)

// A report is what the last check of a watched domain has found, as its page shows it.
type report struct {
	Digest   *target.Digest // nil before the first check, and after one of a version that did not keep it
	Tasks    []task
	Unsolved []target.DigestFinding // that no step is about
	Earlier  []watch.Finding        // known from earlier checks alone
	Timeline []ending
	Areas    []area
}

// A task is something to do, with what to publish.
type task struct {
	target.Task
	Open    bool
	Note    string // who does it, by when, and after which step
	Since   time.Time
	Details []string // of the fault
	Fixes   []string // what else it fixes
	Publish []published
}

// A published is the advice of a step, and what it publishes.
type published struct {
	Text              string
	Name, Type, Value string
	Current           []string
	Blanks            []string // placeholders in the value
	Long              bool
}

// An ending is an end, and how urgent it is.
type ending struct {
	target.End
	Mark view.Mark
}

// An area is the parts of a group of checks.
type area struct {
	Title string
	Parts []target.DigestPart
}

// digest returns the digest of the last check, or nil if there is none.
func (d *dashboard) digest(ctx context.Context, watched *watch.Watch) (*target.Digest, error) {
	digest, err := d.Watches.Report(ctx, watched.Account, watched.ID)
	if errors.Is(err, metering.ErrNotFound) {
		return nil, nil
	}
	return digest, err
}

// openTasks is how many tasks are open at first, and maxOpenTasks up to how many all are.
const (
	openTasks    = 3
	maxOpenTasks = 5
)

// maxDetails bounds the details of a task.
const maxDetails = 4

// newReport returns the report of a digest, which may be nil, next to the known state of the domain.
func (d *dashboard) newReport(digest *target.Digest, known *watch.Snapshot, now time.Time) report {
	if digest == nil {
		return report{}
	}
	r := report{Digest: digest, Unsolved: digest.Others()}
	list := digest.Tasks()
	steps := kit.Map(list, func(t target.Task) view.Step { return t.Step })
	for i, t := range list {
		one := task{Task: t, Open: i < openTasks || len(list) <= maxOpenTasks, Note: t.Note(steps)}
		for _, f := range known.Findings {
			if f.Code == t.Code {
				one.Since = f.Since
			}
		}
		for _, f := range t.Findings {
			if f.Detail != "" && !slices.Contains(one.Details, f.Detail) && len(one.Details) < maxDetails {
				one.Details = append(one.Details, f.Detail)
			}
			if f.Title != t.Title && !slices.Contains(one.Fixes, f.Title) {
				one.Fixes = append(one.Fixes, f.Title)
			}
		}
		one.Publish = kit.Map(t.Steps, newPublished)
		r.Tasks = append(r.Tasks, one)
	}
	r.Earlier = d.earlier(digest, known.Findings)
	r.Timeline = kit.Map(digest.Ends, func(e target.End) ending { return newEnding(e, now) })
	r.Areas = areas(digest.Parts)
	return r
}

// newPublished says where the value of a step belongs: names without the final dot, as forms of providers want them.
func newPublished(s target.DigestStep) published {
	p := published{Text: s.Text, Name: strings.TrimSuffix(s.Name, "."), Type: s.Type, Value: s.Value, Current: s.Current,
		Blanks: view.Unique(placeholder.FindAllString(s.Value, -1)), Long: s.Long}
	line := zoneLine.FindStringSubmatch(p.Value)
	switch {
	case p.Value == "" || p.Type != "":
	case line != nil:
		p.Name, p.Type, p.Value = line[1], line[2], line[3]
	case strings.HasPrefix(p.Name, "https://"):
		p.Type = "File"
	case strings.Contains(p.Value, " IN "):
		p.Type = "Lines of the zone"
	case headerLine.MatchString(p.Value):
		p.Type, p.Name = "HTTP header", cmp.Or(p.Name, "in every response")
	default:
		p.Type = "Value"
	}
	return p
}

var (
	placeholder = regexp.MustCompile(`\bYOUR[A-Z0-9_-]*`)
	headerLine  = regexp.MustCompile(`^[A-Za-z-]+: `)
	// zoneLine matches the only line of a zone, but that of a TXT record, which is quoted.
	zoneLine = regexp.MustCompile(`^(\S+)\. IN ([A-SU-Z][A-Z0-9]*|TLSA) ([^\n]+)\n?$`)
)

// earlier returns warnings and worse that are known, and were not seen in the last check: it had no answer, or one that
// is to be confirmed. Another operation may have found the same about the same: a name that does not exist is said once.
func (d *dashboard) earlier(digest *target.Digest, known []watch.Finding) []watch.Finding {
	if digest.Omitted > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(known), func(f watch.Finding) bool {
		fact := d.Watches.Fact(f.Code)
		return f.Severity == diag.Info || slices.ContainsFunc(digest.Findings, func(o target.DigestFinding) bool {
			return o.Code == f.Code || fact != "" && d.Watches.Fact(o.Code) == fact && o.Target == f.Target
		})
	})
}

// endsNow is the time before an end at which it is an error not to have acted.
const endsNow = 7 * 24 * time.Hour

// newEnding marks an end that has passed, or that a finding warns of. Others are far away, or are moved automatically,
// as those of signatures.
func newEnding(e target.End, now time.Time) ending {
	left := e.At.Sub(now)
	switch {
	case left <= 0:
		return ending{e, view.Critical}
	case e.Near && left < endsNow:
		return ending{e, view.Error}
	case e.Near:
		return ending{e, view.Warning}
	}
	return ending{e, view.Good}
}

// areas groups parts, of which those of a group follow each other.
func areas(parts []target.DigestPart) (list []area) {
	titles := map[string]string{target.Mail: "Mail", target.DNS: "DNS and registration", target.Web: "Web"}
	for _, p := range parts {
		title := cmp.Or(titles[p.Group], "Other")
		i := slices.IndexFunc(list, func(a area) bool { return a.Title == title })
		if i < 0 {
			i, list = len(list), append(list, area{Title: title})
		}
		list[i].Parts = append(list[i].Parts, p)
	}
	return list
}

// leftText describes what is still wrong after a step.
func leftText(c target.Counts) string {
	return cmp.Or(view.List(view.TextIf(c.Critical > 0, strconv.Itoa(c.Critical)+" critical"),
		view.TextIf(c.Error > 0, phrase.Count(c.Error, "error")),
		view.TextIf(c.Warning > 0, phrase.Count(c.Warning, "warning"))), "nothing that is known")
}

// After is what is still wrong after all tasks.
func (r *report) After() target.Counts {
	if n := len(r.Tasks); n > 0 {
		return r.Tasks[n-1].Left
	}
	return r.Digest.Counts
}

// A verdict is how a domain is, in a sentence, and how many faults it has.
type verdict struct {
	Mark         view.Mark
	Text, Counts string
}

// Verdict is that of the last check, unless something graver is known.
func (p *domainPage) Verdict() verdict {
	digest, rank := p.Report.Digest, func(m view.Mark) int { return slices.Index(markOrder, m) }
	if digest != nil && digest.Headline != "" {
		found := digest.Counts.Mark()
		if rank(p.Mark) > rank(view.Warning) || rank(p.Mark) >= rank(found) {
			return verdict{cmp.Or(found, p.Mark), digest.Headline, view.TextIf(found != "", leftText(digest.Counts))}
		}
	}
	return verdict{p.Mark, p.summary, severityCounts(p.Watch)}
}
