// Package provider identifies the services that send, relay or forward mail for other domains: call [ByDKIM],
// [ByEnvelope], [ByPTR] or [BySPF] with a domain, or [Identify] with all known names of a source.
//
// # Why it matters
//
// A report about mail, such as a DMARC aggregate report (RFC 9990), names addresses. People do not fix addresses:
// they log in to the newsletter service that uses hundreds of them, and set up signing there, once. Four kinds of
// names lead from an address to its service:
//
//   - the domain of a DKIM signature that passes (RFC 6376): until a customer publishes keys of its own, a
//     service signs with a domain of the service;
//   - the domain of the return path for which SPF passes (RFC 7208), which likewise is the service's own;
//   - the name of the address in reverse DNS, if that name leads back to the address;
//   - the domain that a customer includes in its SPF record.
//
// # When they contradict each other
//
// [Identify] takes the first of signature, return path and reverse name that a service is known for. A signature
// proves who handled the message, and names the service whose customer must act, even if it sends through another's
// machines: a shop that sends through Amazon SES uses Amazon's addresses. A return path proves the same, but is often
// that of a forwarder. A reverse name says only who runs the machine. A name that did not pass proves nothing,
// because anyone can write it, and must not be passed to Identify.
package provider
