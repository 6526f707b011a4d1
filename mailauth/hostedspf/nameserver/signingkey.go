package nameserver

import (
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/miekg/dns"
)

// A SigningKey signs a zone (DNSSEC, RFC 4033 to 4035). It signs both the keys of the zone and all else, so that the DS
// record in the parent zone is that of the key itself.
type SigningKey struct {
	public *dns.DNSKEY
	signer crypto.Signer
}

// keyFlags are those of a key that signs its zone and that the parent zone names (RFC 4034 section 2.1.1).
const keyFlags = dns.ZONE | dns.SEP

const maxKeyFile = 16 << 10

// NewSigningKey makes a key for a zone: ECDSA on P-256 (RFC 6605), which RFC 9904 recommends.
func NewSigningKey(zone diag.Name) (SigningKey, error) {
	public := &dns.DNSKEY{
		Hdr: header(zone.FQDN(), dns.TypeDNSKEY, seconds(zoneTTL)), Flags: keyFlags,
		Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := public.Generate(256)
	if err != nil {
		return SigningKey{}, fmt.Errorf("making a key for %s: %w", zone, err)
	}
	return SigningKey{public, private.(crypto.Signer)}, nil
}

// ReadSigningKey reads a key in the format of BIND: FILE is the one that ends in .private, that in .key, or
// the common part of both names.
func ReadSigningKey(file string) (SigningKey, error) {
	base := strings.TrimSuffix(strings.TrimSuffix(file, ".private"), ".key")
	text, err := readFile(base + ".key")
	if err != nil {
		return SigningKey{}, err
	}
	rr, err := dns.ReadRR(strings.NewReader(text), base+".key")
	public, ok := rr.(*dns.DNSKEY)
	switch {
	case err != nil:
		return SigningKey{}, fmt.Errorf("%s.key: %w", base, err)
	case !ok:
		return SigningKey{}, fmt.Errorf("%s.key: holds no DNSKEY record", base)
	case public.Algorithm != dns.ECDSAP256SHA256:
		return SigningKey{}, fmt.Errorf("%s.key: the algorithm is %d, must be 13 (ECDSAP256SHA256)", base, public.Algorithm)
	case !dnssec.ForZone(public):
		return SigningKey{}, fmt.Errorf("%s.key: the key must not sign a zone", base)
	}
	public.Hdr = header(dns.CanonicalName(public.Hdr.Name), dns.TypeDNSKEY, seconds(zoneTTL))
	if text, err = readFile(base + ".private"); err != nil {
		return SigningKey{}, err
	}
	private, err := public.NewPrivateKey(text)
	signer, ok := private.(crypto.Signer)
	if err != nil || !ok {
		return SigningKey{}, fmt.Errorf("%s.private: is not the private part of a key", base)
	}
	key := SigningKey{public, signer}
	if err := key.check(); err != nil {
		return SigningKey{}, fmt.Errorf("%s.private: is not the private part of %s.key", base, base)
	}
	return key, nil
}

func (k SigningKey) check() error {
	now := time.Now()
	sig, err := k.sign([]dns.RR{k.public}, now, now)
	if err != nil {
		return err
	}
	return sig.Verify(k.public, []dns.RR{k.public})
}

func readFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("reading a key: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(b) > maxKeyFile {
		err = errors.New("is too long for a key")
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return string(b), nil
}

// Write writes the key to two new files in a folder, in the format of BIND, and returns the name of the private one.
func (k SigningKey) Write(dir string) (string, error) {
	base := filepath.Join(dir, fmt.Sprintf("K%s+%03d+%05d", k.public.Hdr.Name, k.public.Algorithm, k.public.KeyTag()))
	for _, file := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{base + ".private", k.public.PrivateKeyString(k.signer), 0o600},
		{base + ".key", k.public.String() + "\n", 0o644},
	} {
		f, err := os.OpenFile(file.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, file.mode)
		if err != nil {
			return "", fmt.Errorf("writing a key: %w", err)
		}
		_, err = f.WriteString(file.text)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return "", fmt.Errorf("writing %s: %w", file.name, err)
		}
	}
	return base + ".private", nil
}

// DS returns the record that the parent zone is to publish for the key, as a line of a zone file.
func (k SigningKey) DS() string {
	ds := dnssec.NewDS(k.public)
	return strings.ReplaceAll(ds.String(), "\t", " ")
}

func (k SigningKey) sign(rrs []dns.RR, from, until time.Time) (*dns.RRSIG, error) {
	sig := &dns.RRSIG{
		Algorithm: k.public.Algorithm, KeyTag: k.public.KeyTag(), SignerName: k.public.Hdr.Name,
		Inception: uint32(from.Unix()), Expiration: uint32(until.Unix()), // RFC 4034 section 3.1.5: modulo 2^32
	}
	if err := sig.Sign(k.signer, rrs); err != nil {
		return nil, fmt.Errorf("signing %s: %w", rrs[0].Header().Name, err)
	}
	return sig, nil
}

// A Key is the shared secret with which the servers of a zone authenticate their messages (TSIG, RFC 8945).
type Key struct {
	Name      diag.Name // as all servers call it
	Algorithm string    // hmac-sha256, hmac-sha384 or hmac-sha512
	Secret    []byte    // at least 16 bytes
}

// minSecret bounds a secret, in bytes. RFC 8945 section 10 wants no less than the output of the hash; half of that
// cannot be guessed either.
const minSecret = 16

// algorithms are those that RFC 8945 section 6 requires or recommends, without the hashes that are broken.
var algorithms = []string{"hmac-sha256", "hmac-sha384", "hmac-sha512"}

// ParseKey reads ALGORITHM:NAME:SECRET or NAME:SECRET with a secret in base64, as dig -y does. Without an algorithm it
// is hmac-sha256.
func ParseKey(text string) (Key, error) {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append([]string{algorithms[0]}, parts...)
	}
	if len(parts) != 3 {
		return Key{}, fmt.Errorf("a TSIG key is ALGORITHM:NAME:SECRET")
	}
	algorithm := strings.ToLower(parts[0])
	if !slices.Contains(algorithms, algorithm) {
		return Key{}, fmt.Errorf("TSIG algorithm %.30q is not one of %s", parts[0], strings.Join(algorithms, ", "))
	}
	name, err := diag.ParseName(parts[1])
	if err != nil || name.String() == "." {
		return Key{}, fmt.Errorf("TSIG key: %.60q is not a name", parts[1])
	}
	secret, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(secret) < minSecret {
		return Key{}, fmt.Errorf("TSIG key %s: the secret is not base64 of %d bytes at least", name, minSecret)
	}
	return Key{name, algorithm, secret}, nil
}

func (k *Key) secrets() map[string]string {
	if k == nil {
		return nil
	}
	return map[string]string{k.Name.FQDN(): base64.StdEncoding.EncodeToString(k.Secret)}
}

// fudge is how far clocks may be apart, in seconds (RFC 8945 section 10).
const fudge = 300

func (k *Key) sign(m *dns.Msg) {
	if k != nil {
		m.SetTsig(k.Name.FQDN(), dns.Fqdn(k.Algorithm), fudge, time.Now().Unix())
	}
}

// size is how much a signature adds to a message at most: two names, a hash of 64 bytes and the rest.
func (k *Key) size() int { return len(k.Name.FQDN()) + 1 + len(k.Algorithm) + 2 + 64 + 26 }

// signed verifies the signature of a question: NOERROR if it is valid or missing; else the error of RFC 8945 section
// 5.2.
func (s *Server) signed(w dns.ResponseWriter, q *dns.Msg) (tsig *dns.TSIG, fault int) {
	if tsig = q.IsTsig(); tsig == nil || malformed(q) {
		return nil, dns.RcodeSuccess
	}
	key := s.config.Key
	switch {
	case key == nil, dns.CanonicalName(tsig.Hdr.Name) != key.Name.FQDN(),
		dns.CanonicalName(tsig.Algorithm) != dns.Fqdn(key.Algorithm):
		return tsig, dns.RcodeBadKey
	case w.TsigStatus() == dns.ErrTime:
		return tsig, dns.RcodeBadTime
	case w.TsigStatus() != nil:
		return tsig, dns.RcodeBadSig
	}
	return tsig, dns.RcodeSuccess
}

// unsigned refuses a question whose signature is not good (RFC 8945 section 5.2).
func unsigned(q *dns.Msg, tsig *dns.TSIG, fault int) *dns.Msg {
	m := reply(q)
	m.Rcode = dns.RcodeNotAuth
	m.SetTsig(tsig.Hdr.Name, tsig.Algorithm, fudge, int64(tsig.TimeSigned))
	theirs := m.IsTsig()
	theirs.Error, theirs.OrigId = uint16(fault), q.Id
	if fault == dns.RcodeBadTime { // RFC 8945 section 5.2.3
		theirs.OtherLen, theirs.OtherData = 6, fmt.Sprintf("%012x", time.Now().Unix())
	}
	return m
}

// malformed reports whether a message has a signature without content, or anywhere but at its end (RFC 8945
// section 5.1).
func malformed(q *dns.Msg) bool {
	for i, rr := range q.Extra {
		if tsig, ok := rr.(*dns.TSIG); ok && (i < len(q.Extra)-1 || tsig.Algorithm == "") {
			return true
		}
	}
	return false
}
