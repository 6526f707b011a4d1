package dnsbl

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

func (e *evidence) judge() diag.Verdict {
	v := rules.Judge(e, texts)
	fill := e.filler()
	v.Headline, v.Sub = fill.Replace(v.Headline), fill.Replace(v.Sub)
	return v
}

func (e *evidence) filler() *strings.Replacer {
	listings := e.listings()
	on, first := "a blocklist", ""
	// The one that weighs most speaks for all.
	for _, c := range classes {
		if found := e.on(c); len(found) > 0 {
			first = found[0].list.Name
			break
		}
	}
	if first == "" && len(listings) > 0 {
		first = listings[0].list.Name
	}
	switch len(listings) {
	case 0:
	case 1:
		on = "the blocklist " + first
	default:
		on = fmt.Sprintf("%d blocklists, among them %s", len(listings), first)
	}
	answered := e.answered()
	clean := fmt.Sprintf("any of the %d blocklists that answered", len(answered))
	if len(answered) == 1 {
		clean = answered[0].list.Name + ", the one list that answered"
	}
	allowed := "On no allow list"
	switch found, _ := e.allowed(); len(found) {
	case 0:
	case 1:
		allowed = "On the allow list " + found[0].list.Name
	default:
		allowed = "On " + diag.Count(len(found), "allow list")
	}
	_, missing := e.majors()
	unasked := ""
	if len(missing) > 0 {
		unasked = missing[0].list.Name
	}
	return strings.NewReplacer("{lists}", on, "{first}", first, "{unasked}", unasked, "{purpose}", e.purpose.text,
		"{ip}", e.ip.String(), "{answered}", diag.Count(len(answered), "list"), "{clean}", clean, "{allowed}", allowed)
}

// texts are what the verdict says in words. What stands in braces is filled in: {lists} says on how many
// blocklists the address is, and names the one that weighs most.
var texts = diag.Texts{
	"valid": {Headline: "Not listed on {clean}",
		Sub: "No blocklist stands in the way of mail from {ip}. Check again when mail is rejected or the address " +
			"changes."},
	"dnsbl.lists.unanswered": {Headline: "Not listed on {clean}",
		Sub: "No list that answered has it; some did not answer. The findings name those that said nothing about {ip}."},
	"dnsbl.major.unanswered": {Headline: "Not listed on {answered}; no answer from {unasked}",
		Sub: "No list that answered has it; a widely used one did not answer. Check {ip} at its website."},
	"dnsbl.listed.minor": {Headline: "Listed on {lists}",
		Sub: "Some receivers reject or filter mail from {ip}. Remove the cause first, then request removal."},
	"dnsbl.listed.obscure": {Headline: "Listed on {lists}",
		Sub: "Few receivers use the list, so most mail from {ip} is not affected. Remove the cause, then request " +
			"removal."},
	"dnsbl.listed.policy": {Headline: "Listed by policy as an address that should not send mail directly",
		Sub: "That is no accusation, but receivers reject mail that comes directly from {ip}. Send through the " +
			"provider's mail server, or have the address of a mail server taken off {first}."},
	"dnsbl.listed.policy.minor": {Headline: "Listed by policy on {first}, which few use",
		Sub: "That is no accusation, and few receivers use the list. If {ip} is a mail server, have it taken off."},
	"dnsbl.listed.network": {Headline: "Listed only with its whole network, on {first}",
		Sub: "The list blames the network of {ip} and not the address, and few receivers reject mail because of it. Ask " +
			"the provider."},
	"dnsbl.listed.several": {Headline: "Listed on {lists}",
		Sub: "Most receivers reject mail from {ip}. Stop sending, find what sends the spam, and request removal only " +
			"then: an address whose cause remains is listed again."},
	"dnsbl.listed.decisive": {Headline: "Listed on {lists}",
		Sub: "Most large receivers reject mail from {ip}. Find and stop the cause first, then request removal: an " +
			"address whose cause remains is listed again."},
	"dnsbl.listed.major": {Headline: "Listed on {lists}",
		Sub: "Many receivers reject mail from {ip}. Remove the cause first, then request removal, or it is listed again."},
	"dnsbl.listed.many": {Headline: "Listed on {lists}",
		Sub: "Lists that work differently agree about {ip}. Find what sends the spam first, then request removal from " +
			"each."},
	"dnsbl.allowlist.only": {Headline: "{allowed}; no blocklist was asked",
		Sub: "The request names allow lists only. Ask without a choice of lists to learn whether a blocklist has {ip}."},
	"dnsbl.allowlist.unanswered": {Headline: "Not known whether it is on an allow list: none answered",
		Sub: "This says nothing about {ip}. Try again in a few minutes."},
	"dnsbl.address.special": {Headline: "Special-purpose address, not a public one: check the public address",
		Sub: "{ip} is set aside: {purpose}. Receivers never see it, so blocklists say nothing about it."},
	"dnsbl.resolver.rewrites": {Headline: "Not known whether it is listed: the resolver rewrites answers",
		Sub: "The resolver replaces NXDOMAIN, so the answers of lists cannot be read. Use another resolver; this says " +
			"follows for {ip}."},
	"dnsbl.answers.refused": {Headline: "Not known whether it is listed: blocklists refuse to answer",
		Sub: "The lists do not answer the resolver of this service. This says nothing about {ip}: check it at their " +
			"websites."},
	"dnsbl.answers.none": {Headline: "Not known whether it is listed: no blocklist answered",
		Sub: "This says nothing about {ip}. Try again in a few minutes."},
	"dnsbl.answers.few": {Headline: "Not known: most widely used blocklists did not answer",
		Sub: "{ip} is on no list of the {answered} that answered, but those that decide did not say. Check it at " +
			"their websites."},
}
