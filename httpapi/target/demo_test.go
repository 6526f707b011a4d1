package target_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/stretchr/testify/require"
)

func TestDemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(at))
		world, err := internet.New(at)
		require.NoError(t, err)
		defer world.Close()
		for _, word := range []string{"good.example", "slip.example", "nowhere.example", "192.0.2.12", "http://long.example/"} {
			tg, err := target.Parse(word)
			require.NoError(t, err)
			began := time.Now()
			w := target.Run(t.Context(), tg, target.Options{}, target.Local(world.Env()), nil)
			var b bytes.Buffer
			require.NoError(t, render.Text(&b, w.View(), render.Options{}))
			fmt.Fprintln(os.Stderr, b.String(), time.Since(began))
		}
	})
}
