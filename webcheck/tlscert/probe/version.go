package probe

import "fmt"

// A Version is a version of SSL or TLS, by its number on the wire.
type Version uint16

// The versions. That of SSLv2 has another form on the wire than all others.
const (
	SSL2  Version = 0x0002
	SSL3  Version = 0x0300
	TLS10 Version = 0x0301
	TLS11 Version = 0x0302
	TLS12 Version = 0x0303
	TLS13 Version = 0x0304
)

// Versions lists all versions, the oldest first.
func Versions() []Version { return []Version{SSL2, SSL3, TLS10, TLS11, TLS12, TLS13} }

// String returns the name of a version, as [crypto/tls.VersionName] does.
func (v Version) String() string {
	switch v {
	case SSL2:
		return "SSLv2"
	case SSL3:
		return "SSLv3"
	case TLS10, TLS11, TLS12, TLS13:
		return fmt.Sprintf("TLS 1.%d", v-TLS10)
	default:
		return fmt.Sprintf("0x%04X", uint16(v))
	}
}
