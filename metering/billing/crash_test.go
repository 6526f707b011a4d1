package billing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlite"
)

// The environment of the child, which is this test binary once more.
const (
	crashPath = "DIAGKIT_BILLING_PATH" // of the database
	crashDir  = "DIAGKIT_BILLING_DIR"  // of the file biller
)

// afterOctober is what the child takes for the time. Nothing is due twice at it.
func afterOctober() time.Time { return billing.ClosesAt(october) }

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		fmt.Fprintln(os.Stderr, crashChild(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// crashChild closes October and charges its invoices, and says so when it has ended.
func crashChild(path string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Config{Admin: true, Clock: afterOctober})
	if err != nil {
		return err
	}
	b := billing.Billing{Store: store, Clock: afterOctober, Biller: billing.FileBiller{Dir: os.Getenv(crashDir)}}
	fmt.Println("begun")
	if _, err := b.Close(ctx, october); err != nil {
		return err
	}
	if _, err := b.Pay(ctx); err != nil {
		return err
	}
	fmt.Println("ended")
	return store.Close()
}

// TestCrash kills processes that close a month and charge it, three at a time, at random moments. In the end
// each account has one invoice with its events, that agrees with the ledger, and has paid once.
func TestCrash(t *testing.T) {
	const accounts = 150
	clock := meteringtest.NewClock()
	path, dir := filepath.Join(t.TempDir(), "diag.db"), t.TempDir()
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{Clock: clock.Now})
	require.NoError(t, err)
	b := newBench(t, clock, store)
	var ids []metering.AccountID
	for range accounts {
		id := b.account("pack")
		b.spend(id, 50_003)
		ids = append(ids, id)
	}
	made := func() int { return len(b.invoices(billing.Filter{})) }
	kills, between := 10, 0
	for range kills {
		before := made()
		crashOnce(t, path, dir)
		if n := made(); before < n && n < accounts {
			between++
		}
	}
	t.Logf("%d kills, %d of them in the middle of a close; %d of %d invoices made", 3*kills, between, made(), accounts)
	b.clock.Advance(afterOctober().Add(5 * time.Minute).Sub(b.clock.Now())) // the leases of the dead
	b.Biller = billing.FileBiller{Dir: dir}
	b.close()
	_, err = b.Pay(t.Context())
	require.NoError(t, err)
	b.soundInvoices(ids)
	require.Len(t, b.invoices(billing.Filter{State: billing.Paid}), accounts)
	files, err := filepath.Glob(filepath.Join(dir, october.String(), "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, accounts)
}

// crashOnce starts three children, and kills them after a while.
func crashOnce(t *testing.T, path, dir string) {
	self, err := os.Executable()
	require.NoError(t, err)
	var children []*exec.Cmd
	for range 3 {
		child := exec.Command(self)
		child.Env = append(os.Environ(), crashPath+"="+path, crashDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		_, err = out.Read(make([]byte, len("begun\n")))
		require.NoError(t, err)
		children = append(children, child)
	}
	<-time.After(rand.N(40 * time.Millisecond))
	for _, child := range children {
		require.NoError(t, child.Process.Kill())
		_ = child.Wait() // it was killed
	}
}
