package tlscert

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/stretchr/testify/require"
)

func TestViewVersions(t *testing.T) {
	support := func(versions ...string) (list []VersionSupport) {
		for _, v := range versions {
			list = append(list, VersionSupport{v, new(true)})
		}
		return append(list, VersionSupport{"TLS 1.3", new(false)}, VersionSupport{"TLS 1.1", nil})
	}
	for want, r := range map[string]*Report{
		"":                      {},
		"TLS 1.3":               {TLS: pki.TLS{Version: "TLS 1.3"}},
		"TLS 1.0, 1.2":          {Versions: support("TLS 1.0", "TLS 1.2")},
		"SSL 3.0, TLS 1.0, 1.2": {Versions: support("SSL 3.0", "TLS 1.0", "TLS 1.2")},
	} {
		require.Equal(t, want, r.versions())
	}
}

// How many families of clients connect is said in a line, with the current ones that do not.
func TestViewClients(t *testing.T) {
	for want, list := range map[string][]Client{
		"":                              nil,
		"1 of 2 clients connect":        {{Name: "A", Current: true, Connects: new(true)}, {Name: "B", Connects: new(false)}},
		"0 of 2 clients connect; not B": {{Name: "A", Current: true}, {Name: "B", Current: true, Connects: new(false)}},
	} {
		require.Equal(t, want, (&Report{Clients: list}).clients())
	}
}

// What the server sends is drawn where no path leads to a trusted authority, with the reason beside the fault.
func TestViewChain(t *testing.T) {
	end := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)
	leaf := pki.Certificate{Subject: pki.Name{CommonName: "example.com"}, Issuer: pki.Name{CommonName: "CA"}, NotAfter: end}
	expired := leaf
	expired.Expired = true
	for _, tt := range []struct {
		name   string
		report Report
		want   []view.Row
	}{
		{"nothing", Report{}, nil},
		{"untrusted", Report{TLS: pki.TLS{Chain: []pki.Certificate{leaf}, TrustError: "the issuer is unknown"}}, []view.Row{
			{Cells: []string{"example.com", "2026-12-01"}},
			{Cells: []string{"CA", ""}, Mark: view.Error, Note: "the issuer is unknown"}}},
		{"expired", Report{TLS: pki.TLS{Chain: []pki.Certificate{expired}, TrustError: "it has expired"}}, []view.Row{
			{Cells: []string{"example.com", "2026-12-01"}, Mark: view.Critical, Note: "expired"},
			{Cells: []string{"CA", ""}}}},
		{"another name", Report{HostnameMatch: new(false), VerifiedChain: []ChainLink{
			{Subject: "example.com", NotAfter: end, Served: true}, {Subject: "CA", NotAfter: end}}}, []view.Row{
			{Cells: []string{"example.com", "2026-12-01"}, Mark: view.Critical, Note: "of another name"},
			{Cells: []string{"CA", "2026-12-01"}, Mark: view.Good, Note: "trusted root"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view.View{Drawing: &view.Drawing{}}
			tt.report.draw(&v)
			require.Equal(t, tt.want, v.Drawing.Rows)
		})
	}
}

// Where one address differs, the addresses are drawn, with what is wrong there.
func TestViewAddresses(t *testing.T) {
	end := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC)
	speaks := func(addr string) AddressReport {
		return AddressReport{Address: addr, Outcome: AddressSpeaks, ExpiresAt: end, Versions: []string{"TLS 1.3"}}
	}
	expired := diag.Finding{Severity: diag.Critical, Title: "Certificate of the host has expired", Target: "192.0.2.11"}
	r := Report{Addresses: []AddressReport{speaks("192.0.2.10"), speaks("192.0.2.11"),
		{Address: "192.0.2.12", Outcome: AddressUnanswered}}}
	r.Findings = []diag.Finding{expired}
	require.Equal(t, []view.Row{
		{Cells: []string{"192.0.2.10", "2026-12-01", "TLS 1.3"}, Mark: view.Good},
		{Cells: []string{"192.0.2.11", "2026-12-01", "TLS 1.3"}, Mark: view.Critical, Note: expired.Title},
		{Cells: []string{"192.0.2.12", "", ""}, Mark: view.Unknown, Note: "unanswered"},
	}, r.View().Drawing.Rows)
	r.Findings, r.Addresses = nil, r.Addresses[:2]
	require.False(t, r.addressesDiffer())
	r.Certificate.NotAfter = end
	require.Equal(t, "192.0.2.10 and 192.0.2.11", r.View().Facts[1].Value)

	r.Certificates = []PresentedCertificate{{KeyType: "ECDSA", NotAfter: end}, {KeyType: "RSA", NotAfter: end}}
	require.Equal(t, "ECDSA until 2026-12-01 and RSA until 2026-12-01", r.kinds())
}
