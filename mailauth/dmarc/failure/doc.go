// Package failure reads reports about single messages that failed DMARC, SPF or DKIM, and complaints about spam
// (RFC 9991, RFC 6591, RFC 5965): call [Parse] with the message that brought the report.
//
// A domain requests failure reports with the tag ruf of its DMARC record. Few receivers send them, since they hold
// personal data. A report is a message of three parts (multipart/report; report-type=feedback-report):
//
//   - text for people,
//   - message/feedback-report, fields for programs: Feedback-Type says what the report is about, Auth-Failure which
//     mechanism failed, Identity-Alignment which of DKIM and SPF passed for an aligned domain, Source-IP who sent,
//     Delivery-Result what was done with the message,
//   - the message itself (message/rfc822) or its header (text/rfc822-headers), often redacted (RFC 6590).
//
// Many reports deviate: parts of other types, fields with values of a program's own, nothing but text. They are read
// as far as they go; [Report.Deviations] says how they differ.
package failure
