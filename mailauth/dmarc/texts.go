package dmarc

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// The consequences that several verdicts share.
const (
	ignored  = "For receivers there is no DMARC record. "
	works    = "Receivers use the record. "
	unsecure = "Anyone can forge mail from the domain. "
)

// textsOffline are those of a record that need not be published: nothing was seen to be enforced.
var textsOffline = func() diag.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{Headline: "DMARC record is valid: it asks receivers to reject forged mail",
		Sub: "It takes effect once it is published. Do that when the aggregate reports show that all your senders pass."}
	t["valid"] = diag.Text{Headline: "DMARC record is valid and asks for enforcement",
		Sub: "It takes effect once it is published; the findings show what can be improved."}
	return t
}()

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {Headline: "DMARC is enforced: forged mail is rejected",
		Sub: "The domain is protected. Keep reading the aggregate reports, and check them when you add a sending service."},
	"valid": {Headline: "DMARC is enforced",
		Sub: "Receivers act on mail that fails. Keep reading the aggregate reports; the findings show what can be improved."},
	"warning": {Headline: "DMARC works but has a weakness", Sub: works + "The findings say what would protect the " +
		"domain better."},
	"invalid": {Headline: "DMARC is broken", Sub: "Receivers cannot do what the record asks for. Fix the first finding " +
		"first."},
	"missing": {Headline: "No DMARC record", Sub: unsecure + "Publish a record with p=none and a mailbox for reports."},
	"unknown": {Headline: "DMARC could not be examined completely",
		Sub: "Name servers did not answer, so that there is no verdict. Try again in a few minutes."},

	"dmarc.record.unknown": {Headline: "DMARC record could not be looked up",
		Sub: "The name servers did not say whether there is one. Check them and try again."},
	"dmarc.domain.missing": {Headline: "Domain does not exist",
		Sub: "It can have no DMARC record. Check the spelling, registration and delegation."},
	"dmarc.record.inherited.unknown": {Headline: "Record of a parent domain could not be looked up",
		Sub: "The domain has no DMARC record that counts, and whether a parent has one is unknown. Try again."},
	"dmarc.record.location": {Headline: "DMARC record is published at the wrong name",
		Sub: ignored + "Move it to _dmarc below the domain."},
	"dmarc.record.alias": {Headline: "CNAME at _dmarc leads to no DMARC record",
		Sub: ignored + "Have the record published at the target, or replace the alias by a TXT record."},
	"dmarc.record.missing": {Headline: "No DMARC record",
		Sub: unsecure + "Publish a record with p=none and a mailbox for reports; then work towards enforcement."},
	"dmarc.record.missing.no_mail": {Headline: "No DMARC record on a domain that receives no mail",
		Sub: unsecure + "Publish v=DMARC1; p=reject if nobody sends mail from it."},
	"dmarc.record.missing.mail.unknown": {Headline: "No DMARC record; whether the domain has mail is unknown",
		Sub: unsecure + "Check its name servers: what to publish depends on whether the domain has mail."},
	"dmarc.record.missing.suffix": {Headline: "No DMARC record on a public suffix",
		Sub: "That is usual. A record here would apply to every domain below it that has none of its own."},
	"dmarc.record.missing.suffix.mail": {Headline: "No DMARC record on a public suffix that receives mail",
		Sub: "Anyone can forge mail from it. A record of its operator declares psd=y, and applies to all domains below it."},
	"dmarc.record.version": {Headline: "DMARC record does not begin with v=DMARC1 and is ignored",
		Sub: ignored + "Correct its beginning; the finding says what is wrong."},
	"dmarc.record.stray": {Headline: "DMARC works, but another TXT record looks like a broken one",
		Sub: works + "Remove the TXT record that they ignore."},
	"dmarc.record.multiple": {Headline: "More than one DMARC record, so receivers use none",
		Sub: ignored + "Merge the records into one."},
	"dmarc.record.own.ignored": {Headline: "Broken DMARC record: the one of a parent domain applies",
		Sub: "Receivers ignore the record of the domain itself. Correct or remove it."},
	"dmarc.record.split": {Headline: "Part of the DMARC record is in another TXT record and is ignored",
		Sub: "Receivers see only part of what was meant. Put all tags into one TXT record."},
	"dmarc.record.syntax": {Headline: "Syntax error in the DMARC record",
		Sub: "Receivers discard what they cannot read. Correct the tag that the finding names."},
	"dmarc.record.semicolon": {Headline: "DMARC works, but the record has two semicolons in a row",
		Sub: works + "Some refuse it. Remove the second semicolon."},
	"dmarc.record.repeated": {Headline: "A tag appears twice in the DMARC record",
		Sub: "Some receivers ignore the record, others use the first tag or the last. Keep one of them."},
	"dmarc.record.joined": {Headline: "No semicolon between two strings of the DMARC record",
		Sub: "Receivers read two tags as one. Add a semicolon at the end of the first string."},
	"dmarc.record.string": {Headline: "DMARC record has a string longer than 255 bytes",
		Sub: "It cannot be published as it is. Split it into strings of at most 255 bytes."},
	"dmarc.tag.unknown": {Headline: "DMARC works, but the record has an unknown tag",
		Sub: works + "They ignore the tag. Check its spelling."},
	"dmarc.tag.removed.value": {Headline: "DMARC works, but an obsolete tag has an invalid value",
		Sub: works + "Some may refuse it. Remove the tag."},
	"dmarc.record.void": {Headline: "DMARC record has no effect: no readable policy, no reports",
		Sub: ignored + "Add a valid p= and a rua."},
	"dmarc.policy.missing": {Headline: "DMARC record has no policy (p=), so nothing is enforced",
		Sub: "Receivers assume p=none and send reports. Add p=none, and raise it when the reports are clean."},
	"dmarc.policy.value": {Headline: "DMARC policy (p=, sp= or np=) is invalid, so nothing is enforced",
		Sub: "Receivers assume p=none for all mail. Write none, quarantine or reject."},
	"dmarc.policy.position": {Headline: "DMARC works, but p= does not follow the version",
		Sub: "Some older receivers find no policy. Put p directly behind v=DMARC1."},
	"dmarc.alignment.value": {Headline: "DMARC alignment (adkim or aspf) is invalid and ignored",
		Sub: "Receivers use relaxed alignment. Write r or s, or remove the tag."},
	"dmarc.flag.value": {Headline: "DMARC tag t or psd is invalid and ignored",
		Sub: "Receivers act as if the tag were absent. Correct it."},
	"dmarc.fo.value": {Headline: "DMARC works, but fo is invalid", Sub: works + "They ignore fo. Correct it or remove " +
		"it."},
	"dmarc.fo.contradiction": {Headline: "DMARC works, but fo contradicts itself",
		Sub: works + "The options 0 and 1 of fo exclude each other; keep 1."},
	"dmarc.policy.none": {Headline: "DMARC policy is none: monitored, not enforced",
		Sub: "Forged mail is delivered. Collect reports, and go on to quarantine when they show that all your senders pass."},
	"dmarc.policy.testing": {Headline: "DMARC is in testing mode (t=y), not fully enforced",
		Sub: "Receivers apply the policy one level lower. Remove t=y when the reports are clean."},
	"dmarc.policy.sampled": {Headline: "DMARC policy is limited by pct, which RFC 9989 removed",
		Sub: "Older receivers apply it to a part of the mail, newer ones to all. Remove pct when the reports are clean."},
	"dmarc.subdomain.weaker": {Headline: "DMARC is enforced, but subdomains are protected less (sp)",
		Sub: "Attackers can forge subdomains. Raise or remove sp when the reports show that their mail passes."},
	"dmarc.subdomain.nonexistent.weaker": {Headline: "DMARC is enforced, but nonexistent subdomains are not (np)",
		Sub: "Attackers can invent subdomains. Raise np."},
	"dmarc.psd.suffix": {Headline: "DMARC record declares the domain a public suffix (psd=y)",
		Sub: "Every subdomain counts as an organization of its own. Remove psd=y."},
	"dmarc.rua.missing": {Headline: "DMARC works, but no reports are requested (no rua)",
		Sub: "You do not learn which of your mail fails. Add a mailbox for reports as rua."},
	"dmarc.uri.invalid": {Headline: "DMARC report address is invalid",
		Sub: "Receivers send no reports to it. Write it as mailto:local-part@domain."},
	"dmarc.uri.empty": {Headline: "DMARC works, but a list of report addresses has an extra comma",
		Sub: works + "Some may send no reports. Remove the comma."},
	"dmarc.uri.scheme": {Headline: "DMARC works, but a report address is not mailto",
		Sub: works + "Few send reports there. Add a mailto address."},
	"dmarc.destination.unauthorized": {Headline: "DMARC works, but a report destination has not authorized it",
		Sub: "Receivers send no reports there. Ask its operator to publish the authorization record."},
	"dmarc.destination.override.elsewhere": {Headline: "DMARC works, but a report destination redirects reports elsewhere",
		Sub: "Receivers send no reports at all. Ask its operator to correct the record that it publishes."},
	"dmarc.destination.undeliverable": {Headline: "DMARC works, but a report address receives no mail",
		Sub: "Reports to it are lost. Correct the address."},
	"dmarc.record.wildcard": {Headline: "A wildcard TXT record answers at _dmarc",
		Sub: "It is no DMARC record. Publish a record at _dmarc itself."},
	"dmarc.record.spf": {Headline: "An SPF record is published at _dmarc", Sub: "Nobody looks for SPF there. Move or remove it."},
}
