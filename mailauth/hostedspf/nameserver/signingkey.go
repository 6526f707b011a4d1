package nameserver

import (
	"crypto"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// check reports whether what the private part signs is good by the public part.
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

// DS is the record that the parent zone is to publish for the key, as a line of a zone file.
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
