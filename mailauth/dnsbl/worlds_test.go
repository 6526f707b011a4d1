package dnsbl

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A world is a case: what lists hold in addition to their test entries, and what fails.
type world struct {
	name  string
	ip    string // empty: the address of the tests
	lists []string
	bare  bool // lists do not have their test entries
	zone  string
	spoil func(*diagtest.World)

	codes    string // of the findings, without those for no allow list and for a documentation address
	state    diag.State
	score    string
	headline string
	listed   int
}

var worlds = []world{
	{name: "clean", state: diag.Valid, score: "100", headline: "Not listed on any of the 64 blocklists that answered"},
	{name: "one widely used list", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		codes: "dnsbl.listed.decisive", state: diag.Bad, score: "39", headline: "Listed on the blocklist Spamhaus ZEN", listed: 1},
	{name: "three widely used lists",
		zone:  entries("zen.spamhaus.org", "127.0.0.2", "bl.spamcop.net", "127.0.0.2", "b.barracudacentral.org", "127.0.0.2"),
		codes: "dnsbl.listed.several dnsbl.listed.decisive dnsbl.listed.major dnsbl.listed.major", state: diag.Bad, score: "39",
		headline: "Listed on 3 blocklists, among them Spamhaus ZEN", listed: 3},
	{name: "PBL only", zone: entries("zen.spamhaus.org", "127.0.0.10"),
		codes: "dnsbl.listed.policy", state: diag.Warned, score: "69", headline: "Listed by policy", listed: 1},
	{name: "PBL and XBL", zone: entries("zen.spamhaus.org", "127.0.0.11", "zen.spamhaus.org", "127.0.0.4"),
		codes: "dnsbl.listed.decisive", state: diag.Bad, score: "39", headline: "Listed on the blocklist Spamhaus ZEN", listed: 1},
	{name: "a minor policy list", zone: entries("dyna.spamrats.com", "127.0.0.36"),
		codes: "dnsbl.listed.policy.minor", state: diag.Warned, score: "89", headline: "Listed by policy on SpamRATS Dyna", listed: 1},
	{name: "a list that some use", zone: entries("psbl.surriel.com", "127.0.0.2"),
		codes: "dnsbl.listed.minor", state: diag.Warned, score: "87", headline: "Listed on the blocklist PSBL", listed: 1},
	{name: "a list that few use", zone: entries("rbl.schulte.org", "127.0.0.2"),
		codes: "dnsbl.listed.obscure", state: diag.Warned, score: "89", headline: "Listed on the blocklist schulte.org", listed: 1},
	{name: "three lists of different operators",
		zone:  entries("rbl.schulte.org", "127.0.0.2", "psbl.surriel.com", "127.0.0.2", "all.s5h.net", "127.0.0.2"),
		codes: "dnsbl.listed.many dnsbl.listed.minor dnsbl.listed.obscure dnsbl.listed.obscure", state: diag.Bad, score: "69",
		headline: "Listed on 3 blocklists, among them PSBL", listed: 3},
	{name: "two lists of one operator and one of another",
		zone:  entries("bl.0spam.org", "127.0.0.2", "rbl.0spam.org", "127.0.0.2", "all.s5h.net", "127.0.0.2"),
		codes: "dnsbl.listed.obscure dnsbl.listed.obscure dnsbl.listed.obscure", state: diag.Warned, score: "89",
		headline: "Listed on 3 blocklists, among them S5H", listed: 3},
	{name: "lists of networks only", zone: entries("dnsbl-2.uceprotect.net", "127.0.0.2", "dnsbl-3.uceprotect.net", "127.0.0.2"),
		codes: "dnsbl.listed.network dnsbl.listed.network", state: diag.Warned, score: "89",
		headline: "Listed only with its whole network, on UCEPROTECT Level 2", listed: 2},
	{name: "a Tor exit", zone: entries("torexit.dan.me.uk", "127.0.0.100"),
		codes: "dnsbl.listed.obscure", state: diag.Warned, score: "89", headline: "Tor exits", listed: 1},
	{name: "a code that the list does not document", zone: entries("zen.spamhaus.org", "127.0.0.77"),
		codes: "dnsbl.listed.major", state: diag.Bad, score: "58", headline: "Spamhaus ZEN", listed: 1},

	// Answers that are not listings.
	{name: "allow list only", zone: entries("list.dnswl.org", "127.0.5.2"), state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "white on a blocklist", zone: entries("hostkarma.junkemailfilter.com", "127.0.0.1"),
		state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "neutral on blocklists", zone: entries("hostkarma.junkemailfilter.com", "127.0.0.5", "bl.mailspike.net", "127.0.0.14"),
		state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "a public resolver", zone: refuseAll("127.255.255.254", "zen.spamhaus.org"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89",
		headline: "Not listed on 63 lists; no answer from Spamhaus ZEN"},
	{name: "too many queries", zone: entries("zen.spamhaus.org", "127.255.255.255"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89", headline: "no answer from Spamhaus ZEN"},
	{name: "a list that few use refuses", zone: refuseAll("127.255.255.254", "rbl.schulte.org"),
		codes: "dnsbl.lists.unanswered", state: diag.Valid, score: "89", headline: "63 blocklists"},
	{name: "127.0.0.1 as a refusal", zone: refuseAll("127.0.0.1", "b.barracudacentral.org"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89", headline: "no answer from Barracuda"},
	{name: "refused only at the test address", zone: "2.0.0.127.bl.spamcop.net. A 127.255.255.255\n",
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89", headline: "no answer from SpamCop"},
	{name: "dnswl refuses", zone: refuseAll("127.0.0.255", "list.dnswl.org"), state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "refused beside a listing", zone: refuseAll("127.255.255.254", "zen.spamhaus.org") + entries("psbl.surriel.com", "127.0.0.2"),
		codes: "dnsbl.listed.minor dnsbl.major.unanswered", state: diag.Warned, score: "76",
		headline: "Listed on the blocklist PSBL", listed: 1},
	{name: "a list that lists everything", zone: everything("rbl.schulte.org"),
		codes: "dnsbl.lists.unanswered", state: diag.Valid, score: "100", headline: "63 blocklists that answered"},
	{name: "a widely used list that lists everything", zone: everything("bl.spamcop.net"),
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "100", headline: "no answer from SpamCop"},
	{name: "a parked domain", zone: refuseAll("203.0.113.80", "rbl.schulte.org"),
		codes: "dnsbl.lists.unanswered", state: diag.Valid, score: "89", headline: "63 blocklists"},
	{name: "a list out of operation", spoil: func(w *diagtest.World) {
		w.Fault("2.0.0.127.rbl.schulte.org", 0, diagtest.Fault{Answers: []string{""}})
	}, codes: "dnsbl.lists.unanswered", state: diag.Valid, score: "100", headline: "63 blocklists"},
	{name: "a list without its test entry has the address", zone: entries("bl.suomispam.net", "127.0.0.2"),
		spoil: func(w *diagtest.World) {
			w.Fault("2.0.0.127.bl.suomispam.net", 0, diagtest.Fault{Answers: []string{""}})
		}, codes: "dnsbl.listed.obscure", state: diag.Warned, score: "89", headline: "Suomispam", listed: 1},

	// Unknowns.
	{name: "all lists refuse", bare: true, zone: refuseAll("127.255.255.254", allZones()...),
		codes: "dnsbl.answers.refused", state: diag.Unknown, score: "none", headline: "blocklists refuse to answer"},
	{name: "no list in operation", bare: true, codes: "dnsbl.answers.none dnsbl.lists.unanswered", state: diag.Unknown, score: "none",
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
		state: diag.Warned, score: "40", headline: "PSBL", listed: 1},
	{name: "a list is silent", spoil: func(w *diagtest.World) { w.Silence("*.bl.blocklist.de") },
		codes: "dnsbl.lists.unanswered", state: diag.Valid, score: "89", headline: "63 blocklists"},
	{name: "a list is silent about the address", spoil: func(w *diagtest.World) { w.Silence(rev + "zen.spamhaus.org") },
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89", headline: "no answer from Spamhaus ZEN"},
	{name: "a listing without an answer about 127.0.0.1", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		spoil: func(w *diagtest.World) { w.Silence("1.0.0.127.zen.spamhaus.org") },
		codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89", headline: "no answer from Spamhaus ZEN"},
	{name: "a listing without an answer about 127.0.0.2", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		spoil: func(w *diagtest.World) { w.Silence("2.0.0.127.zen.spamhaus.org") },
		codes: "dnsbl.listed.decisive", state: diag.Bad, score: "39", headline: "Spamhaus ZEN", listed: 1},
	{name: "the resolver rewrites NXDOMAIN", zone: refuseAll("203.0.113.80", allZones()...),
		codes: "dnsbl.resolver.rewrites", state: diag.Unknown, score: "none", headline: "the resolver rewrites answers"},
	{name: "the resolver rewrites NXDOMAIN, and a list has the address",
		zone:  refuseAll("203.0.113.80", allZones()...) + entries("rbl.schulte.org", "127.0.0.2"),
		codes: "dnsbl.resolver.rewrites dnsbl.listed.obscure", state: diag.Unknown, score: "none",
		headline: "the resolver rewrites answers", listed: 1},
	{name: "the resolver filters a list", spoil: func(w *diagtest.World) {
		w.Fault(rev+"zen.spamhaus.org", 0, diagtest.Fault{Answers: []string{""}, Explain: dns.ExtendedErrorCodeBlocked, Text: "x"})
	}, codes: "dnsbl.major.unanswered", state: diag.Valid, score: "89", headline: "no answer from Spamhaus ZEN"},

	// Addresses of all kinds.
	{name: "private", ip: "10.1.2.3", codes: "dnsbl.address.special", state: diag.Unknown, score: "none",
		headline: "Special-purpose address, not a public one: check the public address"},
	{name: "private with a listing", ip: "10.1.2.3", zone: "3.2.1.10.bl.nordspam.com. A 127.0.0.2\n",
		codes: "dnsbl.address.special", state: diag.Unknown, score: "none",
		headline: "Special-purpose address", listed: 1},
	{name: "behind NAT of a provider", ip: "100.64.1.2", codes: "dnsbl.address.special", state: diag.Unknown, score: "none",
		headline: "Special-purpose"},
	{name: "unique local", ip: "fd00::1", codes: "dnsbl.address.special", state: diag.Unknown, score: "none", headline: "Special-purpose"},
	{name: "the test address", ip: "127.0.0.2", codes: "dnsbl.address.special", state: diag.Unknown,
		score: "none", headline: "Special-purpose", listed: 64},
	{name: "public", ip: "8.8.8.8", state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "mapped", ip: "::ffff:192.0.2.25", zone: entries("zen.spamhaus.org", "127.0.0.2"),
		codes: "dnsbl.listed.decisive", state: diag.Bad, score: "39", headline: "Spamhaus ZEN", listed: 1},
	{name: "IPv6", ip: "2001:db8::25", state: diag.Valid, score: "100", headline: "Not listed on any of the 14 blocklists"},
	{name: "IPv6 listed", ip: "2001:db8::25",
		zone:  "5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.zen.spamhaus.org. A 127.0.0.3\n",
		codes: "dnsbl.listed.decisive", state: diag.Bad, score: "39", headline: "Spamhaus ZEN", listed: 1},
	{name: "a special-purpose address, and no list answers", ip: "10.1.2.3", spoil: func(w *diagtest.World) { w.Silence("*.") },
		codes: "dnsbl.address.special", state: diag.Unknown, score: "none", headline: "Special-purpose"},

	// Some lists only.
	{name: "one blocklist", lists: []string{"psbl"}, state: diag.Valid, score: "100",
		headline: "Not listed on PSBL, the one list that answered"},
	{name: "one of two answers", lists: []string{"psbl", "spamcop", "barracuda", "spamhaus-zen"},
		zone:  refuseAll("127.255.255.254", "zen.spamhaus.org", "psbl.surriel.com") + refuseAll("127.0.0.1", "b.barracudacentral.org"),
		codes: "dnsbl.answers.few dnsbl.lists.unanswered", state: diag.Unknown, score: "none", headline: "most widely used"},
	{name: "allow lists only", lists: []string{"dnswl", "mailspike-allow"}, codes: "dnsbl.allowlist.only", state: diag.Valid,
		score: "none", headline: "On no allow list; no blocklist was asked"},
	{name: "an allow list that has it only", lists: []string{"dnswl"}, zone: entries("list.dnswl.org", "127.0.5.1"),
		codes: "dnsbl.allowlist.only", state: diag.Valid, score: "none", headline: "On the allow list dnswl.org; no blocklist was asked"},
	{name: "two allow lists that have it only", lists: []string{"dnswl", "mailspike-allow"},
		zone:  entries("list.dnswl.org", "127.0.5.1", "wl.mailspike.net", "127.0.0.19"),
		codes: "dnsbl.allowlist.only", state: diag.Valid, score: "none", headline: "On 2 allow lists; no blocklist was asked"},
	{name: "an allow list that refuses only", lists: []string{"dnswl"}, zone: refuseAll("127.0.0.255", "list.dnswl.org"),
		codes: "dnsbl.allowlist.unanswered", state: diag.Unknown, score: "none", headline: "Not known whether it is on an allow list"},
	{name: "behaviour that Hostkarma notes", zone: entries("hostkarma.junkemailfilter.com", "127.0.0.3", "hostkarma.junkemailfilter.com", "127.0.1.1"),
		state: diag.Valid, score: "100", headline: "Not listed"},
	{name: "SpamCop only", zone: entries("bl.spamcop.net", "127.0.0.2"),
		codes: "dnsbl.listed.major", state: diag.Bad, score: "65", headline: "Listed on the blocklist SpamCop", listed: 1},
	{name: "two widely used lists", zone: entries("bl.spamcop.net", "127.0.0.2", "b.barracudacentral.org", "127.0.0.2"),
		codes: "dnsbl.listed.several dnsbl.listed.major dnsbl.listed.major", state: diag.Bad, score: "39",
		headline: "Listed on 2 blocklists, among them SpamCop", listed: 2},
	{name: "IPv6 on a list that lists everything", ip: "2001:db8::25", zone: "*.dnsbl.dronebl.org. A 127.0.0.3\n",
		codes: "dnsbl.lists.unanswered", state: diag.Valid, score: "100", headline: "13 blocklists"},
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
				r, err := Check(ctx, w.Env(), Request{IP: ip, Lists: tt.lists})
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
