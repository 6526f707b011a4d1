// Package hostedspf flattens SPF records and keeps them up to date (RFC 7208). Call [Create] to make a profile of a
// domain's record, run a [Scheduler], and serve the records with package nameserver:
//
//	access := hostedspf.Access{Store: store, Owner: owner, Zone: zone}
//	profile, err := hostedspf.Create(ctx, env, access, hostedspf.CreateRequest{Domain: domain, Zone: zone})
//	if err != nil {
//		return err
//	}
//	scheduler := &hostedspf.Scheduler{Store: store, Env: env, Zone: zone}
//	return scheduler.Run(ctx)
//
// [Flatten] alone flattens one record.
//
// # Why
//
// Receivers end an evaluation at the eleventh term that needs a DNS lookup (RFC 7208 section 4.6.4), and a domain
// with several sending services soon exceeds that. The addresses behind the terms could be written into the record
// instead, but services change them without notice. The domain therefore points to a name at which a set of records
// is kept up to date:
//
//	example.com.                    TXT "v=spf1 redirect=k3v2.spf.example.net"
//	k3v2.spf.example.net.           TXT "v=spf1 include:_mfzwi3dp.k3v2.spf.example.net ip4:198.51.100.0/24 -all"
//	_mfzwi3dp.k3v2.spf.example.net. TXT "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32"
//
// With redirect the result is that of the original record for every host, also where it is not pass. A domain with
// more to say publishes "v=spf1 include:k3v2.spf.example.net -all" or the like, which distinguishes only pass and
// not pass, as every include does.
//
// # How a change is published
//
// Resolvers cache records, so receivers see old and new ones side by side. The name of a part derives from its
// content, so a record of any age leads to the parts that it was published with, and a part is served for
// [Retention] after the record that named it was replaced. Each message is thus judged by one version, and no sender
// that is authorized before and after a change is refused.
//
// # What cannot be flattened
//
// Terms that depend on the message cannot be replaced by addresses: those with macros, ptr, and exists. They are
// kept, in order, and findings say so. An included record with such terms is expanded only where that provably
// changes nothing, and included as a whole otherwise.
//
// # What does not fit
//
// A set has at most nine records, with some 180 networks. Where the bundled name server serves the zone, larger ones
// are published as a set that it answers address by address:
//
//	k3v2.spf.example.net. TXT "v=spf1 exists:%{i}._mfzwi3dp.k3v2.spf.example.net -all"
//
// That costs a lookup for each sending address, which caches hardly reduce, and reveals to the name server who
// receives mail from which address. Secondary name servers cannot answer for sets.
//
// # Profiles
//
// A [Profile] is a source record and its resolution. It belongs to an [Owner]. [Create], [Remove], [Pause] and
// [Resume] are for administration; [List], [Show], [History], [Stats] and [Resolve] are the operations of the public
// API. A [Scheduler] resolves each profile when it is due. If resolution fails, because a name server does not answer
// or an included record is broken, the last good set stays published, the profile has the status error, and it is
// soon retried.
//
// A [Store] keeps profiles and their history: packages memory, sqlite and postgres each have one, and hostedspftest
// has the suite that all must pass. The store hands out claims, so no profile is resolved twice at once, on one node
// or several.
package hostedspf
