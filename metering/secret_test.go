package metering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
)

// The checksums and the hash were computed with zlib and hashlib of Python.
const (
	liveSecret = "svc_live_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaawo5d7z"
	testSecret = "svc_test_abcdefghijklmnopqrstuvwxyz23454jqtrb"
	liveHash   = "dcd92a03a1a9be5154761e42e43511bfd1a04215bc148c0827367c6faf4f4c45"
)

// errSecret means that a text is not an API secret: the wrong length, alphabet, environment or
// checksum. It does not say which, so that no reply can.
var errSecret = errors.New("not an API secret")

// parseSecret reads a secret and verifies its checksum. Any fault is errSecret.
func parseSecret(text string) (Secret, error) {
	var buf [secretLength]byte
	if len(text) != secretLength {
		return Secret{}, errSecret
	}
	copy(buf[:], text)
	if !isWellFormed(&buf) {
		return Secret{}, errSecret
	}
	s := string(buf[:]) // a copy: the caller's string may be part of a whole request
	return Secret{&s}, nil
}

func TestSecretVectors(t *testing.T) {
	live, err := NewSecret(Live, bytes.NewReader(make([]byte, 30)))
	noError(t, err)
	equal(t, liveSecret, live.Reveal())
	equal(t, liveHash, fmt.Sprintf("%x", live.Hash()))
	equal(t, Live, live.Environment())
	equal(t, "svc_live_aaaaaaaa", live.DisplayPrefix())

	test, err := parseSecret(testSecret)
	noError(t, err)
	equal(t, testSecret, test.Reveal())
	equal(t, Test, test.Environment())
	equal(t, "svc_test_abcdefgh", test.DisplayPrefix())
}

func TestParseSecretRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":             "",
		"short":             liveSecret[:len(liveSecret)-1],
		"long":              liveSecret + "a",
		"upper case":        strings.ToUpper(liveSecret),
		"other environment": "svc_prod_" + liveSecret[9:],
		"swapped label":     "svc_test_" + liveSecret[9:],
		"swapped neighbour": testSecret[:9] + "ba" + testSecret[11:],
		"outside base32":    liveSecret[:44] + "1",
		"space before":      " " + liveSecret[:44],
		"NUL after":         liveSecret[:44] + "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseSecret(text)
			equal(t, errSecret, err) // the sentinel itself: no detail
			equal(t, Secret{}, s)
			_, ok := hashSecret(text)
			isTrue(t, !ok)
		})
	}
}

// The checksum holds only 30 of the 32 bits of the CRC, so that theory does not promise that every
// single fault is found. This test does: it tries each.
func TestEverySingleCharacterChangeIsFound(t *testing.T) {
	for _, text := range []string{liveSecret, testSecret} {
		for i := range text {
			for c := range 256 {
				if byte(c) == text[i] {
					continue
				}
				changed := text[:i] + string([]byte{byte(c)}) + text[i+1:]
				_, err := parseSecret(changed)
				errorIs(t, err, errSecret, "%q", changed)
			}
		}
	}
}

func TestNewSecretFails(t *testing.T) {
	broken := errors.New("no entropy")
	_, err := NewSecret(Live, iotest.ErrReader(broken))
	errorIs(t, err, broken)
	_, err = NewSecret(Live, strings.NewReader("too short"))
	errorIs(t, err, io.ErrUnexpectedEOF)
	_, err = NewSecret("staging", nil)
	field, ok := errors.AsType[*FieldError](err)
	isTrue(t, ok)
	equal(t, "environment", field.Field)
}

func TestNewSecretIsRandom(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		s, err := NewSecret(Test, nil)
		noError(t, err)
		matches(t, `^svc_test_[a-z2-7]{36}$`, s.Reveal())
		isTrue(t, !seen[s.Reveal()])
		seen[s.Reveal()] = true
		again, err := parseSecret(s.Reveal())
		noError(t, err)
		equal(t, s.Hash(), again.Hash())
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	secret, err := parseSecret(testSecret)
	noError(t, err)
	key := Key{ID: "key_a", Environment: Test, Hash: secret.Hash(), DisplayPrefix: secret.DisplayPrefix()}
	type exported struct {
		Secret Secret
		Key    Key
	}
	type hidden struct {
		secret  Secret
		pointer *Secret
		list    []Secret
		table   map[string]Secret
		any     any
	}
	values := []any{
		secret, &secret, key, &key, []Secret{secret}, map[string]Secret{"k": secret},
		exported{secret, key}, &exported{secret, key},
		hidden{secret, &secret, []Secret{secret}, map[string]Secret{"k": secret}, secret},
		fmt.Errorf("using %v: %w", secret, &RefusedError{Reason: InvalidKey, Caller: &Caller{Key: &key}}),
	}
	var out bytes.Buffer
	text := slog.New(slog.NewTextHandler(&out, nil))
	structured := slog.New(slog.NewJSONHandler(&out, nil))
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.5v"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		text.Info("value", "v", v)
		structured.Info("value", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
	}
	printed := out.String()
	const shown = len("svc_test_") + displayLength
	contains(t, printed, "svc_test_[redacted]")
	isTrue(t, !strings.Contains(printed, testSecret[shown:shown+8]), "what follows the display prefix was printed")
	isTrue(t, !strings.Contains(printed, fmt.Sprintf("%x", testSecret[9:])), "it was printed in hexadecimal")
	equal(t, "[redacted]", Secret{}.String())
}

func TestZeroSecret(t *testing.T) {
	equal(t, "", Secret{}.Reveal())
	equal(t, "", Secret{}.Environment())
	equal(t, "", Secret{}.DisplayPrefix())
}

func FuzzParseSecret(f *testing.F) {
	f.Add(liveSecret)
	f.Add(testSecret)
	f.Add("svc_live_")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSecret(text)
		hash, ok := hashSecret(text)
		equal(t, err == nil, ok)
		if err != nil {
			equal(t, errSecret, err)
			equal(t, "", s.Reveal())
			return
		}
		equal(t, text, s.Reveal())
		equal(t, hash, s.Hash())
		for i := range text {
			_, err := parseSecret(text[:i] + string(text[i]^1) + text[i+1:])
			errorIs(t, err, errSecret)
		}
	})
}
