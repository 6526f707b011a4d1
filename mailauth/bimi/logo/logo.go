package logo

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
	"github.com/miekg/dns"
)

// Request is a request to examine one logo, given by its URL or by the domain that publishes it.
type Request struct {
	URL        diag.URL      `json:"url,omitzero" oneof:"logo" maxlen:"8192" doc:"address of the logo, which begins with https" example:"https://brand.good.example/logo.svg"`
	Domain     diag.Domain   `json:"domain,omitzero" oneof:"logo" doc:"domain whose BIMI record names the logo"`
	Selector   diag.Selector `json:"selector,omitempty" default:"default" doc:"selector of the record; only with domain"`
	IncludeSVG bool          `json:"include_svg,omitempty" default:"false" doc:"whether the reply holds the image"`
}

// Report describes a logo, with the verdict.
type Report struct {
	Facts
	diag.Verdict
	diag.Timing
	Domain    string `json:"domain,omitempty" doc:"domain that was asked for"`
	Record    string `json:"record,omitempty" doc:"BIMI record that names the logo"`
	SVGBase64 string `json:"svg_base64,omitempty" doc:"the image without compression, in Base64; only with include_svg"`
	Partial   bool   `json:"partial" doc:"whether something could not be learned"`
}

type evidence struct {
	domain    diag.Domain
	discovery *record.Discovery // nil if the address was given
	place     *record.Place     // location of the records that apply; nil without any
	record    *record.Record    // the record; nil unless there is exactly one
	failure   error             // why the record that applies is unknown
	apex      diag.Answer[*dns.SOA]

	fetched *Fetched // nil if there was no address to fetch
}

// Lookup fetches a logo and judges it. The error is a *[diag.InputError], that of the context if it ended, or wraps
// [diag.ErrUnavailable] if nothing could be determined.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	began := env.Now()
	switch {
	case req.URL.IsZero() == req.Domain.IsZero():
		return nil, input.Invalid("url", "or domain must be given, and not both")
	case req.Domain.IsZero() && !req.Selector.IsZero() && req.Selector.String() != record.DefaultSelector:
		return nil, input.Invalid("selector", "makes sense with domain only")
	}
	e, u := &evidence{domain: req.Domain}, req.URL
	if u.IsZero() {
		if err := e.discover(ctx, env, req); err != nil {
			return nil, err
		}
		if e.record != nil && e.record.Location.Usable() {
			u = e.record.Location.URL
		}
	}
	if !u.IsZero() {
		var err error
		if e.fetched, err = Fetch(ctx, env, u); err != nil {
			return nil, err
		}
		if e.fetched.Unanswered() && e.discovery == nil && len(e.fetched.Result.Hops) == 0 {
			return nil, fmt.Errorf("fetching %s: %w", u, diag.Unavailable(u.Host().String(), e.fetched.Result.Err))
		}
	}
	r := e.report(req.IncludeSVG)
	r.Timing = diag.NewTiming(began, env.Now())
	return r, nil
}

func (e *evidence) discover(ctx context.Context, env *diag.Env, req Request) error {
	var err error
	var g diag.Group
	bounded, cancel := diag.Within(ctx, record.Timeout)
	defer cancel()
	g.Go(func() { e.discovery, err = record.Discover(ctx, env, req.Domain, req.Selector) })
	g.Go(func() { e.apex = diag.Lookup[*dns.SOA](bounded, env, req.Domain.FQDN()) })
	g.Wait()
	if err != nil {
		return err
	}
	own := e.discovery.Own().Answer
	if own.Silent() && e.apex.Silent() {
		return fmt.Errorf("looking up the BIMI record of %s: %w", req.Domain, diag.Unavailable(diag.DefaultResolver,
			own.Err()))
	}
	if e.place, e.failure = e.discovery.Applies(e.discovery.Organizational()); e.failure == nil && e.place != nil {
		e.record = e.place.Record
	}
	return nil
}

// Rules describes what is examined.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(include bool) *Report {
	r := &Report{Verdict: rules().Judge(e, texts), Facts: noFacts, Partial: e.failure != nil || e.apex.Err() != nil}
	if e.discovery != nil {
		r.Domain = e.domain.String()
	}
	if e.record != nil {
		r.Record = strings.ToValidUTF8(e.record.List.Text, "\uFFFD")
		r.URL = strings.ToValidUTF8(e.record.Location.Text, "\uFFFD")
	}
	if e.fetched == nil {
		return r
	}
	r.Facts, r.Partial = e.fetched.facts(), e.fetched.Unanswered()
	if include {
		r.SVGBase64 = base64.StdEncoding.EncodeToString(e.fetched.Image)
	}
	return r
}

// timeout bounds the fetch of a logo; what has not arrived by then is reported as unknown, before the caller's
// deadline, usually 15 seconds (CONTRACT 1.9).
const timeout = 10 * time.Second

// A Fetched is the response to a request for a logo, and its verdict.
type Fetched struct {
	URL    diag.URL
	Result *fetch.Result
	// Image is the image without compression; nil if none was served, or not as a whole.
	Image      []byte
	Compressed bool // it was compressed, by the server or as a file
	// Document describes the image; nil without one.
	Document *svg.Document

	at     time.Time
	nested bool  // the server compressed what was compressed
	broken error // why the file could not be decompressed
}

// Fetch fetches a logo and judges it. It continues if the certificate of the web server is not trusted, so that all
// faults are found in one pass. The address must begin with https. The error is a *[diag.InputError], or that of the
// context; whatever else happens is in the result.
func Fetch(ctx context.Context, env *diag.Env, u diag.URL) (*Fetched, error) {
	if u.Scheme() != "https" {
		return nil, input.Invalid("url", "must begin with https://, as receivers fetch no logo otherwise")
	}
	r, err := fetch.Do(ctx, env, fetch.Request{
		URL: u, Header: http.Header{"Accept": {"image/svg+xml, */*;q=0.1"}}, MaxRedirects: fetch.DefaultRedirects,
		MaxBytes: svg.MaxBytes, Timeout: diag.TimeLeft(ctx, timeout), Ports: diag.WebPorts, AllowUntrusted: true,
	})
	if err != nil {
		return nil, err
	}
	f := &Fetched{URL: u, Result: r, at: env.Now()}
	f.read()
	return f, nil
}

func (f *Fetched) read() {
	r := f.Result
	if f.head().StatusCode != http.StatusOK || r.Err != nil || r.Truncated {
		return
	}
	coded := r.Encoding != "" && r.Encoding != "identity"
	image, compressed, err := svg.Decode(r.Body)
	f.Compressed, f.nested, f.broken = coded || compressed, coded && compressed, err
	if err == nil {
		f.Image, f.Document = image, svg.Validate(image)
	}
}

// Unanswered reports whether the logo is unknown because servers did not answer.
func (f *Fetched) Unanswered() bool { return f.Result.Err != nil && f.Result.Err.Unanswered }

// head returns the last response; zero without one.
func (f *Fetched) head() fetch.Hop { return kit.OrZero(f.Result.Final()) }

func (f *Fetched) contentType() string { return phrase.Quote(f.head().Header.Get("Content-Type")) }

// Facts are the facts about a logo, without a verdict.
type Facts struct {
	URL             string      `json:"url" doc:"address of the logo"`
	FinalURL        string      `json:"final_url" doc:"address after redirects"`
	StatusCode      int         `json:"status_code,omitempty" doc:"status of the last answer; absent if there was none"`
	ContentType     string      `json:"content_type,omitempty" doc:"media type that the server gave it"`
	SizeBytes       *int        `json:"size_bytes,omitempty" min:"0" doc:"size of the image without compression"`
	Compressed      bool        `json:"compressed" doc:"whether it was compressed, by the server or as a file (.svgz)"`
	SHA256          string      `json:"sha256,omitempty" doc:"SHA-256 of the image without compression, in hexadecimal digits"`
	SVG             SVG         `json:"svg,omitzero" doc:"what the image says about itself"`
	TinyPSCompliant bool        `json:"tiny_ps_compliant" doc:"whether the image was examined and follows the schema of SVG Tiny PS, without a DTD, entities and processing instructions, in at most 32 KiB"`
	SizeOK          bool        `json:"size_ok" doc:"whether the image was examined and has at most 32 KiB without compression"`
	Forbidden       []string    `json:"forbidden" doc:"what the image holds that is kept out for safety, such as script or external_reference"`
	Redirects       int         `json:"redirect_count" min:"0" doc:"how many redirects led to the last address"`
	Faults          []svg.Fault `json:"faults" maxitems:"100" doc:"departures from the profile with their places, in the order of the image"`
	FaultsCount     int         `json:"faults_count" min:"0" doc:"all departures, including those that are not listed"`
}

// A Logo holds the facts about a logo and their verdict. Reports about more than the logo hold one.
type Logo struct {
	Facts
	Findings []diag.Finding `json:"findings" doc:"what is wrong with the logo, the worst first"`
}

// SVG describes an image.
type SVG struct {
	Version     string  `json:"version" doc:"version of SVG" example:"1.2"`
	BaseProfile string  `json:"base_profile" doc:"profile that it declares" example:"tiny-ps"`
	Title       string  `json:"title,omitempty" doc:"title"`
	Desc        string  `json:"desc,omitempty" doc:"description"`
	ViewBox     string  `json:"view_box" doc:"viewBox of the root" example:"0 0 64 64"`
	Width       string  `json:"width,omitempty" doc:"width of the root"`
	Height      string  `json:"height,omitempty" doc:"height of the root"`
	AspectRatio float64 `json:"aspect_ratio,omitempty" min:"0" doc:"width by height; absent if it is not known"`
	Square      bool    `json:"square" doc:"whether it is as wide as it is high"`

	present bool // so that zeros are not absent
}

// UnmarshalJSON reads what is there, zeros included.
func (s *SVG) UnmarshalJSON(data []byte) error {
	type plain SVG
	s.present = true
	return json.Unmarshal(data, (*plain)(s))
}

const maxFaults = 100

func (f *Fetched) facts() Facts {
	facts := Facts{
		URL: f.URL.String(), FinalURL: f.Result.URL.String(), StatusCode: f.head().StatusCode, ContentType: f.contentType(),
		Compressed: f.Compressed, Forbidden: []string{}, Faults: []svg.Fault{}, Redirects: f.redirects(),
	}
	d := f.Document
	if d == nil {
		return facts
	}
	facts.SizeBytes, facts.SHA256 = &d.Size, fmt.Sprintf("%x", sha256.Sum256(f.Image))
	facts.TinyPSCompliant, facts.SizeOK = d.Compliant(), d.Size <= svg.MaxLogo
	facts.Forbidden = d.Forbidden()
	facts.Faults = append(facts.Faults, d.Faults[:min(len(d.Faults), maxFaults)]...)
	for _, n := range d.Counts {
		facts.FaultsCount += n
	}
	if d.Counts[svg.NotSVG] == 0 {
		facts.SVG = SVG{
			present: true,
			Version: d.Version, BaseProfile: d.BaseProfile, Title: d.Title, Desc: d.Desc, ViewBox: d.ViewBox,
			Width: d.Width, Height: d.Height, AspectRatio: d.Box.AspectRatio(), Square: d.Square(),
		}
	}
	return facts
}

func (f *Fetched) redirects() int {
	return view.CountIf(f.Result.Hops, func(h fetch.Hop) bool { return h.RedirectType != "" })
}

// Logo returns the facts about the logo and their verdict.
func (f *Fetched) Logo() Logo { return Logo{f.facts(), f.Verdict().Findings} }

// Verdict judges the logo, its address and its web server.
func (f *Fetched) Verdict() diag.Verdict { return logoRules().Judge(&evidence{fetched: f}, texts) }

var noFacts = Facts{Forbidden: []string{}, Faults: []svg.Fault{}}
