//go:build !race

package httpapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/smtp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// effects is how others treat a domain: who may send as it, how receivers handle messages in its name, whether a
// strict sender delivers to it, and whether its zone validates. What a value cannot change is not examined.
type effects struct {
	spf       map[netip.Addr]eval.Outcome
	messages  map[string]delivery
	delivered map[string]string // by mail exchanger, why nothing is delivered there; empty if it is
	broken    map[string]string // by zone, why it does not validate; empty if it does
	strict    int               // how strict the policy is that is in force; -1 if that does not matter
}

// A delivery is a receiver's treatment of a message.
type delivery struct {
	passed bool
	policy policy.Policy // applied if it did not pass
}

func (d delivery) strict() int { return max(0, strictness("p="+string(d.policy))) }

// What a suggested value may change.
var (
	changesSPF      = regexp.MustCompile(`^v=spf1`)
	changesMessages = regexp.MustCompile(`^v=(spf1|DMARC1|DKIM1)`)
	changesDelivery = regexp.MustCompile(`^(v=STSv1|version: STSv1|\d+ \S*\.$)|IN (TLSA|DS|DNSKEY) `)
	changesZone     = regexp.MustCompile(`^(\S+\.) IN (DS|DNSKEY) `)
)

// effects determines how others treat the domain of the case.
func (r *drillRun) effects(value string, addresses []netip.Addr) (e effects) {
	domain := r.c.subject()
	e.strict = r.inForce(value)
	if domain == "" {
		return e
	}
	if changesSPF.MatchString(value) {
		e.spf = map[netip.Addr]eval.Outcome{}
		for _, a := range addresses {
			e.spf[a] = r.spf(a, domain)
		}
	}
	if changesMessages.MatchString(value) {
		e.messages = r.messages(domain, addresses)
	}
	if changesDelivery.MatchString(value) {
		e.delivered = r.deliveries(domain)
	}
	if m := changesZone.FindStringSubmatch(value); m != nil {
		e.broken = map[string]string{m[1]: r.brokenSigning(m[1])}
	}
	return e
}

// worse lists how others treat the domain worse than before, except for the subject of the advice.
func (is effects) worse(was effects, advice diag.Recommendation, named func(netip.Addr) bool) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if was.strict >= 0 && strictness(advice.SuggestedValue) > was.strict {
		fail("it is stricter than what is in force")
	}
	for a, before := range was.spf {
		after := is.spf[a]
		switch {
		case before == eval.Pass && after != eval.Pass && advice.Code != "spf.all.pass": // where everybody may send
			fail("%s may send and then gets %s", a, after)
		case before == eval.Pass || after != eval.Pass:
		case (before == eval.Fail || before == eval.Softfail) && !strings.HasPrefix(string(advice.Code), "spf.term.shadowed"):
			fail("%s gets %s and may then send", a, before)
		case !named(a):
			fail("%s gets %s, is nowhere in the records, and may then send", a, before)
		}
	}
	for m, before := range was.messages {
		switch after := is.messages[m]; {
		case before.passed && !after.passed && advice.Code != "spf.all.pass":
			fail("a message of %s passed and then fails", m)
		case !after.passed && after.strict() > before.strict() && advice.Code != "spf.all.pass":
			fail("a message of %s got the policy %s and then %s", m, before.policy, after.policy)
		}
	}
	for host, before := range was.delivered {
		if after := is.delivered[host]; before == "" && after != "" {
			fail("mail was delivered to %s, and then is not: %s", host, after)
		}
	}
	for zone, why := range is.broken {
		if why != "" {
			fail("then %s does not validate: %s", zone, why)
		}
	}
	return faults
}

// spf returns a receiver's SPF result for an address.
func (r *drillRun) spf(a netip.Addr, domain string) eval.Outcome {
	result, err := eval.Check(r.t.Context(), r.world.NewEnv(), eval.Request{IP: a, Sender: "user@" + domain, HELO: "mail.sender.example"})
	if err != nil {
		return eval.Temperror
	}
	return result.Outcome
}

var networkText = regexp.MustCompile(`(\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+)?(?:[/\\]+(\d{1,3}))?`)

var mechanism = regexp.MustCompile(`(?i)\bip[46]:`)

// networks returns all networks that the SPF records of a domain authorize, by address or by host; hosts with each
// prefix length that occurs in them.
func (r *drillRun) networks(domain, suggested string) (list []netip.Prefix) {
	texts, hosts := []string{suggested}, []netip.Addr{}
	r.world.Forget()
	r.other("spf/lookup", fmt.Appendf(nil, `{"domain":%q}`, domain))
	for _, q := range r.questions() {
		for _, rr := range r.records(q.name, q.qtype) {
			switch rr := rr.(type) {
			case *dns.TXT:
				texts = append(texts, strings.Join(rr.Txt, ""))
			case *dns.A:
				hosts = append(hosts, netip.AddrFrom4([4]byte(rr.A.To4())))
			case *dns.AAAA:
				hosts = append(hosts, netip.AddrFrom16([16]byte(rr.AAAA)))
			}
		}
	}
	lengths := []int{32, 128}
	add := func(a netip.Addr, n int) {
		if p, err := a.Prefix(n); err == nil && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, text := range texts {
		for _, m := range networkText.FindAllStringSubmatch(mechanism.ReplaceAllString(text, " "), -1) {
			n, err := strconv.Atoi(m[2])
			a, noAddress := netip.ParseAddr(m[1])
			switch {
			case noAddress == nil && err == nil:
				add(a, n)
			case noAddress == nil:
				add(a, a.BitLen())
			case err == nil:
				lengths = append(lengths, n)
			}
		}
	}
	for _, a := range hosts {
		for _, n := range lengths {
			if n <= a.BitLen() {
				add(a, n)
			}
		}
	}
	return list
}

// boundaries are the first and the last address of each network, and their neighbours outside.
func boundaries(networks []netip.Prefix) (list []netip.Addr) {
	for _, p := range networks {
		first, last := p.Addr().AsSlice(), p.Addr().AsSlice()
		for i := p.Bits(); i < len(last)*8; i++ {
			last[i/8] |= 1 << (7 - i%8)
		}
		from, _ := netip.AddrFromSlice(first)
		to, _ := netip.AddrFromSlice(last)
		for _, a := range []netip.Addr{from.Prev(), from, to, to.Next()} {
			if a.IsValid() && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return append(list, netip.MustParseAddr("203.0.113.77"), netip.MustParseAddr("2001:db8:dead::1"))
}

// messages returns possible messages with the domain in the From field, each with a receiver's treatment: from the
// domain, a host of it and a name below that does not exist; authenticated by SPF from an authorized address, by each
// published key, by a subdomain, or by nothing that is aligned, as after forwarding.
func (r *drillRun) messages(domain string, addresses []netip.Addr) map[string]delivery {
	list := map[string]delivery{}
	name := func(s string) diag.Name { n, _ := diag.ParseName(s); return n }
	senders := map[string]policy.Message{
		"nobody that is aligned": {SPF: name("forwarder.example"), DKIM: []diag.Name{name("lists.example")}},
		"the key of a subdomain": {DKIM: []diag.Name{name("news." + domain)}},
	}
	for _, a := range addresses {
		if len(senders) < 5 && r.spf(a, domain) == eval.Pass {
			senders[a.String()] = policy.Message{SPF: name(domain)}
		}
	}
	for _, selector := range []string{"s1", "s2", "default", "mail", "google", "selector1"} {
		if len(r.records(selector+"._domainkey."+domain, dns.TypeTXT)) > 0 {
			senders["the key "+selector] = policy.Message{DKIM: []diag.Name{name(domain)}}
		}
	}
	if len(senders) == 2 && !r.hasMX(domain) {
		return list // the domain sends no mail
	}
	for sender, m := range senders {
		for _, from := range []string{domain, "news." + domain, "mx1." + domain} {
			m.From = name(from)
			if e, err := policy.Evaluate(r.t.Context(), r.world.NewEnv(), m); err == nil {
				list[from+" by "+sender] = delivery{e.Result == policy.ResultPass, e.Applied}
			}
		}
	}
	if r.c.message != nil {
		list["the scenario"] = r.received()
	}
	return list
}

// hasMX reports whether a domain has a mail exchanger.
func (r *drillRun) hasMX(domain string) bool {
	return slices.ContainsFunc(r.records(domain, dns.TypeMX), func(rr dns.RR) bool { return rr.(*dns.MX).Mx != "." })
}

// received returns the receiver's treatment of the message of the scenario.
func (r *drillRun) received() delivery {
	reply := r.other("mail/header-analyze", r.c.message)
	result, _ := valueAt(reply.all, []string{"live", "dmarc", "result"})
	applied, _ := valueAt(reply.all, []string{"live", "dmarc", "applied"})
	word, _ := applied.(string)
	return delivery{result == "pass", policy.Policy(word)}
}

// deliveries returns for each mail exchanger of a domain why a sender that enforces DANE (RFC 7672) and MTA-STS (RFC
// 8461) does not deliver to it.
func (r *drillRun) deliveries(domain string) map[string]string {
	list := map[string]string{}
	patterns := r.enforced(domain)
	for _, rr := range r.records(domain, dns.TypeMX) {
		host := strings.TrimSuffix(rr.(*dns.MX).Mx, ".")
		if host == "" {
			continue
		}
		list[host] = r.refuses(host, patterns)
	}
	return list
}

// refuses returns why a strict sender does not deliver to a host.
func (r *drillRun) refuses(host string, patterns []string) string {
	chain, err := r.presented(host)
	if err != nil && chain == nil {
		return err.Error()
	}
	tlsa, usable := r.tlsa(host), 0
	for _, t := range tlsa {
		if t.Usage < 2 || t.Selector > 1 || t.MatchingType > 2 {
			continue
		}
		usable++
		for i, cert := range chain {
			if (i == 0) == (t.Usage == 3) && t.Verify(cert) == nil {
				return ""
			}
		}
	}
	if usable > 0 {
		return "no TLSA record matches"
	}
	if len(tlsa) > 0 && len(chain) == 0 {
		return "TLSA records ask for encryption"
	}
	if patterns == nil {
		return ""
	}
	if !slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(strings.Replace(p, "*", "*[!.]", 1), host) // a star is one label
		first, rest, _ := strings.Cut(host, ".")
		return p == host || ok && first != "" && "*."+rest == p
	}) {
		return "no mx of the policy covers it"
	}
	if len(chain) == 0 {
		return "it offers no TLS, and the policy is enforced"
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: host, Roots: r.world.Roots(), Intermediates: between, CurrentTime: r.world.Now(),
	}); err != nil {
		return "the policy is enforced: " + err.Error()
	}
	return ""
}

// presented are the certificates that a mail server presents after STARTTLS; none, and no error, if it offers none.
func (r *drillRun) presented(host string) ([]*x509.Certificate, error) {
	conn, err := r.dial(host, 25)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, err
	}
	if ok, _ := client.Extension("STARTTLS"); !ok {
		return []*x509.Certificate{}, nil
	}
	if err := client.StartTLS(&tls.Config{ServerName: host, InsecureSkipVerify: true, Time: r.world.Now}); err != nil {
		return nil, err
	}
	state, _ := client.TLSConnectionState()
	return state.PeerCertificates, nil
}

// dial connects to a host by the first address that takes a connection.
func (r *drillRun) dial(host string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		for _, rr := range r.records(host, qtype) {
			address := strings.TrimPrefix(rr.String(), rr.Header().String())
			if c, err := r.world.Dial(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port))); err == nil {
				return c, nil
			}
		}
	}
	return nil, fmt.Errorf("%s takes no connection", host)
}

// tlsa are the TLSA records of a mail exchanger, if the DNS vouches for them.
func (r *drillRun) tlsa(host string) (list []*dns.TLSA) {
	q := new(dns.Msg).SetQuestion("_25._tcp."+dns.Fqdn(host), dns.TypeTLSA).SetEdns0(1232, true)
	m, err := r.world.Exchange(r.t.Context(), q)
	if err != nil || !m.AuthenticatedData {
		return nil
	}
	for _, rr := range m.Answer {
		if t, ok := rr.(*dns.TLSA); ok {
			list = append(list, t)
		}
	}
	return list
}

// enforced returns the mx patterns of an MTA-STS policy in enforce mode; nil without one.
func (r *drillRun) enforced(domain string) (patterns []string) {
	records := r.records("_mta-sts."+domain, dns.TypeTXT)
	if len(records) != 1 || !regexp.MustCompile(`^v=STSv1\s*;.*id=[A-Za-z0-9]{1,32}\s*;?`).MatchString(strings.Join(records[0].(*dns.TXT).Txt, "")) {
		return nil
	}
	client := &http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: r.world.Roots(), Time: r.world.Now},
			DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
				host, _, _ := net.SplitHostPort(address)
				return r.dial(host, 443)
			},
		},
	}
	resp, err := client.Get("https://mta-sts." + domain + "/.well-known/mta-sts.txt")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	fields := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = append(fields[name], strings.TrimSpace(value))
	}
	if !slices.Equal(fields["version"], []string{"STSv1"}) || len(fields["mode"]) == 0 || fields["mode"][0] != "enforce" {
		return nil
	}
	return append([]string{}, fields["mx"]...)
}

// brokenSigning returns why a zone does not validate from its DS records: now, and when the key that signs its records
// was replaced (RFC 4035 section 5).
func (r *drillRun) brokenSigning(zone string) string {
	if why := r.brokenChain(zone); why != "" {
		return why
	}
	r.world.Roll(zone)
	if why := r.brokenChain(zone); why != "" {
		return "after the next rollover " + why
	}
	return ""
}

// brokenChain returns why no DS record of a zone matches its keys, or these do not sign its records.
func (r *drillRun) brokenChain(zone string) string {
	ds, _ := r.signed(zone, dns.TypeDS)
	keys, over := r.signed(zone, dns.TypeDNSKEY)
	entry := slices.DeleteFunc(slices.Clone(keys), func(key dns.RR) bool {
		return !slices.ContainsFunc(ds, func(rr dns.RR) bool {
			own := key.(*dns.DNSKEY).ToDS(rr.(*dns.DS).DigestType)
			return own != nil && strings.EqualFold(own.Digest, rr.(*dns.DS).Digest) && own.Algorithm == rr.(*dns.DS).Algorithm
		})
	})
	if !r.verified(keys, over, entry) {
		return "no key of a DS record signs the keys"
	}
	soa, over := r.signed(zone, dns.TypeSOA)
	if !r.verified(soa, over, keys) {
		return "no key signs the SOA record"
	}
	return ""
}

// signed are the records of a type at a zone, and their signatures.
func (r *drillRun) signed(zone string, qtype uint16) (set []dns.RR, over []*dns.RRSIG) {
	q := new(dns.Msg).SetQuestion(zone, qtype).SetEdns0(1232, true)
	q.CheckingDisabled = true
	m, err := r.world.Exchange(r.t.Context(), q)
	if err != nil {
		return nil, nil
	}
	for _, rr := range m.Answer {
		if sig, ok := rr.(*dns.RRSIG); ok {
			over = append(over, sig)
		} else if rr.Header().Rrtype == qtype {
			set = append(set, rr)
		}
	}
	return set, over
}

// verified reports whether one of the keys has signed a set.
func (r *drillRun) verified(set []dns.RR, over []*dns.RRSIG, keys []dns.RR) bool {
	for _, sig := range over {
		for _, key := range keys {
			if sig.ValidityPeriod(r.world.Now()) && sig.Verify(key.(*dns.DNSKEY), set) == nil {
				return true
			}
		}
	}
	return false
}
