package fetch

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/http/httpguts"
)

// The limits of a fetch. CONTRACT 1.9 sets the redirects and the body.
const (
	DefaultRedirects = 10               // what most browsers' users would bear; RFC 9110 names no number
	MaxRedirects     = 20               // the most that may be asked for, as in browsers
	DefaultBytes     = 5 << 20          // of body, after decompression
	MaxBytes         = 32 << 20         // the most that may be asked for
	maxHeadBytes     = 256 << 10        // of the head of one answer, as servers rarely allow above 64 KiB
	maxRatio         = 200              // of decompression, once the body is above 1 MiB; text reaches 30
	DefaultTimeout   = 15 * time.Second // for the whole of it
	ConnectTimeout   = 6 * time.Second  // for the lookup, the connection and the handshake of one hop
	HeadTimeout      = 10 * time.Second // from the request to the whole head of the answer
)

// UserAgent is what the client calls itself.
const UserAgent = "Mozilla/5.0 (compatible; diagkit/1; +https://github.com/diagkit/diagkit)"

// credentials are the header fields that are meant for one host only.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// normalised returns the request with all defaults filled in, or the caller's fault.
func (r Request) normalised() (Request, error) {
	if r.URL.IsZero() {
		return r, diag.Invalid("url", "is missing")
	}
	switch r.Method {
	case "":
		r.Method = http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		return r, diag.Invalid("method", "%.20q is not GET, HEAD or OPTIONS", r.Method)
	}
	if r.MaxRedirects < 0 || r.MaxRedirects > MaxRedirects {
		return r, diag.Invalid("max_redirects", "must be from 0 to %d", MaxRedirects)
	}
	if r.MaxBytes < 0 || r.MaxBytes > MaxBytes {
		return r, diag.Invalid("max_bytes", "must be from 0 to %d", MaxBytes)
	}
	if !httpguts.ValidHeaderFieldValue(r.UserAgent) || len(r.UserAgent) > 256 {
		return r, diag.Invalid("user_agent", "has a control character, or more than 256 bytes")
	}
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || strings.EqualFold(name, "Host") ||
			slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return r, diag.Invalid("header", "%.100q cannot be sent", name)
		}
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = DefaultBytes
	}
	if r.Timeout <= 0 {
		r.Timeout = DefaultTimeout
	}
	if r.Ports == nil {
		r.Ports = diag.WebPorts
	}
	if r.UserAgent == "" {
		r.UserAgent = UserAgent
	}
	return r, nil
}

// hop returns the request for one hop, with credentials only if it goes to the first host (RFC 9110 section 15.4).
func (r Request) hop(ctx context.Context, u diag.URL) *http.Request {
	h := http.Header{"User-Agent": {r.UserAgent}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip, deflate"}}
	for name, values := range r.Header {
		name = http.CanonicalHeaderKey(name)
		if u.Origin() == r.URL.Origin() || !slices.Contains(credentials, name) {
			h[name] = slices.Clone(values)
		}
	}
	target := u.HTTP()
	ask := &http.Request{Method: r.Method, URL: target, Host: target.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return ask.WithContext(ctx)
}
