package textutil

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"hash/crc64"
	"hash/fnv"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/blake3"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/ripemd160" //lint:ignore SA1019 old data bears digests of it
)

// A HashAlgorithm names an algorithm and the length of its output.
type HashAlgorithm string

// The algorithms. Digests of more than one byte are written with the most significant byte first.
const (
	MD5        HashAlgorithm = "md5"         // RFC 1321
	SHA1       HashAlgorithm = "sha1"        // FIPS 180-4
	sha224     HashAlgorithm = "sha224"      // FIPS 180-4
	SHA256     HashAlgorithm = "sha256"      // FIPS 180-4
	sha384     HashAlgorithm = "sha384"      // FIPS 180-4
	SHA512     HashAlgorithm = "sha512"      // FIPS 180-4
	shA512x224 HashAlgorithm = "sha512_224"  // FIPS 180-4 section 5.3.6.1: SHA-512/224
	shA512x256 HashAlgorithm = "sha512_256"  // FIPS 180-4 section 5.3.6.2: SHA-512/256
	shA3x224   HashAlgorithm = "sha3_224"    // FIPS 202
	shA3x256   HashAlgorithm = "sha3_256"    // FIPS 202
	shA3x384   HashAlgorithm = "sha3_384"    // FIPS 202
	shA3x512   HashAlgorithm = "sha3_512"    // FIPS 202
	shake128   HashAlgorithm = "shake128"    // FIPS 202, 256 bits of output
	shake256   HashAlgorithm = "shake256"    // FIPS 202, 512 bits of output
	blakE2b256 HashAlgorithm = "blake2b_256" // RFC 7693
	blakE2b512 HashAlgorithm = "blake2b_512" // RFC 7693
	blakE2s256 HashAlgorithm = "blake2s_256" // RFC 7693
	BLAKE3     HashAlgorithm = "blake3"      // 256 bits of output
	RIPEMD160  HashAlgorithm = "ripemd160"   // ISO/IEC 10118-3
	CRC32      HashAlgorithm = "crc32"       // IEEE 802.3, as in zip and gzip
	crc32c     HashAlgorithm = "crc32c"      // Castagnoli, as in iSCSI (RFC 3720)
	crc64iso   HashAlgorithm = "crc64_iso"   // ISO 3309
	crc64ecma  HashAlgorithm = "crc64_ecma"  // ECMA-182 reflected, as in xz
	Adler32    HashAlgorithm = "adler32"     // RFC 1950
	fnV1a32    HashAlgorithm = "fnv1a_32"    // Fowler, Noll and Vo
	fnV1a64    HashAlgorithm = "fnv1a_64"    // Fowler, Noll and Vo
	xxh64      HashAlgorithm = "xxh64"       // xxHash, seed 0
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
	{MD5, hashBroken, true, md5.New},
	{SHA1, hashBroken, true, sha1.New},
	{sha224, hashLegacy, true, sha256.New224},
	{SHA256, hashOK, true, sha256.New},
	{sha384, hashOK, true, sha512.New384},
	{SHA512, hashOK, true, sha512.New},
	{shA512x224, hashLegacy, true, sha512.New512_224},
	{shA512x256, hashOK, true, sha512.New512_256},
	{shA3x224, hashLegacy, true, func() hash.Hash { return sha3.New224() }},
	{shA3x256, hashOK, true, func() hash.Hash { return sha3.New256() }},
	{shA3x384, hashOK, true, func() hash.Hash { return sha3.New384() }},
	{shA3x512, hashOK, true, func() hash.Hash { return sha3.New512() }},
	{shake128, hashOK, false, func() hash.Hash { return shakeHash{sha3.NewSHAKE128(), 32} }},
	{shake256, hashOK, false, func() hash.Hash { return shakeHash{sha3.NewSHAKE256(), 64} }},
	{blakE2b256, hashOK, true, unkeyed(blake2b.New256)},
	{blakE2b512, hashOK, true, unkeyed(blake2b.New512)},
	{blakE2s256, hashOK, true, unkeyed(blake2s.New256)},
	{BLAKE3, hashOK, true, func() hash.Hash { return blake3.New() }},
	{RIPEMD160, hashLegacy, true, ripemd160.New},
	{CRC32, hashChecksum, false, func() hash.Hash { return crc32.NewIEEE() }},
	{crc32c, hashChecksum, false, func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
	{crc64iso, hashChecksum, false, func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ISO)) }},
	{crc64ecma, hashChecksum, false, func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }},
	{Adler32, hashChecksum, false, func() hash.Hash { return adler32.New() }},
	{fnV1a32, hashChecksum, false, func() hash.Hash { return fnv.New32a() }},
	{fnV1a64, hashChecksum, false, func() hash.Hash { return fnv.New64a() }},
	{xxh64, hashChecksum, false, func() hash.Hash { return xxhash.New() }},
}

// find returns the row of an algorithm, or nil.
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
