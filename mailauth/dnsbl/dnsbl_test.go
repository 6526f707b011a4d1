package dnsbl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const (
	ip4 = "192.0.2.25"
	rev = "25.2.0.192."
)

// working is a world in which all built-in lists are in operation and have nothing but their test addresses.
func working(t testing.TB) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(testEntries(Lists()))
	return w
}

func testEntries(lists []*List) string {
	var b strings.Builder
	for _, l := range lists {
		switch {
		case !l.Test || l.Zone == "":
		case slices.Contains(l.Families, IPv4):
			fmt.Fprintf(&b, "2.0.0.127.%s. A 127.0.0.2\n", l.Zone)
		default:
			fmt.Fprintf(&b, "%s.%s. A 127.0.0.2\n", reversed(listedTest6), l.Zone)
		}
	}
	return b.String()
}

// entries are records of lists about the address of the tests: pairs of a zone and what it answers.
func entries(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "%s%s. A %s\n", rev, pairs[i], pairs[i+1])
	}
	return b.String()
}

// majors are the zones of the widely used blocklists.
var majorZones = []string{"zen.spamhaus.org", "bl.spamcop.net", "b.barracudacentral.org"}

// refuseAll makes lists answer every query with a code.
func refuseAll(code string, zones ...string) string {
	var b strings.Builder
	for _, zone := range zones {
		fmt.Fprintf(&b, "*.%s. A %s\n", zone, code)
	}
	return b.String()
}

// everything makes a list have every address, although it has the test entry next to the wildcard (RFC 4592).
func everything(zone string) string {
	return refuseAll("127.0.0.2", zone) + "1.0.0.127." + zone + ". A 127.0.0.2\n"
}

func allZones() (zones []string) {
	for _, l := range Lists() {
		if l.Zone != "" {
			zones = append(zones, l.Zone)
		}
	}
	return zones
}

// codesOf joins codes except those that are irrelevant in these worlds.
func codesOf(codes []diag.Code) string {
	var list []string
	for _, c := range codes {
		if c != "dnsbl.allowlist.none" && c != "dnsbl.address.documentation" {
			list = append(list, string(c))
		}
	}
	return strings.Join(list, " ")
}

// holds checks what is true of every report.
func holds(t *testing.T, r *Report) {
	t.Helper()
	require.Equal(t, r.CheckedCount, r.ListedCount+r.CleanCount+r.ErrorCount)
	require.Len(t, r.Results, r.CheckedCount)
	require.Equal(t, r.ListedCount > 0, r.Listed)
	require.NotContains(t, r.Headline+r.Sub, "{")
	for _, f := range r.Findings {
		require.NotEmpty(t, f.Advice)
		require.NotEmpty(t, f.Reference)
		require.NotContains(t, f.Detail+f.Advice, "{")
	}
	for _, rec := range r.Recommendations {
		require.Empty(t, rec.SuggestedValue)
	}
	listings := true
	for _, result := range append(append([]Result{}, r.Results...), r.Allowlists...) {
		require.Equal(t, result.Status == Listed, result.Listed)
		require.Equal(t, result.Status != Listed && result.Status != Clean, result.Status != Listed && result.Reason != "", "%+v", result)
		require.True(t, !result.Listed || len(result.ReturnCodes) > 0)
		require.True(t, result.Listed || result.DelistURL == "")
		if result.Category != Allow {
			require.True(t, listings || !result.Listed, "listings come first")
			listings = result.Listed
		}
	}
}

// Headlines have room for the longest name of a list, and the largest number of them.
func TestHeadlinesFit(t *testing.T) {
	name := strings.Repeat("x", maxName)
	lists := []*List{}
	for i := range maxLists {
		l := &List{ID: fmt.Sprint(i), Name: name, Category: Spam, Severity: High, Zone: "x"}
		lists = append(lists, l)
	}
	for _, listed := range []int{0, 1, maxLists} {
		e := &evidence{ip: diag.MustIP(ip4)}
		for i, l := range lists {
			p := &probe{list: l, outcome: outcome{status: Failed}}
			if i < listed {
				p.outcome.status = Listed
			}
			e.probes = append(e.probes, p)
		}
		for key, text := range texts {
			headline := e.placeholders().Replace(text.Headline)
			require.LessOrEqual(t, len([]rune(headline)), rule.MaxHeadline, "%s: %s", key, headline)
		}
	}
}

func TestReport(t *testing.T) {
	w := working(t)
	w.Zone(entries("zen.spamhaus.org", "127.0.0.2", "zen.spamhaus.org", "127.0.0.9", "list.dnswl.org", "127.0.5.2") +
		rev + `zen.spamhaus.org. TXT "https://www.spamhaus.org/sbl/query/SBL1"` + "\n")
	r, err := Check(t.Context(), w.Env(), Request{IP: diag.MustIP(ip4), Lists: []string{"dnswl", "spamcop", "spamhaus-zen"}})
	require.NoError(t, err)
	r.Timing, r.Verdict = diag.Timing{}, diag.Verdict{}
	for i := range r.Results {
		r.Results[i].LatencyMS = 0
	}
	require.Equal(t, &Report{
		IP: diag.MustIP(ip4), Version: 4, ReverseName: "25.2.0.192", Listed: true, ListedCount: 1, CheckedCount: 2, CleanCount: 1,
		Results: []Result{
			{
				ID: "spamhaus-zen", Name: "Spamhaus ZEN", Zone: "zen.spamhaus.org", Operator: "The Spamhaus Project", Category: Spam,
				Status: Listed, SelfTest: Passed, Listed: true, ReturnCodes: []string{"127.0.0.2", "127.0.0.9"},
				Meanings: []string{
					"SBL, source of spam or host of a spam operation", "DROP, network taken over or leased by criminals",
				},
				Reason: "https://www.spamhaus.org/sbl/query/SBL1", Severity: High,
				DelistURL: "https://check.spamhaus.org/results?query=192.0.2.25",
			},
			{
				ID: "spamcop", Name: "SpamCop", Zone: "bl.spamcop.net", Operator: "Cisco", Category: Spam, Status: Clean, SelfTest: Passed,
				ReturnCodes: []string{}, Meanings: []string{}, Severity: High,
			},
		},
		Allowlists: []Result{{
			ID: "dnswl", Name: "dnswl.org", Zone: "list.dnswl.org", Operator: "dnswl.org", Category: Allow, Status: Listed,
			SelfTest: Passed, Listed: true, ReturnCodes: []string{"127.0.5.2"},
			Meanings: []string{"Service or network provider", "Medium trust"}, Severity: High,
		}},
		SpecialPurpose: "Documentation (TEST-NET-1) (RFC 5737)",
	}, r)
}

func TestDetailOfAListing(t *testing.T) {
	w := working(t)
	w.Zone(entries("zen.spamhaus.org", "127.0.0.2") + rev + `zen.spamhaus.org. TXT "Listed by SBL, see above."` + "\n")
	r, err := Check(t.Context(), w.Env(), Request{IP: diag.MustIP(ip4)})
	require.NoError(t, err)
	f := r.Findings[0]
	require.Equal(t, "Spamhaus ZEN lists 192.0.2.25 (127.0.0.2: SBL, source of spam or host of a spam operation). "+
		`The list says: "Listed by SBL, see above".`, f.Detail)
	require.Equal(t, "spamhaus-zen", f.Target)
	require.Regexp(t, "^Find and stop what sends the spam: .* Then request removal from Spamhaus ZEN at "+
		`https://check\.spamhaus\.org/results\?query=192\.0\.2\.25\.$`, f.Advice)
}

func TestAdvice(t *testing.T) {
	for name, tt := range map[string]struct {
		zone   string
		advice []string // of the findings about a list, the gravest first, by their beginnings and ends
	}{
		"a list that forgets by itself": {entries("bl.spamcop.net", "127.0.0.2"), []string{
			"^Find and stop .* SpamCop then removes the entry by itself 24 hours after the last report; see https://www.spamcop.net/.*25\\.$",
		}},
		"the cause is told once": {entries("bl.spamcop.net", "127.0.0.2", "psbl.surriel.com", "127.0.0.2", "dnsbl-1.uceprotect.net", "127.0.0.2"),
			[]string{
				"^Find and stop", "^Remove the cause first, then request removal from PSBL at .*25\\.$",
				"^Remove the cause. UCEPROTECT Level 1 then removes the entry by itself 7 days after the last spam; see",
			}},
		"policy lists": {entries("zen.spamhaus.org", "127.0.0.10", "dyna.spamrats.com", "127.0.0.36"), []string{
			"^If this is a home connection .* leave the entry .* mail server with a static address, .*, then request removal from Spamhaus ZEN",
			"^If this is a mail server with a static address, also request removal from SpamRATS Dyna at",
		}},
		"a public resolver": {refuseAll("127.255.255.254", "zen.spamhaus.org"), []string{
			"^Check the address on the website of the list, https://check.spamhaus.org/.*=192.0.2.25\\. .* recursive resolver of its own",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := working(t)
			w.Zone(tt.zone)
			r, err := Check(t.Context(), w.Env(), Request{IP: diag.MustIP(ip4)})
			require.NoError(t, err)
			r.Findings = slices.DeleteFunc(r.Findings, func(f diag.Finding) bool { return f.Target == "" })
			for i, want := range tt.advice {
				require.Regexp(t, want, r.Findings[i].Advice)
			}
		})
	}
}

func TestInput(t *testing.T) {
	w := diagtest.NewWorld(t)
	for _, tt := range []struct {
		request Request
		want    string
	}{
		{Request{}, "ip: is missing"},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"spamhouse-zen"}}, `lists[0]: "spamhouse-zen" is not a list; similar: spamhaus-zen`},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"spamhaus"}}, `lists[0]: "spamhaus" is not a list; similar: spamhaus-zen, spamhaus-authbl`},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"x"}}, `lists[0]: "x" is not a list; there are 75, such as spamhaus-zen,`},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"psbl", "psbl"}}, `lists[1]: "psbl" appears twice`},
		{Request{IP: diag.MustIP("2001:db8::1"), Lists: []string{"psbl"}}, "lists[0]: psbl has no IPv6 addresses"},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"spamhaus-authbl"}}, "lists[0]: spamhaus-authbl answers only those who have a key"},
		{Request{IP: diag.MustIP(ip4), Lists: make([]string, maxLists+1)}, "lists: there may be at most 200"},
	} {
		_, err := Check(t.Context(), w.Env(), tt.request)
		require.ErrorContains(t, err, tt.want)
		require.ErrorAs(t, err, new(*diag.InputError))
	}
	require.Empty(t, w.Queries())
}

func TestNothingLearned(t *testing.T) {
	for _, tt := range []struct {
		name    string
		spoil   func(*diagtest.World)
		timeout bool
	}{
		{"silence", func(w *diagtest.World) { w.Silence("*.") }, true},
		{"SERVFAIL", func(w *diagtest.World) { w.Break("*.", dns.RcodeServerFailure) }, false},
		{"silence of all that are in operation", func(w *diagtest.World) {
			for i, zone := range allZones() {
				if w.Silence("*." + zone); i%3 == 0 {
					w.Fault("*."+zone, 0, diagtest.Fault{Answers: []string{""}})
				}
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := working(t)
				tt.spoil(w)
				began := time.Now()
				_, err := Check(t.Context(), w.Env(), Request{IP: diag.MustIP(ip4)})
				require.ErrorIs(t, err, diag.ErrUnavailable)
				require.Equal(t, tt.timeout, isTimeout(err), "%v", err)
				require.LessOrEqual(t, time.Since(began), timeout)
			})
		})
	}
	t.Run("the caller gives up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Check(ctx, working(t).Env(), Request{IP: diag.MustIP(ip4)})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func isTimeout(err error) bool {
	return strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

// All lists are queried concurrently, and one that is silent does not delay the others.
func TestRoundTrips(t *testing.T) {
	for zone, want := range map[string]int{"": 1, entries("zen.spamhaus.org", "127.0.0.2", "bl.spamcop.net", "127.0.0.2"): 2} {
		for _, ip := range []string{ip4, "2001:db8::1"} {
			if ip != ip4 && want > 1 {
				continue
			}
			trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
				w.Zone(testEntries(Lists()))
				w.Zone(zone)
			}, func(ctx context.Context, env *diag.Env) {
				_, err := Check(ctx, env, Request{IP: diag.MustIP(ip)})
				require.NoError(t, err)
			})
			require.Equal(t, want, trips)
		}
	}
}

func TestOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := working(t)
		for i, zone := range allZones() {
			if i%2 == 1 {
				w.Silence("*." + zone)
			}
		}
		w.Zone(entries("zen.spamhaus.org", "127.0.0.2"))
		w.Silence(rev + "zen.spamhaus.org")
		began := time.Now()
		r, err := Check(t.Context(), w.Env(), Request{IP: diag.MustIP(ip4)})
		require.NoError(t, err)
		require.Equal(t, timeout, time.Since(began))
		require.True(t, r.Partial)
	})
}

func TestOperatorsLists(t *testing.T) {
	env := working(t).Env()
	env.Data = fstest.MapFS{File: {Data: []byte(sample(`"test": false`))}}
	r, err := Check(t.Context(), env, Request{IP: diag.MustIP(ip4)})
	require.NoError(t, err)
	require.Equal(t, 1, r.CheckedCount)
	require.Equal(t, NotAsked, r.Results[0].SelfTest)
	require.Equal(t, Clean, r.Results[0].Status)
	_, err = Check(t.Context(), env, Request{IP: diag.MustIP("2001:db8::1")})
	require.ErrorContains(t, err, "ip: is of a kind that no list of this service knows: IPv6")
}
