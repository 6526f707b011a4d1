// Package member manages the people who administer an account in a browser: members with a role, links for signing in,
// and sessions. All of it is stored as records of a [metering.Records], so any store will do.
//
// A member is an e-mail address with a role in an account; one address may be a member of several accounts. There are
// no passwords. A link, valid for one use within 15 minutes, proves that its user reads the mail of the address, or
// got the link from the operator, and opens a session:
//
//	people := member.Members{Store: store}
//	token, err := people.NewLink(ctx, "ada@example.com")
//	link, err := people.Link(ctx, token)                // shows the purpose of the link, without spending it
//	session, secret, err := people.Enter(ctx, token, account, from)
//	session, m, err := people.Session(ctx, secret)      // of each request
//
// Tokens of links and secrets of sessions are 32 random bytes, of which only the SHA-256 is stored. A session ends
// after 12 hours without a request, 30 days after its beginning, when it is ended, and when its member is removed.
package member
