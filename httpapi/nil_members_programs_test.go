package httpapi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/zonecheck"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/deliverability"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarcbis"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/webcheck/crawl"
	"github.com/diagkit/diagkit/webcheck/headers"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/phishing"
	"github.com/diagkit/diagkit/webcheck/redirect"
	"github.com/diagkit/diagkit/webcheck/tlscert"
	"github.com/stretchr/testify/assert"
)

// A program is the first code that a user writes after reading the package's documentation.
type program func(ctx context.Context, env *diag.Env, d diag.Domain) (string, error)

// prints makes a program of a diagnostic.
func prints[Req, Rep any](f func(context.Context, *diag.Env, Req) (*Rep, error), ask func(diag.Domain) Req,
	print func(*Rep) []any) program {
	return func(ctx context.Context, env *diag.Env, d diag.Domain) (string, error) {
		r, err := f(ctx, env, ask(d))
		if err != nil {
			return "", err
		}
		return fmt.Sprint(print(r)...), nil
	}
}

func site(d diag.Domain) diag.URL { return diag.MustURL("https://" + d.String() + "/") }

// programs are some for each family.
var programs = map[string]program{
	"dns-check": prints(zonecheck.Check, func(d diag.Domain) zonecheck.Request {
		return zonecheck.Request{Domain: d}
	}, func(r *zonecheck.Report) []any { return []any{r.SOA.Serial, r.SOA.Serials} }),
	"dnssec": prints(dnssec.Check, func(d diag.Domain) dnssec.Request { return dnssec.Request{Domain: d.Name()} },
		func(r *dnssec.Report) []any { return []any{r.FirstFailure.Zone, r.FirstFailure.Message} }),
	"rdap": prints(registry.LookupDomain, func(d diag.Domain) registry.DomainRequest {
		return registry.DomainRequest{Domain: d}
	}, func(r *registry.DomainReport) []any {
		return []any{r.Dates.ExpiresAt.After(r.CheckedAt), r.Registrar.Name}
	}),
	"ip/whois": prints(registry.LookupIP, func(diag.Domain) registry.IPRequest {
		return registry.IPRequest{IP: diag.MustIP("192.0.2.1")}
	}, func(r *registry.IPReport) []any {
		return []any{r.Organization.Name, r.ASN.Number, r.Network.UpdatedAt.Year()}
	}),
	"spf": prints(spf.Lookup, func(d diag.Domain) spf.LookupRequest { return spf.LookupRequest{Domain: d} },
		func(r *spf.LookupReport) []any { return []any{r.Tree.Children, r.IPTest.Result} }),
	"dkim": prints(dkim.Lookup, func(d diag.Domain) dkim.LookupRequest {
		return dkim.LookupRequest{Domain: d, Selector: diag.MustSelector("s1")}
	}, func(r *dkim.LookupReport) []any { return []any{r.PublicKey.SizeBits} }),
	"dmarc": prints(dmarc.Lookup, func(d diag.Domain) dmarc.LookupRequest { return dmarc.LookupRequest{Domain: d} },
		func(r *dmarc.LookupReport) []any { return []any{r.Effective.Policy} }),
	"dmarcbis": prints(dmarcbis.Check, func(d diag.Domain) dmarcbis.CheckRequest {
		return dmarcbis.CheckRequest{Domain: d}
	}, func(r *dmarcbis.CheckReport) []any { return []any{r.Analysis.Effective.Policy} }),
	"bimi": prints(bimi.Lookup, func(d diag.Domain) bimi.LookupRequest { return bimi.LookupRequest{Domain: d} },
		func(r *bimi.LookupReport) []any { return []any{r.Logo.SVG.Title, r.Certificate.Subject.CommonName} }),
	"mta-sts": prints(mtasts.Lookup, func(d diag.Domain) mtasts.Request { return mtasts.Request{Domain: d} },
		func(r *mtasts.Report) []any { return []any{r.TLS.Version} }),
	"domain-check": prints(domaincheck.Check, func(d diag.Domain) domaincheck.Request {
		return domaincheck.Request{Domain: d}
	}, func(r *domaincheck.Report) []any {
		return []any{r.Pillars.Sending.SPF.State, r.Pillars.Receiving.SMTP.State}
	}),
	"deliverability": prints(deliverability.Score, func(d diag.Domain) deliverability.Request {
		return deliverability.Request{Domain: d}
	}, func(r *deliverability.Report) []any {
		return []any{r.Components.Reputation.Points, r.Advice.Action.Message}
	}),
	"certificate": prints(tlscert.Check, func(d diag.Domain) tlscert.Request {
		return tlscert.Request{Host: tlscert.MustHost(d.String())}
	}, func(r *tlscert.Report) []any {
		return []any{r.TLS.Version, r.Certificate.Issuer.CommonName, r.ExpiresAt.Year(), r.CAA.Records, r.Error.Message}
	}),
	"headers": prints(headers.Check, func(d diag.Domain) headers.Request { return headers.Request{URL: site(d)} },
		func(r *headers.Report) []any { return []any{r.Observatory.Grade, r.TLS.Version, r.Error.Code} }),
	"hsts": prints(hsts.Check, func(d diag.Domain) hsts.Request { return hsts.Request{Domain: d} },
		func(r *hsts.Report) []any { return []any{r.Header.Raw, r.TLS.Version, r.Preload.Removal.Ready} }),
	"crawl": prints(crawl.Check, func(d diag.Domain) crawl.Request { return crawl.Request{URL: site(d)} },
		func(r *crawl.Report) []any {
			return []any{r.Metadata.Title, r.Text.Words, r.Links.Items, r.Images.Count, r.Size.HTMLBytes, r.Timings.TotalMS}
		}),
	"redirect": prints(redirect.Check, func(d diag.Domain) redirect.Request {
		return redirect.Request{URL: site(d).String()}
	}, func(r *redirect.Report) []any { return []any{r.Error.Code, r.Error.Message} }),
	"phishing": prints(phishing.Check, func(d diag.Domain) phishing.Request {
		return phishing.Request{URL: site(d).String()}
	}, func(r *phishing.Report) []any { return []any{r.Lookalike.Brand, r.TLS.Issuer} }),
}

// hosts are one that exists, and some that do not or are broken, of a troubled world.
var hosts = []string{"example.com", "nothing.example", "servfail.example", "silent.example", "plain.example"}

// No program panics, whatever the state of the domain.
func TestProgramsWithoutNilChecks(t *testing.T) {
	for name, run := range programs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := troubledWorld(t).Env()
				for _, host := range hosts {
					assert.NotPanics(t, func() {
						_, err := run(t.Context(), env, diag.MustDomain(host))
						assert.True(t, err == nil || errors.Is(err, diag.ErrUnavailable), "%v", err)
					}, host)
				}
			})
		})
	}
}
