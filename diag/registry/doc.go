// Package registry finds the registration of a domain or an IP address: call [LookupDomain] or [LookupIP]. It
// uses RDAP (RFC 9082, RFC 9083), and WHOIS (RFC 3912) where RDAP is not available.
//
// # How registration data is found
//
// Names and addresses are assigned by hundreds of registries. IANA's bootstrap files (RFC 9224) map each
// domain suffix or network to the URL of the responsible RDAP service; the longest match counts. The service
// answers over HTTPS in JSON, or with status 404 if there is no registration. Domain registries often know
// little more than the registrar, and link to the registrar's own service. Contacts are jCards (RFC 7095),
// mostly with personal data redacted, as the answer itself declares (RFC 9537).
//
// If no RDAP service is known, or it fails, WHOIS is queried: one line of text to port 43, answered in free
// text whose format depends on the server, often with a referral to another server. The answer may be a
// refusal, for example because a rate limit is exceeded. A name is reported as unregistered only if a
// registry says so.
//
// Special-purpose addresses, such as 192.168.0.1, are answered from a built-in table. Those that are globally
// reachable, such as 192.175.48.1 of AS112 (RFC 7534), may be registered as well, so the registry is queried
// first.
//
// # How to use the package
//
// [LookupDomain] and [LookupIP] use the built-in tables, or the files [BootstrapFile] and [ServersFile] of the
// environment. A [Client] uses tables read by [ParseBootstrap] and [ParseServers].
//
//	report, err := registry.LookupDomain(ctx, env, registry.DomainRequest{Domain: domain})
//
// Every server is dialed through the guard of the [diag.Env], because links and referrals are untrusted.
package registry
