package survey

import "time"

// The bounds of an audit.
const (
	// Timeout is how long an audit takes at most. What has not answered then is unknown. It leaves
	// half a second of six for the judgement.
	Timeout = 5500 * time.Millisecond
	// MaxQueries is how many queries an audit sends, to servers and to the resolver together. Thirteen
	// servers with two addresses each, which is the most that is usual, stay below.
	MaxQueries = 400
	// MaxInFlight is how many queries one address is asked at the same time, so that no server takes
	// an audit for an attack.
	MaxInFlight = 2
	// MaxServers is how many names of servers are looked at. More than 13 do not fit into a referral of 512 octets.
	MaxServers = 20
	// maxAddresses is how many addresses are asked whether they serve the zone, and MaxProbed how many
	// of these are examined in full.
	maxAddresses = 26
	maxProbed    = 10
)

const (
	// silentAfter is how long the reply to a query is waited for before it is sent again, and once
	// more after that. Round trips around the earth last for up to 400 ms.
	silentAfter = 1500 * time.Millisecond
	// quickest is the least time that a server is given for a reply once it is known to answer, and
	// slack how many times longer than usual a reply may take.
	quickest = 400 * time.Millisecond
	slack    = 5
	// tcpTimeout bounds a connection with what is asked over it.
	tcpTimeout = 2500 * time.Millisecond
	// infoTimeout is how long an address is given at least for what only an info finding depends on: the version of its
	// software. Firewalls drop such queries; nothing is lost by not waiting for them, and they are not sent again.
	infoTimeout = 100 * time.Millisecond
	// originGrace is how long the lookups of the networks of servers may go on when all else is done.
	// They end in zones that have nothing to do with the domain, and matter little.
	originGrace = 250 * time.Millisecond
	// maxStrays is how many datagrams that are no reply are read while waiting for one.
	maxStrays = 32
	// maxDatagram is the largest datagram read. RFC 6891 section 6.2.5 suggests no more than 4096.
	maxDatagram = 4096
	// maxParents is how many addresses of the parent zone are asked.
	maxParents = 8
	// maxAncestors is how many names above the domain are looked up at once to find the parent zone.
	maxAncestors = 8
	// maxMailServers is how many mail servers are looked at.
	maxMailServers = 20
	// maxHops is how many aliases are followed, as resolvers do.
	maxHops = 16
	// maxWithin is how many names between a name and its zone are asked for.
	maxWithin = 6
	// maxDepth is how far a chain of delegations that depend on each other is followed.
	maxDepth = 3
)
