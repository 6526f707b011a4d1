package pki

import (
	"crypto/tls"
	"crypto/x509"
)

// A TLS describes one side of a TLS connection as its peer saw it.
type TLS struct {
	Version       string        `json:"version" doc:"protocol version agreed on" example:"TLS 1.3"`
	CipherSuite   string        `json:"cipher_suite" doc:"cipher suite agreed on"`
	ALPN          string        `json:"alpn,omitempty" doc:"application protocol agreed on" example:"h2"`
	ServerName    string        `json:"server_name" doc:"name that was asked for"`
	HostnameMatch bool          `json:"hostname_match" doc:"whether the certificate covers that name"`
	Trusted       bool          `json:"trusted" doc:"whether the chain leads to a trusted authority, the name apart"`
	TrustError    string        `json:"trust_error,omitempty" doc:"why the chain is not trusted"`
	Chain         []Certificate `json:"chain" doc:"certificates in the order served, leaf first"`
	ChainComplete bool          `json:"chain_complete" doc:"whether it leads to a trusted authority as it was served"`
	// Peers are the certificates as served, at most [MaxChain].
	Peers []*x509.Certificate `json:"-"`
	// OCSP is the stapled OCSP response, if any (RFC 6066 section 8).
	OCSP []byte `json:"-"`
	// Trust and Name are what [Verifier.Trust] and [Verifier.Name] said.
	Trust, Name error `json:"-"`
}

// Describe describes a TLS connection after its handshake, and judges the certificates of the peer.
func (v Verifier) Describe(state tls.ConnectionState) *TLS {
	chain := state.PeerCertificates[:min(len(state.PeerCertificates), MaxChain)]
	t := v.DescribeChain(chain)
	t.Version, t.CipherSuite = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
	t.ALPN, t.OCSP = state.NegotiatedProtocol, state.OCSPResponse
	return t
}

// DescribeChain is [Verifier.Describe] for certificates that came by another way than a handshake.
func (v Verifier) DescribeChain(chain []*x509.Certificate) *TLS {
	chain = chain[:min(len(chain), MaxChain)]
	t := &TLS{
		ServerName: v.ServerName, Chain: []Certificate{}, Peers: chain,
		Trust: v.Trust(chain), ChainComplete: v.Complete(chain),
	}
	if t.Trusted = t.Trust == nil; !t.Trusted {
		t.TrustError = t.Trust.Error()
	}
	if len(chain) > 0 {
		t.Name = v.Name(chain[0])
		t.HostnameMatch = t.Name == nil
	}
	for _, c := range chain {
		t.Chain = append(t.Chain, Describe(c, v.Now))
	}
	return t
}

// Err returns why nobody should rely on the connection: the chain is not trusted, or else it is not
// for the server's name; nil if all is well.
func (t *TLS) Err() error {
	if t.Trust != nil {
		return t.Trust
	}
	return t.Name
}

// Leaf returns the description of the server's own certificate, or nil if it showed none.
func (t *TLS) Leaf() *Certificate {
	if len(t.Chain) == 0 {
		return nil
	}
	return &t.Chain[0]
}
