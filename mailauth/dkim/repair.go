package dkim

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"golang.org/x/crypto/cryptobyte"
)

// repair returns the record that a text was meant to be: one that verifiers use, with the same key. It is empty if the
// key is incomplete, or if there are several, since only the owner knows the right one. Of the flags it keeps those
// that are listed.
func repair(text string, flags ...string) string {
	if len(text) > maxRecordLength || strings.Contains(text, "PRIVATE KEY") {
		return ""
	}
	list := normalize(text)
	data, kind := wholeKey(&list, text)
	if data == nil {
		return ""
	}
	tags := []string{"v=" + version, "k=" + string(kind)}
	for _, t := range list.Tags {
		if kept := keptTag(&list, t, flags); kept != "" {
			tags = append(tags, kept)
		}
	}
	record := strings.Join(append(tags, "p="+base64.StdEncoding.EncodeToString(data)), "; ")
	if ParseKey(record).Err() != nil || len(record) > maxRecordLength {
		return ""
	}
	return record
}

// allFlags are the flags that are defined (RFC 6376 section 3.6.1).
var allFlags = []string{"y", "s"}

// armour are the lines around a key in a PEM file (RFC 7468 section 2).
var armour = kit.Regexp(`-{2,}\s*(?:BEGIN|END)[A-Z ]*-{2,}`)

// strayCharacters removes what gets into records in transit: characters of other notations, and characters that
// are invisible or look like quotation marks.
var strayCharacters = strings.NewReplacer(`"`, "", "'", "", `\`, "", "`", "",
	"\u201c", "", "\u201d", "", "\u201e", "", "\u2018", "",
	"\u2019", "", "\u00ab", "", "\u00bb", "", "\ufeff", "", "\u200b", "", "\u00ad", "", "\u00a0", " ", "\uff1d", "=",
	"\uff1b", ";")

// maxRepairs bounds how often a semicolon is put in; a record has eight tags.
const maxRepairs = 16

// normalize reads a text without what does not belong there, with the semicolons that are missing and the names of
// the tags as DKIM writes them.
func normalize(text string) taglist.List {
	text = strayCharacters.Replace(taglist.Entities.Replace(strings.ToValidUTF8(text, "")))
	text = strings.TrimSpace(armour().ReplaceAllString(text, ""))
	list := format.Parse(text)
	for range maxRepairs {
		i := slices.IndexFunc(list.Faults, func(f taglist.Fault) bool { return f.Kind == taglist.MissingSemicolon })
		if i < 0 {
			break
		}
		at := list.Faults[i].Offset
		text = strings.TrimRight(text[:at], white+",") + "; " + text[at:]
		list = format.Parse(text)
	}
	for i, t := range list.Tags {
		for _, d := range format.Tags {
			if strings.EqualFold(d.Name, t.Name) {
				list.Tags[i].Name = d.Name
			}
		}
	}
	return list
}

// keptTag returns a tag of the old record as the new one has it, empty if it has no use there.
func keptTag(l *taglist.List, t taglist.Tag, flags []string) string {
	usual := map[string][]string{"v": nil, "k": nil, "p": nil, "g": nil, "h": {sha256}, "s": {"*", "email"}, "t": flags}
	if known, ok := usual[t.Name]; ok {
		var list []string
		for part := range strings.SplitSeq(t.Value, ":") {
			if part = strings.Trim(part, white); slices.Contains(known, part) && !slices.Contains(list, part) {
				list = append(list, part)
			}
		}
		if len(list) == 0 {
			return ""
		}
		return t.Name + "=" + strings.Join(list, ":")
	}
	first, _ := l.Tag(t.Name)
	for _, f := range l.Faults {
		if !f.Harmless && f.Offset >= t.Offset && f.Offset < t.Offset+t.Length || t.Offset != first.Offset {
			return ""
		}
	}
	return t.Name + "=" + t.Value
}

// wholeKey returns the only key in a list, or in a text that is just the key.
func wholeKey(l *taglist.List, text string) (data []byte, kind KeyType) {
	var values []string
	for _, t := range l.Tags {
		if t.Name == "p" {
			values = append(values, t.Value)
		}
	}
	if len(values) == 0 && !strings.ContainsAny(text, ";:") {
		if data, kind = recoverKey(l.Text); kind != RSA { // of other texts, too, 32 bytes can be decoded
			return nil, ""
		}
		return data, kind
	}
	for _, v := range values {
		again, k := recoverKey(v)
		if again == nil || data != nil && string(again) != string(data) {
			return nil, ""
		}
		data, kind = again, k
	}
	return data, kind
}

// recoverKey decodes a key that is whole, whatever happened to its base64, into the form that verifiers expect.
func recoverKey(value string) (data []byte, kind KeyType) {
	if key := readSSH(value); key != nil {
		return encoded(key)
	}
	value = strings.Trim(value, white+".,=")
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(unfold(value)) // base64url (RFC 4648 section 5)
	plus := strings.ReplaceAll(value, " ", "+")                             // a plus sign of a form is a blank
	for _, text := range []string{plain, plus} {
		bytes, err := base64.RawStdEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		if data, kind = encoded(identify(bytes).public); data != nil {
			return data, kind
		}
	}
	return nil, ""
}

// encoded returns a key in the form that verifiers expect; nil if DKIM has no such type.
func encoded(key any) (data []byte, kind KeyType) {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return key, Ed25519
	case *rsa.PublicKey:
		if spki, err := x509.MarshalPKIXPublicKey(key); err == nil {
			return spki, RSA
		}
	}
	return nil, ""
}

// readSSH reads a public key as OpenSSH writes it, with or without the name of its type and a comment (RFC 4253
// section 6.6, RFC 8709 section 4); nil without one.
func readSSH(value string) any {
	for _, word := range strings.Fields(value) {
		if !strings.HasPrefix(word, "AAAA") {
			continue
		}
		data, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(word, "="))
		input := cryptobyte.String(data)
		var name, first, second cryptobyte.String
		read := func(field *cryptobyte.String) bool {
			var n uint32
			return input.ReadUint32(&n) && n <= maxRecordLength && input.ReadBytes((*[]byte)(field), int(n))
		}
		switch {
		case !read(&name) || !read(&first):
		case string(name) == "ssh-ed25519" && len(first) == ed25519.PublicKeySize && input.Empty():
			return ed25519.PublicKey(first)
		case string(name) == "ssh-rsa" && read(&second) && input.Empty() && len(first) <= 4:
			return &rsa.PublicKey{N: new(big.Int).SetBytes(second), E: int(new(big.Int).SetBytes(first).Int64())}
		}
	}
	return nil
}

func resemblesRecord(text string) bool {
	if format.Is(text) || format.Resembles(text) != "" {
		return true
	}
	list := normalize(text)
	if v, ok := list.Tag("v"); ok && !strings.Contains(strings.ToUpper(v.Value), "DKIM") {
		return false // a record of another protocol
	}
	if _, ok := list.Tag("p"); ok {
		return true
	}
	data, _ := wholeKey(&list, text)
	return data != nil && !strings.Contains(text, " ") || armour().MatchString(text)
}

// maxParts bounds the parts of a record that are put together in every order: 24 orders for four. A record with a
// key of 4096 bits takes three, or four as key generators write it.
const maxParts = 4

// assemble joins the parts of a record in the only order that yields a complete key; empty unless there is exactly one
// such order. Strings of one record that are in order need no help.
func assemble(parts []string) string {
	if len(parts) < 2 || len(parts) > maxParts {
		return ""
	}
	whole := ""
	for _, text := range permutations(parts) {
		switch record := repair(text, allFlags...); {
		case record == "" || record == whole:
		case whole != "":
			return ""
		default:
			whole = record
		}
	}
	return whole
}

// maxSwaps bounds the places at which a key may begin: by chance, base64 matches once in 100,000 characters.
const maxSwaps = 8

// swapHalves swaps the halves of a key that were joined in the wrong order: the common prefix of RSA keys is in
// the middle. It returns the record and that prefix, or empty strings.
func swapHalves(text string) (record, beginning string) {
	list := normalize(text)
	p, ok := list.Tag("p")
	if !ok {
		return "", ""
	}
	tried := 0
	for i := 1; i < len(p.Value) && tried < maxSwaps; i++ {
		if !strings.HasPrefix(p.Value[i:], "MII") && !strings.HasPrefix(p.Value[i:], "MIG") {
			continue
		}
		tried++
		turned := list.Text[:p.ValueOffset] + p.Value[i:] + p.Value[:i] + list.Text[p.ValueOffset+len(p.Value):]
		if record = repair(turned, allFlags...); record != "" {
			return record, p.Value[i:min(i+len("MIIBIj"), len(p.Value))]
		}
	}
	return "", ""
}

// permutations joins the parts of a text in every order.
func permutations(parts []string) (texts []string) {
	if len(parts) == 1 {
		return parts
	}
	for i, first := range parts {
		for _, rest := range permutations(slices.Concat(parts[:i], parts[i+1:])) {
			texts = append(texts, first+rest)
		}
	}
	return texts
}
