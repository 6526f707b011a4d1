// Package deliverability scores how likely mail of a domain is to be accepted: call [Score] with a domain or an address.
//
// # What counts
//
// Receivers decide by who sends and by what the sending host is known for. Six components stand for that, with the
// weights of the score: SPF 25 (RFC 7208), DKIM 25 (RFC 6376), DMARC 20 (RFC 9989), the reputation of the sending
// addresses 20, and with 5 each BIMI and TLS-RPT (RFC 8460), which senders that look after their mail have.
//
// Reputation is what blocklists say of the address (RFC 5782), and whether its name in reverse DNS leads back to it.
// Without an address the mail servers of the domain are taken, which often send, too; the reply says that this was
// assumed.
//
// # What does not count
//
// A component that could not be measured, such as DKIM without a selector that anybody could guess, leaves the
// denominator, and the reply is partial. What is in messages, what recipients do with them, and how many there are cannot
// be seen from outside.
package deliverability
