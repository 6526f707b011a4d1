package resolver

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A replay is a connection on which given messages arrive, and then nothing.
type replay struct {
	net.Conn
	messages [][]byte
}

func (r *replay) Read(b []byte) (int, error) {
	if len(r.messages) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, r.messages[0])
	r.messages = r.messages[1:]
	return n, nil
}

func (r *replay) Write(b []byte) (int, error)      { return len(b), nil }
func (r *replay) SetReadDeadline(time.Time) error  { return nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }
func (r *replay) RemoteAddr() net.Addr             { return nil }
func (r *replay) Close() error                     { return nil }

// Whatever arrives, nothing is accepted but a reply to the query, and nothing panics.
func FuzzReply(f *testing.F) {
	name := "www.example.com."
	question := new(dns.Msg).SetQuestion(name, dns.TypeA)
	good := new(dns.Msg).SetReply(question)
	good.Answer = []dns.RR{&dns.A{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(192, 0, 2, 1),
	}}
	good.Compress = true
	wire, err := good.Pack()
	require.NoError(f, err)
	f.Add(wire, true)
	f.Add(wire, false)
	f.Add(wire[:12], true)
	f.Add([]byte{}, false)
	declined := bytes.Clone(wire[:12])
	declined[3], declined[5] = 5, 0
	f.Add(declined, true)
	f.Fuzz(func(t *testing.T, datagram []byte, fold bool) {
		q, err := newQuery(question, true)
		require.NoError(t, err)
		if fold {
			q.fold()
		}
		m, w := newMux(&replay{}, UDP, 1), newWaiter()
		require.NoError(t, m.join(w, q, m.born, time.Hour))
		// The forger has guessed the identifier and, half of the time, the case.
		if len(datagram) >= 2 {
			binary.BigEndian.PutUint16(datagram, w.id)
		}
		sent := bytes.Clone(q.wire)
		m.conn.(*replay).messages = [][]byte{datagram}
		b, err := m.exchange(context.Background(), w, time.Now())
		require.True(t, (b == nil) != (err == nil), "a reply or an error")
		if err != nil {
			require.Equal(t, ErrTimeout, err)
			return
		}
		requireRepeats(t, sent, b.data, fold)
		reply, err := q.decode(b.data)
		require.True(t, (reply == nil) != (err == nil))
		if err == nil {
			require.Equal(t, question.Id, reply.Id)
			require.Equal(t, question.Question, reply.Question)
			require.Nil(t, reply.IsEdns0())
			requireSame(t, b.data, reply)
		}
	})
}

// requireSame checks that the DNS library reads the same message.
func requireSame(t *testing.T, wire []byte, got *dns.Msg) {
	t.Helper()
	want := new(dns.Msg)
	if want.Unpack(wire) != nil {
		return // an OPT record that was not requested is not read
	}
	want.Id, want.Question = got.Id, got.Question
	if want.IsEdns0() != nil {
		want.Extra = slices.DeleteFunc(want.Extra, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeOPT })
	}
	for _, list := range [][2][]dns.RR{{want.Answer, got.Answer}, {want.Ns, got.Ns}, {want.Extra, got.Extra}} {
		require.Equal(t, len(list[0]), len(list[1]))
		for i, rr := range list[0] {
			require.True(t, strings.EqualFold(rr.String(), list[1][i].String()), "%v is read as %v", rr, list[1][i])
		}
	}
	require.Equal(t, want.MsgHdr, got.MsgHdr)
}

// requireRepeats checks with the DNS library that a message repeats the question of another.
func requireRepeats(t *testing.T, sent, got []byte, exactCase bool) {
	t.Helper()
	var query, reply dns.Msg
	require.NoError(t, query.Unpack(sent))
	reply.Unpack(got) // records may be broken; the header and the question are not
	require.True(t, reply.Response)
	require.Equal(t, query.Id, reply.Id)
	require.Equal(t, query.Opcode, reply.Opcode)
	if len(got) == headerLen {
		require.Contains(t, []int{dns.RcodeFormatError, dns.RcodeNotImplemented, dns.RcodeRefused}, reply.Rcode)
		return
	}
	require.Len(t, reply.Question, 1)
	if !exactCase {
		query.Question[0].Name = strings.ToLower(query.Question[0].Name)
		reply.Question[0].Name = strings.ToLower(reply.Question[0].Name)
	}
	require.Equal(t, query.Question, reply.Question)
}

// A stream that is interrupted at every byte loses nothing.
func TestStreamReaderResumes(t *testing.T) {
	var input []byte
	messages := [][]byte{bytes.Repeat([]byte{1}, 3), {}, bytes.Repeat([]byte{2}, 5000), {9}}
	for _, m := range messages {
		input = append(binary.BigEndian.AppendUint16(input, uint16(len(m))), m...)
	}
	conn := &replay{}
	m := newMux(conn, TCP, 1)
	var got [][]byte
	for _, c := range input {
		conn.messages = [][]byte{{c}}
		for {
			b, err := m.stream.next()
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				break
			}
			got = append(got, bytes.Clone(b.data))
		}
	}
	require.Len(t, got, len(messages))
	for i := range messages {
		assert.Equal(t, len(messages[i]), len(got[i]))
		assert.True(t, bytes.Equal(messages[i], got[i]))
	}
}

// The messages read from any stream are the messages in it.
func FuzzStreamReader(f *testing.F) {
	f.Add([]byte{0, 1, 9, 0, 0, 0, 2, 8, 8, 0xff}, uint8(3))
	f.Fuzz(func(t *testing.T, input []byte, step uint8) {
		conn := &replay{}
		for rest := input; len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			conn.messages = append(conn.messages, rest[:n])
			rest = rest[n:]
		}
		m := newMux(conn, TCP, 1)
		var seen []byte
		for {
			b, err := m.stream.next()
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				break
			}
			seen = append(binary.BigEndian.AppendUint16(seen, uint16(len(b.data))), b.data...)
			b.free()
		}
		require.True(t, bytes.HasPrefix(input, seen))
		if rest := input[len(seen):]; len(rest) >= prefixLen {
			require.Less(t, len(rest)-prefixLen, int(binary.BigEndian.Uint16(rest)), "a whole message was left")
		}
	})
}

func TestSocketIsGivenUpAfterManyStrays(t *testing.T) {
	conn := &replay{}
	m, w := newMux(conn, UDP, 1<<20), newWaiter()
	for range maxStrays + 1 {
		conn.messages = append(conn.messages, make([]byte, 20))
	}
	q, err := newQuery(new(dns.Msg).SetQuestion("example.com.", dns.TypeA), true)
	require.NoError(t, err)
	require.NoError(t, m.join(w, q, m.born, time.Hour))
	_, err = m.exchange(t.Context(), w, time.Now())
	require.Equal(t, ErrTimeout, err)
	assert.Equal(t, errRetired, m.join(w, q, m.born, time.Hour))
}

func TestSocketIsReplaced(t *testing.T) {
	q, err := newQuery(new(dns.Msg).SetQuestion("example.com.", dns.TypeA), true)
	require.NoError(t, err)
	m, w := newMux(&replay{}, UDP, 2), newWaiter()
	assert.Equal(t, errRetired, m.join(w, q, m.born.Add(time.Hour), time.Minute), "old")
	for range 2 {
		require.NoError(t, m.join(newWaiter(), q, m.born, time.Hour))
	}
	assert.Equal(t, errRetired, m.join(w, q, m.born, time.Hour), "used up")
}

func TestFoldIsUndoneInTheReply(t *testing.T) {
	msg := new(dns.Msg).SetQuestion("wWw.Example.com.", dns.TypeCNAME)
	q, err := newQuery(msg, false)
	require.NoError(t, err)
	q.fold()
	var query dns.Msg
	require.NoError(t, query.Unpack(q.wire))
	folded := query.Question[0].Name
	for _, compress := range []bool{true, false} {
		m := new(dns.Msg).SetReply(&query)
		m.Compress = compress
		m.Answer = []dns.RR{&dns.CNAME{
			Hdr:    dns.RR_Header{Name: folded, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: 60},
			Target: "elsewhere.example.net.",
		}}
		wire, err := m.Pack()
		require.NoError(t, err)
		reply, err := q.decode(wire)
		require.NoError(t, err)
		assert.Equal(t, msg.Question, reply.Question)
		assert.Equal(t, "wWw.Example.com.", reply.Answer[0].Header().Name)
	}
}

func TestCallersMessageIsNotWrittenTo(t *testing.T) {
	msg := new(dns.Msg).SetQuestion("example.com.", dns.TypeA)
	msg.SetEdns0(1232, true)
	msg.Rcode = dns.RcodeBadVers // makes packing write into the OPT record
	before := msg.IsEdns0().Hdr.Ttl
	_, err := newQuery(msg, true)
	require.NoError(t, err)
	assert.Equal(t, before, msg.IsEdns0().Hdr.Ttl)
}

func TestIdentifiersInFlightDiffer(t *testing.T) {
	q, err := newQuery(new(dns.Msg).SetQuestion("example.com.", dns.TypeA), true)
	require.NoError(t, err)
	m := newMux(&replay{}, UDP, 1000)
	for id := 1; id < 1<<16; id += 2 {
		m.waiting = append(m.waiting, &waiter{id: uint16(id)})
	}
	for range 20 {
		w := newWaiter()
		require.NoError(t, m.join(w, q, m.born, time.Hour))
		require.Zero(t, w.id%2, "the odd ones are taken")
	}
}

// A caller that leaves in the middle of a write breaks the stream. The others must get that error, and not a timeout
// of their own.
func TestTornStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		m := newMux(client, TCP, 1000)
		exchange := func(ctx context.Context) error {
			q, err := newQuery(new(dns.Msg).SetQuestion("example.com.", dns.TypeA), false)
			require.NoError(t, err)
			w := newWaiter()
			if err := m.join(w, q, m.born, time.Hour); err != nil {
				return err
			}
			_, err = m.exchange(ctx, w, time.Now().Add(time.Hour))
			return err
		}
		var group sync.WaitGroup
		for range 2 { // one reads, one follows
			group.Go(func() { assert.Equal(t, errTorn, exchange(t.Context())) })
			_, err := io.ReadFull(server, make([]byte, prefixLen+headerLen+17))
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() { assert.Equal(t, context.Canceled, exchange(ctx)) })
		_, err := server.Read(make([]byte, 1))
		require.NoError(t, err)
		cancel()
		group.Wait()
		assert.Equal(t, errTorn, exchange(t.Context()))
	})
}
