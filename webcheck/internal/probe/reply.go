package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/crypto/cryptobyte"
)

// A Reply holds the choices of a server.
type Reply struct {
	Version     Version
	Suite       uint16
	Compression bool   // data would be compressed
	Group       Group  // of the key exchange; 0 if absent, or if it is not a group
	Retry       bool   // the server wants a key share for the group first (RFC 8446 section 4.1.4)
	DHBits      int    // size of the prime, if keys are agreed on modulo a prime of the server
	ALPN        string // application protocol

	SecureRenegotiation bool // RFC 5746; TLS 1.3 has no renegotiation
	MasterSecret        bool // extended master secret (RFC 7627)
	SessionTicket       bool // RFC 5077
	Heartbeat           bool // RFC 6520

	ClientCertificate bool // the client is asked for a certificate; of TLS 1.2 and earlier only

	// In TLS 1.3 these are encrypted, and known from Present only.
	Chain      [][]byte // certificates in DER form, leaf first
	Staple     []byte   // OCSP response
	Timestamps int      // signed certificate timestamps beside the certificate; asked for by Present only

	share []byte // key share of the server
}

// MaxChain bounds the certificates that are kept of a chain.
const MaxChain = 20

// connectionTime bounds one exchange, so that a server that sends a byte now and then does not hold it up.
const connectionTime = 5 * time.Second

// Ask sends a ClientHello over a connection and reads what the server chose. The connection is of no use afterwards,
// and is left open. The error says that the server refuses to speak like that or speaks no TLS, or that nothing was
// learned, such as that time has run out.
func Ask(ctx context.Context, conn net.Conn, h Hello) (*Reply, error) {
	deadline := time.Now().Add(connectionTime)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if h.Version == SSL2 {
		return ask2(conn)
	}
	if err := h.send(ctx, conn); err != nil {
		return nil, closed(err)
	}
	return (&reader{in: conn, left: maxRead}).reply()
}

func (r *reader) reply() (*Reply, error) {
	kind, content, err := r.message()
	if err != nil {
		return nil, err
	}
	reply := &Reply{}
	if kind != serverHello || !reply.hello(content) {
		return nil, errMalformed
	}
	if reply.Version == TLS13 {
		return reply, nil // the rest is encrypted
	}
	return r.rest(reply), nil
}

// rest reads the messages after a ServerHello of TLS 1.2 or earlier.
func (r *reader) rest(reply *Reply) *Reply {
	for {
		kind, content, err := r.message()
		if err != nil || kind == serverHelloDone {
			return reply // the choice is known, whatever happens to the rest
		}
		reply.add(kind, content)
	}
}

// add reads one of the messages after the ServerHello.
func (reply *Reply) add(kind uint8, content cryptobyte.String) {
	switch kind {
	case certificate:
		reply.Chain = readChain(content)
	case certificateStatus:
		var status uint8
		var staple cryptobyte.String
		if content.ReadUint8(&status) && status == 1 && content.ReadUint24LengthPrefixed(&staple) { // RFC 6066 section 8
			reply.Staple = bytes.Clone(staple)
		}
	case certificateReq:
		reply.ClientCertificate = true
	case serverKeyExchange:
		reply.keyExchange(content)
	}
}

// retry is the random number that makes a HelloRetryRequest of a ServerHello (RFC 8446 section 4.1.3).
var retry = []byte{0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2,
	0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C}

// hello reads a ServerHello (RFC 8446 section 4.1.3, RFC 5246 section 7.4.1.3).
func (reply *Reply) hello(in cryptobyte.String) bool {
	var version uint16
	var number, session, extensions cryptobyte.String
	var compression uint8
	if !in.ReadUint16(&version) || !in.ReadBytes((*[]byte)(&number), 32) || !in.ReadUint8LengthPrefixed(&session) ||
		!in.ReadUint16(&reply.Suite) || !in.ReadUint8(&compression) {
		return false
	}
	reply.Version, reply.Compression = Version(version), compression != 0
	if in.Empty() {
		return true
	}
	if !in.ReadUint16LengthPrefixed(&extensions) || !in.Empty() {
		return false
	}
	reply.Retry = bytes.Equal(number, retry)
	for !extensions.Empty() {
		var kind uint16
		var content cryptobyte.String
		if !extensions.ReadUint16(&kind) || !extensions.ReadUint16LengthPrefixed(&content) {
			return false
		}
		reply.extension(kind, content)
	}
	return true
}

func (reply *Reply) extension(kind uint16, content cryptobyte.String) {
	switch kind {
	case extVersions:
		var v uint16
		if content.ReadUint16(&v) {
			reply.Version = Version(v)
		}
	case extKeyShare:
		var g uint16
		if content.ReadUint16(&g) && (reply.Retry || !content.Empty()) {
			reply.Group = Group(g)
		}
		var share cryptobyte.String
		if !reply.Retry && content.ReadUint16LengthPrefixed(&share) {
			reply.share = bytes.Clone(share)
		}
	case extTimestamps:
		var list, one cryptobyte.String
		if content.ReadUint16LengthPrefixed(&list) { // RFC 6962 section 3.3
			for list.ReadUint16LengthPrefixed(&one) {
				reply.Timestamps++
			}
		}
	case extALPN:
		var list, name cryptobyte.String
		if content.ReadUint16LengthPrefixed(&list) && list.ReadUint8LengthPrefixed(&name) {
			reply.ALPN = string(name)
		}
	case extRenegotiation:
		reply.SecureRenegotiation = true
	case extMasterSecret:
		reply.MasterSecret = true
	case extSessionTicket:
		reply.SessionTicket = true
	case extHeartbeat:
		reply.Heartbeat = true
	}
}

// readChain reads a Certificate message (RFC 5246 section 7.4.2). What is malformed ends the chain.
func readChain(in cryptobyte.String) [][]byte {
	var list, one cryptobyte.String
	if !in.ReadUint24LengthPrefixed(&list) {
		return nil
	}
	var chain [][]byte
	for !list.Empty() && len(chain) < MaxChain && list.ReadUint24LengthPrefixed(&one) {
		chain = append(chain, bytes.Clone(one))
	}
	return chain
}

// namedCurve says that a group is given by its number (RFC 8422 section 5.4).
const namedCurve = 3

// keyExchange reads the parameters of the key exchange (RFC 8422 section 5.4, RFC 5246 section 7.4.3).
func (reply *Reply) keyExchange(in cryptobyte.String) {
	s := SuiteOf(reply.Suite)
	if s.psk() && !in.ReadUint16LengthPrefixed(new(cryptobyte.String)) { // RFC 5489 section 2: an identity hint first
		return
	}
	switch {
	case s.EllipticCurve():
		var kind uint8
		var group uint16
		if in.ReadUint8(&kind) && kind == namedCurve && in.ReadUint16(&group) {
			reply.Group = Group(group)
		}
	case s.FiniteField(), s.Export():
		var prime cryptobyte.String
		if s.FiniteField() && in.ReadUint16LengthPrefixed(&prime) {
			reply.DHBits = new(big.Int).SetBytes(prime).BitLen()
		}
	}
}

func (s *scanner) groups(ctx context.Context, v Version, suites []uint16) (found []GroupResult) {
	if len(suites) == 0 {
		return nil
	}
	h := s.hello(v, suites)
	for len(h.Groups) > 0 {
		reply, err := s.ask(ctx, h)
		if err != nil {
			return found
		}
		i := slices.Index(h.Groups, reply.Group)
		if reply.Version != v || i < 0 {
			return found
		}
		found = append(found, GroupResult{reply.Group, v})
		h.Groups = slices.Delete(h.Groups, i, i+1)
	}
	return found
}

// protocols finds all application protocols of those that were offered.
func (s *scanner) protocols(ctx context.Context, v Version, suites []uint16) (found []string) {
	h := s.hello(v, suites)
	h.ALPN = slices.Clone(h.ALPN)
	for len(h.ALPN) > 0 {
		reply, err := s.ask(ctx, h)
		if err != nil || !slices.Contains(h.ALPN, reply.ALPN) {
			return found
		}
		found = append(found, reply.ALPN)
		h.ALPN = slices.DeleteFunc(h.ALPN, func(p string) bool { return p == reply.ALPN })
	}
	return found
}

// order learns whose preference counts: the suites are offered in one order and in its reverse. ChaCha20 is left out,
// which some servers prefer only if the client does.
func (s *scanner) order(ctx context.Context, v Version, suites []uint16) Answer {
	suites = slices.DeleteFunc(slices.Clone(suites), func(id uint16) bool { return SuiteOf(id).chaCha() })
	if len(suites) < 2 {
		return Unknown
	}
	one, err := s.ask(ctx, s.hello(v, suites))
	if err != nil {
		return Unknown
	}
	slices.Reverse(suites)
	other, err := s.ask(ctx, s.hello(v, suites))
	if err != nil {
		return Unknown
	}
	return answer(one.Suite == other.Suite)
}

// compression learns whether the server takes an offer to compress.
func (s *scanner) compression(ctx context.Context, v Version, suites []uint16) Answer {
	h := s.hello(v, suites)
	h.Compression = true
	reply, err := s.ask(ctx, h)
	if err != nil {
		return Unknown
	}
	return answer(reply.Compression)
}

// fallback learns whether the server recognizes a client that was made to use an older version than both know.
func (s *scanner) fallback(ctx context.Context, r *Report) Answer {
	var supported []Version
	for _, v := range r.Versions {
		if v.Supported == Yes && v.Version != SSL2 {
			supported = append(supported, v.Version)
		}
	}
	if len(supported) < 2 {
		return Unknown // there is nothing to fall back to
	}
	older := supported[len(supported)-2]
	h := s.hello(older, r.suites(older, anySuite))
	h.Fallback = true
	_, err := s.ask(ctx, h)
	if refusal, ok := errors.AsType[*refusal](err); ok && refusal.Alert == InappropriateFallback {
		return Yes
	} else if err != nil {
		return Unknown
	}
	return No
}

// confirm repeats what was answered at first. If the server refuses it now, it has stopped to speak with us, and what
// it refused in the meantime is not known.
func (s *scanner) confirm(ctx context.Context, r *Report) {
	first := cmp.Or(r.New, r.Old)
	if first == nil {
		return
	}
	reply, err := s.ask(ctx, s.hello(first.Version, []uint16{first.Suite}))
	if err == nil && reply.Version == first.Version {
		return
	}
	s.mu.Lock()
	s.unanswered = true
	s.mu.Unlock()
	for i := range r.Versions {
		if r.Versions[i].Supported == No {
			r.Versions[i].Supported = Unknown
		}
	}
}

// details asks for what can be asked only when versions and suites are known.
func (s *scanner) details(ctx context.Context, r *Report) {
	var g diag.Group
	var newer, older []GroupResult
	if r.New != nil {
		g.Go(func() { newer = s.groups(ctx, TLS13, r.suites(TLS13, Suite.TLS13)) })
	}
	if r.Old != nil {
		v := r.Old.Version
		g.Go(func() { older = s.groups(ctx, v, r.suites(v, Suite.EllipticCurve)) })
		g.Go(func() { r.ALPN = s.protocols(ctx, v, r.suites(v, anySuite)) })
		g.Go(func() { r.ServerOrder = s.order(ctx, v, r.suites(v, anySuite)) })
		g.Go(func() { r.Compression = s.compression(ctx, v, r.suites(v, anySuite)) })
	}
	g.Go(func() { r.FallbackSCSV = s.fallback(ctx, r) })
	g.Go(func() { s.tolerance(ctx, r) })
	g.Wait()
	r.Groups = slices.Concat(newer, older)
	s.confirm(ctx, r)
}
