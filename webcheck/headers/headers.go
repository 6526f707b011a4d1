package headers

import (
	"context"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

// A Request asks for the examination of one page.
type Request struct {
	URL             diag.URL `json:"url" maxlen:"8192" doc:"page to examine; without a scheme it is https" example:"https://example.com/"`
	FollowRedirects *bool    `json:"follow_redirects,omitempty" default:"true" doc:"whether redirects are followed, so that the last page is judged"`
	Method          string   `json:"method,omitempty" default:"GET" enum:"GET HEAD" doc:"method of the request; with HEAD the page itself is not read and not graded"`
}

// A Report describes the header fields of a page, with a verdict.
type Report struct {
	diag.Verdict
	URL             string             `json:"url" doc:"page that was asked for"`
	FinalURL        string             `json:"final_url" doc:"page that was judged, or at which the chain ended"`
	StatusCode      int                `json:"status_code,omitempty" doc:"status of the answer that was judged"`
	HTTPVersion     string             `json:"http_version,omitempty" doc:"version of HTTP" example:"HTTP/2"`
	Hops            []fetch.Hop        `json:"hops" maxitems:"11" doc:"the answers on the way there, in order"`
	Headers         []fetch.Field      `json:"headers" doc:"the header as it came, in the order of the server"`
	SecurityHeaders SecurityHeaders    `json:"security_headers" doc:"header fields that protect visitors"`
	Cookies         []Cookie           `json:"cookies" maxitems:"100" doc:"cookies that were set on the way, in order"`
	Caching         Caching            `json:"caching" doc:"what caches may do with the answer"`
	Disclosure      []Disclosure       `json:"disclosure" maxitems:"30" doc:"header fields that tell what software the site runs"`
	Compression     string             `json:"compression,omitempty" doc:"content coding in which the page came" example:"gzip"`
	SecurityTxt     SecurityTxt        `json:"security_txt,omitzero" doc:"whom to tell of vulnerabilities; absent if that is not known"`
	TLS             pki.TLS            `json:"tls,omitzero" doc:"TLS of the host that was judged"`
	Observatory     observatory.Result `json:"observatory,omitzero" doc:"grade by the algorithm of the HTTP Observatory of MDN; absent where that gives none"`
	Partial         bool               `json:"partial" doc:"whether something could not be learned"`
	Error           fetch.Error        `json:"error,omitzero" doc:"what ended the chain before its end"`
	CheckedAt       time.Time          `json:"checked_at" doc:"when the examination began"`
	DurationMS      int64              `json:"duration_ms" min:"0" doc:"how long it took"`
}

// SecurityHeaders are the header fields that protect visitors. Only what browsers enforce counts as present.
type SecurityHeaders struct {
	StrictTransportSecurity   Header `json:"strict_transport_security" doc:"RFC 6797"`
	ContentSecurityPolicy     Policy `json:"content_security_policy" doc:"CSP Level 3"`
	XFrameOptions             Header `json:"x_frame_options" doc:"RFC 7034"`
	XContentTypeOptions       Header `json:"x_content_type_options" doc:"Fetch Standard"`
	ReferrerPolicy            Header `json:"referrer_policy" doc:"Referrer Policy"`
	PermissionsPolicy         Header `json:"permissions_policy" doc:"Permissions Policy"`
	CrossOriginOpenerPolicy   Header `json:"cross_origin_opener_policy" doc:"HTML Standard"`
	CrossOriginEmbedderPolicy Header `json:"cross_origin_embedder_policy" doc:"HTML Standard"`
	CrossOriginResourcePolicy Header `json:"cross_origin_resource_policy" doc:"Fetch Standard"`
}

// A Header is one header field and how well it protects.
type Header struct {
	Present  bool           `json:"present" doc:"whether the field was sent"`
	Value    string         `json:"value,omitempty" doc:"its value; several fields are joined by commas"`
	Valid    bool           `json:"valid" doc:"whether browsers obey it"`
	Strength Strength       `json:"strength" doc:"how well it protects"`
	Findings []diag.Finding `json:"findings" doc:"those of the report that concern it"`
}

// A Policy is the Content-Security-Policy field, and what all enforced policies of the page allow to run. Its
// strength follows from that alone.
type Policy struct {
	Header
	Runs Runs `json:"runs,omitzero" doc:"what may run under the policies of header fields and meta elements; absent if the answer is no page"`
}

// Runs reports which kinds of injected content the policies of a page allow to run.
type Runs = csp.Runs

// Strength rates how well a header field protects: missing, weak, good or strong.
type Strength string

const (
	Missing Strength = "missing"
	Weak    Strength = "weak" // or without effect
	Good    Strength = "good"
	Strong  Strength = "strong"
)

// Values lists the strengths.
func (Strength) Values() []string { return kit.Values(Missing, Weak, Good, Strong) }

// A Cookie is a cookie that the site sets.
type Cookie struct {
	Name     string    `json:"name" doc:"name"`
	Secure   bool      `json:"secure" doc:"whether it is sent over https only"`
	HTTPOnly bool      `json:"http_only" doc:"whether scripts cannot read it"`
	SameSite string    `json:"same_site,omitempty" doc:"Strict, Lax or None; absent without a value that browsers know"`
	PrefixOK bool      `json:"prefix_ok" doc:"whether its attributes keep what its name promises; true for a name without a prefix"`
	Path     string    `json:"path" doc:"path to which it is sent"`
	Domain   string    `json:"domain,omitempty" doc:"domain to whose hosts it is sent; absent: to this host only"`
	Expires  time.Time `json:"expires,omitzero" doc:"when it ends"`
	MaxAge   *int64    `json:"max_age,omitempty" doc:"after how many seconds it ends; outweighs expires"`
}

// Caching describes how the response may be cached (RFC 9111).
type Caching struct {
	CacheControl string `json:"cache_control,omitempty" doc:"the Cache-Control field"`
	ETag         string `json:"etag,omitempty" doc:"the ETag field"`
	LastModified string `json:"last_modified,omitempty" doc:"the Last-Modified field"`
	Age          string `json:"age,omitempty" doc:"the Age field"`
	Cacheable    bool   `json:"cacheable" doc:"whether some cache may keep the answer"`
}

// A Disclosure is a header field that discloses software.
type Disclosure struct {
	Header string `json:"header" doc:"name of the field"`
	Value  string `json:"value" doc:"its value"`
}

// Check fetches a page and examines its header fields. The error is that of the context if it ended; a host
// that does not answer is a result.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.URL.IsZero() {
		return nil, input.Invalid("url", "is missing")
	}
	switch req.Method {
	case "":
		req.Method = http.MethodGet
	case http.MethodGet, http.MethodHead:
	default:
		return nil, input.Invalid("method", "%.20q is not GET or HEAD", req.Method)
	}
	list, err := hsts.PreloadList(env)
	if err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	e.preload = list
	e.digest()
	return e.report(env.Now()), nil
}

// Rules describes what is examined.
func (*Report) Rules() []rule.Description { return rules().Describe() }
