package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// servedDoc is the OpenAPI document as it is served. It is the same for everybody and for as long as the
// program runs. Clients and caches may therefore keep it, against the rule for replies that a customer
// paid for, and ask each time whether it is still the same.
type servedDoc struct {
	plain, zipped   []byte
	etag, zippedTag string // of each form, since they differ in every byte (RFC 9110 section 8.8.3.3)
}

var servedDocument = sync.OnceValue(func() servedDoc {
	d := servedDoc{plain: OpenAPI()}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(d.plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // memory takes everything
		panic("httpapi: compressing the OpenAPI document: " + err.Error())
	}
	d.zipped = b.Bytes()
	sum := sha256.Sum256(d.plain)
	tag := hex.EncodeToString(sum[:12])
	d.etag, d.zippedTag = `"`+tag+`"`, `"`+tag+`-gzip"`
	return d
})

// serveDocument answers for the OpenAPI document.
func (x *exchange) serveDocument() *failure {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return methodProblem([]string{http.MethodGet, http.MethodHead})
	}
	d := servedDocument()
	body, etag := d.plain, d.etag
	if acceptsGzip(x.r.Header["Accept-Encoding"]) {
		body, etag = d.zipped, d.zippedTag
	}
	x.fields["Cache-Control"] = []string{"public, no-cache"}
	x.addressHeaders()
	x.header("Etag", etag)
	x.header("Vary", "Accept-Encoding")
	if noneMatch(x.r.Header["If-None-Match"], d) {
		x.seen.Status, x.seen.Code = http.StatusNotModified, "OK"
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if etag == d.zippedTag {
		x.header("Content-Encoding", "gzip")
	}
	x.write(http.StatusOK, jsonMedia, body)
	return nil
}

// noneMatch reports whether a client has the document already (RFC 9110 section 13.1.2, by the weak
// comparison of section 8.8.3.2).
func noneMatch(lists []string, d servedDoc) bool {
	for _, list := range lists {
		for tag := range strings.SplitSeq(list, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(tag), "W/") {
			case "*", d.etag, d.zippedTag:
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
