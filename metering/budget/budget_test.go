package budget

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The pools of memory grow with it, and the shares of one owner do so up to a bound.
func TestSizes(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		memory                    int64
		work, bodies, formsHolder [3]int64
	}{
		{0, [3]int64{512 * mib, 256 * mib, 128 * mib}, [3]int64{128 * mib, 64 * mib, 32 * mib},
			[3]int64{128 * mib, 32 * mib, 32 * mib}},
		{400, [3]int64{400, 200, 100}, [3]int64{100, 50, 25}, [3]int64{100, 25, 25}},
		{16 << 30, [3]int64{16 << 30, 256 * mib, 128 * mib}, [3]int64{4 << 30, 256 * mib, 128 * mib},
			[3]int64{4 << 30, 256 * mib, 128 * mib}},
	} {
		b := New(Config{Memory: tt.memory})
		for i, p := range []*Pool{b.Work, b.Bodies, b.Forms} {
			want := [][3]int64{tt.work, tt.bodies, tt.formsHolder}[i]
			require.Equal(t, want, [3]int64{p.All, p.Account, p.Key}, "%d, pool %d", tt.memory, i)
		}
	}
	for n, want := range map[int][3]int64{1: {1, 1, 1}, 2: {2, 1, 1}, 4: {4, 3, 2}, 64: {64, 48, 32}} {
		p := New(Config{Processors: n}).Processors
		require.Equal(t, want, [3]int64{p.All, p.Account, p.Key})
	}
	require.Equal(t, 7, New(Config{Running: 7}).Work.Leases)
	for _, p := range []*Pool{New(Config{}).Bodies, New(Config{}).Forms} {
		require.EqualValues(t, Of(Reading).All, p.Leases)
		require.EqualValues(t, Of(Reading).Account, p.Leases/2, "an account has half")
	}
	for all, each := range map[int]int{1: 1, 512: 32, 8192: 512, 1 << 20: 512} {
		b := New(Config{Connections: all})
		require.Equal(t, [2]int{all, each}, [2]int{b.Connections.All, b.Connections.Each})
	}
}

// A name has its tokens, whatever others do.
func TestNameLimiter(t *testing.T) {
	l, now := names(5, time.Hour), time.Unix(1_800_000_000, 0)
	for i := range 100 {
		require.Equal(t, i < 5, l.Take("a@example.com", now).Allowed)
		require.True(t, l.Take(fmt.Sprintf("b%d@example.com", i), now).Allowed)
	}
	require.True(t, l.Take("a@example.com", now.Add(time.Hour/5)).Allowed)
	l.Refund("a@example.com", now.Add(time.Hour/5))
	require.True(t, l.Take("a@example.com", now.Add(time.Hour/5)).Allowed)
	require.False(t, l.Take("a@example.com", now.Add(time.Hour/5)).Allowed)
}

// Every bound is a complete row: it names its owner, and has a number.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for id, b := range Table() {
		require.NotEmpty(t, b.What, "bound %d has no row", id)
		require.False(t, seen[b.What], "two bounds are called %q", b.What)
		seen[b.What] = true
		require.NotEmpty(t, b.Users, b.What)
		require.NotEmpty(t, b.Full, b.What)
		require.Positive(t, b.All+b.Account+b.Key+b.Network+b.Person, b.What)
		require.Equal(t, b, Of(ID(id)))
		if b.All > 0 {
			require.LessOrEqual(t, max(b.Account, b.Key, b.Network, b.Person), b.All, b.What)
		}
	}
}

// metering/DESIGN.md has the table as it is.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../DESIGN.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## The budget\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	want := []string{"| what | all | account | key | network | person | beyond it | who draws on it |",
		"|---|---|---|---|---|---|---|---|"}
	for _, b := range Table() {
		want = append(want, b.row())
	}
	require.Equal(t, want, rows, "the table is to be:\n%s", strings.Join(want, "\n"))
}

// row is the bound as a row of the document.
func (b Bound) row() string {
	var users []string
	for _, u := range b.Users {
		users = append(users, string(u))
	}
	cells := []string{b.What}
	for _, n := range []int64{b.All, b.Account, b.Key, b.Network, b.Person} {
		cells = append(cells, b.written(n))
	}
	cells = append(cells, string(b.Full), strings.Join(users, ", "))
	return strings.Join(strings.Fields("| "+strings.Join(cells, " | ")+" |"), " ")
}

// written is a number of a bound, with its unit.
func (b Bound) written(n int64) string {
	text := strconv.FormatInt(n, 10)
	if len(text) > 3 {
		text = text[:len(text)-3] + "," + text[len(text)-3:] // none has more than six digits
	}
	switch {
	case n == 0:
		return ""
	case b.Unit == Percent:
		text += " %"
	case b.Unit == Bytes:
		text = strconv.FormatInt(n>>20, 10) + " MiB"
	case b.Unit == PerRate:
		text = strconv.FormatInt(n>>20, 10) + " MiB × requests a minute"
	}
	switch b.Window {
	case time.Minute:
		text += " a minute"
	case time.Hour:
		text += " an hour"
	case 24 * time.Hour:
		text += " a day"
	}
	return text
}
