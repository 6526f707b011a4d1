// Package header explains the header of a message: call [Audit], or [Analyze] to query the DNS as well.
//
// Every server that a message passes adds fields above the existing ones (RFC 5321 section 4.4), so a header is read
// from the bottom up. Each Received field records which server handed the message over, to which server, how and
// when:
//
//	Received: from mail.example.org (mail.example.org [192.0.2.25])
//		by mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc
//		for <bob@example.com>; Sun, 1 Nov 2026 09:00:04 +0000
//
// The border server, which accepts the message from outside, checks SPF, DKIM and DMARC and records the results in
// Authentication-Results (package authres). Filters add their verdicts. Fields above that point can be trusted;
// fields below were written by the sender, who can write anything: an Authentication-Results field that came with the
// message proves nothing (RFC 8601 section 5).
//
// [Audit] uses no network. It reports what the fields say: the route of the message and its delays, results that
// count and those that do not, signatures and whether their domain aligns with From, spam filter verdicts in plain
// words, and signs of deception or damage.
//
// [Analyze] adds the receiver's checks. It finds the outside hop, where the receiver's side took the message from
// elsewhere, and trusts nothing below it. For that hop's address it evaluates SPF, for the envelope sender and the
// HELO name, and looks up reverse DNS; for the message it evaluates DKIM, ARC and DMARC. It concludes whether the
// message comes from the domain in its From field, with reasons that can be shown to users. A message is authentic by
// SPF, which authenticates its delivery by a server of the author's domain, or by one DKIM signature of that domain
// over From, Subject and the whole body: anyone can change what a signature leaves open.
package header

import (
	"context"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/live"
	"github.com/diagkit/diagkit/mailauth/message"
)

// The bounds of a request (CONTRACT 1.9).
const (
	maxMessageBytes = 5 << 20 // of a message, as sent
	maxTrusted      = 10      // servers that it trusts
)

// AuditRequest holds the header to examine.
type AuditRequest struct {
	Headers string `json:"headers" minlen:"1" maxbytes:"262144" doc:"raw header, as the mail program shows it; what follows the first blank line is ignored" example:"Received: from mail.example.org (mail.example.org [192.0.2.25])\n\tby mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc\n\tfor <bob@example.com>; Sun, 01 Nov 2026 09:00:04 +0000 (UTC)\nAuthentication-Results: mx.example.com;\n\tdkim=pass header.d=example.org header.s=s1;\n\tspf=pass smtp.mailfrom=alice@example.org;\n\tdmarc=pass (p=reject) header.from=example.org\nFrom: Alice Example <alice@example.org>\nTo: Bob Example <bob@example.com>\nSubject: Offer 2026-114\nDate: Sun, 01 Nov 2026 09:00:00 +0000\nMessage-ID: <20261101090000.4711@mail.example.org>\n"`
}

// An AuditReport holds the facts of a header, with a verdict.
type AuditReport struct {
	Facts
	diag.Verdict
	Anomalies []diag.Finding `json:"anomalies" doc:"those of the findings that suggest deception or damage"`
}

// Audit examines a header without network access. It uses only the clock of env. The error is a *[diag.InputError].
func Audit(_ context.Context, env *diag.Env, req AuditRequest) (*AuditReport, error) {
	switch {
	case req.Headers == "":
		return nil, input.Invalid("headers", "is missing")
	case len(req.Headers) > message.MaxHeaderBytes:
		return nil, input.Invalid("headers", "is longer than %d bytes", message.MaxHeaderBytes)
	}
	e := readPasted([]byte(req.Headers), env.Now())
	v := auditRules().Judge(e, auditTexts)
	return &AuditReport{Facts: e.facts(), Verdict: v, Anomalies: filterCodes(v.Findings, anomalyCodes)}, nil
}

// Rules describes the checks.
func (*AuditReport) Rules() []rule.Description { return auditRules().Describe() }

// AnalyzeRequest holds the message whose authenticity is checked. Exactly one of Headers, Message and MessageBase64
// is given.
type AnalyzeRequest struct {
	Headers       string `json:"headers,omitempty" oneof:"message" minlen:"1" maxbytes:"262144" doc:"raw header, as the mail program shows it; what follows the first blank line is ignored" example:"Received: from mail.example.org (mail.example.org [192.0.2.25])\n\tby mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc\n\tfor <bob@example.com>; Sun, 01 Nov 2026 09:00:04 +0000 (UTC)\nFrom: Alice Example <alice@example.org>\nTo: Bob Example <bob@example.com>\nSubject: Offer 2026-114\nDate: Sun, 01 Nov 2026 09:00:00 +0000\nMessage-ID: <20261101090000.4711@mail.example.org>\n"`
	Message       string `json:"message,omitempty" oneof:"message" minlen:"1" maxbytes:"5242880" doc:"whole message as it was received, so that DKIM can be verified"`
	MessageBase64 []byte `json:"message_base64,omitempty" oneof:"message" minlen:"1" maxlen:"5242880" doc:"the same in base64, so that no byte of it is changed on the way here"`
	// TrustedAuthservIDs are the receiver's own servers and filters. If empty, they are derived from the header.
	TrustedAuthservIDs []string `json:"trusted_authserv_ids,omitempty" maxitems:"10" maxlen:"255" doc:"names of the receiver's own servers and filters, as in Authentication-Results; their organizational domains are taken to be the receiver's" example:"mx.example.com"`
	// Live enables DNS lookups. Nil means true.
	Live *bool `json:"live,omitempty" default:"true" doc:"whether to look up SPF, DKIM, DMARC, ARC and PTR now"`
}

// An AnalyzeReport says whether a message is authentic, and why.
type AnalyzeReport struct {
	Conclusion Conclusion `json:"conclusion" doc:"whether the message is authentic"`
	Live       Live       `json:"live" doc:"what the DNS says now"`
	Facts
	diag.Verdict
	Anomalies []diag.Finding `json:"anomalies" doc:"those of the findings that suggest deception or damage"`
}

// Rules describes the checks.
func (*AnalyzeReport) Rules() []rule.Description { return analyzeRules().Describe() }

// The memory of an analysis, in bytes: for lookups and report; for each byte of the header, which is split three times
// and may be nothing but empty fields; for each byte of the message with its copies.
const (
	analyzeFixed  = 1 << 20
	headerFactor  = 80
	messageFactor = 4
)

// Memory returns the most memory that the analysis may hold, in bytes.
func (req *AnalyzeRequest) Memory() int64 {
	n := len(req.Headers) + len(req.Message) + len(req.MessageBase64)
	return analyzeFixed + headerFactor*int64(min(n, message.MaxHeaderBytes)) + messageFactor*int64(n)
}

// Analyze examines a message as [Audit] does its header, queries the DNS about it, and concludes whether the message
// comes from the domain in its From field. All queries run concurrently: a message whose SPF records need no further
// records takes two round trips.
//
// The error is a *[diag.InputError], or that of the context. Unanswered queries are not an error: the report then
// leaves more unknown.
func Analyze(ctx context.Context, env *diag.Env, req AnalyzeRequest) (*AnalyzeReport, error) {
	text, headerOnly, err := req.text()
	if err != nil {
		return nil, err
	}
	a := newAnalysis(text, headerOnly, env, req.TrustedAuthservIDs)
	words := auditTexts
	if req.Live == nil || *req.Live {
		if a.live, err = live.Gather(ctx, env, a.input); err != nil {
			return nil, err
		}
		words = analyzeTexts
	}
	a.settle()
	v := analyzeRules().Judge(a, words)
	r := &AnalyzeReport{
		Facts: a.facts(), Verdict: v, Anomalies: filterCodes(v.Findings, anomalyCodes, liveAnomalies), Live: a.report(),
		Conclusion: a.conclude(v.Findings),
	}
	a.align(&r.Alignment)
	return r, nil
}

func (req *AnalyzeRequest) text() (text []byte, headerOnly bool, err error) {
	err = input.ExactlyOne([]string{"headers", "message", "message_base64"}, req.Headers != "", req.Message != "",
		len(req.MessageBase64) > 0)
	switch {
	case err != nil:
		return nil, false, err
	case len(req.Headers) > message.MaxHeaderBytes:
		return nil, false, input.Invalid("headers", "is longer than %d bytes", message.MaxHeaderBytes)
	case len(req.Message) > maxMessageBytes:
		return nil, false, input.Invalid("message", "is longer than %d bytes", maxMessageBytes)
	case len(req.MessageBase64) > maxMessageBytes:
		return nil, false, input.Invalid("message_base64", "is longer than %d bytes", maxMessageBytes)
	case len(req.TrustedAuthservIDs) > maxTrusted:
		return nil, false, input.Invalid("trusted_authserv_ids", "has more than %d items", maxTrusted)
	case req.Headers != "":
		return []byte(req.Headers), true, nil
	case req.Message != "":
		return []byte(req.Message), false, nil
	default:
		return req.MessageBase64, false, nil
	}
}
