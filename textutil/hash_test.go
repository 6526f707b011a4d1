package textutil_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil"
)

func ExampleHash() {
	report, err := textutil.Hash(textutil.HashRequest{
		Text: "example.com", Algorithms: []textutil.HashAlgorithm{textutil.MD5, textutil.CRC32},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(report.Hashes)) {
		fmt.Println(name, report.Hashes[name], report.Security[name])
	}
	// Output:
	// crc32 b6fa4eb9 checksum
	// md5 5ababd603b22780302dd8d83498e5172 broken
}

// TestHashOfQuickBrownFox compares with digests that were made by other programs: coreutils, OpenSSL,
// Python, xz, and the reference implementations of FNV and xxHash.
func TestHashOfQuickBrownFox(t *testing.T) {
	const text = "The quick brown fox jumps over the lazy dog"
	want := map[textutil.HashAlgorithm]string{
		"md5":        "9e107d9d372bb6826bd81d3542a419d6",
		"sha1":       "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
		"sha224":     "730e109bd7a8a32b1cb9d9a09aa2325d2430587ddbc0c38bad911525",
		"sha256":     "d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592",
		"sha512_256": "dd9d67b371519c339ed8dbd25af90e976a1eeefd4ad3d889005e532fc5bef04d",
		"sha3_256":   "69070dda01975c8c120c3aada1b282394e7f032fa9cf32f4cb2259a0897dfc04",
		"shake128":   "f4202e3c5852f9182a0430fd8144f0a74b95e7417ecae17db0f8cfeed0e3e66e",
		"ripemd160":  "37f332f68db77bd9d7edd4969571ad671cf9dd3b",
		"crc32":      "414fa339",
		"crc32c":     "22620404",
		"adler32":    "5bdc0fda",
		"fnv1a_32":   "048fff90",
		"fnv1a_64":   "f3f9b7f5e7e47110",
		"xxh64":      "0b242d361fda71bc",
	}
	report, err := textutil.Hash(textutil.HashRequest{Text: text, Algorithms: slices.Collect(maps.Keys(want))})
	if err != nil {
		t.Fatal(err)
	}
	for name, digest := range want {
		if report.Hashes[name] != digest {
			t.Errorf("%s: %s; want %s", name, report.Hashes[name], digest)
		}
	}
}

// TestHashOfCheckText uses the check values of the catalogues of cyclic redundancy checks, which are of
// the text "123456789".
func TestHashOfCheckText(t *testing.T) {
	want := map[textutil.HashAlgorithm]string{
		"crc32": "cbf43926", "crc32c": "e3069283", "crc64_iso": "b90956c775a41001", "crc64_ecma": "995dc9bbdf1939fa",
		"adler32": "091e01de",
	}
	report, err := textutil.Hash(textutil.HashRequest{Text: "123456789", Algorithms: slices.Collect(maps.Keys(want))})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(report.Hashes, want) {
		t.Errorf("got %v; want %v", report.Hashes, want)
	}
	if len(report.Weak) != len(want) {
		t.Errorf("weak: %v; want all", report.Weak)
	}
}

func TestHashDefaults(t *testing.T) {
	report, err := textutil.Hash(textutil.HashRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []textutil.HashAlgorithm{"md5", "sha1", "sha256", "sha512"}
	if got := slices.Sorted(maps.Keys(report.Hashes)); !slices.Equal(got, want) {
		t.Errorf("algorithms %v; want %v", got, want)
	}
	if !slices.Equal(report.Weak, []textutil.HashAlgorithm{"md5", "sha1"}) || report.HMAC {
		t.Errorf("weak %v, hmac %v", report.Weak, report.HMAC)
	}
	if report.OutputBytes != 32+40+64+128 || report.InputBytes != 0 {
		t.Errorf("bytes: %d in, %d out", report.InputBytes, report.OutputBytes)
	}
}

func TestHashWrittenInBase64(t *testing.T) {
	req := textutil.HashRequest{DataBase64: "AAH/", Algorithms: []textutil.HashAlgorithm{"sha256"}, Encoding: "base64"}
	report, err := textutil.Hash(req)
	if err != nil {
		t.Fatal(err)
	}
	req.Encoding = ""
	plain, err := textutil.Hash(req)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := base64.StdEncoding.DecodeString(report.Hashes["sha256"])
	if err != nil || hex.EncodeToString(digest) != plain.Hashes["sha256"] || report.InputBytes != 3 {
		t.Errorf("base64 %v, hex %v", report, plain)
	}
}

// TestHashAuthenticates uses test cases 1, 2 and 6 of RFC 4231 and of RFC 2202, and the empty key.
func TestHashAuthenticates(t *testing.T) {
	cases := []struct {
		name, key, text string
		algorithm       textutil.HashAlgorithm
		want            string
	}{
		{"key shorter than the hash", strings.Repeat("\x0b", 20), "Hi There", "sha256",
			"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{"key of letters", "Jefe", "what do ya want for nothing?", "sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
		{"key longer than a block", strings.Repeat("\xaa", 80), "Test Using Larger Than Block-Size Key - Hash Key First",
			"md5", "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"},
		{"no key and no text", "", "", "sha256", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Hash(textutil.HashRequest{
				Text: c.text, Algorithms: []textutil.HashAlgorithm{c.algorithm}, HMACKey: &c.key,
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Hashes[c.algorithm] != c.want || !report.HMAC {
				t.Errorf("got %v; want %s", report, c.want)
			}
		})
	}
}

func TestHashRefuses(t *testing.T) {
	key, long := "k", strings.Repeat("k", 4097)
	fifteen := make([]textutil.HashAlgorithm, 0, 15)
	for _, name := range textutil.MD5.Values()[:15] {
		fifteen = append(fifteen, textutil.HashAlgorithm(name))
	}
	list := func(names ...textutil.HashAlgorithm) []textutil.HashAlgorithm { return names }
	cases := []struct {
		name  string
		req   textutil.HashRequest
		field string
	}{
		{"no algorithm", textutil.HashRequest{Algorithms: []textutil.HashAlgorithm{}}, "algorithms"},
		{"unknown algorithm", textutil.HashRequest{Algorithms: list("md4")}, "algorithms"},
		{"algorithm in capitals", textutil.HashRequest{Algorithms: list("MD5")}, "algorithms"},
		{"algorithm twice", textutil.HashRequest{Algorithms: list("md5", "sha1", "md5")}, "algorithms"},
		{"fifteen algorithms", textutil.HashRequest{Algorithms: fifteen}, "algorithms"},
		{"HMAC of a checksum", textutil.HashRequest{Algorithms: list("sha256", "crc32"), HMACKey: &key}, "algorithms"},
		{"HMAC of SHAKE", textutil.HashRequest{Algorithms: list("shake128"), HMACKey: &key}, "algorithms"},
		{"long key", textutil.HashRequest{HMACKey: &long}, "hmac_key"},
		{"unknown encoding", textutil.HashRequest{Encoding: "base32"}, "encoding"},
		{"text and data", textutil.HashRequest{Text: "a", DataBase64: "YQ=="}, "data_base64"},
		{"broken data", textutil.HashRequest{DataBase64: "Y!"}, "data_base64"},
		{"long data", textutil.HashRequest{DataBase64: strings.Repeat("A", 1398105)}, "data_base64"},
		{"long data without padding", textutil.HashRequest{DataBase64: strings.Repeat("A", 1398104)}, "data_base64"},
		{"long text", textutil.HashRequest{Text: strings.Repeat("a", textutil.MaxText+1)}, "text"},
		{"text that is not UTF-8", textutil.HashRequest{Text: "\xff"}, "text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := textutil.Hash(c.req)
			refused(t, report, err, c.field)
		})
	}
}

// refused fails the test unless the error is an InputError about the field and there is no report.
func refused[R any](t *testing.T, report *R, err error, field string) {
	t.Helper()
	input, ok := errors.AsType[*textutil.InputError](err)
	if report != nil || !ok {
		t.Fatalf("got %v, %v; want an InputError", report, err)
	}
	if input.Field != field || input.Reason == "" {
		t.Errorf("refused for %v; want the field %s", err, field)
	}
}

func TestConformanceHash(t *testing.T) {
	var cases []struct {
		Algo   string
		Msg    string `json:"msg_hex"`
		Digest string `json:"digest_hex"`
	}
	conformance(t, &cases, diagtest.Vectors(t, "text/hash/vectors.json"))
	known := textutil.MD5.Values()
	passed := map[string]int{}
	total := map[string]int{}
	for _, c := range cases {
		name := textutil.HashAlgorithm(strings.ReplaceAll(c.Algo, "-", "_"))
		if !slices.Contains(known, string(name)) {
			t.Errorf("the algorithm %s is not known", c.Algo)
			continue
		}
		data, err := hex.DecodeString(c.Msg)
		if err != nil {
			t.Fatal(err)
		}
		total[c.Algo]++
		report, err := textutil.Hash(textutil.HashRequest{
			DataBase64: base64.StdEncoding.EncodeToString(data), Algorithms: []textutil.HashAlgorithm{name},
		})
		// The vectors of an extendable output may be longer than ours.
		extendable := name == "blake3" || name == "shake128" || name == "shake256"
		if err != nil || report.Hashes[name] != c.Digest && !(extendable && strings.HasPrefix(c.Digest, report.Hashes[name])) {
			t.Errorf("%s of %.40s: %v, %v; want %s", c.Algo, c.Msg, report, err, c.Digest)
			continue
		}
		passed[c.Algo]++
	}
	for _, name := range slices.Sorted(maps.Keys(total)) {
		t.Logf("hash %s: %d/%d", name, passed[name], total[name])
	}
}

func BenchmarkHash(b *testing.B) {
	text := strings.Repeat("0123456789abcdef", textutil.MaxText/16)
	for _, name := range textutil.MD5.Values() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			req := textutil.HashRequest{Text: text, Algorithms: []textutil.HashAlgorithm{textutil.HashAlgorithm(name)}}
			for b.Loop() {
				if _, err := textutil.Hash(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
