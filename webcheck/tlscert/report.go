package tlscert

import (
	"encoding/json"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// A ChainLink is a certificate of the verified path.
type ChainLink struct {
	Subject  string    `json:"subject" doc:"common name, or the whole name without one"`
	NotAfter time.Time `json:"not_after" doc:"last moment of validity"`
	Served   bool      `json:"served" doc:"whether the server sends it"`
	SHA256   string    `json:"fingerprint_sha256" doc:"SHA-256 of the whole certificate, in hex"`
}

// A ChainIssue is a fault of the chain as it is served: incomplete, wrong_order, extra, expired_extra,
// expired_intermediate or weak_signature.
type ChainIssue string

const (
	Incomplete          ChainIssue = "incomplete"           // an issuer is neither sent nor trusted
	WrongOrder          ChainIssue = "wrong_order"          // certificates do not follow on each other
	Extra               ChainIssue = "extra"                // certificates that belong to no path
	ExpiredExtra        ChainIssue = "expired_extra"        // expired ones that older clients follow, beside a valid path
	ExpiredIntermediate ChainIssue = "expired_intermediate" // the validity of one that is needed has ended
	WeakSignature       ChainIssue = "weak_signature"       // one that is needed is signed with MD5 or SHA-1
)

// Values lists the faults.
func (ChainIssue) Values() []string {
	return kit.Values(Incomplete, WrongOrder, Extra, ExpiredExtra, ExpiredIntermediate, WeakSignature)
}

// A VersionSupport reports whether the server supports a protocol version.
type VersionSupport struct {
	Version   string `json:"version" doc:"protocol version" example:"TLS 1.3"`
	Supported *bool  `json:"supported,omitempty" doc:"whether the server speaks it; absent if that could not be learned"`
}

// Strength rates the protection of a cipher suite: strong, acceptable, weak or insecure.
type Strength = probe.Strength

// A CipherSuite is a cipher suite that the server accepts.
type CipherSuite struct {
	Version       string   `json:"version" doc:"protocol version" example:"TLS 1.2"`
	ID            string   `json:"id" doc:"number in hex" example:"0xC02F"`
	Name          string   `json:"name" doc:"name in the registry of IANA" example:"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"`
	Strength      Strength `json:"strength" doc:"how much it protects"`
	ForwardSecret bool     `json:"forward_secret" doc:"whether recorded sessions stay secret when the key is stolen later"`
	DHBits        int      `json:"dh_bits,omitempty" doc:"size of the prime of a Diffie-Hellman key exchange"`
}

// Features are extensions and behaviors of a server. What is absent is not known, or does not apply to its
// protocol versions.
type Features struct {
	SecureRenegotiation *bool `json:"secure_renegotiation,omitempty" doc:"RFC 5746; TLS 1.2 and earlier"`
	MasterSecret        *bool `json:"extended_master_secret,omitempty" doc:"RFC 7627; TLS 1.2 and earlier"`
	SessionTickets      *bool `json:"session_tickets,omitempty" doc:"RFC 5077; TLS 1.2 and earlier"`
	Heartbeat           *bool `json:"heartbeat,omitempty" doc:"RFC 6520"`
	Compression         *bool `json:"compression,omitempty" doc:"RFC 3749"`
	FallbackSCSV        *bool `json:"fallback_scsv,omitempty" doc:"RFC 7507"`
	ServerOrder         *bool `json:"server_cipher_order,omitempty" doc:"whether the server picks cipher suites by its own preference"`
	TicketResumption    *bool `json:"ticket_resumption,omitempty" doc:"whether a second connection resumed the session of the first by a ticket"`
	PostQuantum         *bool `json:"post_quantum,omitempty" doc:"whether a key exchange protects against quantum computers"`

	known bool // so that zeros are not absent
}

// UnmarshalJSON implements json.Unmarshaler. A value that is present counts even if all its fields are zero.
func (f *Features) UnmarshalJSON(data []byte) error {
	type plain Features
	f.known = true
	return json.Unmarshal(data, (*plain)(f))
}

// OCSP is a stapled OCSP response.
type OCSP struct {
	Stapled    bool       `json:"stapled" doc:"whether the server sent one"`
	Status     OCSPStatus `json:"status,omitempty" doc:"what it says; absent if it cannot be read"`
	ProducedAt time.Time  `json:"produced_at,omitzero" doc:"when it was made"`
	NextUpdate time.Time  `json:"next_update,omitzero" doc:"until when it is valid"`
	MustStaple bool       `json:"must_staple" doc:"whether the certificate asks for one (RFC 7633)"`
}

// An OCSPStatus is the status of a certificate in an OCSP response (RFC 6960 section 2.2): good, revoked or unknown.
type OCSPStatus string

const (
	OCSPGood    OCSPStatus = "good"
	OCSPRevoked OCSPStatus = "revoked"
	OCSPUnknown OCSPStatus = "unknown"
)

// Values lists the statuses.
func (OCSPStatus) Values() []string { return kit.Values(OCSPGood, OCSPRevoked, OCSPUnknown) }

// An SCTSource is how a timestamp was delivered (RFC 6962 section 3.3): certificate, tls or ocsp.
type SCTSource string

const (
	SCTEmbedded  SCTSource = "certificate"
	SCTHandshake SCTSource = "tls"
	SCTStapled   SCTSource = "ocsp"
)

// Values lists the values.
func (SCTSource) Values() []string { return kit.Values(SCTEmbedded, SCTHandshake, SCTStapled) }

// An SCT is a signed certificate timestamp: the promise of a log to publish the certificate.
type SCT struct {
	Source    SCTSource `json:"source" doc:"by what way it came"`
	LogID     string    `json:"log_id,omitempty" doc:"SHA-256 of the key of the log, in Base64"`
	Log       string    `json:"log,omitempty" doc:"name of the log; absent if it is not known"`
	Operator  string    `json:"operator,omitempty" doc:"who runs the log"`
	Timestamp time.Time `json:"timestamp,omitzero" doc:"when the log received the certificate"`
	Verified  *bool     `json:"verified,omitempty" doc:"whether its signature is valid; absent if the log or the issuer is not known"`
}

// CAA describes which authorities may issue certificates for the name (RFC 8659).
type CAA struct {
	Found   bool     `json:"found" doc:"whether there are records for the name or above it"`
	Allowed *bool    `json:"allowed,omitempty" doc:"whether they allow the issuer to certify every name of the certificate again; absent if its names in CAA are not known"`
	Domain  string   `json:"domain,omitempty" doc:"where the records are" example:"example.com"`
	Records []string `json:"records" doc:"the records" example:"[\"0 issue \\\"ca.example\\\"\"]"`
	Issuer  string   `json:"issuer,omitempty" doc:"organization that issued the certificate"`
	Domains []string `json:"issuer_domains" doc:"names of that issuer in CAA records; empty if they are not known"`

	Allows []CAAAllowed `json:"allows" doc:"what the records authorize, one by one"`
}

// A CAAAllowed is an authority that a record authorizes, with conditions (RFC 8657).
type CAAAllowed struct {
	Property   string   `json:"property" enum:"issue issuewild" doc:"issuewild: for wildcard names alone, for which issue does not count then"`
	Domain     string   `json:"domain" doc:"name of the authority; empty: none" example:"ca.example"`
	Methods    []string `json:"validation_methods,omitempty" doc:"ways of validation that the authority may use; absent: any" example:"[\"dns-01\"]"`
	AccountURI string   `json:"account_uri,omitempty" doc:"account at the authority that may request certificates; absent: any"`
}
