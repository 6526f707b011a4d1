//go:build !race

package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/stretchr/testify/require"
)

// tripDomains are the domains of the demonstration about which round trips are counted.
var tripDomains = []string{
	"good.example", "example.com", "plain.example", "bogus.example", "lame.example", "open.example",
}

// TestRoundTrips counts how many exchanges with the network, one after the other, each operation waits for: a question
// to the DNS, a TCP connection, and each turn of a conversation over it, 100 ms each in a bubble's time. The table
// testdata/roundtrips.txt holds the counts by domain, or that the reply is an error; -update writes it. An operation
// that takes more than before waits for an answer that its next query does not need, or has a reason to.
func TestRoundTrips(t *testing.T) {
	counts := map[string][]string{}
	for _, domain := range tripDomains {
		synctest.Test(t, func(t *testing.T) {
			world, err := internet.New(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
			require.NoError(t, err)
			defer world.Close()
			world.Latency(trip)
			for _, ep := range endpoints {
				body := requestAbout(ep, domain)
				switch {
				case body == nil:
					continue
				case ep.Name() == "certificates/ssl/check": // the scan has five connections at a time, in an order left to chance
					body = fmt.Appendf(nil, `{"host":%q,"check_versions":false}`, domain)
				}
				env := world.NewEnv()
				env.Data, env.Dial = world.Env().Data, farAway(env.Dial)
				count := fmt.Sprint(world.RoundTrips(func() { _, err = ep.Run(t.Context(), env, body) }))
				if err != nil {
					count = "error"
				}
				counts[ep.Name()] = append(counts[ep.Name()], count)
			}
		})
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "operation\t%s\n", strings.Join(tripDomains, "\t"))
	for _, name := range sortedKeys(counts) {
		fmt.Fprintf(w, "%s\t%s\n", name, strings.Join(counts[name], "\t"))
	}
	require.NoError(t, w.Flush())
	diagtest.Golden(t, "testdata/roundtrips.txt", table.Bytes())
}

// trip is the duration of a round trip.
const trip = 100 * time.Millisecond

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// farAway delays what is sent over TCP by a trip, in order; replies are not delayed. DNS servers are excluded,
// because the world counts their replies already.
func farAway(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if _, port, _ := net.SplitHostPort(addr); err != nil || network == "udp" || port == "53" || port == "853" {
			return c, err
		}
		return &farConn{Conn: c, turn: make(chan struct{}, 1), queue: make(chan func(), 1<<12)}, nil
	}
}

// A farConn is a connection to a server that is far away.
type farConn struct {
	net.Conn
	turn  chan struct{} // held by the delivering goroutine; no mutex, whose waiting is not idle in a bubble
	queue chan func()   // segments under way
}

func (c *farConn) Write(b []byte) (int, error) {
	b = bytes.Clone(b)
	c.later(func() { c.Conn.Write(b) })
	return len(b), nil
}

func (c *farConn) Close() error {
	c.later(func() { c.Conn.Close() })
	return c.Conn.SetReadDeadline(time.Now()) // a pending read ends immediately
}

func (c *farConn) later(f func()) {
	c.queue <- f
	time.AfterFunc(trip, func() {
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		(<-c.queue)()
	})
}
