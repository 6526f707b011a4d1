package pki

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag"
	"io"
	"math/big"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// KnownKeys are compromised keys: private keys that were published, and moduli that share a factor with others. The
// zero value is empty. Its parts come from [ParseKeyList], [ParseKeyHashes] and [NewKeyTable].
type KnownKeys struct {
	Lists []KeyList
	Table *KeyTable
}

// A KeyList is a list of compromised keys, given by the SHA-256 of their SubjectPublicKeyInfo, and of RSA
// moduli with which other keys may share a factor.
type KeyList struct {
	Name   string
	Hashes map[[sha256.Size]byte]bool
	Moduli []*big.Int

	product func() *big.Int // of Moduli
}

// The bounds of a list of keys.
const (
	maxKeyHashes = 4 << 20 // hashes: there are two million keys of Debian's OpenSSL
	maxKeyModuli = 10_000  // moduli: each key is reduced modulo the product of them all
)

// debianOpenSSL is in the names of lists of the keys that Debian's OpenSSL of 2006 to 2008 made (CVE-2008-0166).
const debianOpenSSL = "debian"

// ParseKeyList parses lists of keys in JSON:
//
//	{"source": "https://example.com", "date": "2026-11-22", "lists": [{
//		"name": "debian_openssl",
//		"spki_sha256": ["6b0cd1b80f54fa86deb24fa028cc1ebecf277bae16973acecf698e007c9ad8cf"],
//		"moduli": ["c4e2…"]
//	}]}
//
// The hashes, in hex, are those of the SubjectPublicKeyInfo. The moduli, also in hex, are those of RSA keys
// that may share a factor with others, or products of such moduli. Unknown and duplicate members are errors.
func ParseKeyList(data []byte) ([]KeyList, error) {
	var file struct {
		Source string `json:"source"`
		Date   string `json:"date"`
		Lists  []struct {
			Name   string   `json:"name"`
			Hashes []string `json:"spki_sha256"`
			Moduli []string `json:"moduli"`
		} `json:"lists"`
	}
	if err := diag.DecodeList(data, &file, true); err != nil {
		return nil, fmt.Errorf("reading the list of keys: %w", err)
	}
	var lists []KeyList
	for i, l := range file.Lists {
		list, err := newKeyList(l.Name, l.Hashes, l.Moduli)
		if err != nil {
			return nil, fmt.Errorf("reading the list of keys: list %d: %w", i+1, err)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func newKeyList(name string, hashes, moduli []string) (KeyList, error) {
	if name == "" || len(name) > 60 || strings.ContainsFunc(name, unicode.IsControl) {
		return KeyList{}, errors.New("name: must have 1 to 60 characters")
	}
	if len(hashes) > maxKeyHashes || len(moduli) > maxKeyModuli {
		return KeyList{}, fmt.Errorf("there may be %d hashes and %d moduli", maxKeyHashes, maxKeyModuli)
	}
	l := KeyList{Name: name, Hashes: make(map[[sha256.Size]byte]bool, len(hashes))}
	for i, text := range hashes {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != sha256.Size {
			return l, fmt.Errorf("spki_sha256: entry %d is not a SHA-256 in hex", i+1)
		}
		l.Hashes[[sha256.Size]byte(sum)] = true
	}
	for i, text := range moduli {
		n, ok := new(big.Int).SetString(text, 16)
		if !ok || n.Sign() <= 0 || n.BitLen() > maxFactorBits {
			return l, fmt.Errorf("moduli: entry %d is not a number of at most %d bits in hex", i+1, maxFactorBits)
		}
		l.Moduli = append(l.Moduli, n)
	}
	l.product = sync.OnceValue(func() *big.Int { return product(l.Moduli) })
	return l, nil
}

// ParseKeyHashes parses a list of keys in plain text: each line begins with the SHA-256 of a
// SubjectPublicKeyInfo in hex; text after a space, and comments after "#", are ignored.
func ParseKeyHashes(name string, data []byte) (KeyList, error) {
	var hashes []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if fields := strings.Fields(text); len(fields) > 0 {
			if len(fields[0]) != 2*sha256.Size {
				return KeyList{}, fmt.Errorf("reading the list of keys: line %d does not begin with a SHA-256 in hex", n)
			}
			hashes = append(hashes, fields[0])
		}
	}
	if err := lines.Err(); err != nil {
		return KeyList{}, fmt.Errorf("reading the list of keys: %w", err)
	}
	l, err := newKeyList(name, hashes, nil)
	if err != nil {
		err = fmt.Errorf("reading the list of keys: %w", err)
	}
	return l, err
}

// A KeyTable is the binary blocklist of the badkeys project (docs/BLOCKLISTFORMAT.md there): sorted entries
// of 16 bytes, with 120 bits of a SHA-256 and the number of a list. It is not loaded into memory: each search
// reads some entries of the file.
type KeyTable struct {
	data  io.ReaderAt
	count int64
	names map[byte]string
}

// keyEntry is the size of an entry, of which the last byte is the number of the list.
const keyEntry = 16

// NewKeyTable returns the table in data, which is size bytes long. Names is the content of the accompanying
// file badkeysdata.json, and may be nil.
func NewKeyTable(data io.ReaderAt, size int64, names []byte) (*KeyTable, error) {
	t := &KeyTable{data: data, count: size / keyEntry, names: map[byte]string{}}
	if size%keyEntry != 0 || size == 0 {
		return nil, fmt.Errorf("reading the table of keys: %d bytes are not a number of entries of %d bytes", size, keyEntry)
	}
	if names == nil {
		return t, nil
	}
	var file struct {
		Format int `json:"bkformat"`
		Lists  []struct {
			ID   byte   `json:"id"`
			Name string `json:"name"`
		} `json:"blocklists"`
	}
	if err := json.Unmarshal(names, &file); err != nil {
		return nil, fmt.Errorf("reading the names of the table of keys: %w", err)
	}
	if file.Format != 0 {
		return nil, fmt.Errorf("reading the names of the table of keys: its format is %d, not 0", file.Format)
	}
	for _, l := range file.Lists {
		t.names[l.ID] = l.Name
	}
	return t, nil
}

// CheckSorted reads the whole table and returns an error if an entry is out of order.
func (t *KeyTable) CheckSorted() error {
	r := bufio.NewReader(io.NewSectionReader(t.data, 0, t.count*keyEntry))
	last, entry := make([]byte, keyEntry), make([]byte, keyEntry)
	for i := range t.count {
		if _, err := io.ReadFull(r, entry); err != nil {
			return fmt.Errorf("reading the table of keys: %w", err)
		}
		if bytes.Compare(entry, last) < 0 {
			return fmt.Errorf("reading the table of keys: entry %d is out of order", i+1)
		}
		last, entry = entry, last
	}
	return nil
}

func (t *KeyTable) find(value []byte) (string, bool, error) {
	sum := sha256.Sum256(value)
	want := sum[:keyEntry-1]
	var entry [keyEntry]byte
	low, high := int64(0), t.count
	for low < high {
		middle := low + (high-low)/2
		if _, err := t.data.ReadAt(entry[:], middle*keyEntry); err != nil && err != io.EOF {
			return "", false, fmt.Errorf("reading the table of keys: %w", err)
		}
		switch c := bytes.Compare(entry[:keyEntry-1], want); {
		case c == 0:
			name := t.names[entry[keyEntry-1]]
			if name == "" {
				name = fmt.Sprintf("list %d", entry[keyEntry-1])
			}
			return name, true, nil
		case c < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return "", false, nil
}

// value returns the part of a key that the table hashes: modulus, x of the point, or public value, without leading
// zeros, else the bytes of the key.
func (k *Key) value() []byte {
	switch {
	case k.N != nil:
		return k.N.Bytes()
	case k.X != nil:
		return k.X.Bytes()
	case k.P != nil:
		return k.Y.Bytes()
	case k.OID == oidEd25519 || k.OID == oidEd448:
		return bytes.TrimLeft(k.Bytes, "\x00")
	default:
		return k.Bytes
	}
}

func (known *KnownKeys) find(k *Key) (string, bool, error) {
	sum := sha256.Sum256(k.SPKI)
	for _, l := range known.Lists {
		if l.Hashes[sum] {
			return l.Name, true, nil
		}
	}
	if known.Table == nil || k.Fault != "" {
		return "", false, nil
	}
	return known.Table.find(k.value())
}

// covers reports whether there is a list with such a name, in which case a key can be known not to be on it.
func (known *KnownKeys) covers(name string) bool {
	isNamed := func(s string) bool { return strings.Contains(strings.ToLower(s), name) }
	if known.Table != nil {
		for _, s := range known.Table.names {
			if isNamed(s) {
				return true
			}
		}
	}
	return slices.ContainsFunc(known.Lists, func(l KeyList) bool { return len(l.Hashes) > 0 && isNamed(l.Name) })
}

// keys reports whether anything is known at all by which a key can be found.
func (known *KnownKeys) keys() bool {
	return known.Table != nil || slices.ContainsFunc(known.Lists, func(l KeyList) bool { return len(l.Hashes) > 0 })
}

// moduli reports whether there are any with which others may share a factor.
func (known *KnownKeys) moduli() bool {
	return slices.ContainsFunc(known.Lists, func(l KeyList) bool { return len(l.Moduli) > 0 })
}

// shares reports whether a modulus has a factor in common with one of the lists that is not the modulus itself, and
// with which list. A list that holds the modulus itself is gone through one by one.
func (known *KnownKeys) shares(n *big.Int) (string, bool) {
	rest, d := new(big.Int), new(big.Int)
	for _, l := range known.Lists {
		if len(l.Moduli) == 0 {
			continue
		}
		if rest.Mod(l.product(), n); rest.Sign() != 0 {
			if d.GCD(nil, nil, n, rest); d.BitLen() > 1 {
				return l.Name, true
			}
			continue
		}
		for _, m := range l.Moduli {
			if d.GCD(nil, nil, n, m); d.BitLen() > 1 && m.Cmp(n) != 0 {
				return l.Name, true
			}
		}
	}
	return "", false
}
