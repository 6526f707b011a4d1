package provider

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/publicsuffix"
)

func TestTable(t *testing.T) {
	services := Services()
	require.GreaterOrEqual(t, len(services), 130)
	names := map[string]bool{}
	for _, s := range services {
		t.Run(s.Name, func(t *testing.T) {
			require.False(t, names[s.Name], "the name appears twice")
			names[s.Name] = true
			require.Contains(t, s.Category.Values(), string(s.Category))
			require.Equal(t, s.Category.Relays(), s.Sign == "", "all but relays say how they sign")
			for _, text := range []string{s.Sign, s.ReturnPath} {
				require.True(t, text == "" || strings.HasSuffix(text, ".") && !strings.Contains(text, "  "), "%q", text)
			}
			require.True(t, s.Docs == "" || strings.HasPrefix(s.Docs, "https://"))
			domains := slices.Concat(s.PTR, s.DKIM, s.Envelope, s.SPF, s.MX)
			require.NotEmpty(t, domains)
			for _, domain := range domains {
				checkDomain(t, domain)
			}
			require.Equal(t, len(s.MX) > 0, len(s.Selectors) > 0)
			require.True(t, len(s.MX) == 0 || s.Category == mailbox && len(s.SPF) > 0 && s.Sign != "", "it sends mail of its customers")
		})
	}
}

// checkDomain requires a registered name in lower case that is not a public suffix: under an official suffix, all
// customers of a registry would belong to the service. The private part of the list does not count, because services
// register their customers' domains there.
func checkDomain(t *testing.T, domain string) {
	require.Equal(t, strings.ToLower(domain), domain)
	require.Empty(t, strings.Trim(domain, "abcdefghijklmnopqrstuvwxyz0123456789-_."), domain)
	for label := range strings.SplitSeq(domain, ".") {
		require.True(t, label != "" && len(label) <= 63, domain)
	}
	suffix, official := publicsuffix.PublicSuffix(domain)
	require.True(t, !official || suffix != domain, "%s is a public suffix", domain)
	require.Contains(t, domain, ".")
}

func TestFaultsOfTheTable(t *testing.T) {
	for text, want := range map[string]string{
		"A\nptr a.example\n\nB\ndkim a.example\n": "line 5: a.example belongs to A and B",
		"A\ncategory\n":                     "line 2: category of A is empty or appears twice",
		"A\nptr a.example\nptr b.example\n": "line 3: ptr of A is unknown or appears twice",
		"A\ncolour red\n":                   "line 2: colour of A is unknown or appears twice",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want)
	}
}

func TestFind(t *testing.T) {
	name := func(s *Service) string {
		if s == nil {
			return ""
		}
		return s.Name
	}
	for _, tt := range []struct {
		by   func(string) *Service
		of   string
		want string
	}{
		{ByPTR, "mail-sor-f41.google.com", "Google Workspace"},
		{ByPTR, "MAIL-SOR-F41.GOOGLE.COM.", "Google Workspace"},
		{ByPTR, "google.com.attacker.example", ""},
		{ByPTR, "notgoogle.com", ""},
		{ByPTR, "1.2.0.192.bc.googleusercontent.com", ""},               // a machine of a customer
		{ByPTR, "ip-192-0-2-1.ip.secureserver.net", ""},                 // likewise
		{ByPTR, "p3plsmtpa11-05.prod.phx3.secureserver.net", "GoDaddy"}, // a mail server
		{ByPTR, "mail-bn8nam11on2045.outbound.protection.outlook.com", "Microsoft 365"},
		{ByEnvelope, "bounce.outlook.com", "Outlook.com"},
		{ByDKIM, "example-com.20230601.gappssmtp.com", "Google Workspace"},
		{ByDKIM, "example.onmicrosoft.com", "Microsoft 365"},
		{ByDKIM, strings.Repeat("a.", 100) + "amazonses.com", "Amazon SES"},
		{BySPF, "u1234.wl.sendgrid.net", "Twilio SendGrid"},
		{BySPF, "google.com", ""}, // a domain of the service, not a record that customers include
		{ByMX, "example-com.mail.protection.outlook.com.", "Microsoft 365"}, {ByMX, "aspmx.l.google.com", "Google Workspace"},
		{ByMX, "mxa-00000000.gslb.pphosted.com", ""}, // a gateway, which may not send
		{ByEnvelope, "", ""}, {ByEnvelope, ".", ""}, {ByEnvelope, "..", ""}, {ByEnvelope, "com", ""},
	} {
		require.Equal(t, tt.want, name(tt.by(tt.of)), tt.of)
	}
}

func TestIdentify(t *testing.T) {
	for _, tt := range []struct {
		name   string
		traces Traces
		want   string
		basis  Basis
	}{
		{"nothing", Traces{}, "", ""},
		{"nothing known", Traces{[]string{"a.example"}, []string{"b.example"}, []string{"c.example"}}, "", ""},
		{"a customer of Amazon SES", Traces{[]string{"example.net", "shopifyemail.com"}, nil, []string{"a8-1.smtp-out.amazonses.com"}},
			"Shopify", BasisDKIM},
		{"a return path before a name", Traces{nil, []string{"u1.wl.sendgrid.net"}, []string{"a.pphosted.com"}},
			"Twilio SendGrid", BasisEnvelope},
		{"a name alone", Traces{nil, []string{"example.com"}, []string{"a.pphosted.com"}}, "Proofpoint", BasisPTR},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, basis := Identify(tt.traces)
			require.Equal(t, tt.basis, basis)
			require.Equal(t, tt.want != "", s != nil)
			if s != nil {
				require.Equal(t, tt.want, s.Name)
			}
		})
	}
}

// Every domain leads to its own service by the use under which it is listed.
func TestEveryDomainIsFound(t *testing.T) {
	for _, s := range Services() {
		for _, domain := range s.PTR {
			require.Same(t, s, ByPTR("host."+domain))
		}
		for _, domain := range s.DKIM {
			require.Same(t, s, ByDKIM(domain))
		}
		for _, domain := range s.Envelope {
			require.Same(t, s, ByEnvelope("bounce."+domain))
		}
		for _, domain := range s.SPF {
			require.Same(t, s, BySPF(domain))
		}
		for _, domain := range s.MX {
			require.Same(t, s, ByMX("mx."+domain))
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("mail.google.com")
	f.Add("..")
	f.Fuzz(func(t *testing.T, name string) {
		for _, by := range []func(string) *Service{ByPTR, ByDKIM, ByEnvelope, BySPF, ByMX} {
			if s := by(name); s != nil {
				owned := slices.ContainsFunc(slices.Concat(s.PTR, s.DKIM, s.Envelope, s.SPF, s.MX), func(domain string) bool {
					return strings.HasSuffix("."+strings.TrimSuffix(strings.ToLower(name), "."), "."+domain)
				})
				require.True(t, owned, "%q: %s", name, s.Name)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	long := strings.Repeat("a.", 120) + "example.com"
	for b.Loop() {
		ByPTR(long)
	}
}

func Example() {
	// A message had a signature of amazonses.com that passed, from an address of Amazon.
	s, basis := Identify(Traces{
		DKIM: []string{"amazonses.com"}, PTR: []string{"a8-1.smtp-out.amazonses.com"},
	})
	fmt.Println(s.Name, "by", basis)
	fmt.Println(s.Sign)
	// Output:
	// Amazon SES by dkim
	// Verify the domain with Easy DKIM and publish the three CNAME records that the console shows.
}
