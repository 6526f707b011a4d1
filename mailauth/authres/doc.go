// Package authres reads what mail servers write about the authentication of a message: call [Parse] for
// Authentication-Results (RFC 8601, and its older forms in RFC 5451 and RFC 7001), [ParseARC] for
// ARC-Authentication-Results (RFC 8617 section 4.1.1), [ParseReceivedSPF] for Received-SPF (RFC 7208 section 9.1).
//
// A server that checks a message puts one field in front of it, which names the server and lists, separated by
// semicolons, each method with its result and the properties that were checked:
//
//	Authentication-Results: mx.example.com;
//		spf=pass smtp.mailfrom=alice@example.org;
//		dkim=pass (2048-bit key; unprotected) header.d=example.org header.s=s1;
//		dmarc=pass (p=reject) header.from=example.org
//
// A property has a type (smtp, header, body, policy), a name and a value. Comments in parentheses may stand
// anywhere, and may hold semicolons. Who reads the field must know which servers to believe: anybody can write one
// into a message, and only the fields of the own servers mean anything (RFC 8601 section 5).
//
// In practice servers leave out their name, write properties without a type, values without quotation marks and
// results of methods that nobody registered. All of that is read; what departs from the syntax is in Faults.
package authres
