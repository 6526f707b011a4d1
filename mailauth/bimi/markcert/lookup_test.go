package markcert

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const markURL = "https://brand.example/mark.pem"

// zone is a domain with a record that names the certificate.
const zone = "example.com. SOA ns1.example.com. h.example.com. 1 2 3 4 5\nexample.com. MX 10 mx.example.com.\n"

func bimi(name, text string) string { return name + "._bimi.example.com. TXT \"" + text + "\"\n" }

func serve(status int, kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if w.Header()["Content-Type"] = nil; kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		w.Write([]byte(text))
	}
}

const pemType = "application/pem-certificate-chain"

// good serves a certificate without a fault.
func good(w *diagtest.World) { w.HTTPS("brand.example", serve(200, pemType, authority.Issue(mark{}))) }

func site(s diagtest.Site) func(*diagtest.World) {
	return func(w *diagtest.World) {
		s.Host = "brand.example"
		if s.Handler == nil {
			s.Handler = serve(200, pemType, authority.Issue(mark{}))
		}
		w.Site(s)
	}
}

func answer(status int, kind, text string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.HTTPS("brand.example", serve(status, kind, text)) }
}

func redirect(to string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.HTTPS("brand.example", http.RedirectHandler(to, http.StatusFound))
		w.HTTPS("files.example", serve(200, pemType, authority.Issue(mark{})))
		w.HTTP("files.example", serve(200, pemType, authority.Issue(mark{})))
	}
}

var named = zone + bimi("default", "v=BIMI1; l=https://brand.example/logo.svg; a="+markURL)

// lookupCases pairs what is published with what is reported.
var lookupCases = []struct {
	name    string
	zone    string
	world   func(*diagtest.World)
	request LookupRequest
	state   diag.State
	codes   []diag.Code
}{
	{"by URL", "", good, LookupRequest{URL: markURL}, diag.Valid, nil},
	{"by domain", named, good, domain("example.com"), diag.Valid, nil},
	{"inherited", named + "news.example.com. A 192.0.2.1\n", good, domain("news.example.com"), diag.Valid, codes()},
	{"other selector", zone + bimi("s1", "v=BIMI1; l=https://brand.example/logo.svg; a="+markURL), good,
		LookupRequest{Domain: diag.MustDomain("example.com"), Selector: diag.MustSelector("s1")}, diag.Valid, nil},
	{"selector of the certificate", named, answer(200, pemType, authority.Issue(mark{Domains: []string{"s1._bimi.example.com"}})),
		domain("example.com"), diag.Bad, codes("cert_domain_mismatch")},
	{"another domain", named, answer(200, pemType, authority.Issue(mark{Domains: []string{"example.net"}})),
		domain("example.com"), diag.Bad, codes("cert_domain_mismatch")},

	{"no record", zone, nil, domain("example.com"), diag.Missing, codes("markcert.record.missing")},
	{"no record below", zone + "a.example.com. A 192.0.2.1\n", nil, domain("a.example.com"), diag.Missing, codes("markcert.record.missing")},
	{"no domain", zone, nil, domain("example.org"), diag.Missing, codes("markcert.domain.nxdomain")},
	{"two records", named + bimi("default", "v=BIMI1; l=https://brand.example/other.svg"), good, domain("example.com"),
		diag.Bad, codes("markcert.record.several")},
	{"declined", zone + bimi("default", "v=BIMI1; l=; a="), nil, domain("example.com"), diag.Missing, codes("markcert.record.declined")},
	{"no certificate named", zone + bimi("default", "v=BIMI1; l=https://brand.example/logo.svg; a="), nil, domain("example.com"),
		diag.Missing, codes("markcert.record.none_named")},
	{"record without l", zone + bimi("default", "v=BIMI1; a="+markURL), good, domain("example.com"), diag.Bad, codes("markcert.record.invalid")},
	{"record with http", zone + bimi("default", "v=BIMI1; l=https://brand.example/logo.svg; a=http://brand.example/mark.pem"), good,
		domain("example.com"), diag.Bad, codes("cert_url_invalid")},

	{"http", "", good, LookupRequest{URL: "http://brand.example/mark.pem"}, diag.Bad, codes("cert_url_invalid")},
	{"no URL", "", good, LookupRequest{URL: "https://user@brand.example/"}, diag.Bad, codes("cert_url_invalid")},
	{"404", "", answer(404, "text/html", "gone"), LookupRequest{URL: markURL}, diag.Bad, codes("cert_fetch_failed")},
	{"500", "", answer(500, "", ""), LookupRequest{URL: markURL}, diag.Bad, codes("cert_fetch_failed")},
	{"no host", zone, nil, LookupRequest{URL: "https://www.example.com/mark.pem"}, diag.Bad, codes("cert_fetch_failed")},
	{"nothing listens", "brand.example. A 192.0.2.9\n", nil, LookupRequest{URL: markURL}, diag.Bad, codes("cert_fetch_failed")},
	{"too large", "", answer(200, pemType, strings.Repeat("x", maxBytes+1)), LookupRequest{URL: markURL}, diag.Bad, codes("cert_fetch_failed")},
	{"circle", "", redirect(markURL), LookupRequest{URL: markURL}, diag.Bad, codes("cert_fetch_failed")},
	{"redirect", "", redirect("https://files.example/mark.pem"), LookupRequest{URL: markURL}, diag.Valid, nil},
	{"redirect to http", "", redirect("http://files.example/mark.pem"), LookupRequest{URL: markURL}, diag.Bad,
		codes("markcert.fetch.insecure")},
	{"expired web certificate", "", site(diagtest.Site{Cert: diagtest.CertExpired}), LookupRequest{URL: markURL}, diag.Bad, codes("markcert.fetch.trust")},
	{"web certificate of another", "", site(diagtest.Site{Cert: diagtest.CertWrongName}), LookupRequest{URL: markURL}, diag.Bad, codes("markcert.fetch.trust")},
	{"old TLS", "", oldTLS, LookupRequest{URL: markURL}, diag.Warned, codes("markcert.fetch.tls_old")},
	{"page", "", answer(200, "text/html", "<html>"), LookupRequest{URL: markURL}, diag.Bad, codes("cert_pem_missing")},
	{"empty", "", answer(200, pemType, ""), LookupRequest{URL: markURL}, diag.Bad, codes("cert_pem_missing")},
	{"no type", "", answer(200, "", authority.Issue(mark{})), LookupRequest{URL: markURL}, diag.Valid, nil},
	{"text", "", answer(200, "text/plain; charset=us-ascii", authority.Issue(mark{})), LookupRequest{URL: markURL}, diag.Valid, nil},
	{"name", "", good, LookupRequest{URL: "https://brand.example/mark"}, diag.Valid, nil},
	{"certificate of the web server", "", answer(200, pemType, web()), LookupRequest{URL: markURL}, diag.Bad, codes("cert_not_vmc")},
}

func domain(name string) LookupRequest { return LookupRequest{Domain: diag.MustDomain(name)} }

func oldTLS(w *diagtest.World) {
	cert := w.Certificate(diagtest.CertSpec{Names: []string{"brand.example"}})
	site(diagtest.Site{HTTP1: true, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now,
		MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}})(w)
}

// web is a certificate for web servers.
func web() string {
	w, err := diagtest.New(diagtest.Config{})
	if err != nil {
		panic(err)
	}
	defer w.Close()
	return markcerttest.PEM(w.Certificate(diagtest.CertSpec{Names: []string{"example.com"}}).Leaf)
}

func lookupVerdicts(t *testing.T) []diag.Verdict {
	var seen diagtest.Seen
	for _, tt := range lookupCases {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			if tt.world != nil {
				tt.world(w)
			}
			env := w.NewEnv()
			env.Data = authority.Files()
			r, err := Lookup(t.Context(), env, tt.request)
			require.NoError(t, err)
			require.ElementsMatch(t, tt.codes, uniq(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.Equal(t, tt.state, r.State)
			require.Equal(t, r.State == diag.Valid || r.State == diag.Warned, r.Valid)
			require.False(t, r.Partial)
		})
	}
	t.Run("record unknown", func(t *testing.T) {
		e, err := newEvidence(testEnv(june))
		require.NoError(t, err)
		w := diagtest.NewWorld(t)
		w.Zone(named)
		w.Break("default._bimi.example.com", dns.RcodeServerFailure)
		require.NoError(t, e.find(t.Context(), w.Env(), domain("example.com")))
		require.Equal(t, codes("markcert.record.unknown"), seen.Add(e.lookupReport(w.Env()).Verdict))
	})
	t.Run("silent server", func(t *testing.T) { seen = append(seen, silent(t)) })
	return seen
}

// silent looks up a certificate whose server does not answer: the facts about the record are still reported.
func silent(t *testing.T) (v diag.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(named + "brand.example. A 192.0.2.9\n")
		w.Behave("192.0.2.9:443", diagtest.Unreachable)
		env := w.NewEnv()
		env.Data = authority.Files()
		r, err := Lookup(t.Context(), env, domain("example.com"))
		require.NoError(t, err)
		require.Equal(t, codes("markcert.fetch.unknown"), diagtest.Codes(r.Verdict))
		require.Equal(t, diag.Unknown, r.State)
		require.True(t, r.Partial)
		require.False(t, r.Valid)
		require.NotEmpty(t, r.Record)
		_, err = Lookup(t.Context(), env, LookupRequest{URL: markURL})
		require.ErrorIs(t, err, diag.ErrUnavailable)
		v = r.Verdict
	})
	return v
}

func TestLookupRefuses(t *testing.T) {
	w := diagtest.NewWorld(t)
	for _, req := range []LookupRequest{
		{}, {URL: markURL, Domain: diag.MustDomain("example.com")}, {URL: markURL, Selector: diag.MustSelector("s1")},
	} {
		_, err := Lookup(t.Context(), w.Env(), req)
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%v", err)
	}
	_, err := Parse(t.Context(), w.Env(), ParseRequest{PEM: " "})
	require.Error(t, err)
	_, err = Parse(t.Context(), w.Env(), ParseRequest{PEM: strings.Repeat("x", maxBytes+1)})
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Lookup(ctx, w.Env(), LookupRequest{URL: markURL})
	require.ErrorIs(t, err, context.Canceled)
}

// The record, then the host of the URL, its connection, its TLS and the answer.
func TestLookupRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(named); good(w) }, func(ctx context.Context, env *diag.Env) {
		_, err := Lookup(ctx, env, domain("example.com"))
		require.NoError(t, err)
	})
	require.LessOrEqual(t, trips, 5)
}

func TestCheck(t *testing.T) {
	w := diagtest.NewWorld(t)
	good(w)
	env := w.NewEnv()
	env.Data = authority.Files()
	r, err := Check(t.Context(), env, diag.MustURL(markURL), newPlace(diag.MustDomain("example.net"), "default"))
	require.NoError(t, err)
	require.Equal(t, codes("cert_domain_mismatch"), diagtest.Codes(r.Verdict))
	r, err = Check(t.Context(), env, diag.MustURL(markURL), nil)
	require.NoError(t, err)
	require.True(t, r.Valid)
}

// A list that cannot be read is an error that names the file.
func TestLists(t *testing.T) {
	for _, file := range []string{RootsFile, logsFile} {
		files := authority.Files()
		files[file].Data = []byte("{}")
		_, err := Parse(t.Context(), &diag.Env{Data: files}, ParseRequest{PEM: "x"})
		require.ErrorContains(t, err, file)
	}
	files := authority.Files()
	files[RootsFile].Data = []byte(authority.Issue(mark{}))
	_, err := roots(&diag.Env{Data: files})
	require.ErrorContains(t, err, "not that of an authority")
}

// No report contains the password of a URL; other text in place of a URL is described in a sentence.
func TestLookupDetails(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone + bimi("default", "v=BIMI1; l=https://brand.example/logo.svg; a=brand.example/mark.pem"))
	for _, tt := range []struct {
		request LookupRequest
		want    string
	}{
		{LookupRequest{URL: "https://user:secret@brand.example/mark.pem"},
			`Receivers cannot fetch the certificate from "https://brand.example/mark.pem": it must not have a user name or password.`},
		{domain("example.com"), `Receivers cannot fetch the certificate from "brand.example/mark.pem": it has no https:// in front.`},
	} {
		r, err := Lookup(t.Context(), w.Env(), tt.request)
		require.NoError(t, err)
		require.Equal(t, tt.want, r.Findings[0].Detail)
		require.NotContains(t, r.URL, "secret")
	}
}
