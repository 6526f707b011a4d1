package diagtest

import (
	"encoding/binary"
	"io"
	"sync"

	"github.com/miekg/dns"
)

// A responder answers a message, or not: without messages nothing is sent. It waits as long as the answer takes.
type responder func(q *dns.Msg, transport string) []*dns.Msg

// maxMessage is the largest message of the DNS (RFC 1035 section 4.2.2).
const maxMessage = 65535

func serveDatagrams(c *conn, respond responder) {
	defer c.Close()
	var busy sync.WaitGroup
	defer busy.Wait()
	buffer := make([]byte, maxMessage)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		q := new(dns.Msg)
		if q.Unpack(buffer[:n]) != nil || q.Response {
			continue
		}
		busy.Go(func() {
			for _, m := range respond(q, "udp") {
				if b, err := m.Pack(); err == nil {
					c.Write(b)
				}
			}
		})
	}
}

// serveStream answers the questions of a connection as they come, in any order (RFC 7766 section 7).
func serveStream(c io.ReadWriteCloser, transport string, respond responder) {
	defer c.Close()
	var busy sync.WaitGroup
	defer busy.Wait()
	var mu sync.Mutex
	for {
		q, err := readMessage(c)
		if err != nil {
			return
		}
		busy.Go(func() {
			for _, m := range respond(q, transport) {
				b, err := m.Pack()
				if err != nil || len(b) > maxMessage {
					continue
				}
				mu.Lock()
				c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
				mu.Unlock()
			}
		})
	}
}

func readMessage(r io.Reader) (*dns.Msg, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	m := new(dns.Msg)
	return m, m.Unpack(b)
}

// cutOff shortens a message that does not fit into a datagram (RFC 2181 section 9).
func cutOff(q, m *dns.Msg, anyway bool) {
	size := dns.MinMsgSize
	if opt := q.IsEdns0(); opt != nil {
		size = max(size, int(opt.UDPSize()))
	}
	m.Compress = true
	if !anyway && m.Len() <= size {
		return
	}
	m.Truncated = true
	m.Answer, m.Ns = nil, nil
	if opt := m.IsEdns0(); opt != nil {
		m.Extra = []dns.RR{opt}
	}
}
