package compose

import (
	"testing"

	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/stretchr/testify/require"
)

// Forward confirmation of an address is known only if the servers answered for each name.
func TestConfirmed(t *testing.T) {
	for _, tt := range []struct {
		name, rcode, host, forward string
		confirmed                  bool
		want                       any
	}{
		{"leads back", "NOERROR", "mx.example.com", "NOERROR", true, true},
		{"has another address", "NOERROR", "mx.example.com", "NOERROR", false, false},
		{"does not exist", "NOERROR", "mx.example.com", "NXDOMAIN", false, false},
		{"fails", "NOERROR", "mx.example.com", "SERVFAIL", false, nil},
		{"silent", "NOERROR", "mx.example.com", "", false, nil},
		{"no host name, and so not asked", "NOERROR", "not a host", "", false, false},
		{"reverse zone fails", "SERVFAIL", "mx.example.com", "NOERROR", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := forwardConfirmed(&resolve.ReverseReport{
				Rcode: tt.rcode, ForwardConfirmed: tt.confirmed, Forward: []resolve.Forward{{Hostname: tt.host, Rcode: tt.forward}},
			})
			if tt.want == nil {
				require.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			require.Equal(t, tt.want, *got)
		})
	}
}
