package target

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// An effect is the consequence of findings, in words for readers who are not experts. "{it}" is replaced by what was
// examined. The consequences for a domain's mail are not here: they follow from the use of its name, see
// [Whole.mailEffects].
type effect struct {
	topic string // of several about one, only the gravest is shown
	text  string
	codes []diag.Code
}

// effects are ordered by their impact on a user.
var effects = []effect{
	{"exists", "{it} does not exist", []diag.Code{
		"zone.parent.nxdomain", "check.domain.nxdomain", "url.host.nxdomain",
	}},
	{"reach", "nobody can find {it}: none of its name servers answers for it", []diag.Code{
		"zone.delegation.cyclic", "zone.delegation.lame", "zone.delegation.unreachable", "zone.glue.none",
	}},
	{"reach", "{it} is switched off, since its registration has ended", []diag.Code{
		"rdap.expiry.passed", "rdap.status.deletion", "rdap.status.hold",
	}},
	{"reach", "everyone whose provider checks DNSSEC is kept from {it}", []diag.Code{
		"dnssec.alias.long", "dnssec.alias.loop", "dnssec.anchor.mismatch", "dnssec.answer.contradictory",
		"dnssec.delegation.unproven", "dnssec.denial.contradicted", "dnssec.denial.incomplete",
		"dnssec.denial.missing", "dnssec.dname.mismatch", "dnssec.dnskey.missing", "dnssec.dnskey.signer",
		"dnssec.dnskey.unusable", "dnssec.ds.mismatch", "dnssec.ds.revoked", "dnssec.ds.wildcard",
		"dnssec.signature.early", "dnssec.signature.expired", "dnssec.signature.invalid",
		"dnssec.signature.key_missing", "dnssec.signature.labels", "dnssec.signature.missing",
		"dnssec.signature.period", "dnssec.signature.signer", "dnssec.signature.unsupported",
		"dnssec.wildcard.unproven", "dnssec.work.exceeded", "zone.dnssec.dnskey.signer", "zone.dnssec.ds.mismatch",
		"zone.dnssec.signature.expired", "zone.dnssec.signature.future", "zone.dnssec.signature.invalid",
		"zone.dnssec.unsigned",
	}},
	{"reach", "the name servers of {it} do not answer", []diag.Code{
		"check.lookups.failed", "check.domain.unavailable",
	}},
	{"receive", "nobody can send mail to {it}", []diag.Code{
		"mx.hosts.unreachable", "smtp.servers.unreachable", "smtp.hosts.literal", "smtp.hosts.nxdomain",
		"smtp.hosts.address", "smtp.hosts.blocked",
	}},
	{"relay", "strangers can send spam through the mail server of {it}", []diag.Code{
		"smtp.relay.open",
	}},
	{"listed", "receivers reject mail from {it} because its address is on blocklists", []diag.Code{
		"dnsbl.listed.decisive", "dnsbl.listed.major", "dnsbl.listed.many", "dnsbl.listed.several",
	}},
	{"web", "browsers warn visitors away from {it}", []diag.Code{
		"tls.certificate.expired", "tls.certificate.early", "tls.certificate.name", "tls.chain.self_signed",
		"tls.chain.untrusted", "tls.chain.expired", "tls.chain.invalid", "tls.ocsp.revoked", "url.certificate.early",
		"url.certificate.expired", "url.certificate.name", "url.certificate.untrusted",
		"headers.site.certificate.early", "headers.site.certificate.expired", "headers.site.certificate.name",
		"headers.site.certificate.untrusted",
	}},
	{"web", "visitors cannot reach the website of {it}", []diag.Code{
		"tls.host.connection", "tls.host.handshake", "headers.site.connection", "headers.site.handshake",
		"url.redirect.loop", "url.redirect.loop.cookie", "headers.redirect.endless", "hsts.https.locked_out",
	}},
	{"web", "browsers will warn visitors away from {it} within days", []diag.Code{
		"tls.certificate.expires_now", "url.certificate.expires_now",
	}},
	{"ends", "the registration of {it} is about to end", []diag.Code{
		"rdap.expiry.expires_now",
	}},
	{"send", "receivers may refuse mail from {it}", []diag.Code{
		"spf.syntax.character", "spf.syntax.domain", "spf.syntax.family", "spf.syntax.glued", "spf.syntax.ip4",
		"spf.syntax.ip6", "spf.syntax.length", "spf.syntax.macro", "spf.syntax.mechanism", "spf.syntax.modifier",
		"spf.syntax.modifier.colon", "spf.syntax.network_macro", "spf.syntax.prefix", "spf.syntax.qualifier",
		"spf.syntax.repeated", "spf.syntax.value.missing", "spf.syntax.value.unexpected", "spf.record.joined",
		"spf.record.multiple", "spf.record.split", "spf.record.string", "spf.record.version", "spf.record.location",
		"spf.include.loop", "spf.include.missing", "spf.include.multiple", "spf.include.syntax", "spf.redirect.loop",
		"spf.redirect.missing", "spf.lookups.exceeded", "spf.voids.exceeded", "spf.mx.exceeded", "spf.senders.none",
		"dkim.record.alias.dangling", "dkim.record.joined", "dkim.record.missing", "dkim.record.multiple",
		"dkim.record.order", "dkim.record.repeated", "dkim.record.split", "dkim.record.string.long",
		"dkim.record.syntax", "dkim.record.version", "dkim.key.base64", "dkim.key.ed25519.wrapped",
		"dkim.key.exponent.invalid", "dkim.key.factor", "dkim.key.missing", "dkim.key.private", "dkim.key.revoked",
		"dkim.key.size.refused", "dkim.key.truncated", "dkim.key.type.mismatch", "dkim.key.unreadable",
		"dkim.hash.refused",
	}},
	{"dns", "some DNS lookups for {it} fail", []diag.Code{
		"zone.answers.differ", "zone.answers.formerr", "zone.answers.nodata", "zone.answers.notimp",
		"zone.answers.nxdomain", "zone.answers.rcode", "zone.answers.refused", "zone.answers.servfail",
		"zone.answers.silent", "zone.answers.truncated",
		"zone.ns.aaaa.dropped", "zone.ns.aaaa.failing", "zone.ns.aaaa.nxdomain", "zone.ns.address",
		"zone.ns.address.special", "zone.ns.alias", "zone.ns.case.sensitive", "zone.ns.closed",
		"zone.ns.cookies.wrong", "zone.ns.lame", "zone.ns.literal", "zone.ns.malformed", "zone.ns.name",
		"zone.ns.recursion", "zone.ns.source", "zone.ns.unauthoritative", "zone.ns.unreachable", "zone.ns.upward",
		"zone.glue.mismatch", "zone.glue.missing", "zone.transport.tcp", "zone.transport.udp", "zone.edns.dropped",
		"zone.soa.missing", "zone.soa.multiple",
	}},
	{"private", "data that visitors send to {it} can be intercepted", []diag.Code{
		"headers.cookies.session.secure", "headers.https.missing", "url.redirect.downgrade",
		"url.location.credentials", "tls.version.ssl", "tls.version.modern",
	}},
	{"name", "many mail servers refuse mail from {it}", []diag.Code{
		"reverse.ptr.missing", "reverse.forward.unconfirmed",
	}},
}

// Consequence returns what a finding of a code means for readers who are not experts, about what is named; empty where
// that is not known from the code alone.
func Consequence(code diag.Code, name string) string {
	for _, e := range effects {
		if slices.Contains(e.codes, code) {
			return strings.ReplaceAll(e.text, "{it}", name)
		}
	}
	return ""
}

// mailEffects returns what others can do with the name by mail, and its owner cannot, as far as the use of the name
// is known: they follow from that and not from single findings.
func mailEffects(n *nameuse.Name, findings []diag.Finding) (list []clause) {
	if n == nil {
		return nil
	}
	has := func(code diag.Code) bool {
		return slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Code == code })
	}
	add := func(is bool, s diag.Severity, topic, text string) {
		if is {
			list = append(list, clause{effect{topic: topic, text: text}, s})
		}
	}
	forged := n.Forgeable.Answer == nameuse.Yes && n.Kind != nameuse.Reserved && n.Kind != nameuse.PublicSuffix
	passing := n.InForce.SPF == spf.Everybody || n.InForce.DMARC.Enforced()
	add(forged && passing, diag.Critical, "forge", "anybody can send mail as {it}")
	add(forged && !passing && n.InForce.DMARCFrom == "", diag.Error, "forge", "anybody can send mail as {it}")
	add(forged && !passing && n.InForce.DMARCFrom != "", diag.Warning, "forge", "mail forged in the name of {it} is "+
		"delivered")
	add(has("name.mail.refused"), diag.Error, "send", "its own policy makes receivers refuse mail from {it}")
	return list
}
