package headers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The codes of a field are listed with it: all that share the beginning of the first.
func TestProtectingCodes(t *testing.T) {
	for _, field := range protecting {
		parts := strings.SplitAfter(string(field.codes[0]), ".")
		for _, r := range rules() {
			if strings.HasPrefix(string(r.Code), parts[0]+parts[1]) {
				require.Contains(t, field.codes, r.Code, field.name)
			}
		}
	}
}
