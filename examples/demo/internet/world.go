// Package internet is the small Internet of the demonstration, in memory: healthy domains, and domains with one fault
// each. [New] makes it.
package internet

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/miekg/dns"
)

// The zone, and what registries say of a network and of a domain, with words to be filled in.
var (
	//go:embed internet.zone
	zone string
	//go:embed network.json
	network string
	//go:embed domain.json
	registered string
)

// Domains lists the domains that the zone has records of, each once, in their order.
func Domains() (list []string) {
	for line := range strings.Lines(zone) {
		owner, _, _ := strings.Cut(line, " ")
		if d, err := diag.ParseDomain(owner); err == nil && owner != ";" && strings.Count(owner, ".") == 2 &&
			!slices.Contains(list, d.String()) {
			list = append(list, d.String())
		}
	}
	return list
}

// latency is the duration of a lookup, so that the times in reports look realistic.
const latency = 15 * time.Millisecond

// New makes the Internet of internet.zone at a time: its web and mail servers, its signatures and its faults. The
// caller closes it.
func New(at time.Time) (*diagtest.World, error) {
	world, err := diagtest.New(diagtest.Config{Zone: zone, Time: at, Running: true})
	if err != nil {
		return nil, err
	}
	world.Zone(testAddresses())
	servePolicies(world)
	serveBrands(world)
	servePages(world)
	world.HTTPS("example.com", textPage("An example."))
	serveMail(world)
	serveRedirects(world)
	serveCertificates(world)
	servePhishing(world)
	serveSites(world)
	serveHeaders(world)
	serveHarbour(world)

	if err := serveRegistries(world); err != nil {
		return nil, err
	}
	world.Resolver("9.9.9.9", "moving.example. 1800 A 192.0.2.41") // an answer from before the move
	for _, host := range []string{"ns1.good.example", "ns2.good.example"} {
		world.Server(host, "").Configure(diagtest.ServerConfig{Cookies: true})
	}
	world.Server("ns.lame.example", "").Configure(diagtest.ServerConfig{NoAA: true})
	for _, domain := range signed {
		signing := diagtest.Signing{Inception: at.AddDate(0, -2, 0)}
		if domain == "bogus.example" {
			signing.Broken = []diagtest.Broken{{Fault: diagtest.SigCorrupt}}
		}
		world.Sign(domain+".", signing)
	}
	world.Delay("slow.example", 3*time.Second)
	world.Break("servfail.example", dns.RcodeServerFailure)
	world.Silence("silent.example")
	world.Silence("*.silent.example")
	world.ServeZones()
	world.Latency(latency)
	return world, world.Err()
}

var signed = []string{"good.example", "renewed.example", "bogus.example"}

func servePolicies(world *diagtest.World) {
	const enforce, month = "enforce", "max_age: 2592000"
	for _, p := range []struct {
		domain, mode, mx string
		cert             diagtest.Cert
	}{
		{"good.example", enforce, "mx: mx1.good.example\r\nmx: mx2.good.example", diagtest.CertGood},
		{"example.com", enforce, "mx: *.example.com", diagtest.CertGood},
		{"testing.example", "testing", "mx: mx.testing.example", diagtest.CertGood},
		{"gap.example", enforce, "mx: mx1.gap.example", diagtest.CertGood},
		{"expired.example", enforce, "mx: mx.expired.example", diagtest.CertExpired},
		{"typo.example", enforce, "mx: mx.typo.example", diagtest.CertGood},
	} {
		text := "version: STSv1\r\nmode: " + p.mode + "\r\n" + p.mx + "\r\n" + month + "\r\n"
		world.Site(diagtest.Site{Host: "mta-sts." + p.domain, Handler: textPage(text), Cert: p.cert})
	}
}

// testAddresses are the entries by which blocklists show that they are in operation (RFC 5782 section 5).
func testAddresses() string {
	var b strings.Builder
	for _, l := range dnsbl.Lists() {
		if l.Zone != "" && slices.Contains(l.Families, dnsbl.IPv4) {
			fmt.Fprintf(&b, "2.0.0.127.%s. A 127.0.0.2\n", l.Zone)
		}
	}
	return b.String()
}

// Main is an example: it runs in the world with the words of the command line or, with -once, in this Internet with
// others.
func Main(usage string, demoArgs []string, run func(ctx context.Context, env *diag.Env, args []string) error) {
	once := flag.Bool("once", false, usage)
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args, env := flag.Args(), (*diag.Env)(nil)
	if *once {
		world, err := New(time.Now())
		if err != nil {
			log.Fatal(err)
		}
		defer world.Close()
		args, env = demoArgs, world.Env()
	}
	if err := run(ctx, env, args); err != nil {
		log.Fatal(err)
	}
}

// serveMail opens the mail servers. Those of good.example have TLSA records for the keys of their certificates, and for
// the next ones.
func serveMail(world *diagtest.World) {
	for _, host := range []string{"mx1.good.example", "mx2.good.example", "mx1.example.com", "mx.renewed.example"} {
		cert := world.Certificate(diagtest.CertSpec{Names: []string{host}})
		world.SMTP(diagtest.SMTP{
			Host: host, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: world.Now},
			Extensions: extensions(), Replies: closedRelay(),
		})
		if host != "mx1.good.example" && host != "mx2.good.example" {
			continue
		}
		next := world.Certificate(diagtest.CertSpec{Names: []string{host}})
		for _, key := range [][]byte{cert.Leaf.RawSubjectPublicKeyInfo, next.Leaf.RawSubjectPublicKeyInfo} {
			world.Zone(fmt.Sprintf("_25._tcp.%s. TLSA 3 1 1 %x\n", host, sha256.Sum256(key)))
		}
	}
	world.SMTP(diagtest.SMTP{Host: "mx.plain.example", NoStartTLS: true, Extensions: extensions(), Replies: closedRelay()})
	world.SMTP(diagtest.SMTP{
		Host: "mx.expired.example", Cert: diagtest.CertExpired, Extensions: extensions(), Replies: closedRelay(),
	})
	world.SMTP(diagtest.SMTP{Host: "mx.relay.example", Extensions: extensions()})
	greylisting := closedRelay()
	greylisting["RCPT"] = "451 4.7.1 Greylisted, please try again in 5 minutes"
	world.SMTP(diagtest.SMTP{Host: "mx.testing.example", Extensions: extensions(), Replies: greylisting})
}

func extensions() []string {
	return []string{"PIPELINING", "SIZE 52428800", "8BITMIME", "ENHANCEDSTATUSCODES"}
}

func closedRelay() map[string]string { return map[string]string{"RCPT": "550 5.7.1 Relaying denied"} }

func serveCertificates(world *diagtest.World) {
	for _, s := range []diagtest.Site{
		{Host: "stale.example", Cert: diagtest.CertExpired}, {Host: "alone.example", Cert: diagtest.CertSelfSigned},
		{Host: "half.example", Cert: diagtest.CertMissingIntermediate},
	} {
		s.Handler = textPage("A shop.")
		world.Site(s)
	}
	world.Site(diagtest.Site{Host: "museum.example", Handler: textPage("A museum."), TLS: &tls.Config{
		Certificates: []tls.Certificate{world.Certificate(diagtest.CertSpec{Names: []string{"museum.example"}})},
		MinVersion:   tls.VersionTLS10, MaxVersion: tls.VersionTLS12, Time: world.Now,
	}})
}

const rdapServer = "rdap.nic.example"

// addressServer is the registry of all addresses. The hosts here have documentation addresses, for which it is not
// queried.
const addressServer = "rdap.addresses.example"

// bootstrap leads to both (RFC 9224).
const bootstrap = `{"dns": {"services": [[["example", "com"], ["https://` + rdapServer + `/"]]]},
	"ipv4": {"services": [[["0.0.0.0/0"], ["https://` + addressServer + `/"]]]},
	"ipv6": {"services": [[["::/0"], ["https://` + addressServer + `/"]]]}}`

// Free is the one unregistered domain.
const Free = "free.example"

// shops are the domains that have a web site, and no records in the zone but its address.
var shops = []string{
	"alone", "basket", "beginner", "careless", "circle", "eager", "half", "hasty", "hidden", "inside", "listed", "loose",
	"moved", "museum", "secret", "sho", "stale",
}

// serveRegistries opens the registry and sets the lists that lead to it. All domains of this Internet are registered,
// in good standing but for lapsing.example and harbour.example, all but one for years, and each address has a holder.
func serveRegistries(world *diagtest.World) error {
	now := world.Now().UTC()
	date := func(days int) string { // with some hours more, so that whole days stay so while the demonstration runs
		return now.AddDate(0, 0, days).Add(time.Duration(max(0, min(days, 1))) * 6 * time.Hour).Format(time.RFC3339)
	}
	answers := map[string]string{}
	for _, domain := range domainsOfHosts() {
		answers["/domain/"+domain] = registration(domain, date(-3000), date(400), "client transfer prohibited")
	}
	answers["/domain/lapsing.example"] = registration("lapsing.example", date(-360), date(5), "active")
	answers["/domain/harbour.example"] = registration(
		"harbour.example", date(-3640), date(12), "client transfer prohibited")
	answers["/domain/"+phishingSite] = registration(phishingSite, date(-9), date(356), "client transfer prohibited")
	world.RDAP(rdapServer, answers)
	world.HTTPS(addressServer, http.HandlerFunc(serveHolder))
	// The lists that an operator replaces by files of the same names in the folder of --data.
	vantages, err := json.Marshal(slices.DeleteFunc(propagation.Vantages(), func(v propagation.Vantage) bool {
		return !slices.ContainsFunc(resolver.Public(), func(p resolver.PublicResolver) bool { return p.ID == v.ID })
	}))
	lists := fstest.MapFS{
		"rdap-bootstrap.json": {Data: []byte(bootstrap)},
		"vantages.json":       {Data: vantages},
		hsts.File:             {Data: []byte(preloadList)},
	}
	maps.Copy(lists, authority.Files())
	world.Env().Data = lists
	return err
}

// domainsOfHosts lists the domains that are registered: those of the zone, those of its hosts, and the shops.
func domainsOfHosts() []string {
	list := Domains()
	for line := range strings.Lines(zone) {
		owner, _, _ := strings.Cut(line, " ")
		labels := strings.Split(strings.TrimSuffix(owner, "."), ".")
		if n := len(labels); n > 2 && (labels[n-1] == "example" || labels[n-1] == "com") {
			list = append(list, strings.Join(labels[n-2:], "."))
		}
	}
	for _, s := range shops {
		list = append(list, s+".example")
	}
	return list
}

// serveHolder answers for each address with the block around it (RFC 9083 section 5.4).
func serveHolder(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/rdap+json")
	addr, err := netip.ParseAddr(path.Base(r.URL.Path))
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errorCode": 404, "title": "Not Found"}`)
		return
	}
	bits, version := 24, "v4"
	if addr.Is6() {
		bits, version = 48, "v6"
	}
	block, _ := addr.Prefix(bits) // of an address that is one
	last := block.Addr().AsSlice()
	for i := bits / 8; i < len(last); i++ {
		last[i] = 0xff
	}
	end, _ := netip.AddrFromSlice(last)
	fmt.Fprintf(w, network, version, block.Addr(), end)
}

// registration returns a registry's response for a domain (RFC 9083 section 5.3).
func registration(domain, created, expires, status string) string {
	return fmt.Sprintf(registered, domain, status, created, expires, slices.Contains(signed, domain))
}
