// Package diagtest is a small Internet in memory, for tests and demonstrations: a DNS, web, mail, WHOIS
// and RDAP servers, certificate authorities and a clock. No socket is opened. A diagnostic runs in it
// exactly as in production, but the same way every time.
//
//	func TestLookup(t *testing.T) {
//		world := diagtest.NewWorld(t)
//		world.Zone(`_mta-sts.example.com. TXT "v=STSv1; id=1"`)
//		world.HTTPS("mta-sts.example.com", policy)
//		report, err := mtasts.Lookup(t.Context(), world.Env(), request)
//
// # Time
//
// The clock of a world begins on the first of January 2026. Outside a bubble of [testing/synctest] it
// stands still until [World.SetTime] or [World.Advance] move it, and a server that is told to be
// silent is reported as silent at once. Inside a bubble it runs with the time of the bubble, in which
// waiting costs nothing: a time-out of thirty seconds is tested in no time at all. Make the world
// inside the bubble then; it ends with the test, before the bubble does.
package diagtest
