// Package provider knows the services that send, relay or forward mail for the domains of others: call
// [ByDKIM], [ByEnvelope], [ByPTR] or [BySPF] with a domain, or [Identify] with all that is known of a source.
//
// # Why it matters
//
// A report about mail, such as an aggregate report of DMARC (RFC 9990), names addresses. People do not fix
// addresses: they log in to the newsletter service that has hundreds of them, and set up signing there, once.
// Four kinds of names lead from an address to its service:
//
//   - the domain of a DKIM signature that passes (RFC 6376): until a customer publishes keys of its own, a
//     service signs with a domain of the service;
//   - the domain of the return path for which SPF passes (RFC 7208), which likewise is the service's own;
//   - the name of the address in reverse DNS, if that name leads back to the address;
//   - the domain that a customer includes in its SPF record.
//
// # When they contradict each other
//
// [Identify] takes the first of signature, return path and reverse name that a service is known for. A signature proves
// who handled the message, and names the service whose customer has to act, even where that service sends through the
// machines of another one: a shop that sends through Amazon SES has addresses of Amazon. A return path proves the same,
// and is often that of a forwarder on the way. A reverse name says who runs the machine, and no more. What did not pass
// proves nothing, for anybody can write it, and must not be given to Identify.
package provider
