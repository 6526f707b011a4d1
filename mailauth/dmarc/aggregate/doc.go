// Package aggregate analyzes DMARC aggregate reports, in which receivers tell a domain what they did with mail in
// its name (RFC 9990, formerly RFC 7489 section 7.2 and appendix C): call [Analyze] with a file of one or more
// reports, or [Read] for their records alone.
//
// # How aggregate reports work
//
// The tag rua of a DMARC record says where reports go. About once a day each larger receiver counts the messages
// with the domain in their From field, by sending address and by DKIM, SPF and DMARC result, and mails the totals as
// XML, usually compressed, in an attachment:
//
//	<feedback>
//	  <report_metadata> who reports, an ID, the time span </report_metadata>
//	  <policy_published> the DMARC record that the receiver found </policy_published>
//	  <record>
//	    <row> source_ip, count, and policy_evaluated: what DMARC said and what was done </row>
//	    <identifiers> header_from and, of some receivers, those of the envelope </identifiers>
//	    <auth_results> what each DKIM signature and SPF said, before alignment </auth_results>
//	  </record>
//	  <record> … </record>
//	</feedback>
//
// The DKIM and SPF results in policy_evaluated say whether a mechanism passed for an aligned domain; those in
// auth_results ignore alignment, and may all pass in a record that fails DMARC.
//
// # How sources are classified
//
// [Analyze] sums messages, not records, per sending address, and classifies each source. The first of these rules
// that applies decides, and is reported as the source's [Reason]:
//
//  1. Its From fields name other domains than the report is about: unknown.
//  2. SPF passed for the domain: legitimate, since the owner's record lists it.
//  3. It is a known forwarder, mailing list or gateway, or the receiver says so of most of its messages: forwarding.
//  4. Signatures of the domain passed. At a known service the owner set them up: legitimate. If SPF passed for no
//     domain, or the same selector signs at a source that SPF lists, the mail was passed on: forwarding. Otherwise
//     it is another service of the owner: legitimate.
//  5. Nothing passed for the domain, but it is a service of package provider: unlisted, and to be set up. A mailbox
//     provider that is known by its address alone forwards.
//  6. A domain of the same organization passed that is not aligned: legitimate.
//  7. policy_evaluated says pass where no result does: unknown.
//  8. Signatures of the domain that pass elsewhere are broken here: forwarding if the return path is another's.
//  9. Another domain passed: unknown. It may be a service that the table does not know, or anyone.
//  10. The receiver could not check, or does not say what it found: unknown.
//  11. Nothing is authenticated, but it is in the network of a source that passes, has a confirmed name below the
//     domain, or sends when the domain's own servers do: unlisted.
//  12. The domain's own mail is signed, so this is not forwarded, and there is evidence: the SPF record forbids the
//     source, or it is one of many networks with a few messages each: spoofing.
//  13. Otherwise unknown: an unlisted server and a forger look alike.
//
// A policy may be enforced when hardly any mail would be lost but that of sources with evidence of forgery;
// [Enforcement] names what might be lost.
//
// Passes are recomputed from auth_results, which a slip of the evaluation does not affect; organizational domains
// come from the public suffix list, since the tree walk of RFC 9989 would need the network. Totals follow
// policy_evaluated, on which the receiver acted; a finding reports where the two contradict each other.
package aggregate
