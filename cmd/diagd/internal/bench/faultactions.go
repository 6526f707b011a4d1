package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/faultproxy"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	killedServers = 3
	// clockJump leads into another month, whichever way.
	clockJump = 40 * 24 * time.Hour
	// clockFactor is how many times longer than other faults a clock is ahead: a server checks for months to close
	// every 30 to 90 seconds.
	clockFactor = 12
)

// waitForCharges waits until minCharges more purchases are charged.
func (p *trial) waitForCharges(ctx context.Context) error {
	end := time.Now().Add(recovery)
	for want := p.c.charges() + minCharges; p.c.charges() < want; {
		switch {
		case !sleep(ctx, buyPause):
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("servers did not charge anything within %v", recovery)
		}
	}
	return nil
}

func (p *trial) waitOut(ctx context.Context) error {
	sleep(ctx, p.duration)
	return ctx.Err()
}

func (p *trial) killServers(ctx context.Context) error {
	for range killedServers {
		p.stop()
		err := p.start(ctx)
		if err == nil {
			err = p.waitForCharges(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// throughProxy plays the faults of the proxy in front of the database.
func throughProxy(begin func(*faultproxy.Proxy) (end func())) func(*trial, context.Context) error {
	return func(p *trial, ctx context.Context) error {
		defer begin(p.proxy)()
		return p.waitOut(ctx)
	}
}

// connect makes one connection to the database, whose URL may have parameters of a pool.
func (p *trial) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgxpool.ParseConfig(p.url)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// stopBackends stops the processes of all connections of servers, also of those that are made meanwhile.
func (p *trial) stopBackends(ctx context.Context) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, port, _ := net.SplitHostPort(conn.PgConn().Conn().LocalAddr().String())
	if own := backend(int32(conn.PgConn().PID()), "("+port+")"); own == nil || setStopped(own, false) != nil {
		return notRunnable("it needs the processes of a PostgreSQL on this machine, and the right to stop them")
	}
	stopped := map[int32]*os.Process{}
	defer func() {
		for _, process := range stopped {
			_ = setStopped(process, false)
		}
	}()
	// It lasts from the first that is stopped, whenever that is found.
	for end := time.Now().Add(recovery); time.Now().Before(end) && sleep(ctx, buyPause); {
		limited, cancel := context.WithDeadline(ctx, end) // one of them may hold a lock that the query needs
		rows, _ := conn.Query(limited, "SELECT pid FROM pg_stat_activity WHERE application_name = $1", p.name)
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		cancel()
		if err != nil && len(stopped) == 0 {
			return err
		}
		for _, pid := range pids {
			if process := backend(pid, ""); stopped[pid] == nil && process != nil && setStopped(process, true) == nil {
				if len(stopped) == 0 {
					end = time.Now().Add(p.duration)
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

// backend returns a process of PostgreSQL on this machine whose title contains a text, or nil. It is found before its
// title is read, and signalled by that handle: a process that gets its number after its end is not affected.
func backend(pid int32, text string) *os.Process {
	process, err := os.FindProcess(int(pid))
	title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // "postgres: USER DATABASE ADDRESS(PORT) …"
	if err != nil || !strings.HasPrefix(string(title), "postgres: ") || !strings.Contains(string(title), text) {
		return nil
	}
	return process
}

// lockLedger keeps servers from writing by another connection.
func (p *trial) lockLedger(ctx context.Context) error {
	if p.proxy != nil {
		conn, err := p.connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err = conn.Exec(ctx, "BEGIN; LOCK TABLE ledger IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		return p.waitOut(ctx)
	}
	file, err := sqlitedb.Open(p.file)
	if err != nil {
		return err
	}
	conn, err := file.Connect()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	err = sqlitedb.Transact(ctx, conn, func() error { return p.waitOut(ctx) })
	return errors.Join(err, conn.Close(), file.Close())
}

// clockFile is the file from which a server with a movable clock reads the offset.
func (p *trial) clockFile() string { return filepath.Join(filepath.Dir(p.file), "clock") }

// setClockOffset moves the clock of the server. The file is replaced as a whole because it is read at any time.
func (p *trial) setClockOffset(by time.Duration) error {
	next := p.clockFile() + ".next"
	if err := os.WriteFile(next, []byte(by.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, p.clockFile())
}

// moveClock moves the clock of the server, and repeats purchases while it is wrong.
func (p *trial) moveClock(ctx context.Context) error {
	for _, m := range []struct{ jump, hold time.Duration }{{clockJump, clockFactor * p.duration}, {-clockJump, p.duration}} {
		if err := p.setClockOffset(m.jump); err != nil {
			return err
		}
		sleep(ctx, m.hold)
		p.c.repeat(ctx, p.address(), minCharges)
		if err := p.setClockOffset(0); err != nil {
			return err
		}
		if err := p.waitForCharges(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkMountRefused lets a server start on a file that is mounted on itself, in a name space of its own.
func (p *trial) checkMountRefused(ctx context.Context) error {
	if err := os.WriteFile(p.file, nil, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recovery/4)
	defer cancel()
	const script = `mount --bind "$2" "$2" && echo mounted && exec "$1" serve --listen=127.0.0.1:0`
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", script, "sh", p.program, p.file)
	cmd.Env = victimEnv(p.serverStore)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if !strings.HasPrefix(text, "mounted\n") {
		return notRunnable(fmt.Sprintf("nothing can be mounted: %v: %s", err, strings.TrimSpace(text)))
	}
	p.check(strings.Contains(text, "mounted as a single file"), "a server was not refused: %s", text)
	return nil
}
