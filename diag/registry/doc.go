// Package registry finds out who holds a domain or an address, from the registries that give them out:
// over RDAP (RFC 9082, RFC 9083), and over WHOIS (RFC 3912) where there is no RDAP.
//
// # How registration data is found
//
// Names and numbers are given out by hundreds of registries. Which of them is in charge is told by bootstrap files of
// IANA (RFC 9224): the longest matching domain or network has the URL of the service. That is asked over HTTPS and
// answers in JSON, with status 404 for what is not registered. A registry of names often knows no more than the
// registrar, who sold the name; a link leads on to the registrar's own service. Contacts are cards (jCard, RFC 7095),
// from which personal data are usually left out, as the answer itself says (RFC 9537).
//
// Where no such service is known, or it fails, WHOIS is asked: a line of text to port 43, answered by a
// text for people, in a format of the server's own, often with the name of another server to ask. What
// looks like an answer may be an excuse, such as that too many questions were asked. A name is only
// reported as unregistered if a registry said so.
//
// Addresses with a meaning of their own, such as 192.168.0.1, are answered from a table.
//
// # How to use the package
//
// [LookupDomain] and [LookupIP] ask with the built-in tables. A [Client] has tables of its own, which
// [ParseBootstrap] and [ParseServers] read.
//
//	report, err := registry.LookupDomain(ctx, env, registry.DomainRequest{Domain: domain})
//
// Every server is dialled through the guard of the [diag.Env], for who follows links and referrals is led by strangers.
package registry
