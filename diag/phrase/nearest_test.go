package phrase

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	words := []string{"none", "quarantine", "reject", "rua", "ruf", "p", "adkim"}
	tests := map[string]string{
		"rejct": "reject", "REJECTED": "reject", "erject": "reject", "quarentine": "quarantine",
		"qurantien": "quarantine", "non": "none", "nnoe": "none", "reject": "reject", "akdim": "adkim",
		"rux": "", "ru": "", "q": "", "": "", "strict": "", "rejektieren": "",
		"quarantinequarantinequarantinequarantine": "",
	}
	for typed, want := range tests {
		require.Equal(t, want, Nearest(typed, words...), "%q", typed)
	}
}
