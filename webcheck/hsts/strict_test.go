package hsts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What hstspreload.org accepts without a warning browsers obey, and read alike.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{"max-age=1; includeSubDomains", `max-age="1"`, ";=;", "a=\"\\", "max-age=1,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := Parse(text)
		strict, found := parseStrict(text)
		if h.Valid() && found.OK() && len(found.Warnings) == 0 && strict.MaxAge != nil {
			require.Equal(t, *strict.MaxAge, *h.MaxAge)
			require.Equal(t, strict.IncludeSubdomains, h.IncludeSubdomains)
			require.Equal(t, strict.Preload, h.Preload)
		}
		Preloadable(text)
		removable(text)
	})
}
