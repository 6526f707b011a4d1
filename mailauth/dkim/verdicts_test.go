package dkim

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/keys.txt
var keysText string

// testKey returns a key of testdata/keys.txt.
func testKey(name string) string {
	for line := range strings.Lines(keysText) {
		if n, key, _ := strings.Cut(strings.TrimSpace(line), " "); n == name {
			return key
		}
	}
	panic("no key " + name)
}

var rsa4096 = testKey("rsa4096")

// altered is the key of 2048 bits with another modulus or exponent.
func altered(factor int64, exponent int) string {
	data, err := base64.StdEncoding.DecodeString(rsa2048)
	if err != nil {
		panic(err)
	}
	n := new(big.Int).Mul(readSPKI(data).N, big.NewInt(factor))
	spki, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n, E: exponent})
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(spki)
}

// openSSH is a key as OpenSSH writes it, without its name.
func openSSH(key string) string {
	public := readSPKI(decode(key))
	var b []byte
	for _, part := range [][]byte{[]byte("ssh-rsa"), big.NewInt(int64(public.E)).Bytes(), append([]byte{0}, public.N.Bytes()...)} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func decode(text string) []byte { data, _ := base64.StdEncoding.DecodeString(text); return data }

func readSPKI(data []byte) *rsa.PublicKey { return identify(data).public.(*rsa.PublicKey) }

const (
	good = "v=DKIM1; k=rsa; p=" + rsa2048
	zone = "example.com. SOA ns1.example.com. hostmaster.example.com. 1 7200 3600 1209600 300\n" +
		"example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n"
)

var request = LookupRequest{Domain: diag.MustDomain("example.com"), Selector: diag.MustSelector("s1")}

// quote writes a text as character-strings of a zone file.
func quote(text string) string {
	var b strings.Builder
	for _, s := range dnsmsg.SplitTXT(text) {
		fmt.Fprintf(&b, " %q", s)
	}
	return b.String()
}

// at publishes texts at a name.
func at(name string, texts ...string) string {
	list := zone
	for _, text := range texts {
		list += name + " TXT" + quote(text) + "\n"
	}
	return list
}

func join(codes []diag.Code) string {
	var list []string
	for _, c := range codes {
		list = append(list, strings.TrimPrefix(string(c), "dkim."))
	}
	return strings.Join(list, " ")
}

// outcome is state, score and codes of a verdict.
func outcome(v diag.Verdict) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", v.State, diagtest.Score(v), join(diagtest.Codes(v))))
}

// suggested returns the value that a verdict suggests: at most one, apart from the testing flag.
func suggested(v diag.Verdict) string {
	for _, r := range v.Recommendations {
		if r.SuggestedValue != "" {
			return r.SuggestedValue
		}
	}
	return ""
}

// validations are texts of records; fixed is the suggested one: same for the good record.
var validations = []struct {
	name, text string
	want       string
	fixed      string
}{
	{"good", good, "valid 100", ""},
	{"no k", "v=DKIM1; p=" + rsa2048, "valid 100", ""},
	{"last semicolon", good + ";", "valid 100", ""},
	{"strict", "v=DKIM1; t=s; s=email:*; h=sha256; n=hello=20you; p=" + rsa2048, "valid 100", ""},
	{"in quotes", `"v=DKIM1; k=rsa; p=` + rsa2048[:200] + `" "` + rsa2048[200:] + `"`, "valid 100", ""},
	{"of a key generator", "s1._domainkey\tIN\tTXT\t( \"v=DKIM1; h=sha256; k=rsa; \"\n\t  \"p=" + rsa2048[:200] + "\"\n\t  \"" +
		rsa2048[200:] + "\" )  ; ----- DKIM key s1 for example.com", "valid 100 record.line", ""},
	{"4096 bits", "v=DKIM1; p=" + rsa4096, "valid 100", ""},
	{"Ed25519", "v=DKIM1; k=ed25519; p=" + testKey("ed25519"), "valid 100 key.ed25519.alone", ""},
	{"no version", "p=" + rsa2048, "valid 100", ""},
	{"unknown tag", good + "; x=y", "valid 100", ""},
	{"unknown flag", "v=DKIM1; t=s:z; p=" + rsa2048, "valid 100", ""},
	{"unknown service", "v=DKIM1; s=email:web; p=" + rsa2048, "valid 100", ""},
	{"sha1 beside sha256", "v=DKIM1; h=sha1:sha256; p=" + rsa2048, "valid 100", ""},
	{"g=*", "v=DKIM1; g=*; k=rsa; p=" + rsa2048, "valid 100 record.granularity.obsolete", good},
	{"g=", "v=DKIM1; g=; k=rsa; p=" + rsa2048, "warning 89 record.granularity", good},
	{"blanks in the key", "v=DKIM1; k=rsa; p=" + rsa2048[:100] + " \t" + rsa2048[100:], "valid 100", ""},
	{"testing", "v=DKIM1; k=rsa; t=y:s; p=" + rsa2048, "warning 89 flag.testing", "v=DKIM1; k=rsa; t=s; p=" + rsa2048},
	{"1024 bits", "v=DKIM1; p=" + rsa1024, "warning 89 key.size.short", ""},
	{"5120 bits", "v=DKIM1; p=" + testKey("rsa5120"), "warning 89 key.size.long", ""},
	{"exponent 3", "v=DKIM1; p=" + testKey("exponent3"), "warning 89 key.exponent.small", ""},
	{"bare key", "v=DKIM1; k=rsa; p=" + bareRSA1024, "warning 89 key.rsa.bare key.size.short", "v=DKIM1; k=rsa; p=" + rsa1024},

	{"512 bits", "v=DKIM1; p=" + rsa512, "invalid 39 key.size.refused", ""},
	{"even exponent", "v=DKIM1; p=" + altered(1, 4), "invalid 39 key.exponent.invalid", ""},
	{"small factor", "v=DKIM1; p=" + altered(751, 65537), "invalid 39 key.factor", ""},
	{"revoked", "v=DKIM1; p=", "invalid 69 key.revoked", ""},
	{"p left out", "v=DKIM1; k=rsa", "invalid 39 key.missing", ""},
	{"P for p", "v=DKIM1; k=rsa; P=" + rsa2048, "invalid 39 key.missing", good},
	{"version late", "k=rsa; v=DKIM1; p=" + rsa2048, "invalid 39 record.version", good},
	{"version in lower case", "v=dkim1; k=rsa; p=" + rsa2048, "invalid 39 record.version", good},
	{"other version", "v=DKIM2; k=rsa; p=" + rsa2048, "invalid 39 record.version", good},
	{"quotation marks of a word processor", "\u201cv=DKIM1; k=rsa; p=" + rsa2048 + "\u201d",
		"invalid 39 record.version key.base64 record.syntax", good},
	{"byte order mark", "\ufeff" + good, "invalid 39 record.version record.syntax", good},
	{"HTML", "v=DKIM1&#59; k=rsa&#59; p=" + rsa2048, "invalid 39 record.version key.type.unknown", good},
	{"escaped semicolons", `v=DKIM1\; k=rsa\; p=` + rsa2048, "invalid 39 record.version key.type.unknown", good},
	{"commas", "v=DKIM1, k=rsa, p=" + rsa2048, "invalid 22 record.version key.missing record.syntax", good},
	{"no semicolon", "v=DKIM1; k=rsa p=" + rsa2048, "invalid 36 key.missing key.type.unknown record.syntax", good},
	{"two semicolons", "v=DKIM1;; k=rsa; p=" + rsa2048, "invalid 69 record.syntax", good},
	{"key twice", good + "; p=" + rsa2048, "invalid 69 record.repeated", good},
	{"two keys", good + "; p=" + rsa1024, "invalid 69 record.repeated", ""},
	{"strings that join badly", `"v=DKIM1; t=s" "k=rsa; p=` + rsa2048[:200] + `" "` + rsa2048[200:] + `"`,
		"invalid 69 record.joined", "v=DKIM1; k=rsa; t=s; p=" + rsa2048},
	{"long string", `"v=DKIM1; k=rsa; " "p=` + rsa2048 + `"`, "invalid 69 record.string.long", ""},
	{"one string in quotes", `"` + good + `"`, "invalid 39 record.version", good},
	{"k=RSA", "v=DKIM1; k=RSA; p=" + rsa2048, "invalid 39 key.type.unknown", good},
	{"k=ed25519 for RSA", "v=DKIM1; k=ed25519; p=" + rsa2048, "invalid 39 key.type.mismatch", good},
	{"Ed25519 without k", "v=DKIM1; p=" + testKey("ed25519"), "invalid 39 key.type.mismatch",
		"v=DKIM1; k=ed25519; p=" + testKey("ed25519")},
	{"ECDSA", "v=DKIM1; p=" + testKey("p256"), "invalid 39 key.type.mismatch", ""},
	{"Ed25519 in a SubjectPublicKeyInfo", "v=DKIM1; k=ed25519; p=" + wrappedEd25519, "invalid 39 key.ed25519.wrapped",
		"v=DKIM1; k=ed25519; p=3SUqa9UbfciWkk7tlcJ9P1VD5pXAasg0JUn/OgjVbKE="},
	{"Ed25519 of 31 bytes", "v=DKIM1; k=ed25519; p=" + testKey("ed25519")[4:], "invalid 39 key.unreadable", ""},
	{"PEM", "v=DKIM1; k=rsa; p=-----BEGIN PUBLIC KEY-----\n" + rsa2048[:64] + "\n" + rsa2048[64:] + "\n-----END PUBLIC KEY-----\n",
		"invalid 39 key.base64", good},
	{"PEM alone", "-----BEGIN PUBLIC KEY-----\n" + rsa2048[:64] + "\n" + rsa2048[64:] + "\n-----END PUBLIC KEY-----\n",
		"invalid 39 key.missing", good},
	{"key alone", rsa2048, "invalid 39 key.missing", good},
	{"quotation marks within the key", "v=DKIM1; k=rsa; p=" + rsa2048[:100] + `" "` + rsa2048[100:],
		"invalid 39 key.base64", good},
	{"plus signs lost", "v=DKIM1; k=rsa; p=" + strings.ReplaceAll(rsa2048, "+", " "), "invalid 39 key.base64", good},
	{"base64url", "v=DKIM1; k=rsa; p=" + strings.NewReplacer("+", "-", "/", "_").Replace(rsa2048), "invalid 39 key.base64", good},
	{"no padding", "v=DKIM1; k=ed25519; p=" + strings.TrimRight(testKey("ed25519"), "="), "invalid 39 key.base64",
		"v=DKIM1; k=ed25519; p=" + testKey("ed25519")},
	{"quotation marks around the version", `v="DKIM1"; k=rsa; p=` + rsa2048, "invalid 39 record.version", good},
	{"SSH", "v=DKIM1; p=ssh-rsa AAAAB3NzaC1yc2E=", "invalid 39 key.base64", ""},
	{"key of OpenSSH", "v=DKIM1; p=ssh-rsa " + openSSH(rsa2048) + " alice@example.com", "invalid 39 key.base64", good},
	{"base64 of OpenSSH", "v=DKIM1; p=" + openSSH(rsa2048), "invalid 39 key.unreadable", good},
	{"key of OpenSSH alone", "ssh-rsa " + openSSH(rsa2048) + " alice@example.com", "invalid 39 key.missing", good},
	{"short key of OpenSSH", "v=DKIM1; p=" + openSSH(rsa512), "invalid 39 key.unreadable", ""},
	{"Ed25519 of OpenSSH", "v=DKIM1; k=ed25519; p=ssh-ed25519 " + base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 "+
		string(decode(testKey("ed25519"))))), "invalid 39 key.base64", "v=DKIM1; k=ed25519; p=" + testKey("ed25519")},
	{"cut off", good[:255], "invalid 39 key.truncated", ""},
	{"not a key", "v=DKIM1; p=aGVsbG8gd29ybGQ=", "invalid 39 key.unreadable", ""},
	{"bytes behind the key", "v=DKIM1; p=" + rsa2048 + "AAAA", "invalid 39 key.unreadable", ""},
	{"private key", "v=DKIM1; p=" + testKey("private-rsa"), "invalid 39 key.private", ""},
	{"private key of PKCS #8", "v=DKIM1; p=" + testKey("private-info"), "invalid 39 key.private", ""},
	{"private key in PEM", "v=DKIM1; p=-----BEGIN PRIVATE KEY-----" + testKey("private-info") + "-----END PRIVATE KEY-----",
		"invalid 39 key.private", ""},
	{"only sha1", "v=DKIM1; k=rsa; h=sha1; p=" + rsa2048, "invalid 39 hash.refused", good},
	{"h=SHA256", "v=DKIM1; k=rsa; h=SHA256; p=" + rsa2048, "invalid 39 hash.refused", good},
	{"other service", "v=DKIM1; k=rsa; s=other; p=" + rsa2048, "invalid 39 service.refused", good},
	{"strings out of order", `"v=DKIM1; k=rsa; p=` + rsa2048[:150] + `" "` + rsa2048[300:] + `" "` + rsa2048[150:300] + `"`,
		"invalid 39 record.order", good},
	{"halves of the key in the wrong order", "v=DKIM1; k=rsa; t=s; p=" + rsa2048[222:] + rsa2048[:222], "invalid 39 record.order",
		"v=DKIM1; k=rsa; t=s; p=" + rsa2048},
	{"beginnings of keys and no key", "v=DKIM1; k=rsa; p=" + strings.Repeat("MIIB", 2000), "invalid 39 key.unreadable", ""},
	{"halves of the key in two strings", `"v=DKIM1; k=rsa; p=` + rsa2048[222:] + `" "` + rsa2048[:222] + `"`, "invalid 39 record.order", good},
	{"strings that two orders make a key of", `"v=DKIM1; k=rsa; p=` + rsa4096[:176] + `" "` + rsa4096[600:] + `" "` +
		rsa4096[400:600] + `" "` + rsa4096[176:400] + `"`, "invalid 39 key.base64", ""},
	{"Ed448", "v=DKIM1; p=" + base64.StdEncoding.EncodeToString(append([]byte("\x30\x43\x30\x05\x06\x03\x2b\x65\x71\x03\x3a\x00"),
		make([]byte, 57)...)), "invalid 39 key.type.mismatch", ""},
	{"a character missing", "v=DKIM1; k=ed25519; p=" + testKey("ed25519")[:41], "invalid 39 key.base64", ""},
	{"SPF", "v=spf1 -all", "invalid 39 record.version", ""},
	{"prose", "hello world", "invalid 39 key.missing record.syntax", ""},
}

func validateVerdicts(t *testing.T) []diag.Verdict {
	var seen diagtest.Seen
	for _, tt := range validations {
		t.Run("validate "+tt.name, func(t *testing.T) {
			r, err := Validate(ValidateRequest{Record: tt.text})
			require.NoError(t, err)
			seen.Add(r.Verdict)
			require.Equal(t, tt.want, outcome(r.Verdict), "%+v", r.Findings)
			require.Equal(t, tt.fixed, suggested(r.Verdict))
			require.Equal(t, r.State == diag.Valid || r.State == diag.Warned, r.Valid)
		})
	}
	return seen
}

// alias is a CNAME of the selector.
const alias = "s1._domainkey.example.com. CNAME s1.dkim.example.net.\nexample.net. A 192.0.2.1\n"

func lookupVerdicts(t *testing.T) []diag.Verdict {
	const s1 = "s1._domainkey.example.com."
	tests := []struct {
		name, zone string
		want       string
		detail     string // in the first finding
		fixed      string
	}{
		{"good", at(s1, good), "valid 100", "", ""},
		{"behind a CNAME", zone + alias + "s1.dkim.example.net. TXT" + quote(good), "valid 100", "", ""},
		{"short key of a service", zone + "s1._domainkey.example.com. CNAME s1.domainkey.u1.wl.sendgrid.net.\nexample.net. A 192.0.2.1\n" +
			"s1.domainkey.u1.wl.sendgrid.net. TXT" + quote("v=DKIM1; k=rsa; p="+rsa1024), "warning 89 key.size.short", "1024", ""},
		{"bare key of a service", zone + alias + "s1.dkim.example.net. TXT" + quote("v=DKIM1; k=rsa; p="+bareRSA1024),
			"warning 89 key.rsa.bare key.size.short", "SubjectPublicKeyInfo", ""},
		{"bare key behind an alias of one's own", zone + "s1._domainkey.example.com. CNAME s1.keys.example.com.\n" +
			"s1.keys.example.com. TXT" + quote("v=DKIM1; k=rsa; p="+bareRSA1024),
			"warning 89 key.rsa.bare key.size.short", "SubjectPublicKeyInfo", "v=DKIM1; k=rsa; p=" + rsa1024},
		{"no domain", "example.net. A 192.0.2.1\n", "missing none domain.nxdomain", "NXDOMAIN for example.com", ""},
		{"no keys at all", zone, "missing 0 record.missing", "no selector of the domain has one", ""},
		{"key at a common selector", at("s2._domainkey.example.com.", good), "missing 0 record.missing",
			"There are keys at other selectors of the domain: s2.", ""},
		{"key at another selector", at("x1._domainkey.example.com.", good), "missing 0 record.missing",
			"may be keys at other selectors", ""},
		{"name without TXT", zone + s1 + " A 192.0.2.1", "missing 0 record.missing", "There is no TXT record", ""},
		{"SPF of a wildcard", zone + `*._domainkey.example.com. TXT "v=spf1 -all"`, "missing 0 record.missing",
			"comes from a wildcard", ""},
		{"SPF", at(s1, "v=spf1 -all"), "missing 0 record.missing", "is not a DKIM key", ""},
		{"dangling CNAME", zone + alias, "missing 0 record.alias.dangling", "s1.dkim.example.net, which does not exist", ""},
		{"CNAME to a name without TXT", zone + alias + "s1.dkim.example.net. A 192.0.2.1", "missing 0 record.alias.dangling",
			"has no TXT record", ""},
		{"without _domainkey", at("s1.example.com.", good), "missing 0 record.missing", "no selector", good},
		{"domain twice", at("s1._domainkey.example.com.example.com.", good), "missing 0 record.missing",
			"no selector", good},
		{"without the underscore", at("s1.domainkey.example.com.", good), "missing 0 record.missing",
			"no selector", good},
		{"two keys", at(s1, good, "v=DKIM1; p="+rsa1024), "invalid 69 record.multiple",
			"an RSA key of 1024 bits, an RSA key of 2048 bits", ""},
		{"two records with the same key", at(s1, good, "k=rsa; p="+rsa2048), "invalid 69 record.multiple",
			"an RSA key of 2048 bits, an RSA key of 2048 bits", "k=rsa; p=" + rsa2048},
		{"one of two cannot be used", at(s1, good, good[:300]), "invalid 69 record.multiple",
			"one without a key that can be used", good},
		{"two types", at(s1, good, "v=DKIM1; k=ed25519; p="+testKey("ed25519")), "invalid 69 record.multiple",
			"an Ed25519 key, an RSA key of 2048 bits", ""},
		{"spread over six records", at(s1, good[:60], good[60:120], good[120:180], good[180:240], good[240:300], good[300:]),
			"invalid 39 key.truncated" + strings.Repeat(" record.other", 5), "of its 294 bytes", ""},
		{"one of two is revoked", at(s1, good, "v=DKIM1; p="), "invalid 69 record.multiple", "a revoked one", ""},
		{"another record", at(s1, good, "site-verification=1"), "warning 89 record.other", "site-verification=1", ""},
		{"spread over two records", at(s1, good[:255], good[255:]), "invalid 39 record.split", "spread over the 2 TXT records", good},
		{"tags and key apart", at(s1, "v=DKIM1; k=rsa; ", "p="+rsa2048), "invalid 39 record.split", "spread over the 2", good},
		{"strings out of order", zone + s1 + ` TXT "` + good[255:] + `" "` + good[:255] + `"`, "invalid 39 record.order",
			"The 2 strings", good},
		{"cut off", at(s1, good[:255]), "invalid 39 key.truncated", "of its 294 bytes", ""},
		{"revoked", at(s1, "v=DKIM1; p="), "invalid 69 key.revoked", "every signature", ""},
		{"all revoked by a wildcard", zone + `*._domainkey.example.com. TXT "v=DKIM1; p="`,
			"invalid 69 key.revoked", "without a record of their own", ""},
		{"key of a wildcard", zone + `*._domainkey.example.com. TXT` + quote(good), "valid 100", "every selector", ""},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run("lookup "+tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			r, err := Lookup(t.Context(), w.Env(), request)
			require.NoError(t, err)
			seen.Add(r.Verdict)
			require.Equal(t, tt.want, outcome(r.Verdict), "%+v", r.Findings)
			require.Equal(t, tt.fixed, suggested(r.Verdict))
			if tt.fixed != "" {
				v, err := Validate(ValidateRequest{Record: tt.fixed})
				require.NoError(t, err)
				require.True(t, v.Valid)
			}
			if tt.detail != "" && len(r.Findings) > 0 {
				require.Contains(t, r.Findings[0].Detail, tt.detail)
			}
		})
	}
	return append(append(seen, parentVerdicts(t)...), unknownVerdicts(t)...)
}

// parentVerdicts judges a subdomain whose key may be at the organizational domain, or under its name twice.
func parentVerdicts(t *testing.T) []diag.Verdict {
	var seen diagtest.Seen
	for name, want := range map[string]string{
		"s1._domainkey.example.com.":                       "missing 0 record.missing",
		"s2._domainkey.example.com.":                       "missing 0 record.missing",
		"s1._domainkey.news.example.com.example.com.":      "missing 0 record.missing",
		"s1._domainkey.news.example.com.news.example.com.": "missing 0 record.missing",
	} {
		w := diagtest.NewWorld(t)
		w.Zone(at(name, good) + "news.example.com. A 192.0.2.1\n")
		r := lookup(t, w, LookupRequest{diag.MustDomain("news.example.com"), request.Selector})
		seen.Add(r.Verdict)
		require.Equal(t, want, outcome(r.Verdict))
		// Where the organizational domain has the key, signatures with its name are in order.
		require.Equal(t, strings.Contains(name, "news."), suggested(r.Verdict) != "")
	}
	return seen
}

// unknownVerdicts judges worlds in which servers do not answer.
func unknownVerdicts(t *testing.T) []diag.Verdict {
	tests := []struct {
		name  string
		spoil func(*diagtest.World)
		want  string
		cause string
	}{
		{"SERVFAIL", func(w *diagtest.World) { w.Break("s1._domainkey.example.com", dns.RcodeServerFailure) },
			"unknown none record.unknown", "the resolver answered SERVFAIL"},
		{"silence", func(w *diagtest.World) { w.Silence("s1._domainkey.example.com") },
			"unknown none record.unknown", "no response"},
		{"target of the CNAME", func(w *diagtest.World) {
			w.Zone("s1._domainkey.example.com. CNAME s1.dkim.example.net.")
			w.Break("s1.dkim.example.net", dns.RcodeServerFailure)
		}, "unknown none record.unknown", "SERVFAIL"},
		{"everything", func(w *diagtest.World) {
			w.Break("example.com", dns.RcodeServerFailure)
			w.Break("s1._domainkey.example.com", dns.RcodeServerFailure)
		}, "unknown none record.unknown", "SERVFAIL"},
		{"the domain alone", func(w *diagtest.World) {
			w.Zone(at("s1._domainkey.example.com.", good))
			w.Fault("example.com", dns.TypeSOA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
			w.Silence("_domainkey.example.com")
		}, "valid 100", ""},
		{"the domain, without a key", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeSOA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		}, "unknown none record.unknown", "whether the domain exists is not known"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run("unknown "+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				if w.Zone("example.net. A 192.0.2.1\n"); !strings.HasPrefix(tt.name, "the domain") {
					w.Zone(zone)
				}
				tt.spoil(w)
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				r, err := Lookup(ctx, w.Env(), request)
				require.NoError(t, err)
				seen.Add(r.Verdict)
				require.Equal(t, tt.want, outcome(r.Verdict), "%+v", r.Findings)
				for _, f := range r.Findings {
					require.Contains(t, f.Detail, tt.cause)
				}
				if tt.name == "everything" {
					require.Empty(t, r.Passed, "nothing was seen that could be praised")
				}
			})
		})
	}
	return seen
}

// Each rule is seen fulfilled and violated, and each verdict has words.
func TestVerdicts(t *testing.T) {
	verdicts := append(validateVerdicts(t), lookupVerdicts(t)...)
	diagtest.CoverRules(t, rules(), verdicts)
	diagtest.CheckTexts(t, texts, rules().Describe(), verdicts)
}
