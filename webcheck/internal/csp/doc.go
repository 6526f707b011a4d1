// Package csp parses Content-Security-Policy and determines what it allows a page to do (CSP Level 3): call
// [ParseList] with the value of a header field, or [Parse] with a policy.
//
// # How a policy works
//
// A policy is a list of directives. Most of them govern one kind of resource and list the sources that it may
// come from:
//
//	default-src 'self'; script-src 'nonce-r4nd0m' 'strict-dynamic'; object-src 'none'; base-uri 'none'
//
// A resource type without a directive of its own falls back to a more general one, finally to default-src; without
// that it is unrestricted. A page can have several policies, from header fields, comma-separated values and meta
// elements; a resource must be allowed by every one. Content-Security-Policy-Report-Only blocks nothing, and reports
// what it would.
//
// A policy exists to keep injected scripts from running. It fails if scripts may be inline ('unsafe-inline'), or may
// come from a place where anyone can put one. A nonce or hash authorizes one script; where one is listed, browsers
// ignore 'unsafe-inline' and, with 'strict-dynamic', hosts as well. Such sources are harmless beside a nonce: they
// serve older browsers. [MayRun] answers for all policies of a page what injected content runs under them.
package csp
