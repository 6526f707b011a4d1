package dnsbl

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
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
		case l.Untestable || l.Zone == "":
		case l.IPv4:
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

// refuseAll makes lists answer every question by a code.
func refuseAll(code string, zones ...string) string {
	var b strings.Builder
	for _, zone := range zones {
		fmt.Fprintf(&b, "*.%s. A %s\n", zone, code)
	}
	return b.String()
}

// everything makes a list have every address, although it has the test entry beside the wildcard (RFC 4592).
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

// A world is a case: what lists hold beside their test entries, and what goes wrong.
type world struct {
	name  string
	ip    string // empty: the address of the tests
	bare  bool   // lists do not have their test entries
	zone  string
	spoil func(*diagtest.World)

	codes    string // of the findings, without those that say that no allow list has it and that it is an example
	state    diag.State
	score    string
	headline string
	listed   int
}

var worlds = []world{
	{name: "clean", state: diag.Valid, score: "100", headline: "Not listed on any of the 64 blocklists that answered"},
	{name: "one widely used list", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		codes: "dnsbl.listed.major", state: diag.Bad, score: "69", headline: "Listed on the blocklist Spamhaus ZEN", listed: 1},
	{name: "three widely used lists",
		zone:  entries("zen.spamhaus.org", "127.0.0.2", "bl.spamcop.net", "127.0.0.2", "b.barracudacentral.org", "127.0.0.2"),
		codes: "dnsbl.listed.several dnsbl.listed.major dnsbl.listed.major dnsbl.listed.major", state: diag.Bad, score: "39",
		headline: "Listed on 3 blocklists, among them Spamhaus ZEN", listed: 3},
	{name: "PBL only", zone: entries("zen.spamhaus.org", "127.0.0.10"),
		codes: "dnsbl.listed.policy", state: diag.Warned, score: "68", headline: "Listed by policy", listed: 1},
	{name: "PBL and XBL", zone: entries("zen.spamhaus.org", "127.0.0.11", "zen.spamhaus.org", "127.0.0.4"),
		codes: "dnsbl.listed.major", state: diag.Bad, score: "69", headline: "Listed on the blocklist Spamhaus ZEN", listed: 1},
	{name: "a minor policy list", zone: entries("dyna.spamrats.com", "127.0.0.36"),
		codes: "dnsbl.listed.policy.minor", state: diag.Warned, score: "94", headline: "Listed by policy on SpamRATS Dyna", listed: 1},
	{name: "a list that some use", zone: entries("psbl.surriel.com", "127.0.0.2"),
		codes: "dnsbl.listed.minor", state: diag.Warned, score: "86", headline: "Listed on the blocklist PSBL", listed: 1},
	{name: "a list that few use", zone: entries("rbl.schulte.org", "127.0.0.2"),
		codes: "dnsbl.listed.obscure", state: diag.Warned, score: "94", headline: "Listed on the blocklist schulte.org", listed: 1},
	{name: "three lists of different operators",
		zone:  entries("rbl.schulte.org", "127.0.0.2", "psbl.surriel.com", "127.0.0.2", "all.s5h.net", "127.0.0.2"),
		codes: "dnsbl.listed.many dnsbl.listed.minor dnsbl.listed.obscure dnsbl.listed.obscure", state: diag.Bad, score: "69",
		headline: "Listed on 3 blocklists, among them PSBL", listed: 3},
	{name: "two lists of one operator and one of another",
		zone:  entries("bl.0spam.org", "127.0.0.2", "rbl.0spam.org", "127.0.0.2", "all.s5h.net", "127.0.0.2"),
		codes: "dnsbl.listed.obscure dnsbl.listed.obscure dnsbl.listed.obscure", state: diag.Warned, score: "94",
		headline: "Listed on 3 blocklists, among them S5H", listed: 3},
	{name: "lists of networks only", zone: entries("dnsbl-2.uceprotect.net", "127.0.0.2", "dnsbl-3.uceprotect.net", "127.0.0.2"),
		codes: "dnsbl.listed.network dnsbl.listed.network", state: diag.Warned, score: "94",
		headline: "Listed only with its whole network, on UCEPROTECT Level 2", listed: 2},
	{name: "a Tor exit", zone: entries("torexit.dan.me.uk", "127.0.0.100"),
		codes: "dnsbl.listed.obscure", state: diag.Warned, score: "94", headline: "Tor exits", listed: 1},
	{name: "a code that the list does not document", zone: entries("zen.spamhaus.org", "127.0.0.77"),
		codes: "dnsbl.listed.major", state: diag.Bad, score: "69", headline: "Spamhaus ZEN", listed: 1},

	// What is no listing.
	{name: "allow list only", zone: entries("list.dnswl.org", "127.0.5.2"), state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "white on a blocklist", zone: entries("hostkarma.junkemailfilter.com", "127.0.0.1"),
		state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "neutral on blocklists", zone: entries("hostkarma.junkemailfilter.com", "127.0.0.5", "bl.mailspike.net", "127.0.0.14"),
		state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "a public resolver", zone: refuseAll("127.255.255.254", "zen.spamhaus.org"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100",
		headline: "Not listed on 63 lists; no answer from Spamhaus ZEN"},
	{name: "too many queries", zone: entries("zen.spamhaus.org", "127.255.255.255"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from Spamhaus ZEN"},
	{name: "a list that few use refuses", zone: refuseAll("127.255.255.254", "rbl.schulte.org"),
		codes: "dnsbl.lists.refused", state: diag.Valid, score: "100", headline: "63 blocklists"},
	{name: "127.0.0.1 as a refusal", zone: refuseAll("127.0.0.1", "b.barracudacentral.org"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from Barracuda"},
	{name: "refused only at the test address", zone: "2.0.0.127.bl.spamcop.net. A 127.255.255.255\n",
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from SpamCop"},
	{name: "dnswl refuses", zone: refuseAll("127.0.0.255", "list.dnswl.org"), state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "refused beside a listing", zone: refuseAll("127.255.255.254", "zen.spamhaus.org") + entries("psbl.surriel.com", "127.0.0.2"),
		codes: "dnsbl.listed.minor dnsbl.major.unanswered", state: diag.Warned, score: "80",
		headline: "Listed on the blocklist PSBL", listed: 1},
	{name: "a list that lists everything", zone: everything("rbl.schulte.org"),
		codes: "dnsbl.lists.wildcard", state: diag.Valid, score: "100", headline: "63 blocklists that answered"},
	{name: "a widely used list that lists everything", zone: everything("bl.spamcop.net"),
		codes: "dnsbl.major.unanswered dnsbl.lists.wildcard", state: diag.Valid, score: "100", headline: "no answer from SpamCop"},
	{name: "a parked domain", zone: refuseAll("203.0.113.80", "rbl.schulte.org"),
		codes: "dnsbl.lists.failed", state: diag.Valid, score: "100", headline: "63 blocklists"},
	{name: "a list out of operation", spoil: func(w *diagtest.World) {
		w.Fault("2.0.0.127.rbl.schulte.org", 0, diagtest.Fault{Answers: []string{""}})
	}, codes: "dnsbl.lists.empty", state: diag.Valid, score: "100", headline: "63 blocklists"},
	{name: "a list without its test entry has the address", zone: entries("bl.suomispam.net", "127.0.0.2"),
		spoil: func(w *diagtest.World) {
			w.Fault("2.0.0.127.bl.suomispam.net", 0, diagtest.Fault{Answers: []string{""}})
		}, codes: "dnsbl.listed.obscure", state: diag.Warned, score: "94", headline: "Suomispam", listed: 1},

	// What is not known.
	{name: "all lists refuse", bare: true, zone: refuseAll("127.255.255.254", allZones()...),
		codes: "dnsbl.answers.refused", state: diag.Unknown, score: "none", headline: "blocklists refuse to answer"},
	{name: "no list in operation", bare: true, codes: "dnsbl.answers.none dnsbl.lists.empty", state: diag.Unknown, score: "none",
		headline: "no blocklist answered"},
	{name: "most widely used lists refuse", zone: refuseAll("127.255.255.254", majorZones[:2]...),
		codes: "dnsbl.answers.few", state: diag.Unknown, score: "none", headline: "most widely used blocklists"},
	{name: "widely used lists SERVFAIL", spoil: func(w *diagtest.World) {
		for _, zone := range majorZones {
			w.Break("*."+zone, dns.RcodeServerFailure)
		}
	}, codes: "dnsbl.answers.few", state: diag.Unknown, score: "none", headline: "most widely used"},
	{name: "widely used lists SERVFAIL, and another lists it", zone: entries("psbl.surriel.com", "127.0.0.2"),
		spoil: func(w *diagtest.World) {
			for _, zone := range majorZones {
				w.Break("*."+zone, dns.RcodeServerFailure)
			}
		}, codes: "dnsbl.listed.minor dnsbl.major.unanswered dnsbl.major.unanswered dnsbl.major.unanswered",
		state: diag.Warned, score: "57", headline: "PSBL", listed: 1},
	{name: "a list is silent", spoil: func(w *diagtest.World) { w.Silence("*.bl.blocklist.de") },
		codes: "dnsbl.lists.silent", state: diag.Valid, score: "100", headline: "63 blocklists"},
	{name: "a list is silent about the address", spoil: func(w *diagtest.World) { w.Silence(rev + "zen.spamhaus.org") },
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from Spamhaus ZEN"},
	{name: "a listing without an answer about 127.0.0.1", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		spoil: func(w *diagtest.World) { w.Silence("1.0.0.127.zen.spamhaus.org") },
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from Spamhaus ZEN"},
	{name: "a listing without an answer about 127.0.0.2", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		spoil: func(w *diagtest.World) { w.Silence("2.0.0.127.zen.spamhaus.org") },
		codes: "dnsbl.listed.major", state: diag.Bad, score: "69", headline: "Spamhaus ZEN", listed: 1},
	{name: "the resolver rewrites NXDOMAIN", zone: refuseAll("203.0.113.80", allZones()...),
		codes: "dnsbl.resolver.rewrites", state: diag.Unknown, score: "none", headline: "the resolver rewrites answers"},
	{name: "the resolver rewrites NXDOMAIN, and a list has the address",
		zone:  refuseAll("203.0.113.80", allZones()...) + entries("rbl.schulte.org", "127.0.0.2"),
		codes: "dnsbl.resolver.rewrites dnsbl.listed.obscure", state: diag.Unknown, score: "none",
		headline: "the resolver rewrites answers", listed: 1},
	{name: "the resolver filters a list", spoil: func(w *diagtest.World) {
		w.Fault(rev+"zen.spamhaus.org", 0, diagtest.Fault{Answers: []string{""}, Explain: dns.ExtendedErrorCodeBlocked, Text: "x"})
	}, codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from Spamhaus ZEN"},

	// Addresses of all kinds.
	{name: "private", ip: "10.1.2.3", codes: "dnsbl.address.special", state: diag.Unknown, score: "none",
		headline: "Special-purpose address, not a public one: check the public address"},
	{name: "private with a listing", ip: "10.1.2.3", zone: "3.2.1.10.bl.nordspam.com. A 127.0.0.2\n",
		codes: "dnsbl.address.special dnsbl.address.special.listed", state: diag.Unknown, score: "none",
		headline: "Special-purpose address", listed: 1},
	{name: "behind NAT of a provider", ip: "100.64.1.2", codes: "dnsbl.address.special", state: diag.Unknown, score: "none",
		headline: "Special-purpose"},
	{name: "unique local", ip: "fd00::1", codes: "dnsbl.address.special", state: diag.Unknown, score: "none", headline: "Special-purpose"},
	{name: "the test address", ip: "127.0.0.2", codes: "dnsbl.address.special dnsbl.address.special.listed", state: diag.Unknown,
		score: "none", headline: "Special-purpose", listed: 63},
	{name: "public", ip: "8.8.8.8", state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "mapped", ip: "::ffff:192.0.2.25", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		codes: "dnsbl.listed.major", state: diag.Bad, score: "69", headline: "Spamhaus ZEN", listed: 1},
	{name: "IPv6", ip: "2001:db8::25", state: diag.Valid, score: "100", headline: "Not listed on any of the 14 blocklists"},
	{name: "IPv6 listed", ip: "2001:db8::25",
		zone:  "5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.zen.spamhaus.org. A 127.0.0.3\n",
		codes: "dnsbl.listed.major", state: diag.Bad, score: "69", headline: "Spamhaus ZEN", listed: 1},
	{name: "IPv6 on a list that lists everything", ip: "2001:db8::25", zone: "*.dnsbl.dronebl.org. A 127.0.0.3\n",
		codes: "dnsbl.lists.wildcard", state: diag.Valid, score: "100", headline: "13 blocklists"},
}

func TestWorlds(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				if !tt.bare {
					w = working(t)
				}
				w.Zone(tt.zone)
				if tt.spoil != nil {
					tt.spoil(w)
				}
				ip := diag.MustIP(ip4)
				if tt.ip != "" {
					ip = diag.MustIP(tt.ip)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				r, err := Check(ctx, w.Env(), Request{IP: ip})
				require.NoError(t, err)
				require.Equal(t, tt.codes, codesOf(seen.Add(r.Verdict)), "%+v", r.Findings)
				require.Equal(t, tt.state, r.State)
				require.Equal(t, tt.score, diagtest.Score(r.Verdict))
				require.Contains(t, r.Headline, tt.headline)
				require.Equal(t, tt.listed, r.ListedCount)
				holds(t, r)
			})
		})
	}
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, rules.Describe(), seen)
}

// codesOf joins codes but for those that say nothing in these worlds.
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
		l := &List{ID: fmt.Sprint(i), Name: name, Category: Spam, Severity: High, Zone: "x", IPv4: true}
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
			headline := e.filler().Replace(text.Headline)
			require.LessOrEqual(t, len([]rune(headline)), diag.MaxHeadline, "%s: %s", key, headline)
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

func TestInput(t *testing.T) {
	w := diagtest.NewWorld(t)
	for _, tt := range []struct {
		request Request
		want    string
	}{
		{Request{}, "ip: is missing"},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"spamhouse-zen"}}, `lists[0]: "spamhouse-zen" is no list; similar: spamhaus-zen`},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"spamhaus"}}, `lists[0]: "spamhaus" is no list; similar: spamhaus-zen, spamhaus-authbl`},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"x"}}, `lists[0]: "x" is no list; there are 75, such as spamhaus-zen,`},
		{Request{IP: diag.MustIP(ip4), Lists: []string{"psbl", "psbl"}}, `lists[1]: "psbl" stands twice`},
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
				require.LessOrEqual(t, time.Since(began), Timeout)
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

// All lists are asked at once, and one that is silent does not make the others wait.
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
		require.Equal(t, Timeout, time.Since(began))
		require.True(t, r.Partial)
	})
}

func TestOperatorsLists(t *testing.T) {
	env := working(t).Env()
	env.Data = fstest.MapFS{File: {Data: []byte(
		"own\nname Own\noperator We\nzone bl.example.net\ncategory spam\nfamilies ipv4\ntest no\n")}}
	r, err := Check(t.Context(), env, Request{IP: diag.MustIP(ip4)})
	require.NoError(t, err)
	require.Equal(t, 1, r.CheckedCount)
	require.Equal(t, NotAsked, r.Results[0].SelfTest)
	require.Equal(t, Clean, r.Results[0].Status)
	_, err = Check(t.Context(), env, Request{IP: diag.MustIP("2001:db8::1")})
	require.ErrorContains(t, err, "ip: is of a kind that no list of this service knows: IPv6")
}
