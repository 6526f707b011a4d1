package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// A File is a reply that is the same for everyone and for as long as the program runs, such as the OpenAPI document.
// Clients and caches may therefore keep it, unlike replies that a customer paid for, and revalidate it each time.
type File struct {
	media           string
	gzipped         []byte
	tag, gzippedTag string // of each form, since they differ in every byte (RFC 9110 section 8.8.3.3)
}

// NewFile returns a file with these contents, which it keeps compressed.
func NewFile(media string, contents []byte) *File {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(contents)
	if err == nil {
		err = w.Close()
	}
	if err != nil { // memory takes everything
		panic("httpapi: compressing a file: " + err.Error())
	}
	sum := sha256.Sum256(contents)
	tag := hex.EncodeToString(sum[:12])
	return &File{media, b.Bytes(), `"` + tag + `"`, `"` + tag + `-gzip"`}
}

// ServeHTTP implements [http.Handler], for GET and HEAD.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, gzipped := w.Header(), acceptsGzip(r.Header["Accept-Encoding"])
	h.Set("Cache-Control", "public, no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Etag", f.tag)
	if gzipped {
		h.Set("Etag", f.gzippedTag)
	}
	if f.isCurrent(r.Header["If-None-Match"]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.gzipped
	if gzipped {
		h.Set("Content-Encoding", "gzip")
	} else if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		body, _ = io.ReadAll(z) // as it was written above
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(body) // an error means that the client has gone
	}
}

// isCurrent reports whether a client has the file already (RFC 9110 section 13.1.2, by the weak
// comparison of section 8.8.3.2).
func (f *File) isCurrent(lists []string) bool {
	for _, list := range lists {
		for tag := range strings.SplitSeq(list, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(tag), "W/") {
			case "*", f.tag, f.gzippedTag:
				return true
			}
		}
	}
	return false
}

// acceptsGzip reports whether a client takes gzip (RFC 9110 section 12.5.3).
func acceptsGzip(lists []string) bool {
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			coding, weight, weighted := strings.Cut(item, ";")
			if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				continue
			}
			if !weighted {
				return true
			}
			_, q, _ := strings.Cut(weight, "=")
			value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err == nil && value > 0
		}
	}
	return false
}

const openapiPath = Prefix + "/openapi.json"

func (x *exchange) serveDocument() *failure {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return methodProblem([]string{http.MethodGet, http.MethodHead})
	}
	x.setAddressHeaders()
	x.document().ServeHTTP(&statusWriter{x.w, x}, x.r)
	return nil
}

// sharedDocument is that of every server without endpoints of its own.
var sharedDocument = sync.OnceValue(func() *File { return NewFile(jsonMedia, Endpoints().OpenAPI()) })

// documentFunc returns a function that makes the document of a table for a server at a URL, with API keys or an
// authentication of its own. One that differs from the document of the public API is made immediately, so that a type
// that cannot be described is detected at start.
func documentFunc(t Table, publicURL string, keyless bool) func() *File {
	if len(t.custom()) == 0 && publicURL == "" && !keyless {
		return sharedDocument
	}
	file := NewFile(jsonMedia, t.openAPIAt(publicURL, keyless))
	return func() *File { return file }
}

// wantsPage reports whether the pages answer: for each page outside of the API, and for whatever else a browser
// requests there.
func (x *exchange) wantsPage() bool {
	path := x.r.URL.Path
	reads := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	if x.Pages == nil || !reads || strings.HasPrefix(path, Prefix+"/") {
		return false
	}
	switch path {
	case "/", "/docs", "/llms.txt", "/openapi.json", "/openapi.yaml":
		return true
	}
	return strings.HasPrefix(path, "/docs/") || strings.Contains(x.r.Header.Get("Accept"), "text/html")
}

// servePages runs the handler of the pages. They are the same for everyone and made once, or cost as little as a
// search, so that no limiter guards them.
func (x *exchange) servePages() {
	x.ip = x.clientIP(x.r)
	x.observed.Endpoint = "pages"
	x.Pages.ServeHTTP(&statusWriter{x.w, x}, x.r)
}
