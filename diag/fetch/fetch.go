package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/net/http/httpguts"
)

// A Request describes what to fetch. Only URL is required.
type Request struct {
	URL       diag.URL
	Method    string      // GET, HEAD, OPTIONS or POST; empty means GET
	Body      []byte      // body of a POST, which does not follow redirects; set its Content-Type in Header
	Header    http.Header // header fields to add, or to replace Host, User-Agent, Accept and Accept-Encoding
	UserAgent string      // empty means [UserAgent]
	// MaxRedirects is the number of redirects to follow, at most [MaxRedirects]. With 0, a redirect is a
	// result like any other. Otherwise a longer chain ends with an error in the result.
	MaxRedirects int

	MaxBytes int64         // of the body after decompression; 0 means [DefaultBytes], at most [MaxBytes]
	Timeout  time.Duration // for the whole fetch; 0 means [DefaultTimeout]
	Ports    diag.Ports    // ports that may be dialed; nil means [diag.WebPorts]
	// AllowUntrusted continues even if the certificate of a host is not trusted. TLS of the hop has the
	// reason.
	AllowUntrusted bool
	// Next, if set, is called for each response that is not an HTTP redirect, with the body as far as it was
	// read. It returns the redirect in that document, in a header field ([Refresh]) or a meta element. That
	// redirect is followed, unless the document only reloads itself after a delay.
	Next func(hop Hop, body []byte) Lead
	// Raw leaves the body as received, without decompressing it.
	Raw bool
}

// A Result is the outcome of a request.
type Result struct {
	Hops []Hop    // the hops that got a response, in order
	URL  diag.URL // the last URL that was requested
	Loop bool     // the redirects form a loop, which Err also reports

	Body          []byte // body of the last hop, decompressed
	Truncated     bool   // whether the body is longer
	TransferBytes int64  // size of the body as received, in bytes
	Encoding      string // content codings of the response, separated by commas, in lower case; empty if none
	Coding        Coding
	// TLS is that of the last hop that was tried, even if the chain ended there; nil without a TLS
	// connection.
	TLS    *pki.TLS
	Timing Timing // of the last hop

	Err *Error // why the chain ended early; nil if it did not
}

// Do fetches a URL. The error is a *[diag.InputError] if the request is invalid, or that of the context if it
// ended; anything else is part of the result.
func Do(ctx context.Context, env *diag.Env, req Request) (*Result, error) {
	req, err := req.normalised()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, req.Timeout)
	defer cancel()
	r := &Result{Hops: []Hop{}, URL: req.URL}
	r.Err = r.follow(limited, env, req)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Result) follow(ctx context.Context, env *diag.Env, req Request) *Error {
	visited := map[string]bool{}
	for {
		visited[resource(r.URL)] = true
		lead, err := r.hop(ctx, env, req)
		if err != nil || lead.Target == "" {
			return err
		}
		last := r.Hops[len(r.Hops)-1]
		if last.Refused != nil {
			return last.Refused
		}
		next := last.Target
		if visited[resource(next)] {
			r.Loop = true
			if _, cookies := r.Looped(); len(cookies) > 0 {
				return &Error{Code: Loop, Message: "the redirects form a loop for clients without cookies"}
			}
			return &Error{Code: Loop, Message: "the redirects form a loop"}
		}
		if len(r.Hops) > req.MaxRedirects {
			return &Error{Code: TooManyRedirects,
				Message: fmt.Sprintf("there are more than %d redirects", req.MaxRedirects)}
		}
		r.URL = next
		r.Body, r.Truncated, r.TransferBytes, r.Encoding, r.Coding = nil, false, 0, "", Coding{}
	}
}

// hop makes one request and records the outcome. It returns the next location, or the zero Lead at the end, where
// the body is read.
func (r *Result) hop(ctx context.Context, env *diag.Env, req Request) (Lead, *Error) {
	begin := env.Now()
	r.TLS, r.Timing = nil, Timing{}
	dialling, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	l, failure := dial(dialling, env, r.URL, req.Ports)
	if l.raw != nil {
		defer l.raw.Close()
	}
	r.TLS, r.Timing = l.tls, l.timing
	defer func() { r.Timing.Total = env.Now().Sub(begin) }()
	if failure != nil {
		return Lead{}, failure
	}
	if l.tls != nil && l.tls.Err() != nil && !req.AllowUntrusted {
		return Lead{}, &Error{Code: TLS, Step: Verifying, Message: l.tls.Err().Error(), Cause: l.tls.Err()}
	}

	sent := env.Now()
	resp, failure := l.exchange(ctx, req.hop(ctx, r.URL))
	r.Timing.FirstByte = env.Now().Sub(sent)
	if failure != nil {
		return Lead{}, failure
	}
	r.Timing.Total = env.Now().Sub(begin)
	h := r.describe(req.Method, l, resp)
	lead := location(resp.Response)
	if lead.Target != "" {
		h.lead(r.URL, lead)
	}
	r.Hops = append(r.Hops, h)
	if h.RedirectType != "" && req.MaxRedirects > 0 {
		return lead, nil
	}
	stop := context.AfterFunc(ctx, func() { l.raw.Close() })
	defer stop()
	if err := r.readBody(resp.Response, req); err != nil {
		return Lead{}, bodyError(ctx, err)
	}
	if req.Next == nil || h.RedirectType != "" {
		return Lead{}, nil
	}
	return r.forwarded(req), nil
}

func (r *Result) describe(method string, l *link, resp *answer) Hop {
	h := Hop{
		Index: len(r.Hops) + 1, URL: r.URL.String(), Method: method, StatusCode: resp.StatusCode,
		StatusText: statusText(resp.Response), IP: l.ip, HTTPVersion: strings.TrimSuffix(resp.Proto, ".0"),
		LatencyMS: max(0, r.Timing.Total.Milliseconds()), Header: resp.Header, Fields: resp.fields, Faults: resp.faults,
		TLS: l.tls, Timing: r.Timing,
	}
	if resp.ProtoMajor == 1 {
		h.HTTPVersion = resp.Proto
	}
	if l.tls != nil {
		h.TLSVersion = l.tls.Version
	}
	if values := resp.Header["Location"]; len(values) > 0 {
		h.Location = strings.ToValidUTF8(values[0], "\uFFFD")
	}
	return h
}

// location returns where an answer redirects. Of several Location fields the first counts that is not empty: the others
// are there in the header.
func location(resp *http.Response) Lead {
	values := resp.Header["Location"]
	i := slices.IndexFunc(values, func(v string) bool { return v != "" })
	if i < 0 || !redirects(resp.StatusCode) {
		return Lead{}
	}
	return Lead{Type: HTTPRedirect, Target: values[i]}
}

// statusText returns the words after the status, or the usual ones if the server sent none.
func statusText(resp *http.Response) string {
	_, text, _ := strings.Cut(resp.Status, " ")
	if text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"); text == "" {
		return http.StatusText(resp.StatusCode)
	}
	return text
}

// The limits of a fetch. CONTRACT 1.9 specifies those for redirects and body.
const (
	DefaultRedirects = 10               // recommended Request.MaxRedirects; RFC 9110 sets no limit
	MaxRedirects     = 20               // highest value of Request.MaxRedirects, as in browsers
	DefaultBytes     = 5 << 20          // of the body, after decompression
	MaxBytes         = 32 << 20         // highest value of Request.MaxBytes
	maxHeadBytes     = 256 << 10        // of the head of one answer, as servers rarely allow above 64 KiB
	maxRatio         = 200              // of decompression, once the body is above 1 MiB; text reaches 30
	DefaultTimeout   = 15 * time.Second // for the whole fetch
	ConnectTimeout   = 6 * time.Second  // for the lookup, the connection and the handshake of one hop
	HeadTimeout      = 10 * time.Second // from the request to the end of the response header
)

// UserAgent is the default User-Agent.
const UserAgent = "Mozilla/5.0 (compatible; diagkit/" + diag.Version + "; +https://github.com/diagkit/diagkit)"

// credentials are the header fields that are meant for one host only.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// normalized returns the request with all defaults filled in, or the caller's fault.
func (r Request) normalised() (Request, error) {
	if r.URL.IsZero() {
		return r, input.Invalid("url", "is missing")
	}
	switch r.Method {
	case "":
		r.Method = http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost:
	default:
		return r, input.Invalid("method", "%.20q is not GET, HEAD, OPTIONS or POST", r.Method)
	}
	if r.Method != http.MethodPost && r.Body != nil {
		return r, input.Invalid("body", "is for POST only")
	}
	if r.Method == http.MethodPost && (r.MaxRedirects != 0 || r.Next != nil) {
		return r, input.Invalid("max_redirects", "must be 0 for POST")
	}
	if r.MaxRedirects < 0 || r.MaxRedirects > MaxRedirects {
		return r, input.Invalid("max_redirects", "must be from 0 to %d", MaxRedirects)
	}
	if r.MaxBytes < 0 || r.MaxBytes > MaxBytes {
		return r, input.Invalid("max_bytes", "must be from 0 to %d", MaxBytes)
	}
	if !httpguts.ValidHeaderFieldValue(r.UserAgent) || len(r.UserAgent) > 256 {
		return r, input.Invalid("user_agent", "has a control character, or more than 256 bytes")
	}
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || strings.EqualFold(name, "Host") ||
			slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return r, input.Invalid("header", "%.100q cannot be sent", name)
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
	h := http.Header{"User-Agent": {r.UserAgent}, "Accept": {"*/*"}, "Accept-Encoding": {offered}}
	for name, values := range r.Header {
		name = http.CanonicalHeaderKey(name)
		if u.Origin() == r.URL.Origin() || !slices.Contains(credentials, name) {
			h[name] = slices.Clone(values)
		}
	}
	target := u.HTTP()
	ask := &http.Request{Method: r.Method, URL: target, Host: target.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if r.Method == http.MethodPost {
		ask.Body, ask.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
	}
	return ask.WithContext(ctx)
}
