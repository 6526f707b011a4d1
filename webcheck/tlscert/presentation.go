package tlscert

import (
	"bytes"
	"context"
	"crypto/x509"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// presented holds what a server presents to clients other than the usual ones.
type presented struct {
	replies      map[probe.KeyType]*probe.Reply // for those that can verify one type of key
	unknownTypes []probe.KeyType                // for which nothing was learned
	// overlong are those for which the chain is longer than what is read, or held.
	overlong []probe.KeyType
	noSNI    *noSNIReply // to those that name no host; nil if that is not known, or is no question
}

// A noSNIReply certificate is the one that a server presents to a client without SNI (RFC 6066 section 3).
type noSNIReply struct {
	leaf *x509.Certificate // nil if it refuses to speak
}

// otherTypes are the types of keys of which the server may have a certificate beside that of usual clients. EdDSA, for
// which no public authority issues, is asked for at one address.
func (e *evidence) otherTypes() []probe.KeyType {
	shown := e.keyType()
	return slices.DeleteFunc(probe.KeyTypes(), func(key probe.KeyType) bool {
		return key == shown || key == probe.EdDSA && e.further
	})
}

// present asks for the certificates that usual clients do not see. A server that refuses all may want a post-quantum
// key exchange.
func (e *evidence) present(ctx context.Context, env *diag.Env, types []probe.KeyType) {
	e.presentBy(ctx, env, types, probe.X25519)
	if len(e.replies)+len(e.unknownTypes)+len(e.overlong) == 0 && e.noSNI != nil && e.noSNI.leaf == nil {
		e.presentBy(ctx, env, types, probe.X25519MLKEM768)
	}
}

func (e *evidence) presentBy(ctx context.Context, env *diag.Env, types []probe.KeyType, group probe.Group) {
	replies, errs := make([]*probe.Reply, len(types)), make([]error, len(types))
	var g diag.Group
	for i, key := range types {
		g.Go(func() { replies[i], errs[i] = probe.Present(ctx, e.dialer(env), e.config(), key, group) })
	}
	g.Go(func() { e.noSNI = e.presentWithoutSNI(ctx, env, group) })
	g.Wait()
	e.replies = map[probe.KeyType]*probe.Reply{}
	for i, key := range types {
		switch {
		case probe.TooLong(errs[i]), errs[i] == nil && e.further && size(replies[i].Chain) > maxChainBytes:
			e.overlong = append(e.overlong, key)
		case errs[i] == nil && len(replies[i].Chain) > 0:
			e.replies[key] = replies[i]
		case errs[i] != nil && !probe.Refused(errs[i]):
			e.unknownTypes = append(e.unknownTypes, key)
		}
	}
}

func (e *evidence) presentWithoutSNI(ctx context.Context, env *diag.Env, group probe.Group) *noSNIReply {
	if _, err := netip.ParseAddr(e.name); err == nil {
		return nil // the usual hello names none either
	}
	config := e.config()
	config.ServerName = ""
	reply, err := probe.Present(ctx, e.dialer(env), config, probe.AnyKey, group)
	switch {
	case err != nil && probe.Refused(err):
		return &noSNIReply{}
	case err != nil || len(reply.Chain) == 0:
		return nil
	}
	leaf, err := x509.ParseCertificate(reply.Chain[0])
	if err != nil {
		return nil
	}
	return &noSNIReply{leaf}
}

// maxChainBytes bounds a chain beside that of usual clients: what is presented at all addresses is held together. Real
// ones have 3 to 10 KiB.
const maxChainBytes = 64 << 10

func size(chain [][]byte) (n int) {
	for _, der := range chain {
		n += len(der)
	}
	return n
}

// settlePresented makes parts of the other certificates that are presented at the address.
func (e *evidence) settlePresented() {
	if len(e.served) == 0 { // crypto/tls could not connect
		for _, key := range probe.KeyTypes() {
			if reply := e.replies[key]; reply != nil && len(e.served) == 0 {
				e.useReply(reply)
			}
		}
	}
	seen := [][]byte{nil}
	if len(e.served) > 0 {
		seen[0] = e.served[0]
	}
	for _, key := range probe.KeyTypes() {
		reply := e.replies[key]
		same := func(leaf []byte) bool { return bytes.Equal(leaf, reply.Chain[0]) }
		if reply == nil || slices.ContainsFunc(seen, same) {
			continue
		}
		seen = append(seen, reply.Chain[0])
		v := *e
		v.others, v.unknownTypes, v.overlong, v.handshakeMS, v.related = nil, nil, nil, nil, related{}
		v.useReply(reply)
		e.others = append(e.others, &v)
	}
	e.replies = nil
	e.unknownTypes = slices.DeleteFunc(e.unknownTypes, e.shows)
	e.overlong = slices.DeleteFunc(e.overlong, e.shows)
}

// useReply makes what a reply shows that which is judged.
func (e *evidence) useReply(r *probe.Reply) {
	e.served, e.staple, e.handshakeSCTs = r.Chain, r.Staple, r.Timestamps
	e.version, e.suite, e.alpn = uint16(r.Version), r.Suite, r.ALPN
}

// shows reports whether a certificate with a type of key is presented at the address.
func (e *evidence) shows(key probe.KeyType) bool {
	return slices.ContainsFunc(append(e.others, e), func(part *evidence) bool { return part.keyType() == key })
}

// keyType is the type of the key of the certificate; empty if that is not known.
func (e *evidence) keyType() probe.KeyType {
	if len(e.served) == 0 {
		return ""
	}
	leaf, err := x509.ParseCertificate(e.served[0])
	if err != nil {
		return ""
	}
	return typeOf(leaf)
}

func typeOf(leaf *x509.Certificate) probe.KeyType {
	switch leaf.PublicKeyAlgorithm {
	case x509.RSA:
		return probe.RSA
	case x509.ECDSA:
		return probe.ECDSA
	case x509.Ed25519:
		return probe.EdDSA
	default:
		return ""
	}
}
