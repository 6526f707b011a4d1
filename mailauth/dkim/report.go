package dkim

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// KeyFields is what reports say of a key record.
type KeyFields struct {
	Valid           bool                `json:"valid" doc:"whether verifiers use the key"`
	Version         string              `json:"version,omitempty" doc:"version of the record" example:"DKIM1"`
	KeyType         KeyType             `json:"key_type" doc:"type of the key that the record names"`
	PublicKey       pki.PublicKey       `json:"public_key,omitzero" doc:"the key, if it can be read"`
	PublicKeyBase64 string              `json:"public_key_base64,omitempty" doc:"the key in base64, without white space"`
	HashAlgorithms  []string            `json:"hash_algorithms" doc:"hash algorithms that may be used; all if empty"`
	ServiceTypes    []string            `json:"service_types" doc:"what the key may be used for; * is everything"`
	Flags           []string            `json:"flags" doc:"flags as they are written"`
	Testing         bool                `json:"testing" doc:"whether the domain is testing DKIM (flag y)"`
	StrictIdentity  bool                `json:"strict_identity" doc:"whether i= must not name a subdomain (flag s)"`
	Revoked         bool                `json:"revoked" doc:"whether the key has been revoked by an empty p="`
	Notes           string              `json:"notes,omitempty" doc:"notes for people"`
	ParsedTags      []taglist.ParsedTag `json:"parsed_tags" doc:"tags of the record, and those that have a default"`
	LengthBytes     int                 `json:"length_bytes" min:"0" doc:"length of the record"`
	StringsCount    int                 `json:"strings_count" min:"0" doc:"character-strings that it has, or needs"`
}

func (e *evidence) fields(v diag.Verdict) KeyFields {
	k := e.key
	if k == nil {
		return KeyFields{
			KeyType: unknownType, HashAlgorithms: []string{}, ServiceTypes: []string{}, Flags: []string{},
			ParsedTags: []taglist.ParsedTag{},
		}
	}
	f := KeyFields{
		Valid: v.State == diag.Valid || v.State == diag.Warned, Version: clean(k.Version), KeyType: k.Type,
		PublicKey: diag.OrZero(k.Details), HashAlgorithms: cleanAll(k.Hashes), ServiceTypes: cleanAll(k.Services),
		Flags: cleanAll(k.Flags), Testing: k.Testing(),
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

func cleanAll(list []string) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = clean(s)
	}
	return all
}
