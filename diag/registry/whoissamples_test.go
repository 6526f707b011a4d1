package registry

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Answers in the formats of single registries, each with what once was misread.
func TestSamplesOfRegistries(t *testing.T) {
	tests := []struct{ file, name, want string }{
		{"de", "example.de", "|-|-|2026-01-01|ns1.example.net,ns.example.de 192.0.2.1 2001:db8::1|connect|signed"},
		{"it", "example.it", "REGISTER-REG|2020-01-02|2027-01-02|2026-01-01|ns1.example.net,ns2.example.net|ok / autoRenewPeriod|unsigned"},
		{"bg", "example.bg", "|-|-|-|ns1.example.net,ns.example.bg 192.0.2.1|registered|unsigned"},
		{"ie-old", "example.ie", "|2020-01-02|2027-01-02|-|ns1.example.net,ns2.example.net||-"},
		{"lu", "example.lu", "Example Registrar|2020-01-02|-|-|ns1.example.net,ns.example.lu 192.0.2.1|ACTIVE|-"},
		{"com.ua", "example.com.ua", "|2020-01-02|2027-01-02|2026-01-01|ns1.example.net|OK-UNTIL 20270102120000|-"},
		{"my-old", "example.my", "|2020-01-02|2027-01-02|2026-01-01|ns1.example.net,ns2.example.net||unsigned"},
		{"ar", "example.ar", "nicar|2020-01-02|2027-01-02|2026-01-01|ns1.example.net,ns.example.ar 192.0.2.1||-"},
		{"cl", "example.cl", "NIC Chile|2020-01-02|2027-01-02|-|ns1.example.net,ns2.example.net||-"},
		{"tr", "example.tr", "Example Domain|2020-01-02|2027-01-02|-|ns1.example.net,ns.example.tr 192.0.2.1|Active|-"},
		{"il", "example.co.il", "Example Registrar|-|2027-01-02|2026-01-01|ns1.example.net,ns2.example.net|Transfer Locked|unsigned"},
		{"at", "example.at", "Example GmbH|-|-|2026-01-01|ns1.example.net,ns2.example.net||-"},
		{"pt-old", "example.pt", "|2020-01-02|2027-01-02|-|ns1.example.net,ns2.example.net|ACTIVE|-"},
		{"im", "example.im", "|-|2027-01-02|-|ns1.example.net,ns2.example.net||-"},
		{"md", "example.md", "|2020-01-02|2027-01-02|-|ns1.example.net,ns2.example.net|OK|-"},
		{"tn", "example.tn", "Example|2020-01-02|-|-|ns1.example.net,ns2.example.net|Active|unsigned"},
		{"tk", "example.tk", "|2020-01-02|2027-01-02|-|ns1.example.net,ns2.example.net|Active|-"},
		{"ve", "example.ve", "|2020-01-02|2027-01-02|2026-01-01|ns1.example.net|ACTIVO|-"},
		{"kg", "example.kg", "|2020-01-02|2027-01-02|2026-01-01|ns1.example.net,ns.example.kg 192.0.2.1||-"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "whois", tt.file+".txt"))
			require.NoError(t, err)
			r := readRecord(string(text), tt.name)
			signed := map[bool]string{true: "signed", false: "unsigned"}[r.signed]
			if !r.signedKnown {
				signed = "-"
			}
			require.Equal(t, tt.want, summary(r)+"|"+signed)
			require.Equal(t, found, r.judge(string(text)))
		})
	}
}

// The phrases of many registries for a name that is not registered, one that cannot be, and a reached rate limit.
func TestPhrasesOfRegistries(t *testing.T) {
	tests := map[outcome][]string{
		absent: {
			"\n    No match for \"example.uk\".\n\n    This domain name has not been registered.\n\n    WHOIS lookup made at 10:00:00 01-Jan-2026",
			"Domain:\texample.be\nStatus:\tAVAILABLE",
			"domain............: not found",
			"Domain name example.bg does not exist in database!",
			"Domain example.gr is available\n",
			"domain name example.gr not exist",
			"% Not Registered - The domain you have requested is not a registered .ie domain name",
			"There is no information available on the domain consulted",
			"We do not have an entry in our database matching your query.",
			"%ERROR: no entries found",
			"Domain Name [example.my] does not exist in database",
			"Welcome to MYNIC\nDomain Name example.my does not exist in database",
			"version: 8.0\nquery_datetime: 2026-01-01T10:00:00+13:00\ndomain_name: example.nz\nquery_status: 220 Available",
			"No_Se_Encontro_El_Objeto/Object_Not_Found",
			"% La información\nEl dominio no se encuentra registrado en NIC Argentina",
			"example.cl: no existe",
			"Domain: example.eu\nScript: LATIN\n\nStatus: AVAILABLE",
			"*** example.st *** not found",
			"Domain name not known",
			"example.cl: no entries found.",
			"example.pt - No Match",
			"The domain example.im was not found.",
			"Domain Name: example.pe\nWHOIS Server: NIC .PE\nSponsoring Registrar: NIC .PE\nDomain Status: No Object Found",
			"The domain example.pr is not registered.",
			"No match for \"EXAMPLE.COM\".\n>>> Last update",
			"example.int 0 results",
			"example.bo: dominio disponible",
			"Data not found. This domain is available for registration.",
			"No records",
			"This Domain is not available in our whois database",
			"No Data",
			"Not Registered",
			"No data",
		},
		limited: {
			"%% 55000000002 Connection refused; access control limit exceeded.",
			"% Excessive querying, grace period of 30 seconds.",
			"-3: IP address used more than 60 times in the last minute",
			"% -1: Still in grace period, wait 1234 seconds",
			"Denied",
			"%% Too many requests...",
			"maximum number of requests per second exceeded",
			"1.2.3.4: daily whois-limit exceeded for client",
			"Server too busy, try again later",
			"# Requests from this IP are limited",
			"% Quota exceeded",
			"request limit exceeded for 1.2.3.4",
			"request limit exceeded",
			"%ERROR:208: connection limit exceeded",
			"Requests of this client are not permitted. Please use https://www.nic.ch/whois/ for queries.",
			"[ JPRS ] Query limit exceeded",
			"% Permission denied.",
			"% Query rate limit exceeded. Reduced information.",
			"WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG/WHOIS FOR DETAILS",
			"Query rate limit exceeded",
			"%% Your IP address is blocked",
			"your query is too frequent, please query later",
			"Queried interval is too short.",
			"Your IP address has been restricted due to excessive access, please wait a bit",
			"The WHOIS service is restricted. Number of allowed queries exceeded.",
			"query rate exceeded",
			"You have exceeded your maximum number of queries. Please try again later",
			"% Your query limit has been exceeded",
			"Quota exceeded",
			"% maximum number of queries exceeded",
			"% Lookup quota exceeded",
			"Query limit reached",
			"Number of allowed queries exceeded.",
			"Too many queries",
			"Consultas excedidas",
			"The IP address used to perform the query is not authorised",
			"You have exceeded query limit",
			"The WHOIS query quota for 1.2.3.4 has been exceeded",
			"% Query rate exceeded",
			"You have exceeded allowed connection rate",
			"% Query rate exceeded. Access restricted",
			"% maximum number of lookups reached",
			"Too many requests",
			"The query rate limit has been reached",
			"You have reached your query limit",
		},
		reserved: {
			"Reserved by registry operator",
			"the domain you want to register is reserved",
			"    This domain name is prohibited from registration",
			"query_status: 230 Reserved",
			"The domain is in stop-list",
			"Domain: example.eu\nStatus: RESERVED",
			"Reserved",
			"The registration of this domain is restricted, as it is protected by the Example DPML Brand Protection policy. " +
				"Additional information can be found at https://www.registry.example/what-we-do/for-brands/brand-protection-policy.\n" +
				">>> Last update of WHOIS database: 2026-01-01T00:00:00Z <<<\n",
			"% The registration of this domain name is blocked because of a trademark.",
			"The registration of this domain is restricted, as it is\nprotected by a block",
			"This domain name is currently protected by a block of its trademark.",
			"This platinum domain is available for purchase. If you would like to make an offer, write to us.",
		},
		found: {
			"Domain: example.be\nStatus: NOT AVAILABLE\n",
			"Domain: example.eu\nStatus: QUARANTINE\n",
			"Domain Name: example.com\nRegistrar: X\nStatus: free\nStatus: ok\n",
			"Domain Name: example.com\nRegistrar: X\nDomain Status: undelegated\n",
			"Domain Name: example.com\nRegistry Domain ID: D1\nDomain Status: No Object Found\n",
			"Domain: example.be\nStatus: AVAILABLE\nRegistered: 2020-01-02\nNameservers:\n ns1.example.net\n",
		},
		unreadable: {
			"Invalid input",
			"The registration of this domain is restricted to residents of the country.",
			"Domain: example.com\nStatus: active\n\nNo data found\n",
			"The domain name available here is one of many.",
			"Welcome. If a domain is not registered this service says so.",
		},
	}
	for want, texts := range tests {
		for _, text := range texts {
			name := anExample.FindString(text)
			require.Equal(t, want, readRecord(text, name).judge(text), text)
		}
	}
}

var anExample = regexp.MustCompile(`example\.[a-z.]*[a-z]`)
