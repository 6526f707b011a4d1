package markcert

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"regexp"
	"strings"
)

// The bounds of a text.
const (
	// MaxBytes is how much of a text is read (CONTRACT 3.3.2). Certificates with a logo have up to 50 KiB.
	MaxBytes = 256 << 10

	// MaxCertificates is how many certificates of a text are read. Real ones have up to 4.
	MaxCertificates = 20
)

// A Bundle is what a text of PEM blocks holds (RFC 7468).
type Bundle struct {
	Certificates []*x509.Certificate // in the order of the text
	Broken       []Broken            // blocks that cannot be read
	Others       []string            // types of the blocks that are no certificates, each once
	PrivateKey   bool                // one of them is a private key
	Form         Form                // what the text is if it has no block of a certificate
	Excess       int                 // certificates beyond the bound, which were not read
}

// Broken is a block of a certificate that cannot be read.
type Broken struct {
	Index int    // of the blocks of certificates, from 1; 0 for one that cannot be counted
	Text  string // why, as a clause
}

// A Form is what a text is.
type Form string

// The forms.
const (
	PEM    Form = ""       // it has PEM blocks of certificates
	DER    Form = "der"    // the certificate in binary form; it is read all the same
	Base64 Form = "base64" // a certificate without the lines BEGIN and END; it is read all the same
	PKCS7  Form = "pkcs7"  // a bundle of PKCS #7
	HTML   Form = "html"   // a page
	SVG    Form = "svg"    // a logo
	Empty  Form = "empty"  // nothing
	Blocks Form = "blocks" // PEM blocks of other things
	Cut    Form = "cut"    // a block that has no END line, or the other way around
	Other  Form = "other"  // something else
)

const (
	beginBlock = "-----BEGIN "
	beginMark  = "-----BEGIN CERTIFICATE-----"
	byteOrder  = "\ufeff"
)

// ReadPEM reads a text of PEM blocks as far as it can be read. Blanks, line ends and text around the blocks do not
// matter.
func ReadPEM(text []byte) *Bundle {
	b := &Bundle{Form: Other}
	rest := normalise(text[:min(len(text), MaxBytes)])
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
		b.Form = PEM
	}
	b.damaged(text, count)
	if count == 0 && len(b.Broken) == 0 {
		b.guess(text)
	}
	return b
}

// add reads the certificate of a block.
func (b *Bundle) add(index int, der []byte) {
	if len(b.Certificates)+len(b.Broken) >= MaxCertificates {
		b.Excess++
		return
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		b.Broken = append(b.Broken, Broken{index, fault(der)})
		return
	}
	b.Certificates = append(b.Certificates, c)
}

// bundled is the fault of a bundle that is labeled as a certificate.
const bundled = "what it encodes is a PKCS #7 bundle"

// fault says why bytes are no certificate.
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

func (b *Bundle) other(kind string) {
	b.PrivateKey = b.PrivateKey || strings.HasSuffix(kind, "PRIVATE KEY")
	kind = clean(kind[:min(len(kind), 60)])
	for _, known := range b.Others {
		if known == kind {
			return
		}
	}
	if len(b.Others) < MaxCertificates {
		b.Others = append(b.Others, kind)
	}
}

// damaged finds blocks that begin and that the decoder passed over.
func (b *Bundle) damaged(text []byte, read int) {
	begun := bytes.Count(text, []byte(beginMark))
	if begun > read && len(b.Broken) < MaxCertificates {
		b.Broken = append(b.Broken, Broken{0, "the block is damaged: it has no END line, or characters that are not Base64"})
		b.Form = PEM
	}
	b.PrivateKey = b.PrivateKey || bytes.Contains(text, []byte("PRIVATE KEY-----"))
}

// boundary is the first or last line of a block.
var boundary = regexp.MustCompile(`-----(?:BEGIN|END) [A-Z0-9 .#]+-----`)

// normalise undoes what copying does to a text: blanks around lines, lines joined to one, line ends written as \n.
func normalise(text []byte) []byte {
	s := strings.TrimPrefix(string(text), byteOrder)
	s = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", "\u00a0", " ").Replace(s)
	s = boundary.ReplaceAllString(s, "\n$0\n")
	var out strings.Builder
	out.Grow(len(s) + 1)
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(line)
			out.WriteByte('\n')
		}
	}
	return []byte(out.String())
}

// guess finds out what a text without a block of a certificate is, and reads the certificate if it is one in another
// form.
func (b *Bundle) guess(text []byte) {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrder)))
	head := strings.ToLower(string(trimmed[:min(len(trimmed), 512)]))
	switch {
	case len(trimmed) == 0:
		b.Form = Empty
	case len(b.Others) > 0:
		b.Form = Blocks
		for _, kind := range b.Others {
			if kind == "PKCS7" || kind == "CMS" {
				b.Form = PKCS7
			}
		}
	case bytes.Contains(trimmed, []byte(beginBlock)) || bytes.Contains(trimmed, []byte("-----END ")):
		b.Form = Cut
	case strings.Contains(head, "<svg"):
		b.Form = SVG
	case strings.HasPrefix(head, "<"):
		b.Form = HTML
	case trimmed[0] == 0x30 && len(trimmed) > 1 && trimmed[1] >= 0x80:
		b.binary(text, DER)
	default:
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(trimmed)), ""))
		if err == nil && len(der) > 0 {
			b.binary(der, Base64)
		}
	}
}

// oidSignedData stands at the beginning of PKCS #7 bundles (RFC 5652 section 5.1).
var oidSignedData = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02}

func isPKCS7(der []byte) bool { return bytes.Contains(der[:min(len(der), 32)], oidSignedData) }

func (b *Bundle) binary(der []byte, form Form) {
	certs, err := x509.ParseCertificates(der)
	switch {
	case err == nil && len(certs) > 0:
		b.Form, b.Certificates = form, certs[:min(len(certs), MaxCertificates)]
	case isPKCS7(der):
		b.Form = PKCS7
	}
}
