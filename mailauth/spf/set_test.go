package spf

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func prefixes(texts ...string) []netip.Prefix {
	list := []netip.Prefix{}
	for _, s := range texts {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

func TestSet(t *testing.T) {
	tests := []struct {
		name string
		set  Set
		want []netip.Prefix
	}{
		{"empty", Set{}, prefixes()},
		{"one address", SetOf(prefixes("192.0.2.1/32")...), prefixes("192.0.2.1/32")},
		{"bits of the host", SetOf(prefixes("192.0.2.1/24")...), prefixes("192.0.2.0/24")},
		{"neighbours", SetOf(prefixes("192.0.2.128/25", "192.0.2.0/25")...), prefixes("192.0.2.0/24")},
		{"nested", SetOf(prefixes("192.0.2.128/25", "192.0.0.0/16")...), prefixes("192.0.0.0/16")},
		{"not aligned", SetOf(prefixes("192.0.2.1/32", "192.0.2.2/31")...), prefixes("192.0.2.1/32", "192.0.2.2/31")},
		{"both families", SetOf(prefixes("2001:db8::/32", "192.0.2.1/32")...), prefixes("192.0.2.1/32", "2001:db8::/32")},
		{"everything", SetOf(prefixes("0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1")...), prefixes("0.0.0.0/0", "::/0")},
		{"mapped", SetOf(prefixes("::ffff:192.0.2.0/120")...), prefixes("::ffff:192.0.2.0/120")},
		{"difference", SetOf(prefixes("192.0.2.0/24")...).Minus(SetOf(prefixes("192.0.2.0/25", "192.0.2.192/26")...)),
			prefixes("192.0.2.128/26")},
		{"difference of nothing", SetOf(prefixes("192.0.2.0/24")...).Minus(Set{}), prefixes("192.0.2.0/24")},
		{"hole", SetOf(prefixes("::/0")...).Minus(SetOf(prefixes("8000::/1")...)), prefixes("::/1")},
		{"intersection", SetOf(prefixes("192.0.2.0/24", "2001:db8::/32")...).intersect(
			SetOf(prefixes("192.0.0.0/16", "2001:db8:1::/48")...)), prefixes("192.0.2.0/24", "2001:db8:1::/48")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.set.Prefixes())
			require.Equal(t, len(tt.want) == 0, tt.set.IsEmpty())
			require.True(t, SetOf(tt.set.Prefixes()...).Equal(tt.set))
		})
	}
	require.Equal(t, int64(1<<32), everything.count4())
	require.Equal(t, int64(257), SetOf(prefixes("192.0.2.0/24", "198.51.100.1/32")...).count4())
}
