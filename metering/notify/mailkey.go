package notify

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// A MailSigner signs mail with DKIM (RFC 6376).
type MailSigner struct {
	Domain   string        // d=: the organization of the address that mail comes from
	Selector string        // s=: the record is at Selector._domainkey.Domain
	Key      crypto.Signer // as [ParseMailKey] returns it
}

// The sizes of RSA keys, in bits: RFC 8301 section 3.2 asks signers for 2048, and not all receivers verify with more
// than 4096.
const (
	MinMailKey = 2048
	maxMailKey = 4096
)

// ParseMailKey reads a private key in PEM that DKIM can sign with: Ed25519 (RFC 8463), or RSA of 2048 bits or more. No
// error repeats the text.
func ParseMailKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no PEM block, which begins with -----BEGIN PRIVATE KEY-----")
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("the key is encrypted; the server has nobody to ask for its password")
	}
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("it holds %q and not a private key for DKIM, which is RSA or Ed25519", block.Type)
	}
	if err != nil {
		return nil, errors.New("the private key in it cannot be read")
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return key, nil
	case *rsa.PrivateKey:
		if n := key.N.BitLen(); n < MinMailKey || n > maxMailKey {
			return nil, fmt.Errorf("the RSA key has %d bits; DKIM needs %d to %d", n, MinMailKey, maxMailKey)
		}
		return key, nil
	}
	return nil, errors.New("the key is neither RSA nor Ed25519; DKIM knows no other")
}

// Name returns the name at which the record with the public key is published.
func (s *MailSigner) Name() string { return s.Selector + "._domainkey." + s.Domain }

// Record returns the text of the record with the public key (RFC 6376 section 3.6.1).
func (s *MailSigner) Record() (string, error) {
	if key, ok := s.Key.Public().(ed25519.PublicKey); ok { // RFC 8463 section 4: without the ASN.1 around it
		return "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(key), nil
	}
	der, err := x509.MarshalPKIXPublicKey(s.Key.Public())
	if err != nil {
		return "", fmt.Errorf("writing a DKIM record: %w", err)
	}
	return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der), nil
}
