package fetch

import (
	"bytes"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// RedirectType is the means by which a hop leads to the next.
type RedirectType string

// The types of redirects. A fetch follows those of HTTP, and others only if Next of the [Request] finds them.
const (
	HTTPRedirect  RedirectType = "http"           // a status and a Location (RFC 9110 section 15.4)
	MetaRefresh   RedirectType = "meta_refresh"   // a meta element of the page
	HeaderRefresh RedirectType = "header_refresh" // a Refresh header field
)

// Values lists the types.
func (RedirectType) Values() []string { return kit.Values(HTTPRedirect, MetaRefresh, HeaderRefresh) }

// A Hop is one request and the header of its response.
type Hop struct {
	Index        int          `json:"index" min:"1" doc:"position in the chain, from 1"`
	URL          string       `json:"url" doc:"URL that was asked for"`
	Method       string       `json:"method" doc:"method of the request"`
	StatusCode   int          `json:"status_code" doc:"status of the answer"`
	StatusText   string       `json:"status_text" doc:"the status in words, as the server put it"`
	Location     string       `json:"location,omitempty" doc:"where it leads, as the server put it"`
	RedirectType RedirectType `json:"redirect_type,omitempty" doc:"by what means it leads there"`
	IP           netip.Addr   `json:"ip" doc:"address that answered"`
	HTTPVersion  string       `json:"http_version" doc:"version of HTTP" example:"HTTP/2"`
	TLSVersion   string       `json:"tls_version,omitempty" doc:"version of TLS, for https" example:"TLS 1.3"`
	LatencyMS    int64        `json:"latency_ms" min:"0" doc:"from the lookup of the host to the head of the answer"`

	Header http.Header `json:"-"` // header of the response
	Fields []Field     `json:"-"` // the same in the order and spelling of the server
	Faults []HeadFault `json:"-"` // invalid header lines, at most 20
	TLS    *pki.TLS    `json:"-"` // nil for http
	Timing Timing      `json:"-"`
	// Target is the URL to which the hop redirects. It is zero if the hop does not redirect, or to a URL that
	// must not be fetched; Refused then says why.
	Target   diag.URL       `json:"-"`
	Refused  *Error         `json:"-"`
	Oddities input.Oddities `json:"-"` // violations of RFC 3986 in Location
	// After is the delay of a redirect in a document; 0 for HTTP redirects.
	After time.Duration `json:"-"`
}

// A Field is one line of a header.
type Field struct {
	Name  string `json:"name" doc:"name, as spelled by the server"`
	Value string `json:"value" doc:"value"`
}

// Timing is the duration of the parts of a hop.
type Timing struct {
	DNS       time.Duration // until the host's addresses were known
	Connect   time.Duration // until the connection was established
	TLS       time.Duration // for the handshake
	FirstByte time.Duration // from the request to the head of the answer
	Total     time.Duration // all of these, and the body
}

// Final returns the hop at which the chain ended, or nil if it ended early.
func (r *Result) Final() *Hop {
	if len(r.Hops) == 0 || r.Err != nil && r.Hops[len(r.Hops)-1].URL != r.URL.String() {
		return nil
	}
	return &r.Hops[len(r.Hops)-1]
}

// Reason is the kind of an [Error].
type Reason string

// The reasons why a chain ends early.
const (
	DNS              Reason = "dns"                // the host has no address, or its lookup failed
	Connect          Reason = "connect"            // no connection was established
	TLS              Reason = "tls"                // the handshake failed, or the certificate is not trusted
	Timeout          Reason = "timeout"            // it took too long
	Blocked          Reason = "blocked"            // the address, port or URL must not be requested
	Loop             Reason = "loop"               // the redirects form a loop
	TooManyRedirects Reason = "too_many_redirects" // there are more than MaxRedirects
	Protocol         Reason = "protocol"           // the response is not HTTP, or violates its rules
)

// Values lists the reasons.
func (Reason) Values() []string {
	return kit.Values(DNS, Connect, TLS, Timeout, Blocked, Loop, TooManyRedirects, Protocol)
}

// An Error is the reason why a chain of hops ended early.
type Error struct {
	Code    Reason `json:"code" doc:"kind of the error"`
	Message string `json:"message" doc:"what happened, in plain words"`
	// Unanswered means that nothing was learned about the site: name servers or hosts did not answer, but
	// might the next time. Otherwise the error is a fact about the site.
	Unanswered bool `json:"-"`

	Missing bool `json:"-"` // the host does not exist (NXDOMAIN); Code is DNS
	Limit   bool `json:"-"` // the chain ended at a limit of this package, without a fault of the site; Code is Blocked
	// Step is the step at which the last hop failed, if Code does not imply it.
	Step Step `json:"-"`

	Cause error `json:"-"` // may be nil

	failed string // the component of ours that failed; empty if that was not the cause
}

// A Step is part of a hop.
type Step int

// The steps, in their order.
const (
	LookingUp   Step = iota // of the host
	Connecting  Step = iota
	Handshaking Step = iota // TLS
	Verifying   Step = iota // the certificate
	Answering   Step = iota // with the head of an answer
	Reading     Step = iota // the body
)

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Unavailable returns an error that wraps [diag.ErrUnavailable] if none of the fetches learned anything
// because of a failure on this side: the resolver did not answer or refused to, or no packet left this
// machine. A diagnostic that has nothing else to report returns that error (CONTRACT 1.5). Results that are
// nil are ignored.
func Unavailable(results ...*Result) error {
	var failure error
	for _, r := range results {
		if r == nil {
			continue
		}
		if failure = r.Err.Unavailable(); failure == nil || len(r.Hops) > 0 {
			return nil
		}
	}
	return failure
}

// Unavailable returns an error that wraps [diag.ErrUnavailable] if the failure was on this side; see the
// function [Unavailable]. It may be called on a nil *Error.
func (e *Error) Unavailable() error {
	if e == nil || e.failed == "" {
		return nil
	}
	return diag.Unavailable(e.failed, e.Cause)
}

// A recorder is a connection that remembers what was read from it while the head of an answer was, so
// that the header can be shown as it came: Go's parsers keep neither the order nor the spelling.
type recorder struct {
	net.Conn
	mu    sync.Mutex // HTTP/2 reads in a goroutine of its own
	done  bool
	bytes []byte
}

// maxRecord is a little more than the longest head: HTTP/2 sends settings before it.
const maxRecord = maxHeadBytes + 16<<10

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		r.bytes = append(r.bytes, b[:min(n, maxRecord-len(r.bytes))]...)
	}
	return n, err
}

func (r *recorder) end() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	return r.bytes
}

// statusCode reads "HTTP/1.1 200 OK"; 0 if it is something else.
func statusCode(line []byte) int {
	parts := strings.Fields(string(line))
	if len(parts) < 2 || len(parts[1]) != 3 {
		return 0
	}
	code, _ := strconv.Atoi(parts[1]) // 0 if it is no number
	return code
}

// fields2 reads the header out of the bytes of an HTTP/2 connection, past interim answers. It returns
// nil if they do not hold it all.
func fields2(data []byte) []Field {
	framer := http2.NewFramer(nil, bytes.NewReader(data))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil) // RFC 9113 section 6.5.2
	framer.MaxHeaderListSize = maxHeadBytes
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return nil
		}
		head, ok := frame.(*http2.MetaHeadersFrame)
		if !ok || strings.HasPrefix(head.PseudoValue("status"), "1") {
			continue
		}
		list := []Field{}
		for _, f := range head.RegularFields() {
			list = append(list, Field{strings.ToValidUTF8(f.Name, "\uFFFD"), strings.ToValidUTF8(f.Value, "\uFFFD")})
		}
		return list
	}
}

// anyOrder lists a header in alphabetical order, where nothing better is known.
func anyOrder(h http.Header) []Field {
	list := []Field{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, Field{name, value})
		}
	}
	return list
}
