package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A Certificate describes an X.509 certificate (RFC 5280).
type Certificate struct {
	Subject            Name      `json:"subject" doc:"who the certificate is for"`
	Issuer             Name      `json:"issuer" doc:"who issued it"`
	SerialNumber       string    `json:"serial_number" doc:"serial number in hex"`
	NotBefore          time.Time `json:"not_before" doc:"first moment of validity"`
	NotAfter           time.Time `json:"not_after" doc:"last moment of validity"`
	DaysRemaining      int       `json:"days_remaining" doc:"whole days until the end of validity; negative a day after it"`
	Expired            bool      `json:"expired" doc:"whether the validity has ended"`
	NotYetValid        bool      `json:"not_yet_valid" doc:"whether the validity has not begun"`
	SAN                SAN       `json:"san" doc:"names that the certificate covers"`
	SignatureAlgorithm string    `json:"signature_algorithm" doc:"how it is signed" example:"ECDSA-SHA256"`
	PublicKey          PublicKey `json:"public_key" doc:"key of the subject"`
	FingerprintSHA256  string    `json:"fingerprint_sha256" doc:"SHA-256 of the whole certificate, in hex"`
	IsCA               bool      `json:"is_ca" doc:"whether it may issue certificates"`
	SelfSigned         bool      `json:"self_signed" doc:"whether it is signed with its own key"`
	KeyUsage           []string  `json:"key_usage" doc:"what the key may be used for" example:"[\"digitalSignature\"]"`
	ExtKeyUsage        []string  `json:"ext_key_usage" doc:"purposes; unknown ones as OID" example:"[\"serverAuth\"]"`
	OCSPURLs           []string  `json:"ocsp_urls" doc:"where its revocation can be asked for"`
	CAIssuerURLs       []string  `json:"ca_issuer_urls" doc:"where the issuer's certificate can be fetched"`
	SCTsCount          int       `json:"scts_count" min:"0" doc:"signed certificate timestamps embedded (RFC 6962)"`
	PEM                string    `json:"pem,omitempty" doc:"the certificate itself, if asked for"`
}

// SAN are the subject alternative names of a certificate (RFC 5280 section 4.2.1.6).
type SAN struct {
	DNS   []string     `json:"dns" doc:"host names"`
	IP    []netip.Addr `json:"ip" doc:"IP addresses"`
	Email []string     `json:"email" doc:"mail addresses"`
	URI   []string     `json:"uri" doc:"URIs"`
}

// Bounds of what is described. Public authorities stop at 100 names; some hosters had 250.
const (
	MaxNames = 1000 // names of each kind in a SAN
	maxURLs  = 20   // URLs of each kind
)

// maxRSACheckBits bounds the RSA keys with which signatures are checked: the work grows with the
// square of the size, and the sender chooses it. It is the bound of crypto/tls; authorities use 4096.
const maxRSACheckBits = 8192

// Describe describes a certificate as of a time. It trusts nothing; see [Verifier] for that.
func Describe(c *x509.Certificate, now time.Time) Certificate {
	sum := sha256.Sum256(c.Raw)
	return Certificate{
		Subject: ParseName(c.RawSubject), Issuer: ParseName(c.RawIssuer), SerialNumber: serial(c.SerialNumber),
		NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(), DaysRemaining: days(c.NotAfter.Sub(now)),
		Expired: now.After(c.NotAfter), NotYetValid: now.Before(c.NotBefore), SAN: alternativeNames(c),
		SignatureAlgorithm: signatureAlgorithm(c.SignatureAlgorithm),
		PublicKey:          DescribeKey(c.PublicKey, c.RawSubjectPublicKeyInfo), FingerprintSHA256: hex.EncodeToString(sum[:]),
		IsCA: c.BasicConstraintsValid && c.IsCA, SelfSigned: SelfSigned(c), KeyUsage: keyUsage(c.KeyUsage),
		ExtKeyUsage: extKeyUsage(c), OCSPURLs: printable(c.OCSPServer, maxURLs),
		CAIssuerURLs: printable(c.IssuingCertificateURL, maxURLs), SCTsCount: countSCTs(c),
	}
}

// PEM returns the text form of a certificate (RFC 7468 section 5), for [Certificate].PEM.
func PEM(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// SelfSigned reports whether a certificate is signed with its own key. A signature of an algorithm
// that is not checked any more, such as MD5, is taken to be what the names say.
func SelfSigned(c *x509.Certificate) bool {
	if string(c.RawSubject) != string(c.RawIssuer) {
		return false
	}
	if !Checkable(c) {
		return true
	}
	err := c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature)
	_, insecure := errors.AsType[x509.InsecureAlgorithmError](err)
	return err == nil || insecure || errors.Is(err, x509.ErrUnsupportedAlgorithm)
}

// Checkable reports whether signatures made with the key of a certificate can be checked in bounded
// time. [Verifier] calls a chain with another key bad.
func Checkable(c *x509.Certificate) bool {
	return c.PublicKeyAlgorithm != x509.RSA || len(c.RawSubjectPublicKeyInfo) <= maxRSACheckBits/8+64
}

func serial(n *big.Int) string {
	if n == nil || n.Sign() == 0 {
		return "00"
	}
	digits := hex.EncodeToString(n.Bytes())
	if n.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// days are whole days, rounded towards zero (CONTRACT 1.7): a certificate that ended an hour ago ended 0 days ago.
func days(d time.Duration) int { return int(d / (24 * time.Hour)) }

func signatureAlgorithm(a x509.SignatureAlgorithm) string {
	if a == x509.UnknownSignatureAlgorithm {
		return "unknown"
	}
	return a.String()
}

func alternativeNames(c *x509.Certificate) SAN {
	san := SAN{
		DNS: printable(c.DNSNames, MaxNames), IP: []netip.Addr{},
		Email: printable(c.EmailAddresses, MaxNames), URI: []string{},
	}
	for _, ip := range c.IPAddresses[:min(len(c.IPAddresses), MaxNames)] {
		if a, ok := netip.AddrFromSlice(ip); ok {
			san.IP = append(san.IP, a)
		}
	}
	for _, u := range c.URIs[:min(len(c.URIs), MaxNames)] {
		san.URI = append(san.URI, strings.ToValidUTF8(u.String(), "\uFFFD"))
	}
	return san
}

func printable(list []string, limit int) []string {
	return diag.Map(list[:min(len(list), limit)], func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") })
}

// keyUsageNames are the bits of the extension in order (RFC 5280 section 4.2.1.3).
var keyUsageNames = []string{"digitalSignature", "contentCommitment", "keyEncipherment", "dataEncipherment",
	"keyAgreement", "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly"}

func keyUsage(usage x509.KeyUsage) []string {
	names := []string{}
	for i, name := range keyUsageNames {
		if usage&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// extKeyUsageNames are the purposes that Go knows (RFC 5280 section 4.2.1.12).
var extKeyUsageNames = map[x509.ExtKeyUsage]string{
	x509.ExtKeyUsageAny:                            "anyExtendedKeyUsage",
	x509.ExtKeyUsageServerAuth:                     "serverAuth",
	x509.ExtKeyUsageClientAuth:                     "clientAuth",
	x509.ExtKeyUsageCodeSigning:                    "codeSigning",
	x509.ExtKeyUsageEmailProtection:                "emailProtection",
	x509.ExtKeyUsageIPSECEndSystem:                 "ipsecEndSystem",
	x509.ExtKeyUsageIPSECTunnel:                    "ipsecTunnel",
	x509.ExtKeyUsageIPSECUser:                      "ipsecUser",
	x509.ExtKeyUsageTimeStamping:                   "timeStamping",
	x509.ExtKeyUsageOCSPSigning:                    "OCSPSigning",
	x509.ExtKeyUsageMicrosoftServerGatedCrypto:     "microsoftServerGatedCrypto",
	x509.ExtKeyUsageNetscapeServerGatedCrypto:      "netscapeServerGatedCrypto",
	x509.ExtKeyUsageMicrosoftCommercialCodeSigning: "microsoftCommercialCodeSigning",
	x509.ExtKeyUsageMicrosoftKernelCodeSigning:     "microsoftKernelCodeSigning",
}

// markUsage is the purpose of mark certificates for BIMI, which Go does not know.
const markUsage = "1.3.6.1.5.5.7.3.31"

func extKeyUsage(c *x509.Certificate) []string {
	names := diag.Map(c.ExtKeyUsage, func(usage x509.ExtKeyUsage) string { return extKeyUsageNames[usage] })
	for _, oid := range c.UnknownExtKeyUsage {
		if s := oid.String(); s == markUsage {
			names = append(names, "brandIndicatorForMessageIdentification")
		} else {
			names = append(names, s)
		}
	}
	return names[:min(len(names), MaxNames)]
}

// sctExtension holds the signed certificate timestamps (RFC 6962 section 3.3).
const sctExtension = "1.3.6.1.4.1.11129.2.4.2"

// countSCTs counts the timestamps embedded in a certificate; what is not well formed does not count.
func countSCTs(c *x509.Certificate) int {
	list, _ := SCTs(c)
	return len(list)
}
