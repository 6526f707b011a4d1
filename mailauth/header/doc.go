// Package header explains the header of a message: call [Audit], or [Analyze] to ask the DNS as well.
//
// Every server that a message passes puts fields in front of those that are there (RFC 5321 section 4.4), so a header
// is read from the bottom up. Each Received says who handed the message over, to whom, how and when:
//
//	Received: from mail.example.org (mail.example.org [192.0.2.25])
//		by mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc
//		for <bob@example.com>; Sun, 1 Nov 2026 09:00:04 +0000
//
// The server that takes a message from outside, the border, checks SPF, DKIM and DMARC and writes down what it found
// in Authentication-Results (package authres). Filters add verdicts of their own. From there on a reader can believe
// what is written; what stands below was written by the sender, who can write whatever he likes: a field
// Authentication-Results that the sender brought along proves nothing (RFC 8601 section 5).
//
// [Audit] asks nobody. It tells what the fields say: the way of the message and where it was delayed, results that
// count and those that do not, signatures and whether their domain is that of From, verdicts of spam filters in plain
// words, and whatever suggests deception or damage.
//
// [Analyze] adds what receivers do. It finds the outside hop, where the receiver's own side took the message from
// elsewhere, and believes nothing below it. For the address noted there it looks up SPF, for the envelope sender and the
// HELO name, and the name of the address; for the message DKIM, ARC and DMARC. From all of that it concludes whether the
// message comes from the domain in its From field, with reasons that can be read out to whoever asks.
package header
