package member_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newAccount is a store with one account, and its members by a clock that the test moves.
func newAccount(t *testing.T, clock func() time.Time) (member.Members, metering.AccountID) {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	account, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "example", "free")
	require.NoError(t, err)
	return member.Members{Store: store, Clock: clock}, account.ID
}

func field(err error) string {
	if e, ok := errors.AsType[*metering.FieldError](err); ok {
		return e.Field
	}
	return fmt.Sprint(err)
}

func TestRoles(t *testing.T) {
	for i, role := range member.Roles() {
		for j, needed := range member.Roles() {
			assert.Equal(t, i <= j, role.May(needed), "%s %s", role, needed)
		}
	}
	assert.False(t, member.Role("").May(member.Viewer))
	assert.False(t, member.Role("admin").May(member.Viewer))
}

func TestParseEmail(t *testing.T) {
	for text, want := range map[string]string{
		" Ada@Example.COM ": "ada@example.com", "owner@localhost": "owner@localhost", "a+b@example.com": "a+b@example.com",
		"": "", "ada": "", "Ada <ada@example.com>": "", "<ada@example.com>": "", "a@b\r\nBcc: c@d": "", `"a b"@example.com`: "",
		"ada@exämple.com": "", "adа@example.com": "", strings.Repeat("a", 250) + "@example.com": "", "a@b, c@d": "", "a\x00@b": "",
	} {
		got, err := member.ParseEmail(text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want == "", err != nil, text)
	}
}

func FuzzParseEmail(f *testing.F) {
	f.Add("Ada@example.com")
	f.Add("\"a\"@[127.0.0.1]")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := member.ParseEmail(text)
		if (once == "") != (err != nil) {
			t.Fatalf("%q: %q and %v", text, once, err)
		}
		if err == nil {
			if twice, err := member.ParseEmail(once); err != nil || twice != once || strings.ContainsAny(once, "\r\n<> ") {
				t.Fatalf("%q: %q, then %q: %v", text, once, twice, err)
			}
		}
	})
}

// Of two owners who leave at the same moment one remains.
func TestOneOwnerStays(t *testing.T) {
	people, account := newAccount(t, nil)
	ctx := t.Context()
	for range 20 {
		for _, email := range []string{"a@example.com", "b@example.com"} {
			if _, err := people.Add(ctx, account, email, member.Owner); err != nil {
				require.Equal(t, "email", field(err))
				_, err = people.SetRole(ctx, account, email, member.Owner)
				require.NoError(t, err)
			}
		}
		var both sync.WaitGroup
		both.Go(func() { _ = people.Remove(ctx, account, "a@example.com") })
		both.Go(func() { _, _ = people.SetRole(ctx, account, "b@example.com", member.Viewer) })
		both.Wait()
		owners := 0
		list, err := people.List(ctx, account)
		require.NoError(t, err)
		for _, m := range list {
			if m.Role == member.Owner {
				owners++
			}
		}
		require.Equal(t, 1, owners)
	}
}

func TestAdd(t *testing.T) {
	people, account := newAccount(t, nil)
	ctx := t.Context()
	_, err := people.Add(ctx, account, "a@example.com", "admin")
	assert.Equal(t, "role", field(err))
	_, err = people.Add(ctx, account, "a", member.Owner)
	assert.Equal(t, "email", field(err))
	_, err = people.Add(ctx, "acc_none", "a@example.com", member.Owner)
	assert.ErrorIs(t, err, metering.ErrNotFound)
	_, err = people.Add(ctx, account, "A@example.com", member.Owner)
	require.NoError(t, err)
	_, err = people.Add(ctx, account, "a@EXAMPLE.com", member.Viewer)
	assert.Equal(t, "email", field(err))
	assert.Equal(t, "email", field(people.Remove(ctx, account, "a@example.com")))
	_, err = people.SetRole(ctx, account, "b@example.com", member.Owner)
	assert.ErrorIs(t, err, metering.ErrNotFound)
}

// Of two concurrent requests to add the last member, one fails because the limit is reached.
func TestLastMember(t *testing.T) {
	people, account := newAccount(t, nil)
	for i := range 199 {
		_, err := people.Add(t.Context(), account, fmt.Sprintf("m%d@example.com", i), member.Viewer)
		require.NoError(t, err)
	}
	store := &meeting{Store: people.Store.(metering.Store)}
	store.both.Add(2)
	faults := make([]error, 2)
	var both sync.WaitGroup
	for i := range faults {
		both.Go(func() {
			_, faults[i] = member.Members{Store: store}.Add(t.Context(), account, fmt.Sprintf("l%d@example.com", i), member.Viewer)
		})
	}
	both.Wait()
	require.ErrorContains(t, errors.Join(faults...), "the account has 200 members, which is the most")
	list, err := people.List(t.Context(), account)
	require.NoError(t, err)
	require.Len(t, list, 200)
}

// meeting is a barrier for the first two writers: neither writes before both have counted.
type meeting struct {
	metering.Store
	writes atomic.Int64
	both   sync.WaitGroup
}

func (m *meeting) PutRecords(ctx context.Context, records ...metering.Record) error {
	if m.writes.Add(1) <= 2 {
		m.both.Done()
		m.both.Wait()
	}
	return m.Store.PutRecords(ctx, records...)
}

// The sessions of a member are bounded: a client without cookies begins one with each request.
func TestSessionsAreBounded(t *testing.T) {
	now := time.Date(2026, time.November, 16, 10, 30, 0, 0, time.UTC)
	people, account := newAccount(t, func() time.Time { now = now.Add(time.Second); return now })
	ctx := t.Context()
	for _, email := range []string{"a@example.com", "b@example.com"} {
		_, err := people.Add(ctx, account, email, member.Owner)
		require.NoError(t, err)
	}
	_, other, err := people.Begin(ctx, account, "b@example.com", "")
	require.NoError(t, err)
	_, first, err := people.Begin(ctx, account, "a@example.com", "")
	require.NoError(t, err)
	for range 60 {
		_, _, err := people.Begin(ctx, account, "a@example.com", "")
		require.NoError(t, err)
	}
	list, err := people.Sessions(ctx, account)
	require.NoError(t, err)
	assert.Len(t, list, 51)
	_, _, err = people.Session(ctx, first)
	assert.ErrorIs(t, err, metering.ErrNotFound)
	_, _, err = people.Session(ctx, other)
	assert.NoError(t, err)
}

// What has ended is removed, and nothing else.
func TestTidy(t *testing.T) {
	now := time.Date(2026, time.November, 16, 10, 30, 0, 0, time.UTC)
	people, account := newAccount(t, func() time.Time { return now })
	ctx := t.Context()
	_, err := people.Add(ctx, account, "a@example.com", member.Owner)
	require.NoError(t, err)
	_, err = people.NewLink(ctx, "a@example.com")
	require.NoError(t, err)
	_, _, err = people.Begin(ctx, account, "a@example.com", "")
	require.NoError(t, err)
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{member.LinkTime, 0}, {time.Second, 1}, {member.SessionTime - member.LinkTime - time.Second, 0}, {time.Second, 1}} {
		now = now.Add(tt.after)
		removed, err := people.Tidy(ctx)
		require.NoError(t, err)
		assert.Equal(t, tt.want, removed, now)
	}
	list, err := people.List(ctx, account)
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

// A link proves that its user reads the mail of an address, and opens a session.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	account, _ := metering.Admin{Store: store}.CreateAccount(ctx, "Example", "free")
	people := member.Members{Store: store}

	_, err := people.Add(ctx, account.ID, "Ada@example.com", member.Owner)
	fmt.Println(err)
	token, _ := people.NewLink(ctx, "ada@example.com") // which is mailed
	_, secret, err := people.Enter(ctx, token, account.ID, "192.0.2.1")
	fmt.Println(err)
	_, _, err = people.Enter(ctx, token, account.ID, "192.0.2.1")
	fmt.Println(err)
	_, one, _ := people.Session(ctx, secret) // of each request, whose cookie holds the secret
	fmt.Println(one.Email, one.Role.May(member.Developer))
	// Output:
	// <nil>
	// <nil>
	// not found
	// ada@example.com true
}
