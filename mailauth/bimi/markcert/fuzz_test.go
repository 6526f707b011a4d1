package markcert

import (
	"bytes"
	"testing"

	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// Whatever the text is, the report is whole, what is suggested can be published, and no private key is repeated.
func FuzzParse(f *testing.F) {
	f.Add([]byte(authority.Issue(mark{})))
	f.Add([]byte(markcerttest.PEM(authority.Intermediate) + authority.Issue(mark{Unlogged: true})))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMIIB"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxBytes || len(bytes.TrimSpace(text)) == 0 {
			return
		}
		r, err := Parse(t.Context(), testEnv(june), ParseRequest{PEM: string(text)})
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, r)
		checkSuggestion(t, june, r)
		if len(r.Chain) > maxCertificates {
			t.Errorf("%d certificates", len(r.Chain))
		}
	})
}

// There is a logo or a fault, and never more than the bound.
func FuzzReadLogotype(f *testing.F) {
	f.Add(markcerttest.Image(markcerttest.Logo).Encode())
	f.Add(markcerttest.Image("x").Encode(markcerttest.Image("y")))
	f.Add([]byte{0x30, 6, 0xa2, 4, 0xa0, 2, 0x30, 0})
	f.Fuzz(func(t *testing.T, der []byte) {
		l := readLogotype(der)
		if (l.Fault == "" && l.Image.Fault == "") != (l.Image.SVG != nil && l.Fault == "") {
			t.Errorf("%+v", l)
		}
		if len(l.Image.SVG) > svg.MaxBytes {
			t.Errorf("%d bytes", len(l.Image.SVG))
		}
	})
}

// Text that is not PEM has a form that identifies it, and the number of certificates is bounded.
func FuzzReadPEM(f *testing.F) {
	f.Add([]byte(authority.Issue(mark{})))
	f.Add([]byte{0x30, 0x82, 1, 0})
	f.Add([]byte("<svg/>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := readPEM(text)
		if b.Form != pemText && b.Form != der && b.Form != base64Text && len(b.Certificates) > 0 {
			t.Errorf("form %q with certificates", b.Form)
		}
		if _, known := forms[b.Form]; !known && len(b.Certificates)+len(b.Broken) == 0 {
			t.Errorf("form %q without certificates", b.Form)
		}
	})
}
