package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// good is a registry's answer for an exemplary domain, with a link to the registrar.
const good = `{
	"objectClassName": "domain", "handle": "1_DOMAIN_COM-VRSN", "ldhName": "EXAMPLE.COM",
	"links": [
		{"rel": "self", "type": "application/rdap+json", "href": "https://rdap.verisign.com/com/v1/domain/EXAMPLE.COM"},
		{"rel": "related", "type": "application/rdap+json", "href": "https://rdap.registrar.example/domain/EXAMPLE.COM"}],
	"status": ["client transfer prohibited"],
	"entities": [{"objectClassName": "entity", "handle": "9999", "roles": ["registrar"],
		"publicIds": [{"type": "IANA Registrar ID", "identifier": "9999"}],
		"vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Example Registrar"]]],
		"entities": [{"objectClassName": "entity", "roles": ["abuse"],
			"vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", ""],
				["tel", {"type": "voice"}, "uri", "tel:+1.5555550100"],
				["email", {}, "text", "abuse@registrar.example"]]]}]}],
	"events": [
		{"eventAction": "registration", "eventDate": "1995-08-14T04:00:00Z"},
		{"eventAction": "expiration", "eventDate": "2026-08-13T04:00:00Z"},
		{"eventAction": "last changed", "eventDate": "2025-08-14T07:01:34Z"},
		{"eventAction": "last update of RDAP database", "eventDate": "2026-01-01T00:00:00Z"}],
	"secureDNS": {"delegationSigned": true,
		"dsData": [{"keyTag": 370, "algorithm": 13, "digestType": 2, "digest": "BE74359954660069"}]},
	"nameservers": [{"objectClassName": "nameserver", "ldhName": "A.IANA-SERVERS.NET"},
		{"objectClassName": "nameserver", "ldhName": "B.IANA-SERVERS.NET", "ipAddresses": {"v4": ["192.0.2.53"]}}],
	"rdapConformance": ["rdap_level_0"]}`

// detailed is the registrar's answer.
const detailed = `{
	"objectClassName": "domain", "handle": "ignored", "ldhName": "example.com",
	"status": ["client hold"],
	"events": [
		{"eventAction": "registration", "eventDate": "1999-01-01T00:00:00Z"},
		{"eventAction": "expiration", "eventDate": "2026-08-14T04:00:00Z"}],
	"entities": [
		{"objectClassName": "entity", "handle": "9999", "roles": ["registrar"],
			"vcardArray": ["vcard", [["fn", {}, "text", "ignored"], ["url", {}, "uri", "https://registrar.example/"]]]},
		{"objectClassName": "entity", "handle": "R-1", "roles": ["registrant"],
			"vcardArray": ["vcard", [["fn", {}, "text", ""], ["org", {}, "text", "Example Organization"],
				["adr", {"cc": "US"}, "text", ["", "", "", "", "CA", "", ""]]]]},
		{"objectClassName": "entity", "handle": "T-1", "roles": ["technical", "administrative"],
			"vcardArray": ["vcard", [["fn", {}, "text", "REDACTED FOR PRIVACY"]]]}],
	"redacted": [{"name": {"description": "Registrant Name"}, "method": "emptyValue"},
		{"name": {"description": "Billing Email"}, "method": "removal"}]}`

const (
	verisign  = "rdap.verisign.com"
	path      = "/com/v1/domain/example.com"
	registrar = "rdap.registrar.example"
)

var request = DomainRequest{Domain: diag.MustDomain("example.com")}

// published is a world with an answer of the registry, and one of the registrar.
func published(answer string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.RDAP(verisign, map[string]string{path: answer})
		w.RDAP(registrar, map[string]string{"/domain/example.com": detailed})
	}
}

// edited is a world in which the good answer has one change.
func edited(old, replacement string) func(*diagtest.World) {
	if !strings.Contains(good, old) {
		panic(old)
	}
	return published(strings.Replace(good, old, replacement, 1))
}

// whois is a world in which the registry of com has WHOIS only.
func whois(text string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Whois("whois.verisign-grs.com", map[string]string{"domain example.com": text})
		w.Behave(verisign+":443", diagtest.Refuses)
	}
}

const whoisGood = `
   Domain Name: EXAMPLE.COM
   Registry Domain ID: 1_DOMAIN_COM-VRSN
   Registrar WHOIS Server: whois.registrar.example
   Registrar URL: http://registrar.example
   Updated Date: 2025-08-14T07:01:34Z
   Creation Date: 1995-08-14T04:00:00Z
   Registry Expiry Date: 2026-08-13T04:00:00Z
   Registrar: Example Registrar
   Registrar IANA ID: 9999
   Registrar Abuse Contact Email: abuse@registrar.example
   Registrar Abuse Contact Phone: +1.5555550100
   Domain Status: clientTransferProhibited https://icann.org/epp#clientTransferProhibited
   Name Server: A.IANA-SERVERS.NET
   Name Server: B.IANA-SERVERS.NET
   DNSSEC: signedDelegation
   DNSSEC DS Data: 370 13 2 BE74359954660069
>>> Last update of whois database: 2026-01-01T00:00:00Z <<<
`

// registered summarizes the registration in a report in a word.
func registered(r *DomainReport) string {
	if r.Registered == nil {
		return "unknown"
	}
	return fmt.Sprint(*r.Registered)
}

func TestLookupDomain(t *testing.T) {
	status := func(s string) func(*diagtest.World) { return edited(`"client transfer prohibited"`, s) }
	tests := []struct {
		name  string
		setup func(*diagtest.World)
		want  string // whether it is registered, the protocol, and codes of the findings
	}{
		{"exemplary", published(good), "true rdap"},
		{"registered yesterday", edited("1995-08-14T04:00", "2025-12-31T00:00"), "true rdap rdap.age.young"},
		{"ends in 29 days", edited("2026-08-13T04:00", "2026-01-30T23:59"), "true rdap rdap.expiry.expiring"},
		{"ends in 30 days", edited("2026-08-13T04:00", "2026-01-31T00:00"), "true rdap rdap.expiry.expiring"},
		{"ends in more", edited("2026-08-13T04:00", "2026-01-31T00:01"), "true rdap"},
		{"ends in 7 days", edited("2026-08-13T04:00", "2026-01-08T00:00"), "true rdap rdap.expiry.expires_now"},
		{"ended", edited("2026-08-13T04:00", "2025-12-31T23:59"), "true rdap rdap.expiry.passed"},
		{"no end", edited(`"eventAction": "expiration"`, `"eventAction": "transfer"`), "true rdap"},
		{"on hold", status(`"client transfer prohibited", "client hold"`), "true rdap rdap.status.hold"},
		{"in redemption", status(`"server transfer prohibited", "redemption period"`), "true rdap rdap.status.deletion"},
		{"transfer under way", status(`"pending transfer"`), "true rdap rdap.status.transfer"},
		{"not locked", status(`"ok"`), "true rdap rdap.lock.missing"},
		{"no lock is published", status(`"active"`), "true rdap"},
		{"not signed", edited(`"delegationSigned": true,
		"dsData": [{"keyTag": 370, "algorithm": 13, "digestType": 2, "digest": "BE74359954660069"}]`,
			`"delegationSigned": false`), "true rdap"},
		{"one name server", edited(`{"objectClassName": "nameserver", "ldhName": "A.IANA-SERVERS.NET"},`, ``),
			"true rdap rdap.nameservers.single"},
		{"inactive", edited(`"nameservers"`, `"others"`), "true rdap"},
		{"no name servers", edited(`"nameservers": [`, `"nameservers": [], "others": [`),
			"true rdap rdap.nameservers.missing"},
		{"no abuse contact", edited(`"roles": ["abuse"]`, `"roles": ["noc"]`), "true rdap"},
		{"bad parts", edited(`["version", {}, "text", "4.0"], ["fn", {}, "text", "Example Registrar"]`,
			`false, ["fn"], ["fn", {}, "text", "Example Registrar"]`), "true rdap"},
		{"registrar silent", func(w *diagtest.World) {
			w.RDAP(verisign, map[string]string{path: good})
		}, "true rdap rdap.registrar.unanswered"},
		{"registrar does not know it", func(w *diagtest.World) {
			w.RDAP(verisign, map[string]string{path: good})
			w.RDAP(registrar, nil)
		}, "true rdap rdap.registrar.unanswered"},
		{"registrar has another domain", func(w *diagtest.World) {
			w.RDAP(verisign, map[string]string{path: good})
			other := strings.ReplaceAll(detailed, "example.com", "example.net")
			w.RDAP(registrar, map[string]string{"/domain/example.com": other})
		}, "true rdap rdap.registrar.unanswered"},
		{"registrar in a private network", edited("https://rdap.registrar.example/", "https://192.168.0.1/"),
			"true rdap rdap.registrar.unanswered"},
		{"redirected", published("https://rdap.registrar.example/domain/example.com"),
			"true rdap rdap.status.hold rdap.lock.missing"},
		{"not registered", published(`{"errorCode": 404}`), "false rdap rdap.domain.unregistered"},
		{"not registered, without a body", func(w *diagtest.World) {
			w.HTTPS(verisign, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }))
		}, "false rdap rdap.domain.unregistered"},
		{"empty answer", published(``), "error"},
		{"another domain", func(w *diagtest.World) {
			published(strings.ReplaceAll(good, "EXAMPLE.COM", "EXAMPLE.NET"))(w)
		}, "error"},
		{"no JSON", published("<html>"), "error"},
		{"status 500", published(`{"errorCode": 500}`), "error"},
		{"too many questions", published(`{"errorCode": 429}`), "error"},
		{"nobody answers", func(*diagtest.World) {}, "error"},

		{"WHOIS", whois(whoisGood), "true whois"},
		{"WHOIS instead of a failing RDAP", func(w *diagtest.World) {
			w.RDAP(verisign, map[string]string{path: `{"errorCode": 429}`})
			w.Whois("whois.verisign-grs.com", map[string]string{"domain example.com": whoisGood})
		}, "true whois"},
		{"WHOIS without an end", whois(strings.Replace(whoisGood, "Registry Expiry", "Other", 1)),
			"true whois"},
		{"WHOIS: not registered", whois("No match for \"EXAMPLE.COM\".\n"),
			"false whois rdap.domain.unregistered"},
		{"WHOIS: reserved", whois("Not available for registration.\n"),
			"false whois rdap.domain.reserved"},
		{"WHOIS: protected", whois("The registration of this domain is restricted, as it is protected by a DPML Block.\n"),
			"false whois rdap.domain.reserved"},
		{"WHOIS: too many questions", whois("% Query rate limit exceeded. Try again later.\n"),
			"error"},
		{"WHOIS: limit in the words of no match", whois("No match: you have exceeded your quota.\nNo match for x\n"),
			"error"},
		{"WHOIS: nonsense", whois("Lorem ipsum dolor sit amet.\n"), "unknown whois rdap.registry.unreadable"},
		{"WHOIS: another domain", whois(strings.ReplaceAll(whoisGood, "EXAMPLE.COM", "EXAMPLE.ORG")),
			"unknown whois rdap.registry.unreadable"},
		{"WHOIS: nothing", whois(diagtest.HangUp), "error"},
		{"WHOIS: an empty line", whois("\n"), "error"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			tt.setup(w)
			e, err := new(Client).fetchDomain(t.Context(), w.Env(), request)
			if tt.want == "error" {
				require.ErrorIs(t, err, diag.ErrUnavailable)
				require.NotContains(t, err.Error(), "<nil>")
				return
			}
			require.NoError(t, err)
			r := e.report(false, e.now)
			codes := seen.Add(domainRules.Judge(e, domainTexts))
			got := strings.TrimSpace(fmt.Sprintln(registered(r), r.Protocol, strings.Trim(fmt.Sprint(codes), "[]")))
			require.Equal(t, tt.want, got, "%+v", r.Findings)
		})
	}
	top := DomainRequest{Domain: diag.MustDomain("com")}
	suffix, err := new(Client).fetchDomain(t.Context(), rootWorld(t).Env(), top)
	require.NoError(t, err)
	require.Contains(t, seen.Add(domainRules.Judge(suffix, domainTexts)), diag.Code("rdap.domain.suffix"))
	diagtest.CoverRules(t, domainRules, seen)
	diagtest.CheckTexts(t, domainTexts, domainRules.Describe(), seen)
	require.NoError(t, domainRules.Check())
	require.Equal(t, domainRules.Describe(), (*DomainReport)(nil).Rules())
}

// rootWorld is a world in which IANA answers for the top-level domains.
func rootWorld(t *testing.T) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.RDAP("rdap.iana.org", map[string]string{"/domain/com": `{"objectClassName": "domain", "ldhName": "com",
		"status": ["active"], "nameservers": [{"ldhName": "a.gtld-servers.net"}, {"ldhName": "b.gtld-servers.net"}]}`})
	return w
}

// golden compares a report with a file.
func golden(t *testing.T, file string, report any) {
	t.Helper()
	text, err := json.MarshalIndent(report, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/"+file, append(text, '\n'))
}

func TestDomainReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	published(good)(w)
	r, err := LookupDomain(t.Context(), w.Env(), DomainRequest{Domain: diag.MustDomain("www.example.com"), Raw: true})
	require.NoError(t, err)
	require.Equal(t, good, r.Raw)
	r.Raw = ""
	golden(t, "domain.golden", r)
}

func TestDomainReportWHOIS(t *testing.T) {
	w := diagtest.NewWorld(t)
	whois(whoisGood)(w)
	contacts := "Registrar Registration Expiration Date: 2026-08-14T04:00:00Z\nRegistrant Organization: Example\n" +
		"Registrant Country: US\nRegistrant Email: hidden upon user request\n" +
		"Tech Name: Ex Ample\nTech Email: tech@example.com\n"
	w.Whois("whois.registrar.example", map[string]string{
		"example.com": "Domain Name: example.com\nRegistrar WHOIS Server: whois.verisign-grs.com\n" + contacts})
	r, err := LookupDomain(t.Context(), w.Env(), DomainRequest{Domain: request.Domain, Raw: true})
	require.NoError(t, err)
	golden(t, "whois.golden", r)
}

func TestDomainNotFollowed(t *testing.T) {
	w := diagtest.NewWorld(t)
	published(good)(w)
	r, err := LookupDomain(t.Context(), w.Env(), DomainRequest{Domain: request.Domain, FollowRegistrar: new(false)})
	require.NoError(t, err)
	require.Equal(t, []string{"https://rdap.verisign.com/com/v1/domain/example.com"}, r.Servers)
	require.Empty(t, r.Contacts)
	require.Zero(t, r.Dates.RegistrarExpiresAt)

	w = diagtest.NewWorld(t)
	whois(whoisGood)(w)
	server := w.Whois("whois.registrar.example", nil)
	r, err = LookupDomain(t.Context(), w.Env(), DomainRequest{Domain: request.Domain, FollowRegistrar: new(false)})
	require.NoError(t, err)
	require.Equal(t, []string{"whois.verisign-grs.com"}, r.Servers)
	require.Empty(t, server.Queries())
}

// The reason why a name cannot be registered is reported in the registry's words.
func TestReservedBy(t *testing.T) {
	w := diagtest.NewWorld(t)
	whois("The registration of this domain is restricted, as it is protected by a DPML Block.\n")(w)
	r, err := LookupDomain(t.Context(), w.Env(), request)
	require.NoError(t, err)
	require.Equal(t, "The registry says that example.com cannot be registered. whois.verisign-grs.com answers "+
		`"The registration of this domain is restricted, as it is protected by a DPML Block".`, r.Findings[0].Detail)
}

// A dead resolver is not blamed on the servers.
func TestDeadResolver(t *testing.T) {
	for _, name := range []string{"example.com", "example.tk"} {
		env := diagtest.NewWorld(t).NewEnv()
		env.Resolver = deadResolver{}
		_, err := LookupDomain(t.Context(), env, DomainRequest{Domain: diag.MustDomain(name)})
		var failure *diag.UnavailableError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, diag.DefaultResolver, failure.Asked, name)
	}
}

type deadResolver struct{}

// Exchange implements [diag.Resolver].
func (deadResolver) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) {
	return nil, &net.OpError{Op: "read", Net: "udp", Err: syscall.ECONNREFUSED}
}

// A day that has begun does not count, on either side of the end.
func TestDays(t *testing.T) {
	for end, want := range map[string]int{
		"2026-01-01T23:59:59Z": 0, "2026-01-02T00:00:00Z": 1, "2025-12-31T23:59:59Z": 0, "2025-12-31T00:00:00Z": -1,
	} {
		w := diagtest.NewWorld(t)
		edited("2026-08-13T04:00:00Z", end)(w)
		r, err := LookupDomain(t.Context(), w.Env(), request)
		require.NoError(t, err)
		require.Equal(t, want, *r.DaysUntilExpiry, end)
	}
}

// The registry is right about what it decides, the registrar adds what only it knows.
func TestMerge(t *testing.T) {
	f := facts{registrar: Registrar{Name: "a"}, statuses: []string{"ok"}, contacts: []Contact{
		{Role: Registrant, Name: "a"}, {Role: Tech, Redacted: true}, {Role: Admin, Redacted: true}}}
	f.merge(facts{registrar: Registrar{Name: "b", URL: "b"}, statuses: []string{"b"}, contacts: []Contact{
		{Role: Registrant, Name: "b", Email: "b@example.com", Redacted: true}, {Role: Tech, Name: "b"},
		{Role: Admin, Redacted: true}, {Role: Billing, Name: "b"}}})
	require.Equal(t, facts{registrar: Registrar{Name: "a", URL: "b"}, statuses: []string{"ok"}, contacts: []Contact{
		{Role: Registrant, Name: "a", Email: "b@example.com"}, {Role: Tech, Name: "b"}, {Role: Admin, Redacted: true},
		{Role: Billing, Name: "b"}}}, f)
}

// A name below a suffix with a registry of its own is not unregistered only because the registry above
// does not know it.
func TestRegistryBelowAnother(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.RDAP(verisign, nil)
	server := w.Whois("whois.centralnic.net", map[string]string{"example.uk.com": "Domain Name: EXAMPLE.UK.COM\n" +
		"Creation Date: 2020-01-01T00:00:00.0Z\nRegistrar: Example\n"})
	r, err := LookupDomain(t.Context(), w.Env(), DomainRequest{Domain: diag.MustDomain("www.example.uk.com")})
	require.NoError(t, err)
	require.True(t, *r.Registered)
	require.Equal(t, WHOIS, r.Protocol)
	require.Equal(t, []string{"example.uk.com"}, server.Queries())
}

// A status 404 with a web page may be that of any web server.
func TestDoubtfulAbsence(t *testing.T) {
	tests := []struct {
		name  string
		setup func(*diagtest.World)
		want  string
	}{
		{"WHOIS knows the domain", whois(whoisGood), "true whois"},
		{"WHOIS does not know it", whois("No match for EXAMPLE.COM\n"), "false whois"},
		{"WHOIS refuses", whois("quota exceeded\n"), "error"},
		{"WHOIS is silent", func(*diagtest.World) {}, "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			tt.setup(w)
			w.Behave(verisign+":443", diagtest.Serves)
			w.HTTPS(verisign, nil)
			e, err := new(Client).fetchDomain(t.Context(), w.Env(), request)
			if tt.want == "error" {
				require.ErrorIs(t, err, diag.ErrUnavailable)
				return
			}
			require.NoError(t, err)
			got := fmt.Sprint(e.outcome == found, " ", e.protocol)
			require.Equal(t, tt.want, got)
		})
	}
}

// Where no server is known IANA is asked, whose record of the top-level domain is not that of the domain.
func TestReferralFromIANA(t *testing.T) {
	w := diagtest.NewWorld(t)
	iana := w.Whois(ianaWhois, map[string]string{"example.test": "domain: TEST\nnserver: A.NIC.TEST 192.0.2.1\n" +
		"created: 2001-01-01\nwhois: whois.nic.test\n"})
	w.Whois("whois.nic.test", map[string]string{"example.test": "domain: example.test\ncreated: 2020-01-01\n"})
	r, err := LookupDomain(t.Context(), w.Env(), DomainRequest{Domain: diag.MustDomain("example.test")})
	require.NoError(t, err)
	require.Equal(t, []string{"example.test"}, iana.Queries())
	require.Equal(t, []string{ianaWhois, "whois.nic.test"}, r.Servers)
	require.Equal(t, 2020, r.Dates.CreatedAt.Year())
	require.Empty(t, r.Nameservers)
}

// Referrals that go round in a circle, or on and on, come to an end.
func TestReferralsEnd(t *testing.T) {
	w := diagtest.NewWorld(t)
	for i := range 10 {
		w.Whois(fmt.Sprintf("whois%d.example.net", i), map[string]string{
			"": fmt.Sprintf("refer: whois%d.example.net\n", (i+1)%10)})
	}
	w.Whois("whois.circle.example", map[string]string{"": "refer: whois.circle.example\n"})
	ask := func(host string) int {
		return len(follow(t.Context(), w.Env(), host, func(string) string { return "x" }, func(text string) string {
			return readRecord(text, "x").referral
		}))
	}
	require.Equal(t, maxReferrals, ask("whois0.example.net"))
	require.Equal(t, 1, ask("whois.circle.example"))
}

func TestRequestsWithoutSubject(t *testing.T) {
	_, err := LookupDomain(t.Context(), nil, DomainRequest{})
	require.ErrorAs(t, err, new(*diag.InputError))
	_, err = LookupIP(t.Context(), nil, IPRequest{})
	require.ErrorAs(t, err, new(*diag.InputError))
}
