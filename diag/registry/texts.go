package registry

import "github.com/diagkit/diagkit/diag"

// domainTexts are the headlines of a domain's registration.
var domainTexts = diag.Texts{
	"valid": {
		Headline: "The domain is registered and in good standing",
		Sub:      "The registry reports nothing that needs to be done.",
	},
	"warning": {
		Headline: "The domain is registered, with warnings",
		Sub:      "The registration works. The findings say what puts it at risk.",
	},
	"invalid": {
		Headline: "The registration of the domain is in trouble",
		Sub:      "The domain does not work, or will stop working. Fix the first finding now.",
	},
	"missing": {
		Headline: "The domain is not registered",
		Sub:      "The registry says that there is no such registration.",
	},
	"unknown": {
		Headline: "The registry's answer could not be read",
		Sub:      "Whether the domain is registered is not known. Look it up on the registry's web site.",
	},
	"rdap.domain.reserved": {
		Headline: "The domain is reserved by the registry",
		Sub:      "It is not registered, and cannot be.",
	},
	"rdap.expiry.passed": {
		Headline: "The registration of the domain has expired",
		Sub:      "After a grace period anybody may register it. Renew it at the registrar now.",
	},
	"rdap.expiry.soon": {
		Headline: "The registration of the domain expires within 30 days",
		Sub:      "If it is not renewed, web and mail stop working. Renew it, or check that renewal is automatic.",
	},
	"rdap.status.hold": {
		Headline: "The domain is on hold and not in the DNS",
		Sub:      "Nothing under it works until the registrar or registry lifts the hold. Ask for the reason.",
	},
	"rdap.status.deletion": {
		Headline: "The domain is being deleted",
		Sub:      "Ask the registrar to restore it now; soon anybody may register it.",
	},
	"rdap.status.transfer": {
		Headline: "The domain is being transferred to another registrar",
		Sub:      "If you did not ask for that, have your registrar reject it within a few days.",
	},
	"rdap.nameservers.missing": {
		Headline: "The domain is registered, but has no name servers",
		Sub:      "It does not resolve. Set name servers at the registrar.",
	},
	"rdap.nameservers.single": {
		Headline: "The domain has only one name server",
		Sub:      "If that server fails, web and mail stop working. Add a second one in another network.",
	},
	"rdap.lock.missing": {
		Headline: "The domain is registered, but not locked against transfers",
		Sub:      "Whoever gets into the registrar account can move it away. Turn on the transfer lock.",
	},
}

// ipTexts are the headlines of an address.
var ipTexts = diag.Texts{
	"valid": {
		Headline: "The holder of the address is known",
		Sub:      "The registry names the network, its holder and where to report abuse.",
	},
	"warning": {
		Headline: "The holder of the address is known, with warnings",
		Sub:      "The findings say what the registration lacks.",
	},
	"missing": {
		Headline: "The address is not allocated",
		Sub:      "No registry has given it to anybody. Traffic from it is forged or misrouted.",
	},
	"unknown": {
		Headline: "The registry's answer could not be read",
		Sub:      "Who holds the address is not known. Look it up on the registry's web site.",
	},
	"ipwhois.address.special": {
		Headline: "A special-purpose address, which nobody holds",
		Sub:      "It is reserved by a standard and does not lead to one holder on the Internet.",
	},
	"ipwhois.abuse.missing": {
		Headline: "The holder of the address is known, but no abuse contact",
		Sub:      "The network has nowhere to report abuse. Its holder should register a contact.",
	},
}
