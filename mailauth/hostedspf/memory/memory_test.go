package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/hostedspftest"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	hostedspftest.TestStore(t, func(_ *testing.T, clock *hostedspftest.Clock) hostedspf.Store {
		return memory.New(memory.Config{Clock: clock.Now})
	})
}
