package diag

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	builtIn := func() []string { return []string{"built in"} }
	parse := func(data []byte) ([]string, error) {
		if len(data) == 0 {
			return nil, errors.New("it is empty")
		}
		return strings.Fields(string(data)), nil
	}
	env := &Env{Data: fstest.MapFS{"good.txt": {Data: []byte("a b")}, "bad.txt": {}}}
	tests := []struct {
		name string
		env  *Env
		file string
		want []string
	}{
		{"no world", nil, "good.txt", builtIn()},
		{"no folder", &Env{}, "good.txt", builtIn()},
		{"no such file", env, "other.txt", builtIn()},
		{"replaced", env, "good.txt", []string{"a", "b"}},
		{"replaced, kept", env, "good.txt", []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := List(tt.env, tt.file, builtIn, parse)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	length, err := List(env, "good.txt", func() int { return 0 }, func(data []byte) (int, error) { return len(data), nil })
	require.NoError(t, err)
	require.Equal(t, 3, length, "another package reads the same file in its own way")

	_, err = List(env, "bad.txt", builtIn, parse)
	require.EqualError(t, err, "reading the list bad.txt: it is empty")

	env.Data.(fstest.MapFS)["good.txt"].Data = []byte("c")
	env.ForgetLists()
	got, err := List(env, "good.txt", builtIn, parse)
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, got)
}

func TestDecodeList(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:          "",
		`{"a": 1, "x": 2}`:  "unknown field",
		`{"a": 1, "A": 2}`:  "appears twice",
		`{"a": 1} []`:       "something follows",
		"{\"a\": 1, \"\xff": "UTF-8",
		``:                  "EOF",
	} {
		var v struct{ A int }
		err := DecodeList([]byte(text), &v, true)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}
