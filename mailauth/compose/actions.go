package compose

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/nameuse"
)

var valueKinds = []struct {
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

// dormantTLSA has no effect today, but causes loss of mail once its gate is opened.
const dormantTLSA = "dane.tlsa.dormant"

// recommendations returns the recommendations for the findings, in their order: each advice once, and only where action
// is needed.
func (c *Composite) recommendations(list []finding) []diag.Recommendation {
	recommendations := []diag.Recommendation{}
	advised, valued := map[string]bool{"": true}, map[string]bool{}
	for _, f := range list {
		if advised[f.Advice] || f.Severity == diag.Info && (c.allGood(list) || f.Optional) {
			continue
		}
		advised[f.Advice] = true
		r := diag.Recommendation{Code: f.Code, Priority: priority(f.Severity), Title: f.Title, Detail: f.Advice}
		if instead := adviceWhereMailIsSent[f.Code]; c.Sends && instead != "" {
			r.Detail = instead
		} else if first := c.blockedBy(&f); first != nil {
			r.Detail = "Fix " + first.kind.Label + " first. Then: " + lowerFirst(f.Advice)
		} else if c.aboutAlias(&f) {
			r.Detail = "At " + c.Name.AliasOf + ", the target of this alias: " + lowerFirst(f.Advice)
		} else if value := c.suggestedValue(&f); value != "" && c.gatesSettled(&f) {
			if key := kindOf(value) + " " + f.part.Target(); !valued[key] {
				valued[key] = true
				r.SuggestedValue = value
			}
		}
		recommendations = append(recommendations, r)
	}
	return recommendations
}

// adviceWhereMailIsSent is the advice for a domain that receives no mail and seems to send some, such as one for
// newsletters: the parts, which see only that it receives none, would have its mail refused.
var adviceWhereMailIsSent = map[diag.Code]string{
	"spf.record.missing.no_mail": "List every host and service that sends mail of the domain in an SPF record: it has a " +
		"DKIM key, so that it seems to send mail although it receives none. Publish v=spf1 -all only if it sends none.",
	"dmarc.record.missing.no_mail": "Publish v=DMARC1; p=none with a report address (rua) that receives mail: the " +
		"domain seems to send mail although it receives none. Move to p=reject once the reports show that all of it " +
		"passes, or if it sends none.",
}

// A blocker is a fault that must be fixed before an advice may be followed.
type blocker struct {
	kind       Kind
	code       diag.Code
	ttlSeconds int64 // how long resolvers keep what the fault is about, in seconds
}

// blockedBy returns what to fix before the advice may be followed, see gates; nil if nothing.
func (c *Composite) blockedBy(f *finding) *blocker {
	for _, kind := range gates[f.Code] {
		for _, p := range c.Parts {
			unsigned := func(f diag.Finding) bool { return f.Code == "check.dkim.none" || f.Code == dormantTLSA }
			i := slices.IndexFunc(p.Findings, unsigned)
			if p.kind != kind || i < 0 && !p.Fails() && !p.hasWeakTLS() {
				continue
			}
			return &blocker{kind, p.Findings[max(i, 0)].Code, p.ttlSeconds}
		}
	}
	return nil
}

// gatesSettled reports whether no gate of the advice may hide an unseen error.
func (c *Composite) gatesSettled(f *finding) bool {
	return !slices.ContainsFunc(c.Parts, func(s WeightedPart) bool {
		return slices.Contains(gates[f.Code], s.kind) && !s.settled()
	})
}

// hasWeakTLS reports whether the part has seen a mail server that senders refuse once they must encrypt (RFC 8461
// section 4.2), which is but a warning as long as they need not.
func (s *Summary) hasWeakTLS() bool {
	return slices.ContainsFunc(s.Findings, func(f diag.Finding) bool {
		code := string(f.Code)
		return f.Severity >= diag.Warning && f.Code != "smtp.certificate.expiring" &&
			(strings.HasPrefix(code, "smtp.certificate.") || strings.HasPrefix(code, "smtp.starttls.") ||
				strings.HasPrefix(code, "smtp.tls."))
	})
}

// aboutAlias reports whether a finding is about records found through an alias: nothing can be published at the name
// itself (RFC 1034 section 3.6.2).
func (c *Composite) aboutAlias(f *finding) bool {
	return c.Name.Kind == nameuse.Alias && (f.part.kind == SPF || f.part.kind == MX || f.part.kind == nameKind)
}

// suggestedValue returns the value that the part suggests publishing for a finding, if the composite can pass it on.
func (c *Composite) suggestedValue(f *finding) string {
	for _, r := range f.part.verdict.Recommendations {
		if r.Code != f.Code || r.Detail != f.Advice || r.SuggestedValue == "" {
			continue
		}
		kind := kindOf(r.SuggestedValue)
		if c.Name.Kind == nameuse.Reserved || c.Name.Kind == nameuse.PublicSuffix {
			return ""
		}
		if kind != "" && f.part.kind != nameKind && (kind != f.part.kind.Code || f.part.foreign) ||
			c.Withhold != nil && c.Withhold(r.SuggestedValue) {
			return ""
		}
		return r.SuggestedValue
	}
	return ""
}

func kindOf(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	for _, o := range valueKinds {
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

type causeRule struct {
	causes       []string
	sameHost     bool // the cause must be about the same host
	criticalOnly bool // the cause must be critical: from a lesser one it does not follow
}

// causesOf maps the code of a consequence to the code prefixes of its causes. A consequence is left out if the list has
// a cause of the same severity or a higher one. An info causes nothing but infos.
var causesOf = map[diag.Code]causeRule{
	"mtasts.tls_rpt.missing":        {causes: []string{"tlsrpt.record.", "tlsrpt.rua."}},
	"mtasts.mx.address":             {causes: []string{"mx.host."}, sameHost: true},
	"mtasts.mx.literal":             {causes: []string{"mx.host.literal"}, sameHost: true},
	"mtasts.mx.missing":             {causes: []string{"mx.record."}},
	"mtasts.mx.uncovered":           {causes: []string{"mtasts.mx.undeliverable"}},
	"mtasts.mx.undeliverable":       {causes: []string{"mx.hosts.unreachable"}}, // which hosts exist comes first
	"mtasts.mx.unknown":             {causes: []string{"mx.host.unknown"}, sameHost: true},
	"mtasts.record.missing.no_mail": {causes: noMail},

	"tlsrpt.policy.missing":         {causes: []string{"mtasts.record.", "mtasts.policy."}},
	"tlsrpt.record.missing.no_mail": {causes: noMail},

	"spf.ip.result": {causes: []string{"score.spf.", "spf.record.missing"}},

	"score.address.unknown": {causes: []string{"spf.tree.unknown"}},

	"check.domain.unavailable": {causes: dnssecFaults, criticalOnly: true},
	"check.lookups.failed":     {causes: dnssecFaults, criticalOnly: true},

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

	"dane.dnssec.unknown":       {causes: resolverCodes},
	"dane.mx.bogus":             {causes: dnssecFaults, criticalOnly: true},
	"dane.host.address":         {causes: []string{"mx.host."}, sameHost: true},
	"dane.host.unknown":         {causes: []string{"mx.host."}, sameHost: true},
	"dane.mail.none":            {causes: noMail},
	"dane.server.unreachable":   {causes: []string{"smtp.servers.", "smtp.connection.", "smtp.session."}},
	"dane.starttls.missing":     {causes: []string{"smtp.starttls.missing"}, sameHost: true},
	"dane.starttls.failed":      {causes: []string{"smtp.starttls.refused", "smtp.tls.handshake"}, sameHost: true},
	"dane.certificate.name":     {causes: []string{"smtp.certificate.name"}, sameHost: true},
	"dane.certificate.dates":    {causes: []string{"smtp.certificate.expired", "smtp.certificate.early"}, sameHost: true},
	"dane.certificate.expiring": {causes: []string{"smtp.certificate.expiring"}, sameHost: true},

	"smtp.domain.nxdomain":         {causes: []string{"mx.domain.nxdomain"}},
	"smtp.mx.missing":              {causes: noMail},
	"smtp.mx.null":                 {causes: noMail},
	"smtp.mx.implicit":             {causes: []string{"mx.record.implicit"}},
	"smtp.mx.implicit.unknown":     {causes: []string{"mx.record.implicit"}},
	"smtp.mx.literal":              {causes: []string{"mx.host.literal"}, sameHost: true},
	"smtp.mx.alias":                {causes: []string{"mx.host.alias"}, sameHost: true},
	"smtp.host.address":            {causes: []string{"mx.host."}, sameHost: true},
	"smtp.hosts.literal":           {causes: []string{"mx.hosts.unreachable"}},
	"smtp.hosts.nxdomain":          {causes: []string{"mx.hosts.unreachable"}},
	"smtp.hosts.address":           {causes: []string{"mx.hosts.unreachable"}},
	"smtp.hosts.blocked":           {causes: []string{"mx.hosts.unreachable"}},
	"smtp.host.unknown":            {causes: []string{"mx.host."}, sameHost: true},
	"smtp.address.private":         {causes: []string{"mx.host."}, sameHost: true},
	"smtp.ipv4.missing":            {causes: []string{"mx.ipv4.missing"}},
	"smtp.connection.refused":      {causes: []string{"smtp.servers.unreachable"}},
	"smtp.connection.silent":       {causes: []string{"smtp.servers.unreachable"}},
	"smtp.banner.refused":          {causes: []string{"smtp.servers.unreachable"}},
	"smtp.starttls.missing":        {causes: enforcedTLS, sameHost: true},
	"smtp.starttls.refused":        {causes: enforcedTLS, sameHost: true},
	"smtp.certificate.expired":     {causes: enforcedTLS, sameHost: true},
	"smtp.certificate.early":       {causes: enforcedTLS, sameHost: true},
	"smtp.certificate.incomplete":  {causes: enforcedTLS, sameHost: true},
	"smtp.certificate.self_signed": {causes: enforcedTLS, sameHost: true},
	"smtp.certificate.untrusted":   {causes: enforcedTLS, sameHost: true},
	"smtp.certificate.name":        {causes: enforcedTLS, sameHost: true},
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

// Follows reports whether a fault is left out of a composite if another one is reported.
func Follows(consequence, cause diag.Code) bool {
	return slices.ContainsFunc(causesOf[consequence].causes,
		func(begin string) bool { return strings.HasPrefix(string(cause), begin) })
}

var (
	enforcedTLS = []string{"mtasts.mx.certificate.", "mtasts.mx.starttls", "mtasts.mx.handshake"}

	noMail       = []string{"mx.null.present", "mx.record.missing"}
	dnssecFaults = []string{"dnssec.signature.", "dnssec.ds.", "dnssec.dnskey.", "dnssec.delegation.", "dnssec.denial."}

	// resolverCodes concern the resolver of this service: they are not caused by the domain, and its owner cannot fix
	// them.
	resolverCodes = []string{"dnssec.resolver.strips", "dnssec.anchor.none", "dnsbl.resolver.rewrites",
		"dnsbl.answers.refused",
		"dnsbl.answers.none", "dnsbl.answers.few"}
)
