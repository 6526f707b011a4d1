package policy

import (
	"context"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// zone has domains of all kinds.
const zone = `
	example.com.                MX  10 mx.example.com.
	_dmarc.example.com.         TXT "v=DMARC1; p=reject; sp=quarantine; np=none; rua=mailto:d@example.com"
	www.example.com.            A   192.0.2.1
	old.example.com.            CNAME gone.example.net.
	twice.example.com.          A   192.0.2.1
	_dmarc.twice.example.com.   TXT "v=DMARC1; p=none"
	_dmarc.twice.example.com.   TXT "v=DMARC1; p=reject"
	own.example.com.            A   192.0.2.1
	_dmarc.own.example.com.     TXT "v=DMARC1; p=none; sp=reject"
	unit.example.com.           A   192.0.2.1
	_dmarc.unit.example.com.    TXT "v=DMARC1; p=quarantine; psd=n"
	_dmarc.bank.example.        TXT "v=DMARC1; p=reject; psd=y; t=y"
	giant.bank.example.         A   192.0.2.1
	void.example.               A   192.0.2.1
	_dmarc.void.example.        TXT "v=DMARC1; p=rejct"
	a.example.co.uk.            A   192.0.2.1
	_dmarc.co.uk.               TXT "v=DMARC1; p=none; rua=mailto:d@co.uk"
`

func TestDiscover(t *testing.T) {
	tests := []struct {
		name, domain   string
		broken         string // answers SERVFAIL
		tree           string // organizational domain and policy domain by walk; ? for unknown
		list           string // the same by list
		outcomes       string
		exists, agrees bool
	}{
		{name: "own record", domain: "example.com", tree: "example.com example.com", list: "example.com example.com",
			outcomes: "record no_record", exists: true, agrees: true},
		{name: "of the organizational domain", domain: "www.example.com", tree: "example.com example.com",
			list: "example.com example.com", outcomes: "no_record record no_record", exists: true, agrees: true},
		{name: "alias to nowhere exists", domain: "old.example.com", tree: "example.com example.com",
			list: "example.com example.com", outcomes: "no_record record no_record", exists: true, agrees: true},
		{name: "name that does not exist", domain: "nx.example.com", tree: "example.com example.com",
			list: "example.com example.com", outcomes: "no_record record no_record", agrees: true},
		{name: "several records: the walk goes on, discovery by list ends", domain: "twice.example.com",
			tree: "example.com example.com", list: "example.com -", outcomes: "skipped record no_record", exists: true,
			agrees: true},
		{name: "psd=n", domain: "unit.example.com", tree: "unit.example.com unit.example.com",
			list: "example.com unit.example.com", outcomes: "stop", exists: true},
		{name: "psd=y", domain: "giant.bank.example", tree: "giant.bank.example bank.example",
			list:     "bank.example bank.example",
			outcomes: "no_record stop", exists: true},
		{name: "psd=y at the start", domain: "bank.example", tree: "bank.example bank.example",
			list: "bank.example bank.example", outcomes: "stop", exists: true, agrees: true},
		{name: "record at a public suffix without psd=y", domain: "a.example.co.uk", tree: "co.uk co.uk",
			list:     "example.co.uk -",
			outcomes: "no_record no_record record no_record", exists: true},
		{name: "no record anywhere", domain: "www.example.net", tree: "www.example.net -", list: "example.net -",
			outcomes: "no_record no_record no_record"},
		{name: "deeper than 8 labels", domain: "1.2.3.4.5.6.7.8.example.com", tree: "example.com example.com",
			list: "example.com example.com", agrees: true,
			outcomes: "no_record no_record no_record no_record no_record no_record record no_record"},
		{name: "top-level domain", domain: "example", tree: "example -", list: "example -", outcomes: "no_record",
			exists: true, agrees: true},

		{name: "unknown above an own record", domain: "example.com", broken: "_dmarc.com", tree: "?example.com example.com",
			list: "example.com example.com", outcomes: "record unknown", exists: true},
		{name: "unknown above the organizational domain", domain: "www.example.com", broken: "_dmarc.com",
			tree: "?example.com ?example.com",
			list: "example.com example.com", outcomes: "no_record record unknown", exists: true},
		{name: "unknown at the domain", domain: "own.example.com", broken: "_dmarc.own.example.com",
			tree: "?example.com ?example.com",
			list: "example.com ?", outcomes: "unknown record no_record", exists: true},
		{name: "unknown above psd=n: the walk does not come there", domain: "unit.example.com", broken: "_dmarc.example.com",
			tree: "unit.example.com unit.example.com", list: "example.com unit.example.com", outcomes: "stop", exists: true},
		{name: "unknown organizational domain of the list", domain: "www.example.com", broken: "_dmarc.example.com",
			tree: "?www.example.com ?", list: "example.com ?", outcomes: "no_record unknown no_record", exists: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(zone)
			if tt.broken != "" {
				w.Break(tt.broken, dns.RcodeServerFailure)
			}
			d, err := Discover(t.Context(), w.Env(), diag.MustName(tt.domain))
			require.NoError(t, err)
			require.Equal(t, tt.tree, told(d.Tree))
			require.Equal(t, tt.list, told(d.List))
			var outcomes []string
			for _, s := range d.Walk.Steps {
				outcomes = append(outcomes, string(s.Outcome))
			}
			require.Equal(t, tt.outcomes, strings.Join(outcomes, " "))
			exists, err := d.Exists()
			require.NoError(t, err)
			require.Equal(t, tt.exists, exists)
			agrees, err := d.Agree()
			require.Equal(t, d.Tree.OrganizationalErr, err)
			require.Equal(t, tt.agrees, agrees)
			require.NoError(t, d.Unavailable())
			require.LessOrEqual(t, len(d.Walk.Queries()), MaxQueries)
		})
	}
}

// told formats a view, with a question mark where it is uncertain.
func told(v View) string {
	org, policy := v.Organizational, v.PolicyDomain()
	if v.OrganizationalErr != nil {
		org = "?" + org
	}
	switch {
	case v.PolicyErr != nil && v.Presumed != nil:
		policy = "?" + v.Presumed.Domain
	case v.PolicyErr != nil:
		policy = "?"
	case policy == "":
		policy = "-"
	}
	return org + " " + policy
}

func TestDiscoverSilence(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	w.Silence("*.")
	d, err := Discover(t.Context(), w.Env(), diag.MustName("example.com"))
	require.NoError(t, err)
	require.ErrorIs(t, d.Unavailable(), diag.ErrUnavailable)
	require.True(t, d.Walk.silent())
	_, err = d.Exists()
	require.Error(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Discover(ctx, w.Env(), diag.MustName("example.com"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = Evaluate(ctx, w.Env(), Message{From: diag.MustName("example.com")})
	require.ErrorIs(t, err, context.Canceled)
}

func TestDiscoverInput(t *testing.T) {
	for _, domain := range []diag.Name{{}, diag.MustName("."), diag.MustName("*.example.com")} {
		_, err := Discover(t.Context(), diagtest.NewWorld(t).Env(), domain)
		require.ErrorAs(t, err, new(*diag.InputError), "%s", domain)
	}
}

// A domain can be so long that nothing can be published for it.
func TestDiscoverLongName(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	long := strings.Repeat(strings.Repeat("a", 59)+".", 4) + "example.com"
	require.Less(t, len(long), 254)
	d, err := Discover(t.Context(), w.Env(), diag.MustName(long))
	require.NoError(t, err)
	require.Equal(t, Skipped, d.Walk.Steps[0].Outcome)
	require.NoError(t, d.Walk.Err())
	require.Len(t, d.Walk.Queries(), len(d.Walk.Steps)-1)
	require.Equal(t, "example.com example.com", told(d.Tree))
}

// All names that a walk may reach are queried concurrently, each once, along with the existence of the domain.
func TestRoundTrips(t *testing.T) {
	var asked []diagtest.Query
	setup := func(w *diagtest.World) { w.Zone(zone) }
	require.Equal(t, 1, diagtest.DNSRoundTrips(t, setup, func(ctx context.Context, env *diag.Env) {
		_, err := Discover(ctx, env, diag.MustName("1.2.3.4.5.6.7.8.9.example.co.uk"))
		require.NoError(t, err)
		asked = env.Resolver.(*diagtest.World).Queries()
	}))
	require.Len(t, asked, MaxQueries+1)

	require.Equal(t, 1, diagtest.DNSRoundTrips(t, setup, func(ctx context.Context, env *diag.Env) {
		_, err := Evaluate(ctx, env, Message{
			From: diag.MustName("www.example.com"), SPF: diag.MustName("own.example.com"),
			DKIM: []diag.Name{diag.MustName("example.com"), diag.MustName("unit.example.com"), diag.MustName("example.com")},
		})
		require.NoError(t, err)
		asked = env.Resolver.(*diagtest.World).Queries()
	}))
	require.Len(t, asked, 6) // www, own, unit, the domain itself, com, and the MX
}
