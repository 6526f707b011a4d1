package pki

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// Short returns the common name, or else the organization.
func (n *Name) Short() string {
	return phrase.Clip(cmp.Or(n.CommonName, strings.Join(n.Organization, ", "), n.Raw), maxShort)
}

// maxShort bounds a name that is shown, in bytes.
const maxShort = 100

// Maker returns the organization and the common name.
func (n *Name) Maker() string {
	short := n.Short()
	if org := phrase.Clip(strings.Join(n.Organization, ", "), maxShort); org != "" && !strings.HasPrefix(short, org) {
		return org + " (" + short + ")"
	}
	return short
}

// Remaining describes when the certificate expires.
func (c *Certificate) Remaining() string {
	if c.NotAfter.IsZero() {
		return ""
	}
	return view.Days(c.DaysRemaining, c.NotAfter)
}

// Short lists at most that many names.
func (s *SAN) Short(most int) string {
	return phrase.Series(slices.Concat(s.DNS, kit.Map(s.IP, netip.Addr.String), s.Email, s.URI), most)
}

// Short returns the kind and the size of the key.
func (k *PublicKey) Short() string {
	switch {
	case k.Algorithm == "":
		return ""
	case k.Algorithm == Ed25519: // its curve has the same name
		return "Ed25519"
	case k.Curve != "":
		return fmt.Sprintf("%s %s", strings.ToUpper(string(k.Algorithm)), k.Curve)
	}
	return fmt.Sprintf("%s, %d bits", strings.ToUpper(string(k.Algorithm)), k.SizeBits)
}
