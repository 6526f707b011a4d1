package metering

import (
	"math"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"
)

func TestFields(t *testing.T) {
	free := DefaultPlans()["free"].Policy()
	equal(t, `"default";q=10;w=60`, PolicyField(free, "default"))
	equal(t, `"x";q=0;w=1`, PolicyField(Policy{Window: time.Millisecond}, "x"))
	equal(t, `"say \"a\\b\"";q=1;w=60`, PolicyField(Policy{Limit: 1}, "say \"a\\b\"\n\u00e9"))

	var b Bucket
	equal(t, `"default";r=9;t=6`, LimitField(b.Take(free, 1, noon), "default"))
	equal(t, `"default";r=0;t=60`, LimitField(b.Take(free, 9, noon), "default"))
	equal(t, `"default";r=0;t=6`, LimitField(b.Take(free, 1, noon), "default"))
	equal(t, `"default";r=0;t=1`, LimitField(b.Take(free, 1, noon.Add(6*time.Second-1)), "default"))
}

// Each example must be read by the oracle as it is, except for the slips of the draft itself; and
// where it has the form that this package writes, the package must write the same bytes.
func TestConformanceRateLimitHeaders(t *testing.T) {
	type example struct {
		Field, Raw, Origin string
	}
	examples := diagtest.Cases[example](t, diagtest.Vectors(t, "platform/ratelimit-headers/examples.json"))
	passed, written, slips := 0, 0, 0
	for _, e := range examples {
		list, err := httpsfv.UnmarshalList([]string{e.Raw})
		if err != nil {
			t.Logf("a slip of the draft: %s: %v", e.Raw, err)
			slips++
			passed++
			continue
		}
		good := true
		for _, member := range list {
			item, _ := member.(httpsfv.Item)
			want, err := httpsfv.Marshal(item)
			noError(t, err)
			got, ours := rewrite(e.Field, item)
			if !ours {
				t.Logf("a form that is not written here: %s", want)
				continue
			}
			written++
			if got != want {
				t.Errorf("%s: got %s, want %s", e.Field, got, want)
				good = false
			}
		}
		if good {
			passed++
		}
	}
	t.Logf("platform/ratelimit-headers: %d/%d (%d items written alike, %d slips)",
		passed, len(examples), written, slips)
	equal(t, len(examples), passed)
	isTrue(t, written > slips, "hardly anything was compared")
}

// rewrite writes an item with the functions of this package, if it has the form that they write.
func rewrite(field string, item httpsfv.Item) (text string, ours bool) {
	name, ok := item.Value.(string)
	if !ok || len(item.Params.Names()) != 2 {
		return "", false
	}
	number := func(key string) (n int64) {
		v, _ := item.Params.Get(key)
		n, isNumber := v.(int64)
		ok = ok && isNumber
		return n
	}
	if field == "RateLimit-Policy" {
		q, w := number("q"), number("w")
		return PolicyField(Policy{Limit: int(q), Window: time.Duration(w) * time.Second}, name), ok
	}
	r, until := number("r"), number("t")
	d := Decision{Allowed: true, Remaining: int(r), Reset: time.Duration(until) * time.Second}
	return LimitField(d, name), ok
}

// Whatever is written, the oracle reads it, and Retry-After is never before t.
func TestFieldsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		p := Policy{
			Limit:  rapid.IntRange(-1, 1_000_000_000).Draw(t, "limit"),
			Window: time.Duration(rapid.Int64Range(-1, int64(math.MaxInt64-time.Hour)).Draw(t, "window")),
		}
		var b Bucket
		d := b.Take(p, rapid.IntRange(1, 10).Draw(t, "cost"), noon)
		for _, text := range []string{PolicyField(p, name), LimitField(d, name)} {
			item, err := httpsfv.UnmarshalItem([]string{text})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if again, err := httpsfv.Marshal(item); err != nil || again != text {
				t.Fatalf("%s is read as %s, %v", text, again, err)
			}
		}
	})
}
