package markcert

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

const (
	// maxBytes bounds how much of a text is read (CONTRACT 3.3.2). Certificates with a logo have up to 50 KiB.
	maxBytes = 256 << 10
	// maxCertificates bounds the certificates read from a text. Real ones have up to 4.
	maxCertificates = 20
)

// A bundle is the content of a text of PEM blocks (RFC 7468).
type bundle struct {
	Certificates []*x509.Certificate // in the order of the text
	Broken       []broken            // blocks that cannot be read
	Others       []string            // types of the blocks that are not certificates, each once
	PrivateKey   bool                // one of them is a private key
	Form         form                // what the text is if it has no block of a certificate
	Excess       int                 // certificates beyond the bound, which were not read
}

type broken struct {
	Index int    // of the blocks of certificates, from 1; 0 for one that cannot be counted
	Text  string // why, as a clause
}

type form string

// The forms.
const (
	pemText     form = ""       // it has PEM blocks of certificates
	der         form = "der"    // the certificate in binary form; it is read all the same
	base64Text  form = "base64" // a certificate without the lines BEGIN and END; it is read all the same
	pkcs7       form = "pkcs7"  // a bundle of PKCS #7
	html        form = "html"   // a page
	svgText     form = "svg"    // a logo
	empty       form = "empty"  // nothing
	otherBlocks form = "blocks" // PEM blocks of other types
	cut         form = "cut"    // a block that has no END line, or the other way around
	other       form = "other"  // any other text
)

const (
	beginBlock = "-----BEGIN "
	beginMark  = "-----BEGIN CERTIFICATE-----"
	byteOrder  = "\ufeff"
)

// readPEM reads a text of PEM blocks as far as it can be read. Blanks, line ends and text around the blocks do not
// matter.
func readPEM(text []byte) *bundle {
	b := &bundle{Form: other}
	rest := normalise(text[:min(len(text), maxBytes)])
	count := 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE", "X509 CERTIFICATE", "X.509 CERTIFICATE": // RFC 7468 section 5.1 names the old labels
			count++
			b.add(count, block.Bytes)
		default:
			b.other(block.Type)
		}
	}
	if count > 0 {
		b.Form = pemText
	}
	b.damaged(text, count)
	if count == 0 && len(b.Broken) == 0 {
		b.guess(text)
	}
	return b
}

func (b *bundle) add(index int, der []byte) {
	if len(b.Certificates)+len(b.Broken) >= maxCertificates {
		b.Excess++
		return
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		b.Broken = append(b.Broken, broken{index, fault(der)})
		return
	}
	b.Certificates = append(b.Certificates, c)
}

// bundled is the fault of a bundle that is labeled as a certificate.
const bundled = "what it encodes is a PKCS #7 bundle"

func fault(der []byte) string {
	switch {
	case len(der) == 0:
		return "it is empty"
	case der[0] != 0x30:
		return "what it encodes is not ASN.1"
	case isPKCS7(der):
		return bundled
	default:
		return "what it encodes is not a valid X.509 certificate"
	}
}

func (b *bundle) other(kind string) {
	b.PrivateKey = b.PrivateKey || strings.HasSuffix(kind, "PRIVATE KEY")
	kind = clean(kind[:min(len(kind), 60)])
	if len(b.Others) < maxCertificates && !slices.Contains(b.Others, kind) {
		b.Others = append(b.Others, kind)
	}
}

func (b *bundle) damaged(text []byte, read int) {
	begun := bytes.Count(text, []byte(beginMark))
	if begun > read && len(b.Broken) < maxCertificates {
		b.Broken = append(b.Broken, broken{0, "the block is damaged: it has no END line, or characters that are not Base64"})
		b.Form = pemText
	}
	b.PrivateKey = b.PrivateKey || bytes.Contains(text, []byte("PRIVATE KEY-----"))
}

var boundary = kit.Regexp(`-----(?:BEGIN|END) [A-Z0-9 .#]+-----`)

func normalise(text []byte) []byte {
	s := strings.TrimPrefix(string(text), byteOrder)
	s = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", "\u00a0", " ").Replace(s)
	s = boundary().ReplaceAllString(s, "\n$0\n")
	lines := kit.Map(strings.Split(s, "\n"), strings.TrimSpace)
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	return []byte(strings.Join(lines, "\n") + "\n")
}

// guess finds out what a text without a block of a certificate is, and reads the certificate if it is one in another
// form.
func (b *bundle) guess(text []byte) {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrder)))
	head := strings.ToLower(string(trimmed[:min(len(trimmed), 512)]))
	switch {
	case len(trimmed) == 0:
		b.Form = empty
	case len(b.Others) > 0:
		b.Form = otherBlocks
		if slices.Contains(b.Others, "PKCS7") || slices.Contains(b.Others, "CMS") {
			b.Form = pkcs7
		}
	case bytes.Contains(trimmed, []byte(beginBlock)) || bytes.Contains(trimmed, []byte("-----END ")):
		b.Form = cut
	case strings.Contains(head, "<svg"):
		b.Form = svgText
	case strings.HasPrefix(head, "<"):
		b.Form = html
	case trimmed[0] == 0x30 && len(trimmed) > 1 && trimmed[1] >= 0x80:
		b.binary(text, der)
	default:
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(trimmed)), ""))
		if err == nil && len(der) > 0 {
			b.binary(der, base64Text)
		}
	}
}

// oidSignedData is the OID at the start of PKCS #7 bundles (RFC 5652 section 5.1).
var oidSignedData = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02}

func isPKCS7(der []byte) bool { return bytes.Contains(der[:min(len(der), 32)], oidSignedData) }

func (b *bundle) binary(der []byte, form form) {
	certs, err := x509.ParseCertificates(der)
	switch {
	case err == nil && len(certs) > 0:
		b.Form, b.Certificates = form, certs[:min(len(certs), maxCertificates)]
	case isPKCS7(der):
		b.Form = pkcs7
	}
}
