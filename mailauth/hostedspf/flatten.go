package hostedspf

import (
	"context"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// FlattenRequest holds the record to flatten.
type FlattenRequest struct {
	Domain       diag.Domain `json:"domain" doc:"the domain whose senders the record lists"`
	SourceRecord string      `json:"source_record" maxlen:"8192" doc:"the record"`
	IncludeHost  diag.Name   `json:"include_host" doc:"where the flat records are to be published"`
	// Answered means that the bundled name server serves the include host. Terms that do not fit into records can
	// then be published as sets for which it answers address by address.
	Answered bool `json:"answered,omitempty" doc:"whether the bundled name server serves the include host"`
	// Existing means that records of an earlier resolution are published at the include host.
	Existing bool `json:"existing,omitempty" doc:"whether records of an earlier resolution are published"`
}

// FlattenReport holds a flattened record.
type FlattenReport struct {
	// Published holds the records to publish; nil if Error is set.
	Published *Publication `json:"published,omitempty" doc:"what to publish, unless it failed"`
	// DNSLookups are those of the source record, as far as they were seen.
	DNSLookups int    `json:"dns_lookups" min:"0" doc:"terms that need the DNS, behind the source record"`
	Error      string `json:"error,omitempty" doc:"why it failed"`
	Partial    bool   `json:"partial" doc:"whether a name server left a question unanswered"`
	diag.Verdict
}

// Flatten resolves a record into a set of records that authorizes exactly the same addresses, as far as that
// does not depend on the mail, and matches the same mail otherwise. Nothing is flattened unless all that
// the record leads to was seen and is in order: a set with holes would refuse mail.
//
// Limits of receivers do not count for the source record: that it exceeds them may be why it is flattened.
// The error is a *[diag.InputError], or that of the context if it ended.
func Flatten(ctx context.Context, env *diag.Env, req FlattenRequest) (*FlattenReport, error) {
	if err := checkDomain(req.Domain); err != nil {
		return nil, err
	}
	if err := checkSource(req.SourceRecord); err != nil {
		return nil, err
	}
	if err := checkHost("include_host", req.IncludeHost, req.Domain); err != nil {
		return nil, err
	}
	e := evidence{
		domain: req.Domain, source: req.SourceRecord, host: req.IncludeHost.String(), answered: req.Answered,
		existing: req.Existing,
	}
	lookups, cancel := diag.Within(ctx, eval.Timeout)
	defer cancel()
	var g diag.Group
	g.Go(func() { e.own = diag.Lookup[*dns.TXT](lookups, env, req.Domain.FQDN()) })
	var err error
	g.Go(func() { e.tree, err = spf.Walk(ctx, env, req.Domain, req.SourceRecord) })
	g.Wait()
	if err != nil {
		return nil, err
	}
	e.flatten()
	report := &FlattenReport{
		Published: e.published, DNSLookups: e.tree.Root.CumulativeLookups, Verdict: rules.Judge(&e, textsFor(e.existing)),
		Partial: len(e.Unanswered()) > 0,
	}
	report.Error = e.failure()
	return report, nil
}

func checkDomain(d diag.Domain) error {
	switch {
	case d.IsZero():
		return input.Invalid("domain", "is missing")
	case !strings.Contains(d.String(), "."): // RFC 7208 section 4.3
		return input.Invalid("domain", "has one label only, and receivers ask for no SPF record there")
	default:
		return nil
	}
}

func checkSource(record string) error {
	if record == "" {
		return input.Invalid("source_record", "is missing")
	}
	if _, faults := eval.Parse(record); len(faults) > 0 {
		return input.Invalid("source_record", "is not an SPF record: at byte %d, %s", faults[0].Offset, faults[0].Text)
	}
	return nil
}

// maxHost bounds the name of the first record, in bytes, so that a record has room for terms that name two others.
const maxHost = 180

// checkHost rejects invalid names for the first record that a domain refers to.
func checkHost(field string, host diag.Name, domain diag.Domain) error {
	first, _, _ := strings.Cut(host.String(), ".")
	switch {
	case host.IsZero():
		return input.Invalid(field, "is missing")
	case host.String() == "." || strings.HasPrefix(first, "*"):
		return input.Invalid(field, "is not the name of a record of its own")
	case host.String() == domain.String(): // which would then hand over to itself
		return input.Invalid(field, "is the domain itself, whose record is to lead to another name")
	case len(host.String()) > maxHost:
		return input.Invalid(field, "is longer than %d bytes", maxHost)
	default:
		return nil
	}
}

type evidence struct {
	domain   diag.Domain
	source   string
	host     string
	existing bool                  // records of an earlier resolution are published
	answered bool                  // the bundled name server serves the host
	own      diag.Answer[*dns.TXT] // the published record of the domain
	tree     *spf.Tree

	faults    []fault      // of the tree
	outline   outline      // without faults
	unmovable *obstacle    // the term that cannot be moved to another record; nil if all can
	published *Publication // nil if there is a fault, or too much to publish
}

func (e *evidence) flatten() {
	if e.faults = faultsOf(e.tree, e.host); len(e.faults) > 0 {
		return
	}
	e.outline = outlineOf(e.tree)
	if e.unmovable = e.outline.unmovable(); e.unmovable != nil {
		return
	}
	e.published = e.publication()
}

type obstacle struct {
	term string // as it was written
	why  string // the words that follow the term in a sentence
}

func (o *obstacle) String() string { return phrase.Quote(o.term) + " " + o.why }

// unmovable returns the first term that cannot be moved to another record, or nil. The terms are untrusted: names
// with macros may be of any length.
func (o *outline) unmovable() *obstacle {
	const otherwise = "would mean something else in another record"
	if o.relative != nil {
		return &obstacle{o.relative.Raw, otherwise}
	}
	for _, s := range o.kept() {
		record := version + " " + s.text
		if s == o.last {
			record = join(nil, o.ending())
		}
		if _, faults := eval.Parse(record); len(faults) > 0 {
			return &obstacle{s.written, otherwise}
		}
		if len(record) > maxLength {
			return &obstacle{s.written, "is too long for a record that is published"}
		}
	}
	return nil
}

const maxError = 500

func (e *evidence) failure() string {
	var why string
	switch n := len(e.faults); {
	case e.published != nil:
		return ""
	case n > 1:
		why = fmt.Sprintf("%s (and %d more)", e.faults[0].detail, n-1)
	case n == 1:
		why = e.faults[0].detail
	case e.unmovable != nil:
		why = e.unmovable.String()
	default:
		why = e.excess()
	}
	return phrase.Clip(why, maxError)
}

func (e *evidence) excess() string {
	if n := e.keptLookups(); n > 0 {
		return fmt.Sprintf("the flat records need more than %d lookups, %d of them for terms that cannot be flattened",
			maxLookups, n)
	}
	if e.answered {
		return fmt.Sprintf("the addresses need more than %d records, and more than the name server answers for", maxRecords)
	}
	return fmt.Sprintf("the addresses need more than %d records, and the bundled name server, which could answer for "+
		"them one by one, does not serve %s", maxRecords, e.host)
}
