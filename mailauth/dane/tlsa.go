package dane

import "github.com/diagkit/diagkit/diag/pki/tlsa"

// The meaning of TLSA records, and their comparison with certificates, is the same for all protocols.
type (
	Usage      = tlsa.Usage      // which certificate a record speaks of, and what else must hold
	Selector   = tlsa.Selector   // which part of it
	Matching   = tlsa.Matching   // how that part is compared
	Record     = tlsa.Record     // a TLSA record
	Peer       = tlsa.Peer       // what a server presented, and how to judge it
	Reason     = tlsa.Reason     // why a record does not authenticate a server
	Match      = tlsa.Match      // the match of one record with a server
	MatchError = tlsa.MatchError // why it does not authenticate the server
	Result     = tlsa.Result     // the outcome of all TLSA records for a server
)

const (
	pkixta Usage    = tlsa.PKIXTA
	pkixee Usage    = tlsa.PKIXEE
	daneta Usage    = tlsa.DANETA
	daneee Usage    = tlsa.DANEEE
	cert   Selector = tlsa.Cert
	spki   Selector = tlsa.SPKI
	full   Matching = tlsa.Full

	// SHA256 and SHA512 compare digests.
	SHA256 Matching = tlsa.SHA256
	SHA512 Matching = tlsa.SHA512
)

// The reasons, from what is farthest from success.
const (
	Unusable   Reason = tlsa.Unusable
	noMatch    Reason = tlsa.NoMatch
	Superseded Reason = tlsa.Superseded
	BadChain   Reason = tlsa.BadChain
	OutOfDate  Reason = tlsa.OutOfDate
	WrongName  Reason = tlsa.WrongName
)

// ParseRecord reads a record as in a zone file, see [tlsa.ParseRecord].
func ParseRecord(text string) (Record, error) { return tlsa.ParseRecord(text) }

// Verify compares TLSA records with what a server presented, see [tlsa.Verify].
func Verify(records []Record, p Peer) Result { return tlsa.Verify(records, p) }
