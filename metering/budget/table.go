package budget

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// An ID names a bound.
type ID int

// The bounds, in the order of the table.
const (
	// What is held at the moment.
	Work          ID = iota // memory of diagnostics
	Running                 // diagnostics
	Bodies                  // memory of request bodies
	Forms                   // memory of forms and tool calls
	Reading                 // requests with a body; forms and tool calls
	Processors              // computing without a deadline
	WatchRuns               // runs of watches
	Deliveries              // attempts to deliver notifications
	Letters                 // messages in the letter box, while they arrive and are analyzed
	LetterQueue             // messages that are analyzed, or wait for that
	LetterWaiting           // addresses of the letter box that wait for a message
	LetterReports           // reports of the letter box
	LetterPages             // memory of these reports
	PublicRuns              // checks of visitors without an account
	PublicPages             // memory of the results of these checks

	// Connections.
	Connections
	Requests // that run at once
	LetterConnections
	CallbackConnections
	DNSConnections

	// What happens in a time.
	Strangers       // requests without a good key
	UnseenKeys      // of those, with what may be a key
	SignIns         // links for sign-in that are opened, used or asked for
	Visits          // requests with a session, a shared link or a link of a mail that does not exist
	SignInMails     // mails with a link for sign-in
	ChannelMails    // mails that ask for a confirmation, or test a channel
	Callbacks       // payment callbacks without a good signature
	LetterAddresses // addresses of the letter box that are made
	PublicChecks    // checks that visitors without an account start
	Changes         // changes by forms of the dashboard
	Replays         // deliveries that tests and replays ask for
	RateEvents      // events about keys beyond their rate

	// What is kept.
	Replies  // bodies of replies for idempotency keys
	Results  // results in the dashboard
	Shares   // shared links
	Members  // of an account
	Sessions // of the dashboard
	Keys     // of an account, with those that ended
	Channels // for notifications
	Queue    // deliveries that wait for an attempt
	Watches  // watched domains
	Digests  // what their last runs found
	Profiles // of hosted SPF

	bounds // how many there are
)

// Full is the policy of a full bound.
type Full string

// The policies of a full bound. None of them ever removes data of others.
const (
	Waits    Full = "waits 10 s, then refused"
	Refused  Full = "refused"
	Later    Full = "waits its turn"
	Oldest   Full = "the owner's oldest goes first"
	OldestOf Full = "the oldest of the network with the most goes first"
	Remade   Full = "the oldest goes first, and can be made again"
	Unsent   Full = "kept as not delivered, can be replayed"
	// Shortened is of what is cut to its share.
	Shortened Full = "each is shortened, the mildest first"
)

// A User is a part of the server that draws on a bound.
type User string

// The parts of the server.
const (
	API       User = "API"
	Dashboard User = "dashboard"
	Tools     User = "MCP"
	LetterBox User = "letter box"
	Public    User = "public check"
	DNS       User = "name server"
	Callback  User = "callback"
	Mail      User = "unsubscribe, confirm"
	Notify    User = "notifications"
	Watcher   User = "watches"
)

// A Bound is a row of the table: how much of something all may have together, and an account, a key, a network or a
// person. 0 means no bound of that kind.
type Bound struct {
	What string
	Unit Unit
	All  int64 // how much all may have together
	// Account and Key apply to authenticated requests, by key or session.
	Account, Key int64
	// Network is for the smallest network of an address. A larger one has a multiple: see [metering.NetworkCount] for
	// what is held, and [metering.IPLimiter] for events within a time.
	Network int64
	Person  int64         // a member, or a mail address
	Window  time.Duration // in which the numbers hold, as in a token bucket; 0 for what is held or kept
	Full    Full
	Users   []User
}

// Unit is the unit of a bound.
type Unit string

// The units.
const (
	Bytes   Unit = "bytes"
	Percent Unit = "percent" // of the processors
	PerRate Unit = "bytes for each request a minute of the plan"
	Count   Unit = ""
)

const (
	// DefaultMemory is the default bound of the bytes that diagnostics hold together.
	DefaultMemory = 512 << 20
	// DefaultIPRate is the default limit of requests a minute from an address that has not shown a good key.
	DefaultIPRate = 120
)

// Memory other than that of the letter box is sized by [Config.Memory]: then the numbers are shares of it, and for an
// account and a key at most those of Work.
var table = [bounds]Bound{
	Work: {What: "memory of diagnostics",
		Unit: Bytes, All: DefaultMemory, Account: DefaultMemory / 2, Key: DefaultMemory / 4,
		Full: Waits, Users: []User{API, Dashboard, Tools, Watcher, Public}},
	Running: {What: "diagnostics, with those that wait",
		All: 2048, Account: 1024,
		Full: Refused, Users: []User{API, Dashboard, Tools, Watcher, Public}},
	Bodies: {What: "memory of request bodies",
		Unit: Bytes, All: DefaultMemory / 4, Account: DefaultMemory / 8, Key: DefaultMemory / 16,
		Full: Waits, Users: []User{API}},
	Forms: {What: "memory of forms and tool calls",
		Unit: Bytes, All: DefaultMemory / 4, Account: DefaultMemory / 16, Key: DefaultMemory / 16,
		Full: Waits, Users: []User{Dashboard, Tools}},
	Reading: {What: "request bodies, and forms and tool calls, each with those that wait",
		All: 2048, Account: 1024,
		Full: Refused, Users: []User{API, Dashboard, Tools}},
	Processors: {What: "processors for work without a deadline",
		Unit: Percent, All: 100, Account: 75, Key: 50,
		Full: Waits, Users: []User{API, Dashboard, Tools, Watcher}},
	WatchRuns: {What: "runs of watches",
		All: 16, Account: 4,
		Full: Later, Users: []User{Watcher}},
	Deliveries: {What: "attempts to deliver notifications",
		All: 64, Account: 16,
		Full: Later, Users: []User{Notify}},
	// Two messages of the largest size fit into the share of a network.
	Letters: {What: "messages that arrive or are analyzed",
		Unit: Bytes, All: 48 << 20, Network: 10 << 20,
		Full: Refused, Users: []User{LetterBox}},
	LetterQueue: {What: "analyses of messages, with those that wait",
		All: 16, Network: 2,
		Full: Refused, Users: []User{LetterBox}},
	LetterWaiting: {What: "addresses that wait for a message",
		All:  2000,
		Full: OldestOf, Users: []User{LetterBox}},
	LetterReports: {What: "reports on messages",
		All:  5000,
		Full: OldestOf, Users: []User{LetterBox}},
	LetterPages: {What: "memory of reports on messages",
		Unit: Bytes, All: 64 << 20,
		Full: OldestOf, Users: []User{LetterBox}},
	PublicRuns: {What: "checks of visitors that run",
		All: 6, Network: 2,
		Full: Refused, Users: []User{Public}},
	PublicPages: {What: "memory of results for visitors",
		Unit: Bytes, All: 16 << 20,
		Full: Remade, Users: []User{Public}},
	Connections: {What: "connections",
		All: 8192, Network: 512,
		Full: Refused, Users: []User{API, Dashboard, Tools}},
	// A connection of HTTP/2 has many.
	Requests: {What: "requests at once",
		All: 16_384, Network: 2048,
		Full: Refused, Users: []User{API, Dashboard, Tools, Mail, LetterBox, Public, Callback}},
	LetterConnections: {What: "connections for mail",
		All: 64, Network: 4,
		Full: Refused, Users: []User{LetterBox}},
	CallbackConnections: {What: "connections for callbacks",
		All: 64, Network: 8,
		Full: Refused, Users: []User{Callback}},
	// A resolver needs one (RFC 9210 section 4.2).
	DNSConnections: {What: "connections for DNS",
		All: 1024, Network: 16,
		Full: Refused, Users: []User{DNS}},
	Strangers: {What: "requests without a good key",
		Network: DefaultIPRate, Window: time.Minute,
		Full: Refused, Users: []User{API, Tools}},
	UnseenKeys: {What: "requests beyond those, with what may be a key",
		Network: DefaultIPRate / 4, Window: time.Minute,
		Full: Refused, Users: []User{API, Tools}},
	SignIns: {What: "links for sign-in opened, used or asked for",
		Network: 20, Window: time.Minute,
		Full: Refused, Users: []User{Dashboard}},
	Visits: {What: "requests with a session, a shared link or a link of a mail that does not exist",
		Network: 60, Window: time.Minute,
		Full: Refused, Users: []User{Dashboard, Mail}},
	// Members of one household often share an address.
	// Those of an account are invitations of members.
	SignInMails: {What: "mails with a link for sign-in",
		Account: 30, Network: 60, Person: 5, Window: time.Hour,
		Full: Refused, Users: []User{Dashboard}},
	ChannelMails: {What: "mails that ask for a confirmation or test a channel",
		Account: 5, Person: 5, Window: time.Hour,
		Full: Refused, Users: []User{Dashboard, Notify}},
	Callbacks: {What: "callbacks without a good signature",
		Network: 120, Window: time.Minute,
		Full: Refused, Users: []User{Callback}},
	LetterAddresses: {What: "addresses for messages made",
		Network: 10, Window: time.Hour,
		Full: Refused, Users: []User{LetterBox}},
	// Each asks servers that visitors name.
	PublicChecks: {What: "checks that visitors start",
		Network: 20, Window: time.Hour,
		Full: Refused, Users: []User{Public}},
	// Each is a row of the log, which is kept for a year and more, and may cause events.
	Changes: {What: "changes by forms",
		Account: 2000, Person: 500, Window: 24 * time.Hour,
		Full: Refused, Users: []User{Dashboard}},
	// Each is kept for a month, and goes to a server that the account has named and may not be its own.
	Replays: {What: "tests and replays of notifications",
		Account: 2000, Window: 24 * time.Hour,
		Full: Refused, Users: []User{Dashboard, Notify}},
	// Each key may have one an hour.
	RateEvents: {What: "events that tell of keys beyond their rate",
		Account: 240, Window: 24 * time.Hour,
		Full: Refused, Users: []User{Notify}},
	Replies: {What: "bodies of replies for idempotency keys",
		Unit: PerRate, Key: metering.KeptPerRate,
		Full: Oldest, Users: []User{API, Tools}},
	Results: {What: "results in the dashboard",
		Unit: Bytes, Account: 32 << 20,
		Full: Oldest, Users: []User{Dashboard}},
	Shares: {What: "shared links",
		Unit: Bytes, Account: 8 << 20,
		Full: Oldest, Users: []User{Dashboard}},
	// Each change reads all of them.
	Members: {What: "members",
		Account: 200,
		Full:    Refused, Users: []User{Dashboard}},
	Sessions: {What: "sessions",
		Person: 50,
		Full:   Oldest, Users: []User{Dashboard}},
	// They are kept for ever, and an operator may create more.
	Keys: {What: "keys created by forms",
		Account: 10_000,
		Full:    Refused, Users: []User{Dashboard}},
	// An event and its deliveries are one transaction, of at most [metering.MaxRecordsPut] records.
	Channels: {What: "channels",
		Account: 20,
		Full:    Refused, Users: []User{Dashboard, Notify}},
	Queue: {What: "deliveries that wait for an attempt",
		Account: 2000,
		Full:    Unsent, Users: []User{Dashboard, Notify}},
	// A list reads all of them.
	Watches: {What: "watched domains",
		Account: 10_000,
		Full:    Refused, Users: []User{Dashboard, Watcher}},
	// Each is one record, which package target bounds.
	Digests: {What: "what the last runs of watches found", Unit: Bytes,
		Account: 10_000 * 64 << 10,
		Full:    Shortened, Users: []User{Watcher}},
	// Each is resolved again and again, without a charge. An operator may create more.
	Profiles: {What: "profiles of hosted SPF created by forms",
		Account: 100,
		Full:    Refused, Users: []User{Dashboard}},
}

// Of returns a bound.
func Of(id ID) Bound { return table[id] }

// Table returns all bounds, in the order of their IDs.
func Table() []Bound { return slices.Clone(table[:]) }
