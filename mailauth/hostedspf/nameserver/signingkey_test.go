package nameserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSigningKeyFiles(t *testing.T) {
	dir := t.TempDir()
	key, err := NewSigningKey(diag.MustName("SPF.example.net"))
	require.NoError(t, err)
	file, err := key.Write(dir)
	require.NoError(t, err)
	require.Regexp(t, `/Kspf\.example\.net\.\+013\+\d{5}\.private$`, file)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode())
	_, err = key.Write(dir)
	require.ErrorIs(t, err, os.ErrExist, "a key is never overwritten")
	base := strings.TrimSuffix(file, ".private")
	for _, name := range []string{file, base, base + ".key"} {
		read, err := ReadSigningKey(name)
		require.NoError(t, err)
		require.Equal(t, key.public.String(), read.public.String())
	}
	ds, err := dns.NewRR(key.DS())
	require.NoError(t, err)
	require.True(t, dnssec.MatchesDS(ds.(*dns.DS), key.public))
}

func TestSigningKeyFaults(t *testing.T) {
	key, err := NewSigningKey(diag.MustName("spf.example.net"))
	require.NoError(t, err)
	other, err := NewSigningKey(diag.MustName("spf.example.net"))
	require.NoError(t, err)
	public, private := key.public.String(), key.public.PrivateKeyString(key.signer)
	for _, test := range []struct{ name, public, private, want string }{
		{"good", public, private, ""},
		{"comments of dnssec-keygen", "; This is a key-signing key, keyid 1, for spf.example.net.\n" + public + "\n", private +
			"Created: 20260101000000\nPublish: 20260101000000\n", ""},
		{"another record", "spf.example.net. IN A 192.0.2.1", private, "holds no DNSKEY record"},
		{"nothing", "", private, "holds no DNSKEY record"},
		{"garbage", "spf.example.net. IN DNSKEY x", private, ".key: "},
		{"another algorithm", strings.Replace(public, " 13 ", " 8 ", 1), private, "must be 13"},
		{"revoked", strings.Replace(public, "257", "385", 1), private, "must not sign a zone"},
		{"no private key", public, "secret", "is not the private part"},
		{"the private key of another", public, other.public.PrivateKeyString(other.signer), "is not the private part"},
		{"long", public, private + strings.Repeat(" ", maxKeyFile), "too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "K")
			require.NoError(t, os.WriteFile(base+".key", []byte(test.public), 0o600))
			require.NoError(t, os.WriteFile(base+".private", []byte(test.private), 0o600))
			_, err := ReadSigningKey(base)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "secret\"")
		})
	}
	_, err = ReadSigningKey(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
