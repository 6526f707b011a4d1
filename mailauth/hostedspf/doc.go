// Package hostedspf keeps SPF records flat (RFC 7208). Call [Create] to make a profile of a domain's record, run a
// [Scheduler] to keep it up to date, and let the package nameserver answer for it:
//
//	access := hostedspf.Access{Store: store, Owner: owner, Zone: zone}
//	profile, err := hostedspf.Create(ctx, env, access, hostedspf.CreateRequest{Domain: domain, Zone: zone})
//	if err != nil {
//		return err
//	}
//	scheduler := &hostedspf.Scheduler{Store: store, Env: env, Zone: zone}
//	return scheduler.Run(ctx)
//
// [Flatten] alone says what a record is when it is flat.
//
// # Why
//
// Receivers of mail end an evaluation at the eleventh term that needs a DNS lookup (RFC 7208 section 4.6.4). A
// domain that lets several services send in its name soon leads to more. The addresses behind the terms
// could be written into the record instead, but the services change them without notice. So the domain leads
// to a name where a set of records is kept up to date:
//
//	example.com.                    TXT "v=spf1 redirect=k3v2.spf.example.net"
//	k3v2.spf.example.net.           TXT "v=spf1 include:_mfzwi3dp.k3v2.spf.example.net ip4:198.51.100.0/24 -all"
//	_mfzwi3dp.k3v2.spf.example.net. TXT "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32"
//
// With redirect the result is that of the original record for every host, also where that is no pass. A
// domain that has more to say publishes "v=spf1 include:k3v2.spf.example.net -all" or the like, which knows
// pass and not pass, as every include does.
//
// # How a change is published
//
// Resolvers cache records, so that receivers see old and new ones side by side. The name of a part derives from its
// content, so that a record, of whatever age, always leads to the parts that it was published with; and a part stays
// served for [Retention] after the record that named it was replaced. So each message is judged by one version, and no
// sender is refused that is authorized before a change and after it.
//
// # What cannot be flattened
//
// Terms that depend on the mail cannot be replaced by addresses: those with macros, ptr, and exists, which is there to
// be answered anew each time. They are kept, in order, and findings say so. A record that is included and holds such
// terms is taken apart only where that provably changes nothing, and included as a whole otherwise.
//
// # What does not fit
//
// A set has nine records at most, with some 180 networks. Where the bundled name server serves the zone, more
// are published as a set that it answers for, address by address:
//
//	k3v2.spf.example.net. TXT "v=spf1 exists:%{i}._mfzwi3dp.k3v2.spf.example.net -all"
//
// That costs a lookup for each address that sends, of which caches know little, and the name server learns who receives
// mail from which address. Secondary name servers cannot answer for sets.
//
// # Profiles
//
// A [Profile] is a source record and what it was resolved to. It belongs to an [Owner]. [Create], [Remove],
// [Pause] and [Resume] are for administration; [List], [Show], [History], [Stats] and [Resolve] are the
// operations of the public API. A [Scheduler] resolves each profile when it is due. If something cannot be
// resolved, because a name server does not answer or a record that is included is broken, the last good set
// stays published, the profile has the status error, and it is tried again soon.
//
// A [Store] keeps profiles and their history; the package memory has one, sqlite another, and hostedspftest the suite
// that all must pass. The store hands out claims, so that no profile is resolved twice at once, on one node or several.
package hostedspf
