//go:build !race

package httpapi

// The race detector takes memory of its own.

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	pictures "image"
	"image/jpeg"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/diagkit/diagkit/webcheck/qr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The live memory of an operation stays within its weight.
func TestWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	const size = 1 << 20
	text := func(s string) string {
		body, err := json.Marshal(map[string]string{"text": s})
		require.NoError(t, err)
		return string(body)
	}
	list := func(item string) string {
		return "[" + strings.Repeat(item+",", size/(len(item)+1)-2) + item + "]"
	}
	headers := func(unit string) string {
		body, err := json.Marshal(map[string]string{"headers": "Authentication-Results: a; " + strings.Repeat(unit, (250<<10)/len(unit))})
		require.NoError(t, err)
		return string(body)
	}
	certificate := func(pem string) string {
		body, err := json.Marshal(map[string]string{"pem": pem[:min(len(pem), 256<<10)]})
		require.NoError(t, err)
		return string(body)
	}
	for _, tt := range []struct{ name, path, body string }{
		{"list", "/text/json/format", text(list("1"))},
		{"deep", "/text/json/format", text(list(strings.Repeat("[", 500) + strings.Repeat("]", 500)))},
		{"objects", "/text/json/format", text(list(`{"a":1}`))},
		{"list", "/text/json/to-yaml", text(list("1"))},
		{"aliases", "/text/yaml/to-json", text("a: &a \"" + strings.Repeat(`\u0001`, 10_000) + "\"\nb: [" +
			strings.Repeat("*a,", 130) + "*a]\n# " + strings.Repeat("x", size-100_000) + "\n")},
		{"flow", "/text/yaml/format", text(list("a"))},
		{"flow", "/text/yaml/to-json", text(list("a"))},
		{"block", "/text/yaml/to-json", text(strings.Repeat("- -\n", size/4))},
		{"block", "/text/yaml/format", text(strings.Repeat("- a: b\n", size/7))},
		{"dots", "/text/lower", text(strings.Repeat("İ", size/2))},
		{"expanding", "/text/upper", text(strings.Repeat("ΐ", size/2))},
		{"lines", "/text/stats", text(strings.Repeat("é\n", size/3))},
		{"letters", "/text/slug", text(strings.Repeat("Ä ", size/3))},
		{"letters", "/text/urlencode", text(strings.Repeat("é", size/2))},
		{"many", "/text/password/generate", `{"length":128,"count":100}`},
		{"fields", "/mail/header-audit", headers("a:\n")},
		{"results", "/mail/header-audit", headers("spf=a ")},
		{"verdicts", "/mail/header-audit", headers("X-Mimecast-Impersonation-Protect: " + strings.Repeat("a=b;", 30) + "\n")},
		{"fields", "/mail/header-analyze", strings.Replace(headers("a:\n"), "{", `{"live":false,`, 1)},
		{"body", "/mail/header-analyze", `{"live":false,"message":"` + strings.Repeat(`a:\n`, 80_000) + `\n` + strings.Repeat("x", 4*size) + `"}`},
		{"logo", "/certificats/bimi/parse", certificate(markcerttest.New().Issue(markcerttest.Mark{SVG: strings.Repeat("<a/>", size/4)}))},
		{"names", "/certificats/bimi/parse", certificate(markcerttest.New().Issue(markcerttest.Mark{
			Domains: strings.Split(strings.Repeat("a.example,", 15_000), ",")[:15_000]}))},
		{"blocks", "/certificats/bimi/parse", certificate(strings.Repeat(markcerttest.New().Issue(markcerttest.Mark{}), 100))},
		{"lines", "/certificats/bimi/parse", certificate(strings.Repeat("-----END A-----", 20_000))},
		{"jpeg", "/http/qr", `{"data":"a","format":"jpeg","size":4096,"foreground":"#200000"}`},
		{"sources", "/dmarc/report/analyze", report(t, 200_000)},
		{"records", "/dmarc/report/analyze", report(t, 10_000)},
		{"xml", "/dmarc/report/analyze", `{"xml":"<feedback>` + strings.Repeat("<record><count>1</count></record>", 200_000) + `"}`},
		{"names", "/certificates/csr/parse", signingRequest(t, 14_000)},
		{"blocks", "/certificates/csr/parse", `{"csr":"` + strings.Repeat(`-----BEGIN A-----\nMIIB\n`, 2500) + `"}`},
		{"quoted", "/certificates/csr/parse", `{"csr":"` + strings.Repeat("> ", 32_000) + `"}`},
		{"large", "/http/qr/decode", photo(t, 5000)},
		{"small", "/http/qr/decode", photo(t, 1900)},
		{"png", "/http/qr", `{"data":"` + strings.Repeat("a", 1200) + `","size":4096}`},
	} {
		name := strings.TrimPrefix(tt.path, "/") + "/" + tt.name
		if !diagtest.Sampled(name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ep := endpoints[0]
			for _, ep = range endpoints {
				if ep.Path == tt.path {
					break
				}
			}
			req, err := ep.Operation.decode([]byte(tt.body))
			require.NoError(t, err)
			weight := ep.Operation.memory(req, len(tt.body))
			live := diagtest.LiveBytes(weight, func() {
				_, err = ep.Operation.execute(t.Context(), nil, req)
			})
			require.False(t, err != nil && tt.name == "aliases", "%v", err)
			t.Logf("%d KiB of %d", live>>10, weight>>10)
			assert.LessOrEqual(t, live, weight+512<<10, "garbage that LiveBytes may count included")
		})
	}
}

// signingRequest returns a request to judge a signing request with so many names.
func signingRequest(t *testing.T, names int) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: slices.Repeat([]string{"a"}, names)}, key)
	require.NoError(t, err)
	body, err := json.Marshal(map[string][]byte{"csr": der})
	require.NoError(t, err)
	return string(body)
}

// photo returns a request to decode a photo of a code, of so many pixels each way.
func photo(t *testing.T, side int) string {
	file, err := qr.Encode(qr.Request{Data: "https://example.com/", Size: min(side, 4096), Format: qr.JPEG})
	require.NoError(t, err)
	small, err := jpeg.Decode(bytes.NewReader(file.Data))
	require.NoError(t, err)
	img := pictures.NewYCbCr(pictures.Rect(0, 0, side, side), pictures.YCbCrSubsampleRatio420)
	for y := range small.Bounds().Dy() {
		for x := range small.Bounds().Dx() {
			v, _, _, _ := small.At(x, y).RGBA()
			img.Y[y*img.YStride+x] = byte(v >> 8)
		}
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	body, err := json.Marshal(map[string][]byte{"image_base64": b.Bytes()})
	require.NoError(t, err)
	return string(body)
}

// report is a request to analyze a compressed report with another source in each of its records.
func report(t *testing.T, records int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, "<feedback>")
	for i := range records {
		fmt.Fprintf(z, "<record><row><source_ip>198.%d.%d.%d</source_ip><count>1</count></row><identifiers><header_from>a%d.example"+
			"</header_from></identifiers></record>", byte(i>>16), byte(i>>8), byte(i), i)
	}
	require.NoError(t, z.Close())
	body, err := json.Marshal(map[string][]byte{"content_base64": b.Bytes()})
	require.NoError(t, err)
	return string(body)
}
