package domaincheck

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// good is a domain without a fault, by what its lines are about.
var good = map[string]string{
	"mx":     "example.com. MX 10 mx1.example.com.\nexample.com. MX 20 mx2.example.com.",
	"host":   "mx1.example.com. A 192.0.2.25\nmx1.example.com. AAAA 2001:db8::25\nmx2.example.com. A 198.51.100.25",
	"ptr":    "25.2.0.192.in-addr.arpa. PTR mx1.example.com.",
	"spf":    `example.com. TXT "v=spf1 ip4:192.0.2.25 include:_spf.example.net -all"` + "\n" + `_spf.example.net. TXT "v=spf1 ip4:203.0.113.0/28 -all"`,
	"dkim":   `default._domainkey.example.com. TXT ` + key2048,
	"dmarc":  `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"`,
	"sts":    `_mta-sts.example.com. TXT "v=STSv1; id=20260101T000000"`,
	"tlsrpt": `_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"`,
}

const key2048 = `"v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuhNvCWpJULcs91lR+FZT+Ajldl9c+bBk7nNkszfzzubAzSWF4572MizaAmfzfTnkIalp+DlNfJTAcV24Svsx4EKKKJRoMvUiQA1uNV2O6IYrjCzFliKwQ4TawoA14eqma9rGf0weyCSE3Fb/julHALdvsALCm5gXBpJyGDscQ7j7m5PZy6aB1P99SqP2" "LTxwa5NlWal1O3JCGoNc01kg5NlI/vfclqArxwh8c3jsbtn7kcjT20IYv7Wf26P3DfS5JKiXYyR3DzZ+G0EPzaNYAmub8fS8EebNWxtBzFTD7YV4tI/rzu9fzhe8QnQiPJ0yKZ0JgaMPuf53jNpd5zjouQIDAQAB"`

const key1024 = `"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCvH8rifCUPY/U1cWtXIjFlCHXxo9hMhzB14W6fxeXJEgJg6/7b2teMNPwo1q/fWE5M4x1d5sESnJyf0wcUmc/HjJ/+ocseH18lzUO6HvMVIUtb+5XGyorEw7UVExZfF0xD+DnEPP3ro+Q1LAdFWwLtxK1AqPPl6mB2iPVsHWzV3QIDAQAB"`

const apex = `example.com. SOA ns1.example.com. hostmaster.example.com. 1 7200 3600 1209600 300
example.com. NS ns1.example.com.
ns1.example.com. A 192.0.2.53
in-addr.arpa. SOA ns1.example.com. hostmaster.example.com. 1 7200 3600 1209600 300
in-addr.arpa. NS ns1.example.com.
`

const policyText = "version: STSv1\nmode: enforce\nmx: mx1.example.com\nmx: mx2.example.com\nmax_age: 604800\n"

var example = Request{Domain: diag.MustDomain("example.com"), Detail: compose.Full}

// edits change the good domain: lines by what they are about, and extra lines under "more".
type edits map[string]string

// zone is the good one with its edits.
func (e edits) zone() string {
	var b strings.Builder
	b.WriteString(apex)
	for about, lines := range good {
		if changed, ok := e[about]; ok {
			lines = changed
		}
		b.WriteString(lines + "\n")
	}
	b.WriteString(e["more"] + "\n")
	return b.String()
}

// world makes the good domain with its edits.
func (e edits) world(t testing.TB, more ...func(*diagtest.World)) *diagtest.World {
	w := diagtest.NewWorld(t)
	e.build(w)
	for _, f := range more {
		f(w)
	}
	return w
}

func (e edits) build(w *diagtest.World) {
	w.Zone(e.zone())
	e.mailServers(w)
	if e["signed"] != "no" {
		w.ServeZones()
		w.Sign(".", diagtest.Signing{}) // so that unsigned zones are proven to be
		w.Sign("example.com.", diagtest.Signing{})
	}
	policy := policyText
	if changed, ok := e["policy"]; ok {
		policy = changed
	}
	if policy == "" {
		return
	}
	w.HTTPS("mta-sts.example.com", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		io.WriteString(rw, policy)
	}))
}

// mailServers opens those that have an address, and publishes their certificates (RFC 7672).
func (e edits) mailServers(w *diagtest.World) {
	for _, host := range []string{"mx1.example.com", "mx2.example.com"} {
		if !strings.Contains(e.zone(), host+". A ") {
			continue
		}
		cert := w.Certificate(diagtest.CertSpec{Names: []string{host}})
		w.SMTP(diagtest.SMTP{Host: host, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}})
		if _, ok := e["tlsa"]; !ok {
			w.Zone(fmt.Sprintf("_25._tcp.%s. TLSA 3 1 1 %x\n", host, sha256.Sum256(cert.Leaf.RawSubjectPublicKeyInfo)))
		}
	}
	w.Zone(e["tlsa"] + "\n")
}

func run(t testing.TB, w *diagtest.World, req Request) *Report {
	t.Helper()
	r, err := Check(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

// servfail breaks names.
func servfail(names ...string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		for _, name := range names {
			w.Break(name, dns.RcodeServerFailure)
		}
	}
}

// grave lists the codes of findings above info.
func grave(r *Report) []diag.Code {
	list := []diag.Code{}
	for _, f := range r.Findings {
		if f.Severity > diag.Info {
			list = append(list, f.Code)
		}
	}
	return list
}
