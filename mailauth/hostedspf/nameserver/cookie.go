package nameserver

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// The form of DNS cookies (RFC 7873 section 4, RFC 9018 section 4). Their hash is HMAC-SHA256, cut off, where RFC 9018
// has SipHash: nobody but the server that made one needs to know it. A cookie of another server is none here, and the
// client gets one at once.
const (
	clientCookie = 8 // octets
	serverCookie = 16
	minServer    = 8 // of other servers
	maxServer    = 32
	cookieLife   = time.Hour        // RFC 9018 section 4.3
	cookieRenew  = 30 * time.Minute // after that a client gets a new one
	cookieAhead  = 5 * time.Minute
)

// A jar makes cookies. Who sends one back has received it, so its address is not forged.
type jar struct{ secret [32]byte }

func newJar() *jar {
	j := new(jar)
	rand.Read(j.secret[:]) // it never fails
	return j
}

func cookieOf(q *dns.Msg) []byte {
	for _, opt := range options(q) {
		for _, o := range opt.Option {
			if cookie, ok := o.(*dns.EDNS0_COOKIE); ok {
				raw, _ := hex.DecodeString(cookie.Cookie) // as it was unpacked
				return raw
			}
		}
	}
	return nil
}

// badCookie reports whether a message has a cookie of a length that there is not (RFC 7873 section 5.2.2).
func badCookie(list []*dns.OPT) bool {
	for _, o := range list[0].Option {
		if cookie, ok := o.(*dns.EDNS0_COOKIE); ok {
			n := len(cookie.Cookie) / 2
			return n != clientCookie && (n < clientCookie+minServer || n > clientCookie+maxServer)
		}
	}
	return false
}

// check reads the cookie of a question: what goes back with the answer, nil if the client sent none, and whether this
// server made it for the address not long ago.
func (j *jar) check(q *dns.Msg, from netip.Addr, now time.Time) (reply *dns.EDNS0_COOKIE, known bool) {
	raw := cookieOf(q)
	if len(raw) < clientCookie {
		return nil, false
	}
	client, server := raw[:clientCookie], raw[clientCookie:]
	fresh := j.bake(client, uint32(now.Unix()), from)
	if len(server) == serverCookie {
		stamp := binary.BigEndian.Uint32(server[4:])
		age := time.Duration(int32(uint32(now.Unix())-stamp)) * time.Second // RFC 1982
		known = -cookieAhead <= age && age <= cookieLife && hmac.Equal(server, j.bake(client, stamp, from))
		if known && age < cookieRenew {
			fresh = server
		}
	}
	return &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: hex.EncodeToString(client) + hex.EncodeToString(fresh)}, known
}

// bake makes the server's half of a cookie: the version, the time, and a hash.
func (j *jar) bake(client []byte, stamp uint32, from netip.Addr) []byte {
	half := make([]byte, serverCookie-8, serverCookie+sha256.Size)
	half[0] = 1
	binary.BigEndian.PutUint32(half[4:], stamp)
	mac := hmac.New(sha256.New, j.secret[:])
	mac.Write(client)
	mac.Write(half)
	mac.Write(from.Unmap().AsSlice())
	return mac.Sum(half)[:serverCookie]
}
