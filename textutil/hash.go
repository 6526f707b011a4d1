package textutil

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"hash/crc64"
	"hash/fnv"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/blake3"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/ripemd160" //lint:ignore SA1019 old data bears digests of it
)

const (
	maxHashAlgorithms = 14   // in one request (CONTRACT 3.2)
	maxHMACKey        = 4096 // bytes (CONTRACT 3.2)
)

// A HashEncoding is the encoding of digests: hex or base64.
type HashEncoding string

// The encodings. Empty means HashHex.
const (
	HashHex    HashEncoding = "hex"    // lower-case hexadecimal
	HashBase64 HashEncoding = "base64" // RFC 4648 section 4, padded
)

// Values lists the encodings.
func (HashEncoding) Values() []string { return valuesOf(HashHex, HashBase64) }

// A HashSecurity rates the security of an algorithm: ok, legacy, broken or checksum.
type HashSecurity string

const (
	HashOK       HashSecurity = "ok"       // no attack is known that is better than its size allows
	HashLegacy   HashSecurity = "legacy"   // not broken, but too short against collisions for new uses
	HashBroken   HashSecurity = "broken"   // two texts of one digest have been made, or can be
	HashChecksum HashSecurity = "checksum" // finds accidents; anyone can make a text of a given value
)

// Values lists the labels.
func (HashSecurity) Values() []string { return valuesOf(HashOK, HashLegacy, HashBroken, HashChecksum) }

// A HashRequest asks for digests of data. Set Text or DataBase64, not both; if both are empty, the data is
// empty.
type HashRequest struct {
	Text       string `json:"text" oneof:"input" maxbytes:"1048576" doc:"the data, if it is text" example:"Hello"`
	DataBase64 string `json:"data_base64" oneof:"input" maxbytes:"1398104" doc:"the data in Base64, if it is not text"`
	// Algorithms are 1 to 14 different algorithms. Nil means md5, sha1, sha256 and sha512.
	Algorithms []HashAlgorithm `json:"algorithms,omitempty" minitems:"1" maxitems:"14" unique:"true" default:"[\"md5\",\"sha1\",\"sha256\",\"sha512\"]" doc:"which digests"`
	// HMACKey is a key of at most 4096 bytes for message authentication codes (HMAC, RFC 2104) instead of
	// plain digests. Nil means plain digests; an empty key is valid. Checksums and the SHAKE functions have
	// no HMAC.
	HMACKey *string `json:"hmac_key,omitempty" maxbytes:"4096" doc:"key of HMAC; without it, plain digests"`

	Encoding HashEncoding `json:"encoding,omitempty" default:"hex" doc:"how digests are written"` // empty: hex
}

// A HashReport has the digests of the data.
type HashReport struct {
	Hashes      map[HashAlgorithm]string       `json:"hashes" doc:"digest by algorithm"`
	HMAC        bool                           `json:"hmac" doc:"whether the digests are HMACs under the key"`
	Weak        []HashAlgorithm                `json:"weak" doc:"those that stop no forger"`
	Security    map[HashAlgorithm]HashSecurity `json:"security" doc:"what each algorithm is good for"`
	InputBytes  int                            `json:"input_bytes" min:"0" doc:"length of the data in bytes"`
	OutputBytes int                            `json:"output_bytes" min:"0" doc:"length of all digests together"`
}

// Hash returns digests of data by one or more algorithms. The error is an *[InputError].
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
		if a.security == HashBroken || a.security == HashChecksum {
			report.Weak = append(report.Weak, a.name)
		}
	}
	return report, nil
}

// algorithms checks the request but for its data, and returns the algorithms it names.
func (req *HashRequest) algorithms() ([]*hashAlgorithm, error) {
	switch req.Encoding {
	case "", HashHex, HashBase64:
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
			return nil, invalid("algorithms", "%s has no HMAC: omit it, or omit hmac_key", name)
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
	if e == HashBase64 {
		return base64.StdEncoding.EncodeToString(digest)
	}
	return hex.EncodeToString(digest)
}

// A HashAlgorithm names an algorithm and the length of its output: md5, sha1, sha224, sha256, sha384, sha512,
// sha512_224, sha512_256, sha3_224, sha3_256, sha3_384, sha3_512, shake128, shake256, blake2b_256, blake2b_512,
// blake2s_256, blake3, ripemd160, crc32, crc32c, crc64_iso, crc64_ecma, adler32, fnv1a_32, fnv1a_64 or xxh64.
type HashAlgorithm string

// The algorithms. The bytes of all digests, including checksums, are written with the most significant byte
// first.
const (
	MD5        HashAlgorithm = "md5"         // RFC 1321
	SHA1       HashAlgorithm = "sha1"        // FIPS 180-4
	SHA224     HashAlgorithm = "sha224"      // FIPS 180-4
	SHA256     HashAlgorithm = "sha256"      // FIPS 180-4
	SHA384     HashAlgorithm = "sha384"      // FIPS 180-4
	SHA512     HashAlgorithm = "sha512"      // FIPS 180-4
	SHA512x224 HashAlgorithm = "sha512_224"  // FIPS 180-4 section 5.3.6.1: SHA-512/224
	SHA512x256 HashAlgorithm = "sha512_256"  // FIPS 180-4 section 5.3.6.2: SHA-512/256
	SHA3x224   HashAlgorithm = "sha3_224"    // FIPS 202
	SHA3x256   HashAlgorithm = "sha3_256"    // FIPS 202
	SHA3x384   HashAlgorithm = "sha3_384"    // FIPS 202
	SHA3x512   HashAlgorithm = "sha3_512"    // FIPS 202
	SHAKE128   HashAlgorithm = "shake128"    // FIPS 202, 256 bits of output
	SHAKE256   HashAlgorithm = "shake256"    // FIPS 202, 512 bits of output
	BLAKE2b256 HashAlgorithm = "blake2b_256" // RFC 7693
	BLAKE2b512 HashAlgorithm = "blake2b_512" // RFC 7693
	BLAKE2s256 HashAlgorithm = "blake2s_256" // RFC 7693
	BLAKE3     HashAlgorithm = "blake3"      // 256 bits of output
	RIPEMD160  HashAlgorithm = "ripemd160"   // ISO/IEC 10118-3
	CRC32      HashAlgorithm = "crc32"       // IEEE 802.3, as in zip and gzip
	CRC32C     HashAlgorithm = "crc32c"      // Castagnoli, as in iSCSI (RFC 3720)
	CRC64ISO   HashAlgorithm = "crc64_iso"   // ISO 3309
	CRC64ECMA  HashAlgorithm = "crc64_ecma"  // ECMA-182 reflected, as in xz
	Adler32    HashAlgorithm = "adler32"     // RFC 1950
	FNV1a32    HashAlgorithm = "fnv1a_32"    // Fowler, Noll and Vo
	FNV1a64    HashAlgorithm = "fnv1a_64"    // Fowler, Noll and Vo
	XXH64      HashAlgorithm = "xxh64"       // xxHash, seed 0
)

// Values lists the algorithms.
func (HashAlgorithm) Values() []string {
	names := make([]string, len(hashTable))
	for i := range hashTable {
		names[i] = string(hashTable[i].name)
	}
	return names
}

// A hashAlgorithm is one row of the table of algorithms.
type hashAlgorithm struct {
	name     HashAlgorithm
	security HashSecurity
	hmac     bool // whether HMAC is defined over it: RFC 2104 needs a hash of a fixed length that iterates blocks
	new      func() hash.Hash
}

// hashTable has every algorithm. Collisions of MD5 and SHA-1 have been published (RFC 6151; SHAttered,
// 2017). A digest of less than 256 bits gives less than 128 bits against collisions: RIPEMD-160 gives 80.
// NIST plans to end the use of 224-bit hashes in 2030 (SP 800-131A revision 3, draft).
var hashTable = []hashAlgorithm{
	{MD5, HashBroken, true, md5.New},
	{SHA1, HashBroken, true, sha1.New},
	{SHA224, HashLegacy, true, sha256.New224},
	{SHA256, HashOK, true, sha256.New},
	{SHA384, HashOK, true, sha512.New384},
	{SHA512, HashOK, true, sha512.New},
	{SHA512x224, HashLegacy, true, sha512.New512_224},
	{SHA512x256, HashOK, true, sha512.New512_256},
	{SHA3x224, HashLegacy, true, func() hash.Hash { return sha3.New224() }},
	{SHA3x256, HashOK, true, func() hash.Hash { return sha3.New256() }},
	{SHA3x384, HashOK, true, func() hash.Hash { return sha3.New384() }},
	{SHA3x512, HashOK, true, func() hash.Hash { return sha3.New512() }},
	{SHAKE128, HashOK, false, func() hash.Hash { return shakeHash{sha3.NewSHAKE128(), 32} }},
	{SHAKE256, HashOK, false, func() hash.Hash { return shakeHash{sha3.NewSHAKE256(), 64} }},
	{BLAKE2b256, HashOK, true, unkeyed(blake2b.New256)},
	{BLAKE2b512, HashOK, true, unkeyed(blake2b.New512)},
	{BLAKE2s256, HashOK, true, unkeyed(blake2s.New256)},
	{BLAKE3, HashOK, true, func() hash.Hash { return blake3.New() }},
	{RIPEMD160, HashLegacy, true, ripemd160.New},
	{CRC32, HashChecksum, false, func() hash.Hash { return crc32.NewIEEE() }},
	{CRC32C, HashChecksum, false, func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
	{CRC64ISO, HashChecksum, false, func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ISO)) }},
	{CRC64ECMA, HashChecksum, false, func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }},
	{Adler32, HashChecksum, false, func() hash.Hash { return adler32.New() }},
	{FNV1a32, HashChecksum, false, func() hash.Hash { return fnv.New32a() }},
	{FNV1a64, HashChecksum, false, func() hash.Hash { return fnv.New64a() }},
	{XXH64, HashChecksum, false, func() hash.Hash { return xxhash.New() }},
}

func (a HashAlgorithm) find() *hashAlgorithm {
	for i := range hashTable {
		if hashTable[i].name == a {
			return &hashTable[i]
		}
	}
	return nil
}

// unkeyed returns the constructor of a BLAKE2 hash without a key, with which it never fails.
func unkeyed(with func(key []byte) (hash.Hash, error)) func() hash.Hash {
	return func() hash.Hash {
		h, err := with(nil)
		if err != nil {
			panic("textutil: " + err.Error())
		}
		return h
	}
}

// shakeHash is a SHAKE function with an output of a fixed length.
type shakeHash struct {
	*sha3.SHAKE
	size int
}

func (s shakeHash) Size() int { return s.size }

// Sum ends the writing: a sponge that has given output takes no more input.
func (s shakeHash) Sum(b []byte) []byte {
	digest := make([]byte, s.size)
	s.SHAKE.Read(digest) // reading an extendable output never fails
	return append(b, digest...)
}
