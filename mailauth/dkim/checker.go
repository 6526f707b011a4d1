package dkim

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/miekg/dns"
)

// timeout bounds the wait for keys: a key that has not arrived by then is reported as unknown, before the caller's
// deadline (CONTRACT 1.9).
const timeout = 10 * time.Second

// A Checker computes whether signatures over one message are valid, those of DKIM and those of ARC. Signatures
// are added with [Checker.Add]; after [Checker.Gather] each can be checked.
type Checker struct {
	header       *header
	body         []byte
	headerOnly   bool
	bodies       bodyHashes
	keys         map[diag.Name]*Published
	hashBudget   int                                 // how many bytes of headers may still be hashed to find a cause
	explanations map[bodyForm]map[string]explanation // what explains a body hash that does not match
}

// NewChecker returns a checker for a message. With headerOnly there is no body, rather than an empty one.
func NewChecker(m *message.Message, headerOnly bool) *Checker {
	return &Checker{
		header: newHeader(slices.Clone(m.Fields)), body: m.Body, headerOnly: headerOnly, keys: map[diag.Name]*Published{},
		hashBudget: maxTriedHeader, explanations: map[bodyForm]map[string]explanation{},
	}
}

// Add registers a signature, so that its key is looked up and its body hash computed.
func (c *Checker) Add(s *Signature) {
	if !s.KeyName.IsZero() {
		c.keys[s.KeyName] = nil
	}
	if s.computable() && s.Kind != ARCSeal && !c.headerOnly {
		c.bodies.request(s.bodyForm(), s.bodyLength())
	}
}

func (s *Signature) bodyForm() bodyForm { return bodyForm{s.Body, s.Hash} }

func (s *Signature) bodyLength() int64 {
	if s.Length == nil {
		return whole
	}
	return *s.Length
}

// Gather looks up all keys concurrently while it computes the body hashes. It fails only when the context ends.
func (c *Checker) Gather(ctx context.Context, env *diag.Env) error {
	lookups, cancel := diag.Within(ctx, timeout)
	defer cancel()
	var g diag.Group
	for name := range c.keys {
		p := &Published{Name: name}
		c.keys[name] = p
		g.Go(func() { p.read(diag.Lookup[*dns.TXT](lookups, env, name.FQDN())) })
	}
	g.Go(func() { c.bodies.compute(c.body) })
	g.Wait()
	return ctx.Err()
}

// Published holds the DNS records at the name of a key.
type Published struct {
	Name   diag.Name
	Record string // the record, if there is exactly one
	Key    *Key   // nil unless there is exactly one
	Cause  Cause  // why there is no key to verify with; empty with one
	Text   string // the same in a sentence

	ambiguousKeys []crypto.PublicKey // those of several records
}

const maxKeys = 4

func (p *Published) read(a diag.Answer[*dns.TXT]) {
	switch found := format.Find(a.Records); {
	case a.Err() != nil:
		p.setCause(KeyUnknown, "The key at %s could not be looked up: %s.", p.Name, diag.Reason(a.Err()))
	case len(a.Records) == 0 && a.NXDomain():
		p.setCause(KeyMissing, "There is no key: the name %s does not exist.", p.Name)
	case len(a.Records) == 0:
		p.setCause(KeyMissing, "There is no key: %s has no TXT record.", p.Name)
	case len(found.Records) > 1: // RFC 6376 section 3.6.2.2
		p.setCause(KeyAmbiguous, "There are %d keys at %s, and verifiers may take any of "+
			"them.", len(found.Records), p.Name)
		for _, record := range found.Records[:min(len(found.Records), maxKeys)] {
			if key := ParseKey(record); key.Public != nil && key.Details.SizeBits <= maxRSABits {
				p.ambiguousKeys = append(p.ambiguousKeys, key.Public)
			}
		}
	case len(found.Records) == 1:
		p.setRecord(found.Records[0])
	case len(a.Records) == 1: // not a key, but verifiers read it as one
		p.setRecord(dnsmsg.TXT(a.Records[0]))
	default:
		p.setCause(KeyMissing, "There is no key: none of the %d TXT records at %s is one.", len(a.Records), p.Name)
	}
}

func (p *Published) setCause(cause Cause, format string, args ...any) {
	p.Cause, p.Text = cause, fmt.Sprintf(format, args...)
}

func (p *Published) setRecord(record string) {
	p.Record, p.Key = record, ParseKey(record)
	err, _ := p.Key.Err().(*keyError)
	switch {
	case err == nil && p.Key.Details.SizeBits > maxRSABits:
		p.setCause(KeyUnusable, "The key at %s has %d bits, more than verifiers compute with.",
			p.Name, p.Key.Details.SizeBits)
	case err == nil, err.Reason == reasonSize:
	case err.Reason == reasonRevoked:
		p.setCause(KeyRevoked, "The key at %s has been revoked: the value of p= is empty.", p.Name)
	default:
		p.setCause(KeyUnusable, "The key at %s cannot be used: %s.", p.Name, err.Text)
	}
}

func (p *Published) public() []crypto.PublicKey {
	switch {
	case p == nil:
		return nil
	case p.Key == nil:
		return p.ambiguousKeys
	case p.Key.Public == nil || p.Key.Details.SizeBits > maxRSABits:
		return nil
	}
	return []crypto.PublicKey{p.Key.Public}
}

// Short reports whether verifiers must refuse the key for its size (RFC 8301 section 3.2).
func (p *Published) Short() bool {
	err, ok := p.Key.Err().(*keyError)
	return ok && err.Reason == reasonSize
}

// A Check is the result of a [Checker] for a signature. What is unknown is nil.
type Check struct {
	Key         *Published // nil if the signature does not say where it is
	BodyHashOK  *bool
	SignatureOK *bool
}

// Failed reports whether the body or a signed field is known not to be as it was signed.
func (c Check) Failed() bool {
	return c.BodyHashOK != nil && !*c.BodyHashOK || c.SignatureOK != nil && !*c.SignatureOK
}

// Selected returns the indices of the fields that the signature covers by h=, itself excluded; self is the
// field that it is in.
func (c *Checker) Selected(s *Signature, self int) []int { return c.header.selected(s.Names, self) }

// Check computes whether a signature is valid; signed are the fields that it covers, in order.
func (c *Checker) Check(s *Signature, signed []int, self int) Check {
	check := Check{Key: c.keys[s.KeyName]}
	if !s.computable() {
		return check
	}
	if s.Kind != ARCSeal && !c.headerOnly {
		check.BodyHashOK = new(bytes.Equal(c.bodies.sums[s.bodyForm()][s.bodyLength()], s.BodyHash))
	}
	keys := check.Key.public()
	if len(keys) == 0 {
		return check
	}
	digest := c.digest(s, s.Header, signed, self)
	check.SignatureOK = new(slices.ContainsFunc(keys, func(key crypto.PublicKey) bool {
		return matches(key, s.Hash, digest, s.Bytes)
	}))
	return check
}

// digest computes the hash of the signed fields and of the signature itself (RFC 6376 section 3.7).
func (c *Checker) digest(s *Signature, canonical Canonicalization, signed []int, self int) []byte {
	h := s.Hash.New()
	var buffer []byte
	for _, i := range signed {
		buffer = canonical.AppendField(buffer[:0], c.header.fields[i].Raw)
		h.Write(buffer)
	}
	buffer = canonical.AppendField(buffer[:0], s.unsigned(c.header.fields[self].Raw))
	h.Write(bytes.TrimSuffix(buffer, []byte("\r\n")))
	return h.Sum(nil)
}

// maxRSABits bounds the keys that are computed with: twice what verifiers must know leaves room.
const maxRSABits = 8192

// digestInfo holds the DigestInfo prefixes of digests in RSA signatures (RFC 8017 section 9.2, note 1).
var digestInfo = map[crypto.Hash][]byte{
	crypto.SHA1: {0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14},
	crypto.SHA256: {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
		0x04, 0x20},
}

// matches reports whether a signature is that of a digest. Keys that crypto/rsa refuses for their size are accepted,
// to distinguish a weak signature from a forged one.
func matches(key crypto.PublicKey, hash crypto.Hash, digest, signature []byte) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if rsa.VerifyPKCS1v15(key, hash, digest, signature) == nil { // takes half the time
			return true
		}
		got, with, ok := signedDigest(key, signature)
		return ok && with == hash && bytes.Equal(got, digest)
	case ed25519.PublicKey:
		return ed25519.Verify(key, digest, signature) // RFC 8463 section 3
	}
	return false
}

// signedDigest returns the digest in an RSA signature (RFC 8017 section 8.2.2). Without one, the signature was made
// with another key, or was damaged.
func signedDigest(key *rsa.PublicKey, signature []byte) (digest []byte, hash crypto.Hash, ok bool) {
	size := (key.N.BitLen() + 7) / 8
	s := new(big.Int).SetBytes(signature)
	if len(signature) != size || s.Cmp(key.N) >= 0 || key.N.BitLen() > maxRSABits || key.E < 2 {
		return nil, 0, false
	}
	encoded := s.Exp(s, big.NewInt(int64(key.E)), key.N).FillBytes(make([]byte, size))
	for hash, prefix := range digestInfo {
		if n := size - hash.Size(); n >= 0 {
			if digest := encoded[n:]; bytes.Equal(encoded, padded(size, prefix, digest)) {
				return digest, hash, true
			}
		}
	}
	return nil, 0, false
}

// padded is EMSA-PKCS1-v1_5 (RFC 8017 section 9.2); nil if it does not fit.
func padded(size int, prefix, digest []byte) []byte {
	fill := size - 3 - len(prefix) - len(digest)
	if fill < 8 {
		return nil
	}
	em := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, fill)...)
	return append(append(append(em, 0), prefix...), digest...)
}
