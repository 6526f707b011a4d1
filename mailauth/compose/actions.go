package compose

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/nameuse"
)

var owners = []struct {
	prefix string
	kind   Kind
}{
	{"v=spf1", SPF}, {"v=dkim1", DKIM}, {"v=dmarc1", DMARC}, {"v=bimi1", BIMI}, {"v=stsv1", MTASTS},
	{"version: stsv1", MTASTS}, {"v=tlsrptv1", TLSRPT},
}

// gates are the parts that must work before a stricter policy is published: mail that they break is lost from then on.
// While a gate is closed the value to publish is withheld, and the advice names what to fix first.
var gates = map[diag.Code][]Kind{
	"dmarc.policy.none":           {SPF, DKIM},
	"dmarc.policy.reject":         {SPF, DKIM},
	"dmarc.policy.testing":        {SPF, DKIM},
	"dmarc.policy.sampled":        {SPF, DKIM},
	"dmarc.subdomain.weaker":      {SPF, DKIM},
	"mtasts.policy.mode.testing":  {MX, SMTP},
	"mtasts.policy.mode.none":     {MX, SMTP},
	"mtasts.policy.max_age.short": {MX, SMTP},
	"dnssec.ds.missing":           {DANE},
	"dnssec.ds.island":            {DANE},
}

// dormant has no effect today, but causes loss of mail once its gate is opened.
const dormant = "dane.tlsa.dormant"

const nothing = "Leave it"

// actions returns the recommendations for the findings, in their order: each advice once, and only where action is
// needed.
func (w *Whole) actions(list []told) []diag.Recommendation {
	recommendations := []diag.Recommendation{}
	advised, valued := map[string]bool{"": true}, map[string]bool{}
	for _, t := range list {
		if advised[t.Advice] || t.Severity == diag.Info && (w.done(list) || strings.HasPrefix(t.Advice, nothing)) {
			continue
		}
		advised[t.Advice] = true
		r := diag.Recommendation{Code: t.Code, Priority: priority(t.Severity), Title: t.Title, Detail: t.Advice}
		if instead := adviceWhereMailIsSent[t.Code]; w.Sends && instead != "" {
			r.Detail = instead
		} else if first := w.first(&t); first != nil {
			r.Detail = "Fix " + first.kind.Label + " first. Then: " + lowerFirst(t.Advice)
		} else if w.elsewhere(&t) {
			r.Detail = "At " + w.Name.AliasOf + ", of which the name is an alias: " + lowerFirst(t.Advice)
		} else if value := w.value(&t); value != "" && w.cleared(&t) {
			if key := kindOf(value) + " " + t.part.Target(); !valued[key] {
				valued[key] = true
				r.SuggestedValue = value
			}
		}
		recommendations = append(recommendations, r)
	}
	return recommendations
}

// adviceWhereMailIsSent is the advice for a domain that receives no mail and seems to send some, such as one for newsletters: the
// parts, which see only that it receives none, would have its mail refused.
var adviceWhereMailIsSent = map[diag.Code]string{
	"spf.record.missing.no_mail": "List every host and service that sends mail of the domain in an SPF record: it has a DKIM " +
		"key, so that it seems to send mail although it receives none. Publish v=spf1 -all only if it sends none.",
	"dmarc.record.missing.no_mail": "Publish v=DMARC1; p=none with a report address (rua) that receives mail: the domain seems " +
		"to send mail although it receives none. Move to p=reject once the reports show that all of it passes, or if it sends none.",
}

// A blocker is a fault that must be fixed before an advice may be followed.
type blocker struct {
	kind Kind
	code diag.Code
	held int64 // how long resolvers keep what the fault is about, in seconds
}

// first returns what to fix before the advice may be followed, see gates; nil if nothing.
func (w *Whole) first(t *told) *blocker {
	for _, kind := range gates[t.Code] {
		for _, p := range w.Parts {
			unsigned := func(f diag.Finding) bool { return f.Code == "check.dkim.none" || f.Code == dormant }
			i := slices.IndexFunc(p.Findings, unsigned)
			if p.kind != kind || i < 0 && !p.Fails() && !p.weakTLS() {
				continue
			}
			return &blocker{kind, p.Findings[max(i, 0)].Code, p.held}
		}
	}
	return nil
}

// cleared reports whether no gate of the advice may hide an unseen error.
func (w *Whole) cleared(t *told) bool {
	return !slices.ContainsFunc(w.Parts, func(s WeightedPart) bool {
		return slices.Contains(gates[t.Code], s.kind) && !s.settled()
	})
}

// weakTLS reports whether the part has seen a mail server that senders refuse once they must encrypt (RFC 8461
// section 4.2), which is but a warning as long as they need not.
func (s *Summary) weakTLS() bool {
	return slices.ContainsFunc(s.Findings, func(f diag.Finding) bool {
		code := string(f.Code)
		return f.Severity >= diag.Warning && f.Code != "smtp.certificate.expiring" &&
			(strings.HasPrefix(code, "smtp.certificate.") || strings.HasPrefix(code, "smtp.starttls.") || strings.HasPrefix(code, "smtp.tls."))
	})
}

// elsewhere reports whether a finding is about records found through an alias: nothing can be published at the name
// itself (RFC 1034 section 3.6.2).
func (w *Whole) elsewhere(t *told) bool {
	return w.Name.Kind == nameuse.Alias && (t.part.kind == SPF || t.part.kind == MX || t.part.kind == nameKind)
}

// value returns the value that the part suggests publishing for a finding, if the whole can pass it on.
func (w *Whole) value(t *told) string {
	for _, r := range t.part.verdict.Recommendations {
		if r.Code != t.Code || r.Detail != t.Advice || r.SuggestedValue == "" {
			continue
		}
		kind := kindOf(r.SuggestedValue)
		if w.Name.Kind == nameuse.Reserved || w.Name.Kind == nameuse.PublicSuffix {
			return ""
		}
		if kind != "" && t.part.kind != nameKind && (kind != t.part.kind.Code || t.part.foreign) ||
			w.Withhold != nil && w.Withhold(r.SuggestedValue) {
			return ""
		}
		return r.SuggestedValue
	}
	return ""
}

func kindOf(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	for _, o := range owners {
		if strings.HasPrefix(value, o.prefix) {
			return o.kind.Code
		}
	}
	return ""
}

func lowerFirst(s string) string {
	if len(s) > 1 && 'A' <= s[0] && s[0] <= 'Z' && ('a' <= s[1] && s[1] <= 'z' || s[1] == ' ') {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

func priority(s diag.Severity) diag.Priority {
	switch {
	case s >= diag.Error:
		return diag.High
	case s == diag.Warning:
		return diag.Medium
	default:
		return diag.Low
	}
}

type root struct {
	causes []string
	host   bool // the cause must be about the same host
	grave  bool // the cause must be critical: from a lesser one it does not follow
}

// roots maps the code of a consequence to the code prefixes of its causes. A consequence is left out if the list has a
// cause of the same severity or a higher one. An info causes nothing but infos.
var roots = map[diag.Code]root{
	"mtasts.tls_rpt.missing":        {causes: []string{"tlsrpt.record.", "tlsrpt.rua."}},
	"mtasts.mx.address":             {causes: []string{"mx.host."}, host: true},
	"mtasts.mx.literal":             {causes: []string{"mx.host.literal"}, host: true},
	"mtasts.mx.missing":             {causes: []string{"mx.record."}},
	"mtasts.mx.uncovered":           {causes: []string{"mtasts.mx.undeliverable"}},
	"mtasts.mx.undeliverable":       {causes: []string{"mx.hosts.unreachable"}}, // which hosts exist comes first
	"mtasts.mx.unknown":             {causes: []string{"mx.host.unknown"}, host: true},
	"mtasts.record.missing.no_mail": {causes: noMail},

	"tlsrpt.policy.missing":         {causes: []string{"mtasts.record.", "mtasts.policy."}},
	"tlsrpt.record.missing.no_mail": {causes: noMail},

	"spf.ip.result": {causes: []string{"score.spf.", "spf.record.missing"}},

	"score.address.unknown": {causes: []string{"spf.tree.unknown"}},

	"check.domain.unavailable": {causes: broken, grave: true},
	"check.lookups.failed":     {causes: broken, grave: true},

	"dnssec.ds.missing":       {causes: []string{"dane.mx.insecure"}},
	"dnssec.resolver.differs": {causes: []string{"check.domain.unavailable", "check.lookups.failed"}},

	"mx.host.literal":    {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.nxdomain":   {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.address":    {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.blocked":    {causes: []string{"mx.hosts.unreachable"}},
	"mx.record.implicit": {causes: []string{"smtp.mx.unused", "name.null_mx.missing"}},

	"smtp.mx.unused": {causes: []string{"name.null_mx.missing"}},

	"dmarc.policy.none":   {causes: []string{"name.policy.organization"}},
	"dmarc.policy.reject": {causes: []string{"dmarc.policy.none"}},

	"dane.dnssec.unknown":       {causes: ours},
	"dane.mx.bogus":             {causes: broken, grave: true},
	"dane.host.address":         {causes: []string{"mx.host."}, host: true},
	"dane.host.unknown":         {causes: []string{"mx.host."}, host: true},
	"dane.mail.none":            {causes: noMail},
	"dane.server.unreachable":   {causes: []string{"smtp.servers.", "smtp.connection.", "smtp.session."}},
	"dane.starttls.missing":     {causes: []string{"smtp.starttls.missing"}, host: true},
	"dane.starttls.failed":      {causes: []string{"smtp.starttls.refused", "smtp.tls.handshake"}, host: true},
	"dane.certificate.name":     {causes: []string{"smtp.certificate.name"}, host: true},
	"dane.certificate.dates":    {causes: []string{"smtp.certificate.expired", "smtp.certificate.early"}, host: true},
	"dane.certificate.expiring": {causes: []string{"smtp.certificate.expiring"}, host: true},

	"smtp.domain.nxdomain":         {causes: []string{"mx.domain.nxdomain"}},
	"smtp.mx.missing":              {causes: noMail},
	"smtp.mx.null":                 {causes: noMail},
	"smtp.mx.implicit":             {causes: []string{"mx.record.implicit"}},
	"smtp.mx.implicit.unknown":     {causes: []string{"mx.record.implicit"}},
	"smtp.mx.literal":              {causes: []string{"mx.host.literal"}, host: true},
	"smtp.mx.alias":                {causes: []string{"mx.host.alias"}, host: true},
	"smtp.host.address":            {causes: []string{"mx.host."}, host: true},
	"smtp.hosts.literal":           {causes: []string{"mx.hosts.unreachable"}},
	"smtp.hosts.nxdomain":          {causes: []string{"mx.hosts.unreachable"}},
	"smtp.hosts.address":           {causes: []string{"mx.hosts.unreachable"}},
	"smtp.hosts.blocked":           {causes: []string{"mx.hosts.unreachable"}},
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
	"smtp.servers.unreachable":     {causes: []string{"mx.hosts.unreachable"}},

	"bimi.dmarc.missing":           {causes: []string{"dmarc.record."}},
	"bimi.dmarc.invalid":           {causes: []string{"dmarc.record.", "dmarc.policy.value", "dmarc.policy.missing"}},
	"bimi.dmarc.none":              {causes: []string{"dmarc.policy.none"}},
	"bimi.dmarc.subdomains":        {causes: []string{"dmarc.subdomain.weaker"}},
	"bimi.dmarc.percentage":        {causes: []string{"dmarc.policy.sampled"}},
	"bimi.dmarc.testing":           {causes: []string{"dmarc.policy.testing"}},
	"bimi.dmarc.disputed":          {causes: []string{"dmarc.policy.position"}},
	"bimi.spf.open":                {causes: []string{"spf.all.pass"}},
	"bimi.dmarc.percentage.reject": {causes: []string{"dmarc.policy.sampled"}},
}

// Follows reports whether a fault is left out of a whole if another one is reported.
func Follows(consequence, cause diag.Code) bool {
	return slices.ContainsFunc(roots[consequence].causes, func(begin string) bool { return strings.HasPrefix(string(cause), begin) })
}

var (
	enforced = []string{"mtasts.mx.certificate.", "mtasts.mx.starttls", "mtasts.mx.handshake"}

	noMail = []string{"mx.null.present", "mx.record.missing"}
	broken = []string{"dnssec.signature.", "dnssec.ds.", "dnssec.dnskey.", "dnssec.delegation.", "dnssec.denial."}

	// ours concern the resolver of this service: they are not caused by the domain, and its owner cannot fix them.
	ours = []string{"dnssec.resolver.strips", "dnssec.anchor.none", "dnsbl.resolver.rewrites", "dnsbl.answers.refused",
		"dnsbl.answers.none", "dnsbl.answers.few"}
)
