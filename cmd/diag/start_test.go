package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxInitBytes is how many bytes the variables of a package may take on the heap before main begins: all checks pay for
// them, also those that need none. Larger tables, and regular expressions, are made when first used.
const maxInitBytes = 40 << 10

// It takes the place of a limit of time, since the runtime counts the same bytes on any machine.
func TestPackagesStartCheaply(t *testing.T) {
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") // has all packages that diag has
	test.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := test.CombinedOutput()
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^init github\.com/diagkit/diagkit/(\S+) .* (\d+) bytes`).FindAllStringSubmatch(string(trace), -1)
	require.Greater(t, len(lines), 50, "%s", trace)
	for _, line := range lines {
		bytes, err := strconv.Atoi(line[2])
		require.NoError(t, err)
		if bytes > maxInitBytes {
			t.Errorf("%s takes %d bytes at init; most are %d", line[1], bytes, maxInitBytes)
		}
	}
}
