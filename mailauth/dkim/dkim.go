// Package dkim examines DKIM keys, with which a domain signs its mail (RFC 6376): call [Lookup] with a domain and a
// selector, [Validate] with the text of a record, or [ParseKey] for the typed key alone. [Verify] verifies the
// signatures of a message.
//
// # How DKIM works
//
// The sending server signs the body and some header fields of a message with a private key, and names the domain
// (d=) and the selector (s=) of the key in the field DKIM-Signature. The receiver looks up the public key in a TXT
// record of that domain:
//
//	s1._domainkey.example.com. TXT "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…"
//
// Selectors let a domain have several keys, one per sending service, and replace a key while mail signed with the
// old one is in transit. The tags of the record are the key type (k), restrictions on its use (h, s, t), and the key
// in base64 (p): for RSA a SubjectPublicKeyInfo, for Ed25519 the bare 32 bytes (RFC 8463). An empty p revokes the
// key. Verifiers refuse RSA keys below 1024 bits (RFC 8301) and ignore a record with an essential error: the message
// then counts as unsigned, and DKIM contributes nothing to DMARC.
//
// # How to use the package
//
// [Lookup] makes all DNS lookups concurrently and reports what is wrong; [Validate] judges a text and is pure.
// [ParseKey] parses a record as far as possible: [Key.Err] says why verifiers do not use it, and the list of tags has
// the position of each fault.
//
// [Verify] looks up the keys of all signatures concurrently and returns a [Result] for each. It reports the body hash,
// the signature and policy (RFC 8301 and others) separately: a signature may be genuine and not acceptable. If it
// fails, [Result.Reason] says what happened to the message, as far as undoing the usual changes reveals it. A
// [Checker] verifies signatures in other fields, for ARC.
package dkim

import (
	"context"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// LookupRequest is a request to examine one key.
type LookupRequest struct {
	Domain   diag.Domain   `json:"domain" doc:"domain that signs: d= of a signature" example:"example.com"`
	Selector diag.Selector `json:"selector" doc:"selector of the key: s= of a signature" example:"s1"`
}

// LookupReport describes what is published at a selector, with the verdict.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Selector diag.Selector `json:"selector" doc:"selector of the key"`
	KeyFields
	Service        string         `json:"service,omitempty" doc:"the service to which the CNAME of the selector leads, if it is known"`
	OtherSelectors OtherSelectors `json:"other_selectors,omitempty" doc:"whether the domain may have keys at other selectors; absent if the servers did not say"`
	Partial        bool           `json:"partial" doc:"whether something could not be learned"`
	KnownSelectors []string       `json:"known_selectors" doc:"common selectors at which the domain has keys, looked for if there is none at this one"`
}

// maxRecordLength bounds the text of a record, in bytes: an RSA key of 16,384 bits takes 2,800.
const maxRecordLength = 8192

// ValidateRequest is a request to validate the text of a record, published or not.
type ValidateRequest struct {
	Record string `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or as in a zone file: its strings in quotes, with or without name and type" example:"v=DKIM1; k=ed25519; p=2J0Vi6Qu3EijgpBSbvrkSF0zb6qpRkEg8oBG9Nu6RXU="`
}

// ValidateReport describes the meaning of a record, with the verdict.
type ValidateReport struct {
	Record string `json:"record" doc:"the record that was examined"`
	diag.Verdict
	KeyFields
}

// MaxSignatures bounds the signatures of a message that are verified, the topmost ones. Mailing lists and
// providers add one each; real messages have up to ten.
const MaxSignatures = 50

// Options are the options of [Verify].
type Options struct {
	// HeaderOnly says that the message has only a header: whether the body is unchanged is then unknown.
	HeaderOnly bool
	// At is when the message was received: whether a signature had expired is judged at that time. Zero means now.
	At time.Time
}

// Verification is the result of [Verify].
type Verification struct {
	Signatures []Result // one for each DKIM-Signature, in the order of the message
	Surplus    int      // how many more signatures there are, beyond [MaxSignatures]
	Historic   int      // number of DomainKey-Signature fields (RFC 4870), which are obsolete and not verified
}

// Result returns the best result of the signatures: pass if one passes.
func (v *Verification) Result() AuthResult {
	for _, w := range []AuthResult{Pass, Unchecked, TempError, Policy, Fail, PermError, Neutral} {
		for i := range v.Signatures {
			if v.Signatures[i].Result == w {
				return w
			}
		}
	}
	return None
}

// PassDomains returns the domains of the signatures that pass, as DMARC needs them (RFC 9989 section 5.3).
func (v *Verification) PassDomains() (list []diag.Name) {
	for i := range v.Signatures {
		if r := &v.Signatures[i]; r.Result == Pass {
			list = append(list, r.Signature.Domain.Name())
		}
	}
	return list
}

// Lookup examines the key of a domain at a selector. The error is a *[diag.InputError], that of the context if
// it ended, or wraps [diag.ErrUnavailable] if nothing could be determined.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if err := check(req); err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	if !answered(e) {
		return e.report(env.Now()), nil
	}
	e.addRecords(kit.Map(e.txt.Records, dnsmsg.TXTStrings))
	if absent(e) && e.node.Err() == nil && !e.node.NXDomain() && !e.wildcard.Exists() {
		if err := e.guess(ctx, env); err != nil {
			return nil, err
		}
	}
	return e.report(env.Now()), nil
}

func (e *evidence) report(ended time.Time) *LookupReport {
	v := rules().Judge(e, texts)
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain.Name(), e.txt, e.found.Records, e.now, ended), Verdict: v,
		Selector: e.selector, KeyFields: e.fields(v), Partial: e.partial(),
		Service: kit.OrZero(e.service()).Name, KnownSelectors: append([]string{}, e.others...),
	}
	if e.node.Err() == nil {
		r.OtherSelectors = PossibleSelectors
		if e.node.NXDomain() && len(e.node.Aliases) == 0 && absent(e) {
			r.OtherSelectors = NoSelectors
		}
	}
	return r
}

// Validate examines the text of a record alone, without DNS lookups. The error is a *[diag.InputError].
func Validate(req ValidateRequest) (*ValidateReport, error) {
	if strings.TrimSpace(req.Record) == "" {
		return nil, input.Invalid("record", "is empty; give the text of the TXT record, such as v=DKIM1; k=rsa; p=…")
	}
	if len(req.Record) > maxRecordLength {
		return nil, input.Invalid("record", "is longer than %d bytes", maxRecordLength)
	}
	e := &evidence{}
	parts, line := dnsmsg.PastedTXT(req.Record)
	literal, _ := taglist.Pasted(req.Record)
	e.quoted = literal[0] != parts[0]
	e.addRecords([][]string{parts})
	e.found.Line = line
	v := rules().Judge(e, textsOffline)
	return &ValidateReport{Record: clean(e.found.Records[0]), Verdict: v, KeyFields: e.fields(v)}, nil
}

// Rules describes what is examined.
func (*LookupReport) Rules() []rule.Description { return rules().Describe() }

// Rules describes what is examined.
func (*ValidateReport) Rules() []rule.Description { return rules().Describe() }

// Verify verifies each DKIM-Signature of a message, whose text message.Read takes from a reader. Whatever is wrong with
// the message, it returns a result; an error means that the context has ended.
func Verify(ctx context.Context, env *diag.Env, text []byte, o Options) (*Verification, error) {
	if o.At.IsZero() {
		o.At = env.Now()
	}
	m := Split(text)
	c := NewChecker(m, o.HeaderOnly)
	v := &Verification{Signatures: []Result{}}
	for i := range m.Fields {
		f := &m.Fields[i]
		switch {
		case f.Is("DomainKey-Signature"):
			v.Historic++
		case !f.Is(string(DKIMSignature)):
		case len(v.Signatures) == MaxSignatures:
			v.Surplus++
		default:
			s := ParseSignature(DKIMSignature, string(f.RawValue()))
			c.Add(s)
			v.Signatures = append(v.Signatures, Result{Signature: s, Index: i})
		}
	}
	if err := c.Gather(ctx, env); err != nil {
		return nil, err
	}
	for i := range v.Signatures {
		v.Signatures[i].judge(c, o.At, len(m.Excess) > 0)
	}
	return v, nil
}

// A ParsedTag is a tag of a record, with its meaning.
type ParsedTag = taglist.ParsedTag

// KeyFields are the contents of a key record in reports.
type KeyFields struct {
	Valid           bool          `json:"valid" doc:"whether verifiers use the key"`
	Version         string        `json:"version,omitempty" doc:"version of the record" example:"DKIM1"`
	KeyType         KeyType       `json:"key_type" doc:"type of the key that the record names"`
	PublicKey       pki.PublicKey `json:"public_key,omitzero" doc:"the key, if it can be read"`
	PublicKeyBase64 string        `json:"public_key_base64,omitempty" doc:"the key in base64, without white space"`
	HashAlgorithms  []string      `json:"hash_algorithms" doc:"hash algorithms that may be used; all if empty"`
	ServiceTypes    []string      `json:"service_types" doc:"what the key may be used for; * is everything"`
	Flags           []string      `json:"flags" doc:"flags as they are written"`
	Testing         bool          `json:"testing" doc:"whether the domain is testing DKIM (flag y)"`
	StrictIdentity  bool          `json:"strict_identity" doc:"whether i= must not name a subdomain (flag s)"`
	Revoked         bool          `json:"revoked" doc:"whether the key has been revoked by an empty p="`
	Notes           string        `json:"notes,omitempty" doc:"notes for people"`
	ParsedTags      []ParsedTag   `json:"parsed_tags" doc:"tags of the record, and those that have a default"`
	LengthBytes     int           `json:"length_bytes" min:"0" doc:"length of the record"`
	StringsCount    int           `json:"strings_count" min:"0" doc:"character-strings that it has, or needs"`
}

func (e *evidence) fields(v diag.Verdict) KeyFields {
	k := e.key
	if k == nil {
		return KeyFields{
			KeyType: UnknownType, HashAlgorithms: []string{}, ServiceTypes: []string{}, Flags: []string{},
			ParsedTags: []ParsedTag{},
		}
	}
	f := KeyFields{
		Valid: v.State == diag.Valid || v.State == diag.Warned, Version: clean(k.Version), KeyType: k.Type,
		PublicKey: kit.OrZero(k.Details), HashAlgorithms: kit.Map(k.Hashes, clean), ServiceTypes: kit.Map(k.Services, clean),
		Flags: kit.Map(k.Flags, clean), Testing: k.testing(),
		StrictIdentity: k.Strict(), Revoked: k.Revoked, Notes: clean(k.Notes), ParsedTags: k.List.Parsed(),
		LengthBytes: len(k.List.Text), StringsCount: len(e.found.Strings),
	}
	if k.Data != nil {
		f.PublicKeyBase64 = k.Base64
	}
	if _, ok := k.List.Tag("s"); !ok {
		f.ServiceTypes = []string{"*"}
	}
	return f
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
