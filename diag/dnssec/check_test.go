package dnssec

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// anchored returns the environment of a world with the keys of its root as trust anchors.
func anchored(w *diagtest.World) *diag.Env {
	env := w.NewEnv()
	for _, ds := range w.Anchors() {
		env.TrustAnchors = append(env.TrustAnchors, ds)
	}
	return env
}

const zoneText = `
	example.com.        SOA ns.example.com. admin.example.com. 7 7200 900 1209600 300
	example.com.        NS  ns.example.com.
	www.example.com.    A   192.0.2.1
	alias.example.com.  CNAME www.example.org.
	*.wild.example.com. TXT "for all"
	a.ent.example.com.  A   192.0.2.2
	plain.example.com.  NS  ns.plain.example.com.
	plain.example.com.  SOA ns.plain.example.com. admin.example.com. 7 7200 900 1209600 300
	www.plain.example.com. A 192.0.2.4
	www.example.org.    A   192.0.2.3`

// The zones of the small Internet in memory validate, however they are signed.
func TestWorlds(t *testing.T) {
	signings := map[string]diagtest.Signing{
		"usual":   {},
		"one key": {OneKey: true},
		"RSA":     {Algorithm: 8},
		"Ed25519": {Algorithm: 15},
		"NSEC3":   {NSEC3: &diagtest.NSEC3{}},
		"salt":    {NSEC3: &diagtest.NSEC3{Salt: "aabb", Iterations: 5}},
		"SHA-384": {Digest: dns.SHA384},
	}
	questions := []struct {
		name   string
		rrtype uint16
		want   diag.DNSSECStatus
	}{
		{"example.com.", dns.TypeSOA, diag.Secure},
		{"www.example.com.", dns.TypeA, diag.Secure},
		{"www.example.com.", dns.TypeAAAA, diag.Secure},
		{"nope.example.com.", dns.TypeA, diag.Secure},
		{"nope.nope.nope.example.com.", dns.TypeA, diag.Secure},
		{"ent.example.com.", dns.TypeA, diag.Secure},
		{"x.wild.example.com.", dns.TypeTXT, diag.Secure},
		{"x.y.wild.example.com.", dns.TypeTXT, diag.Secure},
		{"x.wild.example.com.", dns.TypeA, diag.Secure},
		{"alias.example.com.", dns.TypeA, diag.Secure},
		{"alias.example.com.", dns.TypeTXT, diag.Secure},
		{"www.plain.example.com.", dns.TypeA, diag.Insecure},
		{"plain.example.com.", dns.TypeDS, diag.Secure},
		{"example.com.", dns.TypeDS, diag.Secure},
	}
	for name, signing := range signings {
		t.Run(name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(zoneText)
			w.Sign("example.com.", signing)
			w.Sign("example.org.", signing)
			v := Validator{Env: anchored(w)}
			for _, q := range questions {
				r, err := v.Validate(t.Context(), q.name, q.rrtype)
				require.NoError(t, err)
				assert.Equal(t, q.want, r.Status, "%s %s: %v", q.name, dns.Type(q.rrtype), r.Failure)
			}
		})
	}
}

// A chain of three zones takes the time of one answer, and few questions. If the answer shows more
// zones than could be guessed, it takes the time of two.
func TestQuestionsAtOnce(t *testing.T) {
	cases := []struct {
		name           string
		trips, queries int
	}{
		{"www.example.com", 1, 6},
		{"example.com", 1, 6},
		{"nope.example.com", 1, 6},
		{"www.sub.example.com", 1, 8},
		{"a.b.c.sub.example.com", 1, 8},
		{"alias.example.com", 3, 10},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			queries := 0
			trips := diagtest.DNSRoundTrips(t, func(w *diagtest.World) {
				w.Zone(zoneText)
				w.Zone(`
					sub.example.com.         SOA ns.sub.example.com. admin.example.com. 1 7200 900 1209600 300
					sub.example.com.         NS  ns.sub.example.com.
					www.sub.example.com.     A   192.0.2.9
					a.b.c.sub.example.com.   A   192.0.2.9`)
				w.Sign("sub.example.com.", diagtest.Signing{})
				w.Sign("example.org.", diagtest.Signing{})
				env := w.Env()
				for _, ds := range w.Anchors() {
					env.TrustAnchors = append(env.TrustAnchors, ds)
				}
			}, func(ctx context.Context, env *diag.Env) {
				v := Validator{Env: env}
				r, err := v.Validate(ctx, c.name, dns.TypeA)
				require.NoError(t, err)
				require.Equal(t, diag.Secure, r.Status, "%v", r.Failure)
				queries = r.Work.Queries
			})
			assert.LessOrEqual(t, trips, c.trips)
			assert.LessOrEqual(t, queries, c.queries)
		})
	}
}

// The resolver may be one that iterates from the root without a cache: it takes at most 16 queries to servers for a
// chain of three zones.
func TestOverIteration(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zoneText)
	w.Sign("example.com.", diagtest.Signing{})
	w.Sign("example.org.", diagtest.Signing{NSEC3: &diagtest.NSEC3{}})
	w.ServeZones()
	env := anchored(w)
	env.Resolver = &diagIterator{env}
	cases := []struct {
		name   string
		rrtype uint16
		want   diag.DNSSECStatus
	}{
		{"www.example.com.", dns.TypeA, diag.Secure},
		{"example.com.", dns.TypeSOA, diag.Secure},
		{"nope.example.com.", dns.TypeA, diag.Secure},
		{"www.example.org.", dns.TypeTXT, diag.Secure},
		{"nope.example.org.", dns.TypeA, diag.Secure},
		{"x.y.wild.example.com.", dns.TypeTXT, diag.Secure},
		{"alias.example.com.", dns.TypeA, diag.Secure},
		{"www.plain.example.com.", dns.TypeA, diag.Insecure},
	}
	for _, c := range cases {
		w.Forget()
		v := Validator{Env: env}
		r, err := v.Validate(t.Context(), c.name, c.rrtype)
		require.NoError(t, err)
		assert.Equal(t, c.want, r.Status, "%s: %v", c.name, r.Failure)
		t.Logf("%s: %d questions to servers, %d to the resolver", c.name, len(w.Queries()), r.Work.Queries)
		if dns.CountLabel(c.name) <= 3 && c.name != "alias.example.com." {
			assert.LessOrEqual(t, len(w.Queries()), 16, c.name)
		}
	}
}

// A diagIterator is the resolver of an environment that asks the servers of the zones themselves.
type diagIterator struct{ env *diag.Env }

func (i *diagIterator) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	return i.env.Iterator().Exchange(ctx, q)
}

func TestReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zoneText)
	w.Sign("example.com.", diagtest.Signing{Seed: "report", NSEC3: &diagtest.NSEC3{Salt: "aa"}})
	r, err := Check(t.Context(), anchored(w), Request{Domain: diag.MustName("www.Example.com."),
		Type: resolve.Type(dns.TypeTXT)})
	require.NoError(t, err)
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.golden", append(text, '\n'))
}

func TestReportOfAFailure(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zoneText)
	w.Sign("example.com.", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.SigExpired}}})
	r, err := Check(t.Context(), anchored(w), Request{Domain: diag.MustName("example.com")})
	require.NoError(t, err)
	assert.Equal(t, diag.Bogus, r.Status)
	assert.Equal(t, "SOA", r.Type.String())
	assert.True(t, r.Signed)
	assert.False(t, r.Answer.RRSIGValid)
	assert.Equal(t, ChainFault{Zone: "example.com", Code: codeSigExpired,
		Message: "The signature over DNSKEY example.com by the key 41247 expired at 2025-12-31 00:00:00 UTC"}, r.FirstFailure)
	assert.Equal(t, []diag.Code{codeSigExpired}, diagtest.CodesOf(r.Findings))
	require.Len(t, r.Recommendations, 1)
	assert.Equal(t, diag.High, r.Recommendations[0].Priority)
	assert.Equal(t, rules.Describe(), r.Rules())
}

func TestCheckErrors(t *testing.T) {
	silent := &diag.Env{Resolver: mute{}, Dial: unreachable}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(t.Context(), silent, Request{})
	input, ok := errors.AsType[*diag.InputError](err)
	require.True(t, ok)
	assert.Equal(t, "domain", input.Field)
	_, err = Check(t.Context(), silent, Request{Domain: diag.MustName("example.com"), Type: resolve.Type(dns.TypeANY)})
	input, ok = errors.AsType[*diag.InputError](err)
	require.True(t, ok)
	assert.Equal(t, "qtype", input.Field)
	_, err = Check(t.Context(), silent, Request{Domain: diag.MustName("example.com")})
	require.ErrorIs(t, err, diag.ErrUnavailable)
	_, err = Check(ended, silent, Request{Domain: diag.MustName("example.com")})
	require.ErrorIs(t, err, context.Canceled)
	v := Validator{Env: silent}
	_, err = v.Validate(t.Context(), "a..b", dns.TypeA)
	_, ok = errors.AsType[*diag.InputError](err)
	require.True(t, ok)
}

// mute is a resolver that does not answer.
type mute struct{}

func (mute) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) {
	return nil, errors.New("nobody there")
}

// hanging is a resolver that answers nothing but some questions, and waits otherwise.
type hanging struct {
	diag.Resolver
	answers func(dns.Question) bool
}

func (h hanging) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if h.answers(q.Question[0]) {
		return h.Resolver.Exchange(ctx, q)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Missing answers are reported as unknown before the caller's deadline; nothing is left running.
func TestTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(zoneText)
		w.Sign("example.com.", diagtest.Signing{})
		env := anchored(w)
		env.Resolver = hanging{w, func(q dns.Question) bool { return q.Name != "example.com." }}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		r, err := Check(ctx, env, Request{Domain: diag.MustName("www.example.com"), Type: resolve.Type(dns.TypeA)})
		require.NoError(t, err)
		assert.Equal(t, diag.Indeterminate, r.Status)
		assert.Equal(t, codeDSUnavailable, r.FirstFailure.Code)
		assert.Equal(t, "com", r.FirstFailure.Zone)
		assert.Less(t, time.Since(began), 5*time.Second)
	})
}

// The keys of a zone that is not signed anyway are not waited for as long as those that matter.
func TestKeysOfNoConsequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(zoneText)
		w.Sign("example.com.", diagtest.Signing{Island: true})
		env := anchored(w)
		r, err := Check(t.Context(), env, Request{Domain: diag.MustName("example.com")})
		require.NoError(t, err)
		assert.Equal(t, []diag.Code{"dnssec.ds.island"}, diagtest.CodesOf(r.Findings))
		env = anchored(w)
		env.Resolver = hanging{w, func(q dns.Question) bool { return q.Name != "example.com." || q.Qtype != dns.TypeDNSKEY }}
		began := time.Now()
		r, err = Check(t.Context(), env, Request{Domain: diag.MustName("example.com")})
		require.NoError(t, err)
		assert.Equal(t, diag.Insecure, r.Status)
		assert.Equal(t, []diag.Code{codeDSMissing}, diagtest.CodesOf(r.Findings))
		assert.Equal(t, grace, time.Since(began))
	})
}

// A panic over an answer reaches the caller, who can handle it.
func TestPanicReachesTheCaller(t *testing.T) {
	env := &diag.Env{Resolver: hanging{nil, func(dns.Question) bool { return true }}}
	require.Panics(t, func() { _, _ = (&Validator{Env: env}).Validate(t.Context(), "example.com", dns.TypeA) })
}

// A resolver of the user's own may return what no server can send.
func TestHostileMessages(t *testing.T) {
	h := dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeDS, Class: dns.ClassINET}
	for _, m := range []*dns.Msg{
		nil, {}, {MsgHdr: dns.MsgHdr{Truncated: true}},
		{Answer: []dns.RR{nil, (*dns.A)(nil), (*dns.RRSIG)(nil), &dns.A{Hdr: h}, &dns.RFC3597{Hdr: h}, &dns.DS{Hdr: h}}},
		{Answer: []dns.RR{&dns.DS{Hdr: dns.RR_Header{Name: "..", Rrtype: dns.TypeDS, Class: dns.ClassINET}}}},
	} {
		env := &diag.Env{Resolver: fixed{m}}
		r, err := (&Validator{Env: env}).Validate(t.Context(), "example.com", dns.TypeDS)
		require.NoError(t, err)
		require.NotEqual(t, diag.Secure, r.Status)
	}
}

// fixed is a resolver that answers everything with one message.
type fixed struct{ m *dns.Msg }

func (f fixed) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) { return f.m, nil }

// A zone says nothing about its own DS record, even if it is a trust anchor itself.
func TestDSOfAnAnchor(t *testing.T) {
	f := newFarm(t)
	f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
		m.Answer, m.Ns = nil, f.signed("zone.test.", "zone.test. 300 NSEC www.zone.test. NS SOA RRSIG NSEC DNSKEY")
	})
	v := Validator{Env: f.env(), Anchors: []dns.RR{f.keys["zone.test."][0].DNSKEY}}
	r, err := v.Validate(t.Context(), "zone.test.", dns.TypeDS)
	require.NoError(t, err)
	assert.Equal(t, diag.Indeterminate, r.Status)
	r, err = v.Validate(t.Context(), "www.zone.test.", dns.TypeA)
	require.NoError(t, err)
	assert.Equal(t, diag.Secure, r.Status)
	assert.Equal(t, "zone.test.", r.Anchor)
}

// Signatures with SHA-1 are validated as any others.
func TestSHA1(t *testing.T) {
	f := newFarm(t)
	f.rekey("zone.test.", f.key("zone.test.", dns.RSASHA1NSEC3SHA1, 2048, 257))
	v := Validator{Env: f.env()}
	r, err := v.Validate(t.Context(), "www.zone.test.", dns.TypeA)
	require.NoError(t, err)
	assert.Equal(t, diag.Secure, r.Status, "%v", r.Failure)
}
