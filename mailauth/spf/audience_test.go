package spf

import (
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Passes follows the evaluation by receivers, and an error that comes first hides the answer.
func TestPasses(t *testing.T) {
	const mail = "example.com. MX 10 mx.example.com.\n"
	tests := []struct {
		record, zone string
		want         Audience
		broken       bool
	}{
		{"v=spf1 mx -all", mail, Some, false},
		{"v=spf1 -all", mail, Nobody, false},
		{"v=spf1 ?all", mail, Nobody, false},
		{"v=spf1", mail, Nobody, false},
		{"v=spf1 +all", mail, Everybody, false},
		{"v=spf1 mx all", mail, Everybody, false},
		{"v=spf1 -ip4:198.51.100.0/24 +all", mail, Everybody, false},
		{"v=spf1 mx -all +all", mail, Some, false},
		{"v=spf1 ip4:0.0.0.0/0 -all", mail, Everybody, false},
		{"v=spf1 ip4:0.0.0.0/1 ip4:128.0.0.0/1 -all", mail, Everybody, false},
		{"v=spf1 exists:mx.example.com -all", mail, Everybody, false},
		{"v=spf1 include:open.example.net -all", mail, Everybody, false},
		{"v=spf1 redirect=open.example.net", mail, Everybody, false},
		{"v=spf1 redirect=soft.example.net", mail, Some, false},
		{"v=spf1 include:good.example.net ~all", mail, Some, false},
		{"v=spf1 include:plain.example.net -all", `plain.example.net. TXT "v=spf1 -all"`, Nobody, false},
		{"v=spf1 a:gone.example.com -all", mail, Nobody, false},
		{"v=spf1 exists:%{i}.example.com -all", mail, Some, false},
		{"v=spf1 include:%{i}.example.com -all", mail, Some, false},
		{"v=spf1 ptr -all", mail, Some, false},
		{"v=spf1 -ip4:198.51.100.0/24 ip4:198.51.100.7 -all", mail, Nobody, false},
		{"v=spf1 ?mx ~all", mail, Nobody, false},
		{"", mail, Nobody, false},
		{"v=spf1 mx moo -all", mail, Unknown, true},
		{"v=spf1 -all", `example.com. TXT "v=spf1 mx -all"`, Unknown, true},
		{"v=spf1 include:nowhere.example.net mx -all", mail, Unknown, true},
		{"v=spf1 mx include:nowhere.example.net -all", mail, Some, false},
		{"v=spf1 -mx include:nowhere.example.net -all", mail, Unknown, false},
		{"v=spf1 redirect=nowhere.example.net", mail, Unknown, true},
		{"v=spf1 include:loop.example.net -all", mail, Unknown, true},
		{"v=spf1 mx:many.example.net -all", manyMX(6), Unknown, true},
		{"v=spf1 include:silent.example.net mx -all", mail, Unknown, false},
		{"v=spf1 mx include:silent.example.net -all", mail, Some, false},
		{"v=spf1 a:silent.example.net mx -all", mail, Unknown, false},
		{"v=spf1 include:%{i}.silent.example.net -all", mail, Unknown, false},
		{"v=spf1 exists:%{i}.silent.example.net -all", mail, Unknown, false},
		{"v=spf1 include:%{i}.gone.example.net -all", mail, Unknown, true},
		{"v=spf1 exists:%{i}.gone.example.net -all", mail, Nobody, false},
		{"v=spf1 include:eleven.example.net +all", mail, Unknown, false},
		{"v=spf1 include:eleven.example.net -all", mail, Some, false},
	}
	for _, tt := range tests {
		t.Run(tt.record, func(t *testing.T) {
			w := zoneWith(t, tt.record, hosts+"example.com. A 192.0.2.1\n"+tt.zone)
			w.Break("silent.example.net", dns.RcodeServerFailure)
			r := lookup(t, w)
			require.Equal(t, tt.want, r.Passes())
			require.Equal(t, tt.broken, r.Broken())
		})
	}
	require.Equal(t, Unknown, (&LookupReport{}).Passes())
}
