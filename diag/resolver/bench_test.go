package resolver_test

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"golang.org/x/net/ipv4"
)

// echoServer answers every query with one A record, as cheaply as can be: it flips the QR bit and
// appends a fixed record whose name points to the question. Messages are taken and given in batches, so
// that what is measured is the client.
func echoServer(b *testing.B) netip.AddrPort {
	b.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	conn.SetReadBuffer(4 << 20)
	var readers sync.WaitGroup
	b.Cleanup(func() {
		conn.Close()
		readers.Wait()
	})
	for range 2 {
		readers.Go(func() { echo(ipv4.NewPacketConn(conn)) })
	}
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func echo(conn *ipv4.PacketConn) {
	const batch = 64
	in := make([]ipv4.Message, batch)
	for i := range in {
		in[i].Buffers = [][]byte{make([]byte, 512)}
	}
	out := make([]ipv4.Message, batch)
	for {
		n, err := conn.ReadBatch(in, 0)
		if err != nil {
			return
		}
		for i := range n {
			m := in[i].Buffers[0]
			out[i] = ipv4.Message{Buffers: [][]byte{answer(m[:in[i].N])}, Addr: in[i].Addr}
		}
		for sent := 0; sent < n; {
			k, err := conn.WriteBatch(out[sent:n], 0)
			if err != nil {
				return
			}
			sent += k
		}
	}
}

// answer turns a query into its reply within the same memory.
func answer(m []byte) []byte {
	end := 12
	for m[end] != 0 {
		end += 1 + int(m[end])
	}
	m[2] |= 0x80
	m[7], m[11] = 1, 0 // one answer, no OPT record
	return append(m[:end+5], 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1)
}

// ask runs one exchange after another in some goroutines and reports queries a second.
func measure(b *testing.B, workers int, newWorker func() func(context.Context, *dns.Msg) error) {
	b.Helper()
	b.ReportAllocs()
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	b.ResetTimer()
	for range workers {
		group.Go(func() {
			exchange := newWorker()
			q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
			for left.Add(-1) >= 0 {
				if err := exchange(ctx, q); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
}

func benchmarkClient(b *testing.B, workers int, fold bool) {
	addr := echoServer(b)
	client := &resolver.Client{
		Servers:  []resolver.Server{{Addrs: []netip.Addr{addr.Addr()}, Port: addr.Port()}},
		Case0x20: fold,
	}
	b.Cleanup(func() { client.Close() })
	measure(b, workers, func() func(context.Context, *dns.Msg) error {
		return func(ctx context.Context, q *dns.Msg) error {
			_, err := client.Exchange(ctx, q)
			return err
		}
	})
}

func BenchmarkClient1(b *testing.B)           { benchmarkClient(b, 1, false) }
func BenchmarkClient64(b *testing.B)          { benchmarkClient(b, 64, false) }
func BenchmarkClientCase0x20_64(b *testing.B) { benchmarkClient(b, 64, true) }

// Ten thousand names in flight: what waits for a place on a socket takes little more than its stack.
func BenchmarkClient10000(b *testing.B) {
	benchmarkClient(b, 10_000, false)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-in-all")
}

// The DNS library's client, with a socket for each query.
func benchmarkLibrary(b *testing.B, workers int) {
	addr := echoServer(b).String()
	measure(b, workers, func() func(context.Context, *dns.Msg) error {
		client := new(dns.Client)
		return func(ctx context.Context, q *dns.Msg) error {
			q.Id = dns.Id()
			_, _, err := client.ExchangeContext(ctx, q, addr)
			return err
		}
	})
}

func BenchmarkLibrary1(b *testing.B)  { benchmarkLibrary(b, 1) }
func BenchmarkLibrary64(b *testing.B) { benchmarkLibrary(b, 64) }

// The DNS library's client, with a socket for each goroutine, whose port never changes.
func benchmarkLibraryConn(b *testing.B, workers int) {
	addr := echoServer(b).String()
	measure(b, workers, func() func(context.Context, *dns.Msg) error {
		client := new(dns.Client)
		conn, err := client.Dial(addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		return func(_ context.Context, q *dns.Msg) error {
			q.Id = dns.Id()
			_, _, err := client.ExchangeWithConn(q, conn)
			return err
		}
	})
}

func BenchmarkLibraryConn1(b *testing.B)  { benchmarkLibraryConn(b, 1) }
func BenchmarkLibraryConn64(b *testing.B) { benchmarkLibraryConn(b, 64) }
