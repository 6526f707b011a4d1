package dkim

import (
	"crypto"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// version is the only version of key records (RFC 6376 section 3.6.1).
const version = "DKIM1"

// The sizes of RSA keys that matter, in bits (RFC 8301 section 3.2).
const (
	MinRSABits         = 1024 // verifiers must refuse smaller ones
	recommendedRSABits = 2048
	MaxRSABits         = 4096 // verifiers need not know larger ones
)

// KeyType is what a key is for (RFC 6376 section 3.6.1, RFC 8463 section 4).
type KeyType string

// The types of keys. Verifiers ignore records with another one.
const (
	RSA         KeyType = "rsa"
	Ed25519     KeyType = "ed25519"
	unknownType KeyType = "unknown"
)

// Values lists the types.
func (KeyType) Values() []string { return []string{string(RSA), string(Ed25519), string(unknownType)} }

// Form is how the bytes of a key are wrapped.
type Form string

// The forms of keys.
const (
	spki  Form = "SubjectPublicKeyInfo" // RFC 5280 section 4.1.2.7: what all use for RSA
	pkcs1 Form = "RSAPublicKey"         // RFC 8017 appendix A.1.1: what RFC 6376 section 3.6.1 says, and few use
	raw   Form = "raw"                  // RFC 8463 section 4: the 32 bytes of an Ed25519 key
)

// A Key is a key record, read as far as it can be. Whether verifiers use it tells [Key.Err].
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
	// Public is an *rsa.PublicKey or an ed25519.PublicKey, and always of the type that the record names; nil if
	// there is none. It may be weaker than verifiers accept.
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

// The faults of the values of tags.
const (
	badType    taglist.Kind = "key type"     // k that nobody knows
	noKey      taglist.Kind = "no key"       // no p
	badBase64  taglist.Kind = "base64"       // p that cannot be decoded
	badKey     taglist.Kind = "key"          // p that is no key
	otherType  taglist.Kind = "other type"   // p that is a key of another type than k says
	wrapped    taglist.Kind = "wrapped"      // an Ed25519 key in a SubjectPublicKeyInfo
	secret     taglist.Kind = "private key"  // p that is a private key
	cutOff     taglist.Kind = "cut off"      // p that is the beginning of a key
	exponent   taglist.Kind = "exponent"     // p with an RSA key whose exponent is not an odd number above 2
	factor     taglist.Kind = "factor"       // p with an RSA key whose private key anybody can compute
	badHash    taglist.Kind = "hash"         // h that lets no hash algorithm be used
	onlySHA1   taglist.Kind = "sha1"         // h that lets only sha1 be used
	badService taglist.Kind = "service type" // s that excludes mail
	badList    taglist.Kind = "list"         // nothing between two colons
	bareRSA    taglist.Kind = "bare key"     // an RSA key without SubjectPublicKeyInfo; harmless
	blankKey   taglist.Kind = "blanks"       // white space within p; harmless
	otherHash  taglist.Kind = "other hash"   // a hash algorithm that is not used beside one that is; harmless
	otherFlag  taglist.Kind = "flag"         // t with an unknown flag; harmless
	otherUse   taglist.Kind = "service"      // an unknown service beside mail; harmless
	obsolete   taglist.Kind = "obsolete"     // g; harmless
)

// ParseKey reads the text of a key record: the character-strings of the TXT record, joined.
func ParseKey(text string) *Key {
	k := &Key{Version: version, Type: RSA, List: format.Parse(text)}
	k.readVersion()
	k.readType()
	k.Hashes = k.values("h")
	k.Services = k.values("s")
	k.Flags = k.values("t")
	k.checkHashes()
	k.checkServices()
	k.checkFlags()
	if n, ok := k.List.Tag("n"); ok {
		k.Notes = notes(n.Value)
	}
	if g, ok := k.List.Tag("g"); ok {
		k.note(obsolete, g, "the tag g is obsolete: verifiers ignore it")
	}
	k.readKey()
	return k
}

// note adds a harmless fault in a whole tag.
func (k *Key) note(kind taglist.Kind, t taglist.Tag, text string) {
	k.List.Add(taglist.Fault{Kind: kind, Text: text, Offset: t.Offset, Length: t.Length, Harmless: true})
}

// fault adds a fault in the value of a tag.
func (k *Key) fault(kind taglist.Kind, t taglist.Tag, text string) {
	k.List.Add(taglist.Fault{Kind: kind, Text: text, Offset: t.ValueOffset, Length: len(t.Value)})
}

// readVersion takes the tag v, which must be the first one if there is one, and say DKIM1 (RFC 6376 section
// 3.6.1); taglist finds where it does not.
func (k *Key) readVersion() {
	if v, ok := k.List.Tag("v"); ok {
		k.Version = v.Value
	}
}

// readType takes the tag k. Values are compared with their letter case (RFC 6376 section 3.2).
func (k *Key) readType() {
	t, ok := k.List.Tag("k")
	switch {
	case !ok, t.Value == string(RSA):
	case t.Value == string(Ed25519):
		k.Type = Ed25519
	default:
		k.Type = unknownType
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

// white is what may stand around values: FWS (RFC 6376 section 2.8).
const white = " \t\r\n"

// checkHashes looks at h. Elements that are not known are ignored (RFC 6376 section 3.6.1), and sha1 must not be
// used any more (RFC 8301 section 3.1).
func (k *Key) checkHashes() {
	t, ok := k.List.Tag("h")
	switch {
	case !ok:
	case slices.Contains(k.Hashes, sha256):
		for _, h := range k.Hashes {
			if h != sha256 {
				k.note(otherHash, t, "h lists "+quoted(h)+", which verifiers do not use")
			}
		}
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

// checkServices looks at s: the key is for mail only if it lists email or everything (RFC 6376 section 3.6.1).
func (k *Key) checkServices() {
	t, ok := k.List.Tag("s")
	switch {
	case !ok:
	case !k.ForMail():
		k.fault(badService, t, "the service type s="+quoted(t.Value)+" does not include email, so that the key is not "+
			"for mail")
	default:
		for _, s := range k.Services {
			if s != "*" && s != "email" {
				k.note(otherUse, t, "s lists the service type "+quoted(s)+", which is not defined")
			}
		}
	}
}

// ForMail reports whether the key may be used for mail (RFC 6376 section 3.6.1).
func (k *Key) ForMail() bool {
	_, ok := k.List.Tag("s")
	return !ok || slices.Contains(k.Services, "*") || slices.Contains(k.Services, "email")
}

// checkFlags looks at t. Flags that are not known are ignored (RFC 6376 section 3.6.1).
func (k *Key) checkFlags() {
	t, _ := k.List.Tag("t")
	for _, f := range k.Flags {
		if f != "y" && f != "s" {
			k.note(otherFlag, t, "t lists the flag "+quoted(f)+", which is not defined")
		}
	}
}

// Testing reports whether the domain is testing DKIM: verifiers must not treat its mail differently from
// unsigned mail (RFC 6376 section 3.6.1).
func (k *Key) Testing() bool { return slices.Contains(k.Flags, "y") }

// Strict reports whether the domain of i= must be that of d= itself, not one below it (RFC 6376 section 3.6.1).
func (k *Key) Strict() bool { return slices.Contains(k.Flags, "s") }

// Allows reports whether the record lets a hash algorithm be used: its name as in a=, such as "sha256".
func (k *Key) Allows(hash string) bool {
	_, ok := k.List.Tag("h")
	return !ok || slices.Contains(k.Hashes, hash)
}
