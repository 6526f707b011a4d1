package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	meteringtest.TestStore(t, func(_ *testing.T, clock *meteringtest.Clock) metering.Store {
		return memory.New(memory.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	})
}
