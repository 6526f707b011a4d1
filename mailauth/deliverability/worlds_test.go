package deliverability

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// good is a domain without a fault, by what its lines are about.
var good = map[string]string{
	"mx":     "example.com. MX 10 mx1.example.com.",
	"host":   "mx1.example.com. A 203.0.113.25",
	"ptr":    "25.113.0.203.in-addr.arpa. PTR mx1.example.com.",
	"spf":    `example.com. TXT "v=spf1 mx -all"`,
	"dkim":   `default._domainkey.example.com. TXT ` + key2048,
	"dmarc":  `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"`,
	"tlsrpt": `_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"`,
}

const key2048 = `"v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuhNvCWpJULcs91lR+FZT+Ajldl9c+bBk7nNkszfzzubAzSWF4572MizaAmfzfTnkIalp+DlNfJTAcV24Svsx4EKKKJRoMvUiQA1uNV2O6IYrjCzFliKwQ4TawoA14eqma9rGf0weyCSE3Fb/julHALdvsALCm5gXBpJyGDscQ7j7m5PZy6aB1P99SqP2" "LTxwa5NlWal1O3JCGoNc01kg5NlI/vfclqArxwh8c3jsbtn7kcjT20IYv7Wf26P3DfS5JKiXYyR3DzZ+G0EPzaNYAmub8fS8EebNWxtBzFTD7YV4tI/rzu9fzhe8QnQiPJ0yKZ0JgaMPuf53jNpd5zjouQIDAQAB"`

const key1024 = `"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCvH8rifCUPY/U1cWtXIjFlCHXxo9hMhzB14W6fxeXJEgJg6/7b2teMNPwo1q/fWE5M4x1d5sESnJyf0wcUmc/HjJ/+ocseH18lzUO6HvMVIUtb+5XGyorEw7UVExZfF0xD+DnEPP3ro+Q1LAdFWwLtxK1AqPPl6mB2iPVsHWzV3QIDAQAB"`

var example = Request{Domain: diag.MustDomain("example.com"), Detail: compose.Full}

// edits change the good domain: lines by what they are about, and extra lines under "more".
type edits map[string]string

func (e edits) zone() string {
	var b strings.Builder
	b.WriteString("example.com. SOA ns1.example.com. hostmaster.example.com. 1 7200 3600 1209600 300\n")
	for about, lines := range good {
		if changed, ok := e[about]; ok {
			lines = changed
		}
		b.WriteString(lines + "\n")
	}
	b.WriteString(e["more"] + "\n")
	return b.String()
}

// build makes the domain, in a world in which all blocklists are in operation (RFC 5782 section 5).
func (e edits) build(w *diagtest.World) {
	w.Zone(e.zone())
	for _, l := range dnsbl.Lists() {
		switch {
		case l.Zone == "":
		case e["refuse"] != "":
			w.Zone(fmt.Sprintf("*.%s. A %s\n", l.Zone, e["refuse"]))
		case l.Test && slices.Contains(l.Families, dnsbl.IPv4):
			w.Zone(fmt.Sprintf("2.0.0.127.%s. A 127.0.0.2\n", l.Zone))
		}
	}
}

// listed is an entry of a blocklist about an address whose last octets are given the other way round.
func listed(reversed, zone string) string { return reversed + "." + zone + ". A 127.0.0.2\n" }

func score(t testing.TB, e edits, more func(*diagtest.World), req Request) *Report {
	t.Helper()
	w := diagtest.NewWorld(t)
	e.build(w)
	if more != nil {
		more(w)
	}
	r, err := Score(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

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
