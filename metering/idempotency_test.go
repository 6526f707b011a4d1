package metering

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"
)

func TestParseIdempotencyKey(t *testing.T) {
	long := strings.Repeat("k", 255)
	for name, c := range map[string]struct {
		value string
		key   string
	}{
		"shortest":                      {"0123456789", "0123456789"},
		"longest":                       {long, long},
		"quoted":                        {`"0123456789"`, "0123456789"},
		"longest quoted":                {`"` + long + `"`, long},
		"every kind of character":       {`!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`, `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`},
		"escapes in a string":           {`"01234\"\\6789"`, `01234"\6789`},
		"no escapes in a bare key":      {`01234\"6789`, `01234\"6789`},
		"escapes do not count":          {`"` + strings.Repeat(`\"`, 255) + `"`, strings.Repeat(`"`, 255)},
		"bare key that ends in a quote": {`0123456789"`, `0123456789"`},
		"UUID": {"8e03978e-40d5-43e8-bc93-6894a57f9324",
			"8e03978e-40d5-43e8-bc93-6894a57f9324"},
	} {
		t.Run(name, func(t *testing.T) {
			hash, err := ParseIdempotencyKey([]string{c.value})
			noError(t, err)
			equal(t, sha256.Sum256([]byte(c.key)), *hash)
		})
	}
}

func TestParseIdempotencyKeyAbsent(t *testing.T) {
	for _, header := range [][]string{nil, {}} {
		hash, err := ParseIdempotencyKey(header)
		noError(t, err)
		isTrue(t, hash == nil)
	}
}

func TestParseIdempotencyKeyRefuses(t *testing.T) {
	for name, header := range map[string][]string{
		"empty":                    {""},
		"empty string":             {`""`},
		"repeated":                 {"0123456789", "0123456789"},
		"repeated and empty":       {"", ""},
		"too short":                {"012345678"},
		"too short quoted":         {`"012345678"`},
		"too short but for escape": {`"01234567\"`},
		"too long":                 {strings.Repeat("k", 256)},
		"too long quoted":          {`"` + strings.Repeat("k", 256) + `"`},
		"space":                    {"01234 56789"},
		"space around":             {" 0123456789 "},
		"space in a string":        {`"01234 56789"`},
		"two members":              {`0123456789, 0123456789`},
		"two strings":              {`"0123456789","0123456789"`},
		"control character":        {"0123456789\x7f"},
		"tab":                      {"01234\t56789"},
		"beyond ASCII":             {"0123456789\u00e9"},
		"string without an end":    {`"0123456789`},
		"only a quote":             {`"`},
		"escaped end":              {`"0123456789\"`},
		"other escape":             {`"0123456789\n"`},
		"parameter":                {`"0123456789";a=1`},
		"parameter that is a text": {`"0123456789";a="b"`},
	} {
		t.Run(name, func(t *testing.T) {
			hash, err := ParseIdempotencyKey(header)
			equal(t, ErrIdempotencyKey, err)
			isTrue(t, hash == nil)
		})
	}
}

// A value that begins with a quote is a key exactly if the oracle reads a string item without parameters whose text
// fits; and the two ways of writing a key are the same key.
func FuzzParseIdempotencyKey(f *testing.F) {
	for _, s := range []string{`"0123456789"`, `"01234\"\\56789"`, "0123456789", `"a";b`, `"0123456789" `, "\"\u00e9\""} {
		f.Add(s)
	}
	unprintable := func(r rune) bool { return r < 0x21 || r > 0x7e }
	fits := func(key string) bool {
		return len(key) >= 10 && len(key) <= 255 && !strings.ContainsFunc(key, unprintable)
	}
	f.Fuzz(func(t *testing.T, value string) {
		hash, err := ParseIdempotencyKey([]string{value})
		isTrue(t, (err == nil) != (hash == nil))
		key, good := value, fits(value)
		if strings.HasPrefix(value, `"`) {
			item, fault := httpsfv.UnmarshalItem([]string{value})
			key, good = item.Value.(string)
			good = good && fault == nil && fits(key) && len(item.Params.Names()) == 0
			good = good && !strings.HasSuffix(value, " ") // the oracle trims what the server's parser trims before
		}
		equal(t, good, err == nil, "%q", value)
		if !good {
			return
		}
		equal(t, sha256.Sum256([]byte(key)), *hash)
		quoted, fault := httpsfv.Marshal(httpsfv.NewItem(key))
		noError(t, fault)
		again, err := ParseIdempotencyKey([]string{quoted})
		noError(t, err)
		equal(t, *hash, *again)
	})
}

func TestFingerprint(t *testing.T) {
	base := Fingerprint("POST", "/public/v1/resolve", "application/json", []byte(`{}`))
	equal(t, base, Fingerprint("POST", "/public/v1/resolve", "application/json", []byte(`{}`)))
	for name, other := range map[string][32]byte{
		"method":            Fingerprint("GET", "/public/v1/resolve", "application/json", []byte(`{}`)),
		"path":              Fingerprint("POST", "/public/v1/resolv", "application/json", []byte(`{}`)),
		"media type":        Fingerprint("POST", "/public/v1/resolve", "", []byte(`{}`)),
		"body":              Fingerprint("POST", "/public/v1/resolve", "application/json", []byte(`{ }`)),
		"shifted to path":   Fingerprint("POST/", "public/v1/resolve", "application/json", []byte(`{}`)),
		"shifted to body":   Fingerprint("POST", "/public/v1/resolve", "application/jso", []byte(`n{}`)),
		"empty media types": Fingerprint("POST", "/public/v1/resolveapplication/json", "", []byte(`{}`)),
	} {
		isTrue(t, other != base, "%s", name)
	}
}

// The short way and the long way round the heap give the same hash: that of the framed text.
func TestFingerprintProperty(t *testing.T) {
	frame := func(s string) string {
		n := len(s)
		return "\x00\x00\x00\x00" + string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + s
	}
	rapid.Check(t, func(t *rapid.T) {
		method, path, mediaType := rapid.String().Draw(t, "m"), rapid.String().Draw(t, "p"), rapid.String().Draw(t, "t")
		body := strings.Repeat("b", rapid.IntRange(0, 2000).Draw(t, "body"))
		want := sha256.Sum256([]byte(frame(method) + frame(path) + frame(mediaType) + body))
		if Fingerprint(method, path, mediaType, []byte(body)) != want {
			t.Fatal("another hash")
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	body := []byte(`{"qname":"example.com","qtype":"MX"}`)
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint("POST", "/public/v1/resolve", "application/json", body)
	}
}

func BenchmarkParseIdempotencyKey(b *testing.B) {
	header := []string{`"8e03978e-40d5-43e8-bc93-6894a57f9324"`}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ParseIdempotencyKey(header)
	}
}
