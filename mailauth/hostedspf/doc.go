// Package hostedspf keeps SPF records flat: it resolves the includes of a record into addresses, again and
// again, and publishes what authorises exactly the same hosts with fewer lookups (RFC 7208).
//
// # Why
//
// Receivers of mail end an evaluation at the eleventh term that needs the DNS (RFC 7208 section 4.6.4). A
// domain that lets several services send in its name soon leads to more. The addresses behind the terms
// could be written into the record instead, but the services change them without a word. So the domain hands
// over to a name where a set of records is kept up to date:
//
//	example.com.                    TXT "v=spf1 redirect=k3v2.spf.example.net"
//	k3v2.spf.example.net.           TXT "v=spf1 include:_mfzwi3dp.k3v2.spf.example.net ip4:198.51.100.0/24 -all"
//	_mfzwi3dp.k3v2.spf.example.net. TXT "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32"
//
// With redirect the result is that of the original record for every host, also where that is no pass. A
// domain that has more to say publishes "v=spf1 include:k3v2.spf.example.net -all" or the like, which knows
// pass and not pass, as every include does.
//
// # What stays
//
// Terms that depend on the mail cannot be replaced by addresses: those with macros, ptr, and exists, which
// is there to be answered anew each time. They stay, in order, and findings say so. A record that is
// included and holds such terms is taken apart only where that provably changes nothing, and included as a
// whole otherwise.
//
// # Profiles
//
// A [Profile] is a source record and what became of it. It belongs to an [Owner]. [Create], [Remove],
// [Pause] and [Resume] are for administration; [List], [Show], [History], [Stats] and [Resolve] are the
// operations of the public API. A [Scheduler] resolves each profile when it is due. If something cannot be
// resolved, because a name server does not answer or a record that is included is broken, the last good set
// stays published, the profile has the status error, and it is tried again soon.
//
// A [Store] keeps profiles and their history; the package memory has one, sqlite another, and hostedspftest
// the suite that all must pass. The store hands out claims, so that no profile is resolved twice at once, on
// one node or several.
//
//	access := hostedspf.Access{Store: store, Owner: owner}
//	profile, err := hostedspf.Create(ctx, env, access, hostedspf.CreateRequest{Domain: domain, Zone: zone})
package hostedspf
