package printing

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type item struct {
	Name string   `json:"name"`
	List []string `json:"list"`
}

// A list in JSON is that which Print prints, whether or not it is printed while it is read.
func TestEach(t *testing.T) {
	for _, list := range [][]item{
		{}, {{"<a>", nil}}, {{"a & b", []string{}}, {"tab\tand\nline", []string{"x", "y"}}}, make([]item, 2*alignedRows+1),
	} {
		var want, got strings.Builder
		require.NoError(t, Print(&want, true, list, nil))
		require.NoError(t, Each(&got, true, values(list, nil), "", nil))
		require.Equal(t, want.String(), got.String())
	}
	cells := func(i item) []any { return []any{i.Name, len(i.List)} }
	for name, c := range map[string]struct {
		list []item
		err  error
		want string
	}{
		"none":                   {nil, nil, "NAME  LIST\n"},
		"two":                    {[]item{{"long name", nil}, {"b", []string{""}}}, nil, "NAME       LIST\nlong name  0\nb          1\n"},
		"an error":               {nil, errors.New("broken"), ""},
		"an error in the middle": {[]item{{"a", nil}}, errors.New("broken"), "NAME  LIST\na     0\n"},
	} {
		var got strings.Builder
		require.ErrorIs(t, Each(&got, false, values(c.list, c.err), "NAME\tLIST", cells), c.err, name)
		require.Equal(t, c.want, got.String(), name)
	}
}

// What is printed is written before the list ends.
func TestEachWrites(t *testing.T) {
	var got strings.Builder
	n := 0
	list := func(yield func(item, error) bool) {
		for range 10 * alignedRows {
			if n++; n > 2*alignedRows {
				require.NotEmpty(t, got.String())
			}
			if !yield(item{}, nil) {
				return
			}
		}
	}
	require.NoError(t, Each(&got, true, list, "", nil))
	require.Equal(t, 10*alignedRows, n)
}

func values(list []item, err error) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			yield(item{}, err)
		}
	}
}
