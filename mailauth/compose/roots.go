package compose

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

type root struct {
	causes []string
	host   bool // the cause must be about the same host
	grave  bool // the cause must be critical: from a lesser one it does not follow
}

// roots name the faults that are told of another: the code of the consequence, and how the codes of its causes begin. A
// consequence is left out where a cause is in the list that is as grave. An info causes nothing but infos.
var roots = map[diag.Code]root{
	"mtasts.tls_rpt.missing":        {causes: []string{"tlsrpt.record.", "tlsrpt.rua."}},
	"mtasts.mx.address":             {causes: []string{"mx.host."}, host: true},
	"mtasts.mx.literal":             {causes: []string{"mx.host.literal"}, host: true},
	"mtasts.mx.missing":             {causes: []string{"mx.record."}},
	"mtasts.mx.uncovered":           {causes: []string{"mtasts.mx.undeliverable"}},
	"mtasts.mx.undeliverable":       {causes: []string{"mx.hosts.unreachable"}}, // first comes which hosts there are
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

	"mx.host.nxdomain": {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.address":  {causes: []string{"mx.hosts.unreachable"}},
	"mx.host.blocked":  {causes: []string{"mx.hosts.unreachable"}},

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
	"smtp.mx.alias":                {causes: []string{"mx.host.alias"}, host: true},
	"smtp.host.address":            {causes: []string{"mx.host."}, host: true},
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

// Causes of several consequences.
var (
	enforced = []string{"mtasts.mx.certificate.", "mtasts.mx.starttls", "mtasts.mx.handshake"}

	noMail = []string{"mx.null.present", "mx.record.missing"}
	broken = []string{"dnssec.signature.", "dnssec.ds.", "dnssec.dnskey.", "dnssec.delegation.", "dnssec.denial."}

	// ours are about the resolver of this service: the domain has no part in them, and its owner can do nothing.
	ours = []string{"dnssec.resolver.strips", "dnssec.anchor.none", "dnsbl.resolver.rewrites", "dnsbl.answers.refused",
		"dnsbl.answers.none", "dnsbl.answers.few"}
)
