// Package diagtest is a small Internet in memory, for tests and demonstrations: a DNS with resolvers,
// name servers and signed zones; web, mail, WHOIS and RDAP servers; certificate authorities; a clock.
// No socket is opened. A diagnostic runs in it exactly as in production, but the same way every time.
//
//	func TestLookup(t *testing.T) {
//		world := diagtest.NewWorld(t)
//		world.Zone(`_mta-sts.example.com. TXT "v=STSv1; id=1"`)
//		world.HTTPS("mta-sts.example.com", policy)
//		report, err := mtasts.Lookup(t.Context(), world.Env(), request)
//		…
//	}
//
// Programs make a world with [New], and close it.
//
// # Names and faults
//
// [World.Zone] takes records in master file format, of any zones. The world itself is a resolver which
// answers from them: it follows aliases, expands wildcards, and tells a name that does not exist from
// one without records of the type. The public resolvers at 8.8.8.8, 1.1.1.1 and so on answer the same,
// over UDP, TCP, TLS and HTTPS, unless [World.Resolver] gives one a mind of its own. [World.Break],
// [World.Silence], [World.Delay], [World.Flap] and [World.Fault] let lookups of a name go wrong.
//
// Diagnostics that ask the authoritative servers need those. [World.ServeZones] opens all of them, from the root down;
// [World.Server] opens one, with contents that may differ from server to server, and [Server.Configure] makes it
// misbehave. [World.Sign] signs a zone and the zones above it, in order or [Broken]; then the resolvers validate.
//
// # Other servers
//
// [World.HTTPS], [World.HTTP] and [World.Site] open web sites, [World.SMTP], [World.Whois] and
// [World.RDAP] servers by script, [World.Serve] and [World.ServePackets] anything else. Hosts without
// an address get one of TEST-NET-1 to 3 (RFC 5737). [World.Behave] lets a port refuse, reset, hang or
// be out of reach, and [World.Drip] lets it send slowly. The guard of [World.Env] allows the
// addresses for documentation and nothing else that is special, so refusals can be tested as well.
//
// # Time
//
// The clock of a world begins on the first of January 2026. Outside a bubble of [testing/synctest] it
// stands still until [World.SetTime] or [World.Advance] move it, and the resolver that is the world
// reports silence at once. Inside a bubble it runs with the time of the bubble, in which waiting costs
// nothing: a time-out of thirty seconds is tested in no time at all.
//
//	synctest.Test(t, func(t *testing.T) {
//		world := diagtest.NewWorld(t)
//		world.Behave("www.example.com:443", diagtest.Hangs)
//		…
//	})
//
// Make the world inside the bubble then; it ends with the test, before the bubble does.
//
// # Counting
//
// [World.Queries] and [World.Connections] list what was asked and opened, [World.Asked] counts. How
// many exchanges a diagnostic waits for, one after the other, is counted by [RoundTrips].
//
// # Verdicts
//
// [Codes] makes verdicts comparable, [CoverRules] demands that every rule was seen both fulfilled and
// violated, [CheckTexts] that every verdict says something, and [Golden] compares with a file.
package diagtest
