// Package registry finds the registration of a domain or an IP address: call [LookupDomain] or [LookupIP]. It uses
// RDAP (RFC 9082, RFC 9083), and WHOIS (RFC 3912) where there is no RDAP.
//
// # How registration data is found
//
// Names and numbers are assigned by hundreds of registries. IANA's bootstrap files (RFC 9224) list which is
// responsible: the longest matching domain or network has the URL of its service, which answers over HTTPS in JSON,
// with status 404 for what is not registered. A registry of names often knows no more than the registrar; a link
// leads to the registrar's own service. Contacts are jCards (RFC 7095), mostly with personal data redacted, as the
// answer itself declares (RFC 9537).
//
// If no such service is known, or it fails, WHOIS is asked: one line of text to port 43, answered in free text in a
// format of the server's own, often with a referral to another server. An answer may be a refusal, such as for an
// exceeded rate limit. A name is reported as unregistered only if a registry said so.
//
// Special-purpose addresses, such as 192.168.0.1, are answered from a table; those that are reached from anywhere, such
// as 192.175.48.1 of AS112 (RFC 7534), may be registered as well, and the registry is asked.
//
// # How to use the package
//
// [LookupDomain] and [LookupIP] use the built-in tables; a [Client] uses tables read by [ParseBootstrap] and
// [ParseServers].
//
//	report, err := registry.LookupDomain(ctx, env, registry.DomainRequest{Domain: domain})
//
// Every server is dialed through the guard of the [diag.Env], because links and referrals are untrusted.
package registry
