package logo

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/miekg/dns"
)

// Request asks for the examination of one logo, given by its address or by the domain that publishes it.
type Request struct {
	URL        diag.URL      `json:"url,omitzero" oneof:"logo" doc:"address of the logo, which begins with https" example:"https://brand.good.example/logo.svg"`
	Domain     diag.Domain   `json:"domain,omitzero" oneof:"logo" doc:"domain whose BIMI record names the logo"`
	Selector   diag.Selector `json:"selector,omitempty" default:"default" doc:"selector of the record; only with domain"`
	IncludeSVG bool          `json:"include_svg,omitempty" default:"false" doc:"whether the reply holds the image"`
}

// Report says what a logo is, and what to think of it.
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
	place     *record.Place     // where the records are that apply; nil if there are none
	record    *record.Record    // the record; nil if there is none, or more than one
	failure   error             // why it is not known which record applies
	apex      diag.Answer[*dns.SOA]

	fetched *Fetched // nil if there was no address to fetch
}

// Lookup fetches a logo and judges it. The error is a *[diag.InputError], that of the context if it ended, or wraps
// [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	began := env.Now()
	switch {
	case req.URL.IsZero() == req.Domain.IsZero():
		return nil, diag.Invalid("url", "or domain must be given, and not both")
	case req.Domain.IsZero() && !req.Selector.IsZero() && req.Selector.String() != record.DefaultSelector:
		return nil, diag.Invalid("selector", "makes sense with domain only")
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
		return fmt.Errorf("looking up the BIMI record of %s: %w", req.Domain, diag.Unavailable(diag.DefaultResolver, own.Err()))
	}
	if e.place, e.failure = e.discovery.Applies(e.discovery.Organizational()); e.failure == nil && e.place != nil {
		e.record = e.place.Record
	}
	return nil
}

// Rules describes what is examined.
func (*Report) Rules() []diag.RuleInfo { return rules().Describe() }

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
