package nameserver

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Key is the secret that the servers of a zone share, by which they know each other's messages (TSIG, RFC 8945).
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
		return Key{}, fmt.Errorf("TSIG algorithm %.30q is none of %s", parts[0], strings.Join(algorithms, ", "))
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

// secrets is the key as the DNS library wants it; nil without one.
func (k *Key) secrets() map[string]string {
	if k == nil {
		return nil
	}
	return map[string]string{k.Name.FQDN(): base64.StdEncoding.EncodeToString(k.Secret)}
}

// fudge is how far clocks may be apart, in seconds (RFC 8945 section 10).
const fudge = 300

// sign lets a message be signed when it is sent.
func (k *Key) sign(m *dns.Msg) {
	if k != nil {
		m.SetTsig(k.Name.FQDN(), dns.Fqdn(k.Algorithm), fudge, time.Now().Unix())
	}
}

// size is how much a signature adds to a message at most: two names, a hash of 64 bytes and the rest.
func (k *Key) size() int { return len(k.Name.FQDN()) + 1 + len(k.Algorithm) + 2 + 64 + 26 }

// signed says how the signature of a question is: NOERROR if it is good, or if there is none; else the error
// of RFC 8945 section 5.2.
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
