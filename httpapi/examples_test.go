package httpapi

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/stretchr/testify/require"
)

// exampleZone is the zone that the examples of the documentation query.
const exampleZone = `
example.com.            SOA  ns1.example.com. hostmaster.example.com. 2026010101 7200 3600 1209600 3600
example.com.            NS   ns1.example.com.
example.com.            NS   ns2.example.net.
ns1.example.com.        A    192.0.2.53
ns2.example.net.        A    198.51.100.53
example.com.            A    192.0.2.80
example.com.            AAAA 2001:db8::80
example.com.            MX   10 mx1.example.com.
example.com.            MX   20 mx2.example.com.
example.com.            TXT  "v=spf1 mx -all"
mx1.example.com.        A    192.0.2.25
mx1.example.com.        AAAA 2001:db8::25
mx2.example.com.        A    192.0.2.26
25.2.0.192.in-addr.arpa. PTR mx1.example.com.
1.2.0.192.in-addr.arpa. PTR  host.example.com.
2.0.0.127.zen.spamhaus.org.  A 127.0.0.2
2.0.0.127.bl.spamcop.net.    A 127.0.0.2
2.0.0.127.list.dnswl.org.    A 127.0.10.0
25.2.0.192.zen.spamhaus.org. A 127.0.0.4
25.2.0.192.zen.spamhaus.org. TXT "https://www.spamhaus.org/query/ip/192.0.2.25"
host.example.com.       A    192.0.2.1
s1._domainkey.example.com. TXT "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAhMcIL5mVEDPivsRfDUxwRAPUCF6ggPmmpEhvW0SWlwx5W4GNJd0wSNnSfczH1LirHNtWvfrhlHaRXc6W+lXEmkGfIhiVcAQM6as4dgGUgvLrihtv/kPFrZ0s4jXQPJ5Y6iqliJ7Jsc6ya23tgMDsvdQEKGx1" "by5fw1fOKoYVyVc33igkmlypIEtup8N1AlT++xQZ8uf/noNkmBFOM4+E/Me+JDaKyqODXLZrDiQoiZPvmEkD+OkM4+n7wpmaopqqOfMDFZlwBK4upSW6WjSSi2rcJigSm8Kcgq/pUoPEEJgQ1FNmoV6yTvTBOfftMyjlfcdNelyUX/q4FaOBtKrccQIDAQAB"
_mta-sts.example.com.   TXT  "v=STSv1; id=20260101T000000"
_dmarc.example.com.     TXT  "v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com"
_smtp._tls.example.com. TXT  "v=TLSRPTv1; rua=mailto:tls@example.com"
`

const examplePolicy = "version: STSv1\r\nmode: testing\r\nmx: *.example.com\r\nmax_age: 604800\r\n"

const examplePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Bicycle repair in Sampletown</title>
<meta name="description" content="All makes, two days, with a bicycle on loan while you wait for yours.">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="canonical" href="https://example.com/">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "BicycleStore",}</script>
</head>
<body>
<h1>Bicycle repair in Sampletown</h1>
<p>We repair bicycles of all makes in our workshop, usually within two days, and lend you one while you wait.</p>
<p><a href="/prices">Prices</a> <a href="https://www.example.net/" rel="nofollow">Partner</a></p>
<img src="/shop.jpg" alt="Our workshop">
</body>
</html>
`

const exampleRegistration = `{
	"objectClassName": "domain", "handle": "1_DOMAIN_COM-VRSN", "ldhName": "EXAMPLE.COM",
	"status": ["client transfer prohibited"], "secureDNS": {"delegationSigned": false},
	"events": [{"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"},
		{"eventAction": "expiration", "eventDate": "2027-02-03T04:05:06Z"}],
	"nameservers": [{"objectClassName": "nameserver", "ldhName": "NS1.EXAMPLE.COM"},
		{"objectClassName": "nameserver", "ldhName": "NS2.EXAMPLE.NET"}],
	"entities": [{"objectClassName": "entity", "roles": ["registrar"], "handle": "9999",
		"publicIds": [{"type": "IANA Registrar ID", "identifier": "9999"}],
		"vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Example Registrar"]]]}]
}`

// exampleWorld holds example.com, whose set-up is sound but for a policy that is only tested.
func exampleWorld(t testing.TB) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(exampleZone)
	w.HTTPS("mta-sts.example.com", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		io.WriteString(rw, examplePolicy)
	}))
	for _, host := range []string{"mx1.example.com", "mx2.example.com"} {
		cert := w.Certificate(diagtest.CertSpec{Names: []string{host}})
		w.Zone(fmt.Sprintf("_25._tcp.%s. TLSA 3 1 1 %x\n", host, sha256.Sum256(cert.Leaf.RawSubjectPublicKeyInfo)))
		w.SMTP(diagtest.SMTP{
			TLS:  &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now},
			Host: host, Extensions: []string{"PIPELINING", "SIZE 52428800", "8BITMIME"},
			Replies: map[string]string{"RCPT": "550 5.7.1 relaying denied"},
		})
	}
	authority := markcerttest.New()
	w.Env().Data = authority.Files()
	w.HTTPS("example.com", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(rw, examplePage)
			return
		case "/mark.pem":
		default:
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/pem-certificate-chain")
		io.WriteString(rw, authority.Issue(markcerttest.Mark{}))
	}))
	w.ServeZones()
	w.Sign("example.com.", diagtest.Signing{})
	w.RDAP("rdap.verisign.com", map[string]string{"/com/v1/domain/example.com": exampleRegistration})
	return w
}

// exampleRequest is the example of an endpoint, each of whose required fields has one.
func exampleRequest(t testing.TB, ep Endpoint) []byte {
	t.Helper()
	for _, p := range ep.Params() {
		require.False(t, p.Required && p.Example == "", "%s: the field %s needs an example", ep.Path, p.Name)
	}
	return ep.Example()
}
