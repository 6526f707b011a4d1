// Package member keeps who may look after an account in a browser: members with a role, links by which they enter, and
// their sessions. All of it is records of a [metering.Records], so that any store will do.
//
// A member is an e-mail address with a role in an account; one address may be a member of several accounts. Nobody has
// a password. A link, good for one use within 15 minutes, proves that somebody reads the mail of the address, or was
// given the link by who runs the server, and opens a session:
//
//	people := member.Members{Store: store}
//	token, err := people.NewLink(ctx, "ada@example.com")
//	link, err := people.Link(ctx, token)                // shows what the link is for, and does not spend it
//	session, secret, err := people.Enter(ctx, token, account, from)
//	session, m, err := people.Session(ctx, secret)      // of each request
//
// Tokens of links and secrets of sessions are 32 random bytes, of which only the SHA-256 is stored. A session ends
// after 12 hours without a request, 30 days after its beginning, when it is ended, and when its member is no more.
package member
