package textutil

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"slices"
)

const (
	maxHashAlgorithms = 14   // in one request (CONTRACT 3.2)
	maxHMACKey        = 4096 // bytes (CONTRACT 3.2)
)

// A HashEncoding names how the bytes of a digest are written.
type HashEncoding string

// The encodings. Empty means HashHex.
const (
	hashHex    HashEncoding = "hex"    // lower-case hexadecimal
	hashBase64 HashEncoding = "base64" // RFC 4648 section 4, padded
)

// Values lists the encodings.
func (HashEncoding) Values() []string { return valuesOf(hashHex, hashBase64) }

// A HashSecurity says what an algorithm is good for.
type HashSecurity string

const (
	hashOK       HashSecurity = "ok"       // no attack is known that is better than its size allows
	hashLegacy   HashSecurity = "legacy"   // not broken, but too short against collisions for new uses
	hashBroken   HashSecurity = "broken"   // two texts of one digest have been made, or can be
	hashChecksum HashSecurity = "checksum" // finds accidents; anybody can make a text of a given value
)

// Values lists the labels.
func (HashSecurity) Values() []string { return valuesOf(hashOK, hashLegacy, hashBroken, hashChecksum) }

// A HashRequest asks for digests of data. Exactly one of Text and DataBase64 is given; if both are
// empty, the data is empty.
type HashRequest struct {
	// Text is valid UTF-8 of at most [MaxText] bytes.
	Text string `json:"text" oneof:"input" maxbytes:"1048576" doc:"the data, if it is text" example:"Hello"`
	// DataBase64 is at most [MaxText] bytes in Base64, in any form that a forgiving decoder reads.
	DataBase64 string `json:"data_base64" oneof:"input" maxbytes:"1398104" doc:"the data in Base64, if it is not text"`
	// Algorithms are 1 to 14 different ones. Nil means md5, sha1, sha256 and sha512.
	Algorithms []HashAlgorithm `json:"algorithms,omitempty" minitems:"1" maxitems:"14" unique:"true" default:"[\"md5\",\"sha1\",\"sha256\",\"sha512\"]" doc:"which digests"`
	// HMACKey makes the digests message authentication codes (RFC 2104) under this key, of at most 4096 bytes. Nil
	// means plain digests; an empty key is a key. Checksums and the SHAKE functions have no HMAC.
	HMACKey *string `json:"hmac_key,omitempty" maxbytes:"4096" doc:"key of HMAC; without it, plain digests"`

	Encoding HashEncoding `json:"encoding,omitempty" default:"hex" doc:"how digests are written"` // empty: hex
}

// A HashReport holds digests of one text.
type HashReport struct {
	Hashes      map[HashAlgorithm]string       `json:"hashes" doc:"digest by algorithm"`
	HMAC        bool                           `json:"hmac" doc:"whether the digests are HMACs under the key"`
	Weak        []HashAlgorithm                `json:"weak" doc:"those that stop no forger"`
	Security    map[HashAlgorithm]HashSecurity `json:"security" doc:"what each algorithm is good for"`
	InputBytes  int                            `json:"input_bytes" min:"0" doc:"length of the data in bytes"`
	OutputBytes int                            `json:"output_bytes" min:"0" doc:"length of all digests together"`
}

// Hash returns digests of data by one or more algorithms. The error is an [InputError].
func Hash(req HashRequest) (*HashReport, error) {
	algorithms, err := req.algorithms()
	if err != nil {
		return nil, err
	}
	data, err := inputData(req.Text, req.DataBase64)
	if err != nil {
		return nil, err
	}
	report := &HashReport{
		Hashes: make(map[HashAlgorithm]string, len(algorithms)), Weak: []HashAlgorithm{}, HMAC: req.HMACKey != nil,
		Security: make(map[HashAlgorithm]HashSecurity, len(algorithms)), InputBytes: len(data),
	}
	for _, a := range algorithms {
		digest := req.Encoding.encode(req.digest(a, data))
		report.Hashes[a.name] = digest
		report.Security[a.name] = a.security
		report.OutputBytes += len(digest)
		if a.security == hashBroken || a.security == hashChecksum {
			report.Weak = append(report.Weak, a.name)
		}
	}
	return report, nil
}

// algorithms checks the request but for its data, and returns the algorithms it names.
func (req *HashRequest) algorithms() ([]*hashAlgorithm, error) {
	switch req.Encoding {
	case "", hashHex, hashBase64:
	default:
		return nil, invalid("encoding", "%.40q is neither hex nor base64", string(req.Encoding))
	}
	if req.HMACKey != nil && len(*req.HMACKey) > maxHMACKey {
		return nil, invalid("hmac_key", "has %d bytes; the most is %d", len(*req.HMACKey), maxHMACKey)
	}
	names := req.Algorithms
	if names == nil {
		names = []HashAlgorithm{MD5, SHA1, SHA256, SHA512}
	}
	if len(names) == 0 || len(names) > maxHashAlgorithms {
		return nil, invalid("algorithms", "has %d entries; it may have from 1 to %d", len(names), maxHashAlgorithms)
	}
	list := make([]*hashAlgorithm, 0, len(names))
	for i, name := range names {
		a := name.find()
		switch {
		case a == nil:
			return nil, invalid("algorithms", "%.40q is not an algorithm that is known here", string(name))
		case slices.Contains(names[:i], name):
			return nil, invalid("algorithms", "%s is in the list twice", name)
		case req.HMACKey != nil && !a.hmac:
			return nil, invalid("algorithms", "%s has no HMAC: leave it out, or leave out hmac_key", name)
		}
		list = append(list, a)
	}
	return list, nil
}

func (req *HashRequest) digest(a *hashAlgorithm, data []byte) []byte {
	h := a.new()
	if req.HMACKey != nil {
		h = hmac.New(a.new, []byte(*req.HMACKey))
	}
	h.Write(data) // a hash never returns an error
	return h.Sum(nil)
}

func (e HashEncoding) encode(digest []byte) string {
	if e == hashBase64 {
		return base64.StdEncoding.EncodeToString(digest)
	}
	return hex.EncodeToString(digest)
}
