package billing_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/sqlite"
)

// The environment of the child process, which runs this test binary.
const (
	crashPath = "DIAGKIT_BILLING_PATH" // of the database
	crashDir  = "DIAGKIT_BILLING_DIR"  // of the file biller
)

// afterOctober is the current time of the child. Nothing is due twice at it.
func afterOctober() time.Time { return billing.ClosesAt(october) }

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		if err := crashChild(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crashChild closes October and charges its invoices, after a signal from the parent.
func crashChild(path string) error {
	ctx := context.Background()
	store, err := openPlace(ctx, path)
	if err != nil {
		return err
	}
	biller := billing.FileBiller{Dir: os.Getenv(crashDir)}
	b := billing.Billing{Store: store, Clock: afterOctober, Draft: -1, Biller: biller}
	fmt.Println("ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	if _, err := b.Close(ctx, october); err != nil {
		return err
	}
	if _, err := b.Pay(ctx); err != nil {
		return err
	}
	return store.Close()
}

// openPlace opens a file beside its server, or a database.
func openPlace(ctx context.Context, place string) (metering.Store, error) {
	if strings.HasPrefix(place, "postgres:") {
		return postgres.Open(ctx, place, postgres.Config{Clock: afterOctober})
	}
	return sqlite.Open(ctx, place, sqlite.Config{Admin: true, Clock: afterOctober})
}

func killClosers(t *testing.T, b *bench, place string) {
	const accounts = 800
	dir := t.TempDir()
	var ids []metering.AccountID
	for range accounts {
		id := b.account("pack")
		b.spend(id, 50_003)
		ids = append(ids, id)
	}
	made := func() int { return len(b.invoices(billing.Filter{})) }
	kills, between := diagtest.Share(12, 3), 0
	for kill := range kills {
		before := made()
		crashOnce(t, place, dir, func() bool { return kill%3 == 0 || made() > min(before, accounts-1) })
		if n := made(); before < n && n < accounts {
			between++
		}
	}
	t.Logf("%d kills, %d of them in the middle of a close; %d of %d invoices made", 3*kills, between, made(), accounts)
	require.Positive(t, between, "no kill met a close: the test proves too little")
	b.clock.Advance(afterOctober().Add(5 * time.Minute).Sub(b.clock.Now())) // the leases of the dead
	b.Biller, b.Draft = billing.FileBiller{Dir: dir}, -1
	b.close()
	_, err := b.Pay(t.Context())
	require.NoError(t, err)
	b.soundInvoices(ids)
	require.Len(t, b.invoices(billing.Filter{State: billing.Paid}), accounts)
	files, err := filepath.Glob(filepath.Join(dir, october.String(), "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, accounts)
}

// crashOnce starts three children at one moment, and kills them a while after they are under way.
func crashOnce(t *testing.T, place, dir string, underWay func() bool) {
	self, err := os.Executable()
	require.NoError(t, err)
	var children []*exec.Cmd
	var outs []io.Reader
	var starts []io.Writer
	for range 3 {
		child := exec.Command(self)
		child.Env = append(os.Environ(), crashPath+"="+place, crashDir+"="+dir)
		child.Stderr = os.Stderr
		in, err := child.StdinPipe()
		require.NoError(t, err)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		children, outs, starts = append(children, child), append(outs, out), append(starts, in)
	}
	for _, out := range outs {
		_, err := out.Read(make([]byte, len("ready\n")))
		require.NoError(t, err)
	}
	for _, in := range starts {
		_, err := in.Write([]byte{'\n'})
		require.NoError(t, err)
	}
	for deadline := time.Now().Add(time.Minute); !underWay() && time.Now().Before(deadline); {
		<-time.After(time.Millisecond) // which the children can use
	}
	<-time.After(rand.N(20 * time.Millisecond))
	for _, child := range children {
		_ = child.Process.Kill() // unless it has ended
		_ = child.Wait()
	}
}
