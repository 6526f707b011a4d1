//go:build !race

package httpapi

// Thousands of requests, each in a world of its own, take minutes under the race detector, and more events than
// it can count at times.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// ssrfVectors are addresses and URLs of which it is known whether they may be reached.
type ssrfVectors struct {
	Deny  []string `json:"deny_ip"`
	Allow []string `json:"allow_ip"`
	URLs  []struct {
		URL     string `json:"url"`
		Allowed bool   `json:"allowed"`
		Why     string `json:"why"`
	} `json:"urls"`
}

// metadata are the addresses of the metadata services of clouds, which hold secrets. Those of Azure and, by number,
// Oracle look public.
var metadata = []string{
	"169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "169.254.170.2",
}

// A trap is an Internet in which everything leads to some places.
type trap struct {
	addresses []netip.Addr // of all hosts of evil.com; one with a zone occurs in URLs only
	urls      []string     // where redirects, referrals and records lead
	site      http.Handler // what web sites answer; nil: redirects to the URLs, and pages that name them
}

// newTrap leads to addresses.
func newTrap(addresses ...string) (p trap) {
	for _, address := range addresses {
		ip := netip.MustParseAddr(address)
		host := ip.String()
		if ip.Is6() {
			host = "[" + strings.ReplaceAll(host, "%", "%25") + "]"
		}
		p.addresses = append(p.addresses, ip)
		p.urls = append(p.urls, "http://"+host+"/", "https://"+host+"/", "http://"+host+":8080/a")
	}
	return p
}

// plain is an address in the form of an A or AAAA record.
func (p trap) plain(i int) string { return p.addresses[i%len(p.addresses)].WithZone("").String() }

// records are the addresses of a name.
func (p trap) records(name string) string {
	var b strings.Builder
	for i, ip := range p.addresses {
		kind := "AAAA"
		if ip.Is4() {
			kind = "A"
		}
		fmt.Fprintf(&b, "%s %s %s\n", name, kind, p.plain(i))
	}
	return b.String()
}

// https is one of the URLs with that scheme, in the form of a TXT record.
func (p trap) https(i int) string {
	u := p.urls[i%len(p.urls)]
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = "https://" + rest
	}
	return strings.NewReplacer(`\`, `\\`, `"`, "", ";", "%3B").Replace(u)
}

// The public addresses of the trap's own servers.
const (
	publicNS  = "5.9.0.53"
	publicWeb = "5.9.0.80"
)

// build makes the world of a trap. Its servers have public addresses, so that the guard of real use holds.
func (p trap) build(t *testing.T) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Env().Guard = diag.Guard{}
	var zone strings.Builder
	const zones = "com net org example io internal arpa example.com turn.com chain.com"
	for _, name := range strings.Fields(zones) {
		fmt.Fprintf(&zone, "%s. NS ns.%[1]s.\nns.%[1]s. A %s\n", name, publicNS)
	}
	fmt.Fprintf(&zone, "evil.com. NS ns.com.\nevil.com. NS ns1.evil.com.\n")
	const hosts = "evil.com. www.evil.com. mx.evil.com. ns1.evil.com. mta-sts.evil.com. brand.evil.com. mixed.com."
	for _, name := range strings.Fields(hosts) {
		zone.WriteString(p.records(name))
	}
	zone.WriteString("mixed.com. A " + publicWeb + "\n")
	for i, domain := range p.domains() {
		target := "https://brand." + domain + "/" + strconv.Itoa(i)
		if strings.HasPrefix(domain, "lit") {
			target = p.https(i)
		}
		fmt.Fprintf(&zone, "%s. MX 10 mx.evil.com.\n%[1]s. TXT \"v=spf1 a mx include:evil.com exists:%%{i}.evil.com -all\"\n"+
			"_dmarc.%[1]s. TXT \"v=DMARC1; p=reject; rua=mailto:a@evil.com\"\n_mta-sts.%[1]s. TXT \"v=STSv1; id=1\"\n"+
			"_smtp._tls.%[1]s. TXT \"v=TLSRPTv1; rua=%[2]s,mailto:a@evil.com\"\n"+
			"default._bimi.%[1]s. TXT \"v=BIMI1; l=%[2]s; a=%[2]s\"\n", domain, target)
	}
	zone.WriteString("127.0.0.1.nip.io. A 127.0.0.1\nmetadata.google.internal. A 169.254.169.254\n" +
		"_25._tcp.mx.evil.com. TLSA 3 1 1 " + strings.Repeat("00", 32) + "\n")
	w.Zone(zone.String())
	p.redirect(w)
	p.refer(w)
	w.ServeZones()
	return w
}

// domains are those with mail: of the trap, of sites that redirect there, and one for each URL in its records.
func (p trap) domains() []string {
	list := []string{"evil.com", "turn.com"}
	for i := range p.urls {
		list = append(list, fmt.Sprintf("lit%d.com", i))
	}
	return list
}

// redirect opens sites that lead to the trap: by paths, certificates and pages.
func (p trap) redirect(w *diagtest.World) {
	var lead http.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		i, _ := strconv.Atoi(strings.TrimLeft(r.URL.Path, "/"))
		target := p.urls[i%len(p.urls)]
		switch {
		case strings.HasPrefix(r.URL.Path, "/refresh"):
			rw.Header().Set("Refresh", "0; url="+p.urls[0])
		case strings.HasPrefix(r.URL.Path, "/meta"):
			fmt.Fprintf(rw, `<!doctype html><meta http-equiv="refresh" content="0; url=%s">`+
				`<link rel=canonical href="%[1]s"><img src="%[1]s"><link rel=icon href="%[1]s"><link rel=stylesheet href="%[1]s"><a href="%[1]s">a</a><form action="%[1]s">`, p.urls[0])
		case r.URL.Path == "/robots.txt":
			fmt.Fprintf(rw, "User-agent: *\nSitemap: %s\n", p.urls[0])
		default:
			rw.Header()["Location"] = []string{target}
			rw.WriteHeader(http.StatusFound)
		}
	})
	if p.site != nil {
		lead = p.site
	}
	const hosts = "turn.com www.turn.com mta-sts.turn.com brand.turn.com mta-sts.lit0.com example.com"
	for _, host := range strings.Fields(hosts) {
		w.Host(host, publicWeb)
		w.HTTP(host, lead)
		w.HTTPS(host, lead)
	}
	w.Host("chain.com", publicWeb)
	cert := w.Certificate(diagtest.CertSpec{
		Names: []string{"chain.com"}, Cert: diagtest.CertMissingIntermediate, Change: func(c *x509.Certificate) {
			c.IssuingCertificateURL, c.OCSPServer, c.CRLDistributionPoints = p.urls, p.urls, p.urls
		},
	})
	config := &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}
	w.Site(diagtest.Site{Host: "chain.com", Handler: lead, TLS: config})
}

// refer opens registries that refer to the trap.
func (p trap) refer(w *diagtest.World) {
	const whois = "whois.verisign-grs.com whois.arin.net whois.ripe.net whois.apnic.net whois.iana.org"
	for _, host := range strings.Fields(whois + " rdap.verisign.com rdap.arin.net rdap.db.ripe.net rdap.apnic.net") {
		w.Host(host, publicWeb)
	}
	object := fmt.Sprintf(`{"objectClassName":"domain","ldhName":"EVIL.COM","port43":"evil.com",
		"links":[{"rel":"related","type":"application/rdap+json","href":%q}]}`, p.urls[0]+"domain/evil.com")
	w.RDAP("rdap.verisign.com", map[string]string{
		"/com/v1/domain/evil.com": object, "/com/v1/domain/turn.com": p.urls[0], "/com/v1/domain/lit0.com": `{"errorCode":500}`})
	for _, host := range []string{"rdap.arin.net", "rdap.db.ripe.net", "rdap.apnic.net"} {
		w.HTTPS(host, http.RedirectHandler(p.urls[0], http.StatusFound))
	}
	for _, host := range strings.Fields(whois) {
		w.Whois(host, map[string]string{"": "Domain Name: LIT0.COM\nRegistrar WHOIS Server: evil.com\n" +
			"Registrar URL: " + p.urls[0] + "\nrefer: " + p.plain(0) + "\nwhois: evil.com\nReferralServer: whois://" + p.plain(0) + "\n"})
	}
}

// values returns the values of a field that may lead to other addresses; nil for other fields.
func (p trap) values(field string) []string {
	names := append(p.domains(), "mixed.com", "chain.com")
	var addresses []string
	for i := range p.addresses {
		addresses = append(addresses, p.plain(i))
	}
	text := fmt.Sprintf("Received: from evil.com (evil.com [%s]) by mx.example.com; Thu, 01 Jan 2026 00:00:00 +0000\n"+
		"Return-Path: <a@evil.com>\nFrom: a@evil.com\nBIMI-Location: v=BIMI1; l=%s\nList-Unsubscribe: <%[2]s>\n"+
		"DKIM-Signature: v=1; a=rsa-sha256; d=evil.com; s=default; h=from; bh=AA==; b=AA==\n\n", p.plain(0), p.urls[0])
	switch field {
	case "url":
		list := slices.Clone(p.urls)
		for i := range p.urls {
			list = append(list, "https://turn.com/"+strconv.Itoa(i))
		}
		return append(list, "http://turn.com/0", "http://turn.com/refresh", "https://turn.com/meta", "https://evil.com/",
			"https://mixed.com/", "https://mx.evil.com:8443/", "https://chain.com/", "http://metadata.google.internal/computeMetadata/v1/")
	case "host":
		for _, address := range addresses {
			names = append(names, address, "["+address+"]:8443")
		}
		return append(names, "mx.evil.com", "metadata.google.internal")
	case "domain", "qname":
		return names
	case "email":
		return []string{"a@evil.com"}
	case "ip":
		return append(addresses, "5.9.0.1", "8.8.4.4")
	case "headers", "message":
		return []string{text}
	case "xml", "pem", "csr", "record":
		return []string{text}
	case "image_base64":
		return []string{base64.StdEncoding.EncodeToString([]byte(text))}
	}
	return nil
}

// requests are all requests to an operation that may lead to the trap.
func (p trap) requests(t *testing.T, ep Endpoint) [][]byte { return requests(t, ep, p.values) }

// requests are all requests to an operation with one of the values of a field that may lead somewhere.
func requests(t *testing.T, ep Endpoint, values func(field string) []string) (list [][]byte) {
	params := ep.Params()
	for _, led := range params {
		for _, value := range values(led.Name) {
			fields := map[string]any{led.Name: value}
			for _, other := range params {
				switch {
				case other.Name == led.Name || other.OneOf != "" && other.OneOf == led.OneOf:
				case other.Required && other.Name == "qtype":
					fields[other.Name] = "A"
				case other.Required && other.Name == "selector":
					fields[other.Name] = "default"
				case slices.Equal(other.Kinds, []string{"boolean"}):
					fields[other.Name] = true
				case other.Required && values(other.Name) != nil:
					fields[other.Name] = values(other.Name)[0]
				case other.Required:
					t.Fatalf("%s: the test knows nothing for the field %s", ep.Path, other.Name)
				}
			}
			text, err := json.Marshal(fields)
			require.NoError(t, err)
			list = append(list, text)
		}
	}
	return list
}

// outgoing reports whether an operation reaches the network. Those on hosted profiles take no address from a request,
// and look up SPF records as spf/lookup does.
func outgoing(ep Endpoint) bool { return ep.Operation.time > 0 && !ep.Operation.hosted }

// spring sends requests of all operations into a trap, one of how many, and returns which operation dialled what.
func (p trap) spring(t *testing.T, share uint64) (dialled map[string][]netip.AddrPort) {
	dialled = map[string][]netip.AddrPort{}
	w := p.build(t)
	for _, ep := range endpoints {
		if !outgoing(ep) {
			continue
		}
		requests := p.requests(t, ep)
		require.NotEmpty(t, requests, "%s: the test knows no field that leads somewhere; teach it", ep.Path)
		for _, body := range requests {
			if !diagtest.Sampled(p.urls[0]+ep.Path+string(body), share) {
				continue
			}
			w.Forget()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			result, err := ep.Run(ctx, w.Env(), body)
			cancel()
			if err != nil {
				status := problemFor(err).status
				require.NotEqual(t, http.StatusInternalServerError, status, "%s %s: %v", ep.Path, body, err)
			} else {
				require.NotNil(t, result)
			}
			for _, c := range w.Connections() {
				require.NotEqual(t, uint16(22), c.Addr.Port(), "%s %s dialled %s", ep.Path, body, c.Addr)
				dialled[ep.Path] = append(dialled[ep.Path], c.Addr)
			}
		}
	}
	return dialled
}

// guarded fails for every forbidden address that was dialled. World.Dial has been called by then, so it is the guard
// that is tested and not the network.
func guarded(t *testing.T, dialled map[string][]netip.AddrPort) {
	t.Helper()
	var guard diag.Guard
	for path, list := range dialled {
		for _, addr := range list {
			if err := guard.Check(addr, diag.Ports{addr.Port()}); err != nil {
				t.Errorf("%s dialled %s", path, addr)
			}
		}
	}
}

// No operation can be made to reach an address that is not public: not by an address or URL in the request,
// nor by records, redirects, referrals, certificates and pages that lead there.
func TestConformanceSSRF(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	t.Parallel()
	var v ssrfVectors
	for _, file := range diagtest.Documents[ssrfVectors](t, diagtest.Vectors(t, "web/ssrf/vectors.json")) {
		v.Deny, v.Allow, v.URLs = append(v.Deny, file.Deny...), append(v.Allow, file.Allow...), append(v.URLs, file.URLs...)
	}
	require.NotEmpty(t, v.Deny)
	require.NotEmpty(t, v.URLs)
	passed, all := 0, 0
	play := func(name string, n int, p trap, share uint64, check func(*testing.T, map[string][]netip.AddrPort)) {
		all += n
		if t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dialled := p.spring(t, share)
				guarded(t, dialled)
				check(t, dialled)
			})
		}) {
			passed += n
		}
	}
	const atOnce = 8 // addresses or URLs in one world
	for list := range slices.Chunk(append(v.Deny, metadata...), atOnce) {
		play("deny "+strings.Join(list, " "), len(list), newTrap(list...), 4, func(t *testing.T, dialled map[string][]netip.AddrPort) {
			for _, address := range list { // whatever the guard may think of it
				ip := netip.MustParseAddr(address)
				for path, to := range dialled {
					reached := slices.ContainsFunc(to, func(a netip.AddrPort) bool { return a.Addr() == ip.Unmap() })
					require.False(t, reached, "%s dialled %s", path, address)
				}
			}
		})
	}
	for _, address := range v.Allow {
		play("allow "+address, 1, newTrap(address), 1, func(t *testing.T, dialled map[string][]netip.AddrPort) {
			requireDialled(t, netip.MustParseAddr(address), dialled)
		})
	}
	var urls []string
	for _, u := range v.URLs {
		urls = append(urls, u.URL)
		t.Run(u.Why, func(t *testing.T) { refuses(t, u.URL, u.Allowed) })
	}
	for list := range slices.Chunk(urls, atOnce) {
		p := newTrap("127.0.0.1")
		p.urls = list
		play("URLs "+strings.Join(list, " "), len(list), p, 4, func(*testing.T, map[string][]netip.AddrPort) {})
	}
	t.Logf("vectors: %d/%d", passed, all)
}

// refuses fails if a URL may be reached and is refused, or the other way round.
func refuses(t *testing.T, text string, allowed bool) {
	u, err := diag.ParseURL(text)
	if err != nil {
		require.False(t, allowed, "%v", err)
		return
	}
	conn, err := newTrap("127.0.0.1").build(t).Env().DialHost(t.Context(), u.Host().Name(), u.Port(), diag.WebPorts)
	if err == nil {
		conn.Close()
	}
	_, blocked := errors.AsType[*diag.BlockedError](err)
	require.Equal(t, allowed, !blocked, "%v", err)
}

// requireDialled fails unless the traps work: where the address is public, each operation that is given URLs or hosts
// has dialled it.
func requireDialled(t *testing.T, ip netip.Addr, dialled map[string][]netip.AddrPort) {
	var dialling []string
	for _, ep := range endpoints {
		if !outgoing(ep) {
			continue
		}
		reached := slices.ContainsFunc(dialled[ep.Path], func(a netip.AddrPort) bool { return a.Addr() == ip })
		if reached {
			dialling = append(dialling, ep.Name())
		}
		fetches := slices.ContainsFunc(ep.Params(), func(p Param) bool { return p.Name == "url" || p.Name == "host" })
		if fetches && !reached {
			t.Errorf("%s was led to %s and did not go there: the trap does not work", ep.Path, ip)
		}
	}
	t.Logf("%d operations went there: %s", len(dialling), strings.Join(dialling, ", "))
}
