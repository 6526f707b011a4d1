package csr

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// secretTexts are private keys in the forms in which people have them.
func secretTexts(t *testing.T) map[string]string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	sec1, err := x509.MarshalECPrivateKey(signer())
	require.NoError(t, err)
	openssh, err := ssh.MarshalPrivateKey(edwards, "")
	require.NoError(t, err)
	block := func(label string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
	}
	inBase64 := base64.StdEncoding.EncodeToString
	whole := block("PRIVATE KEY", pkcs8)
	pkcs12 := []byte("\x30\x82\x03\xe9\x02\x01\x03\x30\x82\x03\xaf\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01" + string(pkcs8)) // RFC 7292 section 4
	return map[string]string{
		"PKCS #8": whole, "RSA": block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), "EC": block("EC PRIVATE KEY", sec1),
		"OpenSSH": string(pem.EncodeToMemory(openssh)), "encrypted": block("ENCRYPTED PRIVATE KEY", pkcs8), "DSA": block("DSA PRIVATE KEY", sec1),
		"PGP": block("PGP PRIVATE KEY BLOCK", pkcs8), "any": block("ANY PRIVATE KEY", pkcs8), "SSH2": "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n" + inBase64(pkcs8),
		"PKCS #12": inBase64(pkcs12), "PKCS #12 under a label": block("PKCS12", pkcs12), "PKCS #12 under a wrong label": block("CERTIFICATE REQUEST", pkcs12),
		"PKCS #8 under a wrong label": block("CERTIFICATE REQUEST", pkcs8), "EC under the label of a certificate": block("CERTIFICATE", sec1),
		"bare PKCS #8": inBase64(pkcs8), "bare PKCS #1": inBase64(x509.MarshalPKCS1PrivateKey(key)), "bare SEC 1": inBase64(sec1),
		"bare, cut off": inBase64(pkcs8[:300]), "one line": strings.ReplaceAll(whole, "\n", " "), "without END": whole[:len(whole)-40],
		"escaped": strings.ReplaceAll(whole, "\n", `\n`), "Base64 of PEM": inBase64([]byte(whole)), "garbled": strings.Replace(whole, "A", "!", 1),
		"behind a request": plan{}.pem() + whole, "before a request": whole + plan{}.pem(), "in a letter": "My key:\n\n" + whole + "\nRegards",
		"PuTTY": "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\n" + inBase64(pkcs8), "OpenSSH without lines": inBase64(openssh.Bytes),
		"JWK": `{"kty":"EC","crv":"P-256","d":"` + base64.RawURLEncoding.EncodeToString(sec1[7:39]) + `"}`,
	}
}

// A private key is reported in whatever form it comes, and nothing of it is in the report: no run of it of 12
// characters.
func TestPrivateKeys(t *testing.T) {
	for name, text := range secretTexts(t) {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(t.Context(), nil, Request{CSR: text})
			require.NoError(t, err)
			require.Equal(t, diag.Code("csr.private_key.present"), r.Findings[0].Code, "%+v", r.Findings)
			require.False(t, r.Valid)
			if !strings.Contains(name, "a request") {
				require.Equal(t, Invalid, r.Outcome)
				require.Len(t, r.Findings, 1)
			}
			reply, err := json.Marshal(r)
			require.NoError(t, err)
			request := plan{}.pem()
			for i := 0; i+12 <= len(text); i++ {
				part := text[i : i+12]
				if strings.ContainsAny(part, " -\n\\:") || strings.Contains(request, part) {
					continue
				}
				require.NotContains(t, string(reply), part)
			}
		})
	}
}

// A key that was altered as requests are is still reported, under its own label and under that of a request.
func TestBentPrivateKeys(t *testing.T) {
	der, err := x509.MarshalPKCS8PrivateKey(signer())
	require.NoError(t, err)
	for _, f := range forms(der) {
		for _, text := range []string{f.text, strings.ReplaceAll(f.text, "CERTIFICATE REQUEST", "PRIVATE KEY")} {
			r, err := Parse(t.Context(), nil, Request{CSR: text})
			require.NoError(t, err)
			require.Equal(t, []diag.Code{"csr.private_key.present"}, diagtest.CodesOf(r.Findings), f.name)
			reply, err := json.Marshal(r)
			require.NoError(t, err)
			inBase64 := base64.StdEncoding.EncodeToString(der)
			for i := 0; i+12 <= len(inBase64); i++ {
				require.NotContains(t, string(reply), inBase64[i:i+12])
			}
		}
	}
}

// A key is reported under the label of a request where the rest of it is garbled.
func TestGarbledPrivateKey(t *testing.T) {
	der, err := x509.MarshalPKCS8PrivateKey(signer())
	require.NoError(t, err)
	lines := strings.Split(cleanPEM(der), "\n")
	lines[2] = "!" + lines[2]
	r, err := Parse(t.Context(), nil, Request{CSR: strings.Join(lines, "\n")})
	require.NoError(t, err)
	require.Equal(t, []diag.Code{"csr.private_key.present"}, diagtest.CodesOf(r.Findings))
}

// What is not a request is called by its name.
func TestOtherTypes(t *testing.T) {
	spki := mustRead(t, plan{}).Key.SPKI
	block := func(label string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
	}
	pkcs7 := []byte("\x30\x13\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x06\x30\x04\x02\x01\x01\x31\x00")
	for name, tt := range map[string]struct {
		text string
		want kind
	}{
		"public key":          {block("PUBLIC KEY", spki), publicKeyKind},
		"bare public key":     {base64.StdEncoding.EncodeToString(spki), publicKeyKind},
		"RSA public key":      {block("RSA PUBLIC KEY", []byte("\x30\x0a\x02\x04\x7f\xff\xff\xff\x02\x02\x01\x01")), publicKeyKind},
		"PKCS #7":             {block("PKCS7", pkcs7), pkcs7Kind},
		"PKCS #7 by content":  {block("CERTIFICATE", pkcs7), pkcs7Kind},
		"SSH":                 {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE me@host", sshKeyKind},
		"SSH2":                {"---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----", sshKeyKind},
		"PGP":                 {"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----", pgpKind},
		"CRL":                 {block("X509 CRL", []byte{0x30, 0}), crlKind},
		"parameters":          {block("EC PARAMETERS", p256), parametersKind},
		"printed":             {"Certificate Request:\n    Data:\n        Version: 1 (0x0)", printedKind},
		"page":                {"<!DOCTYPE html><title>Login</title>", pageKind},
		"file":                {"example.com.csr", nameKind},
		"configuration":       {"[req]\ndistinguished_name = dn\n", configKind},
		"certificate, broken": {"-----BEGIN CERTIFICATE-----\nMII!\n-----END CERTIFICATE-----", certificateKind},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(t.Context(), nil, Request{CSR: tt.text})
			require.NoError(t, err)
			require.Equal(t, []diag.Code{"csr.type.other"}, diagtest.CodesOf(r.Findings))
			require.Equal(t, string(tt.want), r.Findings[0].Target)
			require.Equal(t, Invalid, r.Outcome)
		})
	}
}
