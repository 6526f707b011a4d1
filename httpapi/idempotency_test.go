package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/webcheck/qr"
	"github.com/stretchr/testify/require"
)

// fileHides requires that the files of a store do not contain some texts.
func fileHides(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "diag.db*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, text := range texts {
			require.Greater(t, len(text), 7)
			require.False(t, bytes.Contains(data, []byte(text)), "%s holds %.40q", file, text)
		}
	}
}

// kept returns the stored form of a reply.
func (a *api) kept(key, path, body string) metering.Reply {
	a.t.Helper()
	hash, err := metering.ParseIdempotencyKey([]string{key})
	require.NoError(a.t, err)
	begun, err := a.store.Begin(a.t.Context(), metering.Op{
		RequestID: "x", Account: a.account.ID, Key: a.key.ID, Endpoint: "x", Credits: 1, Now: a.clock.Now(),
		Lease: a.clock.Now().Add(second), Idempotency: hash,
		Fingerprint: new(metering.Fingerprint("POST", Prefix+path, jsonMedia, []byte(body))),
	})
	require.NoError(a.t, err)
	require.NotNil(a.t, begun.Replay)
	return begun.Replay.Reply
}

// An image is drawn again, byte for byte, in every form; the store has nothing of it (CONTRACT 5.4).
func TestImagesAreDrawnAgain(t *testing.T) {
	dir := t.TempDir()
	a := newAPIOn(t, inFile(dir), "self", nil)
	for format, media := range map[string]string{"png": "image/png", "svg": "image/svg+xml", "jpeg": "image/jpeg"} {
		body, key := `{"data":"https://example.com/","format":"`+format+`"}`, "drawing-as-"+format
		first := a.post("/http/qr", body, "Idempotency-Key", key)
		require.Equal(t, 200, first.Code, "%s", first.Body)
		require.Equal(t, media, first.header("Content-Type"))
		used := a.used()
		again := a.post("/http/qr", body, "Idempotency-Key", key)
		require.Equal(t, "true", again.header("X-Idempotent-Replay"))
		require.Equal(t, "0", again.header("X-Credits-Consumed"))
		require.Equal(t, media, again.header("Content-Type"))
		require.Equal(t, first.Body.Bytes(), again.Body.Bytes())
		require.Equal(t, used, a.used())
		require.Empty(t, a.kept(key, "/http/qr", body).Body)
		fileHides(t, dir, first.Body.String()[:40], first.Body.String()[first.Body.Len()/2:])
	}
}

// Uploads are never stored, only the decoded content (CONTRACT 5.4).
func TestUploadsAreNotKept(t *testing.T) {
	dir := t.TempDir()
	a := newAPIOn(t, inFile(dir), "self", nil)
	img, err := qr.Encode(qr.Request{Data: "https://example.com/"})
	require.NoError(t, err)
	file, in64 := string(img.Data), base64.StdEncoding.EncodeToString(img.Data)
	formBody, formMedia := form(t, "file", "code.png", file)
	for i, request := range [][2]string{
		{`{"image_base64":"` + in64 + `"}`, jsonMedia}, {file, "image/png"}, {formBody, formMedia},
	} {
		key := "upload-number-" + string(rune('0'+i))
		first := a.post("/http/qr/decode", request[0], "Idempotency-Key", key, "Content-Type", request[1])
		require.Equal(t, 200, first.Code, "%s", first.Body)
		again := a.post("/http/qr/decode", request[0], "Idempotency-Key", key, "Content-Type", request[1])
		require.Equal(t, "true", again.header("X-Idempotent-Replay"))
		require.Equal(t, first.Body.String(), again.Body.String())
	}
	fileHides(t, dir, file, file[:60], file[len(file)/2:len(file)/2+60], in64, in64[len(in64)/2:len(in64)/2+60])
	require.Equal(t, int64(6), a.used())
}

// A password is replayed to a caller with the same secret, and cannot be read from the store (CONTRACT 5.4).
func TestPasswordsAreSealed(t *testing.T) {
	dir := t.TempDir()
	a := newAPIOn(t, inFile(dir), "self", nil)
	const path, key = "/text/password/generate", "a-password-please"
	first := a.post(path, `{"count":3}`, "Idempotency-Key", key)
	require.Equal(t, 200, first.Code, "%s", first.Body)
	var list struct{ Passwords []string }
	require.NoError(t, json.Unmarshal(first.Body.Bytes(), &list))
	require.Len(t, list.Passwords, 3, "%s", first.Body)
	again := a.post(path, `{"count":3}`, "Idempotency-Key", key)
	require.Equal(t, first.Body.String(), again.Body.String())
	require.Equal(t, "true", again.header("X-Idempotent-Replay"))
	other := a.post(path, `{"count":3}`)
	require.NotEqual(t, first.Body.String(), other.Body.String())
	fileHides(t, dir, append(list.Passwords, strings.TrimPrefix(a.secret, "svc_live_"), key)...)
	require.Equal(t, metering.SealedReply, a.kept(key, path, `{"count":3}`).Form)
	require.NotContains(t, a.log.String(), list.Passwords[0])
}
