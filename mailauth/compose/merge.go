package compose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// A told finding is one of a part on its way into the list of the whole.
type told struct {
	diag.Finding
	part *Summary
}

// effect is what the fault does to mail.
func (t *told) effect() Effect { return EffectOf(t.Code, t.Severity) }

// roots name the faults that are told of another: the code of the consequence, and how the codes of its causes begin. A
// consequence is left out where a cause is in the list, which then is as grave as what follows from it.
var roots = map[diag.Code]root{
	"mtasts.tls_rpt.missing":       {causes: []string{"tlsrpt.record.", "tlsrpt.rua."}},
	"tlsrpt.policy.missing":        {causes: []string{"mtasts.record.", "mtasts.policy."}},
	"mtasts.mx.address.missing":    {causes: []string{"mx."}, host: true},
	"spf.mx.address":               {causes: []string{"mx."}, host: true},
	"mtasts.mx.missing":            {causes: []string{"mx."}},
	"mtasts.mx.uncovered":          {causes: []string{"mtasts.mx.undeliverable"}},
	"dnssec.resolver.differs":      {causes: []string{"check.domain.unavailable", "check.lookups.failed"}},
	"mx.host.nonexistent":          {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.address.missing":      {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.address.private":      {causes: []string{"mx.hosts.unreachable"}},
	"dmarc.policy.reject":          {causes: []string{"dmarc.policy.none"}},
	"spf.ip.result":                {causes: []string{"score.spf.address"}},
	"dane.zone.unsigned":           {causes: []string{"dnssec.ds.missing"}},
	"dane.mx.insecure":             {causes: []string{"dnssec.ds.missing"}},
	"dane.dnssec.unknown":          {causes: ours},
	"dane.mx.bogus":                {causes: broken},
	"dane.host.address":            {causes: []string{"mx.host."}, host: true},
	"dane.host.unknown":            {causes: []string{"mx.host."}, host: true},
	"dane.mail.none":               {causes: noMail},
	"smtp.domain.missing":          {causes: []string{"mx.domain.missing"}},
	"smtp.mx.missing":              {causes: noMail},
	"smtp.mx.null":                 {causes: noMail},
	"smtp.mx.implicit":             {causes: []string{"mx.record.implicit"}},
	"smtp.mx.alias":                {causes: []string{"mx.host.alias"}, host: true},
	"smtp.host.missing":            {causes: []string{"mx.host."}, host: true},
	"smtp.host.unknown":            {causes: []string{"mx.host."}, host: true},
	"smtp.address.private":         {causes: []string{"mx.host."}, host: true},
	"smtp.ipv4.missing":            {causes: []string{"mx.ipv4.missing"}},
	"smtp.connection.refused":      {causes: []string{"smtp.servers.unreachable"}},
	"smtp.connection.silent":       {causes: []string{"smtp.servers.unreachable"}},
	"smtp.banner.refused":          {causes: []string{"smtp.servers.unreachable"}},
	"smtp.starttls.missing":        {causes: enforced, host: true},
	"smtp.starttls.refused":        {causes: enforced, host: true},
	"smtp.certificate.expired":     {causes: enforced, host: true},
	"smtp.certificate.early":       {causes: enforced, host: true},
	"smtp.certificate.incomplete":  {causes: enforced, host: true},
	"smtp.certificate.self_signed": {causes: enforced, host: true},
	"smtp.certificate.untrusted":   {causes: enforced, host: true},
	"smtp.certificate.name":        {causes: enforced, host: true},
	"smtp.ptr.missing":             {causes: []string{"check.ptr.missing"}},
	"smtp.ptr.unconfirmed":         {causes: []string{"check.ptr.unconfirmed"}},
	"dane.server.unreachable":      {causes: []string{"smtp.servers.", "smtp.connection.", "smtp.session."}},
	"dane.starttls.missing":        {causes: []string{"smtp.starttls.missing"}, host: true},
	"dane.starttls.failed":         {causes: []string{"smtp.starttls.refused", "smtp.tls.handshake"}, host: true},
	"dane.certificate.name":        {causes: []string{"smtp.certificate.name"}, host: true},
	"dane.certificate.dates":       {causes: []string{"smtp.certificate.expired", "smtp.certificate.early"}, host: true},
	"dane.certificate.expiring":    {causes: []string{"smtp.certificate.expiring"}, host: true},
	"smtp.servers.unreachable":     {causes: []string{"mx.hosts.unreachable"}},
	"bimi.dmarc.missing":           {causes: []string{"dmarc.record."}},
	"bimi.dmarc.invalid":           {causes: []string{"dmarc.record.", "dmarc.policy.value", "dmarc.policy.missing"}},
	"bimi.dmarc.none":              {causes: []string{"dmarc.policy.none"}},
	"bimi.dmarc.subdomains":        {causes: []string{"dmarc.subdomain.weaker"}},
	"bimi.dmarc.percentage":        {causes: []string{"dmarc.policy.sampled"}},
	"bimi.dmarc.testing":           {causes: []string{"dmarc.policy.testing"}},
	"bimi.dmarc.disputed":          {causes: []string{"dmarc.policy.position"}},
	"bimi.spf.open":                {causes: []string{"spf.all.pass"}},

	"mtasts.record.missing.no_mail": {causes: noMail},
	"tlsrpt.record.missing.no_mail": {causes: noMail},
	"bimi.dmarc.percentage.reject":  {causes: []string{"dmarc.policy.sampled"}},
}

// Causes of several consequences.
var (
	enforced = []string{"check.tls.enforced"}

	noMail = []string{"mx.null.present", "mx.record.missing"}
	broken = []string{"dnssec.signature.", "dnssec.ds.", "dnssec.dnskey.", "dnssec.delegation.", "dnssec.denial."}

	// ours are about the resolver of this service: the domain has no part in them, and its owner can do nothing.
	ours = []string{
		"dnssec.resolver.strips", "dnssec.anchor.none", "dnsbl.resolver.rewrites", "dnsbl.answers.refused", "dnsbl.answers.none",
		"dnsbl.answers.few",
	}
)

// A root says where the cause of a fault is told.
type root struct {
	causes []string
	host   bool // the cause must be about the same host
}

// cause finds the finding of the list that tells the cause of this one, the gravest of them; nil if there is none.
func (t *told) cause(list []told) *told {
	r, ok := roots[t.Code]
	if !ok {
		return nil
	}
	var found *told
	for i := range list {
		other := &list[i]
		begins := func(c string) bool { return strings.HasPrefix(string(other.Code), c) }
		if other.Code != t.Code && (!r.host || other.Target == t.Target) && slices.ContainsFunc(r.causes, begins) &&
			(found == nil || other.Severity > found.Severity) {
			found = other
		}
	}
	return found
}

// attribute leaves out the findings whose cause is told, and has the cause say what is graver about them.
func attribute(list []told) []told {
	var kept []bool
	for i := range list {
		cause := list[i].cause(list)
		kept = append(kept, cause == nil)
		if cause != nil && cause.Severity < list[i].Severity && !cause.ours() {
			cause.Severity = list[i].Severity
			cause.Detail += " " + list[i].Title + "."
		}
	}
	var rest []told
	for i, t := range list {
		if kept[i] {
			rest = append(rest, t)
		}
	}
	return rest
}

// lookups are the codes, beside those that end in "record.unknown", of lookups about the domain that failed. They
// nearly always fail together.
var lookups = []diag.Code{
	"dmarc.record.inherited.unknown", "dmarc.mail.unknown", "mtasts.mx.unknown", "dnssec.answer.unavailable",
	"dnssec.ds.unavailable", "mx.lookup.unknown", "smtp.mx.unknown", "mx.domain.address.unknown", "bimi.dmarc.unknown",
	"dane.mx.unknown", "score.address.unknown", "check.part.unavailable", "check.part.timeout",
}

// ours reports whether the finding is about this service, not about the domain.
func (t *told) ours() bool { return slices.Contains(ours, string(t.Code)) }

// failedLookup reports whether the finding is about a lookup that failed.
func (t *told) failedLookup() bool {
	return strings.HasSuffix(string(t.Code), ".record.unknown") || slices.Contains(lookups, t.Code)
}

// merge makes one list of the findings of all parts: none twice, the worst first.
func (w *Whole) merge() []told {
	var all, failed []told
	for _, p := range w.parts() {
		for _, f := range p.Findings {
			t := told{f, p}
			switch {
			case t.ours():
				t.Severity = diag.Info
				all = append(all, t)
			case t.failedLookup():
				failed = append(failed, t)
			default:
				all = append(all, t)
			}
		}
	}
	all = append(all, w.lookups(failed)...)
	list := attribute(all)
	type fact struct {
		code   diag.Code
		detail string
	}
	seen := map[fact]bool{}
	list = slices.DeleteFunc(list, func(t told) bool {
		f := fact{t.Code, t.Detail}
		again := seen[f]
		seen[f] = true
		return again
	})
	slices.SortStableFunc(list, func(a, b told) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.effect(), b.effect()))
	})
	return list
}

// lookups makes one finding of the failed lookups of several parts. Those of one part alone stand for themselves.
func (w *Whole) lookups(failed []told) []told {
	var labels []string
	for _, t := range failed {
		if !slices.Contains(labels, t.part.kind.Label) {
			labels = append(labels, t.part.kind.Label)
		}
	}
	if len(labels) < 2 {
		return failed
	}
	worst := slices.MaxFunc(failed, func(a, b told) int { return cmp.Compare(a.Severity, b.Severity) })
	e := &lookupEvidence{labels: labels, all: !w.known(), detail: worst.Detail}
	s := Summarize(Kind{Code: worst.part.kind.Code, Label: "DNS"}, &lookupReport{wholeRules.Judge(e, partTexts)})
	list := make([]told, 0, 1)
	for _, f := range s.Findings {
		list = append(list, told{f, &s})
	}
	return list
}

// lookupEvidence is what is known about failed lookups of several parts.
type lookupEvidence struct {
	labels []string
	all    bool // nothing at all is known
	detail string
}

func (e *lookupEvidence) list() string {
	last := len(e.labels) - 1
	if last <= 0 {
		return strings.Join(e.labels, "")
	}
	return strings.Join(e.labels[:last], ", ") + " and " + e.labels[last]
}

// lookupReport stands for the report of a part that tells of them.
type lookupReport struct{ diag.Verdict }

func (*lookupReport) Rules() []diag.RuleInfo { return wholeRules.Describe() }

// wholeRules are about what several parts could not learn.
var wholeRules = diag.Rules[*lookupEvidence]{
	{
		Code: "check.domain.unavailable", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "DNS does not answer for the domain",
		Requirement: "The DNS answers for the domain",
		Ref:         "RFC 9520 section 2",
		Advice: "Check that every name server of the domain answers, and its delegation: until then mail to the domain and " +
			"mail from it is deferred.",
		Fails: func(e *lookupEvidence) diag.Failures {
			return diag.FailIf(e.all && len(e.labels) > 1, "Nothing could be examined. %s", e.detail)
		},
	},
	{
		Code: "check.lookups.failed", Severity: diag.Error, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"check.domain.unavailable"},
		Title:       "DNS lookups failed for several parts",
		Requirement: "The DNS answers for all parts",
		Ref:         "RFC 9520 section 2",
		Advice:      "Check that every name server of the domain answers for these names, and try again.",
		Fails: func(e *lookupEvidence) diag.Failures {
			return diag.FailIf(len(e.labels) > 1, "%s could not be examined completely. %s", e.list(), e.detail)
		},
	},
}
