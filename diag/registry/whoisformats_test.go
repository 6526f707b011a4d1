package registry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Formats of single registries, each with what sets it apart from all others.
func TestFormatsOfRegistries(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a contact's state is no status", `
   Domain name:
      EXAMPLE.COM

   Owner contact:
      Company: Example Ltd
      State:   California
      Country: US

   Domain Nameservers:
      NS1.EXAMPLE.NET

   Domain registered: 01/02/2020
   Record will expire on: 01/02/2027`,
			"|2020-01-02|2027-01-02|-|ns1.example.net|"},
		{"a state of the domain", "domain: EXAMPLE.COM\nstate: REGISTERED, DELEGATED, VERIFIED\n",
			"|-|-|-||REGISTERED,DELEGATED,VERIFIED"},
		{"sentences with the form of the date", `
Domain Name: example.com
   Domain Status: clientUpdateProhibited,clientTransferProhibited
   Record expires on 2027-01-02 (YYYY-MM-DD)
   Record created on 2020-01-02 (YYYY-MM-DD)`,
			"|2020-01-02|2027-01-02|-||clientUpdateProhibited,clientTransferProhibited"},
		{"date without separators and a time", "domain: example.com\nnserver: ns1.example.net\nchanged: 20221101 00:10:24\n",
			"|-|-|2022-11-01|ns1.example.net|"},
		{"the end in the state", `
Domain Information:
a. [Domain Name]                EXAMPLE.COM
p. [Name Server]                ns1.example.net
[State]                         Connected (2027/03/31)
[Lock Status]                   AgentChangeLocked
[Registered Date]               2020/01/02
[Connected Date]                2020/02/03
[Last Update]                   2026/04/01 01:05:57 (JST)`,
			"|2020-01-02|2027-03-31|2026-03-31|ns1.example.net|Connected"},
		{"the end in the state before the name servers", "a. [Domain Name]  EXAMPLE.COM\n[State]  Registered (2027/03/31)\n",
			"|-|2027-03-31|-||Registered"},
		{"the end of another state", "a. [Domain Name]  EXAMPLE.COM\n[State]  Suspended (2027/03/31)\n", "|-|-|-||Suspended"},
		{"a date that is no end", "Domain: EXAMPLE.COM\nStatus: Registered (2020/03/31)\n", "|-|-|-||Registered"},
		{"update date", "Domain Name: example.com\nUpdate Date: 2022-11-01\n", "|-|-|2022-11-01||"},
		{"records of a zone as name servers", "Domain: example.com\nNameserver: example.com NS ns1.example.net.\n",
			"|-|-|-|ns1.example.net|"},
		{"date of the C library", "Domain Name: example.com\nCreated: Fri Apr 19 23:15:57 GMT 2002\n", "|2002-04-19|-|-||"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, summary(readRecord(tt.text, "example.com")))
		})
	}
	require.Equal(t, absent, judgeText("% Whois server 3.0 serving the hu ccTLD\n\nNincs talalat / No match\n"))
}
