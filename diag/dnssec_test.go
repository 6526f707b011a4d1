package diag

import (
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestDNSSECStatus(t *testing.T) {
	expired := []dns.EDNS0{&dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeSignatureExpired}}
	stale := []dns.EDNS0{&dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeStaleAnswer}}
	tests := []struct {
		name  string
		ad    bool
		rcode int
		ede   []dns.EDNS0
		want  DNSSECStatus
	}{
		{"vouched for", true, dns.RcodeSuccess, nil, Secure},
		{"absence vouched for", true, dns.RcodeNameError, nil, Secure},
		{"failure vouched for", true, dns.RcodeServerFailure, nil, Indeterminate},
		{"nothing said", false, dns.RcodeSuccess, nil, Indeterminate},
		{"forged", false, dns.RcodeServerFailure, expired, Bogus},
		{"forged for another resolver", false, dns.RcodeSuccess, expired, Indeterminate},
		{"failure for another reason", false, dns.RcodeServerFailure, stale, Indeterminate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := reply(t)
			m.AuthenticatedData, m.Rcode = tt.ad, tt.rcode
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = tt.ede
			require.Equal(t, tt.want, MessageDNSSEC(m))
			require.Equal(t, tt.want, Lookup[*dns.A](t.Context(), &Env{Resolver: scripted{msg: m}}, "a.test.").DNSSEC())
		})
	}
	require.Contains(t, DNSSECStatus("").Values(), string(Insecure))
}
