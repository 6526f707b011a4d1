package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logged issues a certificate with timestamps of a log, as authorities do: first without them, to be signed by the log.
func logged(t testing.TB, log *ecdsa.PrivateKey, spoil func(*x509.Certificate)) (leaf, issuer *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	issuer = sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true,
	}, nil, key, key)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"example.com"}, NotAfter: time.Unix(4e9, 0),
	}
	before := sign(t, template, issuer, own, key)
	spki, err := x509.MarshalPKIXPublicKey(&log.PublicKey)
	require.NoError(t, err)
	id := sha256.Sum256(spki)
	sum := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	tbs := before.RawTBSCertificate
	signed := append([]byte{0, 0, 0, 0, 1, 0x90, 0, 0, 0, 0, 0, 1}, sum[:]...)
	signed = append(signed, byte(len(tbs)>>16), byte(len(tbs)>>8), byte(len(tbs)))
	signed = append(append(signed, tbs...), 0, 0)
	digest := sha256.Sum256(signed)
	signature, err := ecdsa.SignASN1(rand.Reader, log, digest[:])
	require.NoError(t, err)
	sct := append(append([]byte{0}, id[:]...), 0, 0, 1, 0x90, 0, 0, 0, 0, 0, 0, 4, 3)
	sct = append(binary.BigEndian.AppendUint16(sct, uint16(len(signature))), signature...)
	list := append(binary.BigEndian.AppendUint16(nil, uint16(len(sct))), sct...)
	value, err := asn1.Marshal(append(binary.BigEndian.AppendUint16(nil, uint16(len(list))), list...))
	require.NoError(t, err)
	template.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}}
	if spoil != nil {
		spoil(template)
	}
	return sign(t, template, issuer, own, key), issuer
}

func sign(t testing.TB, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	require.NoError(t, err)
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return c
}

func TestSCT(t *testing.T) {
	log, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf, issuer := logged(t, log, nil)
	scts, err := SCTs(leaf)
	require.NoError(t, err)
	require.Len(t, scts, 1)
	require.Equal(t, time.UnixMilli(0x19000000000).UTC(), scts[0].Timestamp)
	require.NoError(t, scts[0].Verify(leaf, issuer, &log.PublicKey))
	require.Error(t, scts[0].Verify(leaf, issuer, &other.PublicKey), "another log")
	require.Error(t, scts[0].Verify(leaf, leaf, &log.PublicKey), "another issuer")

	changed, issuer := logged(t, log, func(c *x509.Certificate) { c.DNSNames = []string{"example.net"} })
	scts, err = SCTs(changed)
	require.NoError(t, err)
	require.Error(t, scts[0].Verify(changed, issuer, &log.PublicKey), "another certificate")

	scts, err = SCTs(issuer)
	require.NoError(t, err)
	require.Empty(t, scts)
}

// listed is the value of an extension with one timestamp.
func listed(version byte, millis uint64) []byte {
	sct := binary.BigEndian.AppendUint64(append([]byte{version}, make([]byte, sha256.Size)...), millis)
	sct = append(sct, 0, 0, 4, 3, 0, 0)
	list := append(binary.BigEndian.AppendUint16(nil, uint16(len(sct))), sct...)
	value, _ := asn1.Marshal(append(binary.BigEndian.AppendUint16(nil, uint16(len(list))), list...))
	return value
}

func TestParseSCTs(t *testing.T) {
	scts, err := parseSCTs(listed(0, 1<<63))
	require.NoError(t, err)
	_, err = scts[0].Timestamp.MarshalJSON()
	require.NoError(t, err, "the largest number of milliseconds is no date of RFC 3339")

	scts, err = parseSCTs(listed(1, 1))
	require.NoError(t, err)
	require.True(t, scts[0].Timestamp.IsZero(), "nothing is known of another version")

	_, err = parseSCTs(append(listed(0, 1), 0))
	require.Error(t, err, "bytes after the list")
}

func TestParseLogs(t *testing.T) {
	log, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(&log.PublicKey)
	require.NoError(t, err)
	key := base64.StdEncoding.EncodeToString(spki)
	logs, err := ParseLogs(fmt.Appendf(nil, `{"operators":[{"name":"A","logs":[{"description":"a","key":%q}],
		"tiled_logs":[{"description":"b","key":%q}]}]}`, key, key))
	require.NoError(t, err)
	require.Len(t, logs, 2)
	require.Equal(t, sha256.Sum256(spki), logs[1].ID)
	require.Equal(t, "A", logs[1].Operator)
	for _, bad := range []string{``, `{}`, `{"operators":[{"logs":[{"key":"!"}]}]}`, `{"operators":[{"logs":[{"key":"AAAA"}]}]}`} {
		_, err := ParseLogs([]byte(bad))
		require.Error(t, err, bad)
	}
}

// Data that are not a list of timestamps are an error, and nothing panics.
func FuzzSCTs(f *testing.F) {
	f.Add([]byte{4, 4, 0, 2, 0, 0})
	f.Add([]byte{4, 0})
	f.Fuzz(func(t *testing.T, value []byte) {
		scts, err := parseSCTs(value)
		if len(scts) > MaxSCTs {
			t.Errorf("%d timestamps", len(scts))
		}
		if err == nil && len(value) < 4 {
			t.Errorf("%x is a list of timestamps", value)
		}
	})
}

// Removing the timestamps of a certificate leaves a certificate without them, and works once only.
func FuzzWithoutSCTs(f *testing.F) {
	log, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f, err)
	leaf, issuer := logged(f, log, nil)
	f.Add(leaf.RawTBSCertificate)
	f.Add(issuer.RawTBSCertificate)
	f.Add([]byte{0x30, 4, 0xa3, 2, 0x30, 0})
	f.Fuzz(func(t *testing.T, der []byte) {
		once, err := withoutSCTs(der)
		if err != nil {
			return
		}
		if len(once) > len(der) {
			t.Errorf("%x grew to %x", der, once)
		}
		if again, err := withoutSCTs(once); err == nil && string(again) != string(once) {
			t.Errorf("%x has timestamps left", once)
		}
	})
}
