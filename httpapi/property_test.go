//go:build !race

package httpapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/smtp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Three properties hold for the summary of a name, in all worlds: its steps do no harm in the order in which they are
// printed (TestPropertyOrder), its sentences about attacks and losses come true when these are played
// (TestPropertyAttack), and a fault that is in one record names that record (TestPropertyCause).

// propertyCases run mail/domain-check on the domains of all scenarios, of the demonstration, and of generated worlds.
func propertyCases(t *testing.T, share uint64) (list []drillCase) {
	_, others := drillCases(t)
	const asks = " by mail/domain-check"
	others = slices.DeleteFunc(others, func(c drillCase) bool { return !strings.HasSuffix(c.name, asks) })
	list = append(list, others...)
	for seed := range generatedWorlds {
		list = append(list, generatedCase(uint64(seed)))
	}
	for i := range list {
		c := &list[i]
		c.name = strings.TrimSuffix(c.name, asks)
		c.ep = endpointNamed("mail/domain-check")
		c.request = fmt.Appendf(nil, `{"domain":%q,"include_smtp":true,"detail":"full"}`, c.subject())
	}
	if diagtest.Whole() {
		share = 1
	}
	return some(list, share)
}

// generatedWorlds is the number of worlds that are generated.
const generatedWorlds = 1200

// A stranger is an address and a domain that no name has to do with.
var (
	strangerIP     = netip.MustParseAddr("203.0.113.250")
	strangerDomain = "stranger.example"
)

// workingKey is a public key that works.
const workingKey = "" +
	"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuhNvCWpJULcs91lR+FZT+Ajldl9c+bBk7nNkszfzzubAzSWF4572Miza" +
	"AmfzfTnkIalp+DlNfJTAcV24Svsx4EKKKJRoMvUiQA1uNV2O6IYrjCzFliKwQ4TawoA14eqma9rGf0weyCSE3Fb/julHALdvsALC" +
	"m5gXBpJyGDscQ7j7m5PZy6aB1P99SqP2LTxwa5NlWal1O3JCGoNc01kg5NlI/vfclqArxwh8c3jsbtn7kcjT20IYv7Wf26P3DfS5" +
	"JKiXYyR3DzZ+G0EPzaNYAmub8fS8EebNWxtBzFTD7YV4tI/rzu9fzhe8QnQiPJ0yKZ0JgaMPuf53jNpd5zjouQIDAQAB"

// Variants of records; empty means no record. A text with lines is a record for each of them.
var (
	spfVariants = []string{
		"", "v=spf1 -all", "v=spf1 mx -all", "v=spf1 mx ~all", "v=spf1 ip4:198.51.100.0/28 ~all",
		"v=spf1 ip4:198.51.100.7 ?all",
		"v=spf1 +all", "v=spf1 mx", "v=spf1 ip4:198.51.100.7 ipv4:198.51.100.8 -all", "v=spf1 include:gone.example.org -all",
		"v=spf1 include:_spf.example.net -all", "v=spf1 mx -all\nv=spf1 ip4:198.51.100.7 -all", "v=spf1 ip4:198.51.100.7 -al",
		"v=spf1 a mx ip4:198.51.100.300 -all", "v=spf1 redirect=_spf.example.net", "v=spf1 ip4:0.0.0.0/0 -all",
	}
	dkimVariants = []string{
		"", "v=DKIM1; k=rsa; p=" + workingKey, "v=DKIM1; k=rsa; p=" + workingKey, "v=DKIM1; p=",
		"v=DKIM1; k=rsa; p=MIIBIjAN%%", "k=rsa; t=y; p=" + workingKey,
	}
	dmarcVariants = []string{
		"", "", "v=DMARC1; p=none", "v=DMARC1; p=none; rua=mailto:dmarc@example.com", "v=DMARC1; p=quarantine",
		"v=DMARC1; p=reject",
		"v=DMARC1; p=reject; rua=mailto:dmarc@example.com", "v=DMARC1; p=quarantine; pct=20", "v=DMARC1; p=reject; t=y",
		"v=DMARC1; p=rejct", "v=DMARC1 p=reject", "v=DMARC1; p=reject; sp=none", "v=DMARC1; p=none; sp=reject",
		"v=DMARC1; p=reject\nv=DMARC1; p=none", "v=DMARC1; rua=mailto:dmarc@example.com",
		"v=DMARC1; p=reject; rua=dmarc@example.com",
	}
	stsVariants = []string{
		"", "", "v=STSv1; id=20260101T000000", "v=STSv1; id=20260101T000000", "v=STSv1; id=a-b", "v=STSv1;",
		"v=STSv1; id=1\nv=STSv1; id=2",
	}
	policyVariants = []string{"", "enforce", "enforce", "testing", "none", "Enforce"}
	tlsrptVariants = []string{
		"", "v=TLSRPTv1; rua=mailto:tls@example.com", "v=TLSRPTv1; rua=tls@example.com", "v=TLSRPTv1;",
	}
	bimiVariants = []string{
		"", "", "", "v=BIMI1; l=https://example.com/logo.svg", "v=BIMI1; l=http://example.com/logo.png",
	}
	serverVariants = []string{
		"valid", "valid", "valid", "expired", "self_signed", "wrong_name", "no TLS", "refused", "silent",
	}
	mxVariants = []string{
		"own", "own", "own", "two", "null", "null and own", "gone", "literal", "none", "alias", "address",
	}
)

// kindsOfNames are those of the model, and the possible uses of a name.
var kindsOfNames = []string{
	"organization", "organization", "organization", "organization", "parked", "parked with null MX",
	"web only", "www", "alias", "sender", "receiver", "wildcard", "public suffix", "reserved", "delegated", "MX unknown",
	"DMARC unknown", "SPF unknown",
}

// A generator makes one world by chance.
type generator struct {
	random *rand.Rand
	zone   strings.Builder
	world  scenarioWorld
}

func (g *generator) one(list []string) string { return list[g.random.IntN(len(list))] }

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.zone, format+"\n", args...) }

// texts publishes a record for each line.
func (g *generator) texts(name, lines string) {
	for line := range strings.Lines(lines) {
		g.line("%s. 300 IN TXT %s", name, quotedStrings(strings.TrimSpace(line)))
	}
}

// generatedCase is the world of a seed: always the same.
func generatedCase(seed uint64) drillCase {
	g := &generator{random: rand.New(rand.NewPCG(seed, 20261128))}
	g.world.HTTPS, g.world.SMTP = map[string]scenarioSite{}, map[string]*scenarioMail{}
	for _, apex := range []string{"example.com", "example.net", strangerDomain} {
		g.apex(apex)
	}
	g.line("_spf.example.net. 300 IN TXT \"v=spf1 ip4:192.0.2.128/28 -all\"")
	g.texts(strangerDomain, "v=spf1 ip4:"+strangerIP.String()+" -all")
	kind := g.one(kindsOfNames)
	name := "example.com"
	switch kind {
	case "organization":
		g.mail(name, g.one(mxVariants), true)
	case "MX unknown", "DMARC unknown", "SPF unknown":
		g.mail(name, "own", true)
		asked := map[string]scenarioAnswer{
			"MX unknown": {Name: name + ".", Type: "MX"}, "DMARC unknown": {Name: "_dmarc." + name + ".", Type: "TXT"},
			"SPF unknown": {Name: name + ".", Type: "TXT"},
		}[kind]
		asked.Answer = "SERVFAIL"
		g.world.Answers = append(g.world.Answers, asked)
	case "parked":
		g.mail(name, "none", false)
	case "parked with null MX":
		g.mail(name, "null", false)
	case "web only":
		g.mail(name, "address", false)
		g.site(name)
	default:
		name = g.below(kind)
	}
	g.world.Zone = g.zone.String()
	text, err := json.Marshal(g.world) // in the form of a file
	if err != nil {
		panic(err)
	}
	var world scenarioWorld
	if err := json.Unmarshal(text, &world); err != nil {
		panic(err)
	}
	return drillCase{
		name: fmt.Sprintf("generated/%d %s", seed, kind), world: world, request: fmt.Appendf(nil, `{"domain":%q}`, name),
	}
}

// below makes a name that is not an organizational domain, and the organizational domain above it if it has one.
func (g *generator) below(kind string) string {
	switch kind {
	case "public suffix":
		g.apex("co.uk")
		g.texts("_dmarc.co.uk", g.one([]string{"", "v=DMARC1; p=reject; psd=y"}))
		return "co.uk"
	case "reserved":
		return g.one([]string{"nas.home.arpa", "printer.local", "example.invalid"})
	case "wildcard":
		g.mail("example.com", "own", false)
		g.line("*.example.com. 300 IN A 192.0.2.82")
		if g.random.IntN(2) == 0 {
			g.line("*.example.com. 300 IN MX 10 mx1.example.com.")
		}
		g.texts("*.example.com", g.one([]string{"", "v=spf1 -all", "v=spf1 mx -all"}))
		return "any.example.com"
	}
	g.mail("example.com", g.one([]string{"own", "own", "null", "none"}), false)
	name := map[string]string{
		"www": "www", "alias": "shop", "sender": "news", "receiver": "in", "delegated": "sub",
	}[kind] + ".example.com"
	switch kind {
	case "www":
		g.line("%s. 300 IN A 192.0.2.81", name)
		g.texts(name, g.one([]string{"", "", "v=spf1 -all"}))
		g.site(name)
	case "alias":
		g.line("%s. 300 IN CNAME shops.example.net.", name)
		g.line("shops.example.net. 300 IN A 192.0.2.83")
		g.texts("shops.example.net", g.one(spfVariants))
		if g.random.IntN(3) == 0 {
			g.line("shops.example.net. 300 IN MX 10 mx1.example.net.")
			g.server("mx1.example.net", "192.0.2.26")
		}
	case "sender":
		if g.random.IntN(2) == 0 {
			g.line("%s. 300 IN A 192.0.2.84", name)
		}
		g.policies(name)
	case "receiver":
		g.line("%s. 300 IN MX 10 mx1.%s.", name, name)
		g.server("mx1."+name, "192.0.2.27")
		g.texts(name, g.one([]string{"", "v=spf1 -all"}))
		g.transport(name, "mx1."+name)
	case "delegated":
		g.apex(name)
		g.mail(name, g.one(mxVariants), true)
	}
	return name
}

func (g *generator) apex(name string) {
	g.line("%[1]s. 300 IN SOA ns1.%[1]s. hostmaster.%[1]s. 2026110101 7200 3600 1209600 300", name)
	g.line("%[1]s. 300 IN NS ns1.%[1]s.\nns1.%[1]s. 300 IN A 192.0.2.%[2]d", name, 40+len(name))
}

// mail gives a name all records for mail; where use is set its transport is protected, too.
func (g *generator) mail(name, mx string, use bool) {
	own := "mx1." + name
	switch mx {
	case "own":
		g.line("%s. 300 IN MX 10 %s.", name, own)
		g.server(own, "192.0.2.25")
	case "two":
		g.line("%s. 300 IN MX 10 %s.\n%[1]s. 300 IN MX 20 mx2.%[1]s.", name, own)
		g.server(own, "192.0.2.25")
		g.server("mx2."+name, "192.0.2.28")
	case "null":
		g.line("%s. 300 IN MX 0 .", name)
	case "null and own":
		g.line("%s. 300 IN MX 0 .\n%[1]s. 300 IN MX 10 %[2]s.", name, own)
		g.server(own, "192.0.2.25")
	case "gone":
		g.line("%s. 300 IN MX 10 gone.%[1]s.", name)
	case "literal":
		g.line("%s. 300 IN MX 10 192.0.2.25.", name)
	case "alias":
		g.line("%s. 300 IN MX 10 mail.%[1]s.\nmail.%[1]s. 300 IN CNAME %[2]s.", name, own)
		g.server(own, "192.0.2.25")
	case "address":
		g.server(name, "192.0.2.80")
	}
	g.policies(name)
	if use {
		g.transport(name, own)
	}
}

// policies are the records by which receivers know mail of a name.
func (g *generator) policies(name string) {
	g.texts(name, g.one(spfVariants))
	if key := g.one(dkimVariants); key != "" {
		g.texts(g.one([]string{"s1", "default"})+"._domainkey."+name, key)
	}
	g.texts("_dmarc."+name, g.one(dmarcVariants))
	g.texts("default._bimi."+name, g.one(bimiVariants))
}

// transport generates what senders to a name must know.
func (g *generator) transport(name, host string) {
	g.texts("_mta-sts."+name, g.one(stsVariants))
	g.texts("_smtp._tls."+name, g.one(tlsrptVariants))
	mode := g.one(policyVariants)
	if mode == "" {
		return
	}
	listed := g.one([]string{host, host, "old.example.org"})
	body := fmt.Sprintf("version: STSv1\nmode: %s\nmx: %s\nmax_age: 604800\n", mode, listed)
	g.line("mta-sts.%s. 300 IN A 192.0.2.90", name)
	g.world.HTTPS["mta-sts."+name] = scenarioSite{Certificate: g.one([]string{"valid", "valid", "valid", "expired"}),
		Routes: map[string]scenarioRoute{"/.well-known/mta-sts.txt": {
			Status: 200, Headers: map[string]headerValues{"Content-Type": {"text/plain"}}, Body: body,
		}}}
}

func (g *generator) server(host, address string) {
	g.line("%s. 300 IN A %s", host, address)
	if g.random.IntN(3) > 0 {
		p := netip.MustParseAddr(address).As4()
		g.line("%d.%d.%d.%d.in-addr.arpa. 300 IN PTR %s.", p[3], p[2], p[1], p[0], host)
	}
	how := g.one(serverVariants)
	server := &scenarioMail{Banner: "220 mail ESMTP", Extensions: []string{"STARTTLS"}, Certificate: how}
	switch how {
	case "no TLS":
		server.Extensions, server.Certificate = []string{"SIZE 1000000"}, ""
	case "refused", "silent":
		server.Certificate, server.Refused, server.Silent = "", how == "refused", how == "silent"
	}
	g.world.SMTP[host] = server
}

func (g *generator) site(host string) {
	page := scenarioRoute{
		Status: 200, Headers: map[string]headerValues{"Content-Type": {"text/html"}}, Body: "<!doctype html><title>x</title>",
	}
	g.world.HTTPS[host] = scenarioSite{Certificate: "valid", Routes: map[string]scenarioRoute{"/": page}}
}

// again is the same case in a world that is as it was in the beginning.
func (r *drillRun) again() *drillRun {
	fresh := &drillRun{c: r.c, t: r.t, world: r.c.build(r.t)}
	fresh.start = fresh.world.Now()
	return fresh
}

// report is a reply of mail/domain-check.
func (d *drillReply) report(t *testing.T) *domaincheck.Report {
	report := &domaincheck.Report{}
	require.NoError(t, json.Unmarshal(d.body, report))
	return report
}

// follows is the treatment of a message by a receiver that follows SPF and DMARC.
type follows struct {
	refused bool
	lenient bool // where some receivers deliver it nevertheless
	known   bool
}

// receives plays a message at a receiver that follows SPF and DMARC. SPF is evaluated for the domain of the envelope.
func (r *drillRun) receives(from, envelope string, ip netip.Addr, keys ...string) follows {
	name := func(s string) diag.Name { n, _ := diag.ParseName(s); return n }
	m := policy.Message{From: name(from)}
	outcome := r.spf(ip, envelope)
	if outcome == eval.Pass {
		m.SPF = name(envelope)
	}
	for _, k := range keys {
		m.DKIM = append(m.DKIM, name(k))
	}
	e, err := policy.Evaluate(r.t.Context(), r.world.NewEnv(), m)
	if err != nil {
		return follows{}
	}
	passes := outcome == eval.Pass && envelope == from // whatever the policy is
	passed := e.Result == policy.ResultPass
	f := follows{known: passes || e.Result != policy.ResultTempError && (outcome != eval.Temperror || passed)}
	asked := e.Applied == policy.Quarantine || e.Applied == policy.Reject
	f.refused = !passed && (asked || outcome == eval.Fail)
	f.lenient = f.refused && outcome != eval.Fail && r.lenient(from)
	return f
}

var (
	dmarcRecord = regexp.MustCompile(`^v=DMARC1\s*;`)
	partOfMail  = regexp.MustCompile(`pct=\s*(\d{1,2})\s*(;|$)`)
)

// lenient reports whether receivers of RFC 7489 deliver what those of RFC 9989 refuse: by a record that applies to a
// part of all mail (section 6.3), or since there are several (section 6.6.3).
func (r *drillRun) lenient(from string) bool {
	for up := from; up != ""; _, up, _ = strings.Cut(up, ".") {
		var texts []string
		for _, rr := range r.records("_dmarc."+up, dns.TypeTXT) {
			if text := strings.Join(rr.(*dns.TXT).Txt, ""); dmarcRecord.MatchString(text) {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 {
			return len(texts) > 1 || partOfMail.MatchString(texts[0])
		}
	}
	return false
}

// keys are the selectors of keys with which mail of a domain can be signed.
func (r *drillRun) keys(domain string) (list []string) {
	for _, selector := range []string{"s1", "s2", "default", "mail", "google", "selector1", "selector2", "k1"} {
		if len(r.records(selector+"._domainkey."+domain, dns.TypeTXT)) == 0 {
			continue
		}
		reply := r.other("dkim/lookup", fmt.Appendf(nil, `{"domain":%q,"selector":%q}`, domain, selector))
		if reply.State == "valid" || reply.State == "warning" {
			list = append(list, selector)
		}
	}
	return list
}

const unknownMX = "the MX records are not known"

// delivers returns why a sender without requirements does not deliver a message to a name; empty if it does.
func (r *drillRun) delivers(domain string) string {
	m, err := r.world.Exchange(r.t.Context(), new(dns.Msg).SetQuestion(dns.Fqdn(domain), dns.TypeMX))
	if err != nil || m.Rcode == dns.RcodeServerFailure {
		return unknownMX
	}
	hosts := []string{}
	for _, rr := range m.Answer {
		if mx, ok := rr.(*dns.MX); ok {
			hosts = append(hosts, mx.Mx)
		}
	}
	switch {
	case len(hosts) == 1 && hosts[0] == ".":
		return "it has a null MX"
	case len(hosts) == 0:
		hosts = []string{domain}
	}
	var why []string
	for _, host := range hosts {
		refused := r.accepts(strings.TrimSuffix(host, "."))
		if refused == "" {
			return ""
		}
		why = append(why, refused)
	}
	return strings.Join(why, "; ")
}

// accepts returns why a mail server accepts no mail.
func (r *drillRun) accepts(host string) string {
	conn, err := r.dial(host, 25)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return err.Error()
	}
	if err := client.Hello("mail." + strangerDomain); err != nil {
		return err.Error()
	}
	if err := client.Mail("user@" + strangerDomain); err != nil {
		return err.Error()
	}
	return ""
}

// apply applies a step at the place that it names, and reports whether there is such a place.
func (r *drillRun) apply(before *drillReply, s view.Step) bool {
	advice := diag.Recommendation{Code: s.Code, Title: s.Title, Detail: s.Text, SuggestedValue: s.Value}
	switch at := strings.TrimSuffix(s.Name, "."); {
	case s.Type == "TXT" && strings.HasPrefix(s.Value, "v=spf1"):
		r.publishTXT(at, s.Value, spfText)
	case s.Type == "TXT" && strings.HasPrefix(s.Value, "v=DMARC1"):
		r.publishTXT(at, s.Value, dmarcText)
	case s.Type == "TXT":
		r.publishTXT(at, s.Value, nil)
	case s.Type == "MX":
		r.publishMX(at, s.Value, before, advice)
	case strings.HasPrefix(s.Value, "version: STSv1"):
		r.servePolicy("mta-sts."+r.c.subject(), s.Value)
	default:
		return r.publish(before, advice)
	}
	return true
}

// addressOf is the address of a record.
func addressOf(rr dns.RR) netip.Addr {
	switch rr := rr.(type) {
	case *dns.A:
		return netip.AddrFrom4([4]byte(rr.A.To4()))
	case *dns.AAAA:
		return netip.AddrFrom16([16]byte(rr.AAAA))
	}
	return netip.Addr{}
}
