package dkim

import (
	"crypto"
	"crypto/rsa"
	"fmt"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// version is the only version of key records (RFC 6376 section 3.6.1).
const version = "DKIM1"

// MinRSABits is the size of the smallest RSA key that verifiers may accept, in bits (RFC 8301 section 3.2).
const MinRSABits = 1024

// Further sizes of RSA keys, in bits (RFC 8301 section 3.2).
const (
	recommendedRSABits = 2048
	supportedRSABits   = 4096 // verifiers need not know larger ones
)

// KeyType is the algorithm of a key (RFC 6376 section 3.6.1, RFC 8463 section 4): rsa, ed25519 or unknown.
type KeyType string

// The types of keys. Verifiers ignore records with another one.
const (
	RSA         KeyType = "rsa"
	Ed25519     KeyType = "ed25519"
	UnknownType KeyType = "unknown"
)

// Values lists the types.
func (KeyType) Values() []string { return kit.Values(RSA, Ed25519, UnknownType) }

// Form is the encoding of a key's bytes.
type Form string

const (
	FormSPKI  Form = "SubjectPublicKeyInfo" // RFC 5280 section 4.1.2.7: what all use for RSA
	FormPKCS1 Form = "RSAPublicKey"         // RFC 8017 appendix A.1.1: as in RFC 6376 section 3.6.1, but rare
	FormRaw   Form = "raw"                  // RFC 8463 section 4: the 32 bytes of an Ed25519 key
)

// A Key is a key record, read as far as it can be. [Key.Err] tells whether verifiers use it.
type Key struct {
	Version  string   // DKIM1, also if the tag is left out; whatever else the record claims
	Type     KeyType  // by the tag k; rsa if it is left out
	Hashes   []string // hash algorithms that may be used, as written; nil: all
	Services []string // what the key may be used for, as written; nil: everything
	Flags    []string // as written
	Notes    string   // for people, decoded
	Base64   string   // the key as in the record, without white space
	Data     []byte   // the same, decoded; nil if that is not possible
	Form     Form     // of Data; empty if it is not a key of the type
	Revoked  bool     // p is there and empty
	// Public is an *rsa.PublicKey or an ed25519.PublicKey, and always of the type that the record names; nil without
	// one. It may be weaker than verifiers accept.
	Public crypto.PublicKey
	// Details describe the key, also one of another type than the record names; nil if it cannot be read.
	Details *pki.PublicKey

	List taglist.List // the tags with their positions and faults
}

// format is that of key records (RFC 6376 sections 3.2 and 3.6.1).
var format = taglist.Format{
	Protocol: "DKIM", Version: version, Readers: "Verifiers", Mark: "p",
	Tags: []taglist.Definition{
		{Name: "v", Default: version, Description: "Version of the record; must come first"},
		{Name: "k", Default: string(RSA), Description: "Type of the key"},
		{Name: "h", Description: "Hash algorithms that may be used; all if left out"},
		{Name: "s", Default: "*", Description: "Services for which the key may be used"},
		{Name: "t", Description: "Flags: y for testing, s for strict identity"},
		{Name: "n", Description: "Notes for people"},
		{Name: "p", Description: "Public key in base64; empty if it is revoked"},
		{Name: "g", Description: "Local parts that may be used (RFC 4871); obsolete, and ignored since RFC 6376"},
	},
}

const (
	badType    taglist.Kind = "key type"     // unknown k
	noKey      taglist.Kind = "no key"       // no p
	badBase64  taglist.Kind = "base64"       // p that cannot be decoded
	badKey     taglist.Kind = "key"          // p that is not a key
	otherType  taglist.Kind = "other type"   // p that is a key of another type than k
	wrapped    taglist.Kind = "wrapped"      // an Ed25519 key in a SubjectPublicKeyInfo
	secret     taglist.Kind = "private key"  // p that is a private key
	cutOff     taglist.Kind = "cut off"      // p that is the beginning of a key
	exponent   taglist.Kind = "exponent"     // p with an RSA key whose exponent is not an odd number above 2
	factor     taglist.Kind = "factor"       // p with an RSA key whose private key anybody can compute
	badHash    taglist.Kind = "hash"         // h that permits no hash algorithm
	onlySHA1   taglist.Kind = "sha1"         // h that permits only sha1
	badService taglist.Kind = "service type" // s that excludes mail
	badList    taglist.Kind = "list"         // an empty item between two colons
	bareRSA    taglist.Kind = "bare key"     // an RSA key without SubjectPublicKeyInfo; harmless
	blankKey   taglist.Kind = "blanks"       // white space within p; harmless
	otherHash  taglist.Kind = "other hash"   // an unused hash algorithm next to a used one; harmless
	otherFlag  taglist.Kind = "flag"         // t with an unknown flag; harmless
	otherUse   taglist.Kind = "service"      // an unknown service next to email; harmless
	obsolete   taglist.Kind = "obsolete"     // g; harmless
)

// ParseKey reads the text of a key record: the character-strings of the TXT record, joined.
func ParseKey(text string) *Key {
	k := &Key{Version: version, Type: RSA, List: format.Parse(text)}
	if v, ok := k.List.Tag("v"); ok { // taglist finds where it is not the first, or not DKIM1
		k.Version = v.Value
	}
	k.readType()
	k.Hashes, k.Services, k.Flags = k.values("h"), k.values("s"), k.values("t")
	k.checkHashes()
	k.checkServices()
	k.unused(otherFlag, "t", k.Flags, "t lists the flag %s, which is not defined", "y", "s")
	if n, ok := k.List.Tag("n"); ok {
		k.Notes = notes(n.Value)
	}
	if g, ok := k.List.Tag("g"); ok {
		k.note(obsolete, g, "the tag g is obsolete: verifiers ignore it")
	}
	k.readKey()
	return k
}

func (k *Key) note(kind taglist.Kind, t taglist.Tag, text string) {
	k.List.Add(taglist.Fault{Kind: kind, Text: text, Offset: t.Offset, Length: t.Length, Harmless: true})
}

func (k *Key) fault(kind taglist.Kind, t taglist.Tag, text string) {
	k.List.Add(taglist.Fault{Kind: kind, Text: text, Offset: t.ValueOffset, Length: len(t.Value)})
}

// readType reads the tag k. Values are compared with their letter case (RFC 6376 section 3.2).
func (k *Key) readType() {
	t, ok := k.List.Tag("k")
	switch {
	case !ok, t.Value == string(RSA):
	case t.Value == string(Ed25519):
		k.Type = Ed25519
	default:
		k.Type = UnknownType
		k.fault(badType, t, "the key type "+quoted(t.Value)+" is not rsa or ed25519")
	}
}

// values splits a list at its colons (RFC 6376 section 3.6.1).
func (k *Key) values(name string) []string {
	t, ok := k.List.Tag(name)
	if !ok {
		return nil
	}
	list := []string{}
	for part := range strings.SplitSeq(t.Value, ":") {
		if part = strings.Trim(part, white); part != "" {
			list = append(list, part)
		}
	}
	if len(list) < 1+strings.Count(t.Value, ":") && name != "t" {
		k.List.Add(taglist.Fault{
			Kind: badList, Text: "the list in " + name + "= has an empty element", Offset: t.ValueOffset, Length: len(t.Value),
			Harmless: len(list) > 0,
		})
	}
	return list
}

// white is the white space that may surround values: FWS (RFC 6376 section 2.8).
const white = " \t\r\n"

// checkHashes checks h. Unknown elements are ignored (RFC 6376 section 3.6.1), and sha1 must not be used any more (RFC
// 8301 section 3.1).
func (k *Key) checkHashes() {
	t, ok := k.List.Tag("h")
	switch {
	case !ok:
	case slices.Contains(k.Hashes, sha256):
		k.unused(otherHash, "h", k.Hashes, "h lists %s, which verifiers do not use", sha256)
	case slices.Contains(k.Hashes, sha1):
		k.fault(onlySHA1, t, "h="+quoted(t.Value)+" lets only sha1 be used, which verifiers must not accept any more")
	default:
		k.fault(badHash, t, "h="+quoted(t.Value)+" does not list sha256, the only hash algorithm that verifiers accept")
	}
}

// The hash algorithms of DKIM: the one in use, and the one that is not any more (RFC 8301 section 3.1).
const (
	sha256 = "sha256"
	sha1   = "sha1"
)

// checkServices checks s: the key is for mail only if it lists email or everything (RFC 6376 section 3.6.1).
func (k *Key) checkServices() {
	t, ok := k.List.Tag("s")
	switch {
	case !ok:
	case !k.forMail():
		k.fault(badService, t, "the service type s="+quoted(t.Value)+" does not include email, so that the key is not "+
			"for mail")
	default:
		k.unused(otherUse, "s", k.Services, "s lists the service type %s, which is not defined", "*", "email")
	}
}

// forMail reports whether the key may be used for mail (RFC 6376 section 3.6.1).
func (k *Key) forMail() bool {
	_, ok := k.List.Tag("s")
	return !ok || slices.Contains(k.Services, "*") || slices.Contains(k.Services, "email")
}

// unused records the unknown values of a list, which are ignored (RFC 6376 section 3.6.1).
func (k *Key) unused(kind taglist.Kind, tag string, values []string, text string, known ...string) {
	t, _ := k.List.Tag(tag)
	for _, v := range values {
		if !slices.Contains(known, v) {
			k.note(kind, t, fmt.Sprintf(text, quoted(v)))
		}
	}
}

// testing reports whether the domain is testing DKIM: verifiers must not treat its mail differently from
// unsigned mail (RFC 6376 section 3.6.1).
func (k *Key) testing() bool { return slices.Contains(k.Flags, "y") }

// Strict reports whether the domain of i= must be that of d= itself, not one below it (RFC 6376 section 3.6.1).
func (k *Key) Strict() bool { return slices.Contains(k.Flags, "s") }

type reason string

// The reasons, in the order in which a verifier meets them (RFC 6376 section 6.1.2).
const (
	reasonSyntax  reason = "syntax"       // the tag list is not valid, or its version is not DKIM1
	reasonType    reason = "key type"     // k is unknown
	reasonMissing reason = "no key"       // p is left out
	reasonRevoked reason = "revoked"      // p is empty
	reasonData    reason = "key data"     // p is not a key of the type
	reasonHash    reason = "hash"         // h excludes every hash algorithm in use
	reasonService reason = "service type" // s excludes mail
	reasonSHA1    reason = "sha1"         // h permits only sha1
	reasonSize    reason = "size"         // the RSA key is smaller than verifiers may accept
)

type keyError struct {
	Reason reason
	Text   string // a clause that can be understood alone
}

func (e *keyError) Error() string { return "the DKIM key cannot be used: " + e.Text }

var reasons = map[taglist.Kind]reason{
	badType: reasonType, noKey: reasonMissing, badBase64: reasonData, badKey: reasonData, otherType: reasonData,
	wrapped: reasonData, secret: reasonData, cutOff: reasonData, exponent: reasonData, factor: reasonData,
	badHash: reasonHash, onlySHA1: reasonSHA1, badService: reasonService,
}

// Err returns why verifiers do not use the key; nil if they do. The gravest reason comes first, so that one about
// SHA-1 or the size of the key means that there is no other: Public is set then.
func (k *Key) Err() error {
	for _, order := range []reason{reasonSyntax, reasonType, reasonMissing, reasonRevoked, reasonData, reasonHash,
		reasonService, reasonSHA1} {
		if order == reasonRevoked && k.Revoked {
			return &keyError{reasonRevoked, "it has been revoked by an empty p="}
		}
		for _, f := range k.List.Faults {
			reason, known := reasons[f.Kind]
			if !known {
				reason = reasonSyntax
			}
			if !f.Harmless && reason == order {
				return &keyError{reason, f.Text}
			}
		}
	}
	if key, ok := k.Public.(*rsa.PublicKey); ok && key.N.BitLen() < MinRSABits { // RFC 8301 section 3.2
		return &keyError{reasonSize, fmt.Sprintf("the RSA key has %d bits, and verifiers accept %d or more",
			key.N.BitLen(), MinRSABits)}
	}
	return nil
}

// notes decodes the tag n, a qp-section (RFC 6376 section 3.6.1, RFC 2045 section 6.7). What is not valid stays
// as it is.
func notes(s string) string {
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(s)))
	if err != nil {
		return s
	}
	return string(text)
}

// maxQuoted bounds what a sentence quotes of a value, in bytes: no value but that of p is longer.
const maxQuoted = 40

func quoted(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", phrase.Quote(s))
}
