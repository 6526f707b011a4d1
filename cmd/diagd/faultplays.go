package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	killedServers = 3
	// clockJump leads into another month, whichever way.
	clockJump = 40 * 24 * time.Hour
	// clockHolds is how many times longer than other faults a clock is ahead: a server looks for months to close every
	// 30 to 90 seconds.
	clockHolds = 12
)

// sell waits until some more is sold.
func (p *play) sell(ctx context.Context) error {
	end := time.Now().Add(recovery)
	for want := p.c.charges() + enough; p.c.charges() < want; {
		switch {
		case !rest(ctx, shopPause):
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("servers did not sell within %v", recovery)
		}
	}
	return nil
}

func (p *play) wait(ctx context.Context) error {
	rest(ctx, p.hold)
	return ctx.Err()
}

func (p *play) killServers(ctx context.Context) error {
	for range killedServers {
		p.halt()
		err := p.start(ctx)
		if err == nil {
			err = p.sell(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// proxied plays what the proxy before the database can do.
func proxied(begin func(*proxy) (end func())) func(*play, context.Context) error {
	return func(p *play, ctx context.Context) error {
		defer begin(p.proxy)()
		return p.wait(ctx)
	}
}

// connect makes one connection to the database, whose URL may have parameters of a pool.
func (p *play) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgxpool.ParseConfig(p.url)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// stopBackends stops the processes of all connections of servers, also of those that are made meanwhile.
func (p *play) stopBackends(ctx context.Context) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, port, _ := net.SplitHostPort(conn.PgConn().Conn().LocalAddr().String())
	if own := backend(int32(conn.PgConn().PID()), "("+port+")"); own == nil || freeze(own, false) != nil {
		return notPlayed("it needs the processes of a PostgreSQL on this machine, and the right to stop them")
	}
	stopped := map[int32]*os.Process{}
	defer func() {
		for _, process := range stopped {
			_ = freeze(process, false)
		}
	}()
	// It lasts from the first that is stopped, whenever that is found.
	for end := time.Now().Add(recovery); time.Now().Before(end) && rest(ctx, shopPause); {
		limited, cancel := context.WithDeadline(ctx, end) // one of them may hold what the query needs
		rows, _ := conn.Query(limited, "SELECT pid FROM pg_stat_activity WHERE application_name = $1", p.name)
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		cancel()
		if err != nil && len(stopped) == 0 {
			return err
		}
		for _, pid := range pids {
			if process := backend(pid, ""); stopped[pid] == nil && process != nil && freeze(process, true) == nil {
				if len(stopped) == 0 {
					end = time.Now().Add(p.hold)
				}
				stopped[pid] = process
			}
		}
	}
	if len(stopped) == 0 && ctx.Err() == nil {
		return errors.New("servers have no connection that can be stopped")
	}
	return ctx.Err()
}

// backend is a process of PostgreSQL on this machine whose title holds a text, or nil. It is found before its title is
// read, and signalled by what was found: whoever gets its number after its end is left alone.
func backend(pid int32, text string) *os.Process {
	process, err := os.FindProcess(int(pid))
	title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // "postgres: USER DATABASE ADDRESS(PORT) …"
	if err != nil || !strings.HasPrefix(string(title), "postgres: ") || !strings.Contains(string(title), text) {
		return nil
	}
	return process
}

// lock keeps servers from writing by another connection.
func (p *play) lock(ctx context.Context) error {
	if p.proxy != nil {
		conn, err := p.connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err = conn.Exec(ctx, "BEGIN; LOCK TABLE ledger IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		return p.wait(ctx)
	}
	file, err := sqlitedb.Open(p.file)
	if err != nil {
		return err
	}
	conn, err := file.Connect()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	err = sqlitedb.Transact(ctx, conn, func() error { return p.wait(ctx) })
	return errors.Join(err, conn.Close(), file.Close())
}

// moveClock moves the clock of the server, and asks again for what was bought while it is wrong.
func (p *play) moveClock(ctx context.Context) error {
	for _, m := range []struct{ jump, hold time.Duration }{{clockJump, clockHolds * p.hold}, {-clockJump, p.hold}} {
		p.jump.Store(int64(m.jump))
		rest(ctx, m.hold)
		p.c.again(ctx, p.address(), enough)
		p.jump.Store(0)
		if err := p.sell(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mount lets a server start on a file that is mounted on itself, in a name space of its own.
func (p *play) mount(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.file, nil, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recovery/4)
	defer cancel()
	const script = `mount --bind "$2" "$2" && echo mounted && exec "$1" serve --listen=127.0.0.1:0`
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", script, "sh", self, p.file)
	cmd.Env = victimEnv(p.served)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if !strings.HasPrefix(text, "mounted\n") {
		return notPlayed(fmt.Sprintf("nothing can be mounted: %v: %s", err, strings.TrimSpace(text)))
	}
	p.must(strings.Contains(text, "mounted as a single file"), "a server was not refused: %s", text)
	return nil
}

// A proxy stands before a server that can be cut off by it, slowed down, and silenced.
type proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // of each write, in nanoseconds
	flow     atomic.Value // a chan struct{}, closed while bytes may pass
	done     sync.WaitGroup

	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
}

func startProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.hang()()
	p.done.Go(p.accept)
	return p, nil
}

// close ends it. It must not hang.
func (p *proxy) close() {
	p.listener.Close()
	p.cut()
	p.done.Wait()
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server := p.dial(client)
		if server == nil {
			client.Close()
			continue
		}
		p.done.Go(func() { p.copy(client, server) })
		p.done.Go(func() { p.copy(server, client) })
	}
}

// dial leads a client to the server. One that is refused costs the server nothing: PostgreSQL makes a process for each.
func (p *proxy) dial(client net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return nil
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return nil
	}
	p.conns[client], p.conns[server] = true, true
	return server
}

// copy goes on until one side ends, and ends the other one.
func (p *proxy) copy(to, from net.Conn) {
	_, _ = io.Copy(paced{to, p}, from)
	to.Close()
	from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
}

// paced is a connection that waits before each write.
type paced struct {
	net.Conn
	proxy *proxy
}

func (c paced) Write(b []byte) (int, error) {
	<-c.proxy.flow.Load().(chan struct{})
	time.Sleep(time.Duration(c.proxy.delay.Load()))
	return c.Conn.Write(b)
}

// slowBy is by how much slow delays each write.
const slowBy = 200 * time.Millisecond

// slow lets everything take longer, until the function that it returns is called.
func (p *proxy) slow() (end func()) {
	p.delay.Store(int64(slowBy))
	return func() { p.delay.Store(0) }
}

// hang keeps all connections and lets nothing through, until the function that it returns is called.
func (p *proxy) hang() (end func()) {
	flow := make(chan struct{})
	p.flow.Store(flow)
	return func() { close(flow) }
}

// cut breaks all connections and refuses others, until restore, which it returns.
func (p *proxy) cut() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	for c := range p.conns {
		c.Close()
	}
	return p.restore
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}
