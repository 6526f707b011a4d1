package bimi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/logo"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

// fetched holds what the URIs of a record served; each is nil if it was not requested, or has no usable URI.
type fetched struct {
	record *record.Record
	logo   *logo.Fetched
	mark   *markcert.LookupReport
}

// fetch fetches logo and certificate of the record at a place concurrently. The error is that of the context, or that
// of a list of authorities that cannot be read.
func fetch(ctx context.Context, env *diag.Env, req LookupRequest, d *record.Discovery, p *record.Place) (fetched,
	error) {
	if p == nil || p.Record == nil {
		return fetched{}, nil
	}
	f := fetched{record: p.Record}
	var failures [2]error
	var g diag.Group
	if l := p.Record.Location; l.Usable() && orTrue(req.FetchLogo) {
		g.Go(func() { f.logo, failures[0] = logo.Fetch(ctx, env, l.URL) })
	}
	if a := p.Record.Authority; a.Usable() && orTrue(req.FetchCertificate) {
		at := &markcert.Place{Domain: p.Domain, Organizational: d.Organizational(), Selector: d.Selector.String()}
		g.Go(func() { f.mark, failures[1] = markcert.Check(ctx, env, a.URL, at) })
	}
	g.Wait()
	return f, cmp.Or(failures[:]...)
}

func orTrue(b *bool) bool { return b == nil || *b }

func (e *evidence) setFetched(f fetched) {
	e.fetched = f
	if f.logo != nil {
		e.logo = newPart(f.logo.Verdict(), (*logo.Report).Rules(nil))
	}
	if f.mark == nil {
		return
	}
	e.mark = newPart(f.mark.Verdict, f.mark.Rules())
	if c := f.mark.Certificate; f.logo != nil && f.logo.Image != nil && c.LogoSHA256 != "" {
		e.matches = new(sha256Hex(f.logo.Image) == c.LogoSHA256)
		e.lineEnds = !*e.matches && slices.Contains(otherLineEnds(f.logo.Image), c.LogoSHA256)
	}
}

func sha256Hex(image []byte) string { return fmt.Sprintf("%x", sha256.Sum256(image)) }

// otherLineEnds are the sums of an image with the line ends of other systems, and with or without one at its end:
// version control and editors change them.
func otherLineEnds(image []byte) []string {
	unix := bytes.ReplaceAll(image, []byte("\r\n"), []byte("\n"))
	bare := bytes.TrimRight(unix, "\n")
	var list []string
	for _, text := range [][]byte{unix, bare, append(slices.Clone(bare), '\n')} {
		list = append(list, sha256Hex(text), sha256Hex(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))))
	}
	return list
}

// A part is a summary of the report on the logo or the certificate, which is included as well.
type part struct {
	diag.Text
	findings [3][]diag.Finding
}

// The findings of a part: ignorance, what keeps receivers from showing a logo, and what may do so.
const (
	ignorance = iota
	faults
	weaknesses
)

// newPart sorts the findings of a report.
func newPart(v diag.Verdict, infos []rule.Description) *part {
	p := &part{Text: v.Text()}
	for _, f := range v.Findings {
		unanswered := func(r rule.Description) bool { return r.Code == f.Code && r.State == diag.Unknown }
		kind := weaknesses
		switch {
		case f.Severity == diag.Info:
			continue
		case slices.ContainsFunc(infos, unanswered):
			kind = ignorance
		case f.Severity >= diag.Error:
			kind = faults
		}
		p.findings[kind] = append(p.findings[kind], f)
	}
	return p
}

// partRules complete three rules of a part: about ignorance, about what is broken, and about what has a weakness.
func partRules(of func(*evidence) *part, rules ...rule.Rule[*evidence]) rule.Rules[*evidence] {
	for kind := range rules {
		rules[kind].Fails = func(e *evidence) rule.Failures { return mergeFindings(of(e).findings[kind]) }
		rules[kind].When = func(e *evidence) bool {
			p := of(e)
			return p != nil && (kind == ignorance || len(p.findings[ignorance]) == 0 || len(p.findings[kind]) > 0)
		}
	}
	return rules
}

// mergeFindings merges the findings of a part into one: the report of the part lists each.
func mergeFindings(findings []diag.Finding) rule.Failures {
	titles := make([]string, 0, len(findings))
	list := rule.FailEach(findings, func(f diag.Finding) rule.Failures {
		titles = append(titles, strings.TrimSuffix(f.Title, "."))
		return rule.Failures{{Detail: f.Detail, Target: f.Target, Location: f.Location, Advice: f.Advice}}
	})
	return list.Together("%d faults, the gravest first: %s.", len(list), strings.Join(titles, "; "))
}
