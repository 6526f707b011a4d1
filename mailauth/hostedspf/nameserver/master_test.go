package nameserver

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// The written file is read back unchanged by a name server.
func TestMasterFile(t *testing.T) {
	records := newProfile(1, "v=spf1 -all", long, `v=spf1 exists:%{l}."a\b;c`+"\t ~all").Records
	zone := dns.NewZoneParser(strings.NewReader(MasterFile(records, 0)), "", "")
	read := []hostedspf.Record{}
	for rr, ok := zone.Next(); ok; rr, ok = zone.Next() {
		value := dnsmsg.TXT(rr.(*dns.TXT))
		read = append(read, hostedspf.Record{
			Name: strings.TrimSuffix(rr.Header().Name, "."), Value: value, LengthBytes: len(value),
		})
		require.EqualValues(t, 300, rr.Header().Ttl)
	}
	require.NoError(t, zone.Err())
	require.Equal(t, records, read)
	require.Equal(t, "h1.spf.example.net. 300 IN TXT \"v=spf1 -all\"\n", MasterFile(records[:1], 0))
}
