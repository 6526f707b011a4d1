package headers

import (
	"encoding/json"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func TestTexts(t *testing.T) {
	text, err := json.MarshalIndent(texts, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/texts.json", append(text, '\n'))
}
