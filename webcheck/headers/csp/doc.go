// Package csp reads Content-Security-Policy and tells what it lets a page do (CSP Level 3): call [ParseList]
// with the value of a header field, or [Parse] with a policy.
//
// # How a policy works
//
// A policy is a list of directives. Most of them govern one kind of resource and list the sources that it may
// come from:
//
//	default-src 'self'; script-src 'nonce-r4nd0m' 'strict-dynamic'; object-src 'none'; base-uri 'none'
//
// What has no directive of its own is governed by a more general one, in the end by default-src, and by nothing
// if that is missing too. A page can have several policies, of several header fields or of one, separated by
// commas, and of meta elements; a resource must be allowed by every one of them. A policy in
// Content-Security-Policy-Report-Only forbids nothing, and reports what it would.
//
// The point of a policy is that a script which somebody smuggled into the page does not run. That fails if
// scripts may be inline ('unsafe-inline'), or may come from a place where anybody can put one. A nonce or a
// hash vouches for one script; where one is listed, browsers ignore 'unsafe-inline', and with 'strict-dynamic'
// also the hosts. So such sources do no harm beside a nonce: they are for older browsers.
package csp
