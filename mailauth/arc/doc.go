// Package arc verifies chains of ARC, by which those who pass a message on vouch for what they saw (RFC 8617): call
// [Verify] with a message, or [Parse] with its header fields where the network is not to be asked.
//
// # How ARC works
//
// A mailing list or forwarder that changes a message breaks its DKIM signature, and its server is not one that SPF
// allows. With ARC it writes down what it found before, signs the message anew, and seals both, in three fields of
// the same instance i=, which together are a set:
//
//	ARC-Authentication-Results: i=1; lists.example.net; dkim=pass header.d=example.org; dmarc=pass
//	ARC-Message-Signature: i=1; a=rsa-sha256; d=lists.example.net; s=arc; h=from:subject:date; bh=…; b=…
//	ARC-Seal: i=1; a=rsa-sha256; d=lists.example.net; s=arc; cv=none; b=…
//
// The message signature is as that of DKIM, and later changes break it. The seal covers only the fields of ARC: its
// own set and all that were there before, so that it stays valid whatever becomes of the message. Its tag cv= says
// whether the chain was valid when the sealer received it. Sets are numbered from 1 without a gap. A chain is valid
// if all seals are, and the message signature of the last set is: the older ones break whenever the next sealer had
// something to change.
//
// A valid chain says that the fields are those that the sealers wrote, not that the sealers are honest. Whom to
// believe is for the receiver to decide. The IETF is about to declare ARC historic, so nothing should be scored by it.
//
// # How to use the package
//
// [Parse] finds the sets and what is wrong with their structure. [Verify] looks up all keys at once and validates
// the chain as RFC 8617 section 5.2 says; [Result.Reason] is a sentence that can be read out.
package arc
