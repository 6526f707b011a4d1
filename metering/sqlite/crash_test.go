package sqlite_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlite"
)

// The environment of the child process, which runs this test binary.
const (
	crashPath  = "DIAGKIT_CRASH_PATH"  // the database to serve
	crashEarly = "DIAGKIT_CRASH_EARLY" // acknowledge before the commit, which the test must notice
)

// crashClients is the number of concurrent clients.
const crashClients = 64

// crashWorld is the knowledge of the clients, against which the database is checked.
type crashWorld struct {
	path         string
	environment  []string
	acknowledged atomic.Int64
	charges      atomic.Int64 // acknowledged, without replays
	replayed     atomic.Int64
	visits       atomic.Int64

	// beside runs while a server does; nil for nothing.
	beside func(ctx context.Context)

	mu       sync.Mutex
	requests map[string]*crashRequest // by every request id that was ever sent
	pending  []*crashRequest          // sent with an idempotency key and never answered
	entries  int                      // of the ledger, in total
	lastSeq  int64
}

// crashRequest is a request of one client: under an idempotency key it is sent until it is answered.
type crashRequest struct {
	account  int
	credits  int64
	key      string // idempotency key, or "-"
	answered bool
	charged  string // the request id that the answer named
	entry    string // the request id in the ledger
}

func newCrashWorld(t *testing.T) *crashWorld {
	w := &crashWorld{path: filepath.Join(t.TempDir(), "diag.db"), requests: make(map[string]*crashRequest)}
	store, err := sqlite.Open(t.Context(), w.path, sqlite.Config{Plans: meteringtest.Plans()})
	require.NoError(t, err)
	for i, plan := range []metering.PlanID{meteringtest.Prime, meteringtest.Large, meteringtest.Large} {
		op := crashOp(i)
		require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: op.Account, Plan: plan}))
		key := metering.Key{ID: op.Key, Account: op.Account, Hash: [32]byte{byte(i)}}
		require.NoError(t, store.PutKeys(t.Context(), key))
	}
	require.NoError(t, store.Close())
	return w
}

// crashOp is the customer with a number; the first one has 10007 credits.
func crashOp(account int) metering.Op {
	return metering.Op{
		Account:  metering.AccountID(fmt.Sprintf("acc_%026d", account)),
		Key:      metering.KeyID(fmt.Sprintf("key_%026d", account)),
		Endpoint: "POST /public/v1/resolve",
	}
}

// serveUntilKilled starts a server, lets the clients send requests to it, and kills it after a random number of
// acknowledgements.
func (w *crashWorld) serveUntilKilled(t *testing.T, round int) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), crashPath+"="+w.path), w.environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the server did not start")

	dice := rand.New(rand.NewPCG(uint64(round), uint64(time.Now().UnixNano())))
	target := w.acknowledged.Load() + 1 + dice.Int64N(3000)
	var kill sync.Once
	var clients sync.WaitGroup
	if w.beside != nil {
		ctx, stop := context.WithCancel(t.Context())
		var visitor sync.WaitGroup
		visitor.Go(func() { w.beside(ctx) })
		defer visitor.Wait()
		defer stop()
		target += 3000 // time for visits
	}
	for i := range crashClients {
		clients.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(round), uint64(i)))
			conn, err := net.Dial("tcp", address[:len(address)-1])
			if err != nil {
				return // it was killed before this client connected
			}
			defer conn.Close()
			replies := bufio.NewReader(conn)
			for n := 0; w.ask(t, conn, replies, dice, fmt.Sprintf("req_%d_%d_%d", round, i, n)); n++ {
				if w.acknowledged.Load() >= target {
					kill.Do(func() { cmd.Process.Kill() })
				}
			}
		})
	}
	clients.Wait()
	require.Error(t, cmd.Wait(), "it should have been killed")
}

// ask sends one request and reports whether there was an answer.
func (w *crashWorld) ask(t *testing.T, conn net.Conn, replies *bufio.Reader, dice *rand.Rand, id string) bool {
	r := w.choose(dice, id)
	fmt.Fprintln(conn, id, r.account, r.credits, r.key)
	var verdict, detail string
	if _, err := fmt.Fscan(replies, &verdict, &detail); err != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch verdict {
	case "charged":
		w.charges.Add(1)
		r.answered = true
		w.expect(t, r, id)
	case "replayed":
		w.replayed.Add(1)
		r.answered = true
		w.expect(t, r, detail)
	case "quota":
		r.answered = r.account == 0 // the others have more than they can use
	}
	if !r.answered {
		t.Errorf("request %s was answered %s %s", id, verdict, detail)
		return false
	}
	w.acknowledged.Add(1)
	return true
}

// expect notes which request id the ledger must have for a request.
func (w *crashWorld) expect(t *testing.T, r *crashRequest, id string) {
	if r.charged != "" && r.charged != id {
		t.Errorf("%s was charged as %s and as %s", r.key, r.charged, id)
	}
	r.charged = id
}

// choose takes up a request that was never answered, or makes a new one.
func (w *crashWorld) choose(dice *rand.Rand, id string) *crashRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	var r *crashRequest
	if n := len(w.pending); n > 0 {
		r = w.pending[n-1]
		w.pending = w.pending[:n-1]
	} else {
		r = &crashRequest{account: dice.IntN(3), credits: 1 + dice.Int64N(10), key: "-"}
		if dice.IntN(2) == 0 {
			r.key = "idem-" + id
		}
	}
	w.requests[id] = r
	return r
}

// verify checks the database against the knowledge of the clients.
func (w *crashWorld) verify(t *testing.T) error {
	store, err := sqlite.Open(t.Context(), w.path, sqlite.Config{Plans: meteringtest.Plans()})
	if err != nil {
		return fmt.Errorf("opening after a crash: %w", err)
	}
	defer store.Close()
	for e, err := range store.Entries(t.Context(), metering.EntryFilter{After: w.lastSeq}) {
		if err != nil {
			return err
		}
		w.lastSeq = e.Seq
		w.entries++
		r := w.requests[e.RequestID]
		switch {
		case r == nil:
			return fmt.Errorf("%s was charged, but never asked for, or twice", e.RequestID)
		case r.entry != "":
			return fmt.Errorf("%s was charged as %s and as %s", r.key, r.entry, e.RequestID)
		case r.credits != e.Credits || crashOp(r.account).Account != e.Account:
			return fmt.Errorf("%s was charged as %+v", e.RequestID, e)
		}
		r.entry = e.RequestID
	}
	w.pending = w.pending[:0]
	asked := make(map[*crashRequest]bool)
	for id, r := range w.requests {
		switch {
		case r.answered && r.charged != r.entry:
			return fmt.Errorf("%s was answered with the charge %q, the ledger has %q", id, r.charged, r.entry)
		case !r.answered && r.key != "-" && !asked[r]:
			asked[r] = true
			w.pending = append(w.pending, r)
		}
		if r.answered || r.key == "-" {
			delete(w.requests, id)
		}
	}
	return w.verifyBalances(t.Context(), store)
}

func (w *crashWorld) verifyBalances(ctx context.Context, store *sqlite.Store) error {
	audit, err := store.Audit(ctx)
	if err != nil {
		return err
	}
	if len(audit.Faults) > 0 || audit.Entries != int64(w.entries) {
		return fmt.Errorf("%d entries, the audit says %+v", w.entries, audit)
	}
	period := metering.PeriodOf(time.Now())
	b, err := store.Balance(ctx, crashOp(0).Account, period)
	if err != nil {
		return err
	}
	if b.Used > b.Limit {
		return fmt.Errorf("oversold: %+v", b)
	}
	return nil
}

// crashChild is the server: it answers on a loopback port until it is killed.
func crashChild(path string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Config{Plans: meteringtest.Plans()})
	if err != nil {
		return err
	}
	var ledger metering.Ledger = store
	if os.Getenv(crashEarly) != "" {
		ledger = early{store}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			for answerCrash(ctx, ledger, conn) == nil {
			}
		}()
	}
}

func answerCrash(ctx context.Context, ledger metering.Ledger, conn net.Conn) error {
	var id, key string
	var account int
	var credits int64
	if _, err := fmt.Fscanln(conn, &id, &account, &credits, &key); err != nil {
		return err
	}
	op := crashOp(account)
	op.RequestID, op.Credits, op.Now = id, credits, time.Now()
	op.Lease = op.Now.Add(time.Minute)
	if key != "-" {
		hash := sha256.Sum256([]byte(key))
		op.Idempotency, op.Fingerprint = &hash, &hash
	}
	_, err := fmt.Fprintln(conn, chargeCrash(ctx, ledger, op))
	return err
}

// chargeCrash returns two words: the event, and its object.
func chargeCrash(ctx context.Context, ledger metering.Ledger, op metering.Op) string {
	begun, err := ledger.Begin(ctx, op)
	switch {
	case errors.As(err, new(*metering.QuotaError)):
		return "quota -"
	case err != nil:
		return fmt.Sprintf("begin %q", err)
	case begun.Replay != nil:
		return "replayed " + string(begun.Replay.Reply.Body)
	}
	reply := &metering.Reply{Status: 200, Body: []byte(op.RequestID)}
	if _, err := ledger.Settle(ctx, *begun.Ticket, metering.Outcome{At: time.Now(), Reply: reply}); err != nil {
		return fmt.Sprintf("settle %q", err)
	}
	return "charged -"
}

// early is a ledger with the mistake of answering first and writing afterwards.
type early struct{ metering.Ledger }

func (l early) Settle(ctx context.Context, t metering.Ticket, out metering.Outcome) (metering.Balance, error) {
	go l.Ledger.Settle(ctx, t, out)
	return metering.Balance{}, nil
}
