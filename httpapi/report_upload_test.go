package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A DMARC report comes as text, as base64, or as the file of a form (CONTRACT 1.11); what expands too far is refused and
// free (CONTRACT 1.9).
func TestReportUploads(t *testing.T) {
	at := slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Path == "/dmarc/report/analyze" })
	a := newAPI(t, "self", nil, endpoints[at])
	const xml = `<feedback><record><row><count>3</count></row></record></feedback>`
	packed := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return b.String()
	}
	inJSON := func(fields map[string]any) string {
		body, err := json.Marshal(fields)
		require.NoError(t, err)
		return string(body)
	}
	b64 := base64.StdEncoding.EncodeToString([]byte(packed(xml)))
	upload, media := form(t, "file", "a.xml.gz", packed(xml), "resolve_ptr", "", "false")
	message := "From a Sat Oct 31 12:00:00 2026\nFrom: a@b.example\nContent-Type: text/xml\n\n" + xml + "\n\n"
	box, boxMedia := form(t, "file", "rua.mbox", message+"From b Sat Oct 31 12:00:00 2026\nSubject: none\n\nHello.\n")
	many, manyMedia := form(t, "file", "rua.mbox", strings.Repeat(message, 501))
	bomb, bombMedia := form(t, "file", "a.gz", packed("<feedback>"+strings.Repeat(" ", 20<<20)))
	for _, tt := range []struct {
		name, media, body string
		status            int
		reason            string
	}{
		{"text", jsonMedia, inJSON(map[string]any{"xml": xml}), 200, ""},
		{"base64", jsonMedia, inJSON(map[string]any{"content_base64": b64, "filename": "a.xml.gz"}), 200, ""},
		{"form", media, upload, 200, ""},
		{"a mail box", boxMedia, box, 200, ""},
		{"an archive of more reports than are judged together", manyMedia, many, http.StatusRequestEntityTooLarge, reasonTooLarge},
		{"both", jsonMedia, inJSON(map[string]any{"xml": xml, "content_base64": b64}), 400, reasonInvalid},
		{"nothing", jsonMedia, `{}`, 400, reasonMissing},
		{"a bomb", bombMedia, bomb, http.StatusRequestEntityTooLarge, reasonTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			used := a.used()
			r := a.post("/dmarc/report/analyze", tt.body, "Content-Type", tt.media)
			require.Equal(t, tt.status, r.Code, "%s", r.Body)
			if tt.status == http.StatusOK {
				require.Contains(t, r.Body.String(), `"message_count":3`)
				require.Equal(t, used+5, a.used())
				return
			}
			require.Equal(t, tt.reason, r.problem().Details.Reason)
			require.Equal(t, used, a.used(), "a refusal is free")
		})
	}
}
