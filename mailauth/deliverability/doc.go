// Package deliverability scores how likely a domain's mail is to be accepted: call [Score] with a domain or an address.
//
// # What counts
//
// Receivers decide by who sends and by the reputation of the sending host. The score has six weighted components:
// SPF 25 (RFC 7208), DKIM 25 (RFC 6376), DMARC 20 (RFC 9989), the reputation of the sending addresses 20, and 5 each
// for BIMI and TLS-RPT (RFC 8460), which well-run senders have.
//
// Reputation covers the blocklists' answers about the address (RFC 5782), and whether its reverse DNS is
// forward-confirmed. Without an address the domain's mail servers are examined, which often send, too; the reply says
// that this was assumed.
//
// # What does not count
//
// A component that could not be measured, such as DKIM without a selector that can be guessed, is left out of the
// score, and the reply is partial. The content of messages, the reactions of recipients and the volume of mail
// cannot be seen from outside.
package deliverability
