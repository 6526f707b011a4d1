package survey

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// tcp asks queries one after the other over one connection, each when the one before was answered. Of
// an answer in several messages the first is returned.
func (w *wire) tcp(ctx context.Context, ip netip.Addr, queries ...*dns.Msg) []Reply {
	replies := make([]Reply, len(queries))
	leave, ok := w.enter(ctx, ip)
	if !ok {
		return replies
	}
	defer leave()
	if !w.spend() {
		return replies
	}
	limited, cancel := context.WithTimeout(ctx, tcpTimeout)
	defer cancel()
	began := time.Now()
	conn, err := w.env.DialAddr(limited, "tcp", netip.AddrPortFrom(ip, 53), diag.DNSPorts)
	if err != nil {
		replies[0] = Reply{Result: resultOf(ctx, err), TCP: true}
		return replies
	}
	defer conn.Close()
	defer context.AfterFunc(limited, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	for i, q := range queries {
		if i > 0 && !w.spend() {
			return replies
		}
		replies[i] = overStream(ctx, conn, q)
		replies[i].Latency = time.Since(began)
		if !replies[i].OK() {
			return replies
		}
		began = time.Now()
	}
	return replies
}

// overStream asks one query over a connection (RFC 1035 section 4.2.2).
func overStream(ctx context.Context, conn net.Conn, q *dns.Msg) Reply {
	packed, err := q.Pack()
	if err != nil {
		return Reply{TCP: true}
	}
	frame := append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
	if _, err := conn.Write(frame); err != nil {
		return Reply{Result: resultOf(ctx, err), TCP: true}
	}
	r := Reply{Result: TimedOut, TCP: true}
	for range maxStrays {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			r.Result = resultOf(ctx, err)
			return r
		}
		b := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, b); err != nil {
			r.Result = resultOf(ctx, err)
			return r
		}
		m := new(dns.Msg)
		if m.Unpack(b) != nil {
			r.Result = Malformed
			return r
		}
		if same, exact := answers(m, q); same {
			r.Result, r.Msg, r.CaseChanged = Answered, m, !exact
			return r
		}
		r.Forged++
	}
	return r
}
