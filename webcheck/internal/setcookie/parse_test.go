package setcookie_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/webcheck/internal/setcookie"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	tests := []struct{ line, want string }{
		{"a=b", "a=b"},
		{" a = b ; secure ", "a=b; Secure"},
		{"a", "a"},
		{"=a=b", "=a=b"},
		{"a=b; Path=x; Path=/y; path", "a=b"},
		{"a=b; Domain=.EXAMPLE.com", "a=b; Domain=example.com"},
		{"a=b; Max-Age=3600; httponly", "a=b; Max-Age=3600; HttpOnly"},
		{"a=b; Max-Age=1e3", "a=b"},
		{"a=b; Max-Age=99999999999999999999", "a=b; Max-Age=34560000"},
		{"a=b; SameSite=lAX; SameSite=wat", "a=b"},
		{"a=b; SameSite=none; Secure; Partitioned", "a=b; Secure; SameSite=None; Partitioned"},
		{"a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT"},
		{"a=b; Expires=Wednesday, 21-Oct-26 07:28:00 GMT", "a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT"},
		{"a=b; Expires=0; foo=1", "a=b"},
		{"a=b; Path=/" + strings.Repeat("x", setcookie.MaxAttribute), "a=b"},
	}
	for _, tt := range tests {
		c, ok := setcookie.Parse(tt.line)
		require.True(t, ok, tt.line)
		require.Equal(t, tt.want, c.String())
	}
	for _, line := range []string{"", " = ", "a=b\x00", "a=" + strings.Repeat("x", setcookie.MaxPair)} {
		_, ok := setcookie.Parse(line)
		require.False(t, ok)
	}
}

func TestIgnored(t *testing.T) {
	for attributes, want := range map[string]string{
		"Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=5; Priority=High; Version=1; Comment=x; Port; Expires=0; foo": "",
		"Max-Age=1d":           "Max-Age=1d is not a whole number of seconds",
		"Max-Age=\"3600\"":     "Max-Age=\"3600\" is not a whole number of seconds",
		"Expires=tomorrow":     "Expires=tomorrow is not a date",
		"Path=app":             "Path=app does not begin with a slash",
		"Http-Only; same_site": "Http-Only is not an attribute; HttpOnly was probably meant, same_site is not an attribute; SameSite was probably meant",
		"SameSite:Lax":         "SameSite:Lax is not an attribute; SameSite was probably meant",
		"SameSite Strict":      "SameSite Strict is not an attribute; SameSite was probably meant",
		"MaxAge=5; secured":    "MaxAge=5 is not an attribute; Max-Age was probably meant, secured is not an attribute; Secure was probably meant",
		"HttpOnly=false":       "",
	} {
		c, ok := setcookie.Parse("a=b; " + attributes)
		require.True(t, ok)
		var got []string
		for _, i := range c.Ignored {
			got = append(got, i.Text+" "+i.Why)
		}
		require.Equal(t, want, strings.Join(got, ", "))
	}
}

func TestBrokenPromises(t *testing.T) {
	tests := map[string]int{
		"__Host-a=b; Secure; Path=/": 0, "__host-a=b; Secure; Path=/x": 1, "__Host-a=b; Domain=example.com": 3,
		"__Secure-a=b": 1, "__Secure-a=b; Secure": 0, "__Http-a=b; Secure": 1, "a=b": 0,
	}
	for line, want := range tests {
		c, _ := setcookie.Parse(line)
		require.Len(t, c.BrokenPromises(), want, line)
	}
}

func TestRemoves(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for line, want := range map[string]bool{
		"a=b": false, "a=b; Max-Age=0": true, "a=b; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT": false,
		"a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT": true,
	} {
		c, _ := setcookie.Parse(line)
		require.Equal(t, want, c.Removes(now), line)
	}
}

// FuzzParse: what is printed reads back as the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=b; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=5; Domain=.a.b", "=x", "x", "a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := setcookie.Parse(line)
		if !ok {
			return
		}
		again, ok := setcookie.Parse(c.String())
		require.True(t, ok)
		require.Equal(t, c.String(), again.String())
	})
}

func ExampleParse() {
	c, _ := setcookie.Parse("__Host-session=4bea; Domain=example.com; Path=/; Secure")
	fmt.Println(c.BrokenPromises())
	// Output: [it has the Domain example.com]
}
