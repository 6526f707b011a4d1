// Package aggregate reads the aggregate reports of DMARC, by which receivers tell a domain what became of
// the mail in its name (RFC 9990, before it RFC 7489 section 7.2 and appendix C): call [Read] with a file.
//
// # How aggregate reports work
//
// The tag rua of a DMARC record says where reports go. About once a day each larger receiver counts the
// messages that named the domain in their From field, by the address that sent them and by what DKIM, SPF
// and DMARC said, and mails the sums as XML, mostly compressed, in an attachment:
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
// The DKIM and SPF of policy_evaluated say whether the mechanism passed for a domain that is aligned with
// the From field; the results of auth_results do not ask about alignment, and may all pass in a record that
// fails DMARC.
package aggregate
