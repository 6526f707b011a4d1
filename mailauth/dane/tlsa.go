package dane

import "github.com/diagkit/diagkit/diag/pki/tlsa"

// The types of TLSA records, and of their comparison with certificates, are those of package tlsa, which serves all
// protocols.
type (
	// A Usage says which certificate a record is about, and what else must hold.
	Usage = tlsa.Usage
	// A Selector says which part of the certificate is compared.
	Selector = tlsa.Selector
	// A Matching says how that part is compared.
	Matching = tlsa.Matching
	// A Record is a TLSA record.
	Record = tlsa.Record
	// A Peer is what a server presented, and how to judge it.
	Peer = tlsa.Peer
	// A Reason is why a record does not authenticate a server.
	Reason = tlsa.Reason
	// A Match is the comparison of one record with a server.
	Match = tlsa.Match
	// A MatchError is why a record does not authenticate a server.
	MatchError = tlsa.MatchError
	// A Result is the outcome of all TLSA records for a server.
	Result = tlsa.Result
)

const (
	PKIXTA Usage    = tlsa.PKIXTA
	PKIXEE Usage    = tlsa.PKIXEE
	DANETA Usage    = tlsa.DANETA
	DANEEE Usage    = tlsa.DANEEE
	Cert   Selector = tlsa.Cert
	SPKI   Selector = tlsa.SPKI
	Full   Matching = tlsa.Full
)

// SHA256 and SHA512 compare digests.
const (
	SHA256 Matching = tlsa.SHA256
	SHA512 Matching = tlsa.SHA512
)

// The reasons, from what is farthest from success.
const (
	Unusable   Reason = tlsa.Unusable
	NoMatch    Reason = tlsa.NoMatch
	Superseded Reason = tlsa.Superseded
	BadChain   Reason = tlsa.BadChain
	OutOfDate  Reason = tlsa.OutOfDate
	WrongName  Reason = tlsa.WrongName
)

// ParseRecord reads a record as in a zone file, see [tlsa.ParseRecord].
func ParseRecord(text string) (Record, error) { return tlsa.ParseRecord(text) }

// Verify compares TLSA records with what a server presented, see [tlsa.Verify].
func Verify(records []Record, p Peer) Result { return tlsa.Verify(records, p) }
