package tlscert

import (
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// crlHost is where the authorities of tests publish their revocation lists.
const crlHost = "crl.example.net"

// published holds the revocation lists of tests by their paths. Each certificate of a server has one of its own.
var published struct {
	sync.Mutex
	lists map[string][]byte
}

// publish makes the revocation list of an authority and returns its URL.
func (a *ca) publish(t testing.TB, change func(*x509.RevocationList), entries ...x509.RevocationListEntry) string {
	t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: start.Add(-time.Hour),
		NextUpdate:                start.AddDate(0, 0, 7),
		RevokedCertificateEntries: entries}
	if change != nil {
		change(list)
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	require.NoError(t, err)
	published.Lock()
	defer published.Unlock()
	if published.lists == nil {
		published.lists = map[string][]byte{}
	}
	path := fmt.Sprintf("/%d.crl", len(published.lists))
	published.lists[path] = der
	return "http://" + crlHost + path
}

// openLists opens the host of the revocation lists.
func openLists(w *diagtest.World) {
	w.HTTP(crlHost, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		published.Lock()
		list, ok := published.lists[r.URL.Path]
		published.Unlock()
		if !ok {
			http.NotFound(rw, r)
			return
		}
		rw.Write(list)
	}))
}

// longList is a list nearly as long as those that are read.
func (a *ca) longList(t testing.TB) []byte {
	const entries = 110_000 // of some 37 bytes
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: start.Add(-time.Hour),
		NextUpdate: start.AddDate(0, 0, 7)}
	serial := new(big.Int).Lsh(big.NewInt(1), 127)
	for range entries {
		serial = new(big.Int).Add(serial, big.NewInt(1))
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: serial, RevocationTime: start.AddDate(0, 0, -9)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	require.NoError(t, err)
	require.InDelta(t, maxListBytes, len(der), maxListBytes/10)
	return der
}
