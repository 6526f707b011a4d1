package dkim

import (
	"crypto"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// MaxSignatureBytes bounds the signature fields that are read. Real ones have less than 4 KiB.
const MaxSignatureBytes = 64 << 10

// SignatureKind is the field that a signature is in. The kinds differ in the tags that they have.
type SignatureKind string

// The kinds of signatures.
const (
	DKIMSignature SignatureKind = "DKIM-Signature"        // RFC 6376 section 3.5
	ARCMessage    SignatureKind = "ARC-Message-Signature" // RFC 8617 section 4.1.2
	ARCSeal       SignatureKind = "ARC-Seal"              // RFC 8617 section 4.1.3
)

var required = map[SignatureKind][]string{
	DKIMSignature: {"v", "a", "b", "bh", "d", "h", "s"},
	ARCMessage:    {"i", "a", "b", "bh", "d", "h", "s"},
	ARCSeal:       {"i", "a", "b", "cv", "d", "s"},
}

var signatureFormat = taglist.Format{
	Protocol: "DKIM-Signature", Version: "1", Readers: "Verifiers", Mark: "b",
	Tags: []taglist.Definition{
		{Name: "v", Description: "Version of the signature"},
		{Name: "a", Description: "Algorithms of the key and of the hash"},
		{Name: "b", Description: "The signature in base64"},
		{Name: "bh", Description: "Hash of the body in base64"},
		{Name: "c", Default: "simple/simple", Description: "Canonicalization of the header and of the body"},
		{Name: "cv", Description: "State of the ARC chain as the sealer found it"},
		{Name: "d", Description: "The signing domain"},
		{Name: "h", Description: "The signed header fields"},
		{Name: "i", Description: "On whose behalf the domain signed; in ARC the number of the set"},
		{Name: "l", Description: "How many bytes of the body are signed; all if left out"},
		{Name: "q", Default: "dns/txt", Description: "How to look up the key"},
		{Name: "s", Description: "The selector of the key"},
		{Name: "t", Description: "When it was signed, in seconds since 1970"},
		{Name: "x", Description: "When the signature expires, in seconds since 1970"},
		{Name: "z", Description: "Header fields as they were when the message was signed"},
	},
}

// A Signature is the value of a signature field, read as far as it can be. [Signature.Err] tells why it cannot be
// verified.
type Signature struct {
	Kind      SignatureKind
	Value     string // of the field, as written in the message
	Version   string // v
	Algorithm string // a
	KeyType   KeyType
	Hash      crypto.Hash // 0 if the algorithm is unknown
	Header    Canonicalization
	Body      Canonicalization
	Domain    diag.Domain // d
	Selector  string      // s, lower case
	KeyName   diag.Name   // where the key is
	Identity  string      // i, decoded; if it is left out, what holds then
	Instance  int         // i, in ARC
	State     string      // cv
	Names     []string    // h, as written
	Length    *int64      // l
	Methods   []string    // q
	Time      *time.Time  // t
	Expires   *time.Time  // x
	Copied    []Copied    // z
	BodyHash  []byte      // bh
	Bytes     []byte      // b
	// List has the tags with their offsets in Value. Faults are those of the tag list and of the values.
	List taglist.List
}

// A Copied is a header field as it was when the message was signed.
type Copied struct {
	Name, Value string
}

const (
	missingTag  taglist.Kind = "missing"     // a required tag is left out
	badTag      taglist.Kind = "tag value"   // a value does not have its syntax
	unsupported taglist.Kind = "unsupported" // a value that verifiers do not know
	excluded    taglist.Kind = "excluded"    // a tag that the kind must not have
	mismatch    taglist.Kind = "mismatch"    // the domain of i= is not in d=
	noFrom      taglist.Kind = "from"        // From is not signed
	oversized   taglist.Kind = "size"        // longer than [MaxSignatureBytes]
)

// ParseSignature parses the value of a field, the part after its colon.
func ParseSignature(kind SignatureKind, value string) *Signature {
	s := &Signature{Kind: kind, Value: value, Header: Simple, Body: Simple}
	if len(value) > MaxSignatureBytes {
		s.List.Add(taglist.Fault{Kind: oversized, Text: fmt.Sprintf("the field has %d bytes, more than the %d that are read",
			len(value), MaxSignatureBytes), Length: len(value)})
		return s
	}
	list := signatureFormat.Parse(strings.ReplaceAll(strings.ReplaceAll(value, "\r", " "), "\n", " "))
	s.List = list
	s.List.Faults = nil
	for _, f := range list.Faults {
		if s.counts(f) {
			s.List.Add(f)
		}
	}
	for _, name := range required[kind] {
		if _, ok := list.Tag(name); !ok {
			s.List.Add(taglist.Fault{Kind: missingTag, Text: missingText(name), Length: len(value)})
		}
	}
	for _, read := range []func(*Signature){(*Signature).readVersion, (*Signature).readAlgorithm,
		(*Signature).readCanonicalization, (*Signature).readNames, (*Signature).readKeyName, (*Signature).readIdentity,
		(*Signature).readLength, (*Signature).readMethods, (*Signature).readTimes, (*Signature).readState,
		(*Signature).readCopied, (*Signature).readBytes} {
		read(s)
	}
	return s
}

// counts reports whether a fault of the tag list is one of a signature. The version may be anywhere in it; names of
// domains, and what is copied, may be in UTF-8 (RFC 8616 section 5); a tag without semicolon before it shows in the
// value that it is part of.
func (s *Signature) counts(f taglist.Fault) bool {
	switch f.Kind {
	case taglist.Misplaced, taglist.MissingSemicolon:
		return false
	case taglist.BadValue:
		at := f.Offset
		return !(at < len(s.Value) && s.Value[at] >= 0x80)
	default:
		return true
	}
}

func (s *Signature) tag(name string) (t taglist.Tag, ok bool) { return s.List.Tag(name) }

func (s *Signature) fault(kind taglist.Kind, t taglist.Tag, format string, args ...any) {
	s.List.Add(taglist.Fault{Kind: kind, Text: fmt.Sprintf(format, args...), Offset: t.ValueOffset, Length: len(t.Value)})
}

// faultKinds orders the faults as verifiers meet them (RFC 6376 section 6.1.1).
var faultKinds = []taglist.Kind{oversized, taglist.NoEquals, taglist.Empty, taglist.BadName, taglist.BadValue,
	taglist.Repeated, missingTag, unsupported, badTag, excluded, mismatch, noFrom}

// Err returns why the signature cannot be verified, a *[SignatureError], or nil. A DKIM-Signature without v=, as
// drafts of DKIM allowed, is not an error.
func (s *Signature) Err() error {
	for _, kind := range faultKinds {
		for _, f := range s.List.Faults {
			if f.Kind == kind && !f.Harmless && !(kind == missingTag && s.draft() && f.Text == missingText("v")) {
				return &SignatureError{f}
			}
		}
	}
	return nil
}

// draft reports whether the version is missing, as in signatures made before RFC 4871.
func (s *Signature) draft() bool {
	_, ok := s.tag("v")
	return s.Kind == DKIMSignature && !ok
}

func missingText(name string) string { return "the required tag " + name + "= is missing" }

// A SignatureError is a fault for which a signature cannot be verified.
type SignatureError struct {
	Fault taglist.Fault
}

func (e *SignatureError) Error() string { return "the signature cannot be verified: " + e.Fault.Text }

// syntax reports whether the field is not understood, rather than understood and refused (RFC 8601 section 2.7.1).
func (e *SignatureError) syntax() bool {
	return !slices.Contains([]taglist.Kind{missingTag, mismatch, noFrom, excluded}, e.Fault.Kind)
}

// computable reports whether there is all that the cryptographic verdict needs, but for the key.
func (s *Signature) computable() bool {
	known := func(c Canonicalization) bool { return c == Simple || c == Relaxed }
	_, hashed := s.tag("bh")
	return s.Hash != 0 && !s.KeyName.IsZero() && len(s.Bytes) > 0 && known(s.Header) && known(s.Body) &&
		(len(s.Names) > 0 && hashed || s.Kind == ARCSeal)
}
