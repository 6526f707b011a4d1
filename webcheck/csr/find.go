package csr

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
)

// The bounds of a text.
const (
	// maxBytes is how much of a text is read (CONTRACT 3.4). Requests with a hundred names have 10 KiB.
	maxBytes = 64 << 10
	// maxBlocks is how many blocks of a text are examined.
	maxBlocks = 50
)

type paste struct {
	Blocks []block
	Secret kind // of a private key anywhere in the text; empty without one
	Kind   kind // what the text is if it has no block; empty if it has

	Encoding string // of the whole text, in addition to its own, as a clause; empty without one
}

// A block is a part of a text that encodes something, between lines BEGIN and END or without them (RFC 7468).
type block struct {
	Label string // of the line BEGIN; empty without one
	Kind  kind   // by its content, or else by its label
	DER   []byte // nil if it cannot be decoded
	Fault string // why not, as a sentence
}

// boundary is the first or the last line of a block, as far as it can be recognized.
var boundary = kit.Regexp(`(?i)-{2,}[ \t]*(BEGIN|END)[ \t]+([A-Z0-9][A-Z0-9 .#/]*?)[ \t]*-{2,}`)

// bareBoundary is the first or the last line of a request whose hyphens were lost.
var bareBoundary = kit.Regexp(`(?im)^[^A-Z0-9\n]*(?:BEGIN|END) (?:NEW )?CERTIFICATE REQUEST[^A-Z0-9\n]*$`)

// secretText identifies a private key by the text around it, however its lines were altered.
var secretText = kit.Regexp(`(?i)(?:BEGIN|END)[\s_]+(?:[A-Z0-9]+[\s_]+)*PRIVATE[\s_]+KEY|PuTTY-User-Key-File|` +
	`AGE-SECRET-KEY-1|"d"\s*:\s*"[A-Za-z0-9_-]{16,}"|Private-Lines:|RSA Private-Key:|Private-Key:\s*\(`)

// hasSecret reports whether the text indicates a private key. Few texts have one of the words, and the pattern is
// slow.
func hasSecret(text string) bool {
	lower := strings.ToLower(text)
	likely := slices.ContainsFunc([]string{"private", "putty", "age-secret", `"d"`}, func(s string) bool {
		return strings.Contains(lower, s)
	})
	return likely && secretText().MatchString(text)
}

// find looks for requests, and for what people paste in their place. What it holds of a private key is its kind only.
func find(text string) *paste {
	p := &paste{}
	p.find(text[:min(len(text), maxBytes)], true)
	for i := range p.Blocks {
		if b := &p.Blocks[i]; b.Kind.secret() {
			p.Secret, b.DER, b.Fault = b.Kind, nil, ""
		}
	}
	return p
}

// find looks for blocks, and without any for data that is encoded without them.
func (p *paste) find(original string, again bool) {
	text := restored(original)
	if hasSecret(original) || hasSecret(text) {
		p.Secret = privateKeyKind
	}
	marks := boundary().FindAllStringSubmatchIndex(text, 2*maxBlocks)
	for i, m := range marks {
		if !strings.EqualFold(text[m[2]:m[3]], "BEGIN") || len(p.Blocks) >= maxBlocks {
			continue
		}
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		p.Blocks = append(p.Blocks, newBlock(strings.ToUpper(text[m[4]:m[5]]), text[m[1]:end]))
	}
	if len(p.Blocks) == 0 {
		p.bare(bareBoundary().ReplaceAllString(boundary().ReplaceAllString(text, "\n"), "\n"), again)
	}
	if len(p.Blocks) == 0 {
		p.Kind = kindOfText(strings.Trim(original, "\ufeff \t\r\n"))
	}
}

// newBlock decodes the text between the lines.
func newBlock(label, body string) block {
	b := block{Label: label, Kind: kindOfLabel(label)}
	var data strings.Builder
	for line := range strings.SplitSeq(strings.Trim(body, "\n"), "\n") {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.ContainsAny(name, "+/=") {
			continue // a header of RFC 1421
		}
		data.WriteString(line)
		data.WriteByte('\n')
	}
	if b.Kind.secret() {
		return b // it is not even decoded
	}
	if b.DER, b.Fault = decode(data.String()); b.Fault != "" {
		der, fault := decode(longestRun(body))
		switch {
		case fault != "":
		case kindOf(der).secret():
			b.Kind = kindOf(der)
		case complete(der):
			b.DER, b.Fault = der, "" // other text follows where a line END should be
		}
	}
	if b.DER != nil {
		if kind := kindOf(b.DER); kind != unknownKind {
			b.Kind = kind
		}
	}
	return b
}

// kindOfLabel reports what a block should be. Labels are those of RFC 7468 and of older programs.
func kindOfLabel(label string) kind {
	switch {
	case strings.Contains(label, "PRIVATE KEY"):
		return privateKeyKind
	case strings.Contains(label, "CERTIFICATE REQUEST"):
		return requestKind
	case strings.HasPrefix(label, "PGP"):
		return pgpKind
	case strings.HasPrefix(label, "SSH"):
		return sshKeyKind
	case strings.Contains(label, "PUBLIC KEY"):
		return publicKeyKind
	case label == "PKCS7" || label == "CMS" || label == "PKCS #7 SIGNED DATA" || label == "CERTIFICATE CHAIN":
		return pkcs7Kind
	case label == "PKCS12" || label == "PFX":
		return pkcs12Kind
	case strings.Contains(label, "CRL"):
		return crlKind
	case strings.Contains(label, "PARAMETERS"):
		return parametersKind
	case strings.Contains(label, "CERTIFICATE"):
		return certificateKind
	default:
		return unknownKind
	}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// urlAlphabet turns the other alphabet of RFC 4648 section 5 into the usual one.
var urlAlphabet = strings.NewReplacer("-", "+", "_", "/")

// decode decodes Base64 with white space anywhere, in either alphabet, padded or not. Web forms turn plus signs into
// blanks, which are put back where the text makes no sense without. The fault names no character, since the text may
// be a secret.
func decode(text string) (der []byte, fault string) {
	data := strings.Join(strings.Fields(text), "")
	der, fault = decodeWhole(data)
	if fault == "" && complete(der) || !strings.Contains(strings.TrimSpace(text), " ") {
		return der, fault
	}
	for _, around := range []string{" \t\r\n", "\r\n"} { // indented lines, and plus signs at the ends of lines
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.ReplaceAll(strings.Trim(line, around), " ", "+"))
		}
		if with, none := decodeWhole(strings.Join(lines, "")); none == "" && complete(with) {
			return with, ""
		}
	}
	return der, fault
}

func decodeWhole(data string) (der []byte, fault string) {
	data = strings.TrimRight(urlAlphabet.Replace(data), "=")
	if data == "" {
		return nil, "There is nothing between the lines BEGIN and END."
	}
	if rest := strings.TrimLeft(data, alphabet); rest != "" {
		return nil, fmt.Sprintf("Character %d of the Base64 text is not one of the Base64 alphabet.", len(data)-len(rest)+1)
	}
	if len(data)%4 == 1 {
		return nil,
			fmt.Sprintf("The Base64 text has %d characters, which no number of bytes encodes to: one is missing or too many.",
				len(data))
	}
	der, err := base64.RawStdEncoding.DecodeString(data)
	if err != nil {
		return nil, "The text between the lines BEGIN and END is not Base64."
	}
	return der, ""
}

func complete(der []byte) bool {
	length, header, ok := derLength(der)
	return ok && length+header == len(der)
}

// leastBare is how long a text without lines BEGIN and END must be to be taken for Base64. The smallest keys and
// requests have more.
const leastBare = 40

// bare looks for something encoded without lines BEGIN and END: the longest run of lines, that without blank ones, or
// the longest word.
func (p *paste) bare(text string, again bool) {
	var der []byte
	for _, run := range []string{longestRun(text), longestRun(paragraphs.Replace(text)), longestWord(text)} {
		if decoded, fault := decode(run); fault == "" && len(run) >= leastBare && (der == nil || complete(decoded)) {
			der = decoded
		}
	}
	if octets, err := hex.DecodeString(hexDigits.Replace(text)); err == nil && len(octets) > leastBare {
		p.Encoding, der = "it is written in hexadecimal", octets
	}
	if again && len(der) > 0 && isText(der) { // a PEM text in Base64, as Kubernetes has it
		p.Encoding = cmp.Or(p.Encoding, "it is encoded in Base64 a second time")
		p.find(string(der), false)
	} else if kind := kindOf(der); kind != unknownKind {
		p.Blocks = append(p.Blocks, block{Kind: kind, DER: der})
	}
}

// paragraphs separates blank lines from the lines in Base64 that they may occur between.
var paragraphs = strings.NewReplacer("\n\n", "\n.\n")

// hexDigits removes separators and prefixes of digits.
var hexDigits = strings.NewReplacer(" ", "", "\n", "", "\t", "", ":", "", "0x", "", "0X", "", "x", "",
	",", "")

// isText reports whether bytes are text. Keys and requests in DER are not: octets of their lengths are no UTF-8.
func isText(b []byte) bool {
	return utf8.Valid(b) && !slices.ContainsFunc(b, func(c byte) bool {
		return c < ' ' && c != '\n' && c != '\r' && c != '\t'
	})
}

// word is a text in Base64 without white space.
var word = kit.Regexp(`[A-Za-z0-9+/_-]{40,}={0,2}`)

func longestWord(text string) (longest string) {
	for _, s := range word().FindAllString(text, -1) {
		if len(s) > len(longest) {
			longest = s
		}
	}
	return longest
}

// longestRun returns the longest run of lines in Base64.
func longestRun(text string) string {
	var best, run string
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimSpace(line)
		if strings.Trim(urlAlphabet.Replace(line), alphabet+"= ") != "" {
			run = ""
			continue
		}
		if run += line + "\n"; len(run) > len(best) {
			best = run
		}
	}
	return best
}

// kindOfText reports what a text is that encodes nothing.
func kindOfText(text string) kind {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "ssh-"), strings.HasPrefix(lower, "ecdsa-sha2-"), strings.HasPrefix(lower, "sk-ssh-"),
		strings.HasPrefix(lower, "sk-ecdsa-"):
		return sshKeyKind
	case strings.HasPrefix(lower, "spkac="):
		return spkacKind
	case strings.HasPrefix(lower, "certificate request:"):
		return printedKind
	case strings.HasPrefix(lower, "certificate:"):
		return certificateKind
	case strings.HasPrefix(lower, "<"):
		return pageKind
	case strings.HasPrefix(lower, "{") && strings.Contains(lower, `"kty"`):
		return publicKeyKind
	case strings.Contains(lower, "[req]") || strings.Contains(lower, "[ req ]") ||
		strings.Contains(lower, "distinguished_name"):
		return configKind
	case !strings.ContainsAny(text, " \n\t") && len(text) > 0 && len(text) < 300 && strings.ContainsAny(text, "./\\") &&
		!strings.HasSuffix(text, "."):
		return nameKind
	default:
		return unknownKind
	}
}
