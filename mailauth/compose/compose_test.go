package compose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/require"
)

// fakeReport is the report of a part that was judged elsewhere.
type fakeReport struct {
	diag.Verdict
	states map[diag.Code]diag.State
}

func (r *fakeReport) Rules() (list []rule.Description) {
	for code, state := range r.states {
		list = append(list, rule.Description{Code: code, State: state})
	}
	return list
}

// A fault is a finding of a fake part.
type fault struct {
	code     diag.Code
	severity diag.Severity
	target   string
	suggest  string
	unknown  bool
}

func part(kind Kind, score int, faults ...fault) *Summary {
	v := diag.Verdict{State: diag.Valid, Score: new(score), Band: rule.BandOf(score)}
	states := map[diag.Code]diag.State{}
	for _, f := range faults {
		v.Findings = append(v.Findings, diag.Finding{
			Code: f.code, Severity: f.severity, Title: "Title of " + string(f.code), Detail: string(f.code) + " at " + f.target,
			Advice: "Mend " + string(f.code) + ".", Target: f.target,
		})
		v.Recommendations = append(v.Recommendations, diag.Recommendation{
			Code: f.code, Title: "Title", Detail: "Mend " + string(f.code) + ".", SuggestedValue: f.suggest,
		})
		if f.unknown {
			states[f.code], v.State, v.Score, v.Band = diag.Unknown, diag.Unknown, nil, diag.Undetermined
		}
	}
	s := Summarize(kind, &fakeReport{v, states})
	return &s
}

func whole(parts ...*Summary) *Composite {
	c := &Composite{
		Good:       diag.Text{Headline: "All in order", Sub: "Nothing to do."},
		Incomplete: diag.Text{Headline: "In order as far as known", Sub: "Something is open."},
	}
	for _, p := range parts {
		c.Parts = append(c.Parts, WeightedPart{Summary: p, Weight: 100})
	}
	return c
}

// The first action fixes the gravest fault; of equally grave ones, the one that affects mail most.
func TestOrder(t *testing.T) {
	v := whole(
		part(BIMI, 0, fault{code: "bimi.record.syntax", severity: diag.Critical}),
		part(DMARC, 50, fault{code: "dmarc.policy.none", severity: diag.Warning}),
		part(SPF, 30, fault{code: "spf.all.pass", severity: diag.Critical}),
		part(MX, 30, fault{code: "mx.host.address", severity: diag.Error}),
		part(SMTP, 60, fault{code: "smtp.relay.open", severity: diag.Error}),
		part(TLSRPT, 0, fault{code: "tlsrpt.record.missing", severity: diag.Warning}),
		part(DNSSEC, 90, fault{code: "dnssec.ds.missing", severity: diag.Info}),
	).Verdict()
	require.Equal(t, []diag.Code{
		"spf.all.pass", "bimi.record.syntax", "mx.host.address", "smtp.relay.open", "dmarc.policy.none", "tlsrpt.record.missing",
		"dnssec.ds.missing",
	}, diagtest.Codes(v), "the worst first")
	var actions []diag.Code
	for _, r := range v.Recommendations {
		actions = append(actions, r.Code)
	}
	require.Equal(t, []diag.Code{
		"mx.host.address", "spf.all.pass", "bimi.record.syntax", "smtp.relay.open", "dmarc.policy.none", "tlsrpt.record.missing",
		"dnssec.ds.missing",
	}, actions, "what loses mail now comes first")
	require.Equal(t, "Fix first: title of mx.host.address", v.Headline)
	require.Equal(t, "Mend mx.host.address. After that, 3 errors and 2 warnings remain.", v.Sub)
	require.Equal(t, diag.Bad, v.State)
	require.Equal(t, "32", diagtest.Score(v))
	require.Equal(t, "spf", v.Findings[0].Target)
}

func TestCaps(t *testing.T) {
	for severity, want := range map[diag.Severity]string{
		diag.Critical: "39", diag.Error: "69", diag.Warning: "89", diag.Info: "98",
	} {
		v := whole(part(SPF, 100), part(DMARC, 94, fault{code: "dmarc.x.y", severity: severity}), part(MX, 100)).Verdict()
		require.Equal(t, want, diagtest.Score(v), severity)
	}
}

func TestNothingTwice(t *testing.T) {
	missing := fault{code: "tlsrpt.record.missing", severity: diag.Warning}
	told := fault{code: "mtasts.tls_rpt.missing", severity: diag.Warning, suggest: "v=TLSRPTv1; rua=mailto:a@example.com"}
	for _, tt := range []struct {
		name  string
		parts []*Summary
		want  []diag.Code
	}{
		{"told by the part that has it", []*Summary{part(MTASTS, 90, told), part(TLSRPT, 0, missing)},
			[]diag.Code{"tlsrpt.record.missing"}},
		{"kept where only another part tells it", []*Summary{part(MTASTS, 90, told), part(TLSRPT, 100)},
			[]diag.Code{"mtasts.tls_rpt.missing"}},
		{"the same host", []*Summary{
			part(MTASTS, 90, fault{code: "mtasts.mx.address", severity: diag.Warning, target: "a"}),
			part(MX, 0, fault{code: "mx.host.address", severity: diag.Error, target: "a"}),
		}, []diag.Code{"mx.host.address"}},
		{"another host", []*Summary{
			part(MTASTS, 90, fault{code: "mtasts.mx.address", severity: diag.Warning, target: "b"}),
			part(MX, 0, fault{code: "mx.host.address", severity: diag.Error, target: "a"}),
		}, []diag.Code{"mx.host.address", "mtasts.mx.address"}},
		{"a consequence that is graver than its cause", []*Summary{
			part(MTASTS, 90, fault{code: "mtasts.tls_rpt.missing", severity: diag.Error}), part(TLSRPT, 0, missing),
		}, []diag.Code{"mtasts.tls_rpt.missing", "tlsrpt.record.missing"}},
		{"two hosts, the cause is told of one", []*Summary{
			part(MTASTS, 90, fault{code: "mtasts.mx.address", severity: diag.Warning, target: "a"},
				fault{code: "mtasts.mx.address", severity: diag.Warning, target: "b"}),
			part(MX, 0, fault{code: "mx.host.address", severity: diag.Error, target: "a"}),
		}, []diag.Code{"mx.host.address", "mtasts.mx.address"}},
		{"failed lookups of several parts", []*Summary{
			part(SPF, 0, fault{code: "spf.record.unknown", severity: diag.Error, unknown: true}),
			part(DMARC, 0, fault{code: "dmarc.record.unknown", severity: diag.Error, unknown: true}), part(MX, 100),
		}, []diag.Code{"check.lookups.failed"}},
		{"a failed lookup of one part", []*Summary{
			part(SPF, 0, fault{code: "spf.record.unknown", severity: diag.Error, unknown: true}), part(MX, 100),
		}, []diag.Code{"spf.record.unknown"}},
	} {
		c := whole(tt.parts...)
		require.Equal(t, tt.want, diagtest.Codes(c.Verdict()), tt.name)
	}
}

// A fault is as grave in the composite as in its part.
func TestConsequence(t *testing.T) {
	v := whole(
		part(DMARC, 60, fault{code: "dmarc.policy.none", severity: diag.Warning}),
		part(BIMI, 50, fault{code: "bimi.dmarc.none", severity: diag.Error}),
	).Verdict()
	require.Equal(t, []diag.Code{"bimi.dmarc.none", "dmarc.policy.none"}, diagtest.Codes(v))
	require.Equal(t, []diag.Severity{diag.Error, diag.Warning}, []diag.Severity{v.Findings[0].Severity, v.Findings[1].Severity})
}

// A DS record brings TLSA records into force: those that would stop mail come first.
func TestDormantTLSA(t *testing.T) {
	unsigned := part(DNSSEC, 100, fault{code: "dnssec.ds.missing", severity: diag.Info})
	for code, first := range map[diag.Code]bool{"dane.tlsa.dormant": true, "dane.tlsa.insecure": false} {
		c := whole(unsigned, part(DANE, 50, fault{code: code, severity: diag.Warning}))
		recommendations := c.Verdict().Recommendations
		last := recommendations[len(recommendations)-1]
		require.Equal(t, diag.Code("dnssec.ds.missing"), last.Code)
		require.Equal(t, first, strings.HasPrefix(last.Detail, "Fix DANE first. Then: "), last.Detail)
	}
}

// Whether mail works is reported only if all that it depends on was examined.
func TestReady(t *testing.T) {
	yes, no := new(true), new(false)
	unknown := part(MX, 0, fault{code: "mx.lookup.unknown", severity: diag.Error, unknown: true})
	open := part(DANE, 100)
	open.verdict = rule.Rules[silentEvidence]{{
		Code: "dane.x.y", Severity: diag.Error, Requirement: "r", Fails: func(silentEvidence) rule.Failures { return nil },
	}}.Judge(silentEvidence{}, nil)
	open.rules["dane.x.y"] = rule.Description{Severity: diag.Error}
	untested := whole(part(SPF, 100), part(MX, 100))
	untested.Untested = true
	for _, tt := range []struct {
		name    string
		w       *Composite
		ready   *bool
		partial bool
		score   string
	}{
		{"all well", whole(part(SPF, 100), part(MX, 100)), yes, false, "100"},
		{"a warning", whole(part(SPF, 100, fault{code: "spf.x.y", severity: diag.Warning}), part(MX, 100)), yes, false, "89"},
		{"an error", whole(part(SPF, 60, fault{code: "spf.x.y", severity: diag.Error}), part(MX, 100)), no, false, "69"},
		{"an unknown part", whole(part(SPF, 100), part(DMARC, 100), unknown), nil, true, "none"},
		{"an error beside it", whole(part(SPF, 60, fault{code: "spf.x.y", severity: diag.Error}), unknown), no, true, "none"},
		{"an extra is unknown", whole(part(SPF, 100), part(MX, 100),
			part(BIMI, 0, fault{code: "bimi.record.unknown", severity: diag.Error, unknown: true})), yes, true, "89"},
		{"a question is open", whole(part(SPF, 100), open), nil, true, "89"},
		{"servers were not tested", untested, nil, false, "89"},
	} {
		v := tt.w.Verdict()
		require.Equal(t, []any{tt.ready, tt.partial, tt.score}, []any{tt.w.Ready(), tt.w.Partial(), diagtest.Score(v)}, tt.name)
	}
}

// silentEvidence had no answer to its question.
type silentEvidence struct{}

func (silentEvidence) Unanswered() []rule.Source { return []rule.Source{"x"} }

func TestSuggestions(t *testing.T) {
	none := fault{code: "dmarc.policy.none", severity: diag.Warning, suggest: "v=DMARC1; p=quarantine"}
	values := func(c *Composite) (list []string) {
		for _, r := range c.Verdict().Recommendations {
			if r.SuggestedValue != "" {
				list = append(list, r.SuggestedValue)
			}
		}
		return list
	}
	require.Equal(t, []string{"v=DMARC1; p=quarantine"}, values(whole(part(DMARC, 50, none), part(SPF, 100))))
	gated := whole(part(DMARC, 50, none), part(SPF, 0, fault{code: "spf.record.missing", severity: diag.Error}))
	require.Empty(t, values(gated), "what fails SPF would be lost")
	require.Equal(t, "Fix SPF first. Then: mend dmarc.policy.none.", gated.Verdict().Recommendations[1].Detail)
	require.Empty(t, values(whole(part(MTASTS, 90,
		fault{code: "mtasts.x.y", severity: diag.Warning, suggest: "v=TLSRPTv1; rua=mailto:a@example.com"}))),
		"not its own record")
	foreign := part(DMARC, 50, none)
	foreign.MarkForeign()
	require.Empty(t, values(whole(foreign)), "not its own domain")
	require.Len(t, values(whole(part(SPF, 50, fault{code: "spf.a.b", severity: diag.Warning, suggest: "v=spf1 -all"},
		fault{code: "spf.c.d", severity: diag.Warning, suggest: "v=spf1 ~all"}))), 1, "one value for one record")
	s1, s2 := fault{code: "dkim.a.b", severity: diag.Warning, suggest: "v=DKIM1; p=A"}, fault{code: "dkim.c.d", severity: diag.Warning, suggest: "v=DKIM1; p=B"}
	one, two := part(DKIM, 90, s1), part(DKIM, 90, s2)
	one.setTarget("dkim:s1")
	two.setTarget("dkim:s2")
	require.Len(t, values(whole(one, two)), 2, "two selectors are two records")
	c := whole(part(DMARC, 50, none))
	c.Withhold = func(string) bool { return true }
	require.Empty(t, values(c))
}

// Unknown parts do not count in the score and are never praised; if all are unknown, there is no score.
func TestIgnorance(t *testing.T) {
	spf := part(SPF, 0, fault{code: "spf.record.unknown", severity: diag.Error, unknown: true})
	c := whole(spf, part(DMARC, 100), part(MX, 100))
	v := c.Verdict()
	require.Equal(t, []any{diag.Unknown, "none", true}, []any{v.State, diagtest.Score(v), c.Partial()}, "an essential part")
	c = whole(part(DANE, 0, fault{code: "dane.mx.unknown", severity: diag.Error, unknown: true}), part(DMARC, 100), part(MX, 100))
	v = c.Verdict()
	require.Equal(t, []any{diag.Unknown, "none", true}, []any{v.State, diagtest.Score(v), c.Partial()}, "mail depends on it")
	c = whole(part(BIMI, 0, fault{code: "bimi.record.unknown", severity: diag.Error, unknown: true}), part(DMARC, 100), part(MX, 100))
	v = c.Verdict()
	require.Equal(t, []any{diag.Valid, "89", true, "Fix first: title of bimi.record.unknown"}, []any{v.State, diagtest.Score(v), c.Partial(), v.Headline})
	c = whole(spf, part(DMARC, 0, fault{code: "dmarc.record.unknown", severity: diag.Error, unknown: true}), part(MX, 100))
	v = c.Verdict()
	require.Equal(t, []any{diag.Unknown, "none", diag.Undetermined}, []any{v.State, diagtest.Score(v), v.Band}, "too little")
	c = whole(spf, part(DMARC, 0, fault{code: "dmarc.record.unknown", severity: diag.Error, unknown: true}))
	v = c.Verdict()
	require.Equal(t, []diag.Code{"check.domain.unavailable"}, diagtest.Codes(v))
	require.Equal(t, "Fix first: DNS does not answer for the domain", v.Headline)
	detail := part(DKIM, 0, fault{code: "dkim.keys.unknown", severity: diag.Info, unknown: true})
	c = whole(detail, part(SPF, 100), part(DMARC, 100))
	v = c.Verdict()
	require.Equal(t, []any{diag.Valid, "89", "In order as far as known"}, []any{v.State, diagtest.Score(v), v.Headline})
	c.Parts[0].MayBeUnknown = true
	require.Equal(t, "All in order", c.Verdict().Headline)
	require.Equal(t, "All in order", whole(part(SPF, 100)).Verdict().Headline)
}

// A part that fails does not take the others with it.
func TestFailedParts(t *testing.T) {
	var seen diagtest.Seen
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		run := Start(ctx, &diag.Env{})
		good := Go(run, SPF, func(context.Context, *diag.Env) (*fakeReport, error) {
			return &fakeReport{Verdict: diag.Verdict{State: diag.Valid}}, nil
		})
		parts := map[diag.Code]*Part[fakeReport]{
			"check.part.failed": Go(run, DKIM, func(context.Context, *diag.Env) (*fakeReport, error) { panic("a bug") }),
			"check.part.timeout": Go(run, DMARC, func(ctx context.Context, _ *diag.Env) (*fakeReport, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("examining: %w", ctx.Err())
			}),
			"check.part.unavailable": Go(run, MX, func(context.Context, *diag.Env) (*fakeReport, error) {
				return nil, diag.Unavailable(diag.DefaultResolver, errors.New("silence"))
			}),
		}
		panics := run.Wait()
		require.Len(t, panics, 1)
		require.Equal(t, "a bug", panics[0].Value)
		require.NoError(t, ctx.Err(), "there is time left to answer")
		require.True(t, good.Known())
		require.NotNil(t, good.Result)
		for code, p := range parts {
			require.Equal(t, diag.Unknown, p.State)
			require.Nil(t, p.Result)
			require.Error(t, p.Err)
			require.Equal(t, []diag.Code{code}, seen.Add(p.verdict))
		}
	})
	seen.Add(partRules.Judge(nil, partTexts))
	diagtest.CoverRules(t, partRules, seen)
	diagtest.CheckTexts(t, partTexts, partRules.Describe(), seen)
}

func TestWholeRules(t *testing.T) {
	var seen diagtest.Seen
	for _, e := range []lookupEvidence{{labels: []string{"SPF"}}, {labels: []string{"SPF", "MX"}}, {labels: []string{"SPF", "MX"}, all: true}} {
		seen.Add(wholeRules.Judge(&e, partTexts))
	}
	diagtest.CoverRules(t, wholeRules, seen)
}

func TestEffectOf(t *testing.T) {
	for _, tt := range []struct {
		code     diag.Code
		severity diag.Severity
		want     effect
	}{
		{"spf.syntax.value.missing", diag.Critical, loss}, {"spf.record.oversized", diag.Warning, acceptance},
		{"spf.all.pass", diag.Critical, forgery}, {"dnssec.signature.expired", diag.Critical, loss},
		{"dnssec.ds.missing", diag.Info, protection}, {"dnsbl.listed.decisive", diag.Warning, loss}, {"other.thing", diag.Error, protection},
	} {
		require.Equal(t, tt.want, effectOf(tt.code, tt.severity), tt.code)
	}
}

// A headline fits, whatever the title.
func TestHeadline(t *testing.T) {
	long := "Forty characters of a title and some more: and what stands behind it"
	for _, title := range []string{long, "Another title that has nearly all of the characters that it may have", "A"} {
		f := finding{diag.Finding{Title: title, Severity: diag.Error}, part(MTASTS, 1)}
		require.LessOrEqual(t, len([]rune(headlineOf(&f))), rule.MaxHeadline)
	}
}
