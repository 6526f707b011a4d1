package flagvalue

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

func TestFault(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Bool("on", false, "")
	flags.Duration("every", 0, "")
	flags.Int("limit", 0, "")
	flags.UintSlice("ports", nil, "")
	for name, want := range map[string]string{
		"on":    `"soon" is not true or false`,
		"every": `"soon" is not a duration, such as 30s or 5m`,
		"limit": `"soon" is not a number`,
		"ports": `"soon" is not a number`,
	} {
		bad, ok := errors.AsType[*pflag.InvalidValueError](flags.Set(name, "soon"))
		assert.True(t, ok, name)
		assert.Equal(t, want, Fault(bad), name)
	}
}
