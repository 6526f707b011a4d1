package diagtest_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func TestAuthorities(t *testing.T) {
	world := diagtest.NewWorld(t)
	root, intermediate := world.Authorities()
	cert := world.Certificate(diagtest.CertSpec{Names: []string{"example.com"}}).Leaf

	list, err := x509.ParseRevocationList(world.RevocationList(cert))
	require.NoError(t, err)
	require.NoError(t, list.CheckSignatureFrom(intermediate))
	require.Equal(t, cert.SerialNumber, list.RevokedCertificateEntries[0].SerialNumber)

	cross := world.CrossCertificate(world.Now().AddDate(0, 0, -1))
	require.Equal(t, root.RawSubjectPublicKeyInfo, cross.RawSubjectPublicKeyInfo)
	require.Equal(t, root.RawSubject, cross.RawSubject)
	require.NotEqual(t, root.RawIssuer, cross.RawIssuer)
	require.True(t, cross.NotAfter.Before(world.Now()))

	stranger := world.Certificate(diagtest.CertSpec{Names: []string{"example.com"}, Cert: diagtest.CertUnknownAuthority,
		Issuer: &pkix.Name{CommonName: "Firewall"}}).Leaf
	require.Equal(t, "Firewall", stranger.Issuer.CommonName)
}

// Of the sites of a host, one may be at some of its addresses alone.
func TestSiteAtOneAddress(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Host("example.com", "192.0.2.1", "192.0.2.2")
	world.Site(diagtest.Site{Host: "example.com"})
	world.Site(diagtest.Site{Host: "example.com", Addrs: []string{"192.0.2.2"}, Cert: diagtest.CertExpired})
	for addr, expired := range map[string]bool{"192.0.2.1": false, "192.0.2.2": true} {
		conn, err := world.Dial(t.Context(), "tcp", addr+":443")
		require.NoError(t, err)
		client := tls.Client(conn, &tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
		require.NoError(t, client.Handshake())
		require.Equal(t, expired, client.ConnectionState().PeerCertificates[0].NotAfter.Before(world.Now()))
		client.Close()
	}
}
