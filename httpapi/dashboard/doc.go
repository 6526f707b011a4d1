// Package dashboard serves the pages on which the members of an account look after it: keys, usage, activity, billing,
// channels, members, sessions, the log of what was done, domains that are watched, and a playground. [New] makes its
// handler:
//
//	pages := dashboard.New(dashboard.Config{Store: store, API: api, PublicURL: "https://api.example.com"})
//	mux.Handle("/dashboard/", pages)
//
// It answers for /dashboard, all below it, and /r/{token}, where results are shared.
//
// Pages are html/template, one style sheet, and no script. Every page is a row of one table (see [page]): who may see
// it, what it shows, and for what it changes how the log calls that. Whatever a page does, it does by the functions that
// the commands of diagd use, and each change is a row of the log before it is made (see [metering.Acting]).
//
// Members enter by a link for one use, which the operator makes or the server mails, or by a header of a trusted proxy;
// see package member. Requests that change something are refused when they come from a foreign origin
// ([http.CrossOriginProtection]), and what belongs to another account is not found.
package dashboard
