package probe

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is encrypted ends, and never holds more certificates than are kept.
func FuzzEncrypted(f *testing.F) {
	f.Add(uint8(encryptedExtensions), []byte{0, 9, 0, 16, 0, 5, 0, 3, 2, 'h', '2'})
	f.Add(uint8(certificate), []byte{0, 0, 0, 8, 0, 0, 1, 0x30, 0, 2, 0, 18})
	f.Add(uint8(certificateReq), []byte(nil))
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		reply := &Reply{}
		reply.addEncrypted(kind, data)
		require.LessOrEqual(t, len(reply.Chain), MaxChain)
		require.LessOrEqual(t, len(reply.ALPN)+reply.Timestamps+len(reply.Staple), len(data))

		s := newSecret(X25519)
		other := newSecret(X25519)
		opened, err := s.open(bytes.NewReader(append([]byte{recordData, 3, 3, 0, byte(len(data))}, data...)),
			&Reply{Suite: 0x1301, Group: X25519, share: other.public}, [][]byte{data})
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, opened)
		require.Zero(t, n)
		require.Error(t, err)
	})
}
