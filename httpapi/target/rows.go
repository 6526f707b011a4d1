package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
)

type row struct {
	group, name string
	mark        view.Mark
	brief       string
	findings    []diag.Finding
	absent      bool // there is nothing to speak of
	idle        bool // there was nothing to examine, which answers nothing
	checks      int  // that share the line, if several do
}

// rows are the parts, those of the check of mail each for itself: groups in the order of a reader, and in each the
// worst first. Parts that have the same to say share a line.
func (w *Whole) rows() []row {
	var list, later []row
	for _, p := range w.Parts {
		whole, ok := p.Report.(*domaincheck.Report)
		switch {
		case errors.Is(p.Err, ErrNothing):
			list = append(list, row{group: p.Group, name: p.Name, mark: view.Optional, brief: p.Err.Error(), idle: true})
		case p.Err != nil:
			list = append(list, row{group: p.Group, name: p.Name, mark: view.Unknown, brief: "not known: " + why(p.Err)})
		case ok:
			mail, signed := mailRows(whole)
			list, later = append(list, mail...), append(later, signed)
		default:
			list = append(list, rowOf(p.Group, p.Name, p.View))
		}
	}
	list = append(list, later...)
	sharedCauses(list)
	groups := []string{Mail, DNS, Web}
	slices.SortStableFunc(list, func(a, b row) int {
		return cmp.Or(slices.Index(groups, a.group)-slices.Index(groups, b.group),
			slices.Index(worstFirst, a.mark)-slices.Index(worstFirst, b.mark))
	})
	return merged(list)
}

var worstFirst = []view.Mark{
	view.Critical, view.Error, view.Warning, view.Unknown, view.Info, view.None, view.Good, view.Optional,
}

func merged(list []row) []row {
	var lines []row
	for _, r := range list {
		alike := func(o row) bool { return o.group == r.group && o.mark == r.mark && o.brief == r.brief }
		if i := slices.IndexFunc(lines, alike); i >= 0 {
			lines[i].checks++
			if lines[i].name += ", " + r.name; lines[i].checks > mostNamed {
				lines[i].name = fmt.Sprintf("%d checks", lines[i].checks)
			}
			continue
		}
		r.checks = 1
		lines = append(lines, r)
	}
	return lines
}

// mostNamed is how many checks a line names.
const mostNamed = 4

// sharedCauses gives rows that fail, or have nothing to say, for one reason the same words, so that it is told once.
func sharedCauses(list []row) {
	gone, lost, bogus := false, false, false
	for _, r := range list {
		gone = gone || r.has("zone.parent.nxdomain") || r.has("check.domain.nxdomain")
		lost = lost || r.has("mx.hosts.unreachable")
		bogus = bogus || r.name == "dnssec" && r.mark == view.Critical
	}
	for i := range list {
		r := &list[i]
		switch {
		case gone && r.name == "servers":
			r.brief = "the domain does not exist"
		case gone && (r.absent && r.name != "registration" || r.only(".nxdomain") || r.name == "reputation"):
			r.mark, r.idle, r.brief = view.Optional, true, "nothing to examine, since the domain does not exist"
		case r.only(".nxdomain"):
			r.brief = "the host does not exist"
		case lost && (r.name == "smtp" || r.name == "dane" && r.mark != view.Good):
			r.mark, r.idle, r.brief = view.Optional, true, "nothing to examine before mx is fixed"
		case r.only(".unknown", ".unanswered", ".unavailable", ".timeout"), bogus && r.mark == view.Unknown:
			if r.mark, r.brief = view.Unknown, "not known: no usable answer"; bogus {
				r.brief = "not known: DNSSEC validation fails"
			}
		case r.absent && r.name == "bimi":
			r.brief = "not set up; optional, and the last to set up"
		case r.absent && r.group == Mail && r.mark != view.Optional:
			r.brief = "not set up"
		}
	}
}

func (r row) has(code diag.Code) bool {
	return slices.ContainsFunc(r.findings, func(f diag.Finding) bool { return f.Code == code })
}

// only reports whether all that was found is of one kind, by how its codes end.
func (r row) only(suffixes ...string) bool {
	return len(r.findings) > 0 && !slices.ContainsFunc(r.findings, func(f diag.Finding) bool {
		return !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(string(f.Code), s) })
	})
}

// why says in a few words why a check said nothing.
func why(err error) string {
	silent, ok := errors.AsType[*diag.UnavailableError](err)
	switch {
	case ok && errors.Is(err, context.DeadlineExceeded):
		return "no answer from " + silent.Asked + " in time"
	case ok:
		return "no usable answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}

// mailRows are the parts of the check of mail, and its part about DNSSEC.
func mailRows(r *domaincheck.Report) (list []row, signed row) {
	s, in := r.Pillars.Sending, r.Pillars.Receiving
	if in.MX != nil {
		list = append(list, partRow("mx", in.MX.Part))
	}
	list = append(list, partRow("spf", s.SPF))
	for _, k := range s.DKIM {
		r := partRow("dkim", &k.Part)
		if k.Selector != "" && !strings.Contains(r.brief, k.Selector) {
			r.brief = k.Selector + ": " + r.brief
		}
		list = append(list, r)
	}
	list = append(list, partRow("dmarc", s.DMARC))
	if in.SMTP.State != "" {
		list = append(list, partRow("smtp", &in.SMTP))
	}
	list = append(list, partRow("mta-sts", in.MTASTS), partRow("tls-rpt", in.TLSRPT), partRow("dane", in.DANE),
		partRow("bimi", s.BIMI))
	signed = partRow("dnssec", r.Pillars.Integrity.DNSSEC)
	signed.group = DNS
	return list, signed
}

// partRow shows a part by its report, or where there is none by its summary.
func partRow[R any](name string, p *compose.Part[R]) row {
	switch {
	case p == nil:
		return row{group: Mail, name: name, mark: view.Unknown, brief: "not known: it was not examined"}
	case p.Result != nil:
		return rowOf(Mail, name, httpapi.View(p.Result))
	}
	s := &p.Summary
	v := &view.View{State: s.State, Headline: s.Headline, Brief: s.Headline}
	v.Judged(s.Findings)
	return rowOf(Mail, name, v)
}

func rowOf(group, name string, v *view.View) row {
	return row{group: group, name: name, mark: v.Mark(), brief: cmp.Or(v.Brief, v.Headline), findings: v.Findings,
		absent: v.State == diag.Missing || v.Optional}
}
