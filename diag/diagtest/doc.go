// Package diagtest is a small Internet in memory, for tests and demonstrations: call [NewWorld] in a test, or
// [New] in a program. It has DNS resolvers, name servers and signed zones; web, mail, WHOIS and RDAP servers;
// certificate authorities; and a clock. It opens no sockets. Diagnostics run in it as in production, but
// reproducibly.
//
//	func TestLookup(t *testing.T) {
//		world := diagtest.NewWorld(t)
//		world.Zone(`_mta-sts.example.com. TXT "v=STSv1; id=1"`)
//		world.HTTPS("mta-sts.example.com", policy)
//		report, err := mtasts.Lookup(t.Context(), world.Env(), request)
//		…
//	}
//
// # Names and faults
//
// [World.Zone] takes records of any zones in master file format. The world itself is a resolver that answers from
// them: it follows aliases, expands wildcards, and distinguishes NXDOMAIN from NODATA. The public resolvers at
// 8.8.8.8, 1.1.1.1 and so on give the same answers over UDP, TCP, TLS and HTTPS, unless [World.Resolver] configures
// one. [World.Break], [World.Silence], [World.Delay], [World.Flap] and [World.Fault] disturb the lookups of a name.
//
// Diagnostics that query authoritative servers need [World.ServeZones], which opens all of them from the root
// down, or [World.Server], which opens one, with contents that may differ from those of the others;
// [Server.Configure] makes it misbehave. [World.Sign] signs a zone and its parent zones, correctly or
// [Broken]; the resolvers then validate. [Server.Sign] gives one server [Keys] of its own, for a zone that
// several providers sign.
//
// # Other servers
//
// [World.HTTPS], [World.HTTP] and [World.Site] open web sites; [World.SMTP], [World.Whois] and [World.RDAP] scripted
// servers; [World.Serve] and [World.ServePackets] any other server. Hosts without an address get one of TEST-NET-1
// to 3 (RFC 5737). [World.Behave] makes a port refuse, reset, hang or be unreachable, and [World.Drip] makes it send
// slowly. [World.Certificate] issues certificates, [World.RevocationList] revokes them, and [World.CrossCertificate]
// links the root to an older one. The guard of [World.Env] allows the documentation addresses and no other
// special-purpose address, so refusals can be tested as well.
//
// # Time
//
// The clock of a world starts at 2026-01-01. Outside a testing/synctest bubble it does not advance until
// [World.SetTime] or [World.Advance] moves it, and the world's resolver reports timeouts immediately. Inside
// a bubble it follows the bubble's time, so a timeout of thirty seconds takes no real time.
//
//	synctest.Test(t, func(t *testing.T) {
//		world := diagtest.NewWorld(t)
//		world.Behave("www.example.com:443", diagtest.Hangs)
//		…
//	})
//
// Create the world inside the bubble; it is closed when the test ends, before the bubble does.
//
// # Counting
//
// [World.Queries] and [World.Connections] list the queries and connections so far; [World.Asked] counts
// queries. [RoundTrips] counts the exchanges that a diagnostic waits for in sequence.
//
// # Verdicts
//
// [Codes] lists the codes of a verdict for comparison, [CoverRules] fails unless every rule was seen to pass
// and to fail, [CheckTexts] fails if a verdict lacks texts, and [Golden] compares with a golden file.
package diagtest
