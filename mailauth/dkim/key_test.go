package dkim

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Keys for the tests: public halves, of which the private ones are gone.
const (
	rsa2048 = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwpCJ4kL9rdQyC6p4OvwtXUJRHIhQNmj4JskXkd2PzvT9zx1NKP1XRU+rQpe1" +
		"t5o7W+pR2l4GuKMQJzeCvZ1wxk2q1VOMUjcMTi9yBTTHkCWCG6GcfBvIcdSEuOlHH4De0Pue31tVFrIYWZf87AqP4SmQOpkiKhYbredIY7S7" +
		"f9ZfgbCeG0tOCI8bH1I0n6PYrg3/CHoym5hKyJOe46b3m3nO1JBD74Jou59jUyhH3WvwdSDLSZY+ENuuVwa9HfTgtSnWsJwjyYH4Ed5fRIRc" +
		"2tGB98v1Kn+HY3y9K0F6QCXktktBuU84k6Xqoe1NcV7TafauvvTvvD/gkns8VVM8NQIDAQAB"
	rsa1024 = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byY" +
		"zCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB"
	rsa512 = "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBANA0Swhk44fjhvv6i/Oi4m1qymdJeulnA7LY0TNPaphK3lxu+3g+jKQi/+AF9reMnigRpz+7" +
		"E+uexIATPXrh5WkCAwEAAQ=="
	bareRSA1024 = "MIGJAoGBAOQeU5CgFPNZGIazlXo2k/eJ1jpaTTxrmqF1HrDLlt04pvaMtCJj8nXoliLRC/H9vJjMI1vdb3XLcW60AIN/PBD8EL97/y" +
		"4GwJH7LPUvGP48vqUe+owqszesbiGy1PlCO8c70/OjFnJVgvMF87YR4Lcincb7aSvI5MgpP6X8rjDdAgMBAAE="
	ed25519Key     = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
	wrappedEd25519 = "MCowBQYDK2VwAyEA3SUqa9UbfciWkk7tlcJ9P1VD5pXAasg0JUn/OgjVbKE="
)

func TestParseKey(t *testing.T) {
	tests := []struct {
		name, text string
		reason     reason // why it is not used; empty if it is
		kinds      string // of the faults
	}{
		{"RSA", "v=DKIM1; k=rsa; p=" + rsa2048, "", ""},
		{"no version, no type", "p=" + rsa1024, "", ""},
		{"Ed25519", "v=DKIM1; k=ed25519; p=" + ed25519Key, "", ""},
		{"bare RSAPublicKey", "v=DKIM1; p=" + bareRSA1024, "", "bare key"},
		{"folded", "v=DKIM1; p=" + rsa1024[:50] + "\r\n\t" + rsa1024[50:60] + " " + rsa1024[60:], "", "blanks"},
		{"512 bits", "v=DKIM1; p=" + rsa512, reasonSize, ""},
		{"all tags", "v=DKIM1; h=sha1:sha256:x; k=rsa; n=a=20b; s=email:web; t=y:s:z; g=*; x=y; p=" + rsa1024, "",
			"unknown other hash other hash service flag obsolete"},
		{"revoked", "v=DKIM1; p=", reasonRevoked, ""},
		{"revoked with white space", "v=DKIM1; p= ;", reasonRevoked, ""},
		{"no p", "v=DKIM1; k=rsa", reasonMissing, "no key"},
		{"capital P", "v=DKIM1; P=" + rsa1024, reasonMissing, "unknown no key"},
		{"version late", "k=rsa; v=DKIM1; p=" + rsa1024, reasonSyntax, "version"},
		{"other version", "v=DKIM2; p=" + rsa1024, reasonSyntax, "version"},
		{"p twice", "v=DKIM1; p=" + rsa1024 + "; p=" + rsa1024, reasonSyntax, "repeated"},
		{"no semicolon", "v=DKIM1; k=rsa p=" + rsa1024, reasonSyntax, "semicolon key type no key"},
		{"unknown type", "v=DKIM1; k=rsa-2048; p=" + rsa1024, reasonType, "key type"},
		{"type in capitals", "v=DKIM1; k=RSA; p=" + rsa1024, reasonType, "key type"},
		{"no base64", "v=DKIM1; p=-----BEGIN PUBLIC KEY-----", reasonData, "base64"},
		{"no padding", "v=DKIM1; k=ed25519; p=" + strings.TrimRight(ed25519Key, "="), reasonData, "base64"},
		{"cut off", "v=DKIM1; p=" + rsa2048[:252], reasonData, "cut off"},
		{"wrapped Ed25519", "v=DKIM1; k=ed25519; p=" + wrappedEd25519, reasonData, "wrapped"},
		{"Ed25519 without k", "v=DKIM1; p=" + ed25519Key, reasonData, "other type"},
		{"RSA as Ed25519", "v=DKIM1; k=ed25519; p=" + rsa1024, reasonData, "other type"},
		{"only sha1", "v=DKIM1; h=sha1; p=" + rsa1024, reasonSHA1, "sha1"},
		{"unknown hash", "v=DKIM1; h=md5; p=" + rsa1024, reasonHash, "hash"},
		{"empty h", "v=DKIM1; h=; p=" + rsa1024, reasonSyntax, "list hash"},
		{"other service", "v=DKIM1; s=other; p=" + rsa1024, reasonService, "service type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := ParseKey(tt.text)
			var kinds []string
			for _, f := range k.List.Faults {
				kinds = append(kinds, string(f.Kind))
			}
			require.Equal(t, tt.kinds, strings.Join(kinds, " "), "%+v", k.List.Faults)
			if tt.reason == "" {
				require.NoError(t, k.Err())
				require.NotNil(t, k.Public)
				return
			}
			e, ok := errors.AsType[*keyError](k.Err())
			require.True(t, ok)
			require.Equal(t, tt.reason, e.Reason, "%v", e)
		})
	}
}

func TestKeyFields(t *testing.T) {
	k := ParseKey("v=DKIM1; h=sha256:sha1; s=email; t=y : s; n=old=20key; p=" + rsa2048)
	require.Equal(t, []string{"sha256", "sha1"}, k.Hashes)
	require.Equal(t, []string{"email"}, k.Services)
	require.True(t, k.testing() && k.Strict() && k.forMail())
	require.Equal(t, "old key", k.Notes)
	require.Equal(t, FormSPKI, k.Form)
	require.Equal(t, 2048, k.Public.(*rsa.PublicKey).N.BitLen())
	require.Equal(t, 2048, k.Details.SizeBits)
	k = ParseKey("k=ed25519; p=" + ed25519Key)
	require.Len(t, k.Public.(ed25519.PublicKey), 32)
	require.Equal(t, FormRaw, k.Form)
	require.Nil(t, k.Hashes)
}

// Verifiers do not mind an RSA key whose algorithm lacks the parameter NULL.
func TestParseKeyWithoutNull(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(bareRSA1024)
	require.NoError(t, err)
	var info struct {
		Algorithm struct{ OID asn1.ObjectIdentifier }
		Key       asn1.BitString
	}
	info.Algorithm.OID, info.Key = oidRSA, asn1.BitString{Bytes: data, BitLength: 8 * len(data)}
	spki, err := asn1.Marshal(info)
	require.NoError(t, err)
	k := ParseKey("v=DKIM1; p=" + base64.StdEncoding.EncodeToString(spki))
	require.NoError(t, k.Err())
	require.Equal(t, ParseKey("p="+rsa1024).Public, k.Public)

	require.Equal(t, "a=zz", ParseKey("v=DKIM1; n=a=zz; p=").Notes) // not quoted-printable
}

// The key records of the corpora: a key that signs good messages is usable except under current policies, a bad record
// has a fault that names it, and the verdict on a record agrees.
func TestConformanceKeys(t *testing.T) {
	folder := filepath.Dir(diagtest.Suite(t, "mail/dkim/mail-dkim/FAKE_DNS.dat")[0])
	keys := corpusKeys(t, filepath.Join(folder, "FAKE_DNS.dat"))
	for name, text := range stalwartKeys(t) {
		keys[name] = text
	}
	good := goodSelectors(t, folder)
	usable, refused := 0, 0
	for name, text := range keys {
		k := ParseKey(text)
		err, _ := errors.AsType[*keyError](k.Err())
		switch {
		case err == nil || err.Reason == reasonSHA1 || err.Reason == reasonSize:
			usable++
			require.NotNil(t, k.Public, name)
		default:
			refused++
			require.NotEmpty(t, err.Text, name)
			require.False(t, good[name], "%s signs a message that is good: %v", name, err)
		}
		if broken.MatchString(name) { // g=*poe is a fault that RFC 6376 forgave
			require.True(t, k.Revoked || len(k.List.Faults) > 0, name)
		}
		if r, invalid := Validate(ValidateRequest{Record: text}); text != "" {
			require.NoError(t, invalid, name)
			require.Equal(t, err == nil, r.Valid, "%s: %v, %+v", name, err, r.Findings)
			checkSuggestions(t, text, r.Verdict)
		}
	}
	require.NotZero(t, usable)
	require.NotZero(t, refused)
	t.Logf("%d key records: %d usable, %d with a fault; %d keys of good messages", len(keys), usable, refused, len(good))
}

// corpusKeys reads name and record of each line of FAKE_DNS.dat.
func corpusKeys(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	keys := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, text, ok := strings.Cut(lines.Text(), "  ")
		if ok && strings.Contains(name, "_domainkey") && !strings.HasPrefix(text, "~") {
			keys[name] = strings.Trim(strings.TrimSpace(text), `"`)
		}
	}
	require.NotEmpty(t, keys)
	return keys
}

// stalwartKeys reads the records on top of the messages of another corpus.
func stalwartKeys(t *testing.T) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for _, path := range diagtest.Suite(t, "mail/dkim/stalwart/*.txt") {
		message, err := os.ReadFile(path)
		require.NoError(t, err)
		records, _, _ := strings.Cut(strings.ReplaceAll(string(message), "\r\n", "\n"), "\n\n")
		for line := range strings.Lines(records) {
			if name, text, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, "._domainkey.") {
				keys[name] = text
			}
		}
	}
	require.NotEmpty(t, keys)
	return keys
}

// goodSelectors returns the names of the keys whose messages pass.
func goodSelectors(t *testing.T, folder string) map[string]bool {
	t.Helper()
	expected, err := os.ReadFile(filepath.Join(folder, "EXPECTED.tsv"))
	require.NoError(t, err)
	names := map[string]bool{}
	for line := range strings.Lines(string(expected)) {
		file, verdict, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if verdict != "pass" || !strings.HasPrefix(file, "good") {
			continue
		}
		message, err := os.ReadFile(filepath.Join(folder, file))
		require.NoError(t, err)
		for _, m := range signature.FindAllString(string(message), -1) {
			d, s := domainTag.FindStringSubmatch(m), selectorTag.FindStringSubmatch(m)
			if d != nil && s != nil {
				names[s[1]+"._domainkey."+strings.ToLower(d[1])] = true
			}
		}
	}
	require.NotEmpty(t, names)
	return names
}

// broken are the names of records with a fault.
var broken = regexp.MustCompile(`^(testbad|testrevoked|invalid|[^.]*-empty)`)

// A signature and the tags of it that name its key.
var (
	signature   = regexp.MustCompile(`(?mi)^(?:DKIM|DomainKey)-Signature:.*(?:\r?\n[ \t].*)*`)
	domainTag   = regexp.MustCompile(`[:;\s]d\s*=\s*([^;\s]+)`)
	selectorTag = regexp.MustCompile(`[:;\s]s\s*=\s*([^;\s]+)`)
)
